"""Build the lines of PDF pages, and remove running heads, page numbers, contents and indexes."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise
from statistics import median
from typing import Any

from knotwork._extensions.pdf.pdf_annotations import CHECKED, FILLED, UNCHECKED
from knotwork._extensions.pdf.pdf_pages import PageContent, Piece, RulingLine
from knotwork._extensions.pdf.pdf_tables import (
    COLUMN_GAP,
    FoundTable,
    find_rows_of,
    find_tables,
    written_parts,
)
from knotwork._indexing.loaders.lines import PageLine, TableRow, is_mark
from knotwork._indexing.loaders.titles_and_captions import (
    MIN_REPEATING_PAGES,
    is_bold_font,
    is_monospaced_font,
    run_in_term,
)

WIDE = "\u3400-\u9fff\u3000-\u303f\uff00-\uffef"
"""Chinese characters and punctuation, for a character class of a regular expression."""
_STRETCHED = re.compile(rf"(?<=[{WIDE}]) (?=[{WIDE}])")
_TIGHT = re.compile(rf"[{WIDE}](?=[{WIDE}])")
_MIN_STRETCHED = 12
"""Fewest Chinese characters of a line with gaps from justification; rows of tables have fewer."""
_EDGE_LINES = 3
"""Lines at each end of a page that may be running heads or feet."""
_REPEATED_SHARE = 0.7
"""The share of repeated lines at one position of the pages, from which it is a head or foot."""
_NO_TITLE_SIZE = 1.12
"""Size of a head or foot in a file of few pages, at most, as a multiple of that of the text."""
_NOTICE = re.compile(r"(?:[^\W\d_]+[ ,;:]+){5}[^\W\d_]+|(?:[\u4e00-\u9fff][，。；：]?){12}")
"""Words without numbers that make a head or foot a notice, in a file of few pages."""
_APART = 1.6
"""Distance of one from the text, at least, as a multiple of its size."""
_WIDER = 1.25
"""Distance of one from the text, at least, as a multiple of the least between other lines."""
_FARTHEST_COUNT = 2_000
"""The most by which a page number beside words is above the number of pages before it: a bill or
form of its own on each page has larger numbers, which count too."""
_DIGITS = re.compile(r"\d+")
_ALONE = re.compile(r"(?<![A-Za-z0-9])\d+(?![A-Za-z0-9])")
_EDGE_NUMBER = re.compile(r"(?:\A\D{0,6}(?<![A-Za-z])(\d{1,4})\b|\b(\d{1,4})\D{0,6}\Z)")
_LEADERS = re.compile(r"(?:[.…·‥_]\s?){3,}\s*(?:\d{1,4}|[ivxlc]{1,7})\s*\Z")
_ENTRY = re.compile(
    rf"{_LEADERS.pattern}|\S(?:\s+(?:\d{{1,4}}|[ivxlc]{{1,7}})|,\s*\d{{1,4}}(?:[-–,]\s*\d{{1,4}})*)\s*\Z"
)
"""The end of an entry of a table of contents or an index, with and without leaders."""
_LAST_NUMBER = re.compile(r"(\d{1,4})\s*\Z")
_CONTENTS_TITLE = re.compile(
    r"\s*(?:table of contents|contents|list of (?:figures|tables)|目\s*录|目\s*次|目\s*錄"
    r"|(?:(?:\d{1,3}|[A-Z])(?:\.\d{1,3})*\.?\s+)?"
    r"(?:[\w ]{0,30}\b(?:index|indexes)|index of [\w ,-]{1,60}|索\s*引))\s*",
    re.IGNORECASE,
)
_ENTRY_END = 80
"""Characters at the end of a line to search for a page number."""
_MIN_ENTRIES, _MIN_UNTITLED_ENTRIES = 4, 8
"""Fewest entries of a table of contents with and without a title above it."""
_GAP = 3
"""Most lines from one entry to the next: entries may take two lines, or have a letter above."""
_UNCOUNTED_PAGES = 20
"""Page numbers may exceed the number of pages by this many, as in a chapter of a book."""
_MOST = 0.8
"""The share of entries with leaders, and of neighbouring ones in order, for a table of contents."""
_WIDEST_GAP = 80
"""Most spaces between two words of code."""
_BAND = 50.0
"""Points of the height of a page in which upright lines are searched together."""
_HIGHEST = 20_000.0
"""Points from the origin within which lines of a page are searched."""
_MOST_UPRIGHT = 500
"""Upright lines in such a part of a page that are looked at."""
_FARTHEST_MARK = 4.0
"""Distance of a bullet from its item at most, in font sizes."""
_FILLED_REACH = 10_000.0
"""Right edge of a line that a value ends: what follows is not the rest of it."""
_OF_ALL = re.compile(r"(?:page|seite)?\s*(\d{1,4})\s*(?:/|of|von)\s*(\d{1,4})", re.IGNORECASE)


def _shape(line: PageLine) -> tuple[str, int, int]:
    """Return the text without digits, height and size: equal for a line repeated on many pages."""
    return _DIGITS.sub("#", line.text), round(line.y), round(line.size)


def _by_shape(lines: Iterable[PageLine]) -> dict[tuple[str, int, int], list[PageLine]]:
    found: dict[tuple[str, int, int], list[PageLine]] = {}
    for line in lines:
        found.setdefault(_shape(line), []).append(line)
    return found


def make_lines(
    content: PageContent, number: int, before: Sequence[PageLine] = ()
) -> list[PageLine]:
    """Return the lines of a page in file order, rows of tables merged.

    ``number`` is that of the page, from 0, ``before`` are the lines of the page before it.
    """
    pieces = _with_marks(content.pieces)
    owned = _group_by_line(pieces)
    lines = [_make_line([pieces[i] for i in own], number) for own in owned]
    apart = _set_apart(pieces, content.upright)
    tables = list(find_tables(apart, content.drawn, content.upright)) if content.is_complete else []
    last = next((line.row for line in before[: -_EDGE_LINES - 2 : -1] if line.row), None)
    going_on = find_rows_of(apart, content.drawn, last.columns) if last is not None else None
    in_tables = {piece for table in tables for piece in chain.from_iterable(table.pieces)}
    if going_on and in_tables.isdisjoint(chain.from_iterable(going_on.pieces)):
        tables.append(going_on)
    holders = [line for line, own in enumerate(owned) for _ in own]
    rows: dict[int, list[PageLine]] = {}
    replaced: set[int] = set()
    for table in tables:
        own = set(chain.from_iterable(table.pieces))
        touched = {holders[piece] for piece in own}
        if any(holder in touched and piece not in own for piece, holder in enumerate(holders)):
            continue  # the table is only a part of some line
        replaced |= touched
        rows[min(touched)] = [
            _make_row(table, place, lines[holders[min(of_row)]], goes_on=table is going_on)
            for place, of_row in enumerate(table.pieces)
        ]
    return [
        line
        for place, old in enumerate(lines)
        for line in (rows.get(place, []) if place in replaced else [old])
    ]


def _set_apart(pieces: Sequence[Piece], upright: Sequence[RulingLine]) -> list[Piece]:
    """Return the words of a page, cut off near upright lines, so that there are gaps at these."""
    bands: dict[int, list[RulingLine]] = {}
    for rule in upright:
        for band in range(_band(rule.start), _band(rule.end) + 1):
            bands.setdefault(band, []).append(rule)
    cut: list[Piece] = []
    for piece in pieces:
        margin = COLUMN_GAP * piece.size / 2
        left, right = piece.left, piece.right
        middle = (left + right) / 2
        for rule in bands.get(_band(piece.y), ())[:_MOST_UPRIGHT]:
            if rule.start <= piece.y <= rule.end and left - margin < rule.place < right + margin:
                if rule.place < middle:
                    left = min(middle, rule.place + margin)
                else:
                    right = max(middle, rule.place - margin)
        cut.append(piece._replace(left=left, right=right))
    return cut


def _band(y: float) -> int:
    return int(min(_HIGHEST, max(-_HIGHEST, y)) // _BAND)


def _group_by_line(pieces: Sequence[Piece]) -> list[list[int]]:
    lines: list[list[int]] = []
    for index, piece in enumerate(pieces):
        if piece.begins_line or not lines:
            lines.append([])
        lines[-1].append(index)
    return lines


def _with_marks(pieces: Sequence[Piece]) -> list[Piece]:
    """Return words with each bullet or number that is a line by itself put before its item.

    Some programs print the marks of all lists of a page behind its text.
    """
    lines = [[pieces[index] for index in own] for own in _group_by_line(pieces)]
    marks = [n for n, line in enumerate(lines) if len(line) == 1 and is_mark(line[0].text)]
    heights: dict[int, list[int]] = {}
    for number in set(range(len(lines))).difference(marks) if marks else ():
        heights.setdefault(round(lines[number][0].y), []).append(number)
    for number in marks:
        (mark,) = lines[number]
        beside = [
            other
            for height in range(round(mark.y) - 1, round(mark.y) + 2)
            for other in heights.get(height, ())
            if mark.right <= lines[other][0].left <= mark.right + _FARTHEST_MARK * mark.size
        ]
        if beside:
            nearest = min(beside, key=lambda other: lines[other][0].left)
            first, *rest = lines[nearest]
            first = first._replace(begins_line=False, is_spaced=True)
            lines[nearest], lines[number] = [mark, first, *rest], []
    return [piece for line in lines for piece in line]


def _make_row(table: FoundTable, place: int, line: PageLine, *, goes_on: bool) -> PageLine:
    cells = table.rows[place]
    is_header = table.has_header and place == 0
    row = TableRow(cells, place, table.columns, is_header=is_header, goes_on=goes_on)
    text = " ".join(" ".join(cells).split())
    return PageLine(text, line.page, table.columns[0][0], line.y, line.size, row=row)


def _tightened(text: str) -> str:
    """Return a line without spaces between Chinese characters, if they come from justification."""
    gaps, tight = len(_STRETCHED.findall(text)), len(_TIGHT.findall(text))
    is_stretched = gaps + tight >= _MIN_STRETCHED and gaps > 2 * tight
    return _STRETCHED.sub("", text) if is_stretched else text


def _make_line(pieces: Sequence[Piece], page: int) -> PageLine:
    """Return the line of these words; its size and height are those of most of its text."""
    spaced = [piece.is_spaced for piece in pieces]
    runs = list(zip(written_parts(pieces, spaced), pieces, strict=True))
    weights: Counter[tuple[float, float]] = Counter()
    for piece in pieces:
        weights[round(piece.size, 1), piece.y] += len(piece.text)
    size, y = weights.most_common(1)[0][0]
    filled = [n for n, piece in enumerate(pieces) if piece.font == FILLED]
    is_filled = pieces[-1].font == FILLED or any(
        not n or pieces[n - 1].text.endswith((":", "：")) or pieces[n].text in (CHECKED, UNCHECKED)
        for n in filled
    )
    monospaced = all(is_monospaced_font(piece.font) for piece in pieces)
    return PageLine(
        text=_tightened("".join(text for text, _ in runs)),
        page=page,
        x=min(piece.left for piece in pieces),
        y=y,
        size=size,
        right=max(piece.right for piece in pieces),
        reach=_FILLED_REACH if is_filled else 0.0,
        bold=all(is_bold_font(piece.font) for piece in pieces),
        monospaced=monospaced,
        term=run_in_term((text, is_bold_font(piece.font)) for text, piece in runs),
        code=_code(pieces) if monospaced else "",
    )


def _code(pieces: Sequence[Piece]) -> str:
    """Return the words of a line in monospaced type with all spaces between them."""
    width = max(0.1, median((piece.right - piece.left) / len(piece.text) for piece in pieces))
    text = pieces[0].text
    for before, piece in pairwise(pieces):
        spaces = round((piece.left - before.right) / width) if piece.is_spaced else 0
        text += " " * min(_WIDEST_GAP, max(spaces, piece.is_spaced)) + piece.text
    return text


def without_running_lines(pages: Sequence[list[PageLine]]) -> list[list[PageLine]]:
    """Return pages without running heads, feet and page numbers.

    A head or foot is the same on most pages, digits apart, or it is repeated at a height where most
    pages have repeated lines, such as chapter titles. Page numbers increase with the pages. The
    only line of a page is kept, unless it is a head or foot of other pages. In files of few pages,
    heads and feet are apart from the text too. One page keeps all but a number such as "1 / 1".
    """
    kept = [
        [line for line in page if len(page) == 1 or not _numbers_all(line, len(pages))]
        for page in pages
    ]
    if len(kept) < MIN_REPEATING_PAGES:
        return _without_edges(kept) if len(kept) > 1 else kept
    for place in (0, -1):
        for _ in range(_EDGE_LINES):
            edges = [page[place] for page in kept if len(page) > 1]
            running = _running(edges, len(kept))
            if not running:
                break
            shapes = {_shape(line) for line in running}
            for page in kept:
                is_alone = len(page) == 1 and _shape(page[0]) in shapes
                if is_alone or (len(page) > 1 and page[place] in running):
                    del page[place]
    return kept


def _without_edges(pages: list[list[PageLine]]) -> list[list[PageLine]]:
    """Return a few pages without what most of them have at the same height above or below all else.

    Their text is equal, but numbers may count the pages. What may be a notice stays once.
    """
    sizes: Counter[float] = Counter()
    for line in chain.from_iterable(pages):
        sizes[line.size] += len(line.text)
    largest = _NO_TITLE_SIZE * sizes.most_common(1)[0][0] if sizes else 0.0
    for sign in (1, -1):
        for _ in range(_EDGE_LINES):
            outer = [(max(p, key=lambda line: (sign * line.y, -line.x)), p) for p in pages if p]
            apart = (o for o, page in outer if o.size <= largest and _is_apart(o, page))
            running = [
                line
                for lines in _by_shape(apart).values()
                if 2 * len(lines) > len(pages) and _are_counted(lines)
                for line in _without_notice(lines, is_head=sign > 0)
            ]
            kept = [[line for line in page if line not in running] for page in pages]
            if not running or not any(kept):
                break
            pages = kept
    return pages


def _without_notice(lines: list[PageLine], *, is_head: bool) -> list[PageLine]:
    """Return equal heads or feet without the one that is kept: the first head, or the last foot."""
    if not _NOTICE.search(lines[0].text):
        return lines
    return lines[1:] if is_head else lines[:-1]


def _is_apart(outer: PageLine, page: Sequence[PageLine]) -> bool:
    """Return True if a line that is no row is farther from the others than lines of text are."""
    distances = (abs(line.y - outer.y) for line in page)
    near = min((d for d in distances if d > outer.size / 2), default=math.inf)
    heights = sorted({line.y for line in page if line is not outer})
    usual = min(after - before for before, after in pairwise(heights)) if len(heights) > 2 else 0
    return outer.row is None and near > max(_APART * outer.size, _WIDER * usual)


def _are_counted(lines: Sequence[PageLine]) -> bool:
    """Return True if each number in lines of the same words is the same, or counts the pages.

    A number that counts is no part of a word, such as "P1", and is not far above that of its page.
    """
    numbers = zip(*(_DIGITS.findall(line.text) for line in lines), strict=True)
    pages = [line.page for line in lines]
    alone = [set(_ALONE.findall(line.text)) for line in lines]
    has_words = any(map(str.isalpha, lines[0].text))
    for found in numbers:
        if len(set(found)) == 1:
            continue
        offsets = {int(n) - page for n, page in zip(found, pages, strict=True)}
        is_far = has_words and max(offsets) > _FARTHEST_COUNT
        if len(offsets) > 1 or is_far or any(n not in a for n, a in zip(found, alone, strict=True)):
            return False
    return True


def _numbers_all(line: PageLine, pages: int) -> bool:
    """Return True for a line such as "2 / 3" on the second of three pages."""
    match = _OF_ALL.fullmatch(line.text.strip())
    return match is not None and (int(match[1]), int(match[2])) == (line.page + 1, pages)


def _running(edges: Sequence[PageLine], pages: int) -> set[PageLine]:
    """Return the lines among the first (or last) lines of all pages that are heads or numbers."""
    alike = _by_shape(edges)
    heights = Counter(round(line.y) for line in edges)
    repeated = Counter(round(line.y) for line in edges if len(alike[_shape(line)]) > 1)
    offsets = Counter((offset, round(line.y)) for line in edges for offset in _offsets(line))
    found: set[PageLine] = set()
    for lines in alike.values():
        height = round(lines[0].y)
        is_of_heads = 2 * heights[height] > pages and (
            repeated[height] >= _REPEATED_SHARE * heights[height]
        )
        repeats = 2 * len(lines) > pages or (is_of_heads and len(lines) > 1)
        is_running = repeats and _are_counted(lines)
        for line in lines:
            if is_running or any(2 * offsets[o, height] > pages for o in _offsets(line)):
                found.add(line)
    return found


def _offsets(line: PageLine) -> set[int]:
    """Return the numbers at both ends of a line, minus the index of its page."""
    numbers = (match[1] or match[2] for match in _EDGE_NUMBER.finditer(line.text.strip()))
    most = _FARTHEST_COUNT if any(map(str.isalpha, line.text)) else math.inf
    return {offset for number in numbers if (offset := int(number) - line.page) <= most}


def without_contents(lines: Sequence[PageLine], pages: int) -> list[PageLine]:
    """Return lines without tables of contents and indexes, whose entries end in page numbers.

    Two of three signs show them: a title, leaders of dots, and an order of numbers or letters.
    Other lists that end in numbers, such as prices, are kept.
    """
    left_out: set[int] = set()
    for block in _blocks_of_entries(lines):
        titled = _CONTENTS_TITLE.fullmatch(lines[block[0]].text) is not None
        entries = [lines[number].text for number in block[titled:]]
        dotted = [_LEADERS.search(entry[-_ENTRY_END:]) is not None for entry in entries]
        has_leaders = sum(dotted) >= _MOST * len(entries)
        numbers = [int(match[1]) for entry in entries if (match := _LAST_NUMBER.search(entry))]
        in_order = max(numbers, default=0) <= pages + _UNCOUNTED_PAGES and (
            _is_ascending(numbers) or _is_ascending([entry.casefold() for entry in entries])
        )
        fewest = _MIN_ENTRIES if titled else _MIN_UNTITLED_ENTRIES
        if len(entries) >= fewest and titled + has_leaders + in_order > 1:
            left_out.update(range(block[0], block[-1] + 1))
    return [line for number, line in enumerate(lines) if number not in left_out]


def _blocks_of_entries(lines: Sequence[PageLine]) -> Iterator[list[int]]:
    """Yield blocks of lines that may be entries, as indices, each with its title if it has one."""
    block: list[int] = []
    for number, line in enumerate(lines):
        is_title = _CONTENTS_TITLE.fullmatch(line.text) is not None
        if block and (is_title or number - block[-1] > _GAP):
            yield block
            block = []
        if is_title or _ENTRY.search(line.text[-_ENTRY_END:]):
            block.append(number)
    if block:
        yield block


def _is_ascending(values: Sequence[Any]) -> bool:
    pairs = list(pairwise(values))
    return bool(pairs) and sum(a <= b for a, b in pairs) >= _MOST * len(pairs)
