"""Answer a question: settle the mode, search, then compose or write the answer.

A question that follows from earlier turns is rewritten first. Without a model the answer consists
of sentences of the documents; with one, the model writes it and cites them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypedDict

from knotwork.config import AnswerSettings, Settings
from knotwork.errors import ModelError, StoreError, UnknownName
from knotwork.inference.chat import ChatModel
from knotwork.inference.model_registry import NO_CHAT_MODEL, ModelRole, chat_model_spec
from knotwork.inference.retries import RetryPolicy
from knotwork.records import Evidence
from knotwork.stores.base import Store
from knotwork.stores.extensions import was_read_by_model
from knotwork.synthesis.ask_request import ASK_MODES, AskEvent, AskEventKind, AskMode
from knotwork.synthesis.compound_answers import answer_divided, join_evidence
from knotwork.synthesis.extractive_answers import compose_answer, read_hits
from knotwork.synthesis.inquiry import AnswerSources, Inquiry
from knotwork.synthesis.questions.classification import (
    choose_mode,
    divide_question,
    needs_communities,
    read_scope,
)
from knotwork.synthesis.questions.scopes import DividedQuestion, ScopeKind
from knotwork.synthesis.structured_answers import find_leading_result
from knotwork.text.token_counts import count_tokens

if TYPE_CHECKING:
    from knotwork.inference.call_cache import CachedChatModel
    from knotwork.inference.role_models import RoleModels
    from knotwork.synthesis.answer_writer import AnswerWriter
    from knotwork.synthesis.overviews.answers import OverviewPlan


RETRIES = RetryPolicy(attempts=3, jitter=0.5, patience_s=20.0)
"""Fewer than elsewhere: somebody waits for the answer, and there is one without the model."""

_FROM_REPORTS = frozenset({AskMode.GLOBAL, AskMode.MAP_REDUCE, AskMode.DRIFT})
_OVERVIEWS = frozenset({AskMode.AUTO, AskMode.GLOBAL})
"""Modes in which a question about the whole, a document or a topic is answered without a model."""


class AskOptions(TypedDict, total=False):
    """How a question is answered, and how a language model takes part, where one is set.

    ``mode`` is a value of `AskMode` ("auto"). With ``expand`` (off) the model finds keywords and
    synonyms to search by too; with ``classify`` (off) it chooses the mode, where that is "auto".
    Without ``use_llm`` (by default it is on) no model takes part. Without ``fallback`` (on) its
    failure is raised, and else noted. ``budget`` is a ceiling of tokens or money, as
    `parse_ceiling` reads it. With ``retry`` (off) the model is asked again for a reply that could
    not be used. ``turns`` are earlier questions of the conversation with their answers, the last
    one last: a question that leans on them is asked so that it stands alone, and a note says how.
    """

    mode: str
    expand: bool
    classify: bool
    use_llm: bool
    fallback: bool
    budget: str
    retry: bool
    turns: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class _Models:
    """The models of one question, which share a meter and a budget."""

    answer: CachedChatModel
    keyword: CachedChatModel
    summarize: CachedChatModel


class AnswerEngine:
    """Answers from what a search brings; safe for many threads.

    ``model`` takes the place of the one in the settings.
    """

    def __init__(self, store: Store, settings: Settings, *, model: ChatModel | None = None) -> None:
        self._store = store
        self._settings = settings
        self._model = model
        self._models: RoleModels | None = None
        self._lock = threading.Lock()

    def answer(
        self, question: str, sources: AnswerSources, options: AskOptions
    ) -> Iterator[AskEvent]:
        """Search, and yield the steps to an answer, the last one with it.

        Raises as ``sources`` and `AnswerWriter.write`; UnknownName for an unknown mode; ConfigError
        when the model is not set rightly and StoreError when its calls cannot be kept, both before
        the search.
        """
        started_s = time.perf_counter()
        wanted = read_mode(options.get("mode", AskMode.AUTO))
        models = self._open(options) if options.get("use_llm", True) else None
        notes: list[str] = []
        store = sources.store
        asked, question, said = question, *_rewrite_follow_up(question, store, models, options)
        mode = _choose_mode(question, wanted, store, models, options, notes)
        evidence = sources.search(question)
        if wanted is AskMode.AUTO and find_leading_result(evidence, least=0.0) is not None:
            mode = AskMode.BASIC
        if options.get("expand", False) and models is not None:
            evidence = self._expand(question, evidence, sources, models.keyword, options, notes)
        scope = read_scope(question)
        for_steps = scope is not None and scope.kind is ScopeKind.STEPS
        is_divisible = mode is AskMode.BASIC and (scope is None or for_steps)
        division = divide_question(question) if is_divisible else None
        if division and models is not None:
            found = [sources.search(part.text) for part in division.parts]
            evidence = join_evidence(evidence, found)
        yield AskEvent(AskEventKind.FOUND, evidence=evidence)
        steps = None
        if models is None and (division is None or for_steps):
            most = self._settings.answer.max_sentences
            evidence = read_hits(evidence, sources.reader(), most=most)
            if wanted in _OVERVIEWS:
                is_general = wanted is AskMode.AUTO and mode is AskMode.GLOBAL
                steps = self._answer_by_overview(evidence, sources, notes, is_general=is_general)
        if models is None and division and steps is None:
            steps = self._answer_divided(division, evidence, sources, notes)
        for event in steps or self._answer_from(mode, evidence, sources, models, options, notes):
            if event.answer is None:
                yield event
            else:
                usage = replace(event.answer.usage, seconds=time.perf_counter() - started_s)
                told = (*said, *event.answer.notes)
                answer = replace(event.answer, question=asked, usage=usage, notes=told)
                yield replace(event, answer=answer)

    def close(self) -> None:
        """Close the file of calls."""
        with self._lock:
            if self._models is not None:
                self._models.close()

    def _expand(
        self,
        question: str,
        evidence: Evidence,
        sources: AnswerSources,
        model: CachedChatModel,
        options: AskOptions,
        notes: list[str],
    ) -> Evidence:
        """Return evidence with what a search by the model's keywords brings beside it."""
        from knotwork.synthesis.questions.keywords import add_found, find_keywords, known_forms

        try:
            keywords = find_keywords(question, model)
        except (ModelError, StoreError) as error:
            if not options.get("fallback", True):
                raise
            notes.append(f"The search was not expanded: {error}")
            return evidence
        forms = known_forms(keywords, sources.store)
        if not forms:
            return evidence
        return add_found(evidence, sources.search(" ".join(forms)), keywords=forms)

    def _answer_from(
        self,
        mode: AskMode,
        evidence: Evidence,
        sources: AnswerSources,
        models: _Models | None,
        options: AskOptions,
        notes: list[str],
    ) -> Iterator[AskEvent]:
        settings = self._settings.answer
        fallback = options.get("fallback", True)
        writer = None
        if models is not None:
            from knotwork.synthesis.answer_writer import AnswerWriter

            kept = self._models.notes if self._models else ()
            writer = AnswerWriter(
                models.answer,
                store=sources.store,
                settings=settings,
                notes=kept,
                fallback=fallback,
            )
        if mode is AskMode.BASIC:
            yield from _answer_basically(sources.store, settings, evidence, writer, notes)
            return
        if mode in _FROM_REPORTS:
            yield AskEvent(AskEventKind.STEP, "reports", total=1)
            reports = sources.write_reports(models.summarize if models else None)
        else:
            reports = sources.find_reports()
        inquiry = Inquiry(
            question=evidence.query.text,
            mode=mode,
            store=sources.store,
            settings=settings,
            sources=sources,
            reports=reports,
            writer=writer,
            model=models.answer if models else None,
            concurrency=self._settings.llm.concurrency,
            fallback=fallback,
            notes=tuple(notes),
        )
        yield from _answer_in_mode(inquiry, evidence)

    def _answer_divided(
        self,
        division: DividedQuestion,
        evidence: Evidence,
        sources: AnswerSources,
        notes: list[str],
    ) -> Iterator[AskEvent]:
        answer, found = answer_divided(
            division, evidence, sources=sources, settings=self._settings.answer
        )
        yield AskEvent(AskEventKind.FOUND, evidence=found)
        answer = replace(answer, notes=(*notes, *answer.notes))
        yield AskEvent(AskEventKind.FINISHED, answer=answer)

    def _answer_by_overview(
        self, evidence: Evidence, sources: AnswerSources, notes: list[str], *, is_general: bool
    ) -> Iterator[AskEvent] | None:
        """Return the steps to an answer by an overview, or None if there is none."""
        question = evidence.query.text
        if not is_general and read_scope(question) is None:
            return None
        from knotwork.synthesis.overviews.answers import plan_overview

        overview = plan_overview(question, evidence, sources=sources, is_general=is_general)
        return self._yield_overview(overview, sources, notes) if overview else None

    def _yield_overview(
        self, overview: OverviewPlan, sources: AnswerSources, notes: list[str]
    ) -> Iterator[AskEvent]:
        from knotwork.synthesis.overviews.answers import answer_overview

        reports = sources.find_reports()
        if overview.needs_communities:
            yield AskEvent(AskEventKind.STEP, "reports", total=1)
            reports = sources.write_reports(None)
        answer, evidence = answer_overview(
            overview,
            store=sources.store,
            reports=reports,
            settings=self._settings.answer,
        )
        yield AskEvent(AskEventKind.FOUND, evidence=evidence)
        answer = replace(answer, notes=(*notes, *answer.notes, *reports.notes))
        yield AskEvent(AskEventKind.FINISHED, answer=answer)

    def _open(self, options: AskOptions) -> _Models | None:
        """Return the models with a meter of their own, or None where none answers."""
        llm, ceiling = self._settings.llm, options.get("budget", "")
        if self._model is None and chat_model_spec(llm, "answer") == NO_CHAT_MODEL and not ceiling:
            return None
        from knotwork.inference.call_costs import UsageMeter
        from knotwork.inference.role_models import RoleModels, calls_path, open_budget

        budget = open_budget(ceiling, llm, count_tokens=count_tokens)
        with self._lock:
            if self._models is None:
                path = calls_path(self._store.url)
                self._models = RoleModels(llm, path=path, model=self._model, retries=RETRIES)
        meter, again = UsageMeter(), options.get("retry", False)
        opened = self._models

        def open_role(role: ModelRole) -> CachedChatModel | None:
            return opened.open(role, meter=meter, budget=budget, retry_rejected=again)

        answer = open_role("answer")
        if answer is None:
            return None
        return _Models(answer, open_role("keyword") or answer, open_role("summarize") or answer)


