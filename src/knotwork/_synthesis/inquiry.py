"""One question with its sources, settings, models and token budget, as the answer modes read it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from knotwork._config import AnswerSettings, Settings
from knotwork._inference.chat import ChatRequest
from knotwork._inference.model_registry import QueryModels, calls_at_once
from knotwork._inference.own_prompts import prompts_of
from knotwork._retrieval.community_search import REPORT_INDEX, ReportSource, StoredReports
from knotwork._stores.base import Store
from knotwork._synthesis.ask_request import AskMode
from knotwork._text.token_counts import count_tokens
from knotwork.errors import IndexDamaged, StoreError
from knotwork.records import Answer, Evidence

if TYPE_CHECKING:
    from knotwork._inference.call_cache import CachedChatModel
    from knotwork._synthesis.answer_writer import AnswerWriter


OLD_NOTE = "The communities are out of date with the documents: {reason}"
USUAL_CONTEXT_TOKENS = 4_000
"""The ``answer.context_tokens`` for which the ceilings of modes are stated; they grow with it."""

_LEAST_MATERIAL_TOKENS = 200


class Searcher(Protocol):
    """Searches the same part of the index again, for answers that need more than the first hits."""

    def search(self, text: str) -> Evidence:
        """Return the passages that are relevant to a text. Raises as `KnowledgeBase.search`."""


@dataclass(frozen=True, slots=True)
class CommunityReports:
    """The community reports of an index, or of the ``part`` of it that a filter leaves."""

    index: Store
    models: QueryModels
    settings: Settings
    part: Store | None = None

    def stored(self, *, notes: tuple[str, ...] = ()) -> ReportSource:
        """Return the reports that the index holds now."""
        return StoredReports(self.index if self.part is None else self.part, notes=notes)

    def updated(self, model: CachedChatModel | None) -> ReportSource:
        """Update the communities, and return their reports.

        ``model`` writes missing reports; what it spends is counted with the question. It writes
        none for a part of the index, since a community is of the whole index. If the index cannot
        be written to, the reports are those that it holds, and a note has the reason.
        """
        # What finds and writes communities is imported only for questions about the whole.
        from knotwork._indexing.communities.detection import CommunityOptions
        from knotwork._indexing.communities.index_reports import bring_up_to_date, is_current
        from knotwork._indexing.embedding import Embedding
        from knotwork._synthesis.lazy_reports import LazyReports

        options = CommunityOptions.of(self.settings.communities)
        try:
            # Fails at once if the index is read-only, before a model is called.
            with self.index.transaction():
                if not is_current(self.index, options=options):
                    bring_up_to_date(self.index, options=options)
        except IndexDamaged:
            raise
        except StoreError as error:
            held = self.index.capabilities.communities
            is_old = held is not None and not is_current(self.index)
            return self.stored(notes=(OLD_NOTE.format(reason=error.message),) if is_old else ())
        if model is None or self.part is not None:
            return self.stored()
        has_vectors = self.index.vectors(REPORT_INDEX).count() > 0
        return LazyReports(
            self.index,
            model,
            embedding=Embedding(self.models.query_embedder) if has_vectors else None,
            concurrency=calls_at_once(self.settings.llm, "summarize"),
        )


@dataclass(frozen=True, slots=True)
class AnswerSources:
    """The material of an answer: ``store`` is the index, or what a filter leaves of it."""

    store: Store
    searcher: Searcher
    models: QueryModels
    reports: CommunityReports


@dataclass(frozen=True, slots=True)
class Inquiry:
    """One question.

    ``writer`` and ``model``, which share their meter, are None where no model takes part.
    ``concurrency`` is how many calls may be made at a time.
    """

    question: str
    mode: AskMode
    store: Store
    settings: AnswerSettings
    sources: AnswerSources
    reports: ReportSource
    writer: AnswerWriter | None = None
    model: CachedChatModel | None = None
    concurrency: int = 4
    fallback: bool = True

    def spent_tokens(self) -> int:
        """Return the tokens that the question has cost so far."""
        total = self.model.meter.total() if self.model else None
        return total.input_tokens + total.output_tokens if total else 0

    def make_request(
        self, task: str, *, output_tokens: int, stage: str = "", **blanks: str
    ) -> ChatRequest:
        """Return the request of a task about the question, in its language."""
        from knotwork._synthesis.prompt_context import make_request

        prompts = prompts_of(self.model)
        return make_request(
            task, self.question, prompts, output_tokens=output_tokens, stage=stage, **blanks
        )

    def material_tokens(
        self, task: str, *, output_tokens: int, ceiling: int, share: float, spent: int = 0
    ) -> int:
        """Return how many tokens of material fit beside a task, the question and its reply.

        It is ``share`` of the setting, or what ``ceiling`` leaves of it for this one call, after
        ``spent`` tokens; the ceiling grows with the setting.
        """
        from knotwork._inference.call_costs import count_request

        empty = self.make_request(task, output_tokens=output_tokens, material="")
        wanted = self.settings.context_tokens
        most = int(ceiling * max(wanted / USUAL_CONTEXT_TOKENS, 1.0))
        room = most - spent - count_request(empty, count_tokens) - output_tokens
        return max(min(int(share * wanted), room), _LEAST_MATERIAL_TOKENS)

    def label(self, answer: Answer, notes: Sequence[str] = ()) -> Answer:
        """Return an answer with its mode, and with notes on it and on the reports."""
        notes = (*notes, *answer.notes, *self.reports.notes)
        return replace(answer, mode=self.mode.value, notes=notes)
