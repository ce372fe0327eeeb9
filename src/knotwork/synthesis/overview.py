"""Answers about the whole from reports alone: themes, each with cited statements; at no tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from knotwork.config import AnswerSettings
from knotwork.records import Answer, Chunk, CommunityReport, Evidence, Finding, Hit, Query
from knotwork.retrieval.focus import find_focus
from knotwork.stores.base import Store
from knotwork.synthesis.answering import LOW_CONFIDENCE, NO_EVIDENCE
from knotwork.synthesis.citing import cite_sentences, gap_before_mark, gap_between, show_sentence
from knotwork.synthesis.confidence import FOUND
from knotwork.synthesis.contexts import rank_findings
from knotwork.synthesis.messages import no_match, not_clear, tell_themes
from knotwork.synthesis.packing import sentences_of
from knotwork.synthesis.prose import weigh_prose
from knotwork.synthesis.selection import Selected
from knotwork.text.languages import detect_language
from knotwork.text.terms import content_terms

MOST_THEMES = 6
_STATEMENTS = 2
_FEW_THEMES = 2
"""With as few themes, each has twice as many statements."""
_LEAST_PROSE = 0.3
_LEAST_COVERED = 0.3
"""Share of what the question asks for beside the whole that the reports must speak of."""
_OVERLAP = 0.6
"""A statement whose terms stand in one before by this share says nothing new."""


@dataclass(frozen=True, slots=True)
class Theme:
    """A community as an overview tells of it; ``passages`` is how many it holds."""

    report: CommunityReport
    passages: int


@dataclass(frozen=True, slots=True)
class _Statement:
    text: str
    source: Selected


def report_evidence(
    question: str, themes: Sequence[Theme], *, store: Store, found: Evidence, retriever: str
) -> Evidence:
    """Return the passages that reports rest on, by the rank of their reports.

    The confidence is the share of what is asked, beside the whole, that the reports speak of, or
    that of what was ``found`` by a search, if it is higher.
    """
    chunks = _cited_chunks([theme.report for theme in themes], store)
    hits: dict[str, Hit] = {}
    for rank, theme in enumerate(themes):
        for finding in theme.report.findings:
            for support in finding.supports:
                if support.chunk_id in chunks and support.chunk_id not in hits:
                    spans = tuple(
                        (span, 1.0)
                        for span in sentences_of(chunks[support.chunk_id])
                        if span.start < support.span.end and support.span.start < span.end
                    )
                    score = 1.0 / (1 + rank)
                    parts = {"report": score}
                    hits[support.chunk_id] = Hit(
                        chunks[support.chunk_id], score, parts, (theme.report.title,), (), spans
                    )
    covered = covered_share(question, [theme.report for theme in themes])
    confidence = max(covered, found.confidence) if hits else 0.0
    ranked = sorted(hits.values(), key=lambda hit: (-hit.score, hit.chunk.id))
    query = Query(question, found.query.k)
    return Evidence(query, retriever, tuple(ranked), confidence, found.notes)


def covered_share(question: str, reports: Sequence[CommunityReport]) -> float:
    """Return which share of a question's terms, those about the whole left out, reports hold."""
    asked = set(content_terms(find_focus(question)))
    if not asked:
        return 1.0 if reports else 0.0
    held = {term for report in reports for term in content_terms(report.text)}
    return len(asked & held) / len(asked)


