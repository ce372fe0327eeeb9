"""What every part of a running statement has at hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from knotwork.cypher.graph import PropertyGraph, Value
from knotwork.cypher.limits import Budget
from knotwork.cypher.operators import Operators


@dataclass(slots=True)
class Runtime:
    """A graph, the values given with the statement, its budget, and one moment as the present."""

    graph: PropertyGraph
    budget: Budget
    parameters: Mapping[str, Value]
    operators: Operators = field(init=False)
    now: datetime = field(default_factory=lambda: datetime.now(UTC))

    def __post_init__(self) -> None:
        self.operators = Operators(self.budget)
