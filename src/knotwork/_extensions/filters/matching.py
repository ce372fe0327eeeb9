"""How a condition of a filter matches the values of a field."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from knotwork._stores.fields import BUILT_IN_FIELDS, DATE, FILE_DATE, PATH, field_name, fold
from knotwork._text.dates import DayRange, read_day_range
from knotwork.errors import FilterError, UnknownName
from knotwork.records import Comparison, Condition, Filter, conditions

_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")
_ANY = "*"
_VALID = {
    "date": "Write a date as 2024, 2024-05, 2024-05-03, `today`, `yesterday` or `tomorrow`.",
    "number": "Write a number, such as 12 or 1.5.",
}
_ORDER: dict[Comparison, Callable[[Any, Any], bool]] = {
    Comparison.LESS: operator.lt,
    Comparison.AT_MOST: operator.le,
    Comparison.MORE: operator.gt,
    Comparison.AT_LEAST: operator.ge,
}
_COMPARE: dict[Comparison, Callable[[Any, Any], bool]] = _ORDER | {Comparison.EQUAL: operator.eq}


class _Value(NamedTuple):
    text: str
    number: float | None
    days: DayRange | None

    @property
    def is_text(self) -> bool:
        return self.number is None and self.days is None


_VERSION_FIELD = re.compile(r"(?:^|[\W_])(?:version|release|revision|firmware)(?:$|[\W_])|版本")
_VERSION = re.compile(
    r"(?:v(?:er(?:sion|\.)?)? ?)?(\d{1,9}(?:\.\d{1,9})*)(?:[-_. ]?([a-z][^+]*))?(?:\+.*)?"
)
_SURE_VERSION = re.compile(r"v ?\d+(?:\.\d+)+.*|\d+(?:\.\d+){2,}(?:[-_.+ ]?[a-z].*)?")
_Version = tuple[tuple[int, ...], bool, tuple[tuple[int, str], ...]]


def holds_versions(field: str, values: Iterable[str]) -> bool:
    """Return True if a field holds versions, by its name or by values such as 1.9.2 and v1.9.

    In versions, 1.10 is above 1.9; in other numbers, it is below.
    """
    return _VERSION_FIELD.search(field) is not None or any(
        _SURE_VERSION.fullmatch(fold(value)) and not read_day_range(value) for value in values
    )


def _read_version(text: str) -> _Version | None:
    """Return a key that orders versions, with those before a release (2.0-rc1) below it."""
    match = _VERSION.fullmatch(text)
    if match is None:
        return None
    numbers = [int(part) for part in match[1].split(".")]
    while len(numbers) > 1 and not numbers[-1]:
        numbers.pop()
    before = re.findall(r"(\d{1,9})|([a-z]+)", match[2] or "")
    return tuple(numbers), not before, tuple((int(n or 0), word) for n, word in before)


class Matcher:
    """Check whether values of a field meet a condition.

    Two values compare as versions if the field has ``versions``, as numbers if both are numbers, as
    dates if both are dates, and else as text, ignoring case, full width and
    repeated spaces. A date without a day or month is a range of days.
    It equals a range that contains it, and is before or after another only if all its days are.
    Text has an order only if neither side is a number or a date. A ``path`` matches as a whole,
    from any folder on, or as a folder of files.
    """

    def __init__(self, condition: Condition, *, versions: bool = False) -> None:
        self._versions = versions
        self._comparison = condition.comparison
        self._wanted = [_read(value) for value in condition.values]
        self._given = condition.values
        self._name = field_name(condition.field)
        self._is_path = self._name == PATH

    def matches(self, value: str) -> bool:
        """Return True if the value meets the condition."""
        if self._comparison is Comparison.PRESENT:
            return True
        if self._comparison is Comparison.CONTAINS:
            text = fold(value)
            return any(wanted.text in text for wanted in self._wanted)
        held = _read(value)
        if self._is_path and self._comparison is Comparison.EQUAL:
            return any(_is_on_path(held.text, wanted.text) for wanted in self._wanted)
        return any(self._fits(held, wanted) for wanted in self._wanted)

    def _fits(self, held: _Value, wanted: _Value) -> bool:
        if self._versions:
            pair = _read_version(held.text), _read_version(wanted.text)
            if None not in pair:
                return _COMPARE[self._comparison](*pair)
        if self._comparison is Comparison.EQUAL:
            return _is_equal(held, wanted)
        return _is_ordered(held, self._comparison, wanted)

    def check(self, values: Sequence[str]) -> None:
        """Raise FilterError for an order that no value of the field can have with the condition.

        The values of the field are numbers or dates, and that of the condition is not.
        """
        if self._comparison not in _ORDER or not values:
            return
        is_date = self._name in {DATE, FILE_DATE}
        for value, wanted in zip(self._given, self._wanted, strict=True):
            if (is_date and wanted.days is None) or (
                wanted.is_text and not any(_read(held).is_text for held in values)
            ):
                kind = "date" if is_date or _read(values[0]).days else "number"
                raise FilterError(
                    f"The field `{self._name}` has values such as `{values[0]}`, and `{value}` is "
                    f"not a {kind}.",
                    fix=_VALID[kind],
                )


def _is_equal(held: _Value, wanted: _Value) -> bool:
    if held.text == wanted.text:
        return True
    if held.number is not None and wanted.number is not None:
        return held.number == wanted.number
    if held.days is not None and wanted.days is not None:
        return wanted.days.start <= held.days.start and held.days.end <= wanted.days.end
    return _ANY in wanted.text and _matches_pattern(held.text, wanted.text)


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
    text = fold(value)
    number = float(text) if _NUMBER.fullmatch(text) else None
    return _Value(text, number, read_day_range(text))


def _matches_pattern(text: str, pattern: str) -> bool:
    first, *middle, last = pattern.split(_ANY)
    if len(first) + len(last) > len(text) or not text.startswith(first) or not text.endswith(last):
        return False
    return _has_in_order(text[len(first) : len(text) - len(last)], middle)


def _is_on_path(path: str, pattern: str) -> bool:
    return _has_in_order(f"/{path.strip('/')}/", f"/{pattern.strip('/')}/".split(_ANY))


def _has_in_order(text: str, parts: Iterable[str]) -> bool:
    place = 0
    for part in parts:
        found = text.find(part, place)
        if found < 0:
            return False
        place = found + len(part)
    return True


def check_fields(wanted: Filter, known: Iterable[str]) -> None:
    """Raise UnknownName for the first field of a filter that is not among ``known``."""
    names = sorted({*BUILT_IN_FIELDS, *known})
    for condition in conditions(wanted):
        if field_name(condition.field) not in names:
            raise UnknownName("field", condition.field, names, place=" in this index")
