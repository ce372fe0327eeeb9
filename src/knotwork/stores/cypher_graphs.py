"""Graphs as Cypher statements see them, the same on every store.

The index graph has its nodes by id and its edges by type, source, target and relation; a node has
the properties of its record, with ``id`` and ``name``; MENTIONS, ABOUT, RELATES and CO_OCCURS have
a ``weight``, the last two the ``relation`` and the supporting ``chunks``. Communities and chunk
questions are nodes too, though not of the graph store; IN_COMMUNITY has the ``importance`` of an
entity. Importing this module loads the Cypher language: stores import it on the first statement.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from knotwork.cypher import Limits, PropertyGraph, run_statement
from knotwork.errors import UnknownName
from knotwork.records import (
    Edge,
    EdgeType,
    Label,
    Node,
    PropertyNode,
    PropertyValue,
    QueriedEdgeType,
    QueryResult,
    Relationship,
)
from knotwork.stores.base import Store
from knotwork.stores.extensions import StoresCommunities, StoresQuestions
from knotwork.stores.graph_view import community_node, edge_order, question_node
from knotwork.stores.property_graphs import OWN_GRAPH

_MAX_CACHED_GRAPHS = 3


def node_properties(node: Node) -> dict[str, PropertyValue]:
    """Return the properties of a node of the index's own graph."""
    return {"id": node.id, "name": node.name, **node.properties}


def edge_properties(
    type_: str, weight: float, relation: str, chunks: Callable[[], Sequence[str]], *, source: str
) -> dict[str, PropertyValue]:
    """Return the properties of an edge of the index's own graph; ``source`` is a label."""
    if type_ == QueriedEdgeType.IN_COMMUNITY:
        return {} if source == Label.CHUNK else {"importance": weight}
    if type_ in (EdgeType.RELATES, EdgeType.CO_OCCURS):
        return {"relation": relation, "weight": weight, "chunks": list(chunks())}
    if type_ in (EdgeType.MENTIONS, EdgeType.ABOUT):
        return {"weight": weight}
    return {}


def edge_id(source: str, type_: str, target: str, relation: str) -> str:
    """Return the id of an edge of the index's own graph."""
    parts = [source, type_, target, relation]
    return ":".join(part for part in parts if part)


def project_store(store: Store) -> PropertyGraph:
    """Make the index's own graph from what a store tells of it: nodes by id, edges by their key."""
    nodes, further = _read_records(store)
    kept = sorted([*store.graph.find(limit=sys.maxsize), *nodes], key=lambda node: node.id)
    edges = sorted([*store.graph.edges(), *further], key=edge_order)
    positions = {node.id: position for position, node in enumerate(kept)}
    links = [edge for edge in edges if edge.source in positions and edge.target in positions]

    def relationship_properties(index: int) -> Mapping[str, PropertyValue]:
        edge = links[index]
        source = kept[positions[edge.source]].label
        return edge_properties(
            edge.type, edge.weight, edge.relation, lambda: edge.chunks, source=source
        )

    def relationship_id(index: int) -> str:
        edge = links[index]
        return edge_id(edge.source, edge.type, edge.target, edge.relation)

    return PropertyGraph(
        ids=[node.id for node in kept],
        labels=[(str(node.label),) for node in kept],
        types=[str(edge.type) for edge in links],
        sources=[positions[edge.source] for edge in links],
        targets=[positions[edge.target] for edge in links],
        node_properties=lambda index: node_properties(kept[index]),
        relationship_properties=relationship_properties,
        relationship_id=relationship_id,
    )


def _read_records(store: Store) -> tuple[list[Node], list[Edge]]:
    """Return communities and the questions of chunks as nodes and edges."""
    nodes: list[Node] = []
    edges: list[Edge] = []
    if isinstance(store, StoresCommunities):
        held = store.communities
        ids = [key for level in held.levels() for key in level]
        reports = held.reports(ids)
        for key, community in held.communities(ids).items():
            nodes.append(community_node(community, reports.get(key)))
            kind = QueriedEdgeType.IN_COMMUNITY
            edges += [Edge(m.entity_id, kind, key, m.importance) for m in community.members]
            edges += [Edge(chunk_id, kind, key) for chunk_id in community.chunk_ids]
            if community.parent_id is not None:
                edges.append(Edge(community.parent_id, EdgeType.HAS_CHILD, key))
    if isinstance(store, StoresQuestions):
        for key, asked in store.questions.questions(store.questions.chunk_ids()).items():
            found = [question_node(key, ordinal, text) for ordinal, text in enumerate(asked)]
            nodes += found
            edges += [Edge(key, QueriedEdgeType.ANSWERS, node.id) for node in found]
    return nodes, edges


def project_imported(
    nodes: Sequence[PropertyNode], relationships: Sequence[Relationship]
) -> PropertyGraph:
    """Make a graph of one that was imported."""
    positions = {node.id: position for position, node in enumerate(nodes)}
    return PropertyGraph(
        ids=[node.id for node in nodes],
        labels=[node.labels for node in nodes],
        types=[edge.type for edge in relationships],
        sources=[positions[edge.source] for edge in relationships],
        targets=[positions[edge.target] for edge in relationships],
        node_properties=lambda index: nodes[index].properties,
        relationship_properties=lambda index: relationships[index].properties,
        relationship_id=lambda index: relationships[index].id,
    )


@dataclass(frozen=True, slots=True)
class GraphSource:
    """Where a store has a graph from: ``version`` tells it from what had its name before.

    A version of None says that the graph may not be kept, as inside a transaction.
    """

    version: int | None
    make: Callable[[], PropertyGraph]


class GraphCache:
    """The graphs that were asked last, each for as long as it is what the store holds."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[int, PropertyGraph]] = {}

    def get(self, name: str, source: GraphSource) -> PropertyGraph:
        """Return the graph of this name, made anew where it has changed."""
        if source.version is None:
            return source.make()
        known = self._kept.pop(name, None)
        if known is None or known[0] != source.version:
            known = source.version, source.make()
        self._kept[name] = known
        for oldest in list(self._kept)[:-_MAX_CACHED_GRAPHS]:
            self._kept.pop(oldest, None)
        return known[1]


def run_cypher(
    graph: PropertyGraph,
    statement: str,
    parameters: Mapping[str, PropertyValue] | None,
    *,
    row_limit: int,
    timeout_s: float,
) -> QueryResult:
    """Run a statement on a graph; see `RunsCypher`."""
    limits = Limits(rows=row_limit, timeout_s=timeout_s)
    return run_statement(graph, statement, parameters, limits=limits)


def unknown_graph(name: str, names: Iterable[str]) -> UnknownName:
    """Return the error that there is no graph of this name."""
    return UnknownName("graph", name, names, place="; the index's own graph has no name")


__all__ = [
    "OWN_GRAPH",
    "GraphCache",
    "GraphSource",
    "edge_id",
    "edge_properties",
    "node_properties",
    "project_imported",
    "project_store",
    "run_cypher",
    "unknown_graph",
]
