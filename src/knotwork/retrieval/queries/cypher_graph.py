"""A graph that answers Cypher: its schema read by statements, plans written as statements.

Everything here goes through `RunsCypher`, so that it holds for any store with that power, and for
imported graphs as for the index's own.
"""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from knotwork.errors import RetrievalError
from knotwork.records import PropertyValue, QueriedEdgeType, QueriedLabel, QueryResult
from knotwork.retrieval.queries.plans import QueryPlan, check_plan
from knotwork.retrieval.queries.schema import (
    ANY_KIND,
    KindShape,
    LinkShape,
    PropertyShape,
    TargetSchema,
    shape_property,
)
from knotwork.retrieval.queries.statements import Statement
from knotwork.retrieval.queries.values import (
    CollectedValues,
    EntityNames,
    StoredValue,
    StoredValues,
)
from knotwork.retrieval.queries.written_cypher import quote_name, write_cypher
from knotwork.stores.base import Store
from knotwork.stores.communities import StoresCommunities
from knotwork.stores.queries import OWN_GRAPH, RunsCypher, StoresPropertyGraphs

LOOKED_AT_NODES = 300
"""Nodes of a label whose properties are looked at."""

MOST_VALUES = 50_000
"""Distinct values of a property that are collected to be found by name."""

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


class CypherGraph:
    """One graph of a store, by name; `OWN_GRAPH` is that of the documents themselves.

    ``words`` are other words for labels, types and properties. Raises RetrievalError for a store
    that runs no Cypher. Schema and values are read once for each generation of the store.
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
        self._store = store
        self._cypher = require_cypher(store)
        self._graph = graph
        self._words = dict(words or {})
        self._timeout_s = timeout_s
        self._lock = threading.Lock()
        self._read: tuple[int, TargetSchema, StoredValues] | None = None

    @property
    def graph(self) -> str:
        """The name of the graph."""
        return self._graph

    def schema(self) -> TargetSchema:
        """Return labels, types and properties, with counts and samples."""
        return self._current()[1]

    def values(self) -> StoredValues:
        """Return what finds the values of properties, or the names of entities."""
        return self._current()[2]

    def write(self, plan: QueryPlan) -> Statement:
        """Return the statement of a plan. Raises QueryRefused for one that does not fit."""
        schema = self.schema()
        check_plan(plan, schema)
        text, parameters = write_cypher(plan, schema)
        return Statement(text, parameters, origin="fragments")

    def run(self, statement: Statement, *, source: str = "") -> QueryResult:
        """Run a statement on the graph; raises as `RunsCypher.cypher`."""
        result = self._cypher.cypher(
            statement.text,
            statement.parameters,
            graph=self._graph,
            row_limit=ROW_LIMIT,
            timeout_s=self._timeout_s,
        )
        return QueryResult(
            language=self.language,
            statement=statement.text,
            columns=result.columns,
            rows=result.rows,
            parameters=dict(statement.parameters),
            truncated=result.truncated,
            seconds=result.seconds,
            source=source,
            place="the graph of the documents"
            if self._graph == OWN_GRAPH
            else f"the graph {self._graph}",
        )

    def _current(self) -> tuple[int, TargetSchema, StoredValues]:
        with self._lock:
            generation = self._store.generation()
            if self._read is None or self._read[0] != generation:
                schema = self._own_schema() if self._graph == OWN_GRAPH else self._read_schema()
                values: StoredValues = (
                    EntityNames(self._store)
                    if self._graph == OWN_GRAPH
                    else CollectedValues(self._collect(schema))
                )
                self._read = (generation, schema, values)
            return self._read

    def _own_schema(self) -> TargetSchema:
        """Return the schema of the documents' graph, from the counts that the store keeps."""
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
        if not isinstance(self._store, StoresCommunities):
            return (), ()
        ids = [key for level in self._store.communities.levels() for key in level]
        if not ids:
            return (), ()
        kind = str(QueriedLabel.COMMUNITY)
        members = sum(found.size for found in self._store.communities.communities(ids).values())
        link = LinkShape(str(QueriedEdgeType.IN_COMMUNITY), "Entity", kind, members)
        return (KindShape(kind, len(ids), _COMMUNITY),), (link,)

    def _read_schema(self) -> TargetSchema:
        counts: Counter[str] = Counter()
        for labels, count in self._rows("MATCH (n) RETURN labels(n), count(*)"):
            counts[_kind_of(labels)] += int(count)
        kinds = tuple(
            KindShape(kind, count, self._properties(kind))
            for kind, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        )
        pairs: Counter[tuple[str, str, str]] = Counter()
        statement = "MATCH (a)-[r]->(b) RETURN labels(a), type(r), labels(b), count(*)"
        for source, kind, target, count in self._rows(statement):
            pairs[kind, _kind_of(source), _kind_of(target)] += int(count)
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
        statement = f"MATCH {pattern} RETURN properties(n) LIMIT {LOOKED_AT_NODES}"
        for (properties,) in self._rows(statement):
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
                for (value,) in self._rows(statement):
                    if value is not None and value != "":
                        yield StoredValue(kind.name, item.name, value)

    def _rows(self, statement: str) -> Sequence[tuple[PropertyValue, ...]]:
        return self._cypher.cypher(
            statement, graph=self._graph, row_limit=MOST_VALUES, timeout_s=SCHEMA_TIMEOUT_S
        ).rows


def require_cypher(store: Store) -> RunsCypher:
    """Return a store as one that runs Cypher. Raises RetrievalError for one that does not."""
    if not isinstance(store, RunsCypher):
        raise RetrievalError(
            f"The store {store.url} runs no Cypher.", fix="Use an index in a file."
        )
    return store


def choose_graph(store: Store, wanted: str | None) -> str:
    """Return the graph that is meant where none is named: the only imported one, or the own."""
    if wanted is not None:
        return wanted
    if isinstance(store, StoresPropertyGraphs):
        names = store.property_graphs.names()
        if len(names) == 1:
            return names[0]
    return OWN_GRAPH


def _kind_of(labels: PropertyValue) -> str:
    return min(labels) if labels else ANY_KIND
