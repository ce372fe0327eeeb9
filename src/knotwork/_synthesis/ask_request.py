"""The question, the part of the index to search, and the reports and models for its answer.

An `AskRequest` is what a caller gives: a question with its options. A `ScopedSearcher` searches the
part of an index that it is about: by retrievers of any name, under its filters and those that the
question states, with the `LocalModels` of the index. An `Inquiry` is the question on its way to the
answer.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

from knotwork._config import AnswerSettings, Settings
from knotwork._indexing.embedding import (
    EMBEDDER_META,
    INTO_META,
    UNFINISHED_NOTE,
    check_embedder,
    holds_vectors,
    stored_embedder,
)
from knotwork._inference.chat import ChatModel, ChatRequest
from knotwork._inference.cross_encoders import AnswerReader, Reranker
from knotwork._inference.embedder import Embedder
from knotwork._inference.model_registry import (
    AUTO_EMBEDDER,
    calls_at_once,
    open_embedder,
    open_reader,
    open_reranker,
)
from knotwork._questions.languages import StatedFilter, find_stated_filter
from knotwork._registry import PARTS
from knotwork._retrieval.base import GraphRetriever, Retriever, attempt
from knotwork._retrieval.community_search import REPORT_INDEX
from knotwork._retrieval.filters import read_filter
from knotwork._retrieval.retriever_registry import (
    AUTO,
    RETRIEVERS,
    STEPS,
    build_retriever,
    may_ask_model,
    may_rerank,
)
from knotwork._run import Progress, Stage
from knotwork._stores.base import Store, companions_of, has_graphs, has_tables, require_fields
from knotwork._synthesis.messages import make_request
from knotwork._text.visible import visible_text
from knotwork.errors import (
    BudgetExceeded,
    IndexDamaged,
    KnotworkError,
    MissingExtra,
    ModelError,
    RetrievalError,
    StoreError,
    UnknownName,
)
from knotwork.records import (
    AllOf,
    Answer,
    CommunityReport,
    Condition,
    Evidence,
    Filter,
    MemoryCitation,
    PropertyValue,
    Query,
    Span,
)

if TYPE_CHECKING:
    from knotwork._extensions.queries.hit_queries import HitQuery
    from knotwork._extensions.queries.query_plans import Translator
    from knotwork._inference.call_cache import CachedChatModel
    from knotwork._inference.role_models import RoleModels
    from knotwork._retrieval.filters import FilterSpec
    from knotwork._stores.fields import FieldInfo
    from knotwork._synthesis.answer_writer import AnswerWriter
    from knotwork._text.statements import SelectedSentence


Recall = Callable[[str], Sequence[MemoryCitation]]
"""Returns the remembered facts about the names in a question, numbered from 1."""


class AskMode(StrEnum):
    """How a question is answered. All but `auto` degrade to what the index holds."""

    AUTO = "auto"
    """One of basic, local and global, chosen by rules from the words of the question."""
    BASIC = "basic"
    """From passages alone."""
    LOCAL = "local"
    """From passages, and the entities, relations and reports around what the question names."""
    GLOBAL = "global"
    """From the reports of the communities nearest to the question."""
    MAP_REDUCE = "map-reduce"
    """From every report that a model finds relevant, level by level, each read on its own."""
    HYBRID = "hybrid"
    """From what local and global bring, in one context."""
    DRIFT = "drift"
    """From reports to further questions, each answered locally, and from those to the answer."""


ASK_MODES: tuple[str, ...] = tuple(mode.value for mode in AskMode)


LOCAL_TOKENS = 7_400
GLOBAL_TOKENS = 3_700
FIRST_GLOBAL_TOKENS = 6_000
"""Of the first global question, the reports that it has written included."""
DRIFT_TOKENS = 14_000
MAP_REDUCE_TOKENS = 30_000
"""Tokens in and out of one question, prompts included, at most, with the usual
``answer.context_tokens``. A question that is longer than all of that is not covered."""

FIRST_REPORTS_TOKENS = FIRST_GLOBAL_TOKENS - GLOBAL_TOKENS
FURTHER_REPORTS_TOKENS = 1_100
"""Tokens that a later global question may spend on reports; they are taken from its material."""


class AskOptions(TypedDict, total=False):
    """The fields of `AskRequest` beside the question, as keyword arguments of `ask`."""

    retriever: str | None
    k: int | None
    filters: FilterSpec | None
    min_score: float | None
    retrieval_query: str | None
    query_params: Mapping[str, PropertyValue] | None
    turns: Sequence[tuple[str, str]]
    recall: Recall | None
    mode: str
    use_llm: bool
    expand: bool
    classify: bool
    fallback: bool
    retry: bool
    budget: str


@dataclass(frozen=True, slots=True)
class AskRequest:
    """A question, how passages are found for it, and how a language model takes part.

    Raises UnknownName for an unknown mode.
    """

    question: str
    retriever: str | None = None
    """A retriever or composition of retrievers; by default `retrieval.retriever`."""
    k: int | None = None
    """How many passages to find; by default `retrieval.k`."""
    filters: FilterSpec | None = None
    """Restricts the search to documents and pages, as ``"author = 'Ann' and date >= 2023"``."""
    min_score: float | None = None
    """Passages that score less, on the scale of the retriever, are left out."""
    retrieval_query: str | None = None
    """Read-only Cypher over the hits: see `KnowledgeBase.search`."""
    query_params: Mapping[str, PropertyValue] | None = None
    """The parameters of ``retrieval_query``."""
    turns: Sequence[tuple[str, str]] = ()
    """Earlier questions of the conversation with their answers, the last one last. A question that
    refers to them is rewritten so that it stands alone, and a note says how."""
    recall: Recall | None = None
    """Returns remembered facts for a question that stands alone. Those that answer it come first;
    a model gets them beside the passages."""
    mode: str = AskMode.AUTO
    """The value of an `AskMode`."""
    use_llm: bool = True
    """Whether a language model takes part, if one is set."""
    expand: bool = False
    """Whether the model finds keywords and synonyms to search by as well."""
    classify: bool = False
    """Whether the model chooses the mode if it is "auto"."""
    fallback: bool = True
    """Whether sentences are quoted, with a note, if the model fails; else its error is raised."""
    retry: bool = False
    """Whether the model is asked again for a reply that could not be used before."""
    budget: str = ""
    """A ceiling of tokens or money, as `parse_ceiling` reads it."""

    def __post_init__(self) -> None:
        if self.mode not in ASK_MODES:
            raise UnknownName("mode", self.mode, ASK_MODES)
        object.__setattr__(self, "mode", AskMode(self.mode))
        object.__setattr__(self, "question", visible_text(self.question))

    @classmethod
    def of(cls, question: str | AskRequest, options: AskOptions) -> AskRequest:
        """Return a request as it is, or that of a text with options.

        Raises UnknownName for an unknown mode, TypeError for options beside a request.
        """
        if not isinstance(question, AskRequest):
            return cls(question, **options)
        if given := sorted(name for name, value in options.items() if value is not None):
            raise TypeError(
                f"An AskRequest holds its options; got {', '.join(given)} beside it. "
                "Use dataclasses.replace to change the request."
            )
        return question


OLD_NOTE = "The communities are out of date with the documents: {reason}"
_REPORT_TOKENS = 850
"""The maximum cost of one report in tokens, its share of the instructions included."""
_LEAST_TOKENS = 1_000
"""The maximum cost of a report that is written alone."""
_log = logging.getLogger("knotwork.synthesis")


REST_S = 30.0
"""Seconds for which an embedder that failed is not asked."""


class LocalModels:
    """The models that one index is asked with. Safe for many threads.

    An ``embedder`` or ``reranker`` given here replaces that of the settings.
    """

    def __init__(
        self,
        store: Store,
        settings: Settings,
        *,
        embedder: Embedder | None = None,
        reranker: Reranker | None = None,
    ) -> None:
        self.given_embedder = embedder
        self._store = store
        self._settings = settings
        self._embedder = embedder
        self._has_embedder = embedder is not None
        self._embedder_of = ""
        self._reranker = reranker
        self._reader: AnswerReader | None = None
        self._has_reader = False
        self._failure: ModelError | None = None
        self._rests_until_s = 0.0
        self._lock = threading.RLock()

    @property
    def embedder(self) -> Embedder | None:
        """The embedder of the settings; None if they name none, or its extra is missing.

        "auto" follows the index, which another process may have embedded again.
        """
        with self._lock:
            embedding = self._settings.embedding
            follows_index = embedding.model == AUTO_EMBEDDER and self.given_embedder is None
            known = {"", self._embedder_of, self._embedder.name if self._embedder else ""}
            is_known = not follows_index or self._store.meta().get(EMBEDDER_META, "") in known
            if not self._has_embedder or not (is_known or stored_embedder(self._store) in known):
                stored = self._embedder_of = stored_embedder(self._store)
                try:
                    self._embedder = open_embedder(embedding.model, embedding, stored=stored)
                except MissingExtra:
                    self._embedder = None
                self._has_embedder = True
            return self._embedder

    @property
    def query_embedder(self) -> Embedder | None:
        """The embedder for questions; None if the index has no vectors, or while it rests."""
        has_vectors = self._store.meta().get(EMBEDDER_META)
        return self.embedder if has_vectors and not self.embedder_failure else None

    @property
    def embedder_failure(self) -> ModelError | None:
        """The error for which the embedder is not asked at present; None if it is."""
        return self._failure if time.monotonic() < self._rests_until_s else None

    def rest_embedder(self, failure: ModelError | None) -> None:
        """Do not ask the embedder for a while: each question would wait for its attempts."""
        self._failure, self._rests_until_s = failure, time.monotonic() + REST_S

    @property
    def reranker(self) -> Reranker | None:
        """The reranking model of the settings; None if they name none."""
        with self._lock:
            if self._reranker is None:
                self._reranker = open_reranker(self._settings.rerank)
            return self._reranker

    @property
    def reader(self) -> AnswerReader | None:
        """The model that reads passages for answers; None if it is missing or switched off."""
        with self._lock:
            if not self._has_reader:
                self._reader = open_reader(self._settings.answer.reader)
                self._has_reader = True
            return self._reader

    def replace_embedder(self, embedder: Embedder) -> None:
        """Use another embedder from now on: the index was embedded again with it."""
        with self._lock:
            self._embedder, self._has_embedder = embedder, True
            self._embedder_of = embedder.name


@dataclass(slots=True)
class CommunityReports:
    """The community reports of an index, or of the ``part`` of it that a filter leaves.

    A ``model`` writes missing ones when they are asked for; one that is up to date is never written
    again. ``notes`` are messages for the user, for example that some reports could not be written.
    ``open_to_write`` opens an index for writing that is open for reading.
    """

    index: Store
    models: LocalModels
    settings: Settings
    part: Store | None = None
    model: CachedChatModel | None = None
    notes: tuple[str, ...] = ()
    open_to_write: Callable[[], Store] | None = None

    def reports(
        self, community_ids: Sequence[str], *, spend_tokens: int = 0
    ) -> dict[str, CommunityReport]:
        """Return the reports of communities, by id; communities without one are absent.

        Missing ones are written first, in this order, for at most ``spend_tokens`` tokens, in and
        out. A failing model raises no error: its reports stay missing, and a note has the reason.
        """
        if self.model is not None and spend_tokens >= _LEAST_TOKENS:
            try:
                self._write(list(dict.fromkeys(community_ids)), spend_tokens, self.model)
            except IndexDamaged:
                raise
            except (ModelError, StoreError) as error:
                _log.info("no reports from %s: %s", self.model.name, error)
                self.notes = (f"Some reports were not written: {error}",)
        held = (self.index if self.part is None else self.part).capabilities.communities
        return held.reports(community_ids) if held else {}

    def _write(self, waiting: list[str], left: int, model: CachedChatModel) -> None:
        from knotwork._indexing.embedding import Embedding

        has_vectors = self.index.vectors(REPORT_INDEX).count() > 0
        embedding = Embedding(self.models.query_embedder) if has_vectors else None
        calls = calls_at_once(self.settings.llm, "summarize")
        writer = PARTS.load("report_writer")(model, concurrency=calls)
        write_reports = PARTS.load("write_reports")
        while waiting and left >= _LEAST_TOKENS:
            size = max(left // _REPORT_TOKENS, 1)
            batch, waiting = waiting[:size], waiting[size:]
            before = model.meter.total().tokens
            write_reports(self.index, batch, writer, embedding=embedding)
            left -= model.meter.total().tokens - before

    def updated(self, model: CachedChatModel | None) -> CommunityReports:
        """Update the communities, and return their reports.

        ``model`` writes missing reports; what it spends is counted with the question. It writes
        none for a part of the index, since a community is of the whole index. If the index cannot
        be written to, the reports are those that it holds, and a note has the reason.
        """
        # What finds and writes communities is imported only for questions about the whole.
        from knotwork._indexing.communities.detection import CommunityOptions
        from knotwork._indexing.communities.index_reports import bring_up_to_date, is_current

        options = CommunityOptions.of(self.settings.communities)
        writer = model if self.part is None else None
        if writer is None and is_current(self.index, options=options):
            return replace(self, model=None)
        try:
            index = self.open_to_write() if self.open_to_write else self.index
            # Fails at once if the index is read-only, before a model is called.
            with index.transaction():
                if not is_current(index, options=options):
                    bring_up_to_date(index, options=options)
        except IndexDamaged:
            raise
        except StoreError as error:
            held = self.index.capabilities.communities
            is_old = held is not None and not is_current(self.index)
            notes = (OLD_NOTE.format(reason=error.message),) if is_old else ()
            return replace(self, notes=notes)
        return replace(self, index=index, model=writer)


class QuestionModels(NamedTuple):
    """The models of one question, which share a meter and a budget."""

    answer: CachedChatModel
    keyword: CachedChatModel
    summarize: CachedChatModel


@dataclass(frozen=True, slots=True)
class OutlinePart:
    """A document (level 0) or a section of one; ``span`` is in the document's text."""

    document_id: str
    title: str
    level: int
    span: Span
    uri: str = ""

    def contains(self, other: OutlinePart) -> bool:
        """Return True if another part is a section of this one."""
        is_same = other.document_id == self.document_id and other.level > self.level
        return is_same and self.span.contains(other.span)

    def holds(self, item: SelectedSentence) -> bool:
        """Return True if a sentence begins in the part."""
        is_same = item.chunk.document_id == self.document_id
        return is_same and self.span.start <= item.span.start < self.span.end


