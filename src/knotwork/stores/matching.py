"""Compare one value of a field with a condition: as numbers, as dates, or as text without case."""

from __future__ import annotations

import operator
import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, NamedTuple

from knotwork.records.filters import Comparison, Condition
from knotwork.stores.fields import PATH, field_name
from knotwork.text.dates import DayRange, read_day_range

_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")
_ANY = "*"
_ORDER: dict[Comparison, Callable[[Any, Any], bool]] = {
    Comparison.LESS: operator.lt,
    Comparison.AT_MOST: operator.le,
    Comparison.MORE: operator.gt,
    Comparison.AT_LEAST: operator.ge,
}


class _Value(NamedTuple):
    text: str
    number: float | None
    days: DayRange | None


class Matcher:
    """Decides whether values of a field fulfil a condition.

    Two values are compared as numbers if both are numbers, else as dates if both are dates, else as
    text without case, full width or repeated spaces. A date without a day or a month is the range
    of all its days: it equals a wider one that holds all of it, and is before or after another only
    if all its days are. Text is less or more only where neither side is a number or a date. A
    ``path`` is matched as a whole, from any folder on, or as a folder of files.
    """

    def __init__(self, condition: Condition) -> None:
        self._comparison = condition.comparison
        self._wanted = [_read(value) for value in condition.values]
        self._is_path = field_name(condition.field) == PATH

    def matches(self, value: str) -> bool:
        """Return whether a value fulfils the condition."""
        if self._comparison is Comparison.PRESENT:
            return True
        if self._comparison is Comparison.CONTAINS:
            text = _fold(value)
            return any(wanted.text in text for wanted in self._wanted)
        held = _read(value)
        if self._comparison is Comparison.EQUAL:
            if self._is_path:
                return any(_is_on_path(held.text, wanted.text) for wanted in self._wanted)
            return any(_is_equal(held, wanted) for wanted in self._wanted)
        return any(_is_ordered(held, self._comparison, wanted) for wanted in self._wanted)

    def matches_any(self, values: Iterable[str]) -> bool:
        """Return whether any value fulfils the condition."""
        return any(map(self.matches, values))


def _is_equal(held: _Value, wanted: _Value) -> bool:
    if held.text == wanted.text:
        return True
    if held.number is not None and wanted.number is not None:
        return held.number == wanted.number
    if held.days is not None and wanted.days is not None:
        return wanted.days.start <= held.days.start and held.days.end <= wanted.days.end
    return _ANY in wanted.text and _fits(held.text, wanted.text)


def _is_ordered(held: _Value, comparison: Comparison, wanted: _Value) -> bool:
    compare = _ORDER[comparison]
    if held.number is not None and wanted.number is not None:
        return compare(held.number, wanted.number)
    if held.days is not None and wanted.days is not None:
        return {
            Comparison.LESS: held.days.end <= wanted.days.start,
            Comparison.AT_MOST: held.days.end <= wanted.days.end,
            Comparison.MORE: held.days.start >= wanted.days.end,
            Comparison.AT_LEAST: held.days.start >= wanted.days.start,
        }[comparison]
    if any(side.number is not None or side.days is not None for side in (held, wanted)):
        return False
    return compare(held.text, wanted.text)


@lru_cache(maxsize=65_536)
def _read(value: str) -> _Value:
    text = _fold(value)
    number = float(text) if _NUMBER.fullmatch(text) else None
    return _Value(text, number, read_day_range(text))


def _fold(value: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", value).casefold().split())


def _fits(text: str, pattern: str) -> bool:
    """Return whether a text fits a pattern with ``*`` for any text; linear in both."""
    first, *middle, last = pattern.split(_ANY)
    if len(first) + len(last) > len(text) or not text.startswith(first) or not text.endswith(last):
        return False
    return _has_in_order(text[len(first) : len(text) - len(last)], middle)


def _is_on_path(path: str, pattern: str) -> bool:
    """Return whether whole parts of a path, next to each other, fit a pattern."""
    return _has_in_order(f"/{path.strip('/')}/", f"/{pattern.strip('/')}/".split(_ANY))


def _has_in_order(text: str, parts: Iterable[str]) -> bool:
    place = 0
    for part in parts:
        found = text.find(part, place)
        if found < 0:
            return False
        place = found + len(part)
    return True
