"""Answer a request in two steps around its search: plan it, then answer from the evidence.

The plan rewrites a follow-up and settles the mode. Without a model the answer consists of sentences
of the documents; with one, the model writes it and cites them.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from knotwork._config import Settings
from knotwork._inference.call_limits import RetryPolicy
from knotwork._inference.chat import ChatModel, ChatReply, complete_checked
from knotwork._inference.model_registry import (
    NO_CHAT_MODEL,
    ModelRole,
    calls_at_once,
    chat_model_spec,
    price_table,
)
from knotwork._inference.own_prompts import prompts_of
from knotwork._questions.reading import Extent, QuestionReading, ScopeKind, reading_of
from knotwork._retrieval.optional_parts import FOR_THE_USER, attempt, note_failure
from knotwork._stores.base import Store, companions_of, was_read_by_model
from knotwork._synthesis.answer_sources import AnswerSources
from knotwork._synthesis.ask_request import AskEvent, AskEventKind, AskMode, AskRequest, read_mode
from knotwork._synthesis.extractive_answers import (
    answer_divided,
    compose_answer,
    find_leading_result,
    join_evidence,
    read_hits,
)
from knotwork._text.terms import content_terms
from knotwork._text.token_counts import count_tokens
from knotwork.errors import ModelError, StoreError, Unparsable
from knotwork.records import Answer, Evidence, Hit, MemoryCitation

if TYPE_CHECKING:
    from knotwork._inference.call_cache import CachedChatModel
    from knotwork._inference.role_models import RoleModels


EXPANDED_SHARE = 0.5
"""The factor on scores of hits that only the expanded search finds."""

_MODE = re.compile(
    r"\W*(?:(?:the )?(?:mode|answer|category|type|kind|模式|答案|类型)(?:\s+is\b|\s*是)?\W*)?"
    r"(?P<mode>global|local|basic)\W*(?:$|[\s*`\"'”]*[-–—:：;,，.。(（|\n].*)",
    re.IGNORECASE | re.DOTALL,
)

_MODE_NAME = re.compile(r"\b(global|local|basic)\b", re.IGNORECASE)


def find_keywords(question: str, model: ChatModel) -> tuple[str, ...]:
    """Ask a model for words that answering passages may have. Raises ModelError."""
    from knotwork._retrieval.steps.step_prompts import ask_words
    from knotwork._synthesis.prompt_context import says_nothing

    return tuple(word for word in ask_words(question, model) if not says_nothing(word))


def known_forms(forms: Sequence[str], store: Store) -> tuple[str, ...]:
    """Return the forms whose terms all occur in the index: others only dilute the search."""
    terms = {form: set(content_terms(form)) for form in forms}
    asked = {term for found in terms.values() for term in found}
    known = store.texts("chunk").document_frequencies(asked).keys()
    return tuple(form for form in forms if terms[form] <= known)


def add_found(evidence: Evidence, more: Evidence, *, keywords: Sequence[str]) -> Evidence:
    """Return evidence with the additional hits of a search by keywords.

    Hits of the question itself keep their scores. The additional ones are scaled to half of its
    best score.
    """
    own = {hit.chunk.id for hit in evidence.hits}
    top = max((hit.score for hit in evidence.hits), default=0.0)
    other = max((hit.score for hit in more.hits), default=0.0)
    scale = EXPANDED_SHARE * (top / other if top > 0 and other > 0 else 1.0)
    extra: list[Hit] = [
        replace(hit, score=hit.score * scale, scores={"keywords": hit.score * scale})
        for hit in more.hits
        if hit.chunk.id not in own
    ]
    return replace(
        evidence.with_found([*evidence.hits, *extra]),
        confidence=max(evidence.confidence, more.confidence),
        notes=(*evidence.notes, f"Also searched by: {', '.join(keywords)}."),
    )


def choose_mode_with_model(question: str, model: ChatModel) -> AskMode:
    """Ask a model for the mode: global, local or basic. Raises as `find_keywords`."""
    from knotwork._synthesis.prompt_context import make_request

    request = make_request("route", question, prompts_of(model), output_tokens=8)
    return complete_checked(model, request, parse_mode)


def parse_mode(reply: ChatReply) -> AskMode:
    """Parse the mode that a reply names, alone or at its start. Raises Unparsable."""
    found = _MODE.match(reply.text)
    named = {word.lower() for word in _MODE_NAME.findall(reply.text)}
    if found is None or len(named) != 1:
        raise Unparsable("The reply names no mode, or more than one.")
    return AskMode(found["mode"].lower())


RETRIES = RetryPolicy(attempts=3, jitter=0.5, patience_s=20.0)
"""Fewer than elsewhere: a person waits, and there is an answer without the model."""

_FROM_REPORTS = frozenset({AskMode.GLOBAL, AskMode.MAP_REDUCE, AskMode.DRIFT})
_COUNTED = frozenset({ScopeKind.WHOLE, ScopeKind.RANKING, ScopeKind.MENTIONS, ScopeKind.LISTING})
_OVERVIEWS = frozenset({AskMode.AUTO, AskMode.GLOBAL})
"""Modes in which a question about the whole, a document or a topic is answered without a model."""


@dataclass(frozen=True, slots=True)
class _Models:
    """The models of one question, which share a meter and a budget."""

    answer: CachedChatModel
    keyword: CachedChatModel
    summarize: CachedChatModel


@dataclass(frozen=True, slots=True)
class AskPlan:
    """How a request is answered: what is settled before the search.

    ``question`` stands alone; ``models`` is None if no language model takes part; ``notes`` say
    what became of the question and of the choice of the mode; ``memory`` are remembered facts.
    """

    request: AskRequest
    question: QuestionReading
    mode: AskMode
    models: _Models | None
    notes: tuple[str, ...]
    started_s: float
    memory: tuple[MemoryCitation, ...] = ()


class AnswerEngine:
    """Answers requests from what was found for them; safe for many threads.

    ``model`` replaces the one in the settings.
    """

    def __init__(self, store: Store, settings: Settings, *, model: ChatModel | None = None) -> None:
        self._store = store
        self._settings = settings
        self._model = model
        self._models: RoleModels | None = None
        self._lock = threading.Lock()

    def plan(self, request: AskRequest, store: Store) -> AskPlan:
        """Rewrite a follow-up so that it stands alone, choose the mode, and open the models.

        ``store`` is the index, or what a filter leaves of it. Raises ConfigError if the model is
        set wrongly, StoreError if its calls cannot be cached, ModelError if it fails and the
        request has no ``fallback``.
        """
        started_s = time.perf_counter()
        models = self._open(request) if request.use_llm else None
        notes: list[str] = []
        text = attempt(
            "Rewriting the follow-up",
            lambda: _rewrite_follow_up(request, store, models, notes),
            request.question,
            notes,
        )
        question = reading_of(text)
        mode = _choose_mode(request, question, store, models, notes)
        recall, memory = request.recall, tuple[MemoryCitation, ...]()
        if recall is not None:
            memory = attempt("The memory", lambda: tuple(recall(text)), memory, notes)
        return AskPlan(request, question, mode, models, tuple(notes), started_s, memory)

    def answer(
        self, plan: AskPlan, evidence: Evidence, sources: AnswerSources
    ) -> Iterator[AskEvent]:
        """Yield the steps from evidence to an answer, the last one with it.

        Raises as `Searcher.search` and `AnswerWriter.write`.
        """
        request, models, mode = plan.request, plan.models, plan.mode
        notes: list[str] = []
        if request.mode is AskMode.AUTO and find_leading_result(evidence, least=0.0) is not None:
            mode = AskMode.BASIC
        if request.expand and models is not None:
            evidence = attempt(
                "Expanding the search",
                partial(_expand_evidence, plan, evidence, sources, models.keyword, notes),
                evidence,
                notes,
                raises=(*FOR_THE_USER, ModelError),
            )
        wants_overview = _wants_overview(request, plan.question, mode)
        if models is None and request.mode is AskMode.AUTO and not wants_overview:
            mode = AskMode.BASIC
        is_divisible = mode is AskMode.BASIC and not wants_overview
        division = plan.question.division if is_divisible else None
        if division and models is not None:
            found = [sources.searcher.search(part.text) for part in division.parts]
            evidence = join_evidence(evidence, found)
        yield AskEvent(AskEventKind.FOUND, evidence=evidence)
        if models is not None:
            steps = self._answer_from(plan, mode, evidence, sources, notes)
        elif division:
            steps = answer_divided(
                division, evidence, sources=sources, settings=self._settings.answer
            )
        else:
            steps = self._quote(plan, mode, evidence, sources, notes, wants_overview=wants_overview)
        for event in self._steps_or_sentences(steps, evidence, sources, notes):
            if event.answer is None:
                yield event
                continue
            quoted = event.answer
            usage = replace(quoted.usage, seconds=time.perf_counter() - plan.started_s)
            answer = attempt(
                "The memory", partial(_answer_with_memory, quoted, plan), quoted, notes
            )
            all_notes = tuple(dict.fromkeys((*plan.notes, *notes, *event.answer.notes)))
            if answer.model and (added := answer.text[len(event.answer.text) :]):
                yield AskEvent(AskEventKind.TEXT, added)
            answer = replace(answer, question=request.question, usage=usage, notes=all_notes)
            yield replace(event, answer=answer)

    def _steps_or_sentences(
        self,
        steps: Iterator[AskEvent],
        evidence: Evidence,
        sources: AnswerSources,
        notes: list[str],
    ) -> Iterator[AskEvent]:
        """Yield the steps of an answer, or if they fail, sentences of the evidence.

        Failures of a model are handled by the steps themselves, as ``fallback`` asks.
        """
        is_shown = False
        try:
            for event in steps:
                yield event
                is_shown |= event.kind is AskEventKind.TEXT
        except (*FOR_THE_USER, ModelError):
            raise
        except Exception as error:  # noqa: BLE001 - as `attempt`
            note = note_failure("The answer in this mode", error)
            notes.append(note)
            if is_shown:
                yield AskEvent(AskEventKind.WITHDRAWN, note)
            settings = self._settings.answer
            quoted = compose_answer(evidence, store=sources.store, settings=settings)
            yield AskEvent(AskEventKind.FINISHED, answer=quoted)

    def close(self) -> None:
        """Close the file of calls."""
        with self._lock:
            if self._models is not None:
                self._models.close()

    def _answer_from(
        self,
        plan: AskPlan,
        mode: AskMode,
        evidence: Evidence,
        sources: AnswerSources,
        notes: list[str],
    ) -> Iterator[AskEvent]:
        settings, models, fallback = self._settings.answer, plan.models, plan.request.fallback
        writer = None
        if models is not None:
            from knotwork._synthesis.answer_writer import AnswerWriter
            from knotwork._synthesis.memory_evidence import choose_facts

            writer = AnswerWriter(
                models.answer,
                store=sources.store,
                settings=settings,
                prices=price_table(self._settings.llm),
                notes=self._models.notes if self._models else (),
                fallback=fallback,
                memory=choose_facts(plan.question.text, plan.memory) if plan.memory else (),
            )
        if mode is AskMode.BASIC:
            if writer is not None:
                yield from writer.write(evidence)
                return
            quoted = compose_answer(evidence, store=sources.store, settings=settings)
            yield AskEvent(AskEventKind.FINISHED, answer=quoted)
            return
        from knotwork._synthesis.mode_answers import Inquiry, answer_in_mode

        reports = sources.reports
        if mode in _FROM_REPORTS:
            yield AskEvent(AskEventKind.STEP, "reports", total=1)
            model = models.summarize if models else None
            reports = attempt("The reports", partial(reports.updated, model), reports, notes)
        inquiry = Inquiry(
            question=evidence.query.text,
            mode=mode,
            store=sources.store,
            settings=settings,
            sources=sources,
            reports=reports,
            writer=writer,
            model=models.answer if models else None,
            concurrency=calls_at_once(self._settings.llm, "answer"),
            fallback=fallback,
        )
        yield from answer_in_mode(inquiry, evidence)

    def _quote(
        self,
        plan: AskPlan,
        mode: AskMode,
        evidence: Evidence,
        sources: AnswerSources,
        notes: list[str],
        *,
        wants_overview: bool,
    ) -> Iterator[AskEvent]:
        """Yield the steps to an answer without a model: an overview, or pieces of documents."""
        settings = self._settings.answer
        evidence = read_hits(evidence, sources.models.reader, most=settings.max_sentences)
        is_general = plan.request.mode is AskMode.AUTO and mode is AskMode.GLOBAL
        overview = given = None
        reports = sources.reports
        if wants_overview and (is_general or plan.question.scope is not None):
            from knotwork._synthesis.overviews import answer_overview, plan_overview

            planning = partial(plan_overview, evidence.query.text, evidence, is_general=is_general)
            overview = attempt("The overview", partial(planning, sources=sources), None, notes)
        if overview is not None:
            if overview.needs_communities:
                yield AskEvent(AskEventKind.STEP, "reports", total=1)
                reports = attempt("The reports", partial(reports.updated, None), reports, notes)
            answering = partial(answer_overview, overview, store=sources.store, settings=settings)
            given = attempt("The overview", partial(answering, reports=reports), None, notes)
        if given is None:
            basic = mode if overview is None else AskMode.BASIC
            yield from self._answer_from(plan, basic, evidence, sources, notes)
            return
        answer, found = given
        yield AskEvent(AskEventKind.FOUND, evidence=found)
        answer = replace(answer, notes=(*answer.notes, *reports.notes))
        yield AskEvent(AskEventKind.FINISHED, answer=answer)

    def _open(self, request: AskRequest) -> _Models | None:
        """Return the models of a request, with a meter of their own; None without a chat model."""
        llm = self._settings.llm
        is_set = self._model is not None or chat_model_spec(llm, "answer") != NO_CHAT_MODEL
        if not is_set and not request.budget:
            return None
        from knotwork._inference.call_costs import UsageMeter
        from knotwork._inference.role_models import RoleModels, open_budget

        budget = open_budget(request.budget, llm, count_tokens=count_tokens)
        with self._lock:
            if self._models is None:
                companions = companions_of(self._store)
                self._models = RoleModels.of(
                    self._settings, companions, model=self._model, retries=RETRIES
                )
            models = self._models
        meter = UsageMeter()

        def open_role(role: ModelRole) -> CachedChatModel | None:
            return models.open(role, meter=meter, budget=budget, retry_rejected=request.retry)

        answer = open_role("answer")
        if answer is None:
            return None
        return _Models(answer, open_role("keyword") or answer, open_role("summarize") or answer)


_LEAST_OVERVIEW = 0.35
"""The least probability that a question asks for a summary or a count, for an overview."""


def _wants_overview(request: AskRequest, question: QuestionReading, mode: AskMode) -> bool:
    """Return True if a question may be answered by an overview of documents or of a section."""
    scope = question.scope
    if request.mode not in _OVERVIEWS or (scope is None and mode is not AskMode.GLOBAL):
        return False
    if (scope is not None and scope.kind in _COUNTED) or request.mode is not AskMode.AUTO:
        return True
    names_part = scope is not None and scope.kind is ScopeKind.PART and scope.names_text
    return names_part or question.summarizing >= _LEAST_OVERVIEW


def _answer_with_memory(answer: Answer, plan: AskPlan) -> Answer:
    """Put remembered facts before quoted sentences, and behind what a model wrote without them."""
    if not plan.memory:
        return answer
    from knotwork._synthesis.memory_evidence import end_with_memory, lead_with_memory

    is_written = bool(answer.model) and answer.answered
    add = end_with_memory if is_written else lead_with_memory
    return add(answer, plan.memory, question=plan.question.text)


_MODES = {Extent.ALL: AskMode.GLOBAL, Extent.THING: AskMode.LOCAL, Extent.PASSAGE: AskMode.BASIC}


def choose_mode(question: str) -> AskMode:
    """Choose mode global, local or basic by the words of a question."""
    return _MODES[reading_of(question).extent]


def needs_reports(question: str, mode: str) -> bool:
    """Return whether a question is answered from reports, as far as rules choose its mode.

    Raises UnknownName for an unknown mode.
    """
    wanted, scope = read_mode(mode), reading_of(question).scope
    if wanted is AskMode.AUTO and scope is not None and scope.needs_communities:
        return True
    return (choose_mode(question) if wanted is AskMode.AUTO else wanted) in _FROM_REPORTS


def _rewrite_follow_up(
    request: AskRequest, store: Store, models: _Models | None, notes: list[str]
) -> str:
    """Return a question that stands alone; a note says how it was rewritten."""
    question = request.question
    if not request.turns:
        return question
    from knotwork._synthesis.follow_ups import (
        index_names,
        is_follow_up,
        read_turns,
        rewrite_follow_up,
    )

    names = index_names(store)
    if not is_follow_up(question, names):
        return question
    turns = read_turns(request.turns, names)
    text, note = rewrite_follow_up(question, turns, names, model=models.keyword if models else None)
    notes += [note] if note else []
    notes += [f"Understood as: {text}"] if text != question else []
    return text


def _choose_mode(
    request: AskRequest,
    question: QuestionReading,
    store: Store,
    models: _Models | None,
    notes: list[str],
) -> AskMode:
    """Return the mode to answer in, chosen by rules or by the model if it is "auto".

    Rules choose local only if descriptions by a model add to what the passages say.
    """
    if request.mode is not AskMode.AUTO:
        return AskMode(request.mode)
    if request.classify and models is not None:
        try:
            return choose_mode_with_model(question.text, models.keyword)
        except (ModelError, StoreError) as error:
            if not request.fallback:
                raise
            notes.append(f"The mode was chosen by rules: {error}")
    mode = _MODES[question.extent]
    is_richer = models is not None and mode is AskMode.LOCAL and was_read_by_model(store)
    return AskMode.BASIC if mode is AskMode.LOCAL and not is_richer else mode


def _expand_evidence(
    plan: AskPlan,
    evidence: Evidence,
    sources: AnswerSources,
    model: CachedChatModel,
    notes: list[str],
) -> Evidence:
    """Add what a search by the model's keywords finds; a failure becomes a note."""
    try:
        keywords = find_keywords(plan.question.text, model)
    except (ModelError, StoreError) as error:
        if not plan.request.fallback:
            raise
        notes.append(f"The search was not expanded: {error}")
        return evidence
    forms = known_forms(keywords, sources.store)
    if not forms:
        return evidence
    return add_found(evidence, sources.searcher.search(" ".join(forms)), keywords=forms)
