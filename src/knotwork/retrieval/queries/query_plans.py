"""Query plans, the statements written from them, and protocols of targets and translators.

A plan is made of typed fragments that fit together in only one way, whatever the query language.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Protocol

from knotwork.errors import QueryRefused
from knotwork.records import PropertyValue, QueryResult
from knotwork.retrieval.queries.stored_values import StoredValues, ValueMention
from knotwork.retrieval.queries.target_schema import ANY_KIND, LinkShape, TargetSchema


class Operator(StrEnum):
    """How a property is compared with a value."""

    EQUALS = "="
    DIFFERS = "<>"
    LESS = "<"
    AT_MOST = "<="
    MORE = ">"
    AT_LEAST = ">="
    CONTAINS = "contains"


class Returned(StrEnum):
    """What is returned of the answer."""

    THING = "thing"
    VALUE = "value"
    COUNT = "count"
    MAXIMUM = "max"
    MINIMUM = "min"
    AVERAGE = "avg"
    SUM = "sum"


@dataclass(frozen=True, slots=True)
class PropertyCondition:
    """A property of a node against a value; ``number`` compares text as the number it holds."""

    property: str
    value: PropertyValue
    operator: Operator = Operator.EQUALS
    number: bool = False


@dataclass(frozen=True, slots=True)
class PlanNode:
    """Something to find: of a kind, or of any, under conditions that all hold."""

    kind: str = ANY_KIND
    conditions: tuple[PropertyCondition, ...] = ()


@dataclass(frozen=True, slots=True)
class PlanHop:
    """A link from an earlier node of the plan (its number) to a later one.

    ``forward`` tells which way the relationship itself goes; None is either way. ``also`` are other
    links that will do.
    """

    source: int
    target: int
    link: LinkShape
    forward: bool | None = None
    also: tuple[LinkShape, ...] = ()

    @property
    def links(self) -> tuple[LinkShape, ...]:
        """All links that will do."""
        return (self.link, *self.also)


@dataclass(frozen=True, slots=True)
class SortOrder:
    """The property of a node by which results are sorted, and how many of them are wanted.

    Without a property they are sorted by how many such nodes each result has.
    """

    node: int
    property: str = ""
    descending: bool = True
    limit: int = 1


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """Nodes, hops between them (each to a node that no other hop leads to), and the answer.

    ``score`` says how well the plan fits its question, and is only good for comparing plans.
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
    """Raise QueryRefused for a plan that names what is not there, or whose parts do not fit."""
    for node in plan.nodes:
        if node.kind != ANY_KIND and node.kind not in schema.by_name:
            known = ", ".join(sorted(schema.by_name))
            raise QueryRefused(f"There is no kind `{node.kind}`. Known: {known}.")
        for condition in node.conditions:
            _check_property(schema, node.kind, condition.property)
    reached = _check_hops(plan, schema)
    if plan.property:
        _check_property(schema, plan.nodes[plan.answer].kind, plan.property)
    elif plan.returned not in (Returned.THING, Returned.COUNT):
        raise QueryRefused(f"`{plan.returned}` needs a property.")
    if plan.order is not None:
        if plan.order.node not in reached:
            raise QueryRefused("Results are ordered by what the plan does not find.")
        if plan.order.property:
            _check_property(schema, plan.nodes[plan.order.node].kind, plan.order.property)


def _check_hops(plan: QueryPlan, schema: TargetSchema) -> set[int]:
    """Return the numbers of the nodes that are reached, which must be all."""
    reached = {0}
    for hop in plan.hops:
        if hop.source not in reached or hop.target in reached or hop.target >= len(plan.nodes):
            raise QueryRefused("The hops of a plan must go from what is reached to what is not.")
        for link in hop.links:
            if link not in schema.links:
                known = ", ".join(sorted({link.name for link in schema.links}))
                raise QueryRefused(f"There is no link `{link.name}`. Known: {known}.")
        reached.add(hop.target)
    if len(reached) != len(plan.nodes) or plan.answer not in reached:
        raise QueryRefused("Every thing of a plan must be reached by a hop.")
    return reached


def _check_property(schema: TargetSchema, kind: str, name: str) -> None:
    kinds = [schema.by_name[kind]] if kind != ANY_KIND and kind in schema.by_name else schema.kinds
    if not any(item.property(name) for item in kinds):
        known = ", ".join(sorted({p.name for item in kinds for p in item.properties}))
        raise QueryRefused(f"`{kind or 'Nothing'}` has no property `{name}`. Known: {known}.")


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement with its parameters; ``origin`` says how it came to be, for a person.

    ``sureness`` in [0, 1] is how sure its translator is that it asks what the question asks.
    ``is_planned`` is True for the statement of a plan that honours all numbers of the question.
    """

    text: str
    parameters: Mapping[str, PropertyValue] = field(default_factory=dict)
    origin: str = ""
    sureness: float = 0.5
    is_planned: bool = False


@dataclass(frozen=True, slots=True)
class Attempt:
    """A statement that ran, or did not: its result or what was wrong, told for a translator."""

    statement: Statement
    result: QueryResult | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class LinkedQuestion:
    """A question with what it shares with the target: its schema, and stored values it names."""

    text: str
    schema: TargetSchema
    mentions: tuple[ValueMention, ...] = ()


class QueryTarget(Protocol):
    """A graph, or tables, that statements can read and do no more.

    ``language`` is "cypher" or "sql".
    """

    @property
    def language(self) -> str: ...

    def schema(self) -> TargetSchema:
        """Return what there is; made once for each state of the data."""

    def values(self) -> StoredValues:
        """Return what finds stored values by how a question writes them."""

    def write(self, plan: QueryPlan) -> Statement:
        """Return the statement of a plan. Raises QueryRefused for one that does not fit."""

    def run(self, statement: Statement, *, source: str = "") -> QueryResult:
        """Run a statement; raises QuerySyntaxError, QueryRefused, QueryTimeout."""


class Translator(Protocol):
    """Turns a question into a statement; asked again with what became of the earlier ones."""

    def translate(self, asked: LinkedQuestion, attempts: Sequence[Attempt]) -> Statement | None:
        """Return the next statement to try, or None where it has no (other) one."""
