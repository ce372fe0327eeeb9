"""Aggregate functions: count, sum, avg, min, max, collect, standard deviations, percentiles."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable

from knotwork.cypher.property_graph import Value
from knotwork.cypher.runtime import Runtime, check_integer, require_number
from knotwork.cypher.values import Temporal, group_key, is_number, kind_of, order_key
from knotwork.errors import QuerySyntaxError


class Aggregate(ABC):
    """A running result; null values are never taken."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime

    @abstractmethod
    def add(self, value: Value) -> None:
        """Take one more value."""

    @abstractmethod
    def result(self) -> Value:
        """Return the result of all that was taken."""


class Count(Aggregate):
    """How many values there are."""

    total = 0

    def add(self, value: Value) -> None:  # noqa: ARG002
        self.total += 1

    def result(self) -> Value:
        return self.total


class Sum(Aggregate):
    """The sum of numbers or durations; nought for none."""

    total: Value = 0

    def add(self, value: Value) -> None:
        if not is_number(value) and not isinstance(value, Temporal):
            raise QuerySyntaxError(f"sum() adds numbers, not {kind_of(value)}.")
        if isinstance(value, Temporal) and self.total == 0:
            self.total = value
        else:
            self.total = self.runtime.operators.add(self.total, value)

    def result(self) -> Value:
        return check_integer(self.total) if isinstance(self.total, int) else self.total


class Average(Sum):
    """The mean of numbers or durations; null for none."""

    count = 0

    def add(self, value: Value) -> None:
        super().add(float(value) if is_number(value) else value)
        self.count += 1

    def result(self) -> Value:
        return self.runtime.operators.divide(self.total, float(self.count)) if self.count else None


class Minimum(Aggregate):
    """The first value in order."""

    descending = False
    best: Value = None
    key: tuple[object, ...] | None = None

    def add(self, value: Value) -> None:
        key = order_key(value, self.runtime.budget.step)
        if self.key is None or (key > self.key if self.descending else key < self.key):
            self.key, self.best = key, value

    def result(self) -> Value:
        return self.best


class Maximum(Minimum):
    """The last value in order."""

    descending = True


class Collect(Aggregate):
    """All values, in the order in which they came."""

    def __init__(self, runtime: Runtime) -> None:
        super().__init__(runtime)
        self.values: list[Value] = []

    def add(self, value: Value) -> None:
        self.values.append(value)
        self.runtime.budget.hold()
        if len(self.values) > self.runtime.budget.limits.items:
            self.runtime.budget.check_items(len(self.values))

    def result(self) -> Value:
        return self.values


class SampleDeviation(Collect):
    """The standard deviation of a sample."""

    least, apart = 2, 1

    def add(self, value: Value) -> None:
        super().add(float(require_number("stDev", value)))

    def result(self) -> Value:
        count = len(self.values)
        if count < self.least:
            return 0.0
        mean = math.fsum(self.values) / count
        squares = math.fsum((value - mean) ** 2 for value in self.values)
        return math.sqrt(squares / (count - self.apart))


class PopulationDeviation(SampleDeviation):
    """The standard deviation of everything there is."""

    least, apart = 1, 0


class Percentile(Collect):
    """The value below which a part of all values lies; ``take`` gets (value, part)."""

    part = 0.0

    def add(self, value: Value) -> None:
        chosen, part = value
        if not 0 <= require_number("percentile", part) <= 1:
            raise QuerySyntaxError(f"A percentile is between 0 and 1, not {part}.")
        self.part = part
        super().add(require_number("percentile", chosen))

    def ordered(self) -> list[float]:
        """Return the values, ascending."""
        self.runtime.budget.check_sort(len(self.values))
        return sorted(self.values)


class DiscretePercentile(Percentile):
    """One of the values."""

    def result(self) -> Value:
        values = self.ordered()
        if not values:
            return None
        return values[max(math.ceil(self.part * len(values)) - 1, 0)]


class ContinuousPercentile(Percentile):
    """A value between the two nearest."""

    def result(self) -> Value:
        values = self.ordered()
        if not values:
            return None
        place = self.part * (len(values) - 1)
        below = math.floor(place)
        above = min(below + 1, len(values) - 1)
        return values[below] + (values[above] - values[below]) * (place - below)


class Distinct(Aggregate):
    """Another aggregate, that takes equal values only once."""

    def __init__(self, runtime: Runtime, inner: Aggregate) -> None:
        super().__init__(runtime)
        self._inner = inner
        self._seen: set[Hashable] = set()

    def add(self, value: Value) -> None:
        kept = list(value) if isinstance(value, tuple) and type(value) is tuple else value
        key = group_key(kept, self.runtime.budget.step)
        if key not in self._seen:
            self._seen.add(key)
            self.runtime.budget.hold()
            self._inner.add(value)

    def result(self) -> Value:
        return self._inner.result()


AGGREGATES: dict[str, Callable[[Runtime], Aggregate]] = {
    "avg": Average,
    "collect": Collect,
    "count": Count,
    "max": Maximum,
    "min": Minimum,
    "percentilecont": ContinuousPercentile,
    "percentiledisc": DiscretePercentile,
    "stdev": SampleDeviation,
    "stdevp": PopulationDeviation,
    "sum": Sum,
}
