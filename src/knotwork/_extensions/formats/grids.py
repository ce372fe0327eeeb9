"""Read tables of sheets, delimited files and pages: titles, headers, sections, data and totals."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile, zip_longest
from statistics import median
from typing import NamedTuple

from knotwork._extensions.formats.column_types import MISSING, ShownCell, number_of, signs_of
from knotwork._indexing.loaders.blocks import BlockWriter
from knotwork._indexing.loaders.loader import TextMeter, clean_line, clean_text
from knotwork._indexing.loaders.tables import MAX_HEADER_LENGTH, YEAR, names_columns
from knotwork._indexing.loaders.titles_and_captions import is_title_like
from knotwork.records import Span

MAX_SPAN = 50
"""Most columns that a cell may span; a damaged table may declare any number."""
MOST_NESTED = 400
"""Characters of a table in a cell that is read as a part of its row."""
MAX_REPEATED = 200_000
"""Most cells that repeat the text of one that spans rows."""


WideCells = Mapping[int, Sequence[tuple[int, int]]]
"""The first and last column of wide cells, from 0, by the number of their row, from 1."""


class SpanningCell(NamedTuple):
    """A cell that may span several columns and rows.

    ``is_name`` is True if it is marked as one that names a row or a column, None if it is blank.
    """

    text: str
    columns: int = 1
    rows: int = 1
    is_name: bool | None = False


def spread_cells(
    rows: Sequence[Sequence[SpanningCell]],
    wide: dict[int, list[tuple[int, int]]] | None = None,
) -> Iterator[list[str]]:
    """Yield rows with one text for each column, and add those of wide cells to ``wide``.

    A short text is in each of the columns and rows that its cell spans. The first cell of a row
    names the row and is not repeated beside it. Columns that no row has a cell for are not filled:
    a page may say 99 for "all".
    """
    most = count_columns(rows)
    reaching: dict[int, tuple[str, int]] = {}
    repeated = 0
    for number, row in enumerate(rows, start=1):
        texts: list[str] = []
        below: dict[int, tuple[str, int]] = {}
        for cell in row:
            while len(texts) in reaching:
                texts.append(_extend(reaching, below, len(texts)))
            width = max(1, min(cell.columns, MAX_SPAN))
            first, short = len(texts), cell.text if len(cell.text) <= MAX_HEADER_LENGTH else ""
            if wide is not None and width > 1 and cell.text:
                wide.setdefault(number, []).append((first, first + width - 1))
            filled = max(0, min(width, most - first) - 1) if first else 0
            texts += [cell.text, *[short] * filled, *[""] * (width - 1 - filled)]
            for column in range(first, len(texts)) if cell.rows > 1 else ():
                below[column] = texts[column] and short, cell.rows - 1
        for column in range(len(texts), max(reaching, default=-1) + 1):
            texts.append(_extend(reaching, below, column) if column in reaching else "")
        repeated += len(below)
        reaching = below if repeated <= MAX_REPEATED else {}
        yield texts


def count_columns(rows: Sequence[Sequence[SpanningCell]]) -> int:
    """Return the most cells that a row has with those that reach into it from above."""
    most = reaching = 0
    ends: Counter[int] = Counter()
    for number, row in enumerate(rows):
        reaching -= ends[number]
        most = max(most, len(row) + reaching)
        for cell in row:
            if cell.rows > 1:
                reaching += 1
                ends[number + cell.rows] += 1
    return most


def rows_on_a_line(rows: Sequence[Sequence[str]]) -> str:
    """Return the rows of a table that is in a cell of another one."""
    if len(rows) > 1 and names_columns(rows[0], rows[1]):
        names, *others = rows
        rows = [[f"{n}: {cell}" for n, cell in zip(names, row, strict=False)] for row in others]
        return "; ".join(map(", ".join, rows))
    return "; ".join(map(" ".join, rows))


def _extend(
    above: dict[int, tuple[str, int]], below: dict[int, tuple[str, int]], column: int
) -> str:
    """Return the text of the cell that spans into this row, and record the rows it still spans."""
    text, rows = above[column]
    if rows > 1:
        below[column] = (text, rows - 1)
    return text


_WORD = (
    r"(?:grand[ -]?totals?|sub[ -]?totals?|totals?|sums?|summe|gesamt(?:summe)?|zwischensumme"
    r"|insgesamt|sous[ -]total|totale?s?|総計|合計|小計|[合总總小共](?:计|計))"
)
_ALONE = re.compile(rf"{_WORD}(?: general| général)?\s*[:：]?|∑|Σ", re.IGNORECASE)
_BEHIND = re.compile(rf"(?P<of>.*?)\s*[-–:,]?\s*{_WORD}\s*[:：]?", re.IGNORECASE)
_BEFORE = re.compile(rf"{_WORD}\b[\s:–-]+(?:of |for |für |de )?(?P<of>.+)", re.IGNORECASE)
_ALL = re.compile(r"(?:all|overall|alle?)\b.{0,40}|(?:全部|所有).{0,20}", re.IGNORECASE)
_MEAN = re.compile(
    r"(?:average|mean|avg\.?|durchschnitt|mittelwert|moyenne|平均值?)\s*[:：]?", re.IGNORECASE
)
_HINT = re.compile(
    r"total|sum|gesamt|insgesamt|∑|Σ|[合总總小共総][计計計]|average|mean|avg|durchschnitt|mittel|moyenne"
    r"|平均|all|全部|所有",
    re.IGNORECASE,
)
_MAX_STARTS = 12
"""Most places where the rows that a total sums up may begin: the first row, and other totals."""
_MAX_NAMED = 50
"""Most rows above a total in which its name is looked for."""
_LABEL_LENGTH = 60


def total_rows(rows: Sequence[tuple[int, Sequence[str]]]) -> frozenset[int]:
    """Return the numbers of the rows of totals, subtotals and means.

    A label alone is not enough: "Total Care" may be a product. Its figures must be sums of rows
    above (or below, for a first row), or the row has none of the texts that the others have.
    """
    labels = {
        place: label for place, (_, row) in enumerate(rows) if (label := _label(row)) is not None
    }
    if not labels or len(rows) < 2:
        return frozenset()
    return _Totals(rows, labels).find()


def _label(row: Sequence[str]) -> str | None:
    """Return the label of a row that may be a total: "" for a row of figures without a label."""
    texts = [cell for cell in row if cell and any(map(str.isalpha, cell))]
    for text in texts:
        if len(text) <= _LABEL_LENGTH and _HINT.search(text):
            for form in (_ALONE, _MEAN, _BEHIND, _BEFORE, _ALL):
                if form.fullmatch(text):
                    return text
    return "" if row and not row[0] and not texts else None


class _Totals:
    """The search for totals among the rows with a ``labels`` entry by their place."""

    def __init__(self, rows: Sequence[tuple[int, Sequence[str]]], labels: dict[int, str]) -> None:
        self._rows = [row for _, row in rows]
        self._numbers = [number for number, _ in rows]
        self._labels = labels
        data = [place for place in range(len(rows)) if place not in labels]
        columns = list(zip_longest(*self._rows, fillvalue=""))
        signs = signs_of([[column[place] for place in data] for column in columns])
        self._figures: list[list[int | float | None]] = []
        self._texts: list[int] = []
        for place, column in enumerate(columns):
            figures = [number_of(cell, signs) for cell in column]
            filled = [row for row in data if column[row]]
            if filled and 2 * sum(figures[row] is not None for row in filled) > len(filled):
                self._figures.append(figures)
            elif 2 * len(filled) > len(data):
                self._texts.append(place)
        # Sums, numbers of rows and largest figures of the data above each row.
        self._sums: list[list[float]] = [[0.0] for _ in self._figures]
        self._largest = [0.0 for _ in self._figures]
        self._counts = [0]
        self._starts = [0]

    def find(self) -> frozenset[int]:
        """Return the numbers of the rows that are totals."""
        found: set[int] = set()
        group = 0
        end = len(self._rows)
        while end - 1 in self._labels:
            end -= 1
        if 0 in self._labels and self._is_sum_of_all():
            found.add(0)
        for place, row in enumerate(self._rows):
            is_total = place in found or (
                place > 0
                and place in self._labels
                and self._is_total(place, group, is_last=place >= end)
            )
            if is_total:
                found.add(place)
                self._starts = [0, *self._starts[1 - _MAX_STARTS :], place + 1]
            elif row[0] and (place == 0 or row[0] != self._rows[place - 1][0]):
                group = place
            for column, figures in enumerate(self._figures):
                figure = 0 if is_total else figures[place] or 0
                self._sums[column].append(self._sums[column][-1] + figure)
                self._largest[column] = max(self._largest[column], figure)
            self._counts.append(self._counts[-1] + (not is_total))
        return frozenset(self._numbers[place] for place in found)

    def _is_total(self, place: int, group: int, *, is_last: bool) -> bool:
        row, label = self._rows[place], self._labels[place]
        figures = [(c, known[place]) for c, known in enumerate(self._figures)]
        stated = [(column, figure) for column, figure in figures if figure is not None]
        counts = [self._summed(place, column, figure, group) for column, figure in stated]
        agreeing = sum(map(bool, counts))
        is_sum = 0 < len(counts) <= 2 * agreeing
        rows = max(counts, default=0)
        if not label:
            return agreeing == len(counts) > 0 and rows > 1
        is_first = label == next(filter(None, row))
        lacks_texts = any(place >= len(row) or not row[place] for place in self._texts)
        may_be_sum = all(figure >= self._largest[column] for column, figure in stated)
        if is_sum and (rows > 1 or lacks_texts):
            return True
        if _MEAN.fullmatch(label):
            return lacks_texts or (is_last and is_first)
        part = _BEHIND.fullmatch(label) or _BEFORE.fullmatch(label)
        if part and part["of"] and self._names_rows(place, part["of"]):
            return may_be_sum or is_sum
        if _BEHIND.fullmatch(label):
            return (is_sum and is_first) or (may_be_sum and (lacks_texts or (is_last and is_first)))
        return False

    def _summed(self, place: int, column: int, figure: float, group: int) -> int:
        """Return how many rows above have this sum, or this mean; 0 if none do."""
        sums, counts = self._sums[column], self._counts
        for start in {*self._starts, group}:
            rows = counts[place] - counts[start]
            total = sums[place] - sums[start]
            margin = 1e-9 * abs(total) + (0.0051 * rows if total != int(total) else 0)
            if rows and abs(total - figure) <= margin:
                return rows
            is_mean = rows > 1 and _MEAN.fullmatch(self._labels[place])
            if is_mean and abs(total / rows - figure) <= max(0.051, 1e-3 * abs(figure)):
                return rows
        return 0

    def _is_sum_of_all(self) -> bool:
        """Return True if a first row has the sums of all rows below it."""
        pairs = [(known[0], known[1:]) for known in self._figures if known[0] is not None]
        below = [place for place in range(1, len(self._rows)) if place not in self._labels]
        return (
            len(below) > 1
            and bool(pairs)
            and all(
                abs(sum(rest[place - 1] or 0 for place in below) - first)
                <= 1e-6 * max(1, abs(first))
                for first, rest in pairs
            )
        )

    def _names_rows(self, place: int, name: str) -> bool:
        """Return True if some of the rows above have this text."""
        above = self._rows[max(0, place - _MAX_NAMED) : place]
        return any(name.casefold() == cell.casefold() for row in above for cell in row)


LEADING_ROWS = 20
"""Most rows to search for a header; a title and notes may be above it."""
_SEEN_ROWS = 30
_MIN_FILLED = 0.6
"""Smallest width of a header relative to the rows below, and smallest share of cells it names."""
_MAX_HEADER_ROWS = 4
SECTION = "Section"
"""The name of a column of titles that have rows of their own."""
MIN_COLUMNS = 2
_NOTES_ABOVE = 6
"""Most rows of names and values above a table that are not a table of their own."""
_VALUE = re.compile(r"[^\W\d]{0,4}[\s$€£¥(+−-]*\d[\d.,:'’/%()\s-]*[^\d]{0,9}|[12]\d{3}[-/.年]\S+")
_UNIT = re.compile(
    r"[\[(].{1,12}[\])]|[%‰°$€£¥#]{1,2}|[^\W\d_]{1,4}[²³23]?(?:[/·*]\S{1,6})?|[A-Z]{3}|units?|pcs|pieces"
)
_CHINESE_UNITS = ("元", "万元", "亿元", "人", "个", "吨", "米", "千克", "公斤", "件", "台", "天")
_UNIT_LABEL = re.compile(
    r"|-|units?|einheit(?:en)?|unités?|单位|單位|[\[(].{1,12}[\])]", re.IGNORECASE
)
_NOTE = re.compile(
    r"(?:\*|\(?\d\)|(?:source|notes?|quelle|hinweis|remarks?|footnotes?|data|as of|stand)\b"
    r"|注|备注|備註|数据来源|来源|资料来源).*",
    re.IGNORECASE,
)


class Row(NamedTuple):
    """The cells of a row with its number in the file, from 1."""

    number: int
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Grid:
    """A table of cells: the rows above the header, the header, and the rows below.

    If no header was found, ``header`` is empty and all rows are in ``rows``. ``apart`` are the
    numbers of rows that are not data: totals, repeated headers, titles of sections and notes.
    Rows below the title of a section have it in a last column, ``SECTION``.
    """

    above: tuple[tuple[str, ...], ...]
    header: tuple[str, ...]
    rows: tuple[Row, ...]
    apart: frozenset[int] = frozenset()


def read_table(
    rows: Sequence[Sequence[SpanningCell]], *, marked: int = 0, may_have_header: bool = True
) -> Grid:
    """Return the table of a page, whose cells have spans and marks.

    The header has the ``marked`` first rows, else those of which all cells are marked as names.
    Without either, it ``may_have_header`` that looks like one. Rows of one cell over the whole
    table are titles: at the top, of the table, and further below, of the rows that follow. So are
    rows with nothing but a marked name, if no other row begins with one.
    """
    wide: dict[int, list[tuple[int, int]]] = {}
    spread = (Row(n, tuple(row)) for n, row in enumerate(spread_cells(rows, wide), start=1))
    lines = [(row, cells) for row, cells in zip(spread, rows, strict=True) if any(row.cells)]
    above: list[tuple[str, ...]] = []
    while lines and len(lines[0][1]) == 1 and any(len(cells) > 1 for _, cells in lines[1:3]):
        above.append(lines.pop(0)[0].cells)
    width = count_columns(rows)
    whole = {row.number for row, cells in lines if len(cells) == 1 < width <= cells[0].columns}
    named = takewhile(lambda line: line[0].number not in whole and are_names(line[1]), lines)
    found = [row for row, _ in lines]
    in_head = sum(row.number <= marked for row in found)
    count = in_head or sum(1 for _ in named) % max(1, len(lines))
    if len(found) > 1 and (count or not _is_keyed([cells for _, cells in lines])):
        first, second = found[0].cells, found[1].cells
        inner = {n for a, b in wide.get(found[0].number, ()) for n in range(a + 1, b + 1)}
        first = tuple("" if n in inner else name for n, name in enumerate(first))
        count = count or int(may_have_header and names_columns(first, second))
        end = _header_end(found, max(0, count - 1), wide)
        count = min(end if count or end > 1 else 0, len(found) - 1)
    body = found[count:]
    marked_keys = {row.number for row, cells in lines[count:] if cells and cells[0].is_name}
    if marked_keys <= {row.number for row in body if not any(row.cells[1:])}:
        whole |= marked_keys
    titles = {
        row.number
        for row, below in pairwise(body)
        if row.number in whole and is_title_like(row.cells[0])
    }
    apart = total_rows([row for row in body if row.number not in whole]) | whole
    return _with_sections(
        Grid(tuple(above), _column_names(found[:count], wide), tuple(body), apart), titles
    )


def _with_sections(grid: Grid, titles: Collection[int]) -> Grid:
    """Return a grid whose rows of data have the title of their section behind their cells."""
    width = max([len(grid.header), *(len(row.cells) for row in grid.rows)])
    section: tuple[str, ...] = ()
    is_below = False
    rows: list[Row] = []
    for row in grid.rows:
        is_title = row.number in titles
        if is_title:
            title = next(filter(None, row.cells))
            section = (f"{section[0]}, {title}" if is_below else title,)
        is_below = is_title
        if section and not is_title and row.number not in grid.apart:
            blank = [""] * (width - len(row.cells))
            rows.append(Row(row.number, (*row.cells, *blank, *section)))
        else:
            rows.append(row)
    if not section or not grid.header:
        return replace(grid, rows=tuple(rows))
    blank = [""] * (width - len(grid.header))
    return replace(grid, header=(*grid.header, *blank, SECTION), rows=tuple(rows))


def are_names(cells: Sequence[SpanningCell]) -> bool:
    """Return True if all cells of a row but blank ones are marked as names, not only the first."""
    marks = [cell.is_name for cell in cells]
    return False not in marks and True in (marks[1:] or marks)


def _is_keyed(rows: Sequence[Sequence[SpanningCell]]) -> bool:
    """Return True if the first cell of every row names it: it alone is marked, or has a colon."""
    if not all(len(row) > 1 for row in rows):
        return False
    has_colons = all(row[0].text.endswith((":", "：")) for row in rows)
    return has_colons or all(
        row[0].is_name and not any(cell.is_name for cell in row[1:]) for row in rows
    )


def read_grids(
    rows: Iterable[tuple[int, Sequence[str]]],
    meter: TextMeter | None = None,
    *,
    header: Sequence[str] = (),
    wide: WideCells = {},  # noqa: B006 - never changed
) -> list[Grid]:
    """Return the tables in the numbered rows of a file or sheet, leaving out blank rows.

    ``meter`` counts the characters, and the cells before the last one of a row. All rows are below
    a known ``header``. ``wide`` are cells over several columns.

    A header is the first row that is about as wide as the rows below it, provided that it has
    short texts and no numbers; further header rows name parts of its columns, or units. Narrower
    rows above it are a title and notes. Below a blank row, or beside a blank column, another
    header begins another table.
    """
    filled: list[Row] = []
    for number, row in rows:
        if meter is not None:
            meter.add(sum(map(len, row)) + len(row))
        cells = tuple(map(_clean_cell, row))
        if any(cells):
            filled.append(Row(number, cells))
    if header:
        names = tuple(map(clean_line, header))
        return [Grid((), names, tuple(filled), total_rows(filled))]
    return [_as_grid(part, wide) for part in _split(filled)]


def _clean_cell(cell: str) -> str:
    if isinstance(cell, ShownCell):
        return cell
    if not cell.isascii() or "\x00" in cell:
        cell = clean_text(cell)
    if "\n" in cell or "\r" in cell:
        return _joined_lines(cell)
    return " ".join(cell.split())


def _joined_lines(cell: str) -> str:
    """Return the lines of a cell as one; the items of a list are separated by semicolons."""
    lines = [" ".join(line.split()) for line in cell.splitlines() if line.strip()]
    items = [re.sub(r"^[-*•·–]\s+", "", line) for line in lines]
    is_list = len(lines) > 2 or items != lines
    if not is_list or any(line[-1] in ",;:.!?-。，；：" or line[0] in "([" for line in lines[:-1]):
        return " ".join(lines)
    return "; ".join(items)


def _filled(row: Sequence[str]) -> int:
    return sum(map(bool, row))


class _Part(NamedTuple):
    """The rows of a table: its header is not above ``start``, and ``left`` is its first column."""

    rows: list[Row]
    start: int = 0
    left: int = 0


def _as_grid(part: _Part, wide: WideCells) -> Grid:
    rows, start, left = part
    if left:
        wide = {
            n: [(first - left, last - left) for first, last in cells] for n, cells in wide.items()
        }
    place = _find_header(rows[start:])
    if place is None:
        return Grid((), (), tuple(rows))
    place += start
    top = place
    while top > 0 and _is_group_row(rows[top - 1], rows[top], rows[place + 1 :], wide):
        top -= 1
    end = _header_end(rows, place, wide, most=_MAX_HEADER_ROWS - (place - top))
    body = [_with_wide_cells(row, wide.get(row.number, ())) for row in rows[end:]]
    above = tuple(row.cells for row in rows[:top])
    apart, titles = _rows_apart(body, [r.cells for r in rows[top:end]], wide)
    header = _column_names(rows[top:end], wide)
    return _with_sections(Grid(above, header, tuple(body), apart), titles)


def _with_wide_cells(row: Row, wide: Sequence[tuple[int, int]]) -> Row:
    """Repeat the short text of a wide cell in its columns, but for one that names the row."""
    cells = list(row.cells)
    for first, last in wide:
        if first and first < len(cells) and len(cells[first]) <= MAX_HEADER_LENGTH:
            cells[first : last + 1] = [cells[first]] * (last + 1 - first)
    return Row(row.number, tuple(cells)) if wide else row


def _rows_apart(
    body: Sequence[Row], headers: Sequence[tuple[str, ...]], wide: WideCells
) -> tuple[frozenset[int], set[int]]:
    """Return the numbers of rows that are not data, and those of the titles of sections."""
    labels: set[int] = set()
    apart = {row.number for row in body if row.cells in headers}
    if body and median(_filled(row.cells) for row in body) >= MIN_COLUMNS:
        single = {row.number for row in body if _filled(row.cells) == 1 and row.cells[0]}
        end = len(body)
        for place in range(len(body) - 1, 0, -1):
            row = body[place]
            if row.number not in single:
                break
            if row.number > body[place - 1].number + 1 or _NOTE.fullmatch(row.cells[0]):
                end = place
        apart |= {row.number for row in body[end:]}
        labels = single - {row.number for row in body[end - 1 :]}
        if len(labels) < 2 or len(headers[-1]) <= MIN_COLUMNS:  # one may lack its values
            labels = {number for number in labels if number in wide}
        apart |= labels
    totals = total_rows([row for row in body if row.number not in apart])
    titles = labels if body[:1] and body[0].number in labels else labels & wide.keys()
    return frozenset(apart | totals), titles


def _split(filled: Sequence[Row]) -> Iterator[_Part]:
    """Yield each table with the titles and notes above it."""
    current: list[Row] = []
    waiting: list[Row] = []
    start = 0
    for run in _runs(filled):
        sides = _sides(run)
        if len(sides) > 1:
            if current:
                yield _Part(current, start)
            for left, side in sides.items():
                yield _Part([*waiting, *side], 0, left)
                waiting = []
            current, waiting, start = [], [], 0
        elif all(_filled(row.cells) == 1 for row in run):
            waiting += run
        elif _begins_table(current, waiting, run):
            if _are_notes(current[start:], run):
                start = len(current) + len(waiting)
                current += [*waiting, *run]
            else:
                yield _Part(current, start)
                current, start = [*waiting, *run], 0
            waiting = []
        else:
            current += [*waiting, *run]
            waiting = []
    current += waiting
    if current:
        yield _Part(current, start)


def _runs(filled: Sequence[Row]) -> Iterator[list[Row]]:
    """Yield the rows between blank rows."""
    run: list[Row] = []
    for row in filled:
        if run and row.number > run[-1].number + 1:
            yield run
            run = []
        run.append(row)
    if run:
        yield run


def _begins_table(current: Sequence[Row], waiting: Sequence[Row], run: Sequence[Row]) -> bool:
    """Return True if the rows below a blank one are another table than the ``current`` ones."""
    titles = [row for row in run[:3] if _filled(row.cells) == 1]
    rows = run[len(titles) :]
    if not current or len(rows) < 2 or not _is_name_row(rows[0].cells):
        return False
    if _heads_values(rows[0].cells, rows[1:]):
        return all(row.cells != rows[0].cells for row in current[:LEADING_ROWS])
    place = _find_header(current)
    if place is None or place == len(current) - 1:
        return False
    has_labels = any(_filled(row.cells) == 1 for row in current[place + 1 :])
    return _is_wider(rows, current) or bool((titles or waiting) and not has_labels)


def _are_notes(current: Sequence[Row], run: Sequence[Row]) -> bool:
    """Return True for a row, or for a few names with values above a wider table."""
    is_narrow = max(_filled(row.cells) for row in current) <= MIN_COLUMNS
    return len(current) == 1 or (
        len(current) <= _NOTES_ABOVE and is_narrow and _is_wider(run, current)
    )


def _is_wider(rows: Sequence[Row], others: Sequence[Row]) -> bool:
    width = max(map(len, map(_trimmed, (row.cells for row in others))))
    return all(len(_trimmed(row.cells)) > width for row in rows[:_SEEN_ROWS])


def _sides(run: Sequence[Row]) -> dict[int, list[Row]]:
    """Return the tables that blank columns separate, by their first columns."""
    width = max(len(row.cells) for row in run)
    used = [False] * width
    for row in run:
        for place, cell in enumerate(row.cells):
            used[place] = used[place] or bool(cell)
    if all(used):
        return {0: list(run)}
    starts = [place for place in range(width) if used[place] and not (place and used[place - 1])]
    sides: dict[int, list[Row]] = {}
    heads: list[Row] = []
    for start, following in zip(starts, [*starts[1:], width], strict=True):
        cut = (Row(row.number, _trimmed(row.cells[start:following])) for row in run)
        side = [row for row in cut if any(row.cells)]
        head = _find_header(side)
        if head is None or len(side[head].cells) < MIN_COLUMNS:
            return {0: list(run)}
        sides[start] = side
        heads.append(side[head])
    is_apart = (
        len({tuple(row.number for row in side) for side in sides.values()}) > 1
        or any(set(one.cells) & set(other.cells) - {""} for one, other in pairwise(heads))
        or all(_filled(side[0].cells) == 1 or _has_key(side) for side in sides.values())
    )
    return sides if len(sides) > 1 and is_apart else {0: list(run)}


def _has_key(side: Sequence[Row]) -> bool:
    """Return True if the first cells are texts, and all others below the header are values."""
    body = side[1 : 1 + _SEEN_ROWS]
    return all(
        not _is_value(row.cells[0]) and all(map(_is_value, filter(None, row.cells[1:])))
        for row in body
    )


def _trimmed(cells: Sequence[str]) -> tuple[str, ...]:
    end = max((place for place, cell in enumerate(cells, start=1) if cell), default=0)
    return tuple(cells[:end])


def _is_value(cell: str) -> bool:
    return isinstance(cell, ShownCell) or bool(_VALUE.fullmatch(cell))


def _is_name_row(row: Sequence[str]) -> bool:
    return _filled(row) >= MIN_COLUMNS and all(map(_may_name, filter(None, row)))


def _heads_values(row: Sequence[str], below: Sequence[Row]) -> bool:
    """Return True if some text of a row stands above a column of numbers or dates."""
    for place, cell in enumerate(row):
        if not cell or number_of(cell) is not None:
            continue
        column = [other.cells[place] for other in below[:_SEEN_ROWS] if place < len(other.cells)]
        present = [other for other in column if other.lower() not in MISSING]
        if (
            present
            and all(map(_is_value, present))
            and _shape(cell) not in set(map(_shape, present))
        ):
            return True
    return False


def _shape(cell: str) -> str:
    return re.sub(r"[^\W\d_]+", "a", re.sub(r"\d+", "0", cell))


def _find_header(rows: Sequence[Row]) -> int | None:
    for place, (_, row) in enumerate(rows[:LEADING_ROWS]):
        below = rows[place + 1 : place + 1 + _SEEN_ROWS]
        if not below:
            return None
        if _filled(row) >= MIN_COLUMNS and _is_above(row, [cells for _, cells in below]):
            is_header = (
                names_columns(row)
                or _may_name_columns(row, below)
                or (place > 0 and _is_group_row(rows[place - 1], rows[place], below, {}))
            )
            return _wider_header(rows, place) if is_header else None
    return None


def _wider_header(rows: Sequence[Row], place: int) -> int:
    """Return the place of the header, given that of a row that may be a name and a value."""
    row = rows[place].cells
    for later in range(place + 1, min(place + _NOTES_ABOVE, len(rows) - 1)):
        cells, below = rows[later].cells, rows[later + 1 :]
        if (
            _filled(cells) > _filled(row)
            and _is_name_row(cells)
            and _heads_values(cells, below)
            and not _is_group_row(rows[later - 1], rows[later], below, {})
        ):
            return later
    return place


def _is_above(row: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Return True if a row is about as wide as the rows below, and covers most of their cells."""
    usual = median(map(_filled, below))
    filled = [place for cells in below for place, cell in enumerate(cells) if cell]
    named = sum(place < len(row) and bool(row[place]) for place in filled)
    return _filled(row) >= _MIN_FILLED * usual and named >= _MIN_FILLED * len(filled)


