"""Compute the full text of an index from its documents, and recognise its embedder."""

from __future__ import annotations

from collections.abc import Iterator

from knotwork._indexing.chunk_questions import QUESTIONS
from knotwork._indexing.embedding import (
    LANGUAGES_META,
    Embedding,
    stamp_embedder,
)
from knotwork._run import Progress
from knotwork._stores.base import Store
from knotwork._text.languages import is_read
from knotwork.records import Chunk, Label

_ALL = 1 << 62


def restore_texts(store: Store) -> Iterator[Progress]:
    """Write the full text of an index without any, and yield the progress."""
    ids = store.documents.document_ids()
    for done, document_id in enumerate(ids, start=1):
        store.texts("chunk").add(
            (chunk.id, chunk.searched_text) for chunk in _leaves(store, document_id)
        )
        yield Progress("full text", done, len(ids))
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


def count_without_vectors(store: Store) -> int:
    """Return how many chunks lack a vector that are in a language of the embedder."""
    languages = store.meta().get(LANGUAGES_META, "").split()
    count = 0
    for document_id in store.documents.document_ids():
        chunks = _leaves(store, document_id)
        known = store.vectors("chunk").get([chunk.id for chunk in chunks])
        count += sum(c.id not in known and is_read(c.text, languages) for c in chunks)
    return count


def _leaves(store: Store, document_id: str) -> list[Chunk]:
    ids = store.documents.chunk_ids_of([document_id]).get(document_id, [])
    found = store.documents.chunks(ids)
    return [chunk for chunk in found.values() if not chunk.is_parent]
