"""Find the chunks at places of documents, and those that the links in chunks lead to."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import NamedTuple

from knotwork._stores.base import Store
from knotwork._stores.links import DocumentParts, target_documents
from knotwork.records import Chunk, Link

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
    ids = {chunk.document_id for chunk in chunks.values()}
    sources = store.documents.documents(ids) if store.capabilities.links is not None else {}
    if not any(source.links for source in sources.values()):
        return {}
    marked: dict[str, list[tuple[int, Link]]] = {}
    for key, chunk in chunks.items():
        ends = [sentence.end for sentence in chunk.sentences]
        inside = [k for k in sources[chunk.document_id].links if chunk.span.contains(k.span)]
        placed = ((bisect_right(ends, k.span.start), k) for k in inside[:_MOST_LINKS])
        marked[key] = [(sentence, link) for sentence, link in placed if sentence < len(ends)]
    by_document: dict[str, set[Link]] = {}
    for key, found_links in marked.items():
        held = by_document.setdefault(chunks[key].document_id, set())
        held.update(link for _, link in found_links)
    given = [
        replace(sources[key], links=tuple(links)) for key, links in by_document.items() if links
    ]
    targets = target_documents(store, given)
    parts = {document.id: DocumentParts(document) for document in targets.values()}
    led: list[tuple[str, int, str, Place]] = []
    for key, links in marked.items():
        source = sources[chunks[key].document_id]
        for sentence, link in links:
            if target := targets.get((source.uri, link.target)):
                start = parts[target.id].place(link.part) if link.part else None
                words = source.text[slice(*link.span)]
                led.append((key, sentence, words, Place(target.id, start or 0)))
    there = find_chunks_at(store, {place for *_, place in led})
    found: dict[str, list[LinkedChunk]] = {}
    for key, sentence, words, place in led:
        for number, reached in enumerate(there[place]):
            if reached != key:
                linked = LinkedChunk(sentence, words, reached, number > 0)
                found.setdefault(key, []).append(linked)
    return found


class Place(NamedTuple):
    """A place in a document, as an offset in its text."""

    document_id: str
    start: int


def find_chunks_at(store: Store, places: Collection[Place]) -> dict[Place, list[str]]:
    """Return the chunk that has each place, or the nearest one before it, and the next one of its
    section: what a link leads to may go on there.

    All places are searched at once, by bisection of the chunks of their documents, which are in
    the order of the text.
    """
    held = store.documents.chunk_ids_of({place.document_id for place in places})
    ids = {place: held.get(place.document_id, []) for place in places}
    low = dict.fromkeys(places, 0)
    high = {place: len(ids[place]) if place.start else 1 for place in places}
    while still := [place for place in places if low[place] + 1 < high[place]]:
        middle = {place: (low[place] + high[place]) // 2 for place in still}
        read = store.documents.chunks({ids[place][number] for place, number in middle.items()})
        for place, number in middle.items():
            chunk = read[ids[place][number]]
            is_behind = chunk.is_parent or chunk.span.start > place.start
            (high if is_behind else low)[place] = number
    near = {place: ids[place][number : number + 2] for place, number in low.items()}
    read = store.documents.chunks({key for keys in near.values() for key in keys})
    sections = {key: (chunk.section_id, chunk.is_parent) for key, chunk in read.items()}
    return {
        place: [key for key in keys if sections[key] == sections[keys[0]]]
        for place, keys in near.items()
    }
