"""Plans written as SQL for tables: names in double quotes, values as parameters alone."""

from __future__ import annotations

from knotwork.errors import QueryRefused
from knotwork.records import PropertyValue
from knotwork.retrieval.queries.plans import Operator, PropertyCondition, QueryPlan, Returned
from knotwork.retrieval.queries.schema import TargetSchema


def quote_column(name: str) -> str:
    """Return the name of a table or column as it may stand in a statement."""
    if any(ord(c) < 32 for c in name):
        raise QueryRefused(f"The name {name!r} cannot stand in a statement.")
    return '"' + name.replace('"', '""') + '"'


def write_sql(plan: QueryPlan, schema: TargetSchema) -> tuple[str, dict[str, PropertyValue]]:
    """Return the statement of a plan that fits the schema, and its parameters."""
    del schema
    parameters: dict[str, PropertyValue] = {}
    tables = [f"{quote_column(plan.nodes[0].kind)} AS t0"]
    for hop in plan.hops:
        here, there = hop.link.columns
        if hop.forward is False:
            here, there = there, here
        tables.append(
            f"JOIN {quote_column(plan.nodes[hop.target].kind)} AS t{hop.target}"
            f" ON t{hop.source}.{quote_column(here)} = t{hop.target}.{quote_column(there)}"
        )
    conditions = [
        compare_column(f"t{number}.{quote_column(condition.property)}", condition, parameters)
        for number, node in enumerate(plan.nodes)
        for condition in node.conditions
    ]
    lines = [f"SELECT {_selected(plan)}", f"FROM {' '.join(tables)}"]
    if conditions:
        lines.append(f"WHERE {' AND '.join(conditions)}")
    lines += _ordering(plan)
    return "\n".join(lines), parameters


def _selected(plan: QueryPlan) -> str:
    table = f"t{plan.answer}"
    column = f"{table}.{quote_column(plan.property)}" if plan.property else ""
    if plan.returned is Returned.COUNT:
        return f"COUNT(DISTINCT {column or f'{table}.rowid'}) AS total"
    if plan.returned is Returned.THING:
        return f"{table}.*" if plan.order else f"DISTINCT {table}.*"
    if plan.returned is Returned.VALUE:
        # Sorted by another column, the rows of a DISTINCT would be sorted by chance.
        return column if plan.order else f"DISTINCT {column}"
    return f"{plan.returned}({column}) AS value"


def compare_column(
    column: str, condition: PropertyCondition, parameters: dict[str, PropertyValue]
) -> str:
    """Return the test of a condition on a quoted column; its value is added to the parameters."""
    name = f"p{len(parameters)}"
    parameters[name] = condition.value
    if condition.operator is Operator.CONTAINS:
        return f"instr(lower({column}), lower(${name})) > 0"
    return f"{column} {condition.operator} ${name}"


def _ordering(plan: QueryPlan) -> list[str]:
    order = plan.order
    if order is None or plan.returned is Returned.COUNT:
        return []
    direction = "DESC" if order.descending else "ASC"
    limit = f"LIMIT {max(int(order.limit), 1)}"
    if not order.property:
        group = f"GROUP BY t{plan.answer}.rowid"
        return [f"{group} ORDER BY COUNT(DISTINCT t{order.node}.rowid) {direction} {limit}"]
    column = f"t{order.node}.{quote_column(order.property)}"
    return [f"ORDER BY {column} IS NULL, {column} {direction} {limit}"]
