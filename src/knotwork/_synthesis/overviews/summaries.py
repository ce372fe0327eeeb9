"""Summarise all documents, one part of them, or a topic, by cited statements."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain, islice
from statistics import median

from knotwork._stores.base import Store
from knotwork._synthesis import messages
from knotwork._synthesis.citations import show_sentence
from knotwork._synthesis.messages import count_more, count_units
from knotwork._synthesis.overviews.lines import SummaryLine, SummaryPiece, SummaryText
from knotwork._synthesis.overviews.outline import (
    ITEM_LEVEL,
    DocumentOutline,
    Listing,
    OutlinePart,
    cite_heading,
    read_chunks,
)
from knotwork._text.languages import detect_language
from knotwork._text.plain_text import split_number
from knotwork._text.statements import (
    SelectedSentence,
    choose_lead,
    choose_statements,
    is_statement,
    read_statements,
    repeats,
    weigh_alone,
)
from knotwork._text.terms import content_terms
from knotwork.records import Chunk, Evidence

MOST_SENTENCES = 8
"""Sentences in the summary of a part or a topic."""
MOST_DOCUMENTS = 12
"""Documents with a line in a summary of all; titles of others follow."""
FEW_DOCUMENTS = 8
"""Up to so many documents have several sentences of their lead each."""
MOST_THEMES = 4
MOST_TITLES = 12
"""Titles that are listed after the lines."""
MOST_HEADINGS = 60
"""Headings in the evidence of a summary."""
_LEAD_SENTENCES = 3
_OPENING_CHUNKS = 12
"""Passages in which the lead of a document is looked for."""
_FIRST_LINES = 4
"""Lines that are quoted of a text without prose."""
_LONGEST_NOTE = 160
"""Characters of the titles of subsections that are shown after that of a section."""
_FEWEST_LINES = 3
"""The fewest lines of a section on a topic."""
_LEAST_SHARE = 0.35
"""A sentence on a topic worth less than this share of the best one is left out."""
_LEAST_FURTHER = 0.4
"""The least worth of a further sentence of a section, as a share of the median of the first."""
_TITLE_GAIN = 0.3
_SECTION_POWER = 0.35
"""Exponent of the share of a section in the evidence."""
_LINK_TO_ITSELF = " ¶"
_ABSTRACT = re.compile(
    r"abstract|(?:executive )?summary|in brief|at a glance|tl;?dr"
    r"|摘要|[內内]容提要|提要|概要|导读|導讀",
    re.IGNORECASE,
)
_FRONT = re.compile(
    r"(?:^|[/\s_-])(?:index|readme|preface|intro(?:duction)?|foreword|about|overview|home|front"
    r"|abstract)\b|前言|序言|引言|简介|簡介|概述|导言",
    re.IGNORECASE,
)
_LEADS_ON = re.compile(
    r"where to go next|what(?:'s|’s) next|next steps|see also|related (?:\w+ )?"
    r"(?:topics|information|pages)|further reading|references|links|notes?|contents|参见|參見|目录"
    r"|另请参[阅见]|另請參[閱見]|延伸阅读|延伸閱讀|相关链接|参考(?:资料|文献)",
    re.IGNORECASE,
)

Paragraphs = list[list[SelectedSentence]]


def summarize_whole(
    store: Store, outline: DocumentOutline, themes: Sequence[SummaryLine], language: str
) -> SummaryText:
    """Summarise all documents: the lead of each, then ``themes``.

    The front page and the longest documents have a line; the titles of others follow. Of a book
    with a document for each section, only chapters are listed. A theme must add a statement, or one
    of another document if there are many.
    """
    documents = outline.documents
    if len(documents) == 1:
        return summarize_part(store, outline, documents[0], language)
    count = count_units(len(documents), "document", language)
    are_few = len(documents) <= FEW_DOCUMENTS
    fronts = [part for part in documents if _FRONT.search(f"{part.uri} {part.title}")][:1]
    parts, unit = _chapters(documents) or documents, "document"
    if parts is not documents:
        parts, unit = [*(part for part in fronts if part not in parts), *parts], "chapter"
    sizes = {
        key: len(ids)
        for key, ids in store.documents.chunk_ids_of([p.document_id for p in parts]).items()
    }
    longest = sorted(parts, key=lambda p: (p not in fronts, -sizes.get(p.document_id, 0)))
    lines: list[SummaryLine] = []
    others: list[OutlinePart] = []
    for part in parts:
        most = _LEAD_SENTENCES if are_few else 1
        is_long = part in longest[:MOST_DOCUMENTS]
        lead = _lead_of(store, outline, part, most=most) if is_long else None
        if lead is None:
            others.append(part)
        else:
            lines.append(SummaryLine.of(show_sentence(part.title), [lead], "document"))
    lines.sort(key=lambda line: detect_language(line.pieces[0].text) != language)
    quoted = [piece.source for line in lines for piece in line.pieces if piece.source]
    shown = {item.span if are_few else item.chunk.document_id for item in quoted}
    fresh = [
        line
        for line in themes
        if not any(s and shown & {s.span, s.chunk.document_id} for _, s in line.pieces)
    ]
    intro = messages.extent_head(language, extent=count)
    summary = _list_titles(store, SummaryText(intro, lines), others, unit, language)
    if not fresh:
        return summary
    caption = SummaryLine(messages.themes_caption(language))
    return replace(summary, lines=[*summary.lines, caption, *fresh[:MOST_THEMES]])


def _chapters(documents: Sequence[OutlinePart]) -> list[OutlinePart]:
    """Return the documents with a number such as "14", if most have one such as "14.7"."""
    numbers = [split_number(part.title)[0] for part in documents]
    chapters = [p for p, number in zip(documents, numbers, strict=True) if number.isalnum()]
    is_book = 2 * sum(map(bool, numbers)) > len(documents) > 2 * len(chapters)
    return chapters if is_book and len(chapters) > 1 else []


def summarize_part(
    store: Store,
    outline: DocumentOutline,
    part: OutlinePart,
    language: str,
    *,
    about: str = "",
) -> SummaryText:
    """Summarise a document or section: its opening, then its subsections in order.

    The largest subsections, or with ``about`` those that say most about this subject, have a line;
    titles of others follow. Without subsections, the central paragraphs and items are quoted, or
    nothing if there are too few of them about the subject.
    """
    children = [
        child
        for child in outline.children(part)
        if child.title != part.title and not _LEADS_ON.fullmatch(bare_title(child))
    ]

    def owner(item: SelectedSentence) -> OutlinePart:
        return next((child for child in children if child.holds(item)), part)

    documents = [part, *(child for child in children if child.document_id != part.document_id)]
    chunks = [chunk for document in documents for chunk in read_chunks(store, document)]
    groups: defaultdict[OutlinePart, Paragraphs] = defaultdict(list)
    for paragraph in read_statements(chunks, about=about, language=language):
        if part.holds(paragraph[0]) or owner(paragraph[0]) != part:
            groups[owner(paragraph[0])].append(paragraph)
    intro = _introduce(part, len(children), language)
    if len(groups.keys() - {part}) < 2:
        paragraphs = chain(*groups.values())
        return _summarize_paragraphs(intro, part, paragraphs, chunks, is_topic=bool(about))
    found = {key: choose_lead(group, most=1 + (key == part)) for key, group in groups.items()}
    leads = {key: lead for key, lead in found.items() if lead is not None}
    sizes = {
        key: lead.worth if about else float(_extent(key, chunks)) for key, lead in leads.items()
    }
    largest = sorted(leads, key=lambda key: (key != part, -sizes[key]))[:MOST_SENTENCES]
    chosen = [leads[key] for key in largest]
    known = [frozenset(content_terms(item.text)) for item in chosen]
    least = _LEAST_FURTHER * median([item.worth for item in chosen] or [0.0])
    others = (max(p, key=lambda item: item.worth) for group in groups.values() for p in group)
    further = [i for i in others if i.worth >= least and not repeats(i.text, known)]
    chosen += choose_statements(further, count=MOST_SENTENCES - len(chosen))
    quoted: defaultdict[OutlinePart, list[SelectedSentence]] = defaultdict(list)
    for item in sorted(chosen, key=lambda item: item.rank):
        quoted[owner(item)].append(item)
    lines = [SummaryLine.of("", quoted[part])] if part in quoted else []
    for child in children:
        if child in quoted:
            line = SummaryLine.of(bare_title(child), quoted[child])
            lines.append(replace(line, note=_note_titles(outline.subsections(child), language)))
    left = [child for child in children if child not in quoted]
    summary = SummaryText(intro, lines)
    return summary if about else _list_titles(store, summary, left, "section", language)


def summarize_parts(
    store: Store, outline: DocumentOutline, parts: Sequence[OutlinePart], language: str
) -> SummaryText:
    """Summarise sections of several documents that have the same number."""
    lines: list[SummaryLine] = []
    for part in parts[:MOST_SENTENCES]:
        lead = choose_lead(read_statements(read_chunks(store, part)), most=_LEAD_SENTENCES)
        if lead is not None:
            title = show_sentence(f"{outline.document(part.document_id).title} > {part.title}")
            lines.append(SummaryLine.of(title, [lead]))
    return SummaryText(_count_sections(len(lines), len(lines), language), lines)


def summarize_topic(
    candidates: Sequence[SelectedSentence], found: Evidence, language: str
) -> SummaryText:
    """Summarise a topic by its most relevant statements, with a line for each section.

    A sentence is worth more in a section with more of the passages ``found``, and with terms of its
    heading. Documents are in the order of their best sentence.
    """
    shares = _section_shares(found)
    weighed = [
        replace(
            item,
            worth=item.worth
            * weigh_alone(item.text) ** 0.5
            * shares.get(item.chunk.section_id, 1.0) ** _SECTION_POWER
            * (1 + _TITLE_GAIN * _title_share(item)),
        )
        for item in candidates
        if is_statement(item.chunk, item.span, item.text)
    ]
    best = max((item.worth for item in weighed), default=0.0)
    kept = [item for item in weighed if item.worth >= _LEAST_SHARE * best]
    chosen = choose_statements(kept, count=MOST_SENTENCES)
    documents = list(
        dict.fromkeys(i.chunk.document_id for i in sorted(chosen, key=lambda i: -i.worth))
    )
    chosen.sort(key=lambda item: (documents.index(item.chunk.document_id), item.span))
    sections: defaultdict[str, list[SelectedSentence]] = defaultdict(list)
    for item in chosen:
        sections[item.chunk.section_id].append(item)
    lines = [SummaryLine.of(_label(items[0].chunk), items) for items in sections.values()]
    return SummaryText(_count_sections(len(lines), len(documents), language), lines)


def _count_sections(sections: int, documents: int, language: str) -> str:
    if sections < 2:
        return ""
    return messages.from_sections(
        language,
        sections=count_units(sections, "section", language),
        documents=count_units(documents, "document", language),
    )


def list_parts(store: Store, listing: Listing, language: str) -> SummaryText:
    """List and count documents or sections by their titles, each cited."""
    unit, groups = listing
    count = sum(len(parts) for _, parts in groups)
    extent = count_units(count, unit, language)
    head = groups[0][0] if len(groups) == 1 else None
    intro = (
        _introduce(head, count, language)
        if head is not None
        else messages.extent_head(language, extent=extent)
    )
    lines = []
    for above, parts in groups:
        pieces = [
            SummaryPiece(show_title(part), cite_heading(store, part))
            for part in parts[: max(MOST_HEADINGS // len(groups), 1)]
        ]
        if above is not None and head is None:
            lines.append(SummaryLine(bare_title(above), tuple(pieces), unit, is_list=True))
        else:
            lines += [SummaryLine("", (piece,), unit) for piece in pieces]
    left = count - sum(len(line.pieces) for line in lines)
    if left:
        lines.append(SummaryLine("", (SummaryPiece(count_more(left, unit, language), None),)))
    return SummaryText(intro, lines)


def show_title(part: OutlinePart) -> str:
    """Return the title of a part on one line, with its number."""
    return " ".join(part.title.split()).rstrip(f"{_LINK_TO_ITSELF}:：")


def bare_title(part: OutlinePart) -> str:
    """Return the title of a part without its number and permalink mark."""
    return show_sentence(split_number(part.title)[1]).rstrip(f"{_LINK_TO_ITSELF}:：")


def _lead_of(
    store: Store, outline: DocumentOutline, part: OutlinePart, *, most: int
) -> SelectedSentence | None:
    """Return the abstract of a document, or else what introduces it."""
    sections = outline.sections.get(part.document_id, ())
    named = (s for s in sections if _ABSTRACT.fullmatch(bare_title(s)))
    chunks = read_chunks(store, part, most=_OPENING_CHUNKS)
    for chosen in (*(read_chunks(store, section) for section in named), chunks):
        paragraphs = read_statements(chosen, about=part.title, title=part.title)
        opening = sum(_opens(outline, part, paragraph[0]) for paragraph in paragraphs)
        lead = choose_lead(paragraphs, most=most, opening=opening)
        if lead is not None:
            return lead
    return choose_lead(read_statements(read_chunks(store, part)), most=most)


def _opens(outline: DocumentOutline, part: OutlinePart, item: SelectedSentence) -> bool:
    """Return True if a sentence is above all sections of a document but one with its title."""
    children = outline.subsections(part)
    return bool(children) and item.span.start < children[0].span.start


def _summarize_paragraphs(
    intro: str,
    part: OutlinePart,
    paragraphs: Iterable[list[SelectedSentence]],
    chunks: Sequence[Chunk],
    *,
    is_topic: bool,
) -> SummaryText:
    """Quote the central paragraphs; of an item or a text without prose, its first lines."""
    best = [max(p, key=lambda item: item.worth) for p in paragraphs]
    is_item = part.level == ITEM_LEVEL
    chosen = [] if is_item else choose_statements(best, count=MOST_SENTENCES)
    if is_topic and len(chosen) < _FEWEST_LINES:
        return SummaryText(intro)
    if not chosen:
        held = [(chunk, span) for chunk in chunks for span in chunk.sentences]
        lines = (SelectedSentence(c, s, c.text_at(s), 1.0, 0) for c, s in held)
        inside = filter(part.holds, lines)
        chosen = list(islice(inside, MOST_SENTENCES if is_item else _FIRST_LINES))
    return SummaryText(intro, [SummaryLine.of("", [item]) for item in chosen])


def _note_titles(parts: Sequence[OutlinePart], language: str) -> str:
    """Return the titles of the subsections of a section as a remark, unless they are long."""
    titles = ("；" if language == "zh" else "; ").join(map(bare_title, parts))
    if not titles or len(titles) > _LONGEST_NOTE:
        return ""
    return messages.with_extent(language, title="", extent=titles)


def _introduce(part: OutlinePart, sections: int, language: str) -> str:
    title = show_sentence(part.title).rstrip(f"{_LINK_TO_ITSELF}:：")
    if sections < 2:
        return f"**{title}**{'：' if language == 'zh' else ':'}"
    extent = count_units(sections, "section", language)
    return messages.part_head(language, title=title, extent=extent)


def _extent(part: OutlinePart, chunks: Sequence[Chunk]) -> int:
    """Return the number of characters of a part that are in chunks."""
    return sum(
        max(0, min(part.span.end, chunk.span.end) - max(part.span.start, chunk.span.start))
        for chunk in chunks
        if chunk.document_id == part.document_id
    )


def _list_titles(
    store: Store,
    summary: SummaryText,
    parts: Sequence[OutlinePart],
    unit: str,
    language: str,
) -> SummaryText:
    """Add the titles of parts without a line to a summary, as one line.

    Titles are cited only if the summary cites nothing else.
    """
    if not parts:
        return summary
    headings = [cite_heading(store, part) for part in parts[:MOST_HEADINGS]]
    pieces = [
        SummaryPiece(show_sentence(part.title), None if summary.lines else heading)
        for part, heading in zip(parts[:MOST_TITLES], headings, strict=False)
    ]
    if len(parts) > MOST_TITLES:
        pieces.append(SummaryPiece(count_more(len(parts) - MOST_TITLES, unit, language), None))
    label = messages.also_sections(language) if summary.lines else ""
    line = SummaryLine(label, tuple(pieces), unit, is_list=True)
    return SummaryText(summary.intro, [*summary.lines, line], list(filter(None, headings)))


def _section_shares(found: Evidence) -> dict[str, float]:
    """Return the share of each section in the evidence, relative to the largest."""
    sums: defaultdict[str, float] = defaultdict(float)
    for hit in found.hits:
        best = max((relevance for _, relevance in hit.sentences), default=0.0)
        sums[hit.chunk.section_id] += max(hit.score, 0.0) * best
    top = max(sums.values(), default=0.0) or 1.0
    return {section: total / top for section, total in sums.items()}


def _title_share(item: SelectedSentence) -> float:
    """Return the share of the terms of its heading that a sentence contains."""
    title = set(content_terms(item.chunk.headings[-1] if item.chunk.headings else ""))
    return len(title & set(content_terms(item.text))) / max(len(title), 1)


def _label(chunk: Chunk) -> str:
    titles = dict.fromkeys((chunk.document_title, *chunk.headings[-1:]))
    return show_sentence(" > ".join(title for title in titles if title))
