"""Detect headings, lists, code, definitions and table headers among the lines of a PDF file.

Position, font size, font style, numbers and bullets decide.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from itertools import groupby, pairwise
from typing import NamedTuple

from knotwork._indexing.loaders.loader import TextBuilder, lead_in_sentence
from knotwork._indexing.loaders.pdf_lines import PdfLine
from knotwork._indexing.loaders.tables_and_lists import labelled_line, names_columns, plain_line
from knotwork._indexing.loaders.titles_and_captions import (
    MAX_TITLE_LENGTH,
    is_caption,
    is_table_caption,
    is_title_like,
)
from knotwork.records import FrameKind, Heading, Span

_LARGER = 1.12
"""Font size of a heading, as a multiple of that of the text."""
_MAX_HEADING_SHARE = 1 / 3
"""The share of a text that can be headings; if more looks like headings, none is."""
_MAX_LEVEL = 6
_NUMBERED = re.compile(r"(\d{1,3}(?:\.\d{1,3})*)\.?\s+\S")
_CHAPTER = re.compile(
    r"第\s?[一二三四五六七八九十百零\d]{1,5}\s?([编篇章节])|[一二三四五六七八九十]{1,3}、"
)
_CHAPTER_LEVELS = {"编": 1, "篇": 1, "章": 1, "节": 2}
_ITEM = re.compile(
    r"[•·▪◦‣●○■□◆◇►▶➢➤✓–—*]\s?|-\s|[(（]?(?:\d{1,2}|[a-z])[.)）、．](?!\d)\s?|[①-⑳]|"
    r"[(（][一二三四五六七八九十]{1,2}[)）]"
)
_MIN_ITEMS = 2
_MAX_LEAD_LENGTH = 300
_SHIFTED_ITEM = 8.0
"""Indent of a definition from its term, in points."""
_MAX_TERMS = 6
_INDENTED = 1.0
"""Smallest difference of the left edges of two lines that counts as an indent, in points."""


def is_item(text: str) -> bool:
    """Return True if a line begins with the bullet or number of a list item."""
    return _ITEM.match(text) is not None


class PlacedLine(NamedTuple):
    """A line with its span in the text; ``begins_paragraph`` is True for the first line of one."""

    line: PdfLine
    span: Span
    begins_paragraph: bool


def headings_by_type(lines: Sequence[PlacedLine]) -> tuple[Heading, ...]:
    """Return a heading for each part in a larger font, or bold with a number or chapter mark.

    The level is that of the number, else the rank of the font size. Returns () if too much of the
    text looks like headings.
    """
    lengths: Counter[float] = Counter()
    for placed in lines:
        lengths[placed.line.size] += len(placed.line.text)
    usual = lengths.most_common(1)[0][0] if lengths else 0.0
    if not usual:
        return ()
    found = [
        (size, Span(members[0].span.start, members[-1].span.end), _joined(members))
        for size, members in _large_parts(lines, usual)
    ]
    found = [(size, span, title) for size, span, title in found if is_title_like(title)]
    if sum(len(title) for _, _, title in found) > _MAX_HEADING_SHARE * lengths.total():
        return ()
    sizes = sorted({size for size, _, _ in found}, reverse=True)
    return tuple(
        Heading(_level(title, sizes.index(size) + 1), title, span) for size, span, title in found
    )


def _large_parts(
    lines: Sequence[PlacedLine], usual: float
) -> Iterator[tuple[float, list[PlacedLine]]]:
    """Yield the font size and the lines of each part that looks like a heading.

    ``usual`` is the font size of the text.
    """

    def kind(placed: PlacedLine) -> tuple[float, int]:
        line = placed.line
        is_heading = line.row is None and (
            line.size >= _LARGER * usual
            or (
                line.bold
                and line.size >= usual
                and (_NUMBERED.match(line.text) or _CHAPTER.match(line.text)) is not None
            )
        )
        return (line.size if is_heading else 0.0), line.page

    for (size, _), run in groupby(lines, key=kind):
        if not size:
            continue
        members: list[PlacedLine] = []
        for placed in run:
            if members and placed.begins_paragraph:
                yield size, members
                members = []
            members.append(placed)
        yield size, members


def _level(title: str, rank: int) -> int:
    numbered, chapter = _NUMBERED.match(title), _CHAPTER.match(title)
    if numbered:
        return min(numbered[1].count(".") + 1, _MAX_LEVEL)
    return _CHAPTER_LEVELS.get(chapter[1] if chapter else "", min(rank, _MAX_LEVEL))


def _joined(lines: Sequence[PlacedLine]) -> str:
    return " ".join(" ".join(placed.line.text for placed in lines).split())


def frame_lines(
    builder: TextBuilder, lines: Sequence[PlacedLine], headings: Sequence[Heading]
) -> None:
    """Add frames for code, definitions, paragraphs with a term, table captions and lists."""
    text = builder.text
    monospaced = sum(len(placed.line.text) for placed in lines if placed.line.monospaced)
    has_code = 2 * monospaced <= len(text)
    for section in _sections(lines, headings):
        if has_code:
            _frame_code(builder, section)
        _frame_definitions(builder, section)
        _frame_paragraphs(builder, section)
        _frame_lists(builder, section, text)


def _sections(
    lines: Sequence[PlacedLine], headings: Sequence[Heading]
) -> Iterator[list[PlacedLine]]:
    """Yield the lines between two headings, without the headings."""
    spans = iter(sorted(heading.span for heading in headings))
    heading = next(spans, None)
    section: list[PlacedLine] = []
    for placed in lines:
        while heading is not None and heading.end <= placed.span.start:
            heading = next(spans, None)
        if heading is not None and heading.start < placed.span.end:
            yield section
            section = []
        else:
            section.append(placed)
    yield section


def _frame_code(builder: TextBuilder, lines: Sequence[PlacedLine]) -> None:
    for is_code, run in groupby(lines, key=lambda placed: placed.line.monospaced):
        if is_code:
            members = list(run)
            start, end = members[0].span.start, members[-1].span.end
            builder.frame(FrameKind.CODE, start, end=end)


def _frame_definitions(builder: TextBuilder, lines: Sequence[PlacedLine]) -> None:
    """Frame lines that are indented below terms in monospaced or bold type."""
    number = 0
    while number < len(lines):
        terms = _terms_at(lines, number)
        begins = number + len(terms)
        ends = _end_of_indented(lines, begins, right=lines[number].line.x + _SHIFTED_ITEM)
        if terms and ends > begins:
            label = ", ".join(placed.line.text.strip() for placed in terms)
            start, end = lines[begins].span.start, lines[ends - 1].span.end
            builder.frame(FrameKind.TERM, start, label, end=end)
        number = max(begins, number + 1)


def _end_of_indented(lines: Sequence[PlacedLine], begins: int, *, right: float) -> int:
    """Return the index after the lines from ``begins`` on that start right of ``right``.

    Returns ``begins`` without such lines, if they are only the indented first line of a paragraph,
    or if they end in a colon.
    """
    ends = begins
    while ends < len(lines) and lines[ends].line.x > right:
        ends += 1
    if ends == begins or lines[begins].line.monospaced:
        return begins
    is_indented = (
        ends < len(lines)
        and not lines[ends].begins_paragraph
        and not (lines[ends].line.bold or lines[ends].line.monospaced)
    )
    introduces = lines[ends - 1].line.text.rstrip().endswith((":", "："))
    return begins if is_indented or introduces else ends


def _terms_at(lines: Sequence[PlacedLine], start: int) -> list[PlacedLine]:
    """Return the short monospaced or bold lines from ``start`` on with the same left edge."""
    first = lines[start].line
    found: list[PlacedLine] = []
    for placed in lines[start:]:
        line = placed.line
        if (
            not first.size
            or not (line.monospaced or line.bold)
            or abs(line.x - first.x) > _INDENTED
            or len(line.text) > MAX_TITLE_LENGTH
            or (found and placed.begins_paragraph)
            or len(found) == _MAX_TERMS
        ):
            break
        found.append(placed)
    return found


def _frame_paragraphs(builder: TextBuilder, lines: Sequence[PlacedLine]) -> None:
    """Frame paragraphs that begin with a term, and paragraphs below a table caption."""
    nothing: list[PlacedLine] = []
    for paragraph, below in pairwise([*_paragraphs(lines), nothing]):
        start, end = paragraph[0].span.start, paragraph[-1].span.end
        builder.frame(FrameKind.TERM, start, paragraph[0].line.term, end=end)
        caption = _joined(paragraph)
        if below and is_table_caption(caption) and is_caption(caption):
            builder.frame(FrameKind.TITLE, start, caption, end=below[-1].span.end)


def _paragraphs(lines: Sequence[PlacedLine]) -> Iterator[list[PlacedLine]]:
    paragraph: list[PlacedLine] = []
    for placed in lines:
        if placed.begins_paragraph and paragraph:
            yield paragraph
            paragraph = []
        paragraph.append(placed)
    if paragraph:
        yield paragraph


def _frame_lists(builder: TextBuilder, lines: Sequence[PlacedLine], text: str) -> None:
    index = 0
    while index < len(lines):
        after = _end_of_table(lines, index) or _end_of_list(lines, index)
        if after == index > 0 and lead_in_sentence(lines[index - 1].line.text):
            # Bullets are often drawn, so that only the indent shows the items.
            right = lines[index - 1].line.x + _SHIFTED_ITEM
            after = _end_of_indented(lines, index, right=right)
        if after > index and (lead := _lead(lines, index, text)):
            start, end = lines[index].span.start, lines[after - 1].span.end
            builder.frame(FrameKind.LEAD, start, lead, end=end)
        index = max(after, index + 1)


def _end_of_table(lines: Sequence[PlacedLine], start: int) -> int:
    """Return the index after the table that begins at ``start``, 0 if none does."""
    first = lines[start].line.row
    if first is None or first.place:
        return 0
    rows = (
        n for n in range(start + 1, len(lines)) if not (row := lines[n].line.row) or not row.place
    )
    return next(rows, len(lines))


def _end_of_list(lines: Sequence[PlacedLine], start: int) -> int:
    """Return the index after the list that begins at ``start``, or ``start`` if none does.

    Lines that are indented from the bullets belong to the items.
    """
    first = lines[start].line
    items = 0
    for number in range(start, len(lines)):
        placed = lines[number]
        if is_item(placed.line.text):
            items += 1
            continue
        same_page = placed.line.page == lines[number - 1].line.page
        if first.size and same_page:
            continues = placed.line.x > first.x + _INDENTED
        else:
            continues = not placed.begins_paragraph
        if not items or not continues:
            return number if items >= _MIN_ITEMS else start
    return len(lines) if items >= _MIN_ITEMS else start


def _lead(lines: Sequence[PlacedLine], index: int, text: str) -> str:
    """Return the sentence that introduces the list or table beginning at ``index``, or ""."""
    above = index - 1
    if above < 0:
        return ""
    while above > 0 and not lines[above].begins_paragraph and not is_item(lines[above].line.text):
        above -= 1
    paragraph = text[lines[above].span.start : lines[index - 1].span.end]
    lead = lead_in_sentence(" ".join(paragraph.split()))
    return lead if len(lead) <= _MAX_LEAD_LENGTH else ""


_SHIFTED_COLUMN = 3.0
"""Points by which the columns of a table may shift from one page to the next."""


def name_cells_of_rows(lines: Sequence[PdfLine], join: Callable[[str, str], str]) -> list[PdfLine]:
    """Return lines with each row written as "Column: cell; Column: cell", without header rows.

    ``join`` joins two lines of a cell. A table at the top of a page continues the table at the end
    of the page before if their columns match; the indices of its rows then continue too.
    """
    firsts = [line.row for line in lines if line.row is not None and line.row.place == 0]
    marks_headers = 2 * sum(row.is_header for row in firsts) > len(firsts)
    named: list[PdfLine] = []
    names: Sequence[str] = ()
    for table in _tables(lines):
        rows = [(line, line.row) for line in table if line.row is not None]
        if not rows:
            named.extend(table)
            continue
        texts = [[reduce(join, cell.split("\n")) for cell in row.cells] for _, row in rows]
        before = named[-1] if named else None
        is_marked = rows[0][1].is_header
        continues = (
            before is not None
            and _continues(before, rows[0][0])
            and (not is_marked or texts[0] == list(names))
        )
        if continues:
            repeated = len(texts) > 1 and texts[0] == list(names)
            texts, rows = texts[repeated:], rows[repeated:]
        elif (
            len(texts) > 1
            # If font or lines mark the headers of most tables of the file, others have none.
            and (is_marked or not marks_headers)
            and names_columns(texts[0], texts[1])
        ):
            names, texts, rows = texts[0], texts[1:], rows[1:]
        else:
            names = ()
        first = before.row.place + 1 if continues and before is not None and before.row else 0
        for place, ((line, row), cells) in enumerate(zip(rows, texts, strict=True), first):
            text = labelled_line(names, cells) if names else plain_line(cells)
            named.append(
                line._replace(text=text, row=row._replace(cells=tuple(cells), place=place))
            )
    return named


def _tables(lines: Sequence[PdfLine]) -> Iterator[list[PdfLine]]:
    """Yield the rows of each table, and the lines between tables."""
    run: list[PdfLine] = []
    for line in lines:
        if run and (_place(line) == 0 or (line.row is None) != (run[-1].row is None)):
            yield run
            run = []
        run.append(line)
    if run:
        yield run


def _place(line: PdfLine) -> int | None:
    return line.row.place if line.row is not None else None


def _continues(before: PdfLine, line: PdfLine) -> bool:
    """Return True if a row is on the next page and has the columns of the row before it."""
    if before.row is None or line.row is None or line.page != before.page + 1:
        return False
    ours, theirs = before.row.lefts, line.row.lefts
    return len(ours) == len(theirs) and all(
        abs(a - b) <= _SHIFTED_COLUMN for a, b in zip(ours, theirs, strict=True)
    )
