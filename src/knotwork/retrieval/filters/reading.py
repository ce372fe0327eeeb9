"""One filter from whatever form it is given in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from knotwork.errors import FilterError
from knotwork.records import AllOf, AnyOf, Condition, Filter, Not
from knotwork.retrieval.filters.language import parse_filter
from knotwork.retrieval.filters.mapping import map_filter

FilterSpec = str | Mapping[str, Any] | Filter | Sequence[str | Mapping[str, Any] | Filter]
"""A text of the filter language, a mapping, a `Filter`, or several of these that all must hold."""


def read_filter(given: FilterSpec | None) -> Filter | None:
    """Return the filter that is meant; None for an empty text, mapping or list.

    Raises FilterError.
    """
    if isinstance(given, Condition | AllOf | AnyOf | Not):
        return given
    if not given:
        return None
    if isinstance(given, str):
        return parse_filter(given) if given.strip() else None
    if isinstance(given, Mapping):
        return map_filter(given)
    if isinstance(given, Sequence):
        found = [part for part in map(read_filter, given) if part is not None]
        if not found:
            return None
        return found[0] if len(found) == 1 else AllOf(tuple(found))
    raise FilterError(
        f"A filter cannot be of the type `{type(given).__name__}`.",
        fix="Give a string, a mapping, a Filter or a list of these.",
    )
