"""Spreadsheets and delimited text: every row becomes a line that can be read on its own."""

from __future__ import annotations

import csv
import datetime as dt
import io
import re
import sys
from typing import Any

from knotwork.indexing.loaders.archives import check_archive
from knotwork.indexing.loaders.base import Content, Source, TextBuilder, flat_metadata
from knotwork.indexing.loaders.columns import make_table
from knotwork.indexing.loaders.decoding import decode_text
from knotwork.indexing.loaders.grids import Grid, read_grid
from knotwork.indexing.loaders.rows import add_row, plain_line
from knotwork.indexing.loaders.titles import readable_name

MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_DEFAULT_NAME = re.compile(r"(?:sheet|tabelle|feuil|hoja|工作表)\s*\d*", re.IGNORECASE)
_SAMPLE_CHARACTERS = 20_000


class SheetsLoader:
    """Reads .xlsx; a page for each sheet, formulas by their last computed value."""

    name = "xlsx"
    suffixes = (".xlsx", ".xlsm", ".xltx")
    signatures: tuple[bytes, ...] = ()

    def load(self, source: Source) -> Content:
        import openpyxl

        check_archive(source)
        workbook = openpyxl.load_workbook(
            io.BytesIO(source.data), read_only=True, data_only=True, keep_links=False
        )
        builder = TextBuilder()
        try:
            for sheet in workbook.worksheets:
                builder.page(sheet.title)
                if not _DEFAULT_NAME.fullmatch(sheet.title):
                    builder.heading(1, sheet.title)
                # The size a file claims may be absurd; without it, rows are as long as they are.
                sheet.reset_dimensions()
                rows = ([_cell_text(value) for value in row] for row in sheet.values)
                _add_grid(builder, read_grid(rows), name=str(sheet.title))
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
        return builder.content(
            MEDIA_TYPE, title=properties.title or readable_name(source.name), metadata=metadata
        )


class DelimitedLoader:
    """Reads .csv and .tsv with whatever delimiter and quotes they use."""

    name = "csv"
    suffixes = (".csv", ".tsv")
    signatures: tuple[bytes, ...] = ()

    def load(self, source: Source) -> Content:
        text = decode_text(source)
        # The module's limit guards nothing here (the file's size is bounded) and is global anyway.
        csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
        tabs = source.suffix == ".tsv"
        delimiter = "\t" if tabs else _delimiter(text[:_SAMPLE_CHARACTERS])
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        builder = TextBuilder()
        _add_grid(builder, read_grid(reader))
        return builder.content(
            "text/tab-separated-values" if tabs else "text/csv", title=readable_name(source.name)
        )


def _add_grid(builder: TextBuilder, grid: Grid, *, name: str = "") -> None:
    """Append a line for each row, and note the table that the rows form."""
    gap = "\n\n"
    for row in grid.above:
        builder.add(plain_line(row), gap=gap)
        gap = "\n"
    spans = []
    for _, row in grid.rows:
        spans.append(add_row(builder, grid.header, row, gap=gap))
        gap = "\n"
    if grid.header and not grid.rows:
        builder.add(plain_line(grid.header), gap=gap)
    table = make_table(grid, spans, name=name)
    if table is not None:
        builder.tables.append(table)


def _delimiter(sample: str) -> str:
    """Return the delimiter of which most lines have the same number."""
    lines = [line for line in sample.split("\n")[:50] if line.strip()]

    def regularity(delimiter: str) -> tuple[int, int]:
        counts = [line.count(delimiter) for line in lines]
        usual = max(set(counts), key=lambda count: (count > 0, counts.count(count)))
        return (counts.count(usual) if usual else 0, usual)

    return max(",;\t|", key=regularity) if lines else ","


def _cell_text(value: Any) -> str:  # noqa: ANN401 - whatever a cell holds
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, dt.datetime):
        text = value.isoformat(sep=" ", timespec="minutes")
        return text.removesuffix(" 00:00")
    return str(value)
