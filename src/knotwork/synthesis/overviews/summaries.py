"""Summaries of all documents and of one: the outline with central sentences."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

from knotwork.records import Chunk, Community, CommunityReport, Span
from knotwork.retrieval.reports import ReportSource, communities_of, find_communities
from knotwork.stores.base import Store
from knotwork.synthesis.citing import show_sentence
from knotwork.synthesis.overviews import wording
from knotwork.synthesis.overviews.headings import cite_heading
from knotwork.synthesis.overviews.outline import (
    Outline,
    Part,
    read_chunks,
    whole,
)
from knotwork.synthesis.overviews.statements import (
    Line,
    Piece,
    choose_central,
    choose_leading,
    stating_sentences,
)
from knotwork.synthesis.overviews.wording import count, say
from knotwork.synthesis.selection import Selected
from knotwork.text.numbering import split_number
from knotwork.text.terms import content_terms

MOST_LINES = 6
MOST_CENTRAL = 5
"""Sentences of a text without sections."""
MOST_TITLES = 16
FEW_DOCUMENTS = 8
"""As many documents or fewer have a line each; more are summarized by theme."""
LISTED_DOCUMENTS = 40
"""Of more documents without numbers, titles make no outline."""

_CHUNKS_OF_THEME = 60
_SELF_QUERY = "this book manual handbook guide documentation tutorial report 本书 手册 指南 本文"
_SELF_CANDIDATES = 60
_SELF = re.compile(
    r"\b(?:this|the present) (?:\w+ )?(?:book|manual|handbook|guide|documentation|tutorial|report"
    r"|paper|collection|course|wiki|site|document|novel|story) (?:also )?"
    r"(?:is (?:about|for|intended|meant)|aims|describes|covers|explains|teaches|introduces|provides"
    r"|presents|contains|tells|shows|discusses|deals with|documents)\b"
    r"|(?:本书|本書|本手册|本手冊|本文|本指南|本报告|本報告|本教程|本文档|本小说)[^，。]{0,6}?"
    r"(?:介绍|介紹|讲述|講述|描述|旨在|涵盖|涵蓋|说明|說明|讨论|討論|面向)",
    re.IGNORECASE,
)
_FRONT = re.compile(
    r"(?:^|[/\s_-])(?:index|readme|preface|intro(?:duction)?|foreword|about|overview|home|front"
    r"|abstract)\b|前言|序言|引言|简介|簡介|概述|导言",
    re.IGNORECASE,
)


def summarize_whole(
    store: Store, outline: Outline, reports: ReportSource, language: str
) -> tuple[str, list[Line]]:
    """Return what introduces a summary of all documents, and its lines."""
    if len(outline.documents) == 1:
        return summarize_part(store, outline, outline.documents[0], language)
    intro = say(
        wording.EXTENT,
        language,
        documents=count(len(outline.documents), "document", language),
        headings=count(outline.heading_count, "heading", language),
    )
    lines = _self_description(store, outline)
    if len(outline.documents) <= FEW_DOCUMENTS:
        lines += [line for part in outline.documents for line in _line_of(store, part)]
        return intro, lines
    groups = _group_titles(outline)
    if groups:
        lines.append(_outline_line(store, groups, language))
    known = {piece.source.span for line in lines for piece in line.pieces}
    themes = _theme_lines(store, reports, language, known=known)
    if not themes:  # an index that cannot be written to may have no communities
        longest = sorted(
            outline.documents, key=lambda part: -len(outline.sections.get(part.document_id, ()))
        )
        themes = [line for part in longest[:MOST_LINES] for line in _line_of(store, part)]
    return intro, [*lines, *themes]


def summarize_part(
    store: Store, outline: Outline, part: Part, language: str
) -> tuple[str, list[Line]]:
    """Return what introduces a summary of a document or section, and its lines, in its order."""
    children = outline.children(part)
    if len(children) < 2:
        chunks = read_chunks(store, part)
        extent = count(len(chunks), "passage", language)
        chosen = choose_central(stating_sentences(chunks), count=MOST_CENTRAL)
        lines = [Line("", (Piece.of(item),)) for item in chosen]
    else:
        extent = count(len(children), "section", language)
        lines = _lines_of_sections(store, part, children, language)
    title = show_sentence(part.title)
    return say(wording.PART, language, title=title, extent=extent), lines


def _lines_of_sections(
    store: Store, part: Part, children: Sequence[Part], language: str
) -> list[Line]:
    """Return a line for what comes before all sections, one for each of the largest, and a list of
    the others.
    """
    documents = {key: read_chunks(store, whole(key)) for key in _documents_of(children)}
    weighed = {key: stating_sentences(chunks) for key, chunks in documents.items()}
    opening = [
        item
        for item in weighed.get(part.document_id, ())
        if part in children or part.span.start <= item[0].span.start < children[0].span.start
    ]
    lines = []
    if first := choose_leading(opening):
        lines.append(Line("", (Piece.of(first),)))
    extents = {
        child: sum(len(c.text) for c in documents[child.document_id] if _meets(child.span, c))
        for child in children
    }
    sections = [child for child in children if child != part]
    largest = sorted(sections, key=lambda child: -extents[child])[:MOST_LINES]
    others: list[Piece] = []
    for child in sections:
        title = show_sentence(child.title)
        inside = [item for item in weighed[child.document_id] if _holds(child.span, item[0].span)]
        leading = choose_leading(inside) if child in largest else None
        if leading is not None:
            lines.append(Line(title, (Piece.of(leading),)))
            continue
        chunks = [c for c in documents[child.document_id] if _meets(child.span, c)]
        if heading := cite_heading(store, child, chunks):
            others.append(Piece(title, heading))
    if others:
        label = say(wording.ALSO, language)
        lines.append(Line(label, tuple(others[:MOST_TITLES]), is_list=True))
    return lines


def _documents_of(parts: Sequence[Part]) -> list[str]:
    return list(dict.fromkeys(part.document_id for part in parts))


def _holds(outer: Span, inner: Span) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end


def _meets(span: Span, chunk: Chunk) -> bool:
    return chunk.span.start < span.end and span.start < chunk.span.end


def _line_of(store: Store, part: Part) -> list[Line]:
    leading = choose_leading(stating_sentences(read_chunks(store, part)))
    return [Line(show_sentence(part.title), (Piece.of(leading),))] if leading else []


def _self_description(store: Store, outline: Outline) -> list[Line]:
    """Return a line for the sentence in which the documents say what they are, if any does."""
    found = store.texts("chunk").search(_SELF_QUERY, k=_SELF_CANDIDATES)
    chunks = store.documents.chunks([item.id for item in found])
    fronts = {
        part.document_id
        for part in outline.documents
        if _FRONT.search(part.uri) or _FRONT.search(part.title)
    }
    best: tuple[tuple[bool, float, int], Selected] | None = None
    for place, item in enumerate(found):
        chunk = chunks.get(item.id)
        for sentence, weight in stating_sentences([chunk]) if chunk else ():
            if not _SELF.search(sentence.text):
                continue
            rank = (sentence.chunk.document_id in fronts, weight, -place)
            if best is None or rank > best[0]:
                best = rank, sentence
    return [Line("", (Piece.of(best[1]),))] if best is not None and best[0][0] else []


def _group_titles(outline: Outline) -> list[tuple[Part, int]]:
    """Return the titles that make an outline, each with the number of its documents.

    Documents whose titles are numbered, as "14.7. …", are grouped by the first number; a few others
    stand for themselves.
    """
    groups: defaultdict[str, list[Part]] = defaultdict(list)
    for part in outline.documents:
        number = split_number(part.title)[0].split(".")[0]
        groups[number].append(part)
    unnumbered = len(groups.pop("", []))
    if unnumbered * 2 > len(outline.documents) or len(groups) < 2:
        if len(outline.documents) > LISTED_DOCUMENTS:
            return []
        return [(part, 1) for part in outline.documents]
    found = []
    for number, parts in groups.items():
        heads = [p for p in parts if split_number(p.title)[0] == number]
        found.append(((heads or parts)[0], len(parts), number))
    found.sort(key=lambda group: (not group[2].isdecimal(), group[2].zfill(6)))
    return [(part, size) for part, size, _ in found]


def _outline_line(store: Store, groups: Sequence[tuple[Part, int]], language: str) -> Line:
    pieces = []
    for part, size in groups[:MOST_TITLES]:
        heading = cite_heading(store, part)
        if heading is not None:
            title = show_sentence(part.title)
            has_head = size == 1 or "." not in split_number(part.title)[0]
            shown = title if has_head else f"{title} …"
            pieces.append(Piece(f"{shown} ({size})" if size > 1 else shown, heading))
    return Line(say(wording.OUTLINE, language), tuple(pieces), is_list=True)


def _theme_lines(
    store: Store, reports: ReportSource, language: str, *, known: set[Span]
) -> list[Line]:
    held = communities_of(store)
    if held is None:
        return []
    ids = [item.id for item in find_communities("", store=store, most=MOST_LINES)]
    communities, written = held.communities(ids), reports.reports(ids)
    lines = []
    for key in ids:
        if key in communities and key in written:
            lines += _theme_line(store, communities[key], written[key], language, known)
    return lines


def _theme_line(
    store: Store, community: Community, report: CommunityReport, language: str, known: set[Span]
) -> list[Line]:
    """Return a line with the sentence that says most of what a community is about.

    It opens its section, names what the title does, and stands in a passage that names members of
    importance.
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
            * (0.5 + len(theme & set(content_terms(item.text))) / max(len(theme), 1)),
        )
        for item, weight in stating_sentences(ordered)
        if item.span not in known
    ]
    best = max(weighed, key=lambda row: (row[1], -row[0].rank), default=None)
    if best is None:
        return []
    label = say(
        wording.THEME,
        language,
        title=show_sentence(report.title),
        passages=count(len(community.chunk_ids), "passage", language),
    )
    return [Line(label, (Piece.of(best[0]),))]
