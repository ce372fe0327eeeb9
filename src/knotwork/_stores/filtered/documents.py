"""Documents, fields, the ledger, chunks, and text and vector indexes, restricted by a filter.

Term statistics are those of the whole index, so that a passage has the same score with and without
a filter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Never

from knotwork._stores.base import (
    DocumentStore,
    FloatMatrix,
    IntMatrix,
    Ledger,
    LedgerEntry,
    Scored,
    TextIndex,
    VectorIndex,
)
from knotwork._stores.capabilities import QuestionStore
from knotwork._stores.fields import (
    FieldInfo,
    FieldStore,
    LinkStore,
    Selection,
    Totals,
    check_fields,
)
from knotwork._stores.id_sets import IdSet
from knotwork.errors import StoreReadOnly
from knotwork.records import Chunk, Document, Filter, Section


def refuse_to_write(self: object, *_: object, **__: object) -> Never:
    """Raise StoreReadOnly. All write methods of a filtered index are this function."""
    del self
    raise StoreReadOnly(
        "A filtered index is read-only.", fix="Write to the index without the filter."
    )


class FilteredDocuments:
    """The `DocumentStore` of a filtered index: documents and chunks that pass the filter."""

    put = refuse_to_write
    remove = refuse_to_write

    def __init__(
        self,
        documents: DocumentStore,
        selection: Selection,
        *,
        totals: Callable[[], Totals] | None = None,
    ) -> None:
        self._documents = documents
        self._selection = selection
        self._totals = totals

    def documents(self, ids: Collection[str]) -> dict[str, Document]:
        return self._documents.documents(self._allowed(ids))

    def document_ids(self) -> list[str]:
        return list(self._selection.documents)

    def sections_of(self, document_ids: Collection[str]) -> dict[str, list[Section]]:
        """Return the sections of each document, including those without an allowed chunk."""
        return self._documents.sections_of(self._allowed(document_ids))

    def chunks(self, ids: Collection[str]) -> dict[str, Chunk]:
        return self._documents.chunks([i for i in ids if i in self._selection.chunks])

    def chunk_ids_of(self, document_ids: Collection[str]) -> dict[str, list[str]]:
        found = self._documents.chunk_ids_of(self._allowed(document_ids))
        kept = {i: [c for c in ids if c in self._selection.chunks] for i, ids in found.items()}
        return {i: ids for i, ids in kept.items() if ids}

    def chunk_count(self) -> int:
        """Return the number of leaf chunks of the whole index, which term statistics refer to, or
        of the selection if it has totals of its own.
        """
        return self._totals().leaves if self._totals else self._documents.chunk_count()

    def document_count(self) -> int:
        return len(self._selection.documents)

    def _allowed(self, ids: Collection[str]) -> list[str]:
        return [i for i in ids if i in self._selection.documents]


class FilteredLedger:
    """The `Ledger` of a filtered index: the entries of allowed documents that could be read."""

    put = refuse_to_write
    remove = refuse_to_write

    def __init__(self, ledger: Ledger, selection: Selection) -> None:
        self._ledger = ledger
        self._documents = selection.documents

    def get(self, uris: Collection[str]) -> dict[str, LedgerEntry]:
        return {uri: e for uri, e in self._ledger.get(uris).items() if self._has(e)}

    def entries(self) -> Iterator[LedgerEntry]:
        return filter(self._has, self._ledger.entries())

    def settings_counts(self) -> Mapping[str, int]:
        return Counter(entry.settings for entry in self.entries())

    def _has(self, entry: LedgerEntry) -> bool:
        return not entry.error and entry.document_id in self._documents


class FilteredFields:
    """The `FieldStore` of a filtered index: the fields of allowed documents."""

    def __init__(self, fields: FieldStore, selection: Selection) -> None:
        self._fields = fields
        self._selection = selection

    def fields(self, among: IdSet | None = None) -> list[FieldInfo]:
        allowed = self._selection.documents
        return self._fields.fields(allowed if among is None else allowed & among)

    def select(self, wanted: Filter) -> Selection:
        check_fields(wanted, [field.name for field in self.fields()])
        return self._allowed(self._fields.select(wanted))

    def mentioned(self, chunks: IdSet) -> IdSet:
        return self._fields.mentioned(chunks & self._selection.chunks)

    def totals(self, selection: Selection) -> Totals:
        return self._fields.totals(self._allowed(selection))

    def _allowed(self, found: Selection) -> Selection:
        return Selection(*(ids & kept for ids, kept in zip(found, self._selection, strict=True)))


class FilteredQuestions:
    """The `QuestionStore` of a filtered index: the questions of allowed chunks."""

    put = refuse_to_write
    remove_chunks = refuse_to_write

    def __init__(self, held: QuestionStore, selection: Selection) -> None:
        self._held = held
        self._chunks = selection.chunks

    def questions(self, chunk_ids: Collection[str]) -> dict[str, tuple[str, ...]]:
        return self._held.questions([i for i in chunk_ids if i in self._chunks])

    def chunk_ids(self) -> list[str]:
        return [i for i in self._held.chunk_ids() if i in self._chunks]


class FilteredLinks:
    """The `LinkStore` of a filtered index: the links of and to allowed documents."""

    def __init__(self, links: LinkStore, selection: Selection) -> None:
        self._links = links
        self._documents = selection.documents

    def known_as(self, names: Collection[str]) -> dict[str, list[str]]:
        found = self._links.known_as(names)
        kept = {name: [i for i in ids if i in self._documents] for name, ids in found.items()}
        return {name: ids for name, ids in kept.items() if ids}

    def linking_to(self, fits: Callable[[str], bool]) -> set[str]:
        return {i for i in self._links.linking_to(fits) if i in self._documents}

    def linked(self) -> list[tuple[str, str]]:
        return [pair for pair in self._links.linked() if pair[0] in self._documents]


class FilteredTexts:
    """The `TextIndex` of a filtered index."""

    add = refuse_to_write
    remove = refuse_to_write

    def __init__(self, index: TextIndex, allowed: IdSet) -> None:
        self._index = index
        self._allowed = allowed

    def search(self, query: str, *, k: int, where: Collection[str] | None = None) -> list[Scored]:
        return self._index.search(query, k=k, where=_among(self._allowed, where))

    def occurrences(self, ids: Sequence[str], terms: Sequence[str]) -> IntMatrix:
        """Return how often each term occurs in each item; zeros for items that are not allowed."""
        counts = self._index.occurrences(ids, terms)
        counts[[i not in self._allowed for i in ids]] = 0
        return counts

    def document_frequencies(self, terms: Collection[str]) -> dict[str, int]:
        """Return the number of items of the whole index with each term."""
        return self._index.document_frequencies(terms)

    def count(self) -> int:
        """Return the number of items of the whole index, to which frequencies refer."""
        return self._index.count()


class FilteredVectors:
    """The `VectorIndex` of a filtered index."""

    put = refuse_to_write
    remove = refuse_to_write

    def __init__(self, index: VectorIndex, allowed: IdSet) -> None:
        self._index = index
        self._allowed = allowed

    def get(self, ids: Collection[str]) -> dict[str, FloatMatrix]:
        return self._index.get(_among(self._allowed, ids))

    def products(self, ids: Collection[str], vectors: FloatMatrix) -> dict[str, FloatMatrix]:
        return self._index.products(_among(self._allowed, ids), vectors)

    def by_key(self, keys: Collection[str]) -> dict[str, FloatMatrix]:
        return self._index.by_key(keys)

    def search(
        self, vector: FloatMatrix, *, k: int, where: Collection[str] | None = None
    ) -> list[Scored]:
        return self._index.search(vector, k=k, where=_among(self._allowed, where))

    def count(self) -> int:
        """Return the number of ids of the whole index."""
        return self._index.count()


def _among(allowed: IdSet, where: Collection[str] | None) -> Collection[str]:
    return allowed if where is None else [i for i in where if i in allowed]
