"""Summarise one section in reading order: its paragraphs, list items and subsections."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from knotwork._indexing.communities.report_sentences import flat_text, is_prose
from knotwork._retrieval.evidence_builder import is_in_han
from knotwork._stores.base import Store
from knotwork._synthesis.citations import show_sentence
from knotwork._synthesis.overviews.outline import DocumentOutline, OutlinePart
from knotwork._synthesis.overviews.statements import (
    LEAST_PROSE,
    OPENING_GAIN,
    SummaryLine,
    SummaryPiece,
    is_statement,
    weigh_alone,
)
from knotwork._synthesis.sentence_selection import SelectedSentence, weigh_prose
from knotwork._text.languages import detect_language
from knotwork._text.plain_text import split_number
from knotwork._text.terms import content_terms
from knotwork.records import BlockKind, Chunk, Span

MOST_SENTENCES = 8
MOST_SUBSECTIONS = 20
"""The maximum number of subsections with a line."""
FEWEST_LINES = 3
"""The least number of lines of a section without subsections."""
_ITEM_GAIN = 1.5
"""The factor for a list item, relative to a paragraph, in a section without subsections."""
_HALF_WAY_LINES = 4
"""The position in its subsection, from 0, at which a paragraph is worth half of the first."""
_REPEATED = 0.7
"""A sentence repeats the chosen ones if they contain this share of its terms."""
_LINK_TO_ITSELF = " ¶"
_LEADS_ON = re.compile(
    r"^(?:where to go next|what(?:'s|’s) next|next steps|see also|related (?:\w+ )?"
    r"(?:topics|information|pages)|further reading|references|links|notes?)$"
    r"|^(?:参见|參見|另请参[阅见]|另請參[閱見]|延伸阅读|延伸閱讀|相关链接|参考资料)$",
    re.IGNORECASE,
)


def walk_section(
    store: Store, outline: DocumentOutline, part: OutlinePart, subject: str, language: str
) -> list[SummaryLine]:
    """Summarise a section in lines, in reading order, with about eight sentences in all.

    Each subsection has a line with its heading and its most representative sentence. The text
    before the first one has a line without a heading. Remaining sentences go to the best other
    paragraphs, first of subsections with most left out. A section without subsections has a line
    for each of its best paragraphs and items. The result is empty if there are too few lines.
    """
    chunks = _chunks_of(store, part)
    if not chunks:
        return []
    text = store.documents.documents({part.document_id})[part.document_id].text
    paragraphs = read_paragraphs(chunks, part.span, text, subject, language)
    parts = [p for p in outline.subsections(part) if not _LEADS_ON.match(_bare_heading(p))]
    if len(parts) < 2:
        return _lines_of_paragraphs(paragraphs)
    inside = {child: _paragraphs_of(child.span, paragraphs) for child in parts}
    if sum(map(bool, inside.values())) < max(2, len(inside) / 2):
        return []
    before = Span(part.span.start, parts[0].span.start)
    return _lines_of_subsections(_paragraphs_of(before, paragraphs), inside)


def write_heading(part: OutlinePart, language: str) -> str:
    """Return the heading of a section as the introduction of its lines."""
    heading = show_sentence(part.title).rstrip(f"{_LINK_TO_ITSELF}:：")
    return heading + ("：" if language == "zh" else ":")


def _chunks_of(store: Store, part: OutlinePart) -> list[Chunk]:
    """Return the leaf chunks that overlap a part, in reading order."""
    ids = store.documents.chunk_ids_of([part.document_id]).get(part.document_id, [])
    held = store.documents.chunks(ids).values()
    inside = [
        chunk
        for chunk in held
        if not chunk.is_parent
        and chunk.span.start < part.span.end
        and part.span.start < chunk.span.end
    ]
    return sorted(inside, key=lambda chunk: chunk.ordinal)


def _paragraphs_of(span: Span, paragraphs: Sequence[Paragraph]) -> list[Paragraph]:
    """Return the paragraphs in a span that state something; earlier ones are worth more."""
    inside = [
        paragraph
        for paragraph in paragraphs
        if paragraph.is_stated and span.start <= paragraph.sentence.span.start < span.end
    ]
    return [replace(p, worth=p.worth / (1 + i / _HALF_WAY_LINES)) for i, p in enumerate(inside)]


def _lines_of_paragraphs(paragraphs: Sequence[Paragraph]) -> list[SummaryLine]:
    """Return a line for each of the best paragraphs; none if there are too few."""
    weighed = [replace(p, worth=p.worth * (_ITEM_GAIN if p.is_item else 1.0)) for p in paragraphs]
    chosen = sorted(_choose([weighed], []), key=lambda paragraph: paragraph.place)
    if len(chosen) < FEWEST_LINES:
        return []
    return [SummaryLine("", (SummaryPiece.of(p.sentence),)) for p in chosen]


def _lines_of_subsections(
    opening: list[Paragraph], inside: dict[OutlinePart, list[Paragraph]]
) -> list[SummaryLine]:
    """Return a line for each subsection with a sentence, after one for the ``opening``."""
    groups = [opening, *inside.values()]
    leading = [max(paragraphs, key=_rank) for paragraphs in groups if paragraphs]
    chosen = sorted(leading, key=_rank, reverse=True)[:MOST_SENTENCES]
    if len(chosen) == len(leading):
        chosen = _choose(groups, chosen)
    first = tuple(SummaryPiece.of(p.sentence) for p in opening if p in chosen)
    lines = [SummaryLine("", first)] if first else []
    for part, paragraphs in list(inside.items())[:MOST_SUBSECTIONS]:
        pieces = tuple(SummaryPiece.of(p.sentence) for p in paragraphs if p in chosen)
        if pieces:
            lines.append(SummaryLine(show_sentence(_bare_heading(part)), pieces))
    return lines


def _choose(groups: Sequence[Sequence[Paragraph]], first: Sequence[Paragraph]) -> list[Paragraph]:
    """Return the paragraphs of ``first`` and the best others that add new terms.

    A paragraph is worth less the more of its group has been chosen.
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


