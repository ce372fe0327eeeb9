"""Fields of documents in the memory store: every filter looks at every document."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from knotwork.records import AllOf, AnyOf, Chunk, Condition, Document, Filter, Not
from knotwork.stores.fields import (
    FILE_DATE,
    FORMAT,
    LANGUAGE,
    PAGE,
    PATH,
    TITLE,
    URI,
    FieldInfo,
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
from knotwork.stores.id_sets import IdSet
from knotwork.stores.matching import Matcher
from knotwork.stores.memory.state import Access, State

_Values = dict[str, tuple[str, ...]]


class MemoryFields:
    """The `FieldStore` of the memory store."""

    def __init__(self, access: Access) -> None:
        self._state, self._transaction = access

    def fields(self) -> list[FieldInfo]:
        state = self._state()
        held: defaultdict[str, Counter[str]] = defaultdict(Counter)
        documents: Counter[str] = Counter()
        for document in state.documents.values():
            values = _values_of(document, state)
            if document.pages:
                values[PAGE] = tuple({page.label for page in page_spans(document)})
            for name, found in values.items():
                documents[name] += 1
                held[name].update(found)
        return [summarize_field(name, documents[name], held[name].items()) for name in sorted(held)]

    def select(self, wanted: Filter) -> Selection:
        state = self._state()
        check_fields(wanted, [known.name for known in self.fields()])
        values = {key: _values_of(document, state) for key, document in state.documents.items()}
        chunks = [
            chunk
            for chunk in state.chunks.values()
            if _holds(wanted, chunk, values[chunk.document_id], state)
        ]
        return Selection(
            IdSet.of({chunk.document_id for chunk in chunks}), IdSet.of(c.id for c in chunks)
        )

    def mentioned(self, chunks: IdSet) -> IdSet:
        return IdSet.of({entity for chunk, entity in self._state().mentions if chunk in chunks})


def _holds(wanted: Filter, chunk: Chunk, values: _Values, state: State) -> bool:
    match wanted:
        case AllOf(parts):
            return all(_holds(part, chunk, values, state) for part in parts)
        case AnyOf(parts):
            return any(_holds(part, chunk, values, state) for part in parts)
        case Not(part):
            return not _holds(part, chunk, values, state)
        case Condition(field):
            name = field_name(field)
            held: Iterable[str] = values.get(name, ())
            if name == PAGE:
                held = _pages_of(chunk, state.documents[chunk.document_id])
            return Matcher(wanted).matches_any(held)


def _pages_of(chunk: Chunk, document: Document) -> list[str]:
    start, end = chunk.span
    return [page.label for page in page_spans(document) if page.start < end and start < page.end]


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
