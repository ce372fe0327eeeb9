"""Query targets: graphs that run Cypher, and tables that run SQL.

A graph is read through `CypherRunner`, so it works with any store that runs Cypher, and with
imported and live graphs as with the index's own. Names are quoted, in SQL always; values are always
parameters.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from knotwork._extensions.queries.query_plans import (
    PlanHop,
    PropertyCondition,
    QueryPlan,
    QueryTarget,
    Returned,
    Statement,
)
from knotwork._extensions.queries.target_schema import (
    ANY_KIND,
    CollectedValues,
    EntityNames,
    KindShape,
    LinkShape,
    PropertyShape,
    StoredValue,
    StoredValues,
    TargetSchema,
    is_day_first,
    shape_property,
)
from knotwork._extensions.tables.table_file import TableFile, TableShape
from knotwork._questions.languages import Operator
from knotwork._stores.base import Store, graph_names, require_cypher
from knotwork._stores.capabilities import OWN_GRAPH
from knotwork.errors import QueryRefused, QueryTimeout
from knotwork.records import PropertyValue, QueriedEdgeType, QueriedLabel, QueryResult

SAMPLED = 300
"""Number of nodes of a label, or rows of a table, whose values are read for the schema."""

MOST_VALUES = 50_000
"""Maximum number of distinct values of a property that can be found by name."""

MOST_RELATIONS = 300
SCHEMA_TIMEOUT_S = 60.0
ROW_LIMIT = 1_000
RUN_TIMEOUT_S = 10.0
_OWN_KINDS = {
    "Entity": ("name", "type"),
    "Document": ("name", "uri"),
}
_COMMUNITY = (
    PropertyShape("title", "text"),
    PropertyShape("summary", "text"),
    PropertyShape("level", "integer"),
    PropertyShape("rating", "number"),
)


class CypherGraph(QueryTarget):
    """One graph of a store, by name; `OWN_GRAPH` is that of the documents.

    ``words`` are synonyms for labels, types and properties. A live graph is read again after some
    minutes. Raises RetrievalError if the store cannot run Cypher.
    """

    language = "cypher"

    def __init__(
        self,
        store: Store,
        *,
        graph: str = OWN_GRAPH,
        words: Mapping[str, tuple[str, ...]] | None = None,
        timeout_s: float = RUN_TIMEOUT_S,
    ) -> None:
        super().__init__(words, timeout_s)
        self._store = store
        self._cypher = require_cypher(store)
        self.graph = graph

    def write_text(
        self, plan: QueryPlan, schema: TargetSchema
    ) -> tuple[str, dict[str, PropertyValue]]:
        """Return the statement of a plan that fits the schema, and its parameters."""
        writer = _Writer(plan, schema)
        return writer.write(), writer.parameters

    def run(self, statement: Statement, *, source: str = "") -> QueryResult:
        """Run a statement on the graph. Raises as `CypherRunner`."""
        result = self._cypher(
            statement.text,
            statement.parameters,
            graph=self.graph,
            row_limit=ROW_LIMIT,
            timeout_s=self._timeout_s,
        )
        return replace(
            result,
            source=source,
            place="the graph of the documents"
            if self.graph == OWN_GRAPH
            else f"the graph {self.graph}",
        )

    def _read_current(self) -> tuple[TargetSchema, StoredValues]:
        if self.graph == OWN_GRAPH:
            return self._own_schema(), EntityNames(self._store)
        schema = self._read_schema()
        return schema, CollectedValues(self._collect(schema))

    def version(self) -> tuple[int, int]:
        """Return what changes whenever the graph does."""
        live = self._store.capabilities.live_graphs
        is_live = live is not None and self.graph in live.names()
        return self._store.generation(), live.version(self.graph) if live and is_live else 0

    def _own_schema(self) -> TargetSchema:
        """Return the schema of the documents' graph, from the counts of the store."""
        known = self._store.graph.schema()
        kinds = tuple(
            KindShape(label, known.labels[label], tuple(PropertyShape(p, "text") for p in names))
            for label, names in _OWN_KINDS.items()
            if known.labels.get(label)
        )
        model_kinds, model_links = self._communities()
        relations = sorted(known.relations.items(), key=lambda item: (-item[1], item[0]))
        links = tuple(
            LinkShape("RELATES", "Entity", "Entity", count, relation)
            for relation, count in relations[:MOST_RELATIONS]
            if relation
        )
        return TargetSchema(self.language, kinds, links, self._words, model_kinds, model_links)

    def _communities(self) -> tuple[tuple[KindShape, ...], tuple[LinkShape, ...]]:
        """Return the kind of communities and the link to them, if there are any."""
        communities = self._store.capabilities.communities
        if communities is None:
            return (), ()
        ids = [key for level in communities.levels() for key in level]
        if not ids:
            return (), ()
        kind = str(QueriedLabel.COMMUNITY)
        members = sum(found.size for found in communities.communities(ids).values())
        link = LinkShape(str(QueriedEdgeType.IN_COMMUNITY), "Entity", kind, members)
        return (KindShape(kind, len(ids), _COMMUNITY),), (link,)

    def _read_schema(self) -> TargetSchema:
        counts: Counter[str] = Counter()
        for labels, count in self.read_rows("MATCH (n) RETURN labels(n), count(*)"):
            counts[_kind_of(labels)] += int(count)
        kinds = tuple(
            KindShape(kind, count, self._properties(kind))
            for kind, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        )
        pairs: Counter[tuple[str, str, str]] = Counter()
        statement = "MATCH (a)-[r]->(b) RETURN labels(a), type(r), labels(b), count(*)"
        if len(counts) == 1:  # much faster, and there is no other end
            statement = "MATCH ()-[r]->() RETURN [], type(r), [], count(*)"
        (only,) = counts if len(counts) == 1 else [ANY_KIND]
        for source, kind, target, count in self.read_rows(statement):
            pairs[kind, _kind_of(source) or only, _kind_of(target) or only] += int(count)
        links = tuple(
            LinkShape(kind, source, target, count)
            for (kind, source, target), count in sorted(
                pairs.items(), key=lambda item: (-item[1], item[0])
            )
        )
        return TargetSchema(self.language, kinds, links, self._words)

    def _properties(self, kind: str) -> tuple[PropertyShape, ...]:
        pattern = f"(n:{quote_name(kind)})" if kind else "(n)"
        found: defaultdict[str, list[PropertyValue]] = defaultdict(list)
        statement = f"MATCH {pattern} RETURN properties(n) LIMIT {SAMPLED}"
        for (properties,) in self.read_rows(statement):
            for name, value in properties.items():
                found[name].append(value)
        return tuple(shape_property(name, values) for name, values in found.items())

    def _collect(self, schema: TargetSchema) -> Iterator[StoredValue]:
        for kind in schema.kinds:
            pattern = f"(n:{quote_name(kind.name)})" if kind.name else "(n)"
            for item in kind.properties:
                if item.type in {"list", "map", "boolean"}:
                    continue
                name = quote_name(item.name)
                statement = f"MATCH {pattern} RETURN DISTINCT n.{name} LIMIT {MOST_VALUES}"
                try:
                    found = self.read_rows(statement)
                except (QueryRefused, QueryTimeout):
                    continue  # values this long or many are texts, which no question names
                for (value,) in found:
                    if value is not None and value != "":
                        yield StoredValue(kind.name, item.name, value)

    def read_rows(self, statement: str) -> Sequence[tuple[PropertyValue, ...]]:
        """Return the rows of a statement about the whole graph."""
        return self._cypher(
            statement, graph=self.graph, row_limit=MOST_VALUES, timeout_s=SCHEMA_TIMEOUT_S
        ).rows


