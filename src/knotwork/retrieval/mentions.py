"""Which entities the sentences of a chunk mention."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping

from knotwork.records import Chunk
from knotwork.stores.base import Store
from knotwork.text.names import name_candidates

OWN_PAGE = 0.95
"""Aboutness from which an entity is what the chunk is about: it leads nowhere else."""


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
    candidates = {
        chunk_id: {
            form: span.start + chunk.span.start for form, span in name_candidates(chunk.text)
        }
        for chunk_id, chunk in chunks.items()
    }
    forms = {
        form
        for found in candidates.values()
        for form in found
        if len(form) > 3 or not form.isascii()
    }
    entities = store.graph.lookup(forms)
    described = store.graph.about([e.id for e in entities.values()], fan=1, minimum=known - 1e-9)
    ids = {form: e.id for form, e in entities.items() if described.get(e.id)}
    return {
        chunk_id: [(ids[form], start) for form, start in found.items() if form in ids]
        for chunk_id, found in candidates.items()
    }
