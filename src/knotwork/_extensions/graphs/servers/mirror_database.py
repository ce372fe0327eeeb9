"""The mirror in a graph database: its stamp, reading ranges of ids, writing, and walks in it.

The stamp is a node that says which index and state the mirror holds, and whether it is finished.
Each transaction that writes first finds its run in the stamp, so that only the latest run
writes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from knotwork._extensions.graphs.export import split_batches
from knotwork._extensions.graphs.servers.bolt_connection import (
    BoltConnection,
    BoltStatement,
    Check,
    Rows,
)
from knotwork._extensions.graphs.servers.bolt_values import ValueConverter, element_id
from knotwork._extensions.graphs.servers.mirror_content import (
    LABELS,
    EdgeKey,
    EdgePage,
    NodePage,
    Properties,
)
from knotwork._graph.walk import AdjacentEdge, strongest_edges, walk_graph
from knotwork._stores.graph_view import EDGE_CHUNKS
from knotwork.errors import GraphServerError
from knotwork.records import ENTITY_EDGES, Direction, Edge, Label, Node, Subgraph

STAMP = "KnotworkMirror"
"""The label of the stamp."""

BUILDING, CURRENT = "building", "current"
_VERSION = 1
"""Raised with every change of what a mirror holds, so that older ones are rewritten."""

_READ_TIMEOUT_S = 120.0
_MOST_ROWS = 10_000_000
_ROWS_AT_ONCE = 2_000
_CHARACTERS_AT_ONCE = 4_000_000


@dataclass(frozen=True, slots=True)
class Stamp:
    """What a mirror says of itself."""

    index: str
    generation: int
    state: str
    version: int

    def is_current(self, index: str, generation: int) -> bool:
        """Return True if the mirror is finished and holds this state of this index."""
        return self == Stamp(index, generation, CURRENT, _VERSION)


_READ_STAMP = BoltStatement(
    f"MATCH (m:{STAMP}) RETURN m.index, m.generation, m.state, m.version", {}, row_limit=10
)

CheckMirror = Callable[[list[Stamp]], None]
"""Takes the stamps of a mirror, and raises an error if it must not be read."""


def read_mirror(
    connection: BoltConnection,
    check_mirror: CheckMirror,
    statements: Sequence[BoltStatement],
    *,
    row_limit: int,
    timeout_s: float,
    check: Check | None = None,
) -> list[Rows]:
    """Read a mirror in one transaction, as `BoltConnection.read`, if ``check_mirror`` allows it.

    The stamp is read before and behind the statements, because databases that show what others
    commit meanwhile would let an update begin in between.
    """
    before, *found, behind = connection.read(
        [_READ_STAMP, *statements, _READ_STAMP],
        row_limit=row_limit,
        timeout_s=timeout_s,
        check=check,
    )
    check_mirror(_stamps(before))
    check_mirror(_stamps(behind))
    return found


def _stamps(rows: Rows) -> list[Stamp]:
    return [
        Stamp(str(index), int(generation), str(state), int(version))
        for index, generation, state, version in rows.rows
    ]


class MirrorDatabase:
    """A graph database that holds, or is to hold, the mirror of one index."""

    def __init__(self, connection: BoltConnection, index: str) -> None:
        self.connection = connection
        self._index = index
        self._run = ""

    def stamp(self) -> Stamp | None:
        """Return the stamp of the mirror. Raises GraphServerError if it is of another index."""
        stamps = _stamps(self._read(_READ_STAMP))
        for stamp in stamps:
            if stamp.index != self._index or len(stamps) > 1:
                raise GraphServerError(
                    f"The database {self.connection.url} has the mirror of another index.",
                    fix="Use a database of its own for each index, or empty this one.",
                )
        return stamps[0] if stamps else None

    def begin(self, run: str, generation: int) -> None:
        """Mark the mirror as unfinished, and let no other run write to it.

        Raises GraphServerError if the database has nodes that are not of a mirror.
        """
        if not self.connection.dialect().is_mirror:
            raise GraphServerError(
                f"A {self.connection.dialect().name} database cannot hold a mirror."
            )
        is_new = self.stamp() is None
        strange = [] if not is_new else [label for label, count in self.label_counts().items()]
        if strange:
            raise GraphServerError(
                f"The database {self.connection.url} has nodes that are not of a mirror:"
                f" {', '.join(sorted(strange)[:5])}.",
                fix="Use an empty database.",
            )
        self.connection.create_indexes(LABELS)
        self._run = run
        text = (
            f"MERGE (m:{STAMP} {{index: $index}}) SET m.run = $run, m.generation = $generation,"
            " m.state = $state, m.version = $version, m.batches = 0"
        )
        values = {"index": self._index, "run": run, "generation": generation}
        self.connection.write(
            [BoltStatement(text, {**values, "state": BUILDING, "version": _VERSION})]
        )

    def finish(self, generation: int) -> None:
        """Mark the mirror as that of this state of the index."""
        text = f"MATCH (m:{STAMP} {{run: $run}}) SET m.state = $state, m.generation = $generation"
        values = {"run": self._run, "state": CURRENT, "generation": generation}
        self._write([BoltStatement(text, values)])

    def label_counts(self) -> dict[str, int]:
        """Return how many nodes have each label, without the stamp; "" is for none."""
        rows = self._read(BoltStatement("MATCH (n) RETURN labels(n), count(*)", {})).rows
        counts: defaultdict[str, int] = defaultdict(int)
        for labels, count in rows:
            counts[":".join(sorted(labels))] += int(count)
        counts.pop(STAMP, None)
        return dict(counts)

    def type_counts(self) -> dict[str, int]:
        """Return how many edges each type has."""
        rows = self._read(BoltStatement("MATCH ()-[r]->() RETURN type(r), count(*)", {})).rows
        return {str(name): int(count) for name, count in rows}

    def nodes(self, page: NodePage) -> list[tuple[str, Properties]]:
        """Return id and properties of the nodes in the range of a page; repeated ones too."""
        text = f"MATCH (n:{page.label}) WHERE {_range('n', page.high)} RETURN n.id, properties(n)"
        rows = self._read(BoltStatement(text, {"low": page.low, "high": page.high}))
        converter = ValueConverter(element_id, unlimited=True)
        return [(str(key), dict(converter.plain(own))) for key, own in rows.rows]

    def edges(self, page: EdgePage) -> list[tuple[EdgeKey, Properties]]:
        """Return key and properties of the edges in the range of a page; repeated ones too.

        The sources are read first: a database may use the index of a range for nodes alone, and
        that of an id for patterns with relationships too.
        """
        text = f"MATCH (a:{page.label}) WHERE {_range('a', page.high)} RETURN a.id"
        sources = self._read(BoltStatement(text, {"low": page.low, "high": page.high}))
        edges = (
            f"UNWIND $ids AS id MATCH (a:{page.label} {{id: id}})-[r:{page.type}]->(b)"
            " RETURN a.id, b.id, properties(r)"
        )
        converter = ValueConverter(element_id, unlimited=True)
        found: list[tuple[EdgeKey, Properties]] = []
        for ids in split_batches(sorted({key for (key,) in sources.rows}), _ROWS_AT_ONCE):
            for source, target, own in self._read(BoltStatement(edges, {"ids": ids})).rows:
                properties = dict(converter.plain(own))
                key = EdgeKey(str(source), str(target), str(properties.get("relation", "")))
                found.append((key, properties))
        return found

    def remove_nodes(self, label: str, ids: Collection[str]) -> None:
        """Remove nodes with their edges."""
        text = f"UNWIND $rows AS row MATCH (n:{label} {{id: row}}) DETACH DELETE n"
        self._write_rows(text, sorted(ids))

    def put_nodes(self, label: str, nodes: Mapping[str, Properties]) -> None:
        """Add or replace nodes."""
        text = f"UNWIND $rows AS row MERGE (n:{label} {{id: row.id}}) SET n = row"
        self._write_rows(text, [nodes[key] for key in sorted(nodes)])

    def remove_edges(self, page: EdgePage, keys: Collection[EdgeKey]) -> None:
        """Remove edges of the type of a page."""
        text = (
            f"UNWIND $rows AS row MATCH (a:{page.label} {{id: row.source}})-[r:{page.type}]->(b)"
            " WHERE b.id = row.target AND coalesce(r.relation, '') = row.relation DELETE r"
        )
        self._write_rows(text, [key._asdict() for key in sorted(keys)])

    def put_edges(self, page: EdgePage, edges: Mapping[EdgeKey, Properties]) -> None:
        """Add or replace edges of a page, whose ends exist."""
        groups: defaultdict[tuple[str, bool], list[dict[str, object]]] = defaultdict(list)
        for key in sorted(edges):
            row = {**key._asdict(), "properties": edges[key]}
            groups[page.targets[key.target], "relation" in edges[key]].append(row)
        for (label, has_relation), rows in groups.items():
            relation = " {relation: row.relation}" if has_relation else ""
            text = (
                f"UNWIND $rows AS row MATCH (a:{page.label} {{id: row.source}})"
                f" MATCH (b:{label} {{id: row.target}})"
                f" MERGE (a)-[r:{page.type}{relation}]->(b) SET r = row.properties"
            )
            self._write_rows(text, rows)

    def _read(self, statement: BoltStatement) -> Rows:
        (rows,) = self.connection.read([statement], row_limit=_MOST_ROWS, timeout_s=_READ_TIMEOUT_S)
        return rows

    def _write_rows(self, text: str, rows: Sequence[object]) -> None:
        batch: list[object] = []
        size = 0
        for row in rows:
            batch.append(row)
            size += len(str(row))
            if len(batch) >= _ROWS_AT_ONCE or size >= _CHARACTERS_AT_ONCE:
                self._write([BoltStatement(text, {"rows": batch})])
                batch, size = [], 0
        if batch:
            self._write([BoltStatement(text, {"rows": batch})])

    def _write(self, statements: Sequence[BoltStatement]) -> None:
        """Run statements in a transaction of this run."""
        claim = BoltStatement(
            f"MATCH (m:{STAMP} {{run: $run}}) SET m.batches = m.batches + 1 RETURN m.batches",
            {"run": self._run},
        )

        def check_claim(rows: Rows) -> None:
            if not rows.rows:
                raise GraphServerError(
                    f"Another run has begun to write the mirror at {self.connection.url}.",
                    fix="Let it finish; it continues where this one ended.",
                )

        self.connection.write([claim, *statements], on_first=check_claim)


def _range(name: str, high: str | None) -> str:
    upper = "" if high is None else f" AND {name}.id <= $high"
    return f"{name}.id > $low{upper}"


_WALK_TIMEOUT_S = 30.0
_WALK_ROWS = 1_000_000
_LABELS = (str(Label.ENTITY), str(Label.KEYWORD))
_TYPES = "|".join(sorted(ENTITY_EDGES))
_PATTERNS = {"->": f"-[r:{_TYPES}]->", "<-": f"<-[r:{_TYPES}]-"}
_ARROWS = {"out": ("->",), "in": ("<-",), "both": ("->", "<-")}

_Read = Callable[[Sequence[BoltStatement]], list[list[tuple[Any, ...]]]]


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

    def read(statements: Sequence[BoltStatement]) -> list[list[tuple[Any, ...]]]:
        found = read_mirror(
            connection, check_mirror, statements, row_limit=_WALK_ROWS, timeout_s=_WALK_TIMEOUT_S
        )
        return [rows.rows for rows in found]

    known = _entity_nodes(read, seeds)
    reached = walk_graph(
        lambda keys: _adjacent(read, keys, _ARROWS[direction], fan),
        [seed for seed in seeds if seed in known],
        depth=depth,
        limit=limit,
    )
    nodes = _entity_nodes(read, reached.nodes)
    edges = _with_chunks(read, reached.edges)
    return Subgraph(tuple(nodes[key] for key in reached.nodes), tuple(edges))


def _adjacent(
    read: _Read, keys: Sequence[str], arrows: Sequence[str], fan: int
) -> list[list[AdjacentEdge[str]]]:
    """Return the edges to the strongest neighbours of each node."""
    ways = [(label, arrow) for label in _LABELS for arrow in arrows]
    statements = [
        BoltStatement(
            f"UNWIND $ids AS id MATCH (a:{label} {{id: id}}){_PATTERNS[arrow]}(b)"
            " RETURN a.id, b.id, type(r), r.relation, r.weight",
            {"ids": list(keys)},
        )
        for label, arrow in ways
    ]
    found: defaultdict[str, list[AdjacentEdge[str]]] = defaultdict(list)
    for (_, arrow), rows in zip(ways, read(statements), strict=True):
        for near, far, kind, relation, weight in rows:
            source, target = (near, far) if arrow == "->" else (far, near)
            edge = AdjacentEdge(-float(weight), far, kind, relation, source, target)
            found[near].append(edge)
    return [strongest_edges(found.get(key, ()), fan) for key in keys]


def _entity_nodes(read: _Read, keys: Iterable[str]) -> dict[str, Node]:
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
    for label, rows in zip(_LABELS, read(statements), strict=True):
        for (own,) in rows:
            properties = dict(converter.plain(own))
            key, name = str(properties.pop("id")), str(properties.pop("name"))
            found[key] = Node(key, Label(label), name, properties)
    return found


def _with_chunks(read: _Read, adjacent: Sequence[AdjacentEdge[str]]) -> list[Edge]:
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
        for found in read(statements)
        for source, target, relation, supporting in found
    }
    return [
        Edge(
            e.source, e.type, e.target, e.weight, e.relation, chunks[e.source, e.target, e.relation]
        )
        for e in adjacent
    ]
