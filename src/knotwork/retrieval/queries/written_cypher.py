"""Plans written as Cypher: names in backticks where they need it, values as parameters alone."""

from __future__ import annotations

import re

from knotwork.errors import QueryRefused
from knotwork.records import PropertyValue
from knotwork.retrieval.queries.plans import (
    Operator,
    PlanHop,
    PropertyCondition,
    QueryPlan,
    Returned,
)
from knotwork.retrieval.queries.schema import PropertyShape, TargetSchema, is_day_first

_ORDERING = (Operator.LESS, Operator.AT_MOST, Operator.MORE, Operator.AT_LEAST)
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def quote_name(name: str) -> str:
    """Return a label, type or property as it may stand in a statement.

    Raises QueryRefused for a name with a control character.
    """
    if _PLAIN.fullmatch(name):
        return name
    if any(ord(c) < 32 for c in name):
        raise QueryRefused(f"The name {name!r} cannot stand in a statement.")
    return "`" + name.replace("`", "``") + "`"


def write_cypher(plan: QueryPlan, schema: TargetSchema) -> tuple[str, dict[str, PropertyValue]]:
    """Return the statement of a plan that fits the schema, and its parameters."""
    writer = _Writer(plan, schema)
    return writer.write(), writer.parameters


class _Writer:
    def __init__(self, plan: QueryPlan, schema: TargetSchema) -> None:
        self.parameters: dict[str, PropertyValue] = {}
        self._plan = plan
        self._schema = schema
        self._conditions: list[str] = []
        self._told: set[int] = set()

    def write(self) -> str:
        """Return the statement."""
        plan = self._plan
        patterns = self._patterns()
        lines = [f"MATCH {', '.join(patterns)}"]
        if self._conditions:
            lines.append(f"WHERE {' AND '.join(self._conditions)}")
        return "\n".join([*lines, *self._ending(plan)])

    def _patterns(self) -> list[str]:
        """Return chains of hops: each goes on where the last one ended, as far as it can."""
        chains: list[tuple[int, str]] = []
        for hop in self._plan.hops:
            step = self._hop(hop)
            if chains and chains[-1][0] == hop.source:
                chains[-1] = hop.target, chains[-1][1] + step + self._node(hop.target)
            else:
                start = self._node(hop.source)
                chains.append((hop.target, start + step + self._node(hop.target)))
        return [text for _, text in chains] or [self._node(0)]

    def _node(self, number: int) -> str:
        name = f"n{number}"
        if number in self._told:
            return f"({name})"
        self._told.add(number)
        node = self._plan.nodes[number]
        equal = []
        for condition in node.conditions:
            if condition.operator is Operator.EQUALS and not condition.number:
                equal.append(f"{quote_name(condition.property)}: {self._value(condition.value)}")
            else:
                self._conditions.append(self._compare(number, condition))
        label = f":{quote_name(node.kind)}" if node.kind else ""
        inner = f" {{{', '.join(equal)}}}" if equal else ""
        return f"({name}{label}{inner})"

    def _hop(self, hop: PlanHop) -> str:
        types = "|".join(dict.fromkeys(quote_name(link.type) for link in hop.links))
        relations = [link.relation for link in hop.links if link.relation]
        name = f"r{hop.target}" if relations else ""
        if relations:
            self._conditions.append(f"{name}.relation IN {self._value(relations)}")
        left = "<-" if hop.forward is False else "-"
        right = "->" if hop.forward is True else "-"
        return f"{left}[{name}:{types}]{right}"

    def _value(self, value: PropertyValue) -> str:
        name = f"p{len(self.parameters)}"
        self.parameters[name] = value
        return f"${name}"

    def _compare(self, number: int, condition: PropertyCondition) -> str:
        expression = f"n{number}.{quote_name(condition.property)}"
        value = self._value(condition.value)
        shape = self._shape(number, condition.property)
        if shape is not None and is_day_first(shape) and condition.operator in _ORDERING:
            return f"{_sort_key(expression, shape)} {condition.operator} {value}"
        if condition.operator is Operator.CONTAINS:
            return f"toLower(toString({expression})) CONTAINS toLower({value})"
        if condition.number:
            return f"toFloat({expression}) {condition.operator} toFloat({value})"
        return f"{expression} {condition.operator} {value}"

    def _ending(self, plan: QueryPlan) -> list[str]:
        answer = f"n{plan.answer}"
        value = f"{answer}.{quote_name(plan.property)}" if plan.property else answer
        if plan.returned is Returned.COUNT:
            return [f"RETURN count(DISTINCT {value}) AS total"]
        if plan.returned is Returned.THING or plan.returned is Returned.VALUE:
            return self._listing(plan, value)
        shape = self._shape(plan.answer, plan.property)
        if plan.returned in (Returned.AVERAGE, Returned.SUM):
            number = f"toFloat({value})" if shape is None or shape.quoted else value
            # A thing may be found over several paths, and counts once.
            return [f"WITH DISTINCT {answer}", f"RETURN {plan.returned}({number}) AS value"]
        descending = "DESC" if plan.returned is Returned.MAXIMUM else "ASC"
        return [
            f"WITH {answer} WHERE {value} IS NOT NULL",
            f"RETURN {value} AS value ORDER BY {_sort_key(value, shape)} {descending} LIMIT 1",
        ]

    def _listing(self, plan: QueryPlan, value: str) -> list[str]:
        answer, order = f"n{plan.answer}", plan.order
        if order is None:
            return [f"RETURN DISTINCT {value} AS answer"]
        direction = "DESC" if order.descending else "ASC"
        limit = f"LIMIT {max(int(order.limit), 1)}"
        if not order.property:
            return [
                f"WITH {answer}, count(DISTINCT n{order.node}) AS total",
                f"RETURN {value} AS answer, total ORDER BY total {direction} {limit}",
            ]
        by = f"n{order.node}.{quote_name(order.property)}"
        key = _sort_key(by, self._shape(order.node, order.property))
        # A thing that is found over several paths is sorted by the best of them.
        best = "max" if order.descending else "min"
        return [
            f"WITH {answer}, {best}({key}) AS place WHERE place IS NOT NULL",
            f"RETURN {value} AS answer ORDER BY place {direction} {limit}",
        ]

    def _shape(self, number: int, name: str) -> PropertyShape | None:
        kind = self._schema.by_name.get(self._plan.nodes[number].kind)
        return kind.property(name) if kind else None


def _sort_key(expression: str, shape: PropertyShape | None) -> str:
    """Return what sorts a property as the number or the date that its text holds."""
    if shape is None or not shape.quoted:
        return expression
    if shape.type in {"integer", "number"}:
        return f"toFloat({expression})"
    if is_day_first(shape):
        parts = ((6, 4), (3, 2), (0, 2))
        return " + '-' + ".join(f"substring({expression}, {at}, {size})" for at, size in parts)
    return expression
