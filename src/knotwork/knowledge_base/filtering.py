"""Cache of filtered indexes with their retrievers."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from knotwork.errors import RetrievalError
from knotwork.records import Filter
from knotwork.retrieval.base import Retriever
from knotwork.stores.base import Store
from knotwork.stores.fields import FieldStore, StoresFields
from knotwork.stores.filtered import FilteredStore

RetrieverKey = tuple[str, str, str]
"""The name asked for, what `auto` stands for, and the embedder."""

MOST_PARTS = 8
"""Filters kept with their retrievers; each has the ids that it leaves."""

NOTHING_LEFT_NOTE = "No document matches the filter: {filter}"


@dataclass(frozen=True, slots=True)
class Part:
    """An index, or what a filter leaves of it, with the retrievers made for it so far."""

    store: Store
    retrievers: dict[RetrieverKey, Retriever] = field(default_factory=dict)


class Parts:
    """What filters leave of one store. Safe for many threads."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._generation = -1
        self._kept: dict[Filter, Part] = {}

    def get(self, wanted: Filter) -> Part:
        """Return what a filter leaves now. Raises UnknownName for a field the index lacks."""
        generation = self._store.generation()
        with self._lock:
            if generation != self._generation:
                self._generation, self._kept = generation, {}
            part = self._kept.pop(wanted, None)
            if part is None:
                fields = fields_of(self._store)
                part = Part(FilteredStore(self._store, fields, fields.select(wanted)))
            self._kept[wanted] = part
            for oldest in list(self._kept)[:-MOST_PARTS]:
                del self._kept[oldest]
            return part


def note_nothing_left(part: Store, wanted: Filter) -> tuple[str, ...]:
    """Return a note where a filter leaves no document of an index, ``part``; else nothing."""
    if part.documents.document_count():
        return ()
    return (NOTHING_LEFT_NOTE.format(filter=wanted),)


def fields_of(store: Store) -> FieldStore:
    """Return the fields of a store. Raises RetrievalError for one that has none."""
    if isinstance(store, StoresFields):
        return store.fields
    raise RetrievalError(
        f"The store {store.url} cannot filter by fields of documents.",
        fix="Use an index file, or give the store the shape of `StoresFields`.",
    )
