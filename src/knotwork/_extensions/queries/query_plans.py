"""Query plans, the statements written from them, and the protocols of targets and translators.

A plan consists of typed fragments that fit together in only one way, whatever the query language.
Comparisons of a question become conditions; a question with a number or a negation that no
statement uses is refused.
"""

from __future__ import annotations

import datetime as dt
import re
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import ClassVar, Protocol

from knotwork._extensions.queries.target_schema import (
    ANY_KIND,
    LinkShape,
    PropertyShape,
    StoredValues,
    TargetSchema,
    ValueMention,
)
from knotwork._questions.languages import AmountComparison, Operator
from knotwork._questions.reading import reading_of
from knotwork.errors import QueryRefused
from knotwork.records import PropertyValue, QueryResult, Span


class Returned(StrEnum):
    """What a plan returns of its answer node."""

    THING = "thing"
    VALUE = "value"
    COUNT = "count"
    MAXIMUM = "max"
    MINIMUM = "min"
    AVERAGE = "avg"
    SUM = "sum"


@dataclass(frozen=True, slots=True)
class PropertyCondition:
    """A comparison of a node's property with a value; ``number`` compares texts by their number."""

    property: str
    value: PropertyValue
    operator: Operator = Operator.EQUALS
    number: bool = False


@dataclass(frozen=True, slots=True)
class PlanNode:
    """A node of a plan: its kind, or any kind, and conditions that must all hold."""

    kind: str = ANY_KIND
    conditions: tuple[PropertyCondition, ...] = ()


@dataclass(frozen=True, slots=True)
class PlanHop:
    """A link from an earlier node of the plan to a later one, both by number.

    ``forward`` is the direction of the relationship; None means either. ``also`` are alternative
    links.
    """

    source: int
    target: int
    link: LinkShape
    forward: bool | None = None
    also: tuple[LinkShape, ...] = ()

    @property
    def links(self) -> tuple[LinkShape, ...]:
        """All links that satisfy the hop."""
        return (self.link, *self.also)


@dataclass(frozen=True, slots=True)
class SortOrder:
    """The property of a node by which results are sorted, and their maximum number.

    Without a property they are sorted by the number of such nodes of each result.
    """

    node: int
    property: str = ""
    descending: bool = True
    limit: int = 1

    def ending(self) -> str:
        """Return the direction and the limit, as both languages write them behind ORDER BY."""
        return f"{'DESC' if self.descending else 'ASC'} LIMIT {max(int(self.limit), 1)}"


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """Nodes, hops between them, each to a new node, and what to return.

    ``score`` is how well the plan fits its question; it only serves to compare plans.
    """

    nodes: tuple[PlanNode, ...]
    hops: tuple[PlanHop, ...] = ()
    answer: int = 0
    returned: Returned = Returned.THING
    property: str = ""
    order: SortOrder | None = None
    score: float = 0.0

    def with_condition(self, node: int, condition: PropertyCondition) -> QueryPlan:
        """Return the plan with one more condition on a node."""
        nodes = list(self.nodes)
        nodes[node] = replace(nodes[node], conditions=(*nodes[node].conditions, condition))
        return replace(self, nodes=tuple(nodes))


def check_plan(plan: QueryPlan, schema: TargetSchema) -> None:
    """Raise QueryRefused if a plan contains unknown names or its parts do not fit."""
    for node in plan.nodes:
        if node.kind != ANY_KIND and node.kind not in schema.by_name:
            known = ", ".join(sorted(schema.by_name))
            raise QueryRefused(f"Unknown kind `{node.kind}`. Known: {known}.")
        for condition in node.conditions:
            _check_property(schema, node.kind, condition.property)
    reached = _check_hops(plan, schema)
    if plan.property:
        _check_property(schema, plan.nodes[plan.answer].kind, plan.property)
    elif plan.returned not in (Returned.THING, Returned.COUNT):
        raise QueryRefused(f"`{plan.returned}` needs a property.")
    if plan.order is not None:
        if plan.order.node not in reached:
            raise QueryRefused("The plan sorts by a node that it does not reach.")
        if plan.order.property:
            _check_property(schema, plan.nodes[plan.order.node].kind, plan.order.property)


def _check_hops(plan: QueryPlan, schema: TargetSchema) -> set[int]:
    """Return the numbers of the nodes reached, which must be all."""
    reached = {0}
    for hop in plan.hops:
        if hop.source not in reached or hop.target in reached or hop.target >= len(plan.nodes):
            raise QueryRefused("Every hop of a plan must lead from a reached node to a new one.")
        for link in hop.links:
            if link not in schema.links:
                known = ", ".join(sorted({link.name for link in schema.links}))
                raise QueryRefused(f"Unknown link `{link.name}`. Known: {known}.")
        reached.add(hop.target)
    if len(reached) != len(plan.nodes) or plan.answer not in reached:
        raise QueryRefused("Every node of a plan must be reached by a hop.")
    return reached


