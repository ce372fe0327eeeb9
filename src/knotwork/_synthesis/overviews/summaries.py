"""Summarise all documents, or one, by their outline with cited central sentences."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from knotwork._retrieval.community_search import ReportSource, find_communities
from knotwork._stores.base import Store
from knotwork._synthesis import messages
from knotwork._synthesis.citations import show_sentence
from knotwork._synthesis.messages import count_more, count_units, say
from knotwork._synthesis.overviews.outline import (
    DocumentOutline,
    OutlinePart,
    cite_heading,
    read_chunks,
    whole_document,
)
from knotwork._synthesis.overviews.statements import (
    SummaryLine,
    SummaryPiece,
    SummaryText,
    choose_central,
    choose_leading,
    stating_sentences,
)
from knotwork._synthesis.sentence_selection import SelectedSentence
from knotwork._text.languages import detect_language
from knotwork._text.plain_text import split_number
from knotwork._text.terms import content_terms
from knotwork.records import Chunk, Community, CommunityReport, Span

MOST_LINES = 5
"""The maximum number of cited sentences in a summary."""
MOST_TITLES = 6
"""The maximum number of titles that are listed after them."""
MOST_HEADINGS = 60
"""The maximum number of headings in the evidence of a summary."""
FEW_DOCUMENTS = 8
"""Up to so many documents are summarised one by one; more are summarised by theme."""
CANDIDATE_THEMES = 8

_CHUNKS_OF_THEME = 60
_NAMED_GAIN = 2.0
"""The factor for a sentence in the section that the title of its theme names."""
_SELF_QUERY = "this book manual handbook guide documentation tutorial report 本书 手册 指南 本文"
_SELF_CANDIDATES = 60
_TEXT_NOUN = (
    "(?:book|manual|handbook|guide|documentation|tutorial|report|paper|collection|course|wiki|site"
    "|document|novel|story)"
)
_SELF = re.compile(
    rf"\b(?:this|the present) (?:\w+ )?{_TEXT_NOUN} (?:also )?"
    r"(?:is (?:about|for|intended|meant)|aims|describes|covers|explains|teaches|introduces|provides"
    r"|presents|contains|tells|shows|discusses|deals with|documents)\b"
    rf"|\bthe (?:purpose|aim|goal|subject|topic) of this {_TEXT_NOUN} is\b"
    r"|(?:本书|本書|本手册|本手冊|本文|本指南|本报告|本報告|本教程|本文档|本小说)[^，。]{0,6}?"
    r"(?:介绍|介紹|讲述|講述|描述|旨在|涵盖|涵蓋|说明|說明|讨论|討論|面向|(?:目的|目标|目標|宗旨|主题|主題)(?:就)?是)",
    re.IGNORECASE,
)
_FRONT = re.compile(
    r"(?:^|[/\s_-])(?:index|readme|preface|intro(?:duction)?|foreword|about|overview|home|front"
    r"|abstract)\b|前言|序言|引言|简介|簡介|概述|导言",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Title:
    """A title of an outline; ``extent`` is the size of its part, in a unit common to all titles."""

    part: OutlinePart
    text: str
    extent: int


@dataclass(frozen=True, slots=True)
class _Groups:
    titles: Sequence[_Title]
    are_numbered: bool

    @property
    def unit(self) -> str:
        return "chapter" if self.are_numbered else "document"


def summarize_whole(
    store: Store, outline: DocumentOutline, reports: ReportSource, language: str
) -> SummaryText:
    """Summarise all documents: their description of themselves, then documents or themes.

    The largest chapters or documents without a line of their own are listed by title.
    """
    documents = outline.documents
    if len(documents) == 1:
        return summarize_part(store, outline, documents[0], language)
    intro = say(
        messages.EXTENT_HEAD,
        language,
        documents=count_units(len(documents), "document", language),
        headings=count_units(outline.heading_count, "heading", language),
    )
    lines = _self_description(store, outline)
    groups = _group_titles(outline)
    if len(documents) <= FEW_DOCUMENTS:
        lines += _lines_of_documents(store, documents, most=MOST_LINES - len(lines))
    else:
        lines += _theme_lines(
            store, reports, language, known=_spans(lines), most=MOST_LINES - len(lines)
        ) or _lines_of_documents(  # a read-only index may have no communities
            store, _longest(outline, MOST_LINES), most=MOST_LINES - len(lines)
        )
    sources = [piece.source for line in lines for piece in line.pieces if piece.source]
    cited = {source.chunk.document_id for source in sources}
    titles = groups.titles
    if not groups.are_numbered:
        titles = [title for title in titles if title.part.document_id not in cited]
    return _list_titles(store, SummaryText(intro, lines), titles, groups.unit, language)


def summarize_part(
    store: Store, outline: DocumentOutline, part: OutlinePart, language: str
) -> SummaryText:
    """Summarise a document or section: its largest sections in order, and titles of others."""
    children = outline.children(part)
    if len(children) >= 2:
        return _summarize_sections(store, part, children, language)
    chunks = read_chunks(store, part)
    chosen = choose_central(stating_sentences(chunks), count=MOST_LINES)
    lines = [SummaryLine("", (SummaryPiece.of(item),)) for item in chosen]
    return SummaryText(
        _introduce(part, count_units(len(chunks), "passage", language), language), lines
    )


def _introduce(part: OutlinePart, extent: str, language: str) -> str:
    return say(messages.PART_HEAD, language, title=show_sentence(part.title), extent=extent)


def _summarize_sections(
    store: Store, part: OutlinePart, children: Sequence[OutlinePart], language: str
) -> SummaryText:
    """Summarise the text before all sections, then the largest sections, and list the others."""
    documents = {key: read_chunks(store, whole_document(key)) for key in _documents_of(children)}
    weighed = {key: stating_sentences(chunks) for key, chunks in documents.items()}
    opening = [
        item
        for item in weighed.get(part.document_id, ())
        if part in children or part.span.start <= item[0].span.start < children[0].span.start
    ]
    first = choose_leading(opening)
    lines = [SummaryLine("", (SummaryPiece.of(first),))] if first else []
    sections = [child for child in children if child != part]
    extents = {
        child: sum(_shared(child.span, chunk) for chunk in documents[child.document_id])
        for child in sections
    }
    largest = sorted(sections, key=lambda child: -extents[child])[: MOST_LINES - len(lines)]
    others: list[_Title] = []
    for child in sections:
        inside = [item for item in weighed[child.document_id] if child.span.contains(item[0].span)]
        leading = choose_leading(inside) if child in largest else None
        if leading is None:
            others.append(_Title(child, show_sentence(child.title), extents[child]))
        else:
            lines.append(SummaryLine(show_sentence(child.title), (SummaryPiece.of(leading),)))
    intro = _introduce(part, count_units(len(children), "section", language), language)
    return _list_titles(store, SummaryText(intro, lines), others, "section", language)


def _list_titles(
    store: Store, summary: SummaryText, titles: Sequence[_Title], unit: str, language: str
) -> SummaryText:
    """Add a list of the largest of these titles, and the number of the others, to a summary.

    Titles are cited only if the summary cites nothing else.
    """
    if not titles:
        return summary
    headings = {title.part: cite_heading(store, title.part) for title in titles[:MOST_HEADINGS]}
    rest = [heading for heading in headings.values() if heading is not None]
    listed = sorted(titles, key=lambda title: -title.extent)[:MOST_TITLES]
    pieces = [
        SummaryPiece(title.text, None if summary.lines else headings.get(title.part))
        for title in titles
        if title in listed
    ]
    if len(titles) > len(listed):
        pieces.append(SummaryPiece(count_more(len(titles) - len(listed), unit, language), None))
    label = say(messages.ALSO_SECTIONS, language) if summary.lines else ""
    line = SummaryLine(label, tuple(pieces), is_list=True)
    return SummaryText(summary.intro, [*summary.lines, line], rest)


def _documents_of(parts: Sequence[OutlinePart]) -> list[str]:
    return list(dict.fromkeys(part.document_id for part in parts))


def _shared(span: Span, chunk: Chunk) -> int:
    """Return the number of characters of a span that are in a chunk."""
    return max(0, min(span.end, chunk.span.end) - max(span.start, chunk.span.start))


def _spans(lines: Sequence[SummaryLine]) -> set[Span]:
    return {piece.source.span for line in lines for piece in line.pieces if piece.source}


def _longest(outline: DocumentOutline, most: int) -> list[OutlinePart]:
    """Return the documents with the most headings, in the order of their uris."""
    extents = {part: len(outline.sections.get(part.document_id, ())) for part in outline.documents}
    longest = sorted(outline.documents, key=lambda part: -extents[part])[:most]
    return [part for part in outline.documents if part in longest]


def _lines_of_documents(
    store: Store, parts: Sequence[OutlinePart], *, most: int
) -> list[SummaryLine]:
    """Return a line for each of the longest of these documents, in the given order."""
    chunks = {part: read_chunks(store, part) for part in parts}
    longest = sorted(parts, key=lambda part: -sum(len(c.text) for c in chunks[part]))[:most]
    lines = []
    for part in parts:
        leading = choose_leading(stating_sentences(chunks[part])) if part in longest else None
        if leading is not None:
            lines.append(SummaryLine(show_sentence(part.title), (SummaryPiece.of(leading),)))
    return lines


def _self_description(store: Store, outline: DocumentOutline) -> list[SummaryLine]:
    """Return a line with the sentence in which a front page describes the documents, if any."""
    found = store.texts("chunk").search(_SELF_QUERY, k=_SELF_CANDIDATES)
    chunks = store.documents.chunks([item.id for item in found])
    fronts = {
        part.document_id
        for part in outline.documents
        if _FRONT.search(part.uri) or _FRONT.search(part.title)
    }
    best: tuple[tuple[bool, float, int], SelectedSentence] | None = None
    for place, item in enumerate(found):
        chunk = chunks.get(item.id)
        for sentence, weight in stating_sentences([chunk]) if chunk else ():
            if not _SELF.search(sentence.text):
                continue
            rank = (sentence.chunk.document_id in fronts, weight, -place)
            if best is None or rank > best[0]:
                best = rank, sentence
    return [SummaryLine("", (SummaryPiece.of(best[1]),))] if best is not None and best[0][0] else []


def _group_titles(outline: DocumentOutline) -> _Groups:
    """Return the titles of an outline, each with its number of documents or headings.

    Documents with numbered titles, as "14.7. …", are grouped into chapters by their first number,
    unless most documents have no number.
    """
    groups: defaultdict[str, list[OutlinePart]] = defaultdict(list)
    for part in outline.documents:
        number = split_number(part.title)[0].split(".")[0]
        groups[number].append(part)
    unnumbered = len(groups.pop("", []))
    if unnumbered * 2 > len(outline.documents) or len(groups) < 2:
        return _Groups(
            [
                _Title(
                    part,
                    show_sentence(part.title),
                    len(outline.sections.get(part.document_id, ())),
                )
                for part in outline.documents
            ],
            are_numbered=False,
        )
    titles = []
    for number in sorted(groups, key=lambda number: (not number.isdecimal(), number.zfill(6))):
        parts = groups[number]
        head = next((p for p in parts if split_number(p.title)[0] == number), None)
        title = show_sentence((head or parts[0]).title)
        titles.append(_Title(head or parts[0], title if head else f"{title} …", len(parts)))
    return _Groups(titles, are_numbered=True)


def _theme_lines(
    store: Store, reports: ReportSource, language: str, *, known: set[Span], most: int
) -> list[SummaryLine]:
    """Return lines for the largest communities, those in the language of the question first."""
    held = store.capabilities.communities
    if held is None:
        return []
    ids = [item.id for item in find_communities("", store=store, most=CANDIDATE_THEMES)]
    communities, written = held.communities(ids), reports.reports(ids)
    lines = []
    for key in ids:
        if key in communities and key in written:
            lines += _theme_line(store, communities[key], written[key], language, known)
    lines.sort(key=lambda line: detect_language(line.pieces[0].text) != language)
    return lines[:most]


def _theme_line(
    store: Store, community: Community, report: CommunityReport, language: str, known: set[Span]
) -> list[SummaryLine]:
    """Return a line with the most representative sentence of a community.

    A sentence is worth more if it is in a passage that mentions important members, has terms of the
    report's title, and is in a section that this title names.
    """
    importance = dict(community.members)
    keys = dict.fromkeys((*report.chunk_ids, *community.chunk_ids[:_CHUNKS_OF_THEME]))
    chunks = store.documents.chunks(list(keys))
    mentions = store.graph.mentions(list(keys))
    weights = {
        key: sum(importance.get(m.entity_id, 0.0) for m in mentions.get(key, ())) for key in keys
    }
    top = max(weights.values(), default=0.0) or 1.0
    ordered = sorted(chunks.values(), key=lambda c: (c.document_id, c.ordinal))
    theme = set(content_terms(report.title))
    weighed = [
        (
            item,
            weight
            * (0.5 + weights[item.chunk.id] / top / 2)
            * (0.5 + len(theme & set(content_terms(item.text))) / max(len(theme), 1))
            * (_NAMED_GAIN if _heading_of(item.chunk) in report.title else 1.0),
        )
        for item, weight in stating_sentences(ordered)
        if item.span not in known
    ]
    best = max(weighed, key=lambda row: (row[1], -row[0].rank), default=None)
    if best is None:
        return []
    label = say(
        messages.THEME_HEAD,
        language,
        title=show_sentence(report.title),
        passages=count_units(len(community.chunk_ids), "passage", language),
    )
    return [SummaryLine(label, (SummaryPiece.of(best[0]),))]


def _heading_of(chunk: Chunk) -> str:
    title = chunk.headings[-1] if chunk.headings else chunk.document_title
    return show_sentence(split_number(title)[1])
