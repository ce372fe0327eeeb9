"""Answer a question about the whole, a document, a topic or a number, with its evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from knotwork._config import AnswerSettings
from knotwork._questions.reading import reading_of
from knotwork._questions.scopes import QuestionScope, ScopeKind
from knotwork._retrieval.community_search import find_topic
from knotwork._stores.base import Store
from knotwork._synthesis.ask_request import AskMode
from knotwork._synthesis.extractive_answers import compose_answer, estimate_confidence
from knotwork._synthesis.inquiry import AnswerSources, CommunityReports
from knotwork._synthesis.overviews.counts import count_mentions, rank_entities
from knotwork._synthesis.overviews.lines import SummaryText, answer_with, write_lines
from knotwork._synthesis.overviews.outline import (
    DocumentOutline,
    Listing,
    OutlinePart,
    find_listed,
    find_numbered,
    find_parts,
    locate_sections,
    read_chunks,
    read_outline,
)
from knotwork._synthesis.overviews.summaries import (
    list_parts,
    summarize_part,
    summarize_parts,
    summarize_topic,
    summarize_whole,
)
from knotwork._synthesis.pieces import rank_pieces
from knotwork._synthesis.report_themes import main_themes
from knotwork._synthesis.sentence_selection import rank_candidates
from knotwork._text.statements import SelectedSentence, read_statements
from knotwork._text.terms import content_terms
from knotwork.records import Answer, Evidence, Hit, Query

_OF_A_SECTION = frozenset({ScopeKind.TOPIC, ScopeKind.THING})
"""Scopes that are answered from one section, if there is one about the subject."""
_MOST_TRIED = 3
"""The maximum number of sections read until one has enough lines."""
_RIVAL_SHARE = 0.9
"""A section of another document rivals the best one from this share of its value."""
_SURE = frozenset({ScopeKind.RANKING, ScopeKind.MENTIONS})


@dataclass(frozen=True, slots=True)
class OverviewPlan:
    """How a question is answered: its scope, its evidence, and the document parts that it names.

    ``summary`` are the lines of the section about its subject, if there is one, and ``listing`` has
    the titles that it asks for.
    """

    question: str
    scope: QuestionScope
    found: Evidence
    parts: Sequence[OutlinePart] = ()
    summary: SummaryText | None = None
    listing: Listing | None = None

    @property
    def language(self) -> str:
        """The language of the question."""
        return reading_of(self.question).language

    @property
    def needs_communities(self) -> bool:
        """Whether the answer is composed from communities."""
        return not self.parts and self.scope.needs_communities


def plan_overview(
    question: str, found: Evidence, *, sources: AnswerSources, is_general: bool = False
) -> OverviewPlan | None:
    """Return how to answer a question by an overview; None for any other question.

    ``found`` is the evidence of the question itself. A question that ``is_general`` and matches no
    pattern of a scope, as "Which risks come up again and again?", is about a topic, or about the
    whole if it has no terms beside those for the whole. If the scope depends on a named document or
    section that the index does not have, the result is None. Raises as ``sources.searcher.search``.
    """
    scope = reading_of(question).scope
    is_stated = scope is not None
    if scope is None and is_general:
        focus = find_topic(question)
        scope = (
            QuestionScope(ScopeKind.TOPIC, question) if focus else QuestionScope(ScopeKind.WHOLE)
        )
    if scope is None:
        return None
    is_read = scope.named or scope.kind in {*_OF_A_SECTION, ScopeKind.LISTING}
    outline = read_outline(sources.store) if is_read else None
    parts = find_parts(outline, scope.named) if outline and scope.named else []
    parts = parts or find_numbered(found, scope.named)
    if outline is not None and scope.kind is ScopeKind.LISTING:
        listing = find_listed(outline, scope.subject, parts) if parts or not scope.named else None
        plan = OverviewPlan(question, scope, found, parts, listing=listing)
        return plan if listing else None
    if not parts and not scope.is_sure:
        return None
    if parts and scope.named == scope.subject:
        return OverviewPlan(question, replace(scope, kind=ScopeKind.PART), found, parts)
    if outline is None or scope.kind not in _OF_A_SECTION:
        return OverviewPlan(question, scope, found, parts)
    query = scope.subject if scope.named in scope.subject else f"{scope.subject} {scope.named}"
    overview = OverviewPlan(question, scope, sources.searcher.search(query), parts)
    return _read_section(overview, sources, outline) if is_stated else overview


def _read_section(
    overview: OverviewPlan, sources: AnswerSources, outline: DocumentOutline
) -> OverviewPlan:
    """Return an overview with the summary of the section about its subject.

    It gets none if sections of other documents are about the subject nearly as well.
    """
    scope, store = overview.scope, sources.store
    located = locate_sections(
        scope.subject,
        overview.found,
        store=store,
        outline=outline,
        embedder=sources.models.query_embedder,
        within=overview.parts[0] if overview.parts else None,
        named=frozenset(content_terms(reading_of(scope.named).strip_text_nouns())),
    )
    if any(
        item.part.document_id != located[0].part.document_id
        and item.value >= _RIVAL_SHARE * located[0].value
        for item in located[1:]
    ):
        return overview
    for item in located[:_MOST_TRIED]:
        if not item.is_fitting:
            continue
        summary = summarize_part(store, outline, item.part, overview.language, about=scope.subject)
        if summary.lines:
            return replace(overview, summary=summary)
    return overview


def answer_overview(
    overview: OverviewPlan,
    *,
    store: Store,
    reports: CommunityReports,
    settings: AnswerSettings,
) -> tuple[Answer, Evidence]:
    """Return the answer of an overview, and the passages that it cites."""
    if overview.scope.kind in _OF_A_SECTION:
        return _answer_topic(overview, store, settings)
    language = overview.language
    summary = _summarize(overview, store, reports)
    written = write_lines(summary, language)
    answered = bool(written.sources) or overview.scope.kind in _SURE
    cited = [*written.sources, *summary.rest]
    evidence = _overview_evidence(overview, cited, 1.0 if answered else 0.0)
    # A count or an outline is a fact about the index: there is no probability to estimate.
    confidence = None if answered else 0.0
    answer = answer_with(evidence, written, store, answered=answered, confidence=confidence)
    return replace(answer, mode=AskMode.GLOBAL.value), evidence


def _summarize(overview: OverviewPlan, store: Store, reports: CommunityReports) -> SummaryText:
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
    if overview.listing is not None:
        return list_parts(store, overview.listing, language)
    outline = read_outline(store)
    if len(overview.parts) > 1:
        return summarize_parts(store, outline, overview.parts, language)
    if overview.parts:
        return summarize_part(store, outline, overview.parts[0], language)
    titles = {part.title for part in outline.documents if part.title}
    themes = main_themes(store, reports, language, titles)
    return summarize_whole(store, outline, themes, language)


def _answer_topic(
    overview: OverviewPlan, store: Store, settings: AnswerSettings
) -> tuple[Answer, Evidence]:
    """Summarise one or several sections on a topic; fall back to an ordinary answer."""
    query = Query(overview.question, overview.found.query.k)
    found, language = replace(overview.found, query=query), overview.language
    candidates = _keep_named(overview, rank_candidates(overview.found))
    known = {(item.chunk.document_id, item.span) for item in candidates}
    said = [i for i in _read_parts(overview, store) if (i.chunk.document_id, i.span) not in known]
    summary = overview.summary or summarize_topic([*candidates, *said], found, language)
    written = write_lines(summary, language)
    cited = written.sources
    if not cited:
        return compose_answer(found, store=store, settings=settings), found
    confidence = estimate_confidence(found, rank_pieces(found, candidates, store))
    asked = set(content_terms(overview.scope.subject))
    is_stated = overview.parts and any(asked <= set(content_terms(i.text)) for i in cited)
    answered = bool(is_stated) or confidence >= settings.abstain_below
    evidence = replace(found, retriever=AskMode.GLOBAL.value, confidence=confidence)
    if not answered:
        written = written._replace(sources=cited[: settings.max_sentences])
    answer = answer_with(evidence, written, store, answered=answered, confidence=confidence)
    return replace(answer, mode=AskMode.GLOBAL.value), evidence


def _keep_named(
    overview: OverviewPlan, candidates: Sequence[SelectedSentence]
) -> Sequence[SelectedSentence]:
    """Return the candidates in the parts that a question names, with terms of its subject if any.

    If it names none that the index has, those under titles with all its terms, or else all.
    """
    if overview.parts:
        inside = [c for c in candidates if any(part.holds(c) for part in overview.parts)]
        asked = set(content_terms(overview.scope.subject))
        return [
            c for c in inside if asked & set(content_terms(f"{c.chunk.context} {c.text}"))
        ] or inside
    wanted = set(content_terms(reading_of(overview.scope.named).strip_text_nouns()))
    return [
        c for c in candidates if wanted and wanted <= set(content_terms(c.chunk.context))
    ] or candidates


def _read_parts(overview: OverviewPlan, store: Store) -> list[SelectedSentence]:
    """Return the statements of the named parts that have all terms of the subject.

    A search does not find all of them in a short part of many documents.
    """
    asked = set(content_terms(overview.scope.subject))
    found = []
    for part in overview.parts if asked else ():
        for paragraph in read_statements(read_chunks(store, part), about=overview.scope.subject):
            said = set(content_terms(" ".join(item.text for item in paragraph)))
            said |= set(content_terms(paragraph[0].chunk.context))
            found += [i for i in paragraph if asked <= said and part.holds(i)]
    return found


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
