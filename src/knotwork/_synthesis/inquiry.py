"""A question on its way to an answer: its mode, its searcher, its models, the reports."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from knotwork._config import AnswerSettings, Settings
from knotwork._inference.chat import ChatRequest
from knotwork._inference.model_registry import QueryModels, calls_at_once
from knotwork._inference.own_prompts import prompts_of
from knotwork._retrieval.community_search import REPORT_INDEX
from knotwork._stores.base import Store
from knotwork._synthesis.ask_request import AskMode, Searcher
from knotwork._synthesis.prompt_context import make_request
from knotwork.errors import IndexDamaged, ModelError, StoreError
from knotwork.records import Answer, CommunityReport, MemoryCitation

if TYPE_CHECKING:
    from knotwork._inference.call_cache import CachedChatModel
    from knotwork._synthesis.answer_writer import AnswerWriter


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
    searcher: Searcher
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
