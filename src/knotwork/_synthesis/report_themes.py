"""Find the community reports nearest to a question, and answer with their themes without a model.

An answer lists themes, each with cited findings of its report.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from knotwork._questions.reading import reading_of
from knotwork._retrieval.community_search import (
    find_communities,
    find_topic,
)
from knotwork._stores.base import Store
from knotwork._synthesis import messages
from knotwork._synthesis.chunk_parts import sentences_of
from knotwork._synthesis.citations import show_sentence
from knotwork._synthesis.extractive_answers import FOUND_CONFIDENCE
from knotwork._synthesis.inquiry import CommunityReports, Inquiry
from knotwork._synthesis.messages import count_units
from knotwork._synthesis.overviews.lines import SummaryLine, SummaryText, answer_with, write_lines
from knotwork._text.prose import weigh_prose
from knotwork._text.statements import SelectedSentence, is_plain, repeats, weigh_alone
from knotwork._text.terms import content_terms
from knotwork.records import Answer, Chunk, CommunityReport, Evidence, Finding, Hit, Query, Span

NO_REPORTS_NOTE = (
    "There are no community reports, so this answer is from passages alone. `knotwork communities` "
    "builds reports."
)


def find_themes(
    inquiry: Inquiry, evidence: Evidence, *, most: int, spend_tokens: int = 0
) -> list[Theme]:
    """Return the communities relevant to a question, with their reports, best first.

    A model, if there is one, writes missing reports for at most ``spend_tokens`` tokens.
    """
    ranked = find_communities(
        inquiry.question,
        store=inquiry.store,
        evidence=evidence,
        embedder=inquiry.sources.models.query_embedder,
        most=most,
    )
    return _read_themes(
        inquiry.store, inquiry.reports, [item.id for item in ranked], spend_tokens=spend_tokens
    )


def _read_themes(
    store: Store, source: CommunityReports, ids: Sequence[str], *, spend_tokens: int = 0
) -> list[Theme]:
    """Return the communities that have a report with findings."""
    held = store.capabilities.communities
    if held is None or not ids:
        return []
    reports = source.reports(ids, spend_tokens=spend_tokens)
    known = held.communities(reports)
    return [
        Theme(reports[i], len(known[i].chunk_ids) if i in known else 0)
        for i in ids
        if i in reports and reports[i].findings
    ]


MOST_THEMES = 6
_STATEMENTS = 2
_FEW_THEMES = 2
"""With as few themes, each has twice as many statements."""
_CANDIDATES = 16
_LEAST_CLEAR = 0.3
"""The least worth of a statement if a report has better ones."""
_FRAGMENT_WEIGHT = 0.1
_LEAST_COVERED = 0.3
"""The least share of the question's terms, those for the whole left out, that reports contain."""


@dataclass(frozen=True, slots=True)
class Theme:
    """A community in an overview: its report and its number of passages."""

    report: CommunityReport
    passages: int


def _asked_terms(question: str) -> set[str]:
    return set(content_terms(find_topic(question)))


def covered_share(question: str, reports: Sequence[CommunityReport]) -> float:
    """Return the share of a question's terms, those for the whole left out, in the reports."""
    asked = _asked_terms(question)
    if not asked:
        return 1.0 if reports else 0.0
    held = {term for report in reports for term in content_terms(report.text)}
    return len(asked & held) / len(asked)


def answer_from_themes(
    inquiry: Inquiry, found: Evidence, themes: Sequence[Theme], *, retriever: str
) -> tuple[Answer, Evidence]:
    """Answer with the themes of reports, each finding cited, or say that there is no answer.

    If neither the reports nor the search (``found``) cover what is asked, no answer is given,
    unless `answer.abstain_below` is 0. The confidence falls with the share of the statements that
    are from passages about something else. An answer about the whole corpus has none: it states
    what the reports say. The evidence are the passages that the reports cite, by the rank of these.
    """
    question, store = inquiry.question, inquiry.store
    language = reading_of(question).language
    hits = _cited_hits(themes, store)
    covered = covered_share(question, [theme.report for theme in themes])
    confidence: float | None = max(covered, found.confidence) if hits else 0.0
    query = Query(question, found.query.k)
    evidence = Evidence(query, retriever, hits, confidence or 0.0, found.notes)
    count = _STATEMENTS * (2 if len(themes) <= _FEW_THEMES else 1)
    lines = theme_lines(question, themes[:MOST_THEMES], store=store, language=language, count=count)
    has_focus = bool(find_topic(question))
    many = messages.one_theme_head if len(lines) == 1 else messages.themes_head
    intro = (messages.on_this_head if has_focus else many)(language, count=len(lines))
    written = write_lines(SummaryText(intro, lines), language, is_numbered=True)
    answered = bool(written.sources) and (
        covered >= _LEAST_COVERED
        or evidence.confidence >= FOUND_CONFIDENCE
        or inquiry.settings.abstain_below == 0
    )
    if answered:
        share = _share_on_topic(question, written.sources)
        confidence = evidence.confidence * share if has_focus else None
    answer = answer_with(evidence, written, store, answered=answered, confidence=confidence)
    return inquiry.label(answer), evidence


