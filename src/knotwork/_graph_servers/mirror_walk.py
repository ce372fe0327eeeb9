"""Walk the graph around entities in a mirror, with the result of a walk in the index."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from knotwork._graph.walk import AdjacentEdge, strongest_edges, walk_graph
from knotwork._graph_servers.bolt_connection import BoltConnection, BoltStatement
from knotwork._graph_servers.bolt_values import ValueConverter, element_id
from knotwork._graph_servers.mirror_database import CheckMirror, read_mirror
from knotwork._stores.graph_view import EDGE_CHUNKS
from knotwork.records import ENTITY_EDGES, Direction, Edge, Label, Node, Subgraph

_TIMEOUT_S = 30.0
_MOST_ROWS = 1_000_000
_LABELS = (str(Label.ENTITY), str(Label.KEYWORD))
_TYPES = "|".join(sorted(ENTITY_EDGES))
_PATTERNS = {"->": f"-[r:{_TYPES}]->", "<-": f"<-[r:{_TYPES}]-"}
_ARROWS = {"out": ("->",), "in": ("<-",), "both": ("->", "<-")}


def walk_mirror(
    connection: BoltConnection,
    seeds: Sequence[str],
    *,
    check_mirror: CheckMirror,
    direction: Direction,
    depth: int,
    fan: int,
    limit: int,
) -> Subgraph:
    """Walk breadth first from entities, as `GraphStore.explore`; see `read_mirror`."""
    walker = _Walker(connection, check_mirror, direction, fan)
    known = walker.nodes(seeds)
    reached = walk_graph(
        walker.adjacent, [seed for seed in seeds if seed in known], depth=depth, limit=limit
    )
    nodes = walker.nodes(reached.nodes)
    edges = walker.edges(reached.edges)
    return Subgraph(tuple(nodes[key] for key in reached.nodes), tuple(edges))


class _Walker:
    def __init__(
        self,
        connection: BoltConnection,
        check_mirror: CheckMirror,
        direction: Direction,
        fan: int,
    ) -> None:
        self._connection = connection
        self._check_mirror = check_mirror
        self._arrows = _ARROWS[direction]
        self._fan = fan

    def adjacent(self, keys: Sequence[str]) -> list[list[AdjacentEdge[str]]]:
        """Return the edges to the strongest neighbours of each node."""
        statements = [
            BoltStatement(
                f"UNWIND $ids AS id MATCH (a:{label} {{id: id}}){_PATTERNS[arrow]}(b)"
                " RETURN a.id, b.id, type(r), r.relation, r.weight",
                {"ids": list(keys)},
            )
            for label in _LABELS
            for arrow in self._arrows
        ]
        forward = [arrow == "->" for _ in _LABELS for arrow in self._arrows]
        found: defaultdict[str, list[AdjacentEdge[str]]] = defaultdict(list)
        for is_forward, rows in zip(forward, self._read(statements), strict=True):
            for near, far, kind, relation, weight in rows:
                source, target = (near, far) if is_forward else (far, near)
                edge = AdjacentEdge(-float(weight), far, kind, relation, source, target)
                found[near].append(edge)
        return [strongest_edges(found.get(key, ()), self._fan) for key in keys]

    def nodes(self, keys: Iterable[str]) -> dict[str, Node]:
        """Return those entities that exist, by id."""
        statements = [
            BoltStatement(
                f"UNWIND $ids AS id MATCH (a:{label} {{id: id}}) RETURN properties(a)",
                {"ids": list(keys)},
            )
            for label in _LABELS
        ]
        converter = ValueConverter(element_id, unlimited=True)
        found: dict[str, Node] = {}
        for label, rows in zip(_LABELS, self._read(statements), strict=True):
            for (own,) in rows:
                properties = dict(converter.plain(own))
                key, name = str(properties.pop("id")), str(properties.pop("name"))
                found[key] = Node(key, Label(label), name, properties)
        return found

    def edges(self, adjacent: Sequence[AdjacentEdge[str]]) -> list[Edge]:
        """Return edges with their first supporting chunks."""
        rows = [
            {"source": edge.source, "target": edge.target, "relation": edge.relation}
            for edge in adjacent
        ]
        statements = [
            BoltStatement(
                f"UNWIND $rows AS row MATCH (a:{label} {{id: row.source}})-[r:{_TYPES}]->(b)"
                " WHERE b.id = row.target AND r.relation = row.relation"
                " RETURN a.id, b.id, r.relation, r.chunks",
                {"rows": rows},
            )
            for label in _LABELS
        ]
        chunks = {
            (source, target, relation): tuple(supporting[:EDGE_CHUNKS])
            for found in self._read(statements)
            for source, target, relation, supporting in found
        }
        return [
            Edge(
                edge.source,
                edge.type,
                edge.target,
                edge.weight,
                edge.relation,
                chunks[edge.source, edge.target, edge.relation],
            )
            for edge in adjacent
        ]

    def _read(self, statements: Sequence[BoltStatement]) -> list[list[tuple[Any, ...]]]:
        found = read_mirror(
            self._connection,
            self._check_mirror,
            statements,
            row_limit=_MOST_ROWS,
            timeout_s=_TIMEOUT_S,
        )
        return [rows.rows for rows in found]
