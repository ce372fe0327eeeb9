"""Relations that rows of tables state: "name: Ada Stone; manager: Bo Finch".

Loaders write a row of a CSV, Excel or JSON file as its fields, each behind the name of its column.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from knotwork.text.characters import HAN
from knotwork.transform.rules.occurrences import Occurrence

FEWEST_FIELDS = 3
"""A text with fewer fields may be prose: "Note: see below"."""

_FIELD = re.compile(r"\s*(?P<column>[^:;,.!?\n]{1,40}): (?P<value>[^;\n]*?)\s*(?:;(?=\s)|$)")
_HAN = re.compile(f"[{HAN}]")
_NO_SUBJECTS = frozenset({"DATE", "NUMBER", "IDENTIFIER"})
_DATES = frozenset({"DATE"})


class Cell(NamedTuple):
    """A column and the name that is its whole value."""

    column: str
    name: Occurrence


def read_row(text: str, names: Sequence[Occurrence]) -> list[tuple[Occurrence, str, Occurrence]]:
    """Return the relations of a row: its first value to each further value that is a name.

    Nothing is read if a part of the text is no field, or the first value is not a name.
    """
    cells = _read_cells(text, {(name.start, name.end): name for name in names})
    if not cells or cells[0] is None or cells[0].name.type in _NO_SUBJECTS:
        return []
    subject = cells[0].name
    return [
        (subject, _relation_of(cell), cell.name)
        for cell in cells[1:]
        if cell is not None and cell.name.form != subject.form
    ]


def _read_cells(text: str, names: Mapping[tuple[int, int], Occurrence]) -> list[Cell | None]:
    """Return the fields of a row, None for a value that is not a name; [] if it is not a row."""
    cells: list[Cell | None] = []
    place = 0
    while place < len(text.rstrip()):
        field = _FIELD.match(text, place)
        if field is None:
            return []
        name = names.get(field.span("value"))
        cells.append(Cell(field["column"].strip(), name) if name else None)
        place = field.end()
    return cells if len(cells) >= FEWEST_FIELDS else []


def _relation_of(cell: Cell) -> str:
    """Return "has manager", "since" of a date, "经理为"."""
    column = cell.column.replace("_", " ").lower()
    if _HAN.search(column):
        return f"{column}为"
    return column if cell.name.type in _DATES else f"has {column}"