def needs_reports(question: str, mode: str) -> bool:
    """Return whether a question is answered from reports, as far as rules choose its mode.

    Raises UnknownName for an unknown mode.
    """
    wanted = read_mode(mode)
    if wanted is AskMode.AUTO and needs_communities(question):
        return True
    return (choose_mode(question) if wanted is AskMode.AUTO else wanted) in _FROM_REPORTS


def read_mode(name: str) -> AskMode:
    """Return the mode of this name. Raises UnknownName."""
    if name not in ASK_MODES:
        raise UnknownName("mode", name, ASK_MODES)
    return AskMode(name)


def _rewrite_follow_up(
    question: str, store: Store, models: _Models | None, options: AskOptions
) -> tuple[str, tuple[str, ...]]:
    """Return a question that stands alone, and notes on what became of it."""
    if not options.get("turns"):
        return question, ()
    from knotwork.synthesis.questions.follow_ups import (
        index_names,
        is_follow_up,
        read_turns,
        rewrite_follow_up,
    )

    names = index_names(store)
    if not is_follow_up(question, names):
        return question, ()  # and the turns before it need not be read
    turns = read_turns(options["turns"], names)
    understood = rewrite_follow_up(question, turns, names, model=models.keyword if models else None)
    notes = [understood.note] if understood.note else []
    if understood.text != question:
        notes.append(f"Understood as: {understood.text}")
    return understood.text, tuple(notes)


