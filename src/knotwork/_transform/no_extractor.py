"""An extractor that finds nothing, for a graph that a model alone makes."""

from __future__ import annotations

from collections.abc import Sequence

from knotwork.records import Chunk, Document, Extraction


class NoExtractor:
    """Leaves all chunks without entities and relations; implements `Extractor`."""

    name = "none"

    def extract(self, document: Document, chunks: Sequence[Chunk]) -> list[Extraction]:  # noqa: ARG002  of the protocol
        """Return an empty extraction for each leaf chunk."""
        return [Extraction(chunk.id) for chunk in chunks if not chunk.is_parent]
