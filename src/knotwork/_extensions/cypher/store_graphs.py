"""Build the graphs that Cypher statements run on, the same for every store.

The nodes of the index graph are ordered by id, its edges by type, source, target and relation. A
node has the properties of its record, ``id`` and ``name``. MENTIONS, ABOUT, RELATES and CO_OCCURS
edges have a ``weight``, the last two also a ``relation`` and the supporting ``chunks``. Communities
and chunk questions are nodes too, though not of the graph store; an IN_COMMUNITY edge has the
``importance`` of the entity. Importing this module loads the Cypher language, so stores import it
on the first statement.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from knotwork._extensions.cypher.language import Limits, PropertyGraph, run_statement
from knotwork._stores.base import Store
from knotwork._stores.capabilities import OWN_GRAPH, CypherRunner
from knotwork._stores.graph_view import community_node, edge_order, question_node
from knotwork._stores.links import linked_documents
from knotwork.errors import UnknownName
from knotwork.records import (
    Edge,
    EdgeType,
    Label,
    Node,
    PropertyValue,
    QueriedEdgeType,
    QueryResult,
)

_MAX_CACHED_GRAPHS = 3


class LazyProperties(Mapping[str, Any]):
    """Properties with one more, whose value is read at each access and never kept."""

    __slots__ = ("_name", "_plain", "_read")

    def __init__(self, plain: Mapping[str, Any], name: str, read: Callable[[], Any]) -> None:
        self._plain = plain
        self._name = name
        self._read = read

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401  a property of any type
        return self._read() if name == self._name else self._plain[name]

    def __iter__(self) -> Iterator[str]:
        yield from self._plain
        yield self._name

    def __len__(self) -> int:
        return len(self._plain) + 1


def node_properties(node: Node) -> dict[str, PropertyValue]:
    """Return the properties of a node of the index graph."""
    return {"id": node.id, "name": node.name, **node.properties}


def edge_properties(
    type_: str, weight: float, relation: str, chunks: Callable[[], Sequence[str]], *, source: str
) -> Mapping[str, PropertyValue]:
    """Return the properties of an edge of the index graph; ``source`` is a label."""
    if type_ == QueriedEdgeType.IN_COMMUNITY:
        return {} if source == Label.CHUNK else {"importance": weight}
    if type_ in (EdgeType.RELATES, EdgeType.CO_OCCURS):
        stated = {"relation": relation, "weight": weight}
        return LazyProperties(stated, "chunks", lambda: list(chunks()))
    if type_ in (EdgeType.MENTIONS, EdgeType.ABOUT):
        return {"weight": weight}
    return {}


def edge_id(source: str, type_: str, target: str, relation: str) -> str:
    """Return the id of an edge of the index graph."""
    parts = [source, type_, target, relation]
    return ":".join(part for part in parts if part)


def project_store(store: Store) -> PropertyGraph:
    """Build the index graph of any store through its protocols, without dangling edges."""
    more_nodes, more_edges = read_records(store)
    nodes = sorted([*store.graph.find(limit=sys.maxsize), *more_nodes], key=lambda node: node.id)
    positions = {node.id: position for position, node in enumerate(nodes)}
    edges = [
        edge
        for edge in sorted([*store.graph.edges(), *more_edges], key=edge_order)
        if edge.source in positions and edge.target in positions
    ]

    def relationship_properties(index: int) -> Mapping[str, PropertyValue]:
        edge = edges[index]
        source = nodes[positions[edge.source]].label
        return edge_properties(
            edge.type, edge.weight, edge.relation, lambda: edge.chunks, source=source
        )

    def relationship_id(index: int) -> str:
        edge = edges[index]
        return edge_id(edge.source, edge.type, edge.target, edge.relation)

    return PropertyGraph(
        ids=[node.id for node in nodes],
        labels=[(str(node.label),) for node in nodes],
        types=[str(edge.type) for edge in edges],
        sources=[positions[edge.source] for edge in edges],
        targets=[positions[edge.target] for edge in edges],
        node_properties=lambda index: node_properties(nodes[index]),
        relationship_properties=relationship_properties,
        relationship_id=relationship_id,
    )


def read_records(store: Store) -> tuple[list[Node], list[Edge]]:
    """Return what only Cypher has: communities, chunk questions and links of documents."""
    nodes: list[Node] = []
    edges: list[Edge] = []
    communities, questions = store.capabilities.communities, store.capabilities.questions
    if communities is not None:
        ids = [key for level in communities.levels() for key in level]
        reports = communities.reports(ids)
        for key, community in communities.communities(ids).items():
            nodes.append(community_node(community, reports.get(key)))
            kind = QueriedEdgeType.IN_COMMUNITY
            edges += [Edge(m.entity_id, kind, key, m.importance) for m in community.members]
            edges += [Edge(chunk_id, kind, key) for chunk_id in community.chunk_ids]
            if community.parent_id is not None:
                edges.append(Edge(community.parent_id, EdgeType.HAS_CHILD, key))
    if questions is not None:
        for key, texts in questions.questions(questions.chunk_ids()).items():
            asked = [question_node(key, ordinal, text) for ordinal, text in enumerate(texts)]
            nodes += asked
            edges += [Edge(key, QueriedEdgeType.ANSWERS, node.id) for node in asked]
    kind = QueriedEdgeType.LINKS_TO
    edges += [Edge(source, kind, target) for source, target in linked_documents(store).pairs]
    return nodes, edges


class GraphCache:
    """The most recently used graphs, by name; a graph is rebuilt when its version changes."""

    def __init__(self) -> None:
        self._cached: dict[str, tuple[int, PropertyGraph]] = {}

    def get(
        self, name: str, version: int | None, build: Callable[[], PropertyGraph]
    ) -> PropertyGraph:
        """Return the graph of this name in its current version.

        It is not cached without a version, as inside a transaction.
        """
        if version is None:
            return build()
        cached = self._cached.pop(name, None)
        if cached is None or cached[0] != version:
            cached = version, build()
        self._cached[name] = cached
        for oldest in list(self._cached)[:-_MAX_CACHED_GRAPHS]:
            self._cached.pop(oldest, None)
        return cached[1]


def unknown_graph(name: str, names: Iterable[str]) -> UnknownName:
    """Return the error for a graph name that does not exist."""
    return UnknownName("graph", name, names, place="; the index's own graph has no name")


class FilteredCypher:
    """Run statements on the restricted index graph and on imported graphs that are allowed."""

    def __init__(self, store: Store, run_whole: CypherRunner) -> None:
        self._store = store
        self._run_whole = run_whole
        self._own: PropertyGraph | None = None

    def run(
        self,
        statement: str,
        parameters: Mapping[str, PropertyValue] | None = None,
        *,
        graph: str = OWN_GRAPH,
        row_limit: int = 1_000,
        timeout_s: float = 10.0,
    ) -> QueryResult:
        """Run a statement; see `CypherRunner`. Raises UnknownName for an excluded graph."""
        if graph == OWN_GRAPH:
            if self._own is None:
                self._own = project_store(self._store)
            limits = Limits(rows=row_limit, timeout_s=timeout_s)
            return run_statement(self._own, statement, parameters, limits=limits)
        graphs = self._store.capabilities.property_graphs
        names = graphs.names() if graphs is not None else []
        if graph not in names:
            raise unknown_graph(graph, names)
        return self._run_whole(
            statement, parameters, graph=graph, row_limit=row_limit, timeout_s=timeout_s
        )
