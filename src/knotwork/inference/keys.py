"""Content keys: equal keys mean equal vectors, so that unchanged text is not embedded again."""

from __future__ import annotations

from knotwork.inference.base import Passage
from knotwork.records import content_id


def embedding_key(embedder_name: str, passage: Passage) -> str:
    """Return the key of a passage's vectors, the chunk's and its sentences' alike."""
    borders = (border for sentence in passage.sentences for border in sentence)
    return content_id("embedding", embedder_name, passage.context, passage.text, *borders)
