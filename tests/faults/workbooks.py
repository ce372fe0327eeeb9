"""Write small workbooks, and read them."""

import io

import openpyxl
from tests.faults.small_files import read


def workbook(rows=(), change=None, formats=()):
    """Return the bytes of a workbook with one sheet; ``change`` edits it.

    ``formats`` are the number formats of the second column, from the second row.
    """
    book = openpyxl.Workbook()
    sheet = book.active
    for row in rows:
        sheet.append(row)
    for number, shown in enumerate(formats, start=2):
        sheet.cell(number, 2).number_format = shown
    if change:
        change(book, sheet)
    data = io.BytesIO()
    book.save(data)
    return data.getvalue()


def merge(*areas):
    """Return a change that merges areas."""

    def change(_, sheet):
        for area in areas:
            sheet.merge_cells(area)

    return change


def tables_of(data):
    """Return the labels and rows of each table in delimited text, or in the bytes of a workbook."""
    document = read("table.csv" if isinstance(data, str) else "table.xlsx", data)
    return [([column.label for column in t.columns], list(t.rows)) for t in document.tables]


def rows_of(data):
    """Return the rows of the only table."""
    ((_, rows),) = tables_of(data)
    return rows
