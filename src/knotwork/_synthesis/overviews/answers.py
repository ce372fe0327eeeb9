"""Answer a question about the whole, a document, a topic or a number, with its evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from knotwork._config import AnswerSettings
from knotwork._retrieval.community_search import ReportSource, find_topic
from knotwork._stores.base import Store
from knotwork._synthesis.ask_request import AskMode
from knotwork._synthesis.citations import cite_sentences
from knotwork._synthesis.extractive_answers import (
    LOW_CONFIDENCE,
    NO_EVIDENCE,
    compose_answer,
    estimate_confidence,
)
from knotwork._synthesis.inquiry import AnswerSources
from knotwork._synthesis.messages import no_match, not_clear
from knotwork._synthesis.overviews.counts import count_mentions, rank_entities
from knotwork._synthesis.overviews.outline import (
    DocumentOutline,
    LocatedSection,
    OutlinePart,
    find_part,
    locate_sections,
    read_outline,
)
from knotwork._synthesis.overviews.sections import walk_section, write_heading
from knotwork._synthesis.overviews.statements import SummaryLine, SummaryText, write_lines
from knotwork._synthesis.overviews.summaries import summarize_part, summarize_whole
from knotwork._synthesis.overviews.topics import choose_on_topic, keep_named, read_on, write_topic
from knotwork._synthesis.questions.classification import read_scope, strip_text_nouns
from knotwork._synthesis.questions.scopes import QuestionScope, ScopeKind
from knotwork._synthesis.sentence_selection import SelectedSentence, rank_candidates
from knotwork._text.languages import detect_language
from knotwork._text.terms import content_terms
from knotwork.records import Answer, Evidence, Hit, Query

_OF_A_SECTION = frozenset({ScopeKind.TOPIC, ScopeKind.THING})
"""Scopes that are answered from one section, if there is one about the subject."""
_MOST_TRIED = 3
"""The maximum number of sections read until one has enough lines."""
_RIVAL_SHARE = 0.9
"""A section of another document rivals the best one from this share of its value."""


@dataclass(frozen=True, slots=True)
class OverviewPlan:
    """How a question is answered: its scope, its evidence, and the document part that it names.

    ``section`` is the section about its subject, if there is one, and ``lines`` summarise it.
    """

    question: str
    scope: QuestionScope
    found: Evidence
    part: OutlinePart | None = None
    section: OutlinePart | None = None
    lines: Sequence[SummaryLine] = ()

    @property
    def language(self) -> str:
        """The language of the question."""
        return detect_language(self.question)

    @property
    def needs_communities(self) -> bool:
        """Whether the answer is composed from communities."""
        return self.part is None and self.scope.needs_communities


def plan_overview(
    question: str, found: Evidence, *, sources: AnswerSources, is_general: bool = False
) -> OverviewPlan | None:
    """Return how to answer a question by an overview; None for any other question.

    ``found`` is the evidence of the question itself. A question that ``is_general`` and matches no
    pattern of a scope, as "Which risks come up again and again?", is about a topic, or about the
    whole if it has no terms beside those for the whole. If the scope depends on a named document or
    section that the index does not have, the result is None. Raises as ``sources.searcher.search``.
    """
    scope = read_scope(question)
    is_stated = scope is not None
    if scope is None and is_general:
        focus = find_topic(question)
        scope = (
            QuestionScope(ScopeKind.TOPIC, question) if focus else QuestionScope(ScopeKind.WHOLE)
        )
    if scope is None:
        return None
    outline = read_outline(sources.store) if scope.named or scope.kind in _OF_A_SECTION else None
    part = find_part(outline, scope.named) if outline and scope.named else None
    if part is None and not scope.is_sure:
        return None
    if part is not None and scope.named == scope.subject:
        return OverviewPlan(question, replace(scope, kind=ScopeKind.PART), found, part)
    if outline is None or scope.kind not in _OF_A_SECTION:
        return OverviewPlan(question, scope, found, part)
    overview = OverviewPlan(question, scope, sources.searcher.search(_topic_query(scope)), part)
    return _read_section(overview, sources, outline) if is_stated else overview


def _read_section(
    overview: OverviewPlan, sources: AnswerSources, outline: DocumentOutline
) -> OverviewPlan:
    """Return an overview with the section about its subject, and lines that summarise it.

    It gets none if sections of other documents are about the subject nearly as well.
    """
    scope, store = overview.scope, sources.store
    located = locate_sections(
        scope.subject,
        overview.found,
        store=store,
        outline=outline,
        embedder=sources.models.query_embedder,
        within=overview.part,
        named=frozenset(content_terms(strip_text_nouns(scope.named))),
    )
    if _have_rivals(located):
        return overview
    for item in located[:_MOST_TRIED]:
        lines = walk_section(store, outline, item.part, scope.subject, overview.language)
        if lines:
            return replace(overview, section=item.part, lines=lines)
    return overview


def _have_rivals(located: Sequence[LocatedSection]) -> bool:
    """Return True if a section of another document is about the subject nearly as well."""
    return any(
        item.part.document_id != located[0].part.document_id
        and item.value >= _RIVAL_SHARE * located[0].value
        for item in located[1:]
    )


def answer_overview(
    overview: OverviewPlan,
    *,
    store: Store,
    reports: ReportSource,
    settings: AnswerSettings,
) -> tuple[Answer, Evidence]:
    """Return the answer of an overview, and the passages that it cites."""
    if overview.scope.kind in _OF_A_SECTION:
        return _answer_topic(overview, store, settings)
    summary = _summarize(overview, store, reports)
    text, cited = write_lines(summary.intro, summary.lines, overview.language)
    answered = bool(cited) or overview.scope.kind in {ScopeKind.RANKING, ScopeKind.MENTIONS}
    if not answered:
        text = no_match(overview.language)
    evidence = _overview_evidence(overview, [*cited, *summary.rest], 1.0 if answered else 0.0)
    # A count or an outline is a fact about the index: there is no probability to estimate.
    confidence = None if answered else 0.0
    answer = _make_answer(evidence, text, cited, store, answered=answered, confidence=confidence)
    return answer, evidence


def _summarize(overview: OverviewPlan, store: Store, reports: ReportSource) -> SummaryText:
    scope, language = overview.scope, overview.language
    if scope.kind is ScopeKind.RANKING:
        return rank_entities(
            store,
            scope.subject,
            language,
            limit=scope.limit,
            by_importance=scope.by_importance,
        )
    if scope.kind is ScopeKind.MENTIONS:
        return count_mentions(store, scope.subject, language)
    outline = read_outline(store)
    if overview.part is not None:
        return summarize_part(store, outline, overview.part, language)
    return summarize_whole(store, outline, reports, language)


def _topic_query(scope: QuestionScope) -> str:
    return scope.subject if scope.named in scope.subject else f"{scope.subject} {scope.named}"


def _answer_topic(
    overview: OverviewPlan, store: Store, settings: AnswerSettings
) -> tuple[Answer, Evidence]:
    """Summarise one or several sections on a topic; fall back to an ordinary answer."""
    query = Query(overview.question, overview.found.query.k)
    found, language = replace(overview.found, query=query), overview.language
    candidates = keep_named(rank_candidates(overview.found), overview.scope.named, overview.part)
    confidence = estimate_confidence(overview.found, candidates)
    if overview.section is not None:
        intro, lines = write_heading(overview.section, language), list(overview.lines)
    else:
        candidates = [*candidates, *read_on(found, store)]
        intro, lines = write_topic(choose_on_topic(candidates, found, store), language)
    text, cited = write_lines(intro, lines, language)
    if not cited:
        return compose_answer(found, store=store, settings=settings), found
    answered = confidence >= settings.abstain_below
    evidence = replace(found, retriever=AskMode.GLOBAL.value, confidence=confidence)
    if not answered:
        text, cited = not_clear(language), cited[: settings.max_sentences]
    answer = _make_answer(evidence, text, cited, store, answered=answered, confidence=confidence)
    return answer, evidence


def _make_answer(
    evidence: Evidence,
    text: str,
    cited: Sequence[SelectedSentence],
    store: Store,
    *,
    answered: bool,
    confidence: float | None,
) -> Answer:
    return Answer(
        question=evidence.query.text,
        text=text,
        answered=answered,
        citations=cite_sentences(cited, store),
        reason="" if answered else LOW_CONFIDENCE if cited else NO_EVIDENCE,
        confidence=confidence,
        retriever=evidence.retriever,
        mode=AskMode.GLOBAL.value,
    )


def _overview_evidence(
    overview: OverviewPlan, cited: Sequence[SelectedSentence], confidence: float
) -> Evidence:
    """Return the cited passages as hits, in the order of their first citation."""
    hits: dict[str, Hit] = {}
    for place, item in enumerate(cited):
        score = 1.0 / (1 + place)
        first = hits.setdefault(item.chunk.id, Hit(item.chunk, score, {"overview": score}))
        hits[item.chunk.id] = replace(first, sentences=(*first.sentences, (item.span, 1.0)))
    ranked = sorted(hits.values(), key=lambda hit: (-hit.score, hit.chunk.id))
    query = Query(overview.question, overview.found.query.k)
    notes = overview.found.notes
    return Evidence(query, AskMode.GLOBAL.value, tuple(ranked), confidence, notes)
