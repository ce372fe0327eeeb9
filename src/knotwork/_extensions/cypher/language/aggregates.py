"""Aggregate functions: count, sum, avg, min, max, collect, standard deviations, percentiles."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from functools import partial

from knotwork._extensions.cypher.language.kept_values import KeptValues, deep_bytes
from knotwork._extensions.cypher.language.limits import list_bytes
from knotwork._extensions.cypher.language.property_graph import Value
from knotwork._extensions.cypher.language.runtime import Runtime, check_integer, require_number
from knotwork._extensions.cypher.language.values import (
    Temporal,
    group_key,
    is_number,
    kind_of,
    order_key,
)
from knotwork.errors import QuerySyntaxError


class Aggregate(ABC):
    """The running result of an aggregate function; callers skip null values.

    ``kept`` counts the memory of the values that it keeps.
    """

    def __init__(self, runtime: Runtime, kept: KeptValues) -> None:
        self.runtime = runtime
        self.kept = kept

    @abstractmethod
    def add(self, value: Value) -> None:
        """Add a value."""

    @abstractmethod
    def result(self) -> Value:
        """Return the result over all values added."""


class Count(Aggregate):
    """The number of values."""

    total = 0

    def add(self, value: Value) -> None:  # noqa: ARG002
        self.total += 1

    def result(self) -> Value:
        return self.total


class Sum(Aggregate):
    """The sum of numbers or durations; 0 without values."""

    total: Value = 0

    def add(self, value: Value) -> None:
        if not is_number(value) and not isinstance(value, Temporal):
            raise QuerySyntaxError(
                f"sum() and avg() take numbers or durations, not {kind_of(value)}."
            )
        if isinstance(value, Temporal) and self.total == 0:
            self.total = value
        else:
            self.total = self.runtime.operators.add(self.total, value)

    def result(self) -> Value:
        return check_integer(self.total) if isinstance(self.total, int) else self.total


class Average(Sum):
    """The mean of numbers or durations; null without values."""

    count = 0

    def add(self, value: Value) -> None:
        super().add(float(value) if is_number(value) else value)
        self.count += 1

    def result(self) -> Value:
        return self.runtime.operators.divide(self.total, float(self.count)) if self.count else None


class Minimum(Aggregate):
    """The smallest value in the order of `order_key`; null without values."""

    descending = False
    best: Value = None
    key: tuple[object, ...] | None = None
    size = 0

    def add(self, value: Value) -> None:
        budget = self.runtime.budget
        key = order_key(value, budget.charge_part)
        if self.key is None or (key > self.key if self.descending else key < self.key):
            self.key, self.best = key, value
            size = 0 if is_number(value) else 2 * deep_bytes(value, budget)
            self.kept.grow(size - self.size)
            self.size = size

    def result(self) -> Value:
        return self.best


class Maximum(Minimum):
    """The largest value in the order of `order_key`; null without values."""

    descending = True


class Collect(Aggregate):
    """A list of all values in the order of their rows."""

    def __init__(self, runtime: Runtime, kept: KeptValues) -> None:
        super().__init__(runtime, kept)
        self.values: list[Value] = []

    def add(self, value: Value) -> None:
        self.values.append(value)
        self.kept.add(value, 9)
        if len(self.values) > self.runtime.budget.limits.items:
            self.runtime.budget.check_items(len(self.values))

    def result(self) -> Value:
        return self.values


class Figure(Collect):
    """A figure of all numbers.

    For a percentile, ``add`` takes a tuple (number, fraction from 0 to 1).
    """

    fraction = 0.0

    def __init__(
        self, runtime: Runtime, kept: KeptValues, name: str, figure: Callable[[Figure], Value]
    ) -> None:
        super().__init__(runtime, kept)
        self._name, self._figure = name, figure

    def add(self, value: Value) -> None:
        if type(value) is tuple:
            value, self.fraction = value
            if not 0 <= require_number(self._name, self.fraction) <= 1:
                raise QuerySyntaxError(
                    f"A percentile must be between 0 and 1, not {self.fraction}."
                )
        super().add(require_number(self._name, value))

    def ordered(self) -> list[float]:
        """Return the values in ascending order."""
        budget = self.runtime.budget
        budget.check_sort(len(self.values), len(self.values))
        budget.charge(list_bytes(len(self.values)))
        return sorted(self.values)

    def result(self) -> Value:
        return self._figure(self)


def _deviation(found: Figure, *, lost: int) -> float:
    """Return the standard deviation, 0.0 for too few values; a sample has lost a degree."""
    count = len(found.values)
    if count <= lost:
        return 0.0
    mean = math.fsum(found.values) / count
    squares = math.fsum((value - mean) ** 2 for value in found.values)
    return math.sqrt(squares / (count - lost))


def _nearest(found: Figure) -> float | None:
    """Return the percentile that is one of the values (nearest rank)."""
    values = found.ordered()
    return values[max(math.ceil(found.fraction * len(values)) - 1, 0)] if values else None


def _interpolated(found: Figure) -> float | None:
    """Return the percentile between the two nearest values."""
    values = found.ordered()
    if not values:
        return None
    position = found.fraction * (len(values) - 1)
    below = math.floor(position)
    above = min(below + 1, len(values) - 1)
    return values[below] + (values[above] - values[below]) * (position - below)


ENTRY_BYTES = 80
"""Memory of an entry in a set of keys, beside the key."""


class Distinct(Aggregate):
    """Another aggregate, to which equal values are added only once."""

    def __init__(self, runtime: Runtime, kept: KeptValues, inner: Aggregate) -> None:
        super().__init__(runtime, kept)
        self._inner = inner
        self._seen: set[Hashable] = set()

    def add(self, value: Value) -> None:
        # The (value, fraction) pairs of percentiles are tuples; paths are subclasses of tuple.
        plain = list(value) if type(value) is tuple else value
        key = group_key(plain, self.runtime.budget.charge_part)
        if key not in self._seen:
            self._seen.add(key)
            self.kept.add(key, ENTRY_BYTES)
            self._inner.add(value)

    def result(self) -> Value:
        return self._inner.result()


AGGREGATES: dict[str, Callable[[Runtime, KeptValues], Aggregate]] = {
    "avg": Average,
    "collect": Collect,
    "count": Count,
    "max": Maximum,
    "min": Minimum,
    "percentilecont": partial(Figure, name="percentile", figure=_interpolated),
    "percentiledisc": partial(Figure, name="percentile", figure=_nearest),
    "stdev": partial(Figure, name="stDev", figure=partial(_deviation, lost=1)),
    "stdevp": partial(Figure, name="stDev", figure=partial(_deviation, lost=0)),
    "sum": Sum,
}
