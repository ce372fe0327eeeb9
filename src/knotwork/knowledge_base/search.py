"""Search a knowledge base, whole or filtered, and answer questions from it."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple, Unpack

from knotwork.errors import RetrievalError
from knotwork.indexing.embedding import (
    EMBEDDER_META,
    UNFINISHED_NOTE,
    check_embedder,
    holds_vectors,
    unfinished_embedder,
)
from knotwork.inference.chat import ChatModel
from knotwork.inference.cross_encoders import Reranker
from knotwork.records import (
    RETRIEVAL_QUERY,
    Answer,
    Direction,
    Evidence,
    Filter,
    GraphPath,
    PropertyValue,
    Query,
    QueryResult,
    Subgraph,
)
from knotwork.retrieval.base import Retriever
from knotwork.stores.base import Store
from knotwork.stores.fields import FieldStore, StoresFields
from knotwork.stores.filtered import FilteredStore
from knotwork.stores.table_file import tables_path

if TYPE_CHECKING:
    from knotwork.config import Settings
    from knotwork.inference.cross_encoders import AnswerReader
    from knotwork.inference.embedder import Embedder
    from knotwork.inference.role_models import RoleModels
    from knotwork.retrieval.entity_lookup import Dossier
    from knotwork.retrieval.filter_parser import FilterSpec
    from knotwork.retrieval.queries.hit_queries import HitQuery
    from knotwork.stores.fields import FieldInfo
    from knotwork.synthesis.ask_request import AskEvent
    from knotwork.synthesis.engine import AnswerEngine, AskOptions


MOST_RETRIEVERS = 64
"""Kept for the next question, as anyone may compose new ones."""

LEAST_SHARE = 0.5
"""Of the documents, what must have a field for a question to restrict the search by it."""

STATED_NOTE = (
    "Only documents with {filter} were searched, as the question says \u201c{words}\u201d."
)
NO_VECTORS_NOTE = (
    "Searched by full text and the knowledge graph alone: the vectors of this index are of "
    "`{stored}`, which is not at hand."
)


class SearchMixin:
    """Searches, answers and walks; retrievers and models are made when they are first needed."""

    store: Store
    settings: Settings
    _lock: threading.RLock
    _chat_model: ChatModel | None
    _asker: AnswerEngine | None
    _search_models: RoleModels | None
    _reranker: Reranker | None
    _reader: AnswerReader | None
    _has_reader: bool
    _whole: FilteredIndex
    _parts: FilteredIndexes

    if TYPE_CHECKING:

        @property
        def embedder(self) -> Embedder | None: ...

    @property
    def reranker(self) -> Reranker | None:
        """The reranking model of the settings, or None when they name none."""
        from knotwork.inference.model_registry import open_reranker

        with self._lock:
            if self._reranker is None:
                self._reranker = open_reranker(self.settings.rerank)
            return self._reranker

    @property
    def reader(self) -> AnswerReader | None:
        """The model that reads passages for answers, or None where there is none, or it is off."""
        from knotwork.inference.model_registry import open_reader

        with self._lock:
            if not self._has_reader:
                self._reader = open_reader(self.settings.answer.reader)
                self._has_reader = True
            return self._reader

    def search(
        self,
        question: str,
        *,
        retriever: str | None = None,
        k: int | None = None,
        filters: FilterSpec | None = None,
        min_score: float | None = None,
        retrieval_query: str | None = None,
        query_params: Mapping[str, PropertyValue] | None = None,
    ) -> Evidence:
        """Return the passages that bear on a question, best first, each with its reasons.

        ``retriever`` and ``k`` default to the settings. ``filters`` restrict the search to
        documents and pages, as ``"author = 'Ann' and date >= 2023"`` or ``{"author": "Ann"}``;
        `fields` returns what can be compared. Passages that score less than ``min_score``, on the
        scale of the retriever, are left out.

        ``retrieval_query`` is read-only Cypher that runs over the hits: it starts from `node`, a
        chunk that was found, and `score`, as "MATCH (node)-[:MENTIONS]->(e) RETURN e.name, score";
        ``query_params`` are its parameters, beside `$question`. Its rows are the last of
        ``Evidence.results``, and chunks in these rows become hits.

        Raises UnknownName for an unknown retriever or field, FilterError for a filter that cannot
        be read, RetrievalError when the retriever cannot work on this index, SchemaMismatch when
        the index holds vectors of another embedder; QuerySyntaxError, QueryRefused or QueryTimeout
        for ``retrieval_query``.
        """
        over_hits = _read_hit_query(retrieval_query, query_params)
        scope = self._scope(question, filters)
        wanted = _SearchOptions(retriever, k, min_score, over_hits)
        found = self._search(scope.question, scope, wanted)
        return replace(found, query=replace(found.query, text=question))

    def fields(self) -> list[FieldInfo]:
        """Return the fields that filters can compare, by name, with their most frequent values.

        Raises RetrievalError if the store cannot filter.
        """
        return store_fields(self.store).fields()

    def filtered_store(self, filters: FilterSpec | None) -> Store:
        """Return the index as filters leave it, which can only be read; all of it without any.

        Raises UnknownName for an unknown field, FilterError for a filter that cannot be read.
        """
        from knotwork.retrieval.filter_parser import read_filter

        wanted = read_filter(filters)
        return self.store if wanted is None else self._parts.get(wanted).store

    def ask(
        self,
        question: str,
        *,
        retriever: str | None = None,
        k: int | None = None,
        filters: FilterSpec | None = None,
        min_score: float | None = None,
        retrieval_query: str | None = None,
        query_params: Mapping[str, PropertyValue] | None = None,
        **options: Unpack[AskOptions],
    ) -> Answer:
        """Answer a question from the documents, each statement with its citation.

        Without a language model for answers in the settings the answer consists of sentences of
        the documents. When they hold no answer, ``answered`` is False and ``reason`` says why. See
        `search` for ``filters``, ``min_score`` and ``retrieval_query``, whose rows a model reads
        and ``results`` has, `AskOptions` for what a model may do, and `ask_events` for errors.
        """
        *_, last = self.ask_events(
            question,
            retriever=retriever,
            k=k,
            filters=filters,
            min_score=min_score,
            retrieval_query=retrieval_query,
            query_params=query_params,
            **options,
        )
        assert last.answer is not None, "the last event has the answer"
        return last.answer

    def ask_events(
        self,
        question: str,
        *,
        retriever: str | None = None,
        k: int | None = None,
        filters: FilterSpec | None = None,
        min_score: float | None = None,
        retrieval_query: str | None = None,
        query_params: Mapping[str, PropertyValue] | None = None,
        **options: Unpack[AskOptions],
    ) -> Iterator[AskEvent]:
        """Do what `ask` does, and yield every step, the model's words as they come.

        The last event carries the answer. Calls to a model are kept beside the index: an equal
        question costs nothing the second time. Rows of tables answer questions that are surely
        about them, unless a retriever or a filter is given (`answer.tables`). Raises as `search`,
        ConfigError when the model is not set rightly, and ModelError when it fails and ``fallback``
        is off.
        """
        from knotwork.retrieval.retriever_registry import AUTO
        from knotwork.synthesis.engine import AnswerEngine
        from knotwork.synthesis.inquiry import index_sources

        with self._lock:
            if self._asker is None:
                self._asker = AnswerEngine(self.store, self.settings, model=self._chat_model)
        wanted = _SearchOptions(
            retriever, k, min_score, _read_hit_query(retrieval_query, query_params)
        )
        scope = self._scope(question, filters)
        tables = tables_path(self.store.url)
        asks_tables = (
            self.settings.answer.tables
            and retriever in (None, "", AUTO)
            and not filters
            and tables is not None
            and tables.exists()
        )

        def search(text: str) -> Evidence:
            found = self._search(text, scope, wanted)
            if not asks_tables or (scope.filter and text != scope.question):
                return found
            from knotwork.retrieval.queries.table_rows import TableRows

            # A time that became a filter is no longer in the text, and rows have to honour it.
            asked = question if text == scope.question else text
            return TableRows(self.store).add_rows(found, asked)

        sources = index_sources(
            self.store,
            part=scope.part.store if scope.filter else None,
            search=search,
            embedder=lambda: self.embedder if self.store.meta().get(EMBEDDER_META) else None,
            reader=lambda: self.reader,
            settings=self.settings,
        )
        events = self._asker.answer(scope.question, sources, options)
        return _as_asked(events, question, scope.notes)

    def explore(
        self,
        names: str | Sequence[str],
        *,
        direction: Direction = "both",
        depth: int = 2,
        fan: int = 8,
        limit: int = 50,
    ) -> Subgraph:
        """Walk the graph from entities by name: see `GraphStore.explore`.

        Raises UnknownName with the nearest names when one means no entity.
        """
        from knotwork.retrieval.entity_lookup import resolve_names

        seeds = resolve_names(self.store, [names] if isinstance(names, str) else names)
        return self.store.graph.explore(
            seeds, direction=direction, depth=depth, fan=fan, limit=limit
        )

    def describe(
        self, names: str | Sequence[str], *, passages: int = 3, relations: int = 8, nearby: int = 8
    ) -> list[Dossier]:
        """Return what the index holds on each of these entities: its other names, description,
        relations, communities and passages, and what else these passages name.

        Raises UnknownName with the nearest names when one means no entity.
        """
        from knotwork.retrieval.entity_lookup import read_dossier, resolve_names

        given = [names] if isinstance(names, str) else names
        found = dict.fromkeys(resolve_names(self.store, [name])[0] for name in given)
        read = (
            read_dossier(self.store, key, relations=relations, passages=passages, nearby=nearby)
            for key in found
        )
        return [dossier for dossier in read if dossier is not None]

    def paths(self, one: str, other: str, *, limit: int = 5) -> list[GraphPath]:
        """Return the shortest paths in the graph between two names, those over stated relations
        first, each hop with the chunk that states it.

        There is none where both mean one thing, or where they are more than five hops apart. Raises
        UnknownName with the nearest names when one means no entity.
        """
        from knotwork.retrieval.entity_lookup import resolve_names
        from knotwork.retrieval.paths.shortest_paths import find_shortest_paths

        ends = (resolve_names(self.store, [name]) for name in (one, other))
        return find_shortest_paths(self.store, *ends, limit=limit)

    def _scope(self, question: str, filters: FilterSpec | None) -> _SearchScope:
        """Return the part of the index that a question is asked of."""
        from knotwork.retrieval.filter_parser import read_filter

        wanted = read_filter(filters)
        if wanted is None:
            return self._stated_scope(question) or _SearchScope(self._whole, question)
        part = self._parts.get(wanted)
        return _SearchScope(part, question, wanted, note_nothing_left(part.store, wanted))

    def _stated_scope(self, question: str) -> _SearchScope | None:
        """Return the part of the index that a question itself demands.

        There is one if most documents have the fields that it compares, and some are left.
        """
        from knotwork.retrieval.question_filters import find_stated_filters

        if not self.settings.retrieval.read_filters or not isinstance(self.store, StoresFields):
            return None
        stated = find_stated_filters(question, today=datetime.now().astimezone().date())
        if stated is None:
            return None
        counts = {field.name: field.documents for field in self.fields()}
        least = max(LEAST_SHARE * self.store.documents.document_count(), 1)
        if counts.get(stated.field, 0) < least:
            return None
        part = self._parts.get(stated.filter)
        if part.store.documents.document_count() == 0:
            return None
        note = STATED_NOTE.format(filter=stated.filter, words=stated.words)
        return _SearchScope(part, stated.rest, stated.filter, (note,))

    def _search(self, text: str, scope: _SearchScope, wanted: _SearchOptions) -> Evidence:
        usual, least = self.settings.retrieval, wanted.min_score
        query = Query(text, usual.k if wanted.k is None else wanted.k, scope.filter, least)
        chosen, notes = self._retriever(wanted.retriever or usual.retriever, scope.part)
        found = chosen.retrieve(query)
        hits = found.hits
        if least is not None:
            hits = tuple(hit for hit in hits if hit.score >= least)
        notes = (*scope.notes, *found.notes, *notes)
        found = replace(found, query=query, hits=hits, notes=notes)
        if wanted.over_hits is None:
            return found
        from knotwork.retrieval.queries.hit_queries import run_over_hits

        embedder = self.embedder if found.embedder else None
        return run_over_hits(found, wanted.over_hits, store=scope.part.store, embedder=embedder)

    def _retriever(self, name: str, part: FilteredIndex) -> tuple[Retriever, tuple[str, ...]]:
        """Return the retriever of this name over a part of the index, with notes on what it lacks.

        Retrievers over the whole index are kept, those over a part as long as it is.
        """
        from knotwork.retrieval.retriever_builder import build_retriever
        from knotwork.retrieval.retriever_registry import (
            AUTO,
            may_ask_model,
            may_rerank,
            resolve_auto,
        )

        stored = self.store.meta().get(EMBEDDER_META, "")
        embedder = self.embedder if stored else None
        notes: tuple[str, ...] = ()
        into = unfinished_embedder(self.store)
        if embedder is not None and into == embedder.name != stored:
            embedder = None  # the vectors of the index cannot be compared with its own yet
        if embedder is not None:
            check_embedder(self.store, embedder.name)
        elif stored and not into and holds_vectors(self.store):
            notes = (NO_VECTORS_NOTE.format(stored=stored),)
        if into:
            means = "its old vectors" if embedder is not None else "full text and the graph"
            notes = (UNFINISHED_NOTE.format(into=into, means=means),)
        kept = part.retrievers
        key = (name, resolve_auto(AUTO, part.store), embedder.name if embedder else "")
        with self._lock:
            if key not in kept:
                if len(kept) >= MOST_RETRIEVERS:
                    kept.clear()
                kept[key] = build_retriever(
                    name,
                    store=part.store,
                    embedder=embedder,
                    model=self._keyword_model() if may_ask_model(name) else None,
                    reranker=self.reranker if may_rerank(name) else None,
                )
            return kept[key], notes

    def _keyword_model(self) -> ChatModel | None:
        """Return the model that retrievers ask, with the calls of this index; None without one."""
        from knotwork.inference.role_models import RoleModels, calls_path

        if self._search_models is None:
            self._search_models = RoleModels(
                self.settings.llm, path=calls_path(self.store.url), model=self._chat_model
            )
        return self._search_models.open("keyword")


def _as_asked(
    events: Iterator[AskEvent], question: str, notes: tuple[str, ...]
) -> Iterator[AskEvent]:
    """Yield the steps to an answer to ``question``, with these notes first among its own.

    The rows of a retrieval query are the last of its results.
    """
    rows: tuple[QueryResult, ...] = ()
    for event in events:
        if event.evidence is not None:
            rows = tuple(r for r in event.evidence.results if r.source == RETRIEVAL_QUERY) or rows
        if event.answer is None:
            yield event
        else:
            given = event.answer
            told = tuple(dict.fromkeys((*notes, *given.notes)))
            results = (*given.results, *rows)
            answer = replace(given, question=question, notes=told, results=results)
            yield replace(event, answer=answer)


def _read_hit_query(
    statement: str | None, parameters: Mapping[str, PropertyValue] | None
) -> HitQuery | None:
    if not statement and not parameters:
        return None
    # The language is imported with the first statement.
    from knotwork.retrieval.queries.hit_queries import read_hit_query

    return read_hit_query(statement, parameters)


class _SearchOptions(NamedTuple):
    """How a search is done: see `Asking.search`."""

    retriever: str | None
    k: int | None
    min_score: float | None
    over_hits: HitQuery | None


class _SearchScope(NamedTuple):
    """What a question is asked of: a part of the index, by which filter, and notes on it.

    ``question`` is what is asked of it: not again what the filter has from the question.
    """

    part: FilteredIndex
    question: str
    filter: Filter | None = None
    notes: tuple[str, ...] = ()


RetrieverKey = tuple[str, str, str]
"""The name asked for, what `auto` stands for, and the embedder."""

MOST_FILTERED = 8
"""Filters kept with their retrievers; each has the ids that it leaves."""

NOTHING_LEFT_NOTE = "No document matches the filter: {filter}"


@dataclass(frozen=True, slots=True)
class FilteredIndex:
    """An index, or what a filter leaves of it, with the retrievers made for it so far."""

    store: Store
    retrievers: dict[RetrieverKey, Retriever] = field(default_factory=dict)


class FilteredIndexes:
    """What filters leave of one store. Safe for many threads."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._generation = -1
        self._kept: dict[Filter, FilteredIndex] = {}

    def get(self, wanted: Filter) -> FilteredIndex:
        """Return what a filter leaves now. Raises UnknownName for a field the index lacks."""
        generation = self._store.generation()
        with self._lock:
            if generation != self._generation:
                self._generation, self._kept = generation, {}
            part = self._kept.pop(wanted, None)
            if part is None:
                fields = store_fields(self._store)
                part = FilteredIndex(FilteredStore(self._store, fields, fields.select(wanted)))
            self._kept[wanted] = part
            for oldest in list(self._kept)[:-MOST_FILTERED]:
                del self._kept[oldest]
            return part


def note_nothing_left(part: Store, wanted: Filter) -> tuple[str, ...]:
    """Return a note where a filter leaves no document of an index, ``part``; else nothing."""
    if part.documents.document_count():
        return ()
    return (NOTHING_LEFT_NOTE.format(filter=wanted),)


def store_fields(store: Store) -> FieldStore:
    """Return the fields of a store. Raises RetrievalError for one that has none."""
    if isinstance(store, StoresFields):
        return store.fields
    raise RetrievalError(
        f"The store {store.url} cannot filter by fields of documents.",
        fix="Use an index file, or give the store the shape of `StoresFields`.",
    )