def _cited_hits(themes: Sequence[Theme], store: Store) -> tuple[Hit, ...]:
    """Return the passages that reports cite, by the rank of their reports."""
    chunks = _cited_chunks([theme.report for theme in themes], store)
    hits: dict[str, Hit] = {}
    for rank, theme in enumerate(themes):
        for support in (s for finding in theme.report.findings for s in finding.supports):
            chunk = chunks.get(support.chunk_id)
            if chunk is not None and chunk.id not in hits:
                spans = (span for span in sentences_of(chunk) if span.overlaps(support.span))
                score, title = 1.0 / (1 + rank), theme.report.title
                cited = tuple((span, 1.0) for span in spans)
                hits[chunk.id] = Hit(chunk, score, {"report": score}, (title,), (), cited)
    return tuple(sorted(hits.values(), key=lambda hit: (-hit.score, hit.chunk.id)))


def _share_on_topic(question: str, sources: Sequence[SelectedSentence]) -> float:
    """Return the mean share of a question's terms in the passages of the statements."""
    asked = _asked_terms(question)
    held = [asked & set(content_terms(source.chunk.searched_text)) for source in sources]
    return sum(map(len, held)) / (len(asked) * len(sources)) if asked else 1.0


def theme_lines(
    question: str, themes: Sequence[Theme], *, store: Store, language: str, count: int
) -> list[SummaryLine]:
    """Return a line for each theme with statements that no line before it has.

    Findings, at most ``count``, are ranked by the terms that they share with the question and with
    the title of their report, and by how well they can be understood alone. Code, addresses and
    fragments count only if no report has anything else.
    """
    chunks = _cited_chunks([theme.report for theme in themes], store)
    asked = set(reading_of(question).terms)
    stated: list[frozenset[str]] = []
    lines: list[SummaryLine] = []
    found = [(theme, _rank_sources(theme.report, chunks, asked)) for theme in themes]
    has_clear = any(item.worth >= _LEAST_CLEAR for _, sources in found for item in sources)
    for theme, sources in found:
        clear = [item for item in sources if item.worth >= _LEAST_CLEAR or not has_clear]
        chosen: list[SelectedSentence] = []
        for item in clear:
            if len(chosen) < count and not repeats(item.text, stated):
                chosen.append(item)
                stated.append(frozenset(content_terms(item.text)))
        if chosen:
            line = SummaryLine.of(show_sentence(theme.report.title), chosen, "theme")
            if theme.passages:
                extent = count_units(theme.passages, "passage", language)
                note = messages.with_extent(language, title="", extent=extent)
                line = replace(line, note=note)
            lines.append(line)
    return lines


def main_themes(
    store: Store, reports: CommunityReports, language: str, titles: Collection[str]
) -> list[SummaryLine]:
    """Return the lines of the largest communities, those in the language of the question first.

    Communities of one document with its title are left out if it is among ``titles``.
    """
    ids = [item.id for item in find_communities("", store=store, most=_CANDIDATES)]
    themes = [
        theme
        for theme in _read_themes(store, reports, ids)
        if not any(theme.report.title.startswith(title) for title in titles)
    ]
    themes.sort(key=lambda theme: theme.report.language != language)
    return theme_lines("", themes, store=store, language=language, count=1)


def _rank_sources(
    report: CommunityReport, chunks: Mapping[str, Chunk], asked: set[str]
) -> list[SelectedSentence]:
    """Return the findings of a report that have a source, the clearest and most relevant first."""
    titled = set(content_terms(report.title))
    held = (_finding_source(f, chunks, asked, titled) for f in report.findings if f.text.strip())
    return sorted((item for item in held if item), key=lambda item: -item.worth)


def _finding_source(
    finding: Finding, chunks: Mapping[str, Chunk], asked: set[str], titled: set[str]
) -> SelectedSentence | None:
    for support in finding.supports:
        chunk = chunks.get(support.chunk_id)
        if chunk is not None:
            span = support.span
            inside = Span(max(span.start, chunk.span.start), min(span.end, chunk.span.end))
            text = chunk.text_at(inside)
            worth = weigh_alone(text) * weigh_prose(show_sentence(finding.text))
            worth *= 1.0 if is_plain(chunk, span, finding.text) else _FRAGMENT_WEIGHT
            terms = set(content_terms(finding.text))
            worth *= 1 + len(titled & terms) / max(len(titled), 1)
            worth *= 1 + 2 * len(asked & terms) / max(len(asked), 1)
            return SelectedSentence(chunk, span, finding.text, round(worth, 2), 0)
    return None


def _cited_chunks(reports: Sequence[CommunityReport], store: Store) -> dict[str, Chunk]:
    return store.documents.chunks({chunk for report in reports for chunk in report.chunk_ids})
