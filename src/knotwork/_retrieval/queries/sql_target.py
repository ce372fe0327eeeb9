"""Tables as a query target: their schema, the columns that join them, plans written as SQL.

Names are in double quotes; values are always parameters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from knotwork._questions.amounts import Operator
from knotwork._retrieval.queries.query_plans import (
    PropertyCondition,
    QueryPlan,
    QueryTarget,
    Returned,
    Statement,
)
from knotwork._retrieval.queries.target_schema import (
    CollectedValues,
    KindShape,
    LinkShape,
    StoredValue,
    StoredValues,
    TargetSchema,
    shape_property,
)
from knotwork._stores.table_file import TableFile, TableShape
from knotwork.errors import QueryRefused
from knotwork.records import PropertyValue, QueryResult

SAMPLED_ROWS = 300
MOST_VALUES = 50_000
ROW_LIMIT = 1_000
RUN_TIMEOUT_S = 10.0
_JOINING_SHARE = 0.8
"""Minimum share of one column's values that another must contain for the two to join tables."""


class SqlTables(QueryTarget):
    """The tables of one file. Schema and values are read once for each state of it."""

    language = "sql"

    def __init__(
        self,
        tables: TableFile,
        *,
        words: Mapping[str, tuple[str, ...]] | None = None,
        timeout_s: float = RUN_TIMEOUT_S,
    ) -> None:
        super().__init__(words, timeout_s)
        self._tables = tables

    def write_text(
        self, plan: QueryPlan, schema: TargetSchema
    ) -> tuple[str, dict[str, PropertyValue]]:
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

    def run(self, statement: Statement, *, source: str = "") -> QueryResult:
        """Run a statement on the tables. Raises as `TableFile.run`."""
        result = self._tables.run(
            statement.text,
            statement.parameters,
            row_limit=ROW_LIMIT,
            timeout_s=self._timeout_s,
        )
        place = _describe_tables(result.statement, self._tables.tables())
        return replace(result, source=source, place=place)

    def _version(self) -> int:
        return self._tables.generation()

    def _read_current(self) -> tuple[TargetSchema, StoredValues]:
        shapes = self._tables.tables()
        values = list(self._collect(shapes))
        kinds = tuple(self._kind(shape) for shape in shapes)
        joins = tuple(_find_joins(shapes, values))
        return TargetSchema(self.language, kinds, joins, self._words), CollectedValues(values)

    def _kind(self, shape: TableShape) -> KindShape:
        statement = f"SELECT * FROM {quote_column(shape.name)} LIMIT {SAMPLED_ROWS}"  # noqa: S608
        rows = self._tables.run(statement).rows
        columns = [
            shape_property(name, [row[number] for row in rows])
            for number, (name, _) in enumerate(shape.columns)
        ]
        return KindShape(shape.name, shape.rows, tuple(columns))

    def _collect(self, shapes: Sequence[TableShape]) -> Iterator[StoredValue]:
        for shape in shapes:
            for column, _ in shape.columns:
                statement = (
                    f"SELECT DISTINCT {quote_column(column)}"  # noqa: S608  names are quoted
                    f" FROM {quote_column(shape.name)} LIMIT {MOST_VALUES}"
                )
                for (value,) in self._tables.run(statement, row_limit=MOST_VALUES).rows:
                    if value is not None:
                        yield StoredValue(shape.name, column, value)


def _describe_tables(statement: str, shapes: Sequence[TableShape]) -> str:
    """Return the tables that a statement names, each with the file it comes from."""
    words = set(re.findall(r"\w+", statement.lower()))
    named = [shape for shape in shapes if shape.name in words]
    names = [f"{shape.name} ({shape.source})" if shape.source else shape.name for shape in named]
    return f"the table {names[0]}" if len(names) == 1 else f"the tables {', '.join(names)}"


def _find_joins(shapes: Sequence[TableShape], values: Sequence[StoredValue]) -> Iterator[LinkShape]:
    """Yield pairs of columns where one table contains most of the other's values.

    The joined column has distinct values, as a key does, and the two names share a word, or one
    column is named after the other's table.
    """
    held: dict[tuple[str, str], set[object]] = {}
    for item in values:
        held.setdefault((item.kind, item.property), set()).add(item.value)
    rows = {shape.name: shape.rows for shape in shapes}
    for (target, key), keys in sorted(held.items()):
        if len(keys) < max(rows[target], 2):
            continue
        for (source, column), found in sorted(held.items()):
            is_named = set(column.split("_")) & {*key.split("_"), target, target.rstrip("s")}
            shared = len(found & keys)
            if source != target and is_named and shared >= _JOINING_SHARE * len(found):
                yield LinkShape(f"{source}.{column}", source, target, shared, columns=(column, key))


def quote_column(name: str) -> str:
    """Return the name of a table or column quoted for a statement."""
    if any(ord(c) < 32 for c in name):
        raise QueryRefused(f"The name {name!r} contains a control character and cannot be quoted.")
    return '"' + name.replace('"', '""') + '"'


def _selected(plan: QueryPlan) -> str:
    table = f"t{plan.answer}"
    column = f"{table}.{quote_column(plan.property)}" if plan.property else ""
    if plan.returned is Returned.COUNT:
        return f"COUNT(DISTINCT {column or f'{table}.rowid'}) AS total"
    if plan.returned is Returned.THING:
        return f"{table}.*" if plan.order else f"DISTINCT {table}.*"
    if plan.returned is Returned.VALUE:
        # DISTINCT rows sorted by another column would have an arbitrary order.
        return column if plan.order else f"DISTINCT {column}"
    return f"{plan.returned}({column}) AS value"


def compare_column(
    column: str, condition: PropertyCondition, parameters: dict[str, PropertyValue]
) -> str:
    """Return the test of a condition on a quoted column, and add its value to ``parameters``."""
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
