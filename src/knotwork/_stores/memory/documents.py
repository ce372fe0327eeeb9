"""Documents, ledger, document fields, and text and vector indexes of the memory store.

Every search scans all items.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence

import numpy as np

from knotwork._stores.base import FloatMatrix, IntMatrix, LedgerEntry, Scored
from knotwork._stores.fields import (
    FILE_DATE,
    FORMAT,
    LANGUAGE,
    PAGE,
    PATH,
    TITLE,
    URI,
    FieldInfo,
    Matcher,
    Selection,
    check_fields,
    field_name,
    file_day,
    format_values,
    language_values,
    metadata_fields,
    page_spans,
    summarize_field,
)
from knotwork._stores.id_sets import IdSet
from knotwork._stores.memory.collisions import check_document_ids
from knotwork._stores.memory.state import KeyedMatrix, State, StateAccess
from knotwork._stores.vectors import (
    as_query,
    as_rows,
    exact_scores,
    matrix_search_error,
    row_products,
    stored_type,
)
from knotwork._text.terms import query_terms, terms
from knotwork.records import AllOf, AnyOf, Chunk, Condition, Document, Filter, Not, Section


class MemoryDocuments:
    """The `DocumentStore` of the memory store."""

    def __init__(self, access: StateAccess) -> None:
        self._state, self._transaction = access

    def put(self, document: Document, sections: Sequence[Section], chunks: Sequence[Chunk]) -> None:
        with self._transaction():
            check_document_ids(self._state(), document, sections, chunks)
            self.remove([document.id])
            state = self._state()
            state.documents[document.id] = document
            state.sections[document.id] = tuple(sections)
            state.chunks.update((chunk.id, chunk) for chunk in chunks)

    def remove(self, document_ids: Collection[str]) -> None:
        with self._transaction():
            state = self._state()
            for chunk_ids in self.chunk_ids_of(document_ids).values():
                for chunk_id in chunk_ids:
                    del state.chunks[chunk_id]
            for document_id in document_ids:
                state.documents.pop(document_id, None)
                state.sections.pop(document_id, None)

    def documents(self, ids: Collection[str]) -> dict[str, Document]:
        stored = self._state().documents
        return {key: stored[key] for key in ids if key in stored}

    def document_ids(self) -> list[str]:
        return sorted(self._state().documents)

    def sections_of(self, document_ids: Collection[str]) -> dict[str, list[Section]]:
        stored = self._state().sections
        return {
            key: sorted(stored[key], key=lambda s: (s.span.start, s.level, s.ordinal, s.id))
            for key in document_ids
            if stored.get(key)
        }

    def chunks(self, ids: Collection[str]) -> dict[str, Chunk]:
        stored = self._state().chunks
        return {key: stored[key] for key in ids if key in stored}

    def chunk_ids_of(self, document_ids: Collection[str]) -> dict[str, list[str]]:
        own: dict[str, list[Chunk]] = {key: [] for key in document_ids}
        for chunk in self._state().chunks.values():
            if chunk.document_id in own:
                own[chunk.document_id].append(chunk)
        ordered = {
            key: sorted(chunks, key=lambda c: (c.is_parent, c.ordinal, c.id))
            for key, chunks in own.items()
        }
        return {key: [c.id for c in chunks] for key, chunks in ordered.items() if chunks}

    def chunk_count(self) -> int:
        return sum(not chunk.is_parent for chunk in self._state().chunks.values())

    def document_count(self) -> int:
        return len(self._state().documents)


class MemoryLedger:
    """The `Ledger` of the memory store."""

    def __init__(self, access: StateAccess) -> None:
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

    def settings_counts(self) -> dict[str, int]:
        return Counter(e.settings for e in self.entries() if not e.error_reason)

    def remove(self, uris: Collection[str]) -> None:
        with self._transaction():
            for uri in uris:
                self._state().ledger.pop(uri, None)


_Values = dict[str, tuple[str, ...]]


class MemoryFields:
    """The `FieldStore` of the memory store."""

    def __init__(self, access: StateAccess) -> None:
        self._state, self._transaction = access

    def fields(self) -> list[FieldInfo]:
        state = self._state()
        counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        documents: Counter[str] = Counter()
        for document in state.documents.values():
            values = _values_of(document, state)
            if document.pages:
                values[PAGE] = tuple({page.label for page in page_spans(document)})
            for name, found in values.items():
                documents[name] += 1
                counts[name].update(found)
        return [
            summarize_field(name, documents[name], counts[name].items()) for name in sorted(counts)
        ]

    def select(self, wanted: Filter) -> Selection:
        state = self._state()
        check_fields(wanted, [known.name for known in self.fields()])
        values = {key: _values_of(document, state) for key, document in state.documents.items()}
        chunks = [
            chunk
            for chunk in state.chunks.values()
            if _passes(wanted, chunk, values[chunk.document_id], state)
        ]
        return Selection(
            IdSet.of({chunk.document_id for chunk in chunks}), IdSet.of(c.id for c in chunks)
        )

    def mentioned(self, chunks: IdSet) -> IdSet:
        return IdSet.of({entity for chunk, entity in self._state().mentions if chunk in chunks})


def _passes(wanted: Filter, chunk: Chunk, values: _Values, state: State) -> bool:
    """Return True if a chunk of a document with these field values passes a filter."""
    match wanted:
        case AllOf(parts):
            return all(_passes(part, chunk, values, state) for part in parts)
        case AnyOf(parts):
            return any(_passes(part, chunk, values, state) for part in parts)
        case Not(part):
            return not _passes(part, chunk, values, state)
        case Condition(field):
            name = field_name(field)
            if name != PAGE:
                return Matcher(wanted).matches_any(values.get(name, ()))
            start, end = chunk.span
            pages = page_spans(state.documents[chunk.document_id])
            return Matcher(wanted).matches_any(
                page.label for page in pages if page.start < end and start < page.end
            )


def _values_of(document: Document, state: State) -> _Values:
    built_in = {
        URI: (document.uri,),
        PATH: (document.uri,),
        TITLE: (document.title,) if document.title else (),
        LANGUAGE: language_values(document.language),
        FORMAT: format_values(document.uri, document.media_type),
    }
    entry = state.ledger.get(document.uri)
    if entry is not None and entry.modified_ns > 0:
        built_in[FILE_DATE] = (file_day(entry.modified_ns),)
    own = metadata_fields(document.metadata)
    merged = {name: (*built_in.get(name, ()), *own.get(name, ())) for name in {**built_in, **own}}
    return {name: values for name, values in merged.items() if values}


_K1 = 1.2
_B = 0.75
_LEAST_IDF = 1e-6


class MemoryTexts:
    """The `TextIndex` of the memory store: the BM25 formula, applied to every item."""

    def __init__(self, access: StateAccess, name: str) -> None:
        self._state, self._transaction = access
        self._name = name

    def add(self, items: Iterable[tuple[str, str]]) -> None:
        with self._transaction():
            stored = self._state().texts.setdefault(self._name, {})
            for identifier, text in items:
                stored[identifier] = Counter(terms(text))

    def remove(self, ids: Collection[str]) -> None:
        with self._transaction():
            stored = self._state().texts.get(self._name, {})
            for identifier in ids:
                stored.pop(identifier, None)

    def search(self, query: str, *, k: int, where: Collection[str] | None = None) -> list[Scored]:
        counts = self._counts()
        asked = query_terms(query)
        frequencies = self.document_frequencies(asked)
        mean_length = sum(map(Counter.total, counts.values())) / max(len(counts), 1)
        found: list[Scored] = []
        for identifier in counts if where is None else set(where) & counts.keys():
            terms_of_item = counts[identifier]
            length = terms_of_item.total()
            score = 0.0
            for term in asked:
                times = terms_of_item[term]
                idf = _idf(len(counts), frequencies.get(term, 0))
                share = _K1 * (1 - _B + _B * length / mean_length) if times else 1.0
                score += idf * ((times * (_K1 + 1.0)) / (times + share))
            if any(term in terms_of_item for term in asked):
                found.append(Scored(identifier, score))
        return _best(found, k)

    def occurrences(self, ids: Sequence[str], terms: Sequence[str]) -> IntMatrix:
        counts = self._counts()
        rows = [[counts[i][term] if i in counts else 0 for term in terms] for i in ids]
        return np.array(rows, dtype=np.int32).reshape(len(ids), len(terms))

    def document_frequencies(self, terms: Collection[str]) -> dict[str, int]:
        counts = self._counts().values()
        found = {term: sum(term in item for item in counts) for term in terms}
        return {term: count for term, count in found.items() if count}

    def count(self) -> int:
        return len(self._counts())

    def _counts(self) -> dict[str, Counter[str]]:
        return self._state().texts.get(self._name, {})


class MemoryVectors:
    """The `VectorIndex` of the memory store: one dot product per item."""

    def __init__(self, access: StateAccess, name: str) -> None:
        self._state, self._transaction = access
        self._name = name

    def put(self, items: Iterable[tuple[str, str, FloatMatrix]]) -> None:
        with self._transaction():
            dimension = self._dimension()
            new: dict[str, KeyedMatrix] = {}
            for identifier, key, matrix in items:
                rows = as_rows(matrix, dimension)
                dimension = rows.shape[1]
                new[identifier] = KeyedMatrix(key, rows.astype(stored_type(self._name)))
            self._state().vectors.setdefault(self._name, {}).update(new)

    def get(self, ids: Collection[str]) -> dict[str, FloatMatrix]:
        stored = self._items()
        return {i: stored[i].rows.astype(np.float32) for i in ids if i in stored}

    def products(self, ids: Collection[str], vectors: FloatMatrix) -> dict[str, FloatMatrix]:
        return row_products(self.get(ids), vectors)

    def by_key(self, keys: Collection[str]) -> dict[str, FloatMatrix]:
        wanted = set(keys)
        stored = self._items()
        found: dict[str, FloatMatrix] = {}
        for identifier in sorted(stored):
            key, rows = stored[identifier]
            if key in wanted and key not in found:
                found[key] = rows.astype(np.float32)
        return found

    def remove(self, ids: Collection[str]) -> None:
        with self._transaction():
            stored = self._items()
            for identifier in ids:
                stored.pop(identifier, None)

    def search(
        self, vector: FloatMatrix, *, k: int, where: Collection[str] | None = None
    ) -> list[Scored]:
        stored = self._items()
        dimension = self._dimension()
        if dimension is None:
            return []
        if any(len(item.rows) != 1 for item in stored.values()):
            raise matrix_search_error(self._name)
        query = as_query(vector, dimension)
        ids = stored.keys() if where is None else set(where) & stored.keys()
        return _best([Scored(i, float(exact_scores(stored[i].rows, query)[0])) for i in ids], k)

    def count(self) -> int:
        return len(self._items())

    def take_over(self, source: MemoryVectors) -> None:
        """Replace all vectors with those of another index, which is empty afterwards."""
        with self._transaction():
            vectors = self._state().vectors
            vectors[self._name] = vectors.pop(source._name, {})

    def clear(self) -> None:
        """Remove all vectors."""
        with self._transaction():
            self._state().vectors.pop(self._name, None)

    def _items(self) -> dict[str, KeyedMatrix]:
        return self._state().vectors.get(self._name, {})

    def _dimension(self) -> int | None:
        return next((item.rows.shape[1] for item in self._items().values()), None)


def _idf(items: int, frequency: int) -> float:
    """Return the inverse document frequency as SQLite's FTS5 defines it."""
    idf = math.log((items - frequency + 0.5) / (frequency + 0.5))
    return idf if idf > 0 else _LEAST_IDF


def _best(found: Iterable[Scored], k: int) -> list[Scored]:
    return sorted(found, key=lambda scored: (-scored.score, scored.id))[: max(k, 0)]