def choose_graph(store: Store, wanted: str | None) -> str:
    """Return ``wanted``, or the only imported or live graph, or that of the documents."""
    if wanted is not None:
        return wanted
    names = graph_names(store)
    if len(names) == 1:
        return names[0]
    return OWN_GRAPH


def _kind_of(labels: PropertyValue) -> str:
    return min(labels) if labels else ANY_KIND


_ORDERING = (Operator.LESS, Operator.AT_MOST, Operator.MORE, Operator.AT_LEAST)
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def quote_name(name: str) -> str:
    """Return a label, type or property quoted for a statement.

    Raises QueryRefused for a name with a control character.
    """
    return name if _PLAIN.fullmatch(name) else _quote(name, "`")


class _Writer:
    def __init__(self, plan: QueryPlan, schema: TargetSchema) -> None:
        self.parameters: dict[str, PropertyValue] = {}
        self._plan = plan
        self._schema = schema
        self._conditions: list[str] = []
        self._written: set[int] = set()

    def write(self) -> str:
        """Return the statement."""
        plan = self._plan
        patterns = self._patterns()
        lines = [f"MATCH {', '.join(patterns)}"]
        if self._conditions:
            lines.append(f"WHERE {' AND '.join(self._conditions)}")
        return "\n".join([*lines, *self._ending(plan)])

    def _patterns(self) -> list[str]:
        """Return chains of hops, each continuing from the end of the last one if possible."""
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
        if number in self._written:
            return f"({name})"
        self._written.add(number)
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
            return f"{sort_key(expression, shape)} {condition.operator} {value}"
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
            # A node reached by several paths counts once.
            return [f"WITH DISTINCT {answer}", f"RETURN {plan.returned}({number}) AS value"]
        descending = "DESC" if plan.returned is Returned.MAXIMUM else "ASC"
        return [
            f"WITH {answer} WHERE {value} IS NOT NULL",
            f"RETURN {value} AS value ORDER BY {sort_key(value, shape)} {descending} LIMIT 1",
        ]

    def _listing(self, plan: QueryPlan, value: str) -> list[str]:
        answer, order = f"n{plan.answer}", plan.order
        if order is None:
            return [f"RETURN DISTINCT {value} AS answer"]
        if not order.property:
            return [
                f"WITH {answer}, count(DISTINCT n{order.node}) AS total",
                f"RETURN {value} AS answer, total ORDER BY total {order.ending()}",
            ]
        by = f"n{order.node}.{quote_name(order.property)}"
        key = sort_key(by, self._shape(order.node, order.property))
        # A node reached by several paths is sorted by the best of them.
        best = "max" if order.descending else "min"
        return [
            f"WITH {answer}, {best}({key}) AS place WHERE place IS NOT NULL",
            f"RETURN {value} AS answer ORDER BY place {order.ending()}",
        ]

    def _shape(self, number: int, name: str) -> PropertyShape | None:
        kind = self._schema.by_name.get(self._plan.nodes[number].kind)
        return kind.property(name) if kind else None


