"""Filters as plain mappings, in the way of document and vector databases.

``{"author": "Ann", "date": {"gte": "2023"}}`` means that all of it holds. Operators may begin with
``$``: eq, ne, gt, gte, lt, lte, in, nin, contains, exists, and between conditions and, or, not. A
list as a value means ``in``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date

from knotwork.errors import FilterError
from knotwork.records import AllOf, AnyOf, Comparison, Condition, Filter, Not

_COMPARISONS = {
    "eq": Comparison.EQUAL,
    "gt": Comparison.MORE,
    "gte": Comparison.AT_LEAST,
    "lt": Comparison.LESS,
    "lte": Comparison.AT_MOST,
    "in": Comparison.EQUAL,
    "contains": Comparison.CONTAINS,
}
_NEGATED = {"ne": Comparison.EQUAL, "nin": Comparison.EQUAL}
_OPERATORS = (*_COMPARISONS, *_NEGATED, "exists", "not")
_DEEPEST = 50


def map_filter(given: Mapping[str, object], depth: int = 0) -> Filter:
    """Return the filter that a mapping describes. Raises FilterError."""
    if depth > _DEEPEST:
        raise FilterError(f"The filter is nested more than {_DEEPEST} deep.")
    if not given:
        raise FilterError("A filter has no condition.", fix='Write {"FIELD": VALUE}.')
    parts = [_map_entry(str(name), value, depth) for name, value in given.items()]
    return parts[0] if len(parts) == 1 else AllOf(tuple(parts))


def _map_entry(name: str, value: object, depth: int) -> Filter:
    joining = name.removeprefix("$").lower()
    if joining in {"and", "or"} and (name.startswith("$") or _is_list(value)):
        parts = tuple(_map_part(part, depth) for part in _listed(value, name))
        if len(parts) == 1:
            return parts[0]
        return AllOf(parts) if joining == "and" else AnyOf(parts)
    if joining == "not" and (name.startswith("$") or isinstance(value, Mapping)):
        return Not(_map_part(value, depth))
    if isinstance(value, Mapping):
        if not value:
            raise FilterError(
                f"The field `{name}` has no operator.", fix=f"Operators are {_names()}."
            )
        found = [_compare(name, str(sign), operand, depth) for sign, operand in value.items()]
        return found[0] if len(found) == 1 else AllOf(tuple(found))
    return Condition(name, Comparison.EQUAL, _values(name, value))


def _compare(field: str, sign: str, operand: object, depth: int) -> Filter:
    operator = sign.removeprefix("$").lower()
    if operator == "exists":
        if not isinstance(operand, bool):
            raise FilterError(f"`exists` of the field `{field}` takes true or false.")
        present = Condition(field, Comparison.PRESENT)
        return present if operand else Not(present)
    if operator == "not":
        return Not(_map_entry(field, operand, depth + 1))
    if operator in _NEGATED:
        return Not(Condition(field, _NEGATED[operator], _values(field, operand)))
    if operator not in _COMPARISONS:
        raise FilterError(
            f"Unknown operator `{sign}` of the field `{field}`.", fix=f"Operators are {_names()}."
        )
    return Condition(field, _COMPARISONS[operator], _values(field, operand))


def _map_part(part: object, depth: int) -> Filter:
    if not isinstance(part, Mapping):
        raise FilterError(
            f"Expected a mapping of fields in a filter, got {part!r}.",
            fix='Write {"FIELD": VALUE}.',
        )
    return map_filter(part, depth + 1)


def _values(field: str, value: object) -> tuple[str, ...]:
    items = _listed(value, field) if _is_list(value) else [value]
    return tuple(_as_text(field, item) for item in items)


def _as_text(field: str, value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int | float):
        return f"{value:g}" if isinstance(value, float) and value.is_integer() else str(value)
    if isinstance(value, date):
        return value.isoformat()
    raise FilterError(
        f"The field `{field}` cannot be compared with {value!r}.",
        fix="Give a string, a number, a boolean, a date or a list of these.",
    )


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence | set | frozenset) and not isinstance(value, str | bytes)


def _listed(value: object, name: str) -> list[object]:
    if not _is_list(value) or not value:
        raise FilterError(f"`{name}` takes a list with at least one item, got {value!r}.")
    assert isinstance(value, Sequence | set | frozenset)
    return list(value) if isinstance(value, Sequence) else sorted(value, key=str)


def _names() -> str:
    return ", ".join(f"`{name}`" for name in _OPERATORS)
