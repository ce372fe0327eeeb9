"""Answer a request: begin an inquiry, search, and answer from the evidence.

An inquiry has a question that stands alone, and a mode. Without a model the answer consists of
sentences of the documents; with one, the model writes it and cites them.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from knotwork._inference.call_limits import WHILE_SOMEONE_WAITS
from knotwork._inference.chat import ChatModel, ChatReply, complete_checked
from knotwork._inference.model_registry import (
    NO_CHAT_MODEL,
    ModelRole,
    calls_at_once,
    chat_model_spec,
    price_table,
)
from knotwork._questions.reading import QuestionReading, ScopeKind, reading_of
from knotwork._retrieval.base import FOR_THE_USER, attempt, note_failure
from knotwork._retrieval.question import ask_by_aliases
from knotwork._run import Progress, Stage, Steps
from knotwork._stores.base import Store, companions_of, was_read_by_model
from knotwork._synthesis.ask_request import (
    AskMode,
    AskOptions,
    AskRequest,
    CommunityReports,
    Inquiry,
    QuestionModels,
)
from knotwork._synthesis.divided_answers import (
    NamedPart,
    answer_divided,
    answer_named,
    find_named_parts,
    join_evidence,
    search_named,
)
from knotwork._synthesis.extractive_answers import compose_answer, find_leading_result, read_hits
from knotwork._synthesis.messages import make_request
from knotwork._text.terms import content_terms
from knotwork._text.token_counts import count_tokens
from knotwork.errors import ModelError, StoreError, Unparsable
from knotwork.records import RETRIEVAL_QUERY, Answer, Evidence, Hit, MemoryCitation, QueryResult

if TYPE_CHECKING:
    from knotwork._inference.call_cache import CachedChatModel
    from knotwork._inference.role_models import RoleModels
    from knotwork._synthesis.ask_request import Retrievers, ScopedSearcher


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
    from knotwork._retrieval.steps.query_transformation import ask_words
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
    request = make_request("route", question, model, output_tokens=8)
    return complete_checked(model, request, parse_mode)


def parse_mode(reply: ChatReply) -> AskMode:
    """Parse the mode that a reply names, alone or at its start. Raises Unparsable."""
    found = _MODE.match(reply.text)
    named = {word.lower() for word in _MODE_NAME.findall(reply.text)}
    if found is None or len(named) != 1:
        raise Unparsable("The reply names no mode, or more than one.")
    return AskMode(found["mode"].lower())


_COUNTED = frozenset({ScopeKind.WHOLE, ScopeKind.RANKING, ScopeKind.MENTIONS, ScopeKind.LISTING})
_OVERVIEWS = frozenset({AskMode.AUTO, AskMode.GLOBAL})
"""Modes in which a question about the whole, a document or a topic is answered without a model."""


class AnswerEngine:
    """Answers requests from what is found for them; safe for many threads.

    ``model`` replaces the one in the settings.
    """

    def __init__(self, retrievers: Retrievers, *, model: ChatModel | None = None) -> None:
        self._retrievers = retrievers
        self._settings = retrievers.settings
        self._model = model
        self._has_model = (
            model is not None or chat_model_spec(self._settings.llm, "answer") != NO_CHAT_MODEL
        )
        self._models: RoleModels | None = None
        self._lock = threading.Lock()

    def answer(
        self,
        question: str | AskRequest,
        options: AskOptions | None = None,
        *,
        open_to_write: Callable[[], Store] | None = None,
    ) -> Steps[Answer]:
        """Answer a question, and yield the steps to it, the last one with the answer.

        Raises as `KnowledgeBase.ask`.
        """
        request = AskRequest.of(question, options or {})
        retrievers = self._retrievers
        searcher = retrievers.searcher(request, with_rows=True)
        reports = CommunityReports(
            retrievers.store,
            retrievers.models,
            self._settings,
            searcher.store if searcher.filter else None,
            open_to_write=open_to_write,
        )
        started_s = time.perf_counter()
        inquiry = self._begin(request, searcher, reports)
        evidence = searcher.search(inquiry.question)
        renaming = partial(_search_by_aliases, inquiry, evidence)
        evidence = attempt("The search by aliases", renaming, evidence, inquiry.notes)
        evidence, steps = self._choose_steps(request, inquiry, evidence)
        answer: Answer | None = None
        is_shown, rows = False, tuple[QueryResult, ...]()
        try:
            for event in chain([Progress(Stage.FOUND, value=evidence)], steps):
                if event.stage == Stage.FINISHED:
                    answer = event.value
                    continue
                yield event
                is_shown |= event.stage == Stage.TEXT
                if event.stage == Stage.FOUND:
                    found = event.value.results
                    rows = tuple(r for r in found if r.source == RETRIEVAL_QUERY) or rows
        except (*FOR_THE_USER, ModelError):
            raise
        except Exception as error:  # noqa: BLE001 - as `attempt`
            inquiry.notes.append(note_failure("The answer in this mode", error))
            if is_shown:
                yield Progress(Stage.WITHDRAWN, note=inquiry.notes[-1])
            answer = compose_answer(evidence, store=searcher.store, settings=inquiry.settings)
        assert answer is not None, "the last step has the answer"
        told: Answer = answer
        if inquiry.memory:
            from knotwork._synthesis.memory_evidence import end_with_memory, lead_with_memory

            # Before quoted sentences, and behind what a model wrote without them.
            is_written = bool(answer.model) and answer.answered
            add = end_with_memory if is_written else lead_with_memory
            adding = partial(add, answer, inquiry.memory, question=inquiry.question)
            told = attempt("The memory", adding, answer, inquiry.notes)
            if told.model and (added := told.text[len(answer.text) :]):
                yield Progress(Stage.TEXT, note=added)
        told = replace(
            told,
            question=request.question,
            usage=replace(told.usage, seconds=time.perf_counter() - started_s),
            notes=tuple(dict.fromkeys((*inquiry.notes, *answer.notes))),
            results=(*told.results, *rows),
        )
        yield Progress(Stage.FINISHED, value=told)
        return told

    def close(self) -> None:
        """Close the file of calls."""
        with self._lock:
            if self._models is not None:
                self._models.close()

    def _begin(
        self, request: AskRequest, searcher: ScopedSearcher, reports: CommunityReports
    ) -> Inquiry:
        """Rewrite a follow-up so that it stands alone, choose the mode, and open the models."""
        settings = self._settings
        is_asked = request.use_llm and (self._has_model or request.budget)
        models = self._open(request) if is_asked else None
        if models is not None:
            searcher.fill_prompt(settings.answer.context_tokens)
        inquiry = Inquiry(
            searcher.question,
            AskMode(request.mode),
            settings.answer,
            searcher,
            reports,
            models,
            fallback=request.fallback,
            notes=[*searcher.notes],
        )
        if request.turns:
            rewriting = partial(_rewrite_follow_up, inquiry, request.turns)
            what = "Rewriting the follow-up"
            inquiry.question = attempt(what, rewriting, inquiry.question, inquiry.notes)
        if inquiry.mode is AskMode.AUTO:
            chosen = None
            if request.classify and models is not None:
                chosen = _ask_for_mode(inquiry, models.keyword)
            inquiry.mode = chosen or choose_mode(inquiry.question)
            # Local is better only if descriptions by a model add to what the passages say.
            is_local = chosen is None and inquiry.mode is AskMode.LOCAL
            if is_local and (models is None or not was_read_by_model(inquiry.store)):
                inquiry.mode = AskMode.BASIC
        if (recall := request.recall) is not None:
            recalling = partial(recall, inquiry.question)
            nothing = tuple[MemoryCitation, ...]()
            inquiry.memory = attempt(
                "The memory", lambda: tuple(recalling()), nothing, inquiry.notes
            )
        return inquiry

    def _choose_steps(
        self, request: AskRequest, inquiry: Inquiry, evidence: Evidence
    ) -> tuple[Evidence, Iterator[Progress]]:
        """Return the steps from evidence to an answer, and before them the evidence with what is
        found by keywords of a model, and for the parts of a question that a model answers.
        """
        searcher, models = inquiry.searcher, inquiry.models
        if request.expand and models is not None:
            expanding = partial(_expand_evidence, inquiry, evidence, models.keyword)
            raised = (*FOR_THE_USER, ModelError)
            what = "Expanding the search"
            evidence = attempt(what, expanding, evidence, inquiry.notes, raises=raised)
        is_auto = request.mode is AskMode.AUTO
        named: Sequence[NamedPart] = ()
        leads = is_auto and find_leading_result(evidence, least=0.0) is not None
        if leads:
            inquiry.mode = AskMode.BASIC
        elif is_auto:
            naming = partial(find_named_parts, inquiry)
            named = attempt("The documents that it names", naming, named, inquiry.notes)
        question = reading_of(inquiry.question)
        wants_overview = not leads and _wants_overview(request, question, inquiry.mode)
        is_general = is_auto and inquiry.mode is AskMode.GLOBAL
        if models is None and is_auto and not wants_overview:
            inquiry.mode = AskMode.BASIC
        is_divisible = inquiry.mode is AskMode.BASIC and not wants_overview
        division = question.division if is_divisible else None
        if models is not None:
            if named:
                evidence = search_named(named, inquiry, evidence)
            elif division:
                found = [searcher.search(part.text) for part in division.parts]
                evidence = join_evidence(evidence, found)
            return evidence, self._write(inquiry, evidence)
        if division:
            settings = inquiry.settings
            steps = answer_divided(division, evidence, searcher=searcher, settings=settings)
        else:
            steps = _quote(inquiry, evidence, wants_overview=wants_overview, is_general=is_general)
        if named:
            answer_in = partial(_quote_within, request)
            steps = answer_named(named, inquiry, evidence, answer_in, otherwise=steps)
        return evidence, steps

    def _write(self, inquiry: Inquiry, evidence: Evidence) -> Iterator[Progress]:
        from knotwork._synthesis.answer_writer import AnswerWriter
        from knotwork._synthesis.memory_evidence import choose_facts
        from knotwork._synthesis.mode_answers import answer_in_mode

        assert inquiry.models is not None
        memory = inquiry.memory
        inquiry.concurrency = calls_at_once(self._settings.llm, "answer")
        inquiry.writer = AnswerWriter(
            inquiry.models.answer,
            store=inquiry.store,
            settings=inquiry.settings,
            prices=price_table(self._settings.llm),
            notes=self._models.notes if self._models else (),
            fallback=inquiry.fallback,
            memory=choose_facts(inquiry.question, memory) if memory else (),
        )
        if inquiry.mode is AskMode.BASIC:
            yield from inquiry.writer.write(evidence)
        else:
            yield from answer_in_mode(inquiry, evidence)

    def _open(self, request: AskRequest) -> QuestionModels | None:
        """Return the models of a request, with a meter of their own; None without a chat model."""
        from knotwork._inference.call_costs import UsageMeter
        from knotwork._inference.role_models import RoleModels, open_budget

        budget = open_budget(request.budget, self._settings.llm, count_tokens=count_tokens)
        with self._lock:
            if self._models is None:
                companions = companions_of(self._retrievers.store)
                self._models = RoleModels.of(
                    self._settings, companions, model=self._model, retries=WHILE_SOMEONE_WAITS
                )
            models = self._models
        meter = UsageMeter()

        def open_role(role: ModelRole) -> CachedChatModel | None:
            return models.open(role, meter=meter, budget=budget, retry_rejected=request.retry)

        answer = open_role("answer")
        if answer is None:
            return None
        return QuestionModels(
            answer, open_role("keyword") or answer, open_role("summarize") or answer
        )


def _quote(
    inquiry: Inquiry, evidence: Evidence, *, wants_overview: bool, is_general: bool
) -> Iterator[Progress]:
    searcher, settings = inquiry.searcher, inquiry.settings
    evidence = read_hits(evidence, searcher.models.reader, most=settings.max_sentences)
    if wants_overview:
        from knotwork._synthesis.overviews import summarize

        if (yield from summarize(inquiry, evidence, is_general=is_general)):
            return
    if inquiry.mode is not AskMode.BASIC:
        from knotwork._synthesis.mode_answers import answer_in_mode

        yield from answer_in_mode(inquiry, evidence)
        return
    quoted = compose_answer(evidence, store=searcher.store, settings=settings)
    yield Progress(Stage.FINISHED, value=quoted)


def _quote_within(request: AskRequest, inquiry: Inquiry, evidence: Evidence) -> Iterator[Progress]:
    mode = choose_mode(inquiry.question)
    wants_overview = _wants_overview(request, reading_of(inquiry.question), mode)
    inquiry.mode = mode if wants_overview else AskMode.BASIC
    is_general = mode is AskMode.GLOBAL
    return _quote(inquiry, evidence, wants_overview=wants_overview, is_general=is_general)


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


_MODES = {ScopeKind.WHOLE: AskMode.GLOBAL, ScopeKind.THING: AskMode.LOCAL}


def choose_mode(question: str) -> AskMode:
    """Choose mode global, local or basic by the words of a question."""
    return _MODES.get(reading_of(question).extent, AskMode.BASIC)


_MOST_ALIASES = 2
_LEAST_GAIN = 0.1
"""How much more of the question a sentence has to say by an alias, as a share of it."""


def _search_by_aliases(inquiry: Inquiry, evidence: Evidence) -> Evidence:
    """Return what is found by an alias of a name in the question, if that says more.

    A model gets both. The question then has the alias. Rows that answer are kept.
    """
    found, relevance = evidence, _best_relevance(evidence) + _LEAST_GAIN
    is_found = relevance >= 1 or find_leading_result(evidence, least=0.0) is not None
    if is_found and inquiry.models is None:
        return evidence
    for text, note in ask_by_aliases(inquiry.question, inquiry.store, most=_MOST_ALIASES):
        other = inquiry.searcher.search(text)
        if inquiry.models is not None:
            evidence = join_evidence(evidence, [other])
        elif _best_relevance(other) >= relevance:
            found, relevance = other, _best_relevance(other)
            inquiry.question, inquiry.notes[:] = text, [*inquiry.notes, note]
    return found if inquiry.models is None else evidence


def _best_relevance(evidence: Evidence) -> float:
    return max((value for hit in evidence.hits for _, value in hit.sentences), default=0.0)


def _rewrite_follow_up(inquiry: Inquiry, turns: Sequence[tuple[str, str]]) -> str:
    """Return a question that stands alone; a note says how it was rewritten."""
    from knotwork._synthesis.follow_ups import (
        index_names,
        index_support,
        is_follow_up,
        note_understood,
        read_turns,
        rewrite_follow_up,
    )

    question, names = inquiry.question, index_names(inquiry.store)
    if not is_follow_up(question, names):
        return question
    support = index_support(inquiry.store)
    said = read_turns(turns, names, support)
    model = inquiry.models.keyword if inquiry.models else None
    text, note = rewrite_follow_up(question, said, names, model=model, support=support)
    inquiry.notes += [note] if note else []
    inquiry.notes += [note_understood(text)] if text != question else []
    return text


def _ask_for_mode(inquiry: Inquiry, model: CachedChatModel) -> AskMode | None:
    """Return the mode that the model chooses; None, with a note, if it fails."""
    try:
        return choose_mode_with_model(inquiry.question, model)
    except (ModelError, StoreError) as error:
        if not inquiry.fallback:
            raise
        inquiry.notes.append(f"The mode was chosen by rules: {error}")
        return None


def _expand_evidence(inquiry: Inquiry, evidence: Evidence, model: CachedChatModel) -> Evidence:
    try:
        keywords = find_keywords(inquiry.question, model)
    except (ModelError, StoreError) as error:
        if not inquiry.fallback:
            raise
        inquiry.notes.append(f"The search was not expanded: {error}")
        return evidence
    forms = known_forms(keywords, inquiry.store)
    if not forms:
        return evidence
    return add_found(evidence, inquiry.searcher.search(" ".join(forms)), keywords=forms)
