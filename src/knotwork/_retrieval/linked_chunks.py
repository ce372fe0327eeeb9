"""Find the chunks that the links in chunks lead to."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from knotwork._stores.base import Store
from knotwork._stores.links import place_of_part, target_documents
from knotwork.records import Chunk, Document, Link

_MOST_LINKS = 40
"""Links of a chunk that are followed: one with more lists what there is."""


class LinkedChunk(NamedTuple):
    """A chunk that a link in a sentence of another one leads to."""

    sentence: int
    words: str
    chunk_id: str
    is_next: bool = False
    """Whether it only follows the one that the link names, in the same section."""


def find_linked_chunks(chunks: Mapping[str, Chunk], store: Store) -> dict[str, list[LinkedChunk]]:
    """Return what the links in each of these chunks lead to, but for the chunk itself."""
    if store.capabilities.links is None:
        return {}
    sources = store.documents.documents({chunk.document_id for chunk in chunks.values()})
    marked = {
        key: list(_links_of(chunk, sources[chunk.document_id])) for key, chunk in chunks.items()
    }
    by_document: dict[str, set[Link]] = {}
    for key, links in marked.items():
        by_document.setdefault(chunks[key].document_id, set()).update(link for _, link in links)
    given = [
        replace(sources[key], links=tuple(links)) for key, links in by_document.items() if links
    ]
    targets = target_documents(store, given)
    leaves = _leaves(store, {document.id for document in targets.values()})
    found: dict[str, list[LinkedChunk]] = {}
    for key, links in marked.items():
        source = sources[chunks[key].document_id]
        for sentence, link in links:
            target = targets.get((source.uri, link.target))
            if target is None:
                continue
            place = (place_of_part(target, link.part) if link.part else 0) or 0
            words = source.text[slice(*link.span)]
            for number, there in enumerate(_chunks_at(store, leaves[target.id], place)):
                if there != key:
                    linked = LinkedChunk(sentence, words, there, number > 0)
                    found.setdefault(key, []).append(linked)
    return found


def _links_of(chunk: Chunk, document: Document) -> Iterator[tuple[int, Link]]:
    """Yield the links in the sentences of a chunk, each with the number of its sentence."""
    ends = [sentence.end for sentence in chunk.sentences]
    inside = [link for link in document.links if chunk.span.contains(link.span)]
    for link in inside[:_MOST_LINKS]:
        number = bisect_right(ends, link.span.start)
        if number < len(ends):
            yield number, link


def _leaves(store: Store, documents: set[str]) -> dict[str, list[str]]:
    held = store.documents.chunk_ids_of(documents)
    return {key: held.get(key, []) for key in documents}


def _chunks_at(store: Store, ids: list[str], place: int) -> list[str]:
    """Return the chunk of a document that has a place, or the nearest one before it, and the next
    one of its section: what a link leads to may go on there.
    """

    def start(identifier: str) -> tuple[bool, int]:
        chunk = store.documents.chunks([identifier])[identifier]
        return chunk.is_parent, chunk.span.start

    number = max(bisect_right(ids, (False, place), key=start), 1) if place else 1
    near = ids[number - 1 : number + 1]
    held = store.documents.chunks(near)
    sections = [(held[key].section_id, held[key].is_parent) for key in near]
    return [key for key, section in zip(near, sections, strict=True) if section == sections[0]]