def _bare_heading(part: OutlinePart) -> str:
    """Return the heading of a part without its number and permalink mark."""
    return split_number(part.title)[1].rstrip(_LINK_TO_ITSELF)


_LONGEST_ITEM, _LONGEST_ITEM_WIDE = 160, 80
"""The maximum number of characters up to which the sentences of an item are quoted together."""
_STEP_GAIN = 1.3
"""The factor for a sentence that mentions a step."""
_TITLE_GAIN = 0.5
"""The additional share for a sentence with all terms of the heading, or of the subject."""
_FULL_TERMS = 6
"""A sentence of fewer distinct terms is worth proportionally less."""
_ASIDE_WEIGHT = 0.3
"""The factor for a sentence in a box beside the text."""
_OTHER_LANGUAGE_WEIGHT = 0.5
_FRAGMENT_WEIGHT = 0.5
"""The factor for an item that continues the line above, as it begins with a small letter."""

_BREAK = re.compile(r"\n[ \t\r]*\n")
_MARK = re.compile(r"[ \t]*(?:[-*+•‣◦]|\(?\d{1,3}[.)、]|\(?[a-z][.)])[ \t]+")
_SEQUENCE = re.compile(
    r"^(?:now that|first(?:ly)?|second(?:ly)?|third(?:ly)?|next|then|now|finally|lastly|also"
    r"|afterwards?|after that|in addition)\b,?\s*"
    r"|^(?:首先|其次|再次|然后|然後|接着|接著|接下来|接下來|之后|之後|最后|最後|同时|同時|同样|同樣|另外|现在|現在)[，,]?",
    re.IGNORECASE,
)
_SPEAKS_OF_STEP = re.compile(
    r"\b(?:first|second|third|next|last|final|this|following) (?:step|stage|thing|task)\b"
    r"|步骤|步驟|[一二三四五这這]步|[个個]阶段|[个個]階段",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph or list item, with its most representative sentence and the worth of that.

    ``place`` counts from the beginning of the section. ``is_stated`` is False if its sentence is
    not a complete statement.
    """

    sentence: SelectedSentence
    worth: float
    place: int
    is_item: bool
    is_stated: bool


def read_paragraphs(
    chunks: Sequence[Chunk], within: Span, text: str, subject: str, language: str
) -> list[Paragraph]:
    """Return the paragraphs and items with a quotable sentence, in reading order.

    They are those ``within`` the span of a section; ``chunks`` are its chunks, in order, which may
    extend beyond it, and ``text`` is that of the document. A sentence is worth more if it opens its
    paragraph, is understood alone, is in ``language``, and has terms of its heading or ``subject``.
    """
    asked = set(content_terms(subject))
    found = (
        _stand_for(sentences, text, asked, language, place)
        for place, sentences in enumerate(_group_sentences(chunks, within, text))
    )
    return [paragraph for paragraph in found if paragraph is not None]


def _group_sentences(
    chunks: Sequence[Chunk], within: Span, text: str
) -> Iterator[list[SelectedSentence]]:
    """Yield the sentences of each paragraph or item, also across chunks."""
    group: list[SelectedSentence] = []
    for chunk in chunks:
        for span in chunk.sentences:
            if not within.start <= span.start < within.end:
                continue
            if group and (
                _BREAK.search(text, group[-1].span.end, span.start) or _opens_item(text, span.start)
            ):
                yield group
                group = []
            group.append(SelectedSentence(chunk, span, text[span.start : span.end], 1.0, 0))
    if group:
        yield group


def _opens_item(text: str, start: int) -> bool:
    """Return True if a sentence opens a list item."""
    line = text.rfind("\n", 0, start) + 1
    mark = _MARK.match(text, line)
    return mark is not None and (start == line or mark.end() >= start)


def _stand_for(
    sentences: Sequence[SelectedSentence], text: str, asked: set[str], language: str, place: int
) -> Paragraph | None:
    """Return a paragraph with its most representative sentence; None if none is quotable."""
    is_item = _opens_item(text, sentences[0].span.start)
    best, most = None, 0.0
    for index, sentence in enumerate(sentences):
        if not _may_stand(sentence, is_item=is_item):
            continue
        worth = _weigh(sentence, asked, language, is_item=is_item)
        worth *= OPENING_GAIN if index == 0 else 1.0
        if best is None or worth > most:
            best, most = sentence, worth
    if best is None:
        return None
    is_stated = is_statement(best.chunk, best.span, best.text)
    shown = (_open_item(sentences, text) if is_item else None) or best
    return Paragraph(shown, most, place, is_item, is_stated)


def _may_stand(sentence: SelectedSentence, *, is_item: bool) -> bool:
    """Return True if a sentence can be quoted.

    List items need not end as sentences do if a lead-in introduces their list: others are menus.
    """
    chunk, span = sentence.chunk, sentence.span
    if is_statement(chunk, span, sentence.text):
        return not sentence.text.lstrip().startswith("#")
    around = chunk.blocks_around(span)
    is_led = any(block.kind is BlockKind.LIST and block.lead for block in around)
    if not is_item or not is_led or any(block.kind is BlockKind.CODE for block in around):
        return False
    shown = show_sentence(sentence.text)
    return is_prose(flat_text(shown)) and weigh_prose(shown) >= LEAST_PROSE


def _weigh(sentence: SelectedSentence, asked: set[str], language: str, *, is_item: bool) -> float:
    """Return how well a sentence represents its paragraph in a text that is read in order."""
    shown = _SEQUENCE.sub("", show_sentence(sentence.text))
    terms = set(content_terms(shown))
    worth = weigh_alone(shown) * weigh_prose(shown) * min(1.0, len(terms) / _FULL_TERMS)
    title = set(content_terms(sentence.chunk.headings[-1] if sentence.chunk.headings else ""))
    for named in (title, asked):
        worth *= 1 + _TITLE_GAIN * len(named & terms) / max(len(named), 1)
    if _SPEAKS_OF_STEP.search(shown):
        worth *= _STEP_GAIN
    if is_item and shown.split(" ", 1)[0].islower():
        worth *= _FRAGMENT_WEIGHT
    if detect_language(shown) != language:
        worth *= _OTHER_LANGUAGE_WEIGHT
    if any(b.kind is BlockKind.BOX for b in sentence.chunk.blocks_around(sentence.span)):
        worth *= _ASIDE_WEIGHT
    return worth


def _open_item(sentences: Sequence[SelectedSentence], text: str) -> SelectedSentence | None:
    """Return as many first sentences of an item as are short together, as one citation."""
    first = sentences[0]
    longest = _LONGEST_ITEM_WIDE if is_in_han(first.text) else _LONGEST_ITEM
    opened: SelectedSentence | None = None
    for sentence in sentences:
        span = Span(first.span.start, sentence.span.end)
        item = replace(first, span=span, text=text[span.start : span.end])
        if sentence.chunk != first.chunk or len(item.text) > longest:
            break
        opened = item if _may_stand(item, is_item=True) else opened
    return opened