def _may_name_columns(row: Sequence[str], below: Sequence[Row]) -> bool:
    """Return True for short texts without digits, even repeated ones, and years above numbers."""
    years = [place for place, cell in enumerate(row) if YEAR.fullmatch(cell)]
    words = [cell for place, cell in enumerate(row) if cell and place not in years]
    if any(any(c.isdigit() for c in cell) or len(cell) > MAX_HEADER_LENGTH for cell in words):
        return False
    for place in years:
        column = [r[place] for _, r in below if place < len(r) and r[place]]
        if not words or not column or all(map(YEAR.fullmatch, column)):
            return False
    if len({row[place] for place in years}) < len(years):
        return False
    digits = [any(c.isdigit() for c in cell) for _, r in below for cell in r if cell]
    return sum(digits) * 4 >= len(digits) > 0


def _header_end(
    rows: Sequence[Row], place: int, wide: WideCells, *, most: int = _MAX_HEADER_ROWS
) -> int:
    """Return the place behind a header that has a row at ``place``, and ``most`` from it on."""
    bottom = place
    while bottom - place + 1 < most and bottom + 2 < len(rows):
        lower, below = rows[bottom + 1], rows[bottom + 2 :]
        is_group = _is_group_row(rows[bottom], lower, below, wide)
        if not is_group and not (bottom == place and _is_unit_row(rows[bottom], lower, below)):
            break
        bottom += 1
    return bottom + 1


