"""The documents, sections and chunks that a filter leaves, and the questions that they answer."""

from __future__ import annotations

from collections.abc import Collection
from typing import Never

from knotwork.errors import StoreReadOnly
from knotwork.records import Chunk, Document, Section
from knotwork.stores.base import DocumentStore
from knotwork.stores.fields import Selection
from knotwork.stores.questions import QuestionStore


def refuse_to_write(self: object, *_: object, **__: object) -> Never:
    """Raise StoreReadOnly: the method of every part of a filtered index that would write."""
    del self
    raise StoreReadOnly(
        "A filtered index can only be read.", fix="Write to the index without the filter."
    )


class FilteredDocuments:
    """The `DocumentStore` of a filtered index: what the filter excludes does not exist."""

    put = refuse_to_write
    remove = refuse_to_write

    def __init__(self, documents: DocumentStore, selection: Selection) -> None:
        self._documents = documents
        self._selection = selection

    def documents(self, ids: Collection[str]) -> dict[str, Document]:
        """Return the documents with these ids."""
        return self._documents.documents([i for i in ids if i in self._selection.documents])

    def document_ids(self) -> list[str]:
        """Return all document ids, ascending."""
        return list(self._selection.documents)

    def sections(self, document_id: str) -> list[Section]:
        """Return a document's sections, also those without an allowed passage."""
        if document_id not in self._selection.documents:
            return []
        return self._documents.sections(document_id)

    def chunks(self, ids: Collection[str]) -> dict[str, Chunk]:
        """Return the chunks with these ids."""
        return self._documents.chunks([i for i in ids if i in self._selection.chunks])

    def chunk_ids(self, document_id: str) -> list[str]:
        """Return a document's chunk ids: leaves in order, then parents in order."""
        if document_id not in self._selection.documents:
            return []
        chunks = self._documents.chunk_ids(document_id)
        return [i for i in chunks if i in self._selection.chunks]

    def chunk_count(self) -> int:
        """Return the number of leaf chunks of the whole index, against which rarity is measured."""
        return self._documents.chunk_count()

    def document_count(self) -> int:
        """Return the number of documents."""
        return len(self._selection.documents)


class FilteredQuestions:
    """The `QuestionStore` of a filtered index: the questions of allowed chunks."""

    put = refuse_to_write
    remove_chunks = refuse_to_write

    def __init__(self, held: QuestionStore, selection: Selection) -> None:
        self._held = held
        self._chunks = selection.chunks

    def questions(self, chunk_ids: Collection[str]) -> dict[str, tuple[str, ...]]:
        """Return the questions of these chunks in their order; a chunk without any is absent."""
        return self._held.questions([i for i in chunk_ids if i in self._chunks])

    def chunk_ids(self) -> list[str]:
        """Return the ids of the allowed chunks that have questions, ascending."""
        return [i for i in self._held.chunk_ids() if i in self._chunks]