def _choose_mode(
    question: str,
    wanted: AskMode,
    store: Store,
    models: _Models | None,
    options: AskOptions,
    notes: list[str],
) -> AskMode:
    """Return the mode to answer in; where it is left open, by rules or as the model says.

    Rules choose local only where descriptions by a model give it more than passages have.
    """
    if wanted is not AskMode.AUTO:
        return wanted
    if options.get("classify", False) and models is not None:
        from knotwork.synthesis.questions.keywords import choose_mode_with_model

        try:
            return choose_mode_with_model(question, models.keyword)
        except (ModelError, StoreError) as error:
            if not options.get("fallback", True):
                raise
            notes.append(f"The mode was chosen by rules: {error}")
    mode = choose_mode(question)
    is_richer = models is not None and mode is AskMode.LOCAL and was_read_by_model(store)
    return AskMode.BASIC if mode is AskMode.LOCAL and not is_richer else mode


def _answer_basically(
    store: Store,
    settings: AnswerSettings,
    evidence: Evidence,
    writer: AnswerWriter | None,
    notes: list[str],
) -> Iterator[AskEvent]:
    if writer is None:
        quoted = compose_answer(evidence, store=store, settings=settings)
        yield AskEvent(AskEventKind.FINISHED, answer=quoted)
        return
    for event in writer.write(evidence):
        answer = event.answer
        yield (
            replace(event, answer=replace(answer, notes=(*notes, *answer.notes)))
            if answer
            else event
        )


def _answer_in_mode(inquiry: Inquiry, evidence: Evidence) -> Iterator[AskEvent]:
    """Yield the steps of a mode; each is imported when it is asked for."""
    from knotwork.synthesis.drift_answers import answer_by_drift
    from knotwork.synthesis.global_answers import answer_globally
    from knotwork.synthesis.local_answers import answer_by_both, answer_locally
    from knotwork.synthesis.map_reduce_answers import answer_by_map_reduce

    ways = {
        AskMode.LOCAL: answer_locally,
        AskMode.GLOBAL: answer_globally,
        AskMode.MAP_REDUCE: answer_by_map_reduce,
        AskMode.HYBRID: answer_by_both,
        AskMode.DRIFT: answer_by_drift,
    }
    return ways[inquiry.mode](inquiry, evidence)
