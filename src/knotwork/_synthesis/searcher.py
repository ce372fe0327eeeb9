"""Search one part of an index: retrievers by name, filters, and filters that a question states."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from knotwork._config import Settings
from knotwork._indexing.embedding import (
    EMBEDDER_META,
    INTO_META,
    UNFINISHED_NOTE,
    check_embedder,
    holds_vectors,
)
from knotwork._inference.chat import ChatModel
from knotwork._questions.languages import find_stated_filter
from knotwork._retrieval.base import Retriever
from knotwork._retrieval.filters import read_filter
from knotwork._retrieval.optional_parts import attempt
from knotwork._retrieval.retriever_registry import (
    AUTO,
    RETRIEVERS,
    STEPS,
    build_retriever,
    may_ask_model,
    may_rerank,
    open_auto,
    resolve_auto,
)
from knotwork._stores.base import Store, companions_of, require_fields
from knotwork._stores.filtered import FilteredStore
from knotwork._stores.index_tables import tables_of
from knotwork._synthesis.ask_request import AskRequest
from knotwork.errors import BudgetExceeded, KnotworkError, ModelError, RetrievalError
from knotwork.records import Evidence, Filter, Query

if TYPE_CHECKING:
    from knotwork._inference.role_models import RoleModels
    from knotwork._knowledge_base.local_models import LocalModels
    from knotwork._retrieval.queries.hit_queries import HitQuery
    from knotwork._retrieval.queries.query_plans import Translator

MAX_RETRIEVERS = 64
"""Retrievers kept for the next question; the limit is for callers that compose ever new ones."""

LEAST_PASSAGE_TOKENS = 100
"""Tokens of a prompt for each passage that is searched for: less than most passages have, since
only their relevant blocks are packed."""
MOST_PROMPT_HITS = 200
"""Passages that are searched for at most to fill a prompt."""

MAX_FILTERED = 8
"""Filters whose part of the index is kept, with the retrievers over it."""

MIN_FIELD_SHARE = 0.5
"""A question restricts the search by a field only if this share of the documents has the field."""

STATED_NOTE = (
    "Only documents with {filter} were searched, as the question says \u201c{words}\u201d."
)
NO_VECTORS_NOTE = (
    "Searched by full text and the knowledge graph only: the embedder of this index, `{stored}`, "
    "is not available."
)
FAILED_EMBEDDER_NOTE = (
    "Searched by full text and the knowledge graph only, because the embedding model failed: "
    "{failure}"
)
NOTHING_LEFT_NOTE = "No document matches the filter: {filter}"

RetrieverKey = tuple[str, str, str, int]
"""The name of a retriever, what `auto` stands for, the embedder, and the number of retrievers and
steps that this program has registered: a name may be registered again."""


class IndexState(NamedTuple):
    """What the choice of a retriever depends on, the same within a generation of the index.

    ``stored`` is the embedder of its vectors, ``into`` the one that it is being switched to, and
    ``auto`` the retriever behind `auto`.
    """

    stored: str
    into: str
    holds_vectors: bool
    auto: str


@dataclass(frozen=True, slots=True)
class FilteredIndex:
    """An index, or what a filter leaves of it, with the retrievers built over it so far."""

    store: Store
    retrievers: dict[RetrieverKey, Retriever] = field(default_factory=dict)
    states: dict[int, IndexState] = field(default_factory=dict)
    """The state of the index in its last generation, by that generation."""


class Retrievers:
    """The retrievers of one index and of its filtered parts, kept between questions.

    ``chat_model`` replaces the language model of the settings. ``translator``, or the one of this
    name, writes the statements of retrievers by query. Safe for many threads.
    """

    def __init__(
        self,
        store: Store,
        settings: Settings,
        models: LocalModels,
        *,
        chat_model: ChatModel | None = None,
        translator: str | Translator = "",
    ) -> None:
        self.store = store
        self.settings = settings
        self.models = models
        self._chat_model = chat_model
        self._translator = translator
        self._search_models: RoleModels | None = None
        self._whole = FilteredIndex(store)
        self._tables = tables_of(store)
        self._filtered: dict[Filter, FilteredIndex] = {}
        self._generation = -1
        self._lock = threading.RLock()

    def searcher(self, request: AskRequest, *, with_tables: bool = False) -> ScopedSearcher:
        """Return the searcher of a request; ``with_tables`` adds rows of tables to what it finds.

        Raises UnknownName for an unknown field, FilterError for an invalid filter, and
        QuerySyntaxError for an invalid retrieval query.
        """
        hit_query = None
        if request.retrieval_query or request.query_params:
            # Cypher is imported with the first statement.
            from knotwork._retrieval.queries.hit_queries import read_hit_query

            hit_query = read_hit_query(request.retrieval_query, request.query_params)
        searcher = self._find_part(request)
        searcher.hit_query = hit_query
        if with_tables and self.settings.answer.tables:
            # No retriever and no filter may exclude the rows of tables.
            is_free = request.retriever in (None, "", AUTO) and not request.filters
            tables = self._tables if is_free else None
            searcher.with_tables = tables is not None and tables.exists()
        return searcher

    def search(self, request: AskRequest) -> Evidence:
        """Return the passages relevant to a request. Raises as `KnowledgeBase.search`."""
        searcher = self.searcher(request)
        found = searcher.search(searcher.question)
        return replace(found, query=replace(found.query, text=request.question))

    def filtered(self, wanted: Filter) -> FilteredIndex:
        """Return what a filter leaves now. Raises UnknownName for a field that the index lacks."""
        generation = self.store.generation()
        with self._lock:
            if generation != self._generation:
                self._generation, self._filtered = generation, {}
            part = self._filtered.pop(wanted, None)
            if part is None:
                fields = require_fields(self.store)
                part = FilteredIndex(FilteredStore(self.store, fields, fields.select(wanted)))
            self._filtered[wanted] = part
            for oldest in list(self._filtered)[:-MAX_FILTERED]:
                del self._filtered[oldest]
            return part

    def get(self, name: str, part: FilteredIndex) -> tuple[Retriever, tuple[str, ...]]:
        """Return the retriever of a name over a part of the index, with notes on what it lacks.

        Raises UnknownName for an unknown retriever, SchemaMismatch if the index has vectors of
        another embedder.
        """
        stored, into, has_vectors, auto = self._state_of(part)
        embedder = self.models.query_embedder if stored else None
        failure = self.models.embedder_failure
        notes: tuple[str, ...] = ()
        if embedder is not None and into == embedder.name != stored:
            embedder = None  # the vectors of the index cannot be compared with its own yet
        if embedder is not None and embedder.name != stored:
            check_embedder(self.store, embedder.name)
        elif embedder is None and stored and not into and has_vectors:
            notes = (NO_VECTORS_NOTE.format(stored=stored),)
            if failure:
                notes = (FAILED_EMBEDDER_NOTE.format(failure=failure.message),)
        if into:
            means = "its old vectors" if embedder is not None else "full text and the graph"
            notes = (UNFINISHED_NOTE.format(into=into, means=means),)
        kept = part.retrievers
        registered = RETRIEVERS.revision + STEPS.revision
        key = (name, auto, embedder.name if embedder else "", registered)
        with self._lock:
            if key not in kept:
                if len(kept) >= MAX_RETRIEVERS:
                    kept.clear()
                if name == AUTO:
                    kept[key] = open_auto(auto, part.store, embedder)
                else:
                    kept[key] = build_retriever(
                        name,
                        store=part.store,
                        embedder=embedder,
                        model=self._keyword_model() if may_ask_model(name) else None,
                        reranker=self.models.reranker if may_rerank(name) else None,
                        translator=self._translator,
                    )
            return kept[key], notes

    def _state_of(self, part: FilteredIndex) -> IndexState:
        """Return the state of the index, read once per generation."""
        generation = self.store.generation()
        known = part.states.get(generation)
        if known is not None and not self.store.writing:
            return known
        with self.store.reading():
            generation, meta = self.store.generation(), self.store.meta()
            state = IndexState(
                stored=meta.get(EMBEDDER_META, ""),
                into=meta.get(INTO_META, ""),
                holds_vectors=holds_vectors(self.store),
                auto=resolve_auto(AUTO, part.store),
            )
        if not self.store.writing:
            with self._lock:
                part.states.clear()
                part.states[generation] = state
        return state

    def clear(self) -> None:
        """Drop all retrievers: the index has other vectors now."""
        with self._lock:
            self._whole.retrievers.clear()
            self._filtered = {}

    def close(self) -> None:
        """Close the file of calls to the language model."""
        with self._lock:
            if self._search_models is not None:
                self._search_models.close()

    def _keyword_model(self) -> ChatModel | None:
        from knotwork._inference.role_models import RoleModels

        if self._search_models is None:
            companions = companions_of(self.store)
            self._search_models = RoleModels.of(self.settings, companions, model=self._chat_model)
        return self._search_models.open("keyword")

    def _find_part(self, request: AskRequest) -> ScopedSearcher:
        """Return the searcher of the part of the index that a request or its question asks for.

        What a question states, as "in 2023" does, restricts the search only if most documents have
        the field that it compares, and some match.
        """
        question = request.question
        wanted = None
        if request.filters:
            wanted = read_filter(request.filters)
        if wanted is not None:
            part = self.filtered(wanted)
            notes = note_nothing_left(part.store, wanted)
            return ScopedSearcher(self, request, part, question, wanted, notes)
        whole = ScopedSearcher(self, request, self._whole, question)
        fields = self.store.capabilities.fields
        if not self.settings.retrieval.read_filters or fields is None:
            return whole
        stated = find_stated_filter(question, today=datetime.now().astimezone().date())
        if stated is None:
            return whole
        counts = {item.name: item.documents for item in fields.fields()}
        least = max(MIN_FIELD_SHARE * self.store.documents.document_count(), 1)
        if counts.get(stated.field, 0) < least:
            return whole
        part = self.filtered(stated.filter)
        if part.store.documents.document_count() == 0:
            return whole
        note = STATED_NOTE.format(filter=stated.filter, words=stated.words)
        return ScopedSearcher(self, request, part, stated.rest, stated.filter, (note,))


@dataclass(slots=True)
class ScopedSearcher:
    """Searches one part of an index with the options of one request.

    ``question`` is that of the request without the words that became the ``filter``, and ``notes``
    say which these were. ``further`` is the number of hits to find beside those asked for.
    """

    retrievers: Retrievers
    request: AskRequest
    part: FilteredIndex
    question: str
    filter: Filter | None = None
    notes: tuple[str, ...] = ()
    hit_query: HitQuery | None = None
    with_tables: bool = False
    further: int = 0

    @property
    def store(self) -> Store:
        """The index, or what the filter leaves of it."""
        return self.part.store

    @property
    def models(self) -> LocalModels:
        """The models of the index."""
        return self.retrievers.models

    def fill_prompt(self, tokens: int) -> None:
        """From now on also find further hits, to fill a prompt of ``tokens``.

        None are found where the request sets the number of hits, a retriever or a retrieval query.
        """
        request, usual = self.request, self.retrievers.settings.retrieval
        is_usual = (request.retriever or usual.retriever) == AUTO and self.hit_query is None
        if is_usual and request.k is None:
            wanted = min(tokens // LEAST_PASSAGE_TOKENS, MOST_PROMPT_HITS)
            self.further = max(wanted - usual.k, 0)

    def search(self, text: str) -> Evidence:
        """Return the passages that are relevant to a text, found by words and graph if the embedder
        fails. Raises as `KnowledgeBase.search`.
        """
        request, retrievers, models = self.request, self.retrievers, self.models
        usual = retrievers.settings.retrieval
        k = usual.k if request.k is None else request.k
        query = Query(text, k, self.filter, request.min_score)
        wider = replace(query, k=k + self.further)
        name = request.retriever or usual.retriever
        try:
            retriever, notes = retrievers.get(name, self.part)
            found = retriever.retrieve(wider)
        except RetrievalError as error:
            raise models.embedder_failure or error from None
        except ModelError as error:
            if models.query_embedder is None or isinstance(error, BudgetExceeded):
                raise
            models.rest_embedder(error)
            try:
                retriever, notes = retrievers.get(name, self.part)
                found = retriever.retrieve(wider)
            except KnotworkError:
                models.rest_embedder(None)  # it was not at fault, or is needed
                raise error from None
        return self._complete(replace(found, query=query, notes=(*found.notes, *notes)))

    def _complete(self, found: Evidence) -> Evidence:
        """Leave out weak hits and those that only fill a prompt, and add rows."""
        request, query, hits = self.request, found.query, found.hits
        if request.min_score is not None:
            hits = tuple(hit for hit in hits if hit.score >= request.min_score)
        notes = (*self.notes, *found.notes)
        shown = max(query.k, len(hits) - self.further)
        found = replace(found, hits=hits[:shown], further=hits[shown:], notes=notes)
        if self.hit_query is not None:
            from knotwork._retrieval.queries.hit_queries import run_over_hits

            embedder = self.models.query_embedder if found.embedder else None
            found = run_over_hits(found, self.hit_query, store=self.store, embedder=embedder)
        is_question = query.text == self.question
        if not self.with_tables or (self.filter and not is_question):
            return found
        from knotwork._retrieval.queries.table_rows import TableRows

        # Words that became a filter are missing in the text, but rows have to match them as well.
        asked, failed = request.question if is_question else query.text, list[str]()
        rows = TableRows(self.retrievers.store)
        found = attempt("The query of tables", lambda: rows.add_rows(found, asked), found, failed)
        return replace(found, notes=(*found.notes, *failed))


def note_nothing_left(part: Store, wanted: Filter) -> tuple[str, ...]:
    """Return a note if a filter leaves no document of an index; ``part`` is what it leaves."""
    if part.documents.document_count():
        return ()
    return (NOTHING_LEFT_NOTE.format(filter=wanted),)