def sort_key(expression: str, shape: PropertyShape | None) -> str:
    """Return an expression that sorts a text property by its number or date."""
    if shape is None or not shape.quoted:
        return expression
    if shape.type in {"integer", "number"}:
        return f"toFloat({expression})"
    if is_day_first(shape):
        parts = ((6, 4), (3, 2), (0, 2))
        return " + '-' + ".join(f"substring({expression}, {at}, {size})" for at, size in parts)
    return expression


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

    def version(self) -> int:
        """Return what changes whenever a table does."""
        return self._tables.generation()

    def _read_current(self) -> tuple[TargetSchema, StoredValues]:
        shapes = self._tables.tables()
        values = list(self._collect(shapes))
        kinds = tuple(self._kind(shape) for shape in shapes)
        joins = tuple(_find_joins(shapes, values))
        return TargetSchema(self.language, kinds, joins, self._words), CollectedValues(values)

    def _kind(self, shape: TableShape) -> KindShape:
        statement = f"SELECT * FROM {quote_column(shape.name)} LIMIT {SAMPLED}"  # noqa: S608
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
    """Return the name of a table or column quoted for a statement, as `quote_name`."""
    return _quote(name, '"')


def _quote(name: str, mark: str) -> str:
    if any(ord(c) < 32 for c in name):
        raise QueryRefused(f"The name {name!r} contains a control character and cannot be quoted.")
    return mark + name.replace(mark, 2 * mark) + mark


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
    if not order.property:
        group = f"GROUP BY t{plan.answer}.rowid"
        return [f"{group} ORDER BY COUNT(DISTINCT t{order.node}.rowid) {order.ending()}"]
    column = f"t{order.node}.{quote_column(order.property)}"
    return [f"ORDER BY {column} IS NULL, {column} {order.ending()}"]