@dataclass(slots=True)
class Inquiry:
    """A question that stands alone, and what its answer is made from.

    ``models`` and ``writer``, which share their meter, are None where no model takes part.
    ``concurrency`` is how many calls may be made at a time. ``part`` is the document or section
    that it is about, if it is asked in that alone. ``memory`` are remembered facts, ``notes``
    messages for the user on what became of the question.
    """

    question: str
    mode: AskMode
    settings: AnswerSettings
    searcher: ScopedSearcher
    reports: CommunityReports
    models: QuestionModels | None = None
    writer: AnswerWriter | None = None
    concurrency: int = 4
    fallback: bool = True
    part: OutlinePart | None = None
    memory: tuple[MemoryCitation, ...] = ()
    notes: list[str] = field(default_factory=list)

    @property
    def model(self) -> CachedChatModel | None:
        """The model that answers."""
        return self.models.answer if self.models else None

    @property
    def store(self) -> Store:
        """The part of the index that is asked."""
        return self.searcher.store

    def update_reports(self) -> Iterator[Progress]:
        """Yield the step that brings the reports up to date."""
        yield Progress(Stage.STEP, note="reports", total=1)
        updating = partial(self.reports.updated, self.models.summarize if self.models else None)
        self.reports = attempt("The reports", updating, self.reports, self.notes)

    def spent_tokens(self) -> int:
        """Return the tokens that the question has cost so far."""
        return self.model.meter.total().tokens if self.model else 0

    def make_request(
        self, task: str, *, output_tokens: int, stage: str = "", **blanks: str
    ) -> ChatRequest:
        """Return the request of a task about the question, in its language."""
        return make_request(
            task, self.question, self.model, output_tokens=output_tokens, stage=stage, **blanks
        )

    def label(self, answer: Answer, notes: Sequence[str] = ()) -> Answer:
        """Return an answer with its mode, and with notes on it and on the reports."""
        notes = (*notes, *answer.notes, *self.reports.notes)
        return replace(answer, mode=self.mode.value, notes=notes)


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