def _check_property(schema: TargetSchema, kind: str, name: str) -> None:
    kinds = [schema.by_name[kind]] if kind != ANY_KIND and kind in schema.by_name else schema.kinds
    if not any(item.property(name) for item in kinds):
        known = ", ".join(sorted({p.name for item in kinds for p in item.properties}))
        raise QueryRefused(f"`{kind or 'Nothing'}` has no property `{name}`. Known: {known}.")


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement with its parameters; ``origin`` explains its source.

    ``sureness`` from 0 to 1 is the translator's confidence that it asks what the question asks.
    ``is_planned`` is True if it was written from a plan that uses all numbers of the question.
    ``result`` is its result if it was run to find out whether it answers.
    """

    text: str
    parameters: Mapping[str, PropertyValue] = field(default_factory=dict)
    origin: str = ""
    sureness: float = 0.5
    is_planned: bool = False
    result: QueryResult | None = None


@dataclass(frozen=True, slots=True)
class Attempt:
    """A statement with its result, or with the problem that made it fail."""

    statement: Statement
    result: QueryResult | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class LinkedQuestion:
    """A question, the schema of the target, and the stored values that the question mentions."""

    text: str
    schema: TargetSchema
    mentions: tuple[ValueMention, ...] = ()


class QueryTarget(ABC):
    """A graph, or tables, that statements can only read.

    ``language`` is "cypher" or "sql"; ``words`` are a user's synonyms for names of the schema.
    Schema and values are read once for each version of the data.
    """

    language: ClassVar[str]

    def __init__(self, words: Mapping[str, tuple[str, ...]] | None, timeout_s: float) -> None:
        self._words = dict(words or {})
        self._timeout_s = timeout_s
        self._lock = threading.Lock()
        self._read: tuple[object, TargetSchema, StoredValues] | None = None

    def schema(self) -> TargetSchema:
        """Return the schema: kinds, links and properties, with counts and samples."""
        return self._current()[1]

    def values(self) -> StoredValues:
        """Return an index of the stored values."""
        return self._current()[2]

    def write(self, plan: QueryPlan) -> Statement:
        """Return the statement of a plan. Raises QueryRefused if the plan does not fit."""
        schema = self.schema()
        check_plan(plan, schema)
        text, parameters = self.write_text(plan, schema)
        return Statement(text, parameters, origin="fragments")

    @abstractmethod
    def write_text(
        self, plan: QueryPlan, schema: TargetSchema
    ) -> tuple[str, dict[str, PropertyValue]]:
        """Return the text of the statement of a plan that fits the schema, and its parameters."""

    @abstractmethod
    def run(self, statement: Statement, *, source: str = "") -> QueryResult:
        """Run a statement. Raises QuerySyntaxError, QueryRefused, QueryTimeout."""

    @abstractmethod
    def version(self) -> object:
        """Return what changes whenever the data does."""

    @abstractmethod
    def _read_current(self) -> tuple[TargetSchema, StoredValues]:
        """Read the schema and the values."""

    def _current(self) -> tuple[object, TargetSchema, StoredValues]:
        with self._lock:
            version = self.version()
            if self._read is None or self._read[0] != version:
                self._read = (version, *self._read_current())
            return self._read


class Translator(Protocol):
    """Translates a question into a statement, and again after failed attempts."""

    def translate(self, asked: LinkedQuestion, attempts: Sequence[Attempt]) -> Statement | None:
        """Return the next statement to try, or None if there is no other."""


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
    number, operator = comparison.number, comparison.operator
    if operator is Operator.DIFFERS:
        return ()
    if shape.type in {"integer", "number"} and number is not None:
        low = high = int(number) if number.is_integer() else number
        if comparison.is_whole_years:
            low, high = int(comparison.first[:4]), int(comparison.last[:4])
        return tuple(
            PropertyCondition(shape.name, value, bound, number=shape.quoted)
            for bound, value in _bounds(operator, low, high)
        )
    if shape.type != "date" or not comparison.is_time:
        return ()
    # A day with a time sorts after the day alone.
    following = (dt.date.fromisoformat(comparison.last) + dt.timedelta(days=1)).isoformat()
    exclusive = {Operator.AT_MOST: Operator.LESS, Operator.MORE: Operator.AT_LEAST}
    return tuple(
        PropertyCondition(
            shape.name, following if bound in exclusive else value, exclusive.get(bound, bound)
        )
        for bound, value in _bounds(operator, comparison.first, comparison.last, is_time=True)
    )


def _bounds(
    operator: Operator, low: PropertyValue, high: PropertyValue, *, is_time: bool = False
) -> list[tuple[Operator, PropertyValue]]:
    """Return conditions to be equal to, more or less than the range from low to high."""
    if operator is Operator.EQUALS and (low != high or is_time):
        return [(Operator.AT_LEAST, low), (Operator.AT_MOST, high)]
    return [(operator, high if operator in (Operator.MORE, Operator.AT_MOST) else low)]
