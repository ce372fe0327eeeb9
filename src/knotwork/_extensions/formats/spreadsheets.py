"""Load Excel workbooks and delimited text (CSV, TSV): tables of the text, and of its values.

Header rows are detected. Tables of values have no rows of totals, and a column is typed as integer,
number or date if all of its values are; otherwise it is text.
"""

from __future__ import annotations

import csv
import io
import re
import sys
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from knotwork._extensions.formats.column_types import is_currency, signs_of, type_column, units_of
from knotwork._extensions.formats.grids import MIN_COLUMNS, Grid, add_grid, read_grids
from knotwork._extensions.formats.number_formats import show_value
from knotwork._extensions.formats.office_markup import write_apart
from knotwork._indexing.loaders.blocks import BlockWriter
from knotwork._indexing.loaders.decoding import decode_text
from knotwork._indexing.loaders.loader import (
    Content,
    FormatLoader,
    Source,
    TextMeter,
    check_archive,
    clean_line,
    flat_metadata,
)
from knotwork._indexing.loaders.tables import MAX_HEADER_LENGTH, row_key
from knotwork._indexing.loaders.titles_and_captions import readable_name
from knotwork._text.visible import is_neutralized_export, restore_cell
from knotwork.records import Cell, Column, Span, Table

if TYPE_CHECKING:
    from openpyxl.workbook import Workbook

MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
DEFAULT_SHEET_NAME = re.compile(r"(?:sheet|tabelle|feuil|hoja|工作表)\s*\d*", re.IGNORECASE)
_SAMPLE_CHARACTERS = 20_000
_DELIMITERS = ",;\t|"
_MAX_COLUMN = 16_384
_THREAD = "Comment:\n"
"""Excel writes a notice for older versions above this, and the comment below it."""
_NOTE_MARK = re.compile(r" ?\[\^[^\[\]]{1,16}\]$")
_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_HYPERLINK = re.compile(r'\s*HYPERLINK\(\s*"([^"]+)"\s*(?:[,;]\s*"([^"]*)"\s*)?\)', re.IGNORECASE)


class SheetsLoader(FormatLoader, name="xlsx"):
    """Reads .xlsx: a page for each sheet, and the stored results of formulas, as they are shown."""

    def load(self, source: Source) -> Content:
        import openpyxl

        check_archive(source)
        workbook = openpyxl.load_workbook(
            io.BytesIO(source.data), read_only=True, data_only=True, keep_links=False
        )
        _write_shared_strings_apart(workbook)
        writer = BlockWriter(source)
        meter = TextMeter(source)
        try:
            for sheet in workbook.worksheets:
                if sheet.sheet_state != "visible":
                    source.left_out["hidden sheet"] += 1
                    continue
                writer.page(sheet.title)
                if not DEFAULT_SHEET_NAME.fullmatch(sheet.title):
                    writer.heading(1, sheet.title)
                rows = _SheetRows(workbook, sheet, meter)
                for words, target in rows.links():
                    writer.link(words, target)
                grids = read_grids(rows.numbered, wide=rows.wide)
                add_grids(writer, grids, name=str(sheet.title))
                for note in rows.notes():
                    writer.paragraph(note)
                source.left_out["uncalculated formula"] += rows.uncalculated
            properties = workbook.properties
        finally:
            workbook.close()
        metadata = flat_metadata(
            {
                "author": properties.creator,
                "subject": properties.subject,
                "keywords": properties.keywords,
                "pages": len(workbook.worksheets),
            }
        )
        return writer.content(
            MEDIA_TYPE,
            title=properties.title or readable_name(source.name),
            metadata=metadata,
        )


