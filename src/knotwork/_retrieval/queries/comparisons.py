"""Turn the comparisons of a question into conditions, and refuse what no condition honours.

A statement that does not use all numbers and negations of the question is refused.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Iterator, Mapping

from knotwork._questions.amounts import AmountComparison, Operator
from knotwork._questions.reading import reading_of
from knotwork._retrieval.queries.query_plans import PropertyCondition
from knotwork._retrieval.queries.target_schema import PropertyShape
from knotwork.errors import QueryRefused
from knotwork.records import PropertyValue, Span

_DIGITS = re.compile(r"(?<![A-Za-z_$])\d[\d,]*(?:\.\d+)?")
_NEGATION = re.compile(
    r"\b(?:not|never|without|except|excluding|neither|other than|apart from)\b|n['’]t\b"
    r"|没有?|不(?:是|在|属于|包括|含)|并非|除了?|未",
    re.IGNORECASE,
)


def require_numbers(text: str, held: Iterable[PropertyValue], *, compared: bool = False) -> None:
    """Raise QueryRefused for a number of the question that none of the ``held`` values contains.

    With ``compared``, numbers and times in comparisons are required too; of a time, its year.
    """
    known = set(_numbers_in(held))
    asked = reading_of(text)
    comparisons = () if compared else asked.comparisons
    for amount in asked.amounts:
        if any(c.span.start <= amount.span.start < c.span.end for c in comparisons):
            continue
        number = amount.number if amount.number is not None else int(amount.first[:4] or -1)
        if number not in known:
            written = text[amount.span.start : amount.span.end].strip()
            raise QueryRefused(f"No query takes “{written}” into account.")


def _numbers_in(values: Iterable[PropertyValue]) -> Iterator[float]:
    for value in values:
        if isinstance(value, bool) or value is None:
            continue
        if isinstance(value, int | float):
            yield float(value)
        elif isinstance(value, str):
            yield from (float(digits.replace(",", "")) for digits in _DIGITS.findall(value))
        else:
            yield from _numbers_in(value.values() if isinstance(value, Mapping) else value)


def require_no_negation(text: str, names: Iterable[Span]) -> None:
    """Raise QueryRefused for a question with a negation outside names and comparisons."""
    harmless = [*names, *(c.span for c in reading_of(text).comparisons)]
    for match in _NEGATION.finditer(text):
        if not any(span.start <= match.start() < span.end for span in harmless):
            raise QueryRefused(f"No query takes “{match[0].strip()}” into account.")


def conditions_of(
    comparison: AmountComparison, shape: PropertyShape
) -> tuple[PropertyCondition, ...]:
    """Return the conditions of a comparison on a property, or none if it does not apply.

    Times are compared with numbers as years, and with dates in the form YYYY-MM-DD.
    """
    if shape.type in {"integer", "number"}:
        return _on_numbers(comparison, shape)
    return _on_dates(comparison, shape) if shape.type == "date" and comparison.is_time else ()


def _on_numbers(
    comparison: AmountComparison, shape: PropertyShape
) -> tuple[PropertyCondition, ...]:
    if comparison.number is None or comparison.operator is Operator.DIFFERS:
        return ()
    number = comparison.number
    low = high = int(number) if number.is_integer() else number
    if comparison.is_whole_years:
        low, high = int(comparison.first[:4]), int(comparison.last[:4])
    return tuple(
        PropertyCondition(shape.name, value, operator, number=shape.quoted)
        for operator, value in _bounds(comparison.operator, low, high)
    )


def _on_dates(comparison: AmountComparison, shape: PropertyShape) -> tuple[PropertyCondition, ...]:
    if comparison.operator is Operator.DIFFERS:
        return ()
    # A day with a time sorts after the day alone.
    following = (dt.date.fromisoformat(comparison.last) + dt.timedelta(days=1)).isoformat()
    exclusive = {Operator.AT_MOST: Operator.LESS, Operator.MORE: Operator.AT_LEAST}
    return tuple(
        PropertyCondition(
            shape.name,
            following if operator in exclusive else value,
            exclusive.get(operator, operator),
        )
        for operator, value in _bounds(
            comparison.operator, comparison.first, comparison.last, is_time=True
        )
    )


def _bounds(
    operator: Operator, low: PropertyValue, high: PropertyValue, *, is_time: bool = False
) -> list[tuple[Operator, PropertyValue]]:
    """Return conditions to be equal to, more or less than the range from low to high."""
    if operator is Operator.EQUALS and (low != high or is_time):
        return [(Operator.AT_LEAST, low), (Operator.AT_MOST, high)]
    return [(operator, high if operator in (Operator.MORE, Operator.AT_MOST) else low)]
