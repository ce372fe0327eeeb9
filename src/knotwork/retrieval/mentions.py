"""Which entities the sentences of a chunk mention."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping

from knotwork.records import Chunk, Span
from knotwork.stores.base import Store
from knotwork.text.characters import HAN
from knotwork.text.names import STOP_NAMES, name_candidates
from knotwork.text.segmentation import segment

OWN_PAGE = 0.95
"""Aboutness from which an entity is what the chunk is about: it leads nowhere else."""

SHORT_NAME_WORDS = 3
SHORT_NAME_HAN = 5

_HAN = re.compile(f"[{HAN}]")


def mentions_by_sentence(
    chunks: Mapping[str, Chunk], store: Store, *, known: float
) -> dict[str, list[set[str]]]:
    """Return the ids of the entities each sentence mentions, the chunk's own subject left out.

    Beside the mentions found when the chunk was indexed these are all names, in any case, of
    entities that some chunk is about by ``known`` or more: documents indexed later may have
    brought them.
    """
    mentions = store.graph.mentions(list(chunks))
    named = _known_names(chunks, store, known)
    result: dict[str, list[set[str]]] = {}
    for chunk_id, chunk in chunks.items():
        starts = [span.start for span in chunk.sentences]
        sentences: list[set[str]] = [set() for _ in starts]
        own = {m.entity_id for m in mentions.get(chunk_id, ()) if m.about >= OWN_PAGE}
        places = [(m.entity_id, s.start) for m in mentions.get(chunk_id, ()) for s in m.spans]
        for identifier, start in [*places, *named[chunk_id]]:
            number = bisect_right(starts, start) - 1
            if number >= 0 and identifier not in own:
                sentences[number].add(identifier)
        result[chunk_id] = sentences
    return result


def _known_names(
    chunks: Mapping[str, Chunk], store: Store, known: float
) -> dict[str, list[tuple[str, int]]]:
    candidates = {chunk_id: _short_names(chunk) for chunk_id, chunk in chunks.items()}
    entities = store.graph.lookup({form for found in candidates.values() for form in found})
    described = store.graph.about([e.id for e in entities.values()], fan=1, minimum=known - 1e-9)
    ids = {form: e.id for form, e in entities.items() if described.get(e.id)}
    return {
        chunk_id: [(ids[form], start) for form, start in found.items() if form in ids]
        for chunk_id, found in candidates.items()
    }


def _short_names(chunk: Chunk) -> dict[str, int]:
    """Return what may be a short name in any case, with where it stands in the document.

    Longer names are written with capitals, or are words of a Chinese segmentation, and were found
    when the chunk was indexed. Chinese names begin and end where words do: this leaves a quarter
    of the sequences of characters, and none that only two neighbouring words make together.
    """
    text, start = chunk.text, chunk.span.start
    candidates = name_candidates(
        text, max_words=SHORT_NAME_WORDS, max_han=SHORT_NAME_HAN, borders=_word_borders(text)
    )
    return {
        form: span.start + start
        for form, span in candidates
        if (len(form) > 3 or not form.isascii()) and not _has_loose_end(text, span)
    }


def _word_borders(text: str) -> frozenset[int] | None:
    """Return where the words of a text begin and end, if it has Chinese ones."""
    if not _HAN.search(text):
        return None
    return frozenset(place for word in segment(text) for place in (word.start, word.end))


def _has_loose_end(text: str, span: Span) -> bool:
    """Return whether a function word opens or closes the name."""
    words = text[span.start : span.end].lower().split()
    return words[0] in STOP_NAMES or words[-1] in STOP_NAMES
