"""Join the lines of PDF pages to running text: paragraphs, wrapped lines, hyphens, rows of tables.

Distance, font size, indent and punctuation decide.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import reduce
from itertools import pairwise
from math import inf
from statistics import median

from knotwork._extensions.formats.column_types import MISSING
from knotwork._extensions.pdf.pdf_lines import WIDE
from knotwork._extensions.pdf.pdf_tables import SHIFTED_COLUMN, are_aligned
from knotwork._indexing.loaders.lines import (
    PARAGRAPH_GAP,
    FlowLine,
    PageLine,
    TableRow,
    has_sure_mark,
    page_item,
)
from knotwork._indexing.loaders.tables import names_columns
from knotwork._text.languages import measure_width

_ENDS_WIDE = re.compile(rf"[{WIDE}]\s*\Z")
_BEGINS_WIDE = re.compile(rf"\s*[{WIDE}]")
_MIN_WRAPPED_WIDTH = 24
"""Half-width characters in a wrapped line of Chinese, at least; shorter lines may be a list."""
_MOST_UNSEEN = 3
"""Lines that fill the width of their paragraph by chance, at most."""
_MOST_LINES_OF_ROW = 8
"""Lines of a row on the next page, at most."""
_MOST_COLUMNS = 8
"""Columns of a page of prose, at most."""
_FIRST_PART = re.compile(
    rf"\s*(?:[“‘（「『《〈]*[{WIDE}][、。，：；！？”’）」』》〉]*|[^\s{WIDE}]+)"
)
"""The first word of a line, or its first Chinese character with the marks beside it."""
_HYPHENATED = re.compile(r"((?:[A-ZÀ-Þ]|[a-zß-ÿ])[a-zß-ÿ]+)[-\u00ad\u2010]\Z")
_KEEPS_HYPHEN = re.compile(r"\w[-\u2010]\Z")
_IN_ADDRESS = re.compile(r"://\S*[/_=&?]\Z")
_MAX_WORD_LENGTH = 60
_FIRST_WORD = re.compile(r"[a-zß-ÿ]{2,}")
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_ENDS_SENTENCE = re.compile(r"[.!?。！？]['\"”’」』)）]*\s*\Z")
_INDENTED = 0.8
"""Indent of the first line of a paragraph, in multiples of the font size."""
_ENDS_PARAGRAPH = re.compile(r"[.!?。！？:：]['\"”’」』)）\]\d]*\s*\Z")
_PARAGRAPH_GAP = 1.3
"""Distance of lines where a paragraph ends, as a multiple of the usual distance."""
_WIDE_GAP = 1.7
"""The same if the next line begins in lower case, as after a formula."""
_OTHER_SIZE = 0.1
"""Relative change of the font size where another part of the text begins."""
_FIGURE = re.compile(r"\d")
_CONTINUED = re.compile(
    r"(?:\(|^)(?:continued|cont(?:[.'’]?d)?\b|fortsetzung|forts\.|suite|[续續])", re.IGNORECASE
)
_SPACE, _SLACK = 0.25, 0.5
"""Width of a space, and what a line is shorter at least into which a word would have fitted, in
font sizes."""


def join_lines(lines: Sequence[PageLine], parted: Collection[int]) -> list[FlowLine]:
    """Return lines of pages with what joins each to the line before.

    A paragraph ends where pages among ``parted`` are between two lines.
    """
    words = _Words(lines)
    pitch = _usual_pitch([line for line in lines if line.row is None or line.reach])
    lines = _join_rows(lines, words.join)
    ends = [
        bool(line.row or following.row)
        or any(line.page < page < following.page for page in parted)
        or _ends_paragraph(line, following, pitch)
        for line, following in pairwise(lines)
    ]
    fitting = _fitting(lines, ends)
    gaps = [(PARAGRAPH_GAP, 0)]
    for number, (line, following) in enumerate(pairwise(lines)):
        if following.row and following.row.place:
            gaps.append(("\n", 0))
        elif ends[number]:
            gaps.append((PARAGRAPH_GAP, 0))
        else:
            gaps.append(_gap_between(line, following, words, fits=fitting[number + 1]))
    flow = []
    for number, line in enumerate(lines):
        gap = gaps[number][0]
        if gap == "\n":
            after = lines[number + 1] if number + 1 < len(lines) else None
            shown = _shown_gap(lines[number - 1], line, after, fits=fitting[number])
        else:
            shown = gap
        cut = gaps[number + 1][1] if number + 1 < len(lines) else 0
        text = line.text[: len(line.text.rstrip()) - cut]
        begins = gap == PARAGRAPH_GAP
        flow.append(
            FlowLine(line, text, shown, begins_paragraph=begins, fits_above=fitting[number])
        )
    return flow


def _gap_between(
    line: PageLine, following: PageLine, words: _Words, *, fits: bool
) -> tuple[str, int]:
    """Return the separator of two lines, and the number of characters to drop before it.

    ``fits`` is True if the first word of the second would have fitted into the first.
    """
    end = line.text.rstrip()[-_MAX_WORD_LENGTH:]
    hyphenated = _HYPHENATED.search(end)
    rest = _FIRST_WORD.match(following.text)
    if hyphenated and rest and not line.monospaced:
        return "", 0 if words.has_hyphen(hyphenated[1], rest[0]) else 1
    is_parted = (_KEEPS_HYPHEN.search(end) and not hyphenated) or _IN_ADDRESS.search(end)
    if is_parted and following.text[:1].isalnum() and not line.monospaced:
        return "", 0
    return "" if not fits and _is_wrapped(line, following) else "\n", 0


def _is_wrapped(line: PageLine, following: PageLine) -> bool:
    """Return True if a full line of Chinese continues in the next one, joined without a space."""
    is_wide = _ENDS_WIDE.search(line.text) and _BEGINS_WIDE.match(following.text)
    is_long = measure_width(line.text) >= _MIN_WRAPPED_WIDTH
    return bool(is_wide) and is_long and page_item(following.text) is None


def _ends_paragraph(line: PageLine, following: PageLine, pitch: float) -> bool:
    """Return True if a paragraph ends between two lines, by distance, size and punctuation.

    ``pitch`` is the usual distance of lines as a multiple of the font size.
    """
    first = following.text.lstrip()[:1]
    goes_on = first.islower() or "\u3400" <= first <= "\u9fff"
    larger = max(line.size, following.size)
    distance = line.y - following.y
    # A new column begins much higher up on the page than raised text such as superscripts.
    if line.page != following.page or distance < -2 * larger:
        return bool(_ENDS_PARAGRAPH.search(line.text)) or not goes_on
    if not larger or distance < 0:
        return False
    if abs(line.size - following.size) > _OTHER_SIZE * larger and distance > larger / 2:
        return line.bold or following.bold or not first.islower()
    if line.bold is not following.bold and not (line.monospaced or first.islower()):
        return True
    gap = distance / (pitch * larger)
    return gap > _WIDE_GAP or (gap > _PARAGRAPH_GAP and not first.islower())


def _usual_pitch(lines: Sequence[PageLine]) -> float:
    """Return the distance of lines within a paragraph, as a multiple of their font size."""
    distances = [
        (line.y - following.y) / following.size
        for line, following in pairwise(lines)
        if line.page == following.page and following.size and line.size == following.size
    ]
    near = sorted(distance for distance in distances if 0.7 < distance < 4)
    # The lower quartile, because the median is that of paragraphs if most have a single line.
    return near[len(near) // 4] if near else 1.2


def _fitting(lines: Sequence[PageLine], ends: Sequence[bool]) -> list[bool]:
    """Return for each line whether its first word would have fitted into the line before.

    The lines of its column show how long a line may be, as do those of its paragraph if several
    fill the width of it. A paragraph that is indented on the left may be so on the right.
    """
    fitting = [False] * len(lines)
    breaks = [not after.is_below(line) for line, after in pairwise(lines)]
    columns = [_Column(lines, part) for part in _parts(range(len(lines)), breaks)]
    of_page: dict[int, list[_Column]] = {}
    for column in columns:
        of_page.setdefault(column.page, []).append(column)
    for column in columns:
        for part in _parts(column.numbers, ends):
            inside = [lines[number] for number in part]
            own = max(line.reach or line.right for line in inside)
            fits = _fits_above(inside, own)
            is_long = measure_width(inside[0].text) >= _MIN_WRAPPED_WIDTH
            if any(fits) or not is_long or len(part) <= _MOST_UNSEEN:
                indent = 0.0 if any(fits) else min(line.x for line in inside) - column.left
                reach = column.reach(inside, own, of_page[column.page]) - indent
                fits = _fits_above(inside, max(own, reach))
            fitting[part.start : part.stop] = fits
    return fitting


def _fits_above(lines: Sequence[PageLine], reach: float) -> list[bool]:
    """Return for each line whether its first word fits into the line before, up to an edge."""
    return [False] + [
        before.right + _width_of_first(line) + (_SPACE + _SLACK) * line.size < reach
        for before, line in pairwise(lines)
    ]


def _parts(numbers: range, ends: Sequence[bool]) -> Iterator[range]:
    """Yield the parts of some lines; ``ends`` says behind which lines one ends."""
    starts = [n for n in numbers if n == numbers.start or ends[n - 1]]
    for start, after in pairwise([*starts, numbers.stop]):
        yield range(start, after)


class _Column:
    """Lines below each other, with their edges."""

    def __init__(self, lines: Sequence[PageLine], numbers: range) -> None:
        inside = [lines[number] for number in numbers]
        prose = [line for line in inside if line.row is None]
        self.numbers = numbers
        self.page = inside[0].page
        self.top, self.bottom = inside[0].y, inside[-1].y
        self.middle = median(line.x for line in inside)  # of the left edges
        self.left = min((line.x for line in prose), default=0.0)
        self.rights = sorted(line.right for line in prose)

    def reach(self, part: Sequence[PageLine], own: float, columns: Sequence[_Column]) -> float:
        """Return the right edge up to which the lines of a paragraph may reach.

        ``own`` is the right edge of its longest line, ``columns`` are those of its page.
        """
        limit = min(
            (
                other.middle
                for other in columns[: _MOST_COLUMNS + 1]
                if other.middle > own and other.bottom <= part[0].y and other.top >= part[-1].y
            ),
            default=inf,
        )
        place = bisect_right(self.rights, limit)
        return self.rights[place - 1] if len(columns) <= _MOST_COLUMNS and place else own


def _width_of_first(line: PageLine) -> float:
    """Return the width of the first word of a line."""
    first = _FIRST_PART.match(line.text)
    share = measure_width(first[0]) / measure_width(line.text) if first else 1.0
    return share * (line.right - line.x)


def _shown_gap(before: PageLine, line: PageLine, following: PageLine | None, *, fits: bool) -> str:
    """Return what joins a line to the one before in one paragraph: a line end if it is no wrapping.

    A sentence that ends in a short line, or before an indented line, ends the paragraph.
    """
    if line.text.lstrip()[:1].islower():
        return " "
    is_wide = _ENDS_WIDE.search(before.text) and _BEGINS_WIDE.match(line.text)
    is_first = line.x > before.x + _INDENTED * line.size and (
        following is None or following.x < line.x - _INDENTED / 2 * line.size
    )
    if (fits or is_wide or is_first) and _ENDS_SENTENCE.search(before.text):
        return PARAGRAPH_GAP
    return "\n" if fits or is_wide or has_sure_mark(line.text) else " "


class _Words:
    """Word counts of a document, to decide whether a word cut by a line end keeps its hyphen."""

    def __init__(self, lines: Sequence[PageLine]) -> None:
        self._counts = Counter(
            word for line in lines for word in _WORD.findall(line.text.casefold())
        )

    def has_hyphen(self, first: str, second: str) -> bool:
        """Return True if the document has the parts more often with a hyphen than as one word."""
        first = first.casefold()
        return self._counts[f"{first}-{second}"] > self._counts[f"{first}{second}"]

    def join(self, line: str, following: str) -> str:
        """Join two lines of a table cell."""
        hyphenated = _HYPHENATED.search(line[-_MAX_WORD_LENGTH:])
        rest = _FIRST_WORD.match(following)
        if hyphenated and rest:
            return (line if self.has_hyphen(hyphenated[1], rest[0]) else line[:-1]) + following
        return join_words(line, following)


def join_words(text: str, following: str) -> str:
    """Join two parts of a line, by a space unless both are Chinese where they meet."""
    is_wide = _ENDS_WIDE.search(text) and _BEGINS_WIDE.match(following)
    return text + following if is_wide else f"{text} {following}"


def _join_rows(lines: Sequence[PageLine], join: Callable[[str, str], str]) -> list[PageLine]:
    """Return lines with the lines of cells joined, and with the header row of each table marked.

    ``join`` joins two lines of a cell. A table at the top of a page continues the table at the end
    of the page before if their columns match: the indices of its rows continue, and a repeated
    header is left out.
    """
    all_rows = (line.row for line in lines if line.row is not None)
    firsts = [row for row in all_rows if not row.place and not row.goes_on]
    marks_headers = 2 * sum(row.is_header for row in firsts) > len(firsts)
    found: list[PageLine] = []
    names: tuple[str, ...] = ()
    for table in _tables(lines):
        rows = [(line, line.row) for line in table if line.row is not None]
        if not rows:
            found.extend(table)
            continue
        texts = [tuple(reduce(join, cell.split("\n")) for cell in row.cells) for _, row in rows]
        is_marked = rows[0][1].is_header
        lines_between = _rest_of_row(found, rows[0][0])
        rest = found[len(found) - lines_between :]
        last = found[-1 - lines_between] if len(found) > lines_between else None
        before = last.row if last is not None and _continues(last, rows[0][0]) else None
        below = _below_header(rows[0][1].cells, names, join) if before is not None else None
        first, has_header = 0, False
        if before is None and rows[0][1].goes_on:
            found.extend(line._replace(row=None) for line in table)
            continue
        is_other = is_marked or _is_other_header(texts, names)
        if before is not None and (not is_other or below is not None):
            first = before.place + 1
            del found[len(found) - lines_between :]
            if below is not None and len(texts) > 1:
                texts, rows = texts[1:], rows[1:]
            parts = [_cells_of(line, before) for line in rest] + [below or ()]
            cells = before.cells
            for part in filter(any, parts):  # the rest of a row of the page before
                pairs = zip(cells, part, strict=True)
                cells = tuple(join(a, b) if a and b else a + b for a, b in pairs)
            text = " ".join(" ".join(cells).split())
            found[-1] = found[-1]._replace(text=text, row=before._replace(cells=cells))
        else:
            # If font or lines mark the headers of most tables of the file, others have none.
            has_header = (
                len(texts) > 1
                and (is_marked or not marks_headers)
                and names_columns(texts[0], texts[1])
            )
            names = texts[0] if has_header else ()
        for place, ((line, row), cells) in enumerate(zip(rows, texts, strict=True), first):
            own = row._replace(cells=cells, place=place, is_header=has_header and not place)
            found.append(line._replace(text=" ".join(" ".join(cells).split()), row=own))
    return found


def _is_other_header(rows: Sequence[Sequence[str]], names: Sequence[str]) -> bool:
    """Return True if the first of some rows is the header of another table than one with ``names``.

    Where all rows below have figures, it has none, and it is written as the names are.
    """
    first, *others = rows
    columns = list(zip(*others, strict=True))
    figures = [n for n, column in enumerate(columns) if all(map(_FIGURE.search, column))]
    return (
        len(others) > 1
        and bool(figures)
        and names_columns(first)
        and not any(_FIGURE.search(first[n]) or first[n].casefold() in MISSING for n in figures)
        and not any(cell in column for cell, column in zip(first, columns, strict=True) if cell)
        and [name[:1].isupper() for name in names] in ([], [cell[:1].isupper() for cell in first])
    )


def _rest_of_row(found: Sequence[PageLine], line: PageLine) -> int:
    """Return the number of lines above a row that are the rest of a row of the page before.

    Each is at the top of the page, in one column but the first, or says that the table goes on.
    """
    number = 0
    while number < min(_MOST_LINES_OF_ROW, len(found)) and (
        found[-1 - number].page == line.page and found[-1 - number].row is None
    ):
        number += 1
    above = found[-1 - number].row if number < len(found) else None
    rest = found[len(found) - number :]
    is_rest = above is not None and all(
        _CONTINUED.search(part.text) or any(_cells_of(part, above)) for part in rest
    )
    return number if is_rest else 0


def _cells_of(line: PageLine, row: TableRow) -> tuple[str, ...]:
    """Return the cells of a line that is in one column of a table but the first, () elsewhere."""
    aligned = [abs(line.x - left) <= SHIFTED_COLUMN for left, _ in row.columns]
    fits = sum(line.right > left for left, _ in row.columns) <= sum(
        line.x + SHIFTED_COLUMN >= left for left, _ in row.columns
    )
    if sum(aligned[1:]) != 1 or not fits:
        return ()
    return tuple(line.text if is_own else "" for is_own in aligned)


def _below_header(
    cells: Sequence[str], names: Sequence[str], join: Callable[[str, str], str]
) -> tuple[str, ...] | None:
    """Return what is below the repeated header in a row that begins with it, None without it.

    It is the rest of the last row of the page before.
    """
    if not names or len(cells) != len(names):
        return None
    rests = []
    for cell, name in zip(cells, names, strict=True):
        parts = cell.split("\n")
        ends = [n for n in range(1, len(parts) + 1) if reduce(join, parts[:n]) == name]
        if not ends:
            return None
        rests.append(reduce(join, parts[ends[0] :] or [""]))
    return tuple(rests)


def _tables(lines: Sequence[PageLine]) -> Iterator[list[PageLine]]:
    """Yield the rows of each table, and the lines between tables."""
    run: list[PageLine] = []
    for line in lines:
        begins = line.row is not None and line.row.place == 0
        if run and (begins or (line.row is None) != (run[-1].row is None)):
            yield run
            run = []
        run.append(line)
    if run:
        yield run


def _continues(before: PageLine, line: PageLine) -> bool:
    """Return True if a row is on the next page and has the columns of the row before it."""
    if before.row is None or line.row is None or line.page != before.page + 1:
        return False
    ours, theirs = before.row.columns, line.row.columns
    return len(ours) == len(theirs) and all(map(are_aligned, ours, theirs))
