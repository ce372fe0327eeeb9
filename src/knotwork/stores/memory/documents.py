"""Documents, sections, chunks and the ledger in dictionaries."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from knotwork.records import Chunk, Document, Section
from knotwork.stores.base import LedgerEntry
from knotwork.stores.memory.state import Access


class MemoryDocuments:
    """The `DocumentStore` of the memory store."""

    def __init__(self, access: Access) -> None:
        self._state, self._transaction = access

    def put(self, document: Document, sections: Sequence[Section], chunks: Sequence[Chunk]) -> None:
        with self._transaction():
            self.remove([document.id])
            state = self._state()
            state.documents[document.id] = document
            state.sections[document.id] = tuple(sections)
            state.chunks.update((chunk.id, chunk) for chunk in chunks)

    def remove(self, document_ids: Collection[str]) -> None:
        with self._transaction():
            state = self._state()
            for document_id in document_ids:
                for chunk_id in self.chunk_ids(document_id):
                    del state.chunks[chunk_id]
                state.documents.pop(document_id, None)
                state.sections.pop(document_id, None)

    def documents(self, ids: Collection[str]) -> dict[str, Document]:
        stored = self._state().documents
        return {key: stored[key] for key in ids if key in stored}

    def document_ids(self) -> list[str]:
        return sorted(self._state().documents)

    def sections(self, document_id: str) -> list[Section]:
        found = self._state().sections.get(document_id, ())
        return sorted(found, key=lambda s: (s.span.start, s.level, s.ordinal, s.id))

    def chunks(self, ids: Collection[str]) -> dict[str, Chunk]:
        stored = self._state().chunks
        return {key: stored[key] for key in ids if key in stored}

    def chunk_ids(self, document_id: str) -> list[str]:
        own = [c for c in self._state().chunks.values() if c.document_id == document_id]
        return [c.id for c in sorted(own, key=lambda c: (c.is_parent, c.ordinal, c.id))]

    def chunk_count(self) -> int:
        return sum(not chunk.is_parent for chunk in self._state().chunks.values())

    def document_count(self) -> int:
        return len(self._state().documents)


class MemoryLedger:
    """The `Ledger` of the memory store."""

    def __init__(self, access: Access) -> None:
        self._state, self._transaction = access

    def put(self, entries: Iterable[LedgerEntry]) -> None:
        with self._transaction():
            self._state().ledger.update((entry.uri, entry) for entry in entries)

    def get(self, uris: Collection[str]) -> dict[str, LedgerEntry]:
        stored = self._state().ledger
        return {uri: stored[uri] for uri in uris if uri in stored}

    def entries(self) -> Iterator[LedgerEntry]:
        stored = self._state().ledger
        yield from (stored[uri] for uri in sorted(stored))

    def remove(self, uris: Collection[str]) -> None:
        with self._transaction():
            for uri in uris:
                self._state().ledger.pop(uri, None)
