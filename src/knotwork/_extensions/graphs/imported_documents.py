"""Embed the documents of an import, and replace those of an earlier import of that name."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from knotwork._indexing.commit import Batch, remove_sources
from knotwork._indexing.embedding import Embedding
from knotwork._indexing.prepare import SourceFile
from knotwork._stores.base import LedgerEntry, Store
from knotwork.records import Document


def imported_source(document: Document, root: str) -> SourceFile:
    """Return the source of a document of an import, which is there without reading a file."""
    return SourceFile(document.uri, lambda: document, root=root, size=len(document.text))


def embed_batch(store: Store, batch: Batch, embedding: Embedding) -> Iterator[int]:
    """Embed the chunks of a batch that lack a vector; yield how many chunks are done.

    Vectors are kept beside the index, so that an import that was stopped does not repeat them.
    """
    for done in batch.embed(batch.recall(store, embedding), embedding):
        yield done
        batch.keep_vectors(store, embedding)


def import_entries(store: Store, root: str) -> list[LedgerEntry]:
    """Return the ledger entries of an import."""
    return [entry for entry in store.ledger.entries() if entry.root == root]


def remove_others(store: Store, root: str, uris: Collection[str]) -> tuple[str, ...]:
    """Remove the documents of an earlier import that are not among ``uris``; return theirs."""
    gone = [entry for entry in import_entries(store, root) if entry.uri not in uris]
    if gone:
        remove_sources(store, gone)
    return tuple(entry.uri for entry in gone)
