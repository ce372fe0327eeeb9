"""Records of filters, which restrict a search to some documents and pages.

A filter is a tree of conditions on fields. Documents have the fields of their front matter or file
metadata, and some derived ones; `knotwork._stores.fields` lists them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Comparison(StrEnum):
    """How a condition compares a field with its values."""

    EQUAL = "="
    """Any value of the field equals any value of the condition; ``*`` matches any text."""
    LESS = "<"
    AT_MOST = "<="
    MORE = ">"
    AT_LEAST = ">="
    CONTAINS = "contains"
    """Any value of the field contains any value of the condition as a substring."""
    PRESENT = "is set"
    """The field has a value."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A comparison of a field with values; with several values, it holds if it holds for any.

    Values are texts; those that are numbers or dates are compared as such.
    """

    field: str
    comparison: Comparison
    values: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.comparison is Comparison.PRESENT:
            return f"{self.field} is set"
        shown = [_quote(value) for value in self.values]
        if len(shown) == 1:
            return f"{self.field} {self.comparison} {shown[0]}"
        if self.comparison is Comparison.EQUAL:
            return f"{self.field} in ({', '.join(shown)})"
        either = " or ".join(f"{self.field} {self.comparison} {value}" for value in shown)
        return f"({either})"


@dataclass(frozen=True, slots=True)
class AllOf:
    """True if every part holds."""

    parts: tuple[Filter, ...]

    def __str__(self) -> str:
        return " and ".join(
            f"({part})" if isinstance(part, AnyOf) else str(part) for part in self.parts
        )


@dataclass(frozen=True, slots=True)
class AnyOf:
    """True if at least one part holds."""

    parts: tuple[Filter, ...]

    def __str__(self) -> str:
        return " or ".join(map(str, self.parts))


@dataclass(frozen=True, slots=True)
class Not:
    """True if the part does not hold, also for documents without the field."""

    part: Filter

    def __str__(self) -> str:
        return f"not {self.part}" if isinstance(self.part, Condition) else f"not ({self.part})"


Filter = Condition | AllOf | AnyOf | Not


def conditions(wanted: Filter) -> tuple[Condition, ...]:
    """Return the conditions of a filter, from left to right."""
    if isinstance(wanted, Condition):
        return (wanted,)
    parts = (wanted.part,) if isinstance(wanted, Not) else wanted.parts
    return tuple(condition for part in parts for condition in conditions(part))


def _quote(value: str) -> str:
    quote = '"' if "'" in value else "'"
    return f"{quote}{value}{quote}"