class _SheetRows:
    """The rows of a sheet with their numbers; merged cells are repeated in the rows they span.

    The sheet is read once, as a stream: only the texts of its cells are kept.
    """

    def __init__(self, workbook: Workbook, sheet: Any, meter: TextMeter) -> None:  # noqa: ANN401
        from openpyxl.utils.cell import coordinate_to_tuple
        from openpyxl.worksheet._reader import WorkSheetParser

        self._archive = workbook._archive  # noqa: SLF001
        self._path = str(sheet._worksheet_path)  # noqa: SLF001
        self.numbered: list[tuple[int, list[str]]] = []
        self.wide: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        self.uncalculated = 0
        self._targets: dict[tuple[int, int], str] = {}  # of links, by row and column
        self._formats = _formats_of(workbook)
        with sheet._get_source() as stream:  # noqa: SLF001 - as the iterator of its rows does
            parser = WorkSheetParser(
                stream,
                sheet._shared_strings,  # noqa: SLF001
                data_only=True,
                epoch=workbook.epoch,
                date_formats=workbook._date_formats,  # noqa: SLF001
                timedelta_formats=workbook._timedelta_formats,  # noqa: SLF001
            )
            parse_cell = parser.parse_cell

            def parse_and_count(element: Any) -> dict[str, Any]:  # noqa: ANN401
                cell: dict[str, Any] = parse_cell(element)
                if cell["data_type"] == "s" and element.get("t") == "inlineStr":
                    held = element.find(f"{_MAIN}is")
                    text = _rich_text(held)
                    cell["value"] = cell["value"] if text is None else text
                formula = element.find(f"{_MAIN}f")
                if formula is not None and (link := _HYPERLINK.match(formula.text or "")):
                    cell["value"] = cell["value"] or link[2] or link[1]
                    self._targets[cell["row"], cell["column"]] = link[1]
                if cell["value"] is None and formula is not None:
                    self.uncalculated += element.get("t") != "str"
                return cell

            parser.parse_cell = parse_and_count
            for number, cells in parser.parse():
                parser.row_dimensions.clear()
                row = self._row_of(cells)
                meter.add(sum(map(len, row)) + len(row))
                self.numbered.append((number, row))
            merged = parser.merged_cells
            linked = parser.hyperlinks.hyperlink
        targets = {part.Id: part.Target for part in self._related()} if linked else {}
        for link in linked:
            sheet = (link.location or "").rpartition("!")[0].strip("'")
            target = targets.get(link.id, "") + (f"#{sheet}" if sheet else "")
            self._targets[coordinate_to_tuple(link.ref.partition(":")[0])] = target
        areas = (area.bounds for area in merged.mergeCell) if merged else ()
        repeat_merged(self.numbered, areas, self.wide, meter)

    def links(self) -> Iterator[tuple[str, str]]:
        """Yield the words and the targets of links, in the order of the sheet."""
        for place, target in sorted(self._targets.items()):
            yield self._cell(*place)[1], target

    def _related(self) -> Any:  # noqa: ANN401 - relationships of openpyxl
        from openpyxl.packaging.relationship import get_dependents, get_rels_path

        parts = get_rels_path(self._path)
        is_there = parts in self._archive.namelist()
        return get_dependents(self._archive, parts) if is_there else ()

    def _cell(self, number: int, column: int) -> tuple[list[str], str]:
        """Return a row and a cell of it by their numbers."""
        place = bisect_left(self.numbered, (number,))
        is_known = place < len(self.numbered) and self.numbered[place][0] == number
        row = self.numbered[place][1] if is_known else []
        return row, row[column - 1] if column <= len(row) else ""

    def notes(self) -> Iterator[str]:
        """Yield the comments of cells, with the names of their rows."""
        from openpyxl.comments.comment_sheet import CommentSheet
        from openpyxl.utils.cell import coordinate_to_tuple
        from openpyxl.xml.constants import COMMENTS_NS
        from openpyxl.xml.functions import fromstring

        for part in self._related():
            if part.Type != COMMENTS_NS:
                continue
            sheet = CommentSheet.from_tree(fromstring(self._archive.read(part.target)))
            for reference, comment in sheet.comments:
                row, cell = self._cell(*coordinate_to_tuple(reference))
                label = ", ".join(dict.fromkeys(filter(None, (row_key(row), cell)))) or reference
                text = clean_line(comment.content.rpartition(_THREAD)[2])
                yield f"Note on {label}: {text.removeprefix(f'{comment.author}:').strip()}"

    def _row_of(self, cells: Iterable[dict[str, Any]]) -> list[str]:
        row: list[str] = []
        for cell in cells:
            if cell["value"] is None or not 0 < cell["column"] <= _MAX_COLUMN:
                continue
            place = cell["column"] - 1
            row += [""] * (place + 1 - len(row))
            style = int(cell["style_id"])
            known = self._formats[style] if style < len(self._formats) else "General"
            row[place] = show_value(cell["value"], known)
        return row


def repeat_merged(
    rows: Sequence[tuple[int, list[str]]],
    areas: Iterable[tuple[int, int, int, int]],
    wide: defaultdict[int, list[tuple[int, int]]],
    meter: TextMeter,
) -> None:
    """Repeat the short texts of merged cells in their further rows; add wide ones to ``wide``.

    An area is the first column, from 1, and row, and the last ones. The rows have their numbers.
    """
    for left, top, right, bottom in areas:
        place = bisect_left(rows, (top,))
        if place == len(rows) or rows[place][0] != top:
            continue
        row = rows[place][1]
        text = row[left - 1] if left <= len(row) else ""
        below = rows[place + 1 : place + 1 + bottom - top] if len(text) <= MAX_HEADER_LENGTH else ()
        for number, cells in [rows[place], *below] if text else ():
            meter.add(1)
            if number > bottom or not any(cells):
                continue
            meter.add(len(text))
            cells.extend([""] * (left - len(cells)))
            cells[left - 1] = cells[left - 1] or text
            if right > left:
                wide[number].append((left - 1, right - 1))


