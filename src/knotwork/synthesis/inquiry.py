"""One question with its sources, settings, models and token budget, as the answer modes read it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from knotwork.config import AnswerSettings, Settings
from knotwork.inference.chat import ChatRequest
from knotwork.inference.cross_encoders import AnswerReader
from knotwork.inference.embedder import Embedder
from knotwork.records import Answer, Evidence
from knotwork.retrieval.community_search import ReportSource, StoredReports
from knotwork.stores.base import Store
from knotwork.synthesis.ask_request import AskMode
from knotwork.synthesis.messages import no_answer
from knotwork.text.languages import detect_language
from knotwork.text.token_counts import count_tokens

if TYPE_CHECKING:
    from knotwork.inference.call_cache import CachedChatModel
    from knotwork.synthesis.answer_writer import AnswerWriter


USUAL_CONTEXT_TOKENS = 1_600
"""The ``answer.context_tokens`` for which the ceilings of modes are stated; they grow with it."""

_LEAST_MATERIAL_TOKENS = 200


@dataclass(frozen=True, slots=True)
class AnswerSources:
    """Where the material of answers comes from.

    ``store`` is the index, or what a filter leaves of it. ``search`` returns the passages for a
    text. ``find_reports`` gives the reports as they are; ``write_reports`` brings communities up to
    date first, and takes the model that may write missing reports, or None; what it spends is
    counted with the question. ``embedder`` is the index's own; ``reader`` reads passages where no
    model answers.
    """

    store: Store
    search: Callable[[str], Evidence]
    find_reports: Callable[[], ReportSource]
    write_reports: Callable[[CachedChatModel | None], ReportSource]
    embedder: Callable[[], Embedder | None]
    reader: Callable[[], AnswerReader | None] = lambda: None


@dataclass(frozen=True, slots=True)
class Inquiry:
    """One question.

    ``writer`` and ``model``, which share their meter, are None where no model takes part.
    ``concurrency`` is how many calls may be made at a time. ``notes`` were made on the way.
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
    notes: tuple[str, ...] = ()

    @property
    def language(self) -> str:
        """The language of the question: that of prompts and of messages."""
        return detect_language(self.question)

    @property
    def unknown(self) -> str:
        """The sentence agreed on for "I don't know"."""
        return no_answer(self.language)

    def spent_tokens(self) -> int:
        """Return the tokens that the question has cost so far."""
        total = self.model.meter.total() if self.model else None
        return total.input_tokens + total.output_tokens if total else 0

    def make_request(
        self, prompt: str, *, stage: str, output_tokens: int, **blanks: str
    ) -> ChatRequest:
        """Return the request of a prompt about the question, in its language."""
        from knotwork.synthesis.prompt_context import fill_prompt, make_harmless

        values = {
            "question": make_harmless(self.question.strip()),
            "unknown": self.unknown,
            "material": "",
            "points": "",
            **blanks,
        }
        messages = fill_prompt(prompt, self.language, values)
        return ChatRequest(messages, max_output_tokens=output_tokens, stage=stage)

    def material_tokens(
        self, prompt: str, *, output_tokens: int, ceiling: int, share: float, spent: int = 0
    ) -> int:
        """Return how many tokens of material fit beside a prompt, the question and its reply.

        It is ``share`` of the setting, or what ``ceiling`` leaves of it for this one call, after
        ``spent`` tokens; the ceiling grows with the setting.
        """
        from knotwork.inference.call_costs import count_request

        empty = self.make_request(prompt, stage="", output_tokens=output_tokens)
        wanted = self.settings.context_tokens
        most = int(ceiling * max(wanted / USUAL_CONTEXT_TOKENS, 1.0))
        room = most - spent - count_request(empty, count_tokens) - output_tokens
        return max(min(int(share * wanted), room), _LEAST_MATERIAL_TOKENS)

    def label(self, answer: Answer, notes: Sequence[str] = ()) -> Answer:
        """Return an answer that tells how it was made."""
        notes = (*notes, *answer.notes, *self.reports.notes)
        return replace(answer, mode=self.mode.value, notes=notes)


def index_sources(
    store: Store,
    *,
    part: Store | None = None,
    search: Callable[[str], Evidence],
    embedder: Callable[[], Embedder | None],
    reader: Callable[[], AnswerReader | None] = lambda: None,
    settings: Settings,
) -> AnswerSources:
    """Return the sources of answers from an index; nothing is read or written yet.

    ``part`` is what a filter leaves of it. The reports of a part are those that are there: a model
    writes none, as a community is of the whole index.
    """

    def write_reports(model: CachedChatModel | None) -> ReportSource:
        # What finds and writes communities is imported only when a question is about the whole.
        from knotwork.indexing.communities import CommunityOptions
        from knotwork.synthesis.lazy_reports import open_reports

        def open_with(asked: CachedChatModel | None) -> ReportSource:
            return open_reports(
                store,
                asked,
                embedder=embedder,
                options=CommunityOptions.of(settings.communities),
                concurrency=settings.llm.concurrency,
            )

        if part is None:
            return open_with(model)
        return StoredReports(part, notes=open_with(None).notes)

    read = store if part is None else part
    return AnswerSources(read, search, lambda: StoredReports(read), write_reports, embedder, reader)
