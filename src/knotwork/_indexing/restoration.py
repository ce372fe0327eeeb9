"""Compute the full text and missing vectors of an index from its documents and its graph."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeVar

from knotwork._indexing.chunk_questions import QUESTIONS, embed_questions
from knotwork._indexing.commits import VECTOR_CHUNKS
from knotwork._indexing.description_vectors import embed_descriptions
from knotwork._indexing.embedding import (
    EMBEDDER_META,
    LANGUAGES_META,
    NO_VECTORS,
    Embedding,
    stamp_embedder,
)
from knotwork._indexing.steps import finish_steps
from knotwork._stores.base import Store
from knotwork._text.languages import is_read
from knotwork.records import Chunk, Label

_BATCH = 256
_ALL = 1 << 62

T = TypeVar("T")


class Restored(NamedTuple):
    """How many texts of a kind were embedded, and how many still lack a vector."""

    embedded: int
    missing: int


def restore_texts(store: Store) -> Iterator[tuple[int, int]]:
    """Write the full text of an index without any; yield the documents done, and their number."""
    ids = store.documents.document_ids()
    for done, document_id in enumerate(ids, start=1):
        store.texts("chunk").add(
            (chunk.id, chunk.searched_text) for chunk in _leaves(store, document_id)
        )
        yield done, len(ids)
    for label in (Label.ENTITY, Label.KEYWORD):
        nodes = store.graph.find(label=label, limit=_ALL)
        store.texts("entity").add((node.id, node.name) for node in nodes)
    parts = store.capabilities
    if parts.questions is not None:
        asked = parts.questions.questions(parts.questions.chunk_ids())
        store.texts(QUESTIONS).add((key, "\n".join(found)) for key, found in asked.items())
    if parts.communities is not None:
        reports = parts.communities.reports(list(parts.communities.parents()))
        store.texts("report").add((key, report.text) for key, report in reports.items())


def recognize_embedder(store: Store, embedding: Embedding) -> bool:
    """Return True if the embedder made the vectors of the index, as their content keys show.

    Its name is then stored with the index. Use this if the stored name cannot be read.
    """
    for document_id in store.documents.document_ids():
        chunks = _leaves(store, document_id)
        known = store.vectors("chunk").get([chunk.id for chunk in chunks])
        for chunk in chunks:
            if chunk.id in known:
                key = embedding.chunk_key(chunk)
                if key not in store.vectors("chunk").by_key([key]):
                    return False
                stamp_embedder(store, embedding)
                return True
    return False


def restore_vectors(store: Store, embedding: Embedding) -> Restored:
    """Embed the chunks, entities and questions that lack a vector, if the embedder is at hand."""
    at_hand = bool(embedding) and store.meta().get(EMBEDDER_META) == embedding.name
    languages = store.meta().get(LANGUAGES_META, "").split()
    missing = [
        chunk
        for document_id in store.documents.document_ids()
        for chunk in _without_vectors(store, document_id)
        if is_read(chunk.text, languages)
    ]
    if not at_hand:
        return Restored(0, len(missing))
    for batch in _batches(missing):
        keys = [embedding.chunk_key(chunk) for chunk in batch]
        rows = embedding.embed_chunks(batch)
        found = [item for item in zip(batch, keys, rows, strict=True) if item[1] != NO_VECTORS]
        with store.transaction():
            store.vectors("chunk").put((c.id, key, r.chunk[None]) for c, key, r in found)
            store.vectors("sentence").put(
                (c.id, key, r.sentences) for c, key, r in found if len(r.sentences)
            )
    steps = embed_descriptions(store, embedding)
    others = _restore_names(store, embedding) + finish_steps(steps)
    return Restored(len(missing) + others + _restore_questions(store, embedding), 0)


def _restore_names(store: Store, embedding: Embedding) -> int:
    ids = [
        node.id
        for label in (Label.ENTITY, Label.KEYWORD)
        for node in store.graph.find(label=label, limit=_ALL)
    ]
    known = store.vectors("entity").get(ids)
    missing = [
        entity
        for entity in store.graph.entities([i for i in ids if i not in known]).values()
        if entity.chunk_count >= VECTOR_CHUNKS and embedding.reads(entity.normal_form)
    ]
    for batch in _batches(missing):
        rows = embedding.embed_names([entity.normal_form for entity in batch])
        store.vectors("entity").put(
            (entity.id, embedding.name_key(entity.normal_form), row[None])
            for entity, row in zip(batch, rows, strict=True)
        )
    return len(missing)


def _restore_questions(store: Store, embedding: Embedding) -> int:
    questions = store.capabilities.questions
    if questions is None:
        return 0
    ids = questions.chunk_ids()
    known = store.vectors(QUESTIONS).get(ids)
    items = embed_questions(questions.questions([i for i in ids if i not in known]), embedding)
    store.vectors(QUESTIONS).put(items)
    return len(items)


def _leaves(store: Store, document_id: str) -> list[Chunk]:
    ids = store.documents.chunk_ids_of([document_id]).get(document_id, [])
    found = store.documents.chunks(ids)
    return [chunk for chunk in found.values() if not chunk.is_parent]


def _without_vectors(store: Store, document_id: str) -> list[Chunk]:
    chunks = _leaves(store, document_id)
    ids = [chunk.id for chunk in chunks]
    known = store.vectors("chunk").get(ids).keys()
    return [chunk for chunk in chunks if chunk.id not in known]


def _batches(items: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), _BATCH):
        yield items[start : start + _BATCH]