def _column_names(header: Sequence[Row], wide: WideCells) -> tuple[str, ...]:
    """Return the names of the columns, whose parts are in several rows."""
    width = max((len(row.cells) for row in header), default=0)
    names = [[*row.cells, *[""] * (width - len(row.cells))] for row in header]
    for place, upper in enumerate(names[:-1]):
        has_lower = [any(other[n] for other in names[place + 1 :]) for n in range(width)]
        merged = wide.get(header[place].number)
        for column in range(1, width):
            is_within = (
                any(first < column <= last for first, last in merged)
                if merged
                else has_lower[column] and has_lower[column - 1]
            )
            if not upper[column] and is_within:
                upper[column] = upper[column - 1]
    return tuple(map(_joined_names, zip(*names, strict=True)))


def _is_group_row(upper: Row, lower: Row, below: Sequence[Row], wide: WideCells) -> bool:
    """Return True if the cells of a row name groups of the columns that the next row names."""
    width = max(len(upper.cells), len(lower.cells))
    above = [*upper.cells, *[""] * (width - len(upper.cells))]
    parts = [*lower.cells, *[""] * (width - len(lower.cells))]
    named = [place for place in range(width) if parts[place] and parts[place] != above[place]]
    merged = wide.get(upper.number, ())
    if len(named) < MIN_COLUMNS or not any(above) or not all(map(_may_name, filter(None, parts))):
        return False
    texts = [place for place in range(width) if above[place] or parts[place]]
    if any(first <= texts[0] and texts[-1] <= last for first, last in merged):
        return False  # a title
    covered = {place for first, last in merged for place in range(first, last + 1)}
    names_parts = any(parts[n] for first, last in merged for n in range(first + 1, last + 1))
    is_only = all(parts[n] in ("", above[n]) for n in range(width) if n not in covered)
    if names_parts and (is_only or _heads_values(parts, below[:1])):
        return True
    if not any(map(YEAR.fullmatch, parts)) and not _heads_values(parts, below):
        return False
    key = next(
        (
            place
            for place, cells in enumerate(zip_longest(above, parts, *(r.cells for r in below[:9])))
            if any(cells)
        ),
        0,
    )
    is_wide = all(
        place + 1 < width and not above[place + 1] for place in range(width) if above[place]
    )
    is_split = bool(above[key] and parts[key] and above[key] != parts[key]) and not is_wide
    gaps = [place for place in named if not above[place] and any(above[:place])]
    has_groups = _filled(above) >= MIN_COLUMNS or not above[key]
    return bool(gaps) and has_groups and not is_split


