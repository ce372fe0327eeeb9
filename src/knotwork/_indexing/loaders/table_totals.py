"""Find the rows of totals in a table by their labels and their sums."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import zip_longest

from knotwork._indexing.loaders.column_types import number_of, signs_of

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
