"""What is asked: a question with its options, its searcher, its mode, and what it is answered from.

An `AskRequest` is what a caller gives. An `Inquiry` is the question on its way to the answer.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypedDict

from knotwork._config import AnswerSettings, Settings
from knotwork._inference import prompt_files
from knotwork._inference.chat import ChatRequest
from knotwork._inference.model_registry import QueryModels, calls_at_once
from knotwork._inference.own_prompts import BUILT_IN, OwnPrompts, prompts_of
from knotwork._inference.prompt_material import escape_passage
from knotwork._questions.reading import reading_of
from knotwork._retrieval.community_search import REPORT_INDEX
from knotwork._retrieval.optional_parts import attempt
from knotwork._run import Progress, Stage
from knotwork._stores.base import Store
from knotwork._synthesis.messages import no_answer
from knotwork._text.visible import visible_text
from knotwork.errors import IndexDamaged, ModelError, StoreError, UnknownName
from knotwork.records import Answer, CommunityReport, MemoryCitation, PropertyValue

if TYPE_CHECKING:
    from knotwork._inference.call_cache import CachedChatModel
    from knotwork._inference.model_registry import QueryModels
    from knotwork._retrieval.filters import FilterSpec
    from knotwork._stores.base import Store
    from knotwork._synthesis.answer_writer import AnswerWriter
    from knotwork._synthesis.searcher import ScopedSearcher


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


fill_prompt = partial(prompt_files.fill_prompt, "knotwork._synthesis")
"""Return the messages of a prompt of answers, given its task, a language and its blanks."""


def make_request(
    task: str,
    question: str,
    prompts: OwnPrompts = BUILT_IN,
    *,
    output_tokens: int,
    stage: str = "",
    **blanks: str,
) -> ChatRequest:
    """Return the request of a task about a question, in its language.

    The stage is the task, unless another one is given.
    """
    language = reading_of(question).language
    values = {
        "question": escape_passage(question.strip()),
        "unknown": no_answer(language),
        **blanks,
    }
    messages = fill_prompt(task, language, values, prompts)
    return ChatRequest(messages, max_output_tokens=output_tokens, stage=stage or task)


OLD_NOTE = "The communities are out of date with the documents: {reason}"
_REPORT_TOKENS = 850
"""The maximum cost of one report in tokens, its share of the instructions included."""
_LEAST_TOKENS = 1_000
"""The maximum cost of a report that is written alone."""
_log = logging.getLogger("knotwork.synthesis")


@dataclass(slots=True)
class CommunityReports:
    """The community reports of an index, or of the ``part`` of it that a filter leaves.

    A ``model`` writes missing ones when they are asked for; one that is up to date is never written
    again. ``notes`` are messages for the user, for example that some reports could not be written.
    ``open_to_write`` opens an index for writing that is open for reading.
    """

    index: Store
    models: QueryModels
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
        from knotwork._indexing.communities.index_reports import write_reports
        from knotwork._indexing.communities.written_reports import ReportWriter
        from knotwork._indexing.embedding import Embedding

        has_vectors = self.index.vectors(REPORT_INDEX).count() > 0
        embedding = Embedding(self.models.query_embedder) if has_vectors else None
        writer = ReportWriter(model, concurrency=calls_at_once(self.settings.llm, "summarize"))
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


@dataclass(slots=True)
class Inquiry:
    """A question that stands alone, and what its answer is made from.

    ``models`` and ``writer``, which share their meter, are None where no model takes part.
    ``concurrency`` is how many calls may be made at a time. ``memory`` are remembered
    facts, ``notes`` messages for the user on what became of the question.
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
        prompts = prompts_of(self.model)
        return make_request(
            task, self.question, prompts, output_tokens=output_tokens, stage=stage, **blanks
        )

    def label(self, answer: Answer, notes: Sequence[str] = ()) -> Answer:
        """Return an answer with its mode, and with notes on it and on the reports."""
        notes = (*notes, *answer.notes, *self.reports.notes)
        return replace(answer, mode=self.mode.value, notes=notes)