def _write_shared_strings_apart(workbook: Workbook) -> None:
    """Write the shared strings of a workbook with raised text apart and without struck text."""
    from openpyxl.xml.functions import iterparse

    archive = workbook._archive  # noqa: SLF001
    names = (name for name in archive.namelist() if name.lower().endswith("/sharedstrings.xml"))
    data = archive.read(name) if (name := next(names, "")) else b""
    if not workbook.worksheets or (b"vertAlign" not in data and b"strike" not in data):
        return
    first: Any = workbook.worksheets[0]
    strings = first._shared_strings  # noqa: SLF001 - one list for all sheets
    place = 0
    for _, element in iterparse(io.BytesIO(data)):
        if element.tag == f"{_MAIN}si":
            text = _rich_text(element)
            if text is not None and place < len(strings):
                strings[place] = text
            place += 1
            element.clear()


def _rich_text(element: Any) -> str | None:  # noqa: ANN401
    """Return a text with raised runs apart and without struck ones, None if it has neither."""
    runs: list[tuple[str, str]] = []
    is_changed = False
    for run in element.iterfind(f"{_MAIN}r"):
        look = {inner.tag: inner.get("val") for inner in run.iterfind(f"{_MAIN}rPr/*")}
        place = look.get(f"{_MAIN}vertAlign") or "baseline"
        is_struck = look.get(f"{_MAIN}strike", "0") not in ("0", "false")
        is_changed = is_changed or is_struck or place != "baseline"
        if not is_struck:
            text = run.findtext(f"{_MAIN}t") or ""
            runs.append((text, place if place in ("superscript", "subscript") else ""))
    return "".join(write_apart(runs)).strip() if is_changed else None


def _formats_of(workbook: Workbook) -> list[str]:
    """Return the number format of each style of cells."""
    from openpyxl.styles.numbers import BUILTIN_FORMATS, BUILTIN_FORMATS_MAX_SIZE

    own = workbook._number_formats  # noqa: SLF001 - the public name is that of one cell
    formats = {**BUILTIN_FORMATS, **dict(enumerate(own, start=BUILTIN_FORMATS_MAX_SIZE))}
    styles = workbook._cell_styles  # noqa: SLF001
    return [str(formats.get(style.numFmtId, "General")) for style in styles]


class DelimitedLoader(FormatLoader, name="csv"):
    """Reads .csv, with the delimiter that it uses, and .tsv."""

    def load(self, source: Source) -> Content:
        text = decode_text(source)
        # The limit of the csv module is global, and not needed: the file size is limited.
        csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
        tabs = source.suffix == ".tsv"
        declared = _DECLARED.match(text)
        text = text[declared.end() :] if declared else text
        comments, text = _leading_comments(text)
        delimiter = "\t" if tabs else _delimiter(text[:_SAMPLE_CHARACTERS])
        delimiter = declared[1] if declared else delimiter
        writer = BlockWriter(source)
        for comment in comments:
            writer.paragraph(comment)
        rows: Iterable[list[str]] = _records(text, delimiter)
        if is_neutralized_export(text[:_SAMPLE_CHARACTERS]):
            rows = ([restore_cell(cell) for cell in row] for row in rows)
        grids = read_grids(
            enumerate(rows, start=1 + len(comments) + bool(declared)), TextMeter(source)
        )
        add_grids(writer, grids, decimal="," if delimiter == ";" else "")
        return writer.content(
            "text/tab-separated-values" if tabs else "text/csv", title=readable_name(source.name)
        )


_DECLARED = re.compile(r"sep=([^\n])\n", re.IGNORECASE)
_COMMENT = re.compile(r"#(?![ \t]*[,;\t|]).*\n")
_MAX_CELL_LINES = 1_000
"""A cell with more lines has an opening quote that nothing closes."""
_MOST_RETRIES = 100


def _leading_comments(text: str) -> tuple[list[str], str]:
    """Return the comments above a table, and the text below them; the last may be the header."""
    comments: list[str] = []
    start = 0
    while match := _COMMENT.match(text, start):
        comments.append(match[0].strip("# \n"))
        start = match.end()
    following = text[start : start + _SAMPLE_CHARACTERS].partition("\n")[0]
    if comments and any(0 < comments[-1].count(d) == following.count(d) for d in _DELIMITERS):
        return comments[:-1], f"{comments[-1]}\n{text[start:]}"
    return comments, text[start:]