def compose_overview(
    evidence: Evidence,
    themes: Sequence[Theme],
    *,
    store: Store,
    settings: AnswerSettings | None = None,
) -> Answer:
    """Answer with the themes of reports and what they rest on, or say that there is no answer.

    Every statement is a finding with its citation. Where the reports do not speak of what is asked
    for, and the search found nothing on it either, none is given, unless ``settings.abstain_below``
    is 0. An answer about the whole alone has no confidence: it states what the reports hold.
    """
    settings = settings or AnswerSettings()
    question = evidence.query.text
    language = detect_language(question)
    chosen = _choose_statements(question, themes, store)
    has_focus = bool(find_focus(question))
    text, sources = _write(chosen, language, has_focus=has_focus)
    covered = covered_share(question, [theme.report for theme in themes])
    answered = bool(sources) and (
        covered >= _LEAST_COVERED or evidence.confidence >= FOUND or settings.abstain_below == 0
    )
    if not answered:
        text = not_clear(language) if sources else no_match(language)
    return Answer(
        question=question,
        text=text,
        answered=answered,
        citations=cite_sentences(sources, store),
        reason="" if answered else LOW_CONFIDENCE if sources else NO_EVIDENCE,
        confidence=evidence.confidence if has_focus or not answered else None,
        retriever=evidence.retriever,
    )


def _choose_statements(
    question: str, themes: Sequence[Theme], store: Store
) -> list[tuple[Theme, list[_Statement]]]:
    chunks = _cited_chunks([theme.report for theme in themes], store)
    most = _STATEMENTS * (2 if len(themes) <= _FEW_THEMES else 1)
    told: list[frozenset[str]] = []
    chosen: list[tuple[Theme, list[_Statement]]] = []
    for theme in themes[:MOST_THEMES]:
        statements: list[_Statement] = []
        ranked = rank_findings(theme.report, question)
        prose = [f for f in ranked if weigh_prose(show_sentence(f.text)) >= _LEAST_PROSE] or ranked
        for finding in prose:
            source = _source_of(finding, chunks, rank=len(chosen))
            terms = frozenset(content_terms(finding.text))
            if source is None or any(_repeats(terms, other) for other in told):
                continue
            statements.append(_Statement(show_sentence(finding.text), source))
            told.append(terms)
            if len(statements) == most:
                break
        if statements:
            chosen.append((theme, statements))
    return chosen


def _repeats(terms: frozenset[str], other: frozenset[str]) -> bool:
    return not terms or len(terms & other) >= _OVERLAP * len(terms)


def _source_of(finding: Finding, chunks: Mapping[str, Chunk], *, rank: int) -> Selected | None:
    for support in finding.supports:
        chunk = chunks.get(support.chunk_id)
        if chunk is not None:
            start, end = support.span
            offset = chunk.span.start
            text = chunk.text[max(start - offset, 0) : max(end - offset, 0)]
            return Selected(chunk, support.span, text, 1.0, rank)
    return None


def _write(
    chosen: Sequence[tuple[Theme, Sequence[_Statement]]], language: str, *, has_focus: bool
) -> tuple[str, list[Selected]]:
    """Return the text, and what its marks lead to in order."""
    lines = [tell_themes(language, count=len(chosen), has_focus=has_focus), ""]
    sources: list[Selected] = []
    numbers: dict[tuple[str, object], int] = {}
    for place, (theme, statements) in enumerate(chosen, start=1):
        told = ""
        for statement in statements:
            key = statement.source.chunk.document_id, statement.source.span
            if key not in numbers:
                numbers[key] = len(numbers) + 1
                sources.append(statement.source)
            told += gap_between(told, statement.text) if told else ""
            told += f"{statement.text}{gap_before_mark(statement.text)}[{numbers[key]}]"
        lines.append(_theme_line(place, theme, told, language))
    return "\n".join(lines), sources


def _theme_line(place: int, theme: Theme, told: str, language: str) -> str:
    title = show_sentence(theme.report.title)
    if language == "zh":
        size = f"（{theme.passages}段）" if theme.passages else ""
        return f"{place}. {title}{size}：{told}"
    noun = "passage" if theme.passages == 1 else "passages"
    size = f" ({theme.passages:,} {noun})" if theme.passages else ""
    return f"{place}. {title}{size}: {told}"


def _cited_chunks(reports: Sequence[CommunityReport], store: Store) -> dict[str, Chunk]:
    return store.documents.chunks({chunk for report in reports for chunk in report.chunk_ids})