RetrieverKey = tuple[str, bool, str, int]
"""The name of a retriever, whether a graph was imported, the embedder, and the number of retrievers
and steps that this program has registered: a name may be registered again."""


class IndexState(NamedTuple):
    """What the choice of a retriever depends on, the same within a generation of the index.

    ``stored`` is the embedder of its vectors, ``into`` the one that it is being switched to.
    """

    stored: str
    into: str
    has_graphs: bool
    """Whether a graph was imported, which the retriever behind `auto` searches as well."""


@dataclass(frozen=True, slots=True)
class FilteredIndex:
    """An index, or what a filter leaves of it, with the retrievers built over it so far."""

    store: Store
    retrievers: dict[RetrieverKey, Retriever] = field(default_factory=dict)
    states: dict[int, IndexState] = field(default_factory=dict)
    """The state of the index in its last generation, by that generation."""


class Retrievers:
    """The retrievers of one index and of its filtered parts, kept between questions.

    Statements run over ``served``, the same index with the graph servers of the settings.
    ``chat_model`` replaces the language model of the settings. ``translator``, or the one of this
    name, writes the statements of retrievers by query. Safe for many threads.
    """

    def __init__(
        self,
        store: Store,
        settings: Settings,
        models: LocalModels,
        *,
        served: Store,
        chat_model: ChatModel | None = None,
        translator: str | Translator = "",
    ) -> None:
        self.store = store
        self.settings = settings
        self.models = models
        self._chat_model = chat_model
        self._translator = translator
        self._search_models: RoleModels | None = None
        self._whole = FilteredIndex(served)
        self._fields = store.capabilities.fields
        self._filtered: dict[Filter, FilteredIndex] = {}
        self._generation = -1
        self._lock = threading.RLock()

    @property
    def served(self) -> Store:
        """The index as statements see it, with the graphs that are connected to it."""
        return self._whole.store

    @cached_property
    def answer_rows(self) -> Any:  # noqa: ANN401  a part
        """What adds rows of tables and graphs to what is found."""
        return PARTS.load("answer_rows")(self.served)

    def searcher(self, request: AskRequest, *, with_rows: bool = False) -> ScopedSearcher:
        """Return the searcher of the part of the index that a request or its question asks for.

        What a question states, as "in 2023" does, restricts the search only if most documents have
        the field that it compares, and some match. ``with_rows`` adds rows of tables and graphs to
        what is found.

        Raises UnknownName for an unknown field, FilterError for an invalid filter, and
        QuerySyntaxError for an invalid retrieval query.
        """
        hit_query = None
        if request.retrieval_query or request.query_params:
            # Cypher is imported with the first statement.
            read_hit_query = PARTS.load("hit_query")
            hit_query = read_hit_query(request.retrieval_query, request.query_params)
        wanted = read_filter(request.filters) if request.filters else None
        part, question, notes = self._whole, request.question, tuple[str, ...]()
        if wanted is not None:
            part = self.filtered(wanted)
            notes = note_nothing_left(part.store, wanted)
        elif self.settings.retrieval.read_filters and self._fields is not None:
            stated = find_stated_filter(question, today=datetime.now().astimezone().date())
            if stated and (held := self._often_held(stated, self._fields.fields())) is not None:
                part, question, wanted = held, stated.rest, stated.filter
                notes = (STATED_NOTE.format(filter=stated.filter, words=stated.words),)
        searcher = ScopedSearcher(self, request, part, question, wanted, notes, hit_query)
        # No retriever and no filter may exclude the rows of tables and graphs.
        is_free = request.retriever in (None, "", AUTO) and not request.filters
        if with_rows and is_free and self.settings.answer.tables:
            searcher.with_rows = has_tables(self.store) or has_graphs(self._whole.store)
        return searcher

    def _often_held(
        self, stated: StatedFilter, fields: Sequence[FieldInfo]
    ) -> FilteredIndex | None:
        """Return what a stated filter leaves, if most documents have its field and some match."""
        counts = {item.name: item.documents for item in fields}
        least = max(MIN_FIELD_SHARE * self.store.documents.document_count(), 1)
        if counts.get(stated.field, 0) < least:
            return None
        part = self.filtered(stated.filter)
        return part if part.store.documents.document_count() else None

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
                make_store, whole = PARTS.load("filtered_store"), self._whole.store
                part = FilteredIndex(make_store(whole, fields, fields.select(wanted)))
            self._filtered[wanted] = part
            for oldest in list(self._filtered)[:-MAX_FILTERED]:
                del self._filtered[oldest]
            return part

    def get(self, name: str, part: FilteredIndex) -> tuple[Retriever, tuple[str, ...]]:
        """Return the retriever of a name over a part of the index, with notes on what it lacks.

        Raises UnknownName for an unknown retriever, SchemaMismatch if the index has vectors of
        another embedder.
        """
        stored, into, has_graphs = self._state_of(part)
        embedder = self.models.query_embedder if stored else None
        notes: tuple[str, ...] = ()
        if embedder is not None and into == embedder.name != stored:
            embedder = None  # the vectors of the index cannot be compared with its own yet
        if embedder is not None and embedder.name != stored:
            check_embedder(self.store, embedder.name)
        elif embedder is None and stored and not into and holds_vectors(self.store):
            notes = (NO_VECTORS_NOTE.format(stored=stored),)
            if failure := self.models.embedder_failure:
                notes = (FAILED_EMBEDDER_NOTE.format(failure=failure.message),)
        if into:
            means = "its old vectors" if embedder is not None else "full text and the graph"
            notes = (UNFINISHED_NOTE.format(into=into, means=means),)
        kept = part.retrievers
        registered = RETRIEVERS.revision + STEPS.revision
        key = (name, has_graphs, embedder.name if embedder else "", registered)
        with self._lock:
            if key not in kept:
                if len(kept) >= MAX_RETRIEVERS:
                    kept.clear()
                if name == AUTO and not has_graphs:
                    kept[key] = GraphRetriever(store=part.store, embedder=embedder)
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
        graphs = part.store.capabilities.property_graphs
        with self.store.reading():
            generation, meta = self.store.generation(), self.store.meta()
            state = IndexState(
                stored=meta.get(EMBEDDER_META, ""),
                into=meta.get(INTO_META, ""),
                has_graphs=graphs is not None and bool(graphs.names()),
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
    with_rows: bool = False
    further: int = 0

    @property
    def store(self) -> Store:
        """The index, or what the filter leaves of it."""
        return self.part.store

    @property
    def models(self) -> LocalModels:
        """The models of the index."""
        return self.retrievers.models

    def within(self, condition: Condition) -> ScopedSearcher:
        """Return the searcher of the documents that also match a condition."""
        wanted = AllOf((self.filter, condition)) if self.filter else condition
        part = self.retrievers.filtered(wanted)
        return replace(self, part=part, filter=wanted, with_rows=False)

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
        # Leave out weak hits and those that only fill a prompt, and add rows.
        hits = found.hits
        if request.min_score is not None:
            hits = tuple(hit for hit in hits if hit.score >= request.min_score)
        notes = (*self.notes, *found.notes, *notes)
        shown = max(query.k, len(hits) - self.further)
        found = replace(found, query=query, hits=hits[:shown], further=hits[shown:], notes=notes)
        if self.hit_query is not None:
            embedder = self.models.query_embedder if found.embedder else None
            found = self.hit_query.add_rows(found, store=self.store, embedder=embedder)
        is_question = text == self.question
        if not self.with_rows or (self.filter and not is_question):
            return found
        # Words that became a filter are missing in the text, but rows have to match them as well.
        asked, failed = request.question if is_question else text, list[str]()
        adding = partial(self.retrievers.answer_rows.add_rows, found, asked)
        found = attempt("The query of tables and graphs", adding, found, failed)
        return replace(found, notes=(*found.notes, *failed))


def note_nothing_left(part: Store, wanted: Filter) -> tuple[str, ...]:
    """Return a note if a filter leaves no document of an index; ``part`` is what it leaves."""
    if part.documents.document_count():
        return ()
    return (NOTHING_LEFT_NOTE.format(filter=wanted),)