def _records(text: str, delimiter: str) -> Iterator[list[str]]:
    """Yield the rows; a line whose quotes do not close where a cell ends is split without them."""
    lines = text.split("\n")
    place = retries = 0

    def following() -> Iterator[str]:
        nonlocal place
        while place < len(lines):
            place += 1
            yield lines[place - 1] + "\n"

    reader = csv.reader(following(), delimiter=delimiter, strict=True)
    while place < len(lines):
        start = place
        try:
            row = next(reader)
        except csv.Error:
            row = None
        if row is None or place - start > _MAX_CELL_LINES:
            place = start + 1
            retries += 1
            row = [cell.replace('"', "") for cell in lines[start].split(delimiter)]
            if retries > _MOST_RETRIES:
                reader = csv.reader(following(), delimiter=delimiter, quoting=csv.QUOTE_NONE)
            else:
                reader = csv.reader(following(), delimiter=delimiter, strict=True)
        yield row


def add_grids(
    writer: BlockWriter, grids: Iterable[Grid], *, name: str = "", decimal: str = ""
) -> None:
    """Append the rows of tables, and record their values; ``decimal`` is the usual decimal sign."""
    for grid in grids:
        table = make_table(grid, add_grid(writer, grid), name=name, decimal=decimal)
        if table is not None:
            writer.tables.append(table)


def _delimiter(sample: str) -> str:
    """Return the delimiter that occurs equally often in most lines, "," by default."""
    lines = [line for line in sample.split("\n")[:50] if line.strip()]

    def regularity(delimiter: str) -> tuple[int, int]:
        counts = [line.count(delimiter) for line in lines]
        usual = max(set(counts), key=lambda count: (count > 0, counts.count(count)))
        return (counts.count(usual) if usual else 0, usual)

    return max(_DELIMITERS, key=regularity) if lines else ","


MAX_COLUMNS = 1_000
"""SQLite allows 2,000 columns; a wider table is a matrix."""


def make_table(
    grid: Grid, spans: Sequence[Span], *, name: str = "", decimal: str = ""
) -> Table | None:
    """Return the typed table of a grid; ``spans`` are the spans of its rows in the text.

    ``decimal`` is the decimal sign where the cells do not show it. Rows that are not data and
    columns without a name and values are left out. Returns None if the grid has
    no header or no rows, or fewer than ``MIN_COLUMNS`` or more than ``MAX_COLUMNS`` columns.
    """
    kept = [
        (row, number, span)
        for (number, row), span in zip(grid.rows, spans, strict=True)
        if number not in grid.apart
    ]
    if not grid.header or not kept:
        return None
    texts = list(zip_longest(grid.header, *(row for row, _, _ in kept), fillvalue=""))
    signs = signs_of([cells[1:] for cells in texts], decimal)
    named = [(label, cells) for label, *cells in texts]
    columns: list[Column] = []
    values: list[Sequence[Cell]] = []
    for place, (label, cells) in enumerate(named):
        if not label and not any(cells):
            continue
        kind, converted = type_column(cells, signs)
        bare = [_NOTE_MARK.sub("", cell) if cell.endswith("]") else cell for cell in cells]
        if kind == "text" and bare != cells:
            of_bare, numbers = type_column(bare, signs)
            kind, converted = (of_bare, numbers) if of_bare != "text" else (kind, converted)
        amounts = _with_currencies(cells, named[max(0, place - 1) : place + 2])
        units = units_of(amounts)
        if len(units) > 1:
            kind, converted = "text", [cell or None for cell in cells]
        columns.append(Column(label or f"column {place + 1}", kind))
        values.append(converted)
        for unit in sorted(units) if len(units) > 1 else ():
            kind, converted = type_column(
                [cell if units_of([cell]) == {unit} else "" for cell in amounts], signs
            )
            columns.append(Column(f"{label} ({unit})", kind))
            values.append(converted)
        if len(columns) > MAX_COLUMNS:
            return None
    if not MIN_COLUMNS <= len(columns) <= MAX_COLUMNS:
        return None
    return Table(
        name,
        tuple(columns),
        tuple(zip(*values, strict=True)),
        tuple(number for _, number, _ in kept),
        tuple(span for _, _, span in kept),
    )


def _with_currencies(
    cells: Sequence[str], columns: Sequence[tuple[str, Sequence[str]]]
) -> Sequence[str]:
    """Return the amounts of a column with the currencies that a column beside it states."""
    for _, beside in columns:
        if any(beside) and all(is_currency(cell) for cell in beside if cell):
            return [
                f"{cell} {unit}" if cell else "" for cell, unit in zip(cells, beside, strict=True)
            ]
    return cells