def _may_name(cell: str) -> bool:
    """Return True for a short text, or a year."""
    is_short = len(cell) <= MAX_HEADER_LENGTH and cell.lower() not in MISSING
    return is_short and (number_of(cell) is None or bool(YEAR.fullmatch(cell)))


def _is_unit_row(header: Row, lower: Row, below: Sequence[Row]) -> bool:
    """Return True if a row has the units of the columns with numbers, and nothing else."""
    label, *units = lower.cells
    if not any(units) or not header.cells[0] or not _UNIT_LABEL.fullmatch(label):
        return False
    return all(map(_UNIT.fullmatch, filter(None, units))) and _heads_values(lower.cells, below)


def _joined_names(names: Sequence[str]) -> str:
    """Return the name of a column by its header rows; a unit is put in brackets."""
    parts = list(dict.fromkeys(filter(None, names)))
    last = parts[-1] if len(parts) > 1 else ""
    if (
        _UNIT.fullmatch(last)
        and last == last.lower()
        and (last.isascii() or last in _CHINESE_UNITS)
    ):
        parts[-1] = parts[-1] if parts[-1][0] in "[(" else f"({parts[-1]})"
    return " ".join(parts)


def add_grid(writer: BlockWriter, grid: Grid) -> list[Span]:
    """Append a table with what is above it, and return the spans of its rows."""
    for above in grid.above:
        cells = list(filter(None, above))
        writer.paragraph((": " if len(cells) == 2 else ", ").join(cells))
    lead = writer.last if grid.above and is_title_like(writer.last) else None
    rows = [*filter(None, [grid.header]), *(row.cells for row in grid.rows)]
    return writer.table(rows, header=bool(grid.header), lead=lead)
