"""Lines that lead through one section, in reading order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from knotwork.records import Chunk, Span
from knotwork.stores.base import Store
from knotwork.synthesis.citing import show_sentence
from knotwork.synthesis.overviews.headings import cite_heading
from knotwork.synthesis.overviews.outline import Outline, Part
from knotwork.synthesis.overviews.paragraphs import Paragraph, read_paragraphs
from knotwork.synthesis.overviews.statements import Line, Piece
from knotwork.text.numbering import split_number
from knotwork.text.terms import content_terms

MOST_SENTENCES = 8
MOST_NUMBERED = 12
"""Items of a numbered list, where steps are asked for."""
MOST_SUBSECTIONS = 20
"""Subsections of a section whose headings are listed."""
FEWEST_LINES = 3
"""With fewer lines there are no steps, and a section without subsections says too little."""
FEWEST_ITEMS = 2
"""With fewer items of lists a section without subsections has no steps."""
_ITEM_GAIN = 1.5
"""How much more an item of a list is worth than a paragraph in a section without subsections."""
_HALF_WAY = 4
"""The place in its subsection, from 0, at which a paragraph is worth half of the first."""
_REPEATED = 0.7
"""A sentence with this share of its terms in those chosen before says nothing new."""
_LINK_TO_ITSELF = " ¶"
_LEADS_ON = re.compile(
    r"^(?:where to go next|what(?:'s|’s) next|next steps|see also|related (?:\w+ )?"
    r"(?:topics|information|pages)|further reading|references|links|notes?)$"
    r"|^(?:参见|參見|另请参[阅见]|另請參[閱見]|延伸阅读|延伸閱讀|相关链接|参考资料)$",
    re.IGNORECASE,
)


def walk_section(
    store: Store,
    outline: Outline,
    part: Part,
    subject: str,
    language: str,
    *,
    for_steps: bool = False,
) -> list[Line]:
    """Return lines that lead through a section in reading order, with about eight sentences.

    Each subsection has a line with its heading and the sentence that stands best for it, and so has
    the text before them, without a heading, unless it is ``for_steps``. Sentences that are left go
    to the best other paragraphs, first where most were left out. A section without subsections has
    a line for each of the paragraphs and items that are worth most.

    ``for_steps`` such a section must have items, a numbered list before the subsections is taken
    instead of them, and subsections without a sentence have a line with their heading. The list is
    empty if there are too few lines.
    """
    chunks = _chunks_of(store, part)
    if not chunks:
        return []
    text = store.documents.documents({part.document_id})[part.document_id].text
    paragraphs = read_paragraphs(chunks, part.span, text, subject, language)
    parts = [p for p in outline.subsections(part) if not _LEADS_ON.match(_bare_heading(p))]
    if len(parts) < (FEWEST_LINES if for_steps else 2):
        return _lines_of_paragraphs(paragraphs, for_steps=for_steps)
    before = Span(part.span.start, parts[0].span.start)
    opening = [p for p in paragraphs if before.start <= p.sentence.span.start < before.end]
    if for_steps and sum(p.is_numbered for p in opening) >= FEWEST_LINES:
        return _lines_of_paragraphs(opening, for_steps=True)  # a list of what follows
    inside = {child: _paragraphs_of(child.span, paragraphs) for child in parts}
    if sum(map(bool, inside.values())) < max(2, len(inside) / 2):
        return []
    if for_steps:
        return _lines_of_subsections(store, chunks, inside)
    return _lines_of_subsections(store, chunks, inside, _paragraphs_of(before, paragraphs))


def write_heading(part: Part, language: str) -> str:
    """Return the heading of a section as the introduction of its lines."""
    heading = show_sentence(part.title).rstrip(f"{_LINK_TO_ITSELF}:：")
    return heading + ("：" if language == "zh" else ":")


def _chunks_of(store: Store, part: Part) -> list[Chunk]:
    """Return the passages that have some text of a part, in order."""
    held = store.documents.chunks(store.documents.chunk_ids(part.document_id)).values()
    inside = [
        chunk
        for chunk in held
        if not chunk.is_parent
        and chunk.span.start < part.span.end
        and part.span.start < chunk.span.end
    ]
    return sorted(inside, key=lambda chunk: chunk.ordinal)


def _paragraphs_of(span: Span, paragraphs: Sequence[Paragraph]) -> list[Paragraph]:
    """Return the paragraphs in a span that state something; those at its beginning count more."""
    inside = [
        paragraph
        for paragraph in paragraphs
        if paragraph.is_stated and span.start <= paragraph.sentence.span.start < span.end
    ]
    return [replace(p, worth=p.worth / (1 + i / _HALF_WAY)) for i, p in enumerate(inside)]


def _lines_of_paragraphs(paragraphs: Sequence[Paragraph], *, for_steps: bool) -> list[Line]:
    """Return a line for each of the best paragraphs; if there are numbered steps, for these."""
    numbered = [p for p in paragraphs if p.is_numbered] if for_steps else []
    if len(numbered) >= FEWEST_LINES:
        return [Line("", (Piece.of(p.sentence),)) for p in numbered[:MOST_NUMBERED]]
    weighed = [replace(p, worth=p.worth * (_ITEM_GAIN if p.is_item else 1.0)) for p in paragraphs]
    chosen = sorted(_choose([weighed], []), key=lambda paragraph: paragraph.place)
    fewest_items = FEWEST_ITEMS if for_steps else 0
    if len(chosen) < FEWEST_LINES or sum(p.is_item for p in chosen) < fewest_items:
        return []
    return [Line("", (Piece.of(p.sentence),)) for p in chosen]


def _lines_of_subsections(
    store: Store,
    chunks: list[Chunk],
    inside: dict[Part, list[Paragraph]],
    opening: list[Paragraph] | None = None,
) -> list[Line]:
    """Return a line for each subsection, after one for the ``opening`` before them, if it is given.

    Without an opening subsections without a sentence have their heading alone; with one, no line.
    """
    groups = [opening or [], *inside.values()]
    leading = [max(paragraphs, key=_rank) for paragraphs in groups if paragraphs]
    chosen = sorted(leading, key=_rank, reverse=True)[:MOST_SENTENCES]
    if len(chosen) == len(leading):
        chosen = _choose(groups, chosen)
    first = tuple(Piece.of(p.sentence) for p in opening or () if p in chosen)
    lines = [Line("", first)] if first else []
    for part, paragraphs in list(inside.items())[:MOST_SUBSECTIONS]:
        heading = show_sentence(_bare_heading(part))
        pieces = tuple(Piece.of(p.sentence) for p in paragraphs if p in chosen)
        if pieces:
            lines.append(Line(heading, pieces))
        elif opening is None and (source := cite_heading(store, part, chunks)):
            lines.append(Line("", (Piece(heading, source),)))
    return lines


def _choose(groups: Sequence[Sequence[Paragraph]], first: Sequence[Paragraph]) -> list[Paragraph]:
    """Return those chosen ``first`` and the best others that say something new.

    A paragraph counts less the more of its group is chosen already.
    """
    chosen = list(first)
    known = {term for paragraph in chosen for term in content_terms(paragraph.sentence.text)}
    rest = [
        (paragraph, group) for group in groups for paragraph in group if paragraph not in chosen
    ]
    while rest and len(chosen) < MOST_SENTENCES:
        values = [
            (paragraph.worth * (1 - sum(p in chosen for p in group) / len(group)), -paragraph.place)
            for paragraph, group in rest
        ]
        paragraph, _ = rest.pop(values.index(max(values)))
        terms = set(content_terms(paragraph.sentence.text))
        if len(terms & known) < _REPEATED * len(terms):
            chosen.append(paragraph)
            known |= terms
    return chosen


def _rank(paragraph: Paragraph) -> tuple[float, int]:
    return paragraph.worth, -paragraph.place


def _bare_heading(part: Part) -> str:
    """Return the heading of a part without its number and the mark of a link to itself."""
    return split_number(part.title)[1].rstrip(_LINK_TO_ITSELF)
