"""Keep a copy of the graph of an index in a graph database.

The nodes, edges and properties are those that Cypher shows on the index, read in pages ordered by
id through the protocols of stores, so that any store can be mirrored. An update reads both sides in
the same ranges of ids and writes what differs. So a run that was killed continues with what is
missing, an index that changed a little writes little, and what somebody else changed in the mirror
is mended.

The stamp is a node that says which index and state the mirror holds, and whether it is finished.
Only the stamp of a finished run makes the mirror current. Each transaction that writes first finds
its run in the stamp, so that only the latest run writes.
"""

from __future__ import annotations

import json
import uuid
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from heapq import merge
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from knotwork._extensions.cypher.store_graphs import edge_properties, node_properties, read_records
from knotwork._extensions.graphs.export import split_batches
from knotwork._extensions.graphs.servers.bolt_connection import (
    BoltConnection,
    BoltStatement,
    Check,
    Rows,
    ValueConverter,
    element_id,
)
from knotwork._graph.walk import AdjacentEdge, strongest_edges, walk_graph
from knotwork._run import Progress, Steps
from knotwork._stores.base import Store
from knotwork._stores.graph_view import EDGE_CHUNKS, edge_order
from knotwork.errors import GraphServerError, StoreBusy
from knotwork.records import (
    ENTITY_EDGES,
    Direction,
    Edge,
    EdgeType,
    Label,
    Node,
    PropertyValue,
    QueriedEdgeType,
    QueriedLabel,
    Subgraph,
    id_to_int,
    int_to_id,
)

NODE_PAGE = 1_000
EDGE_PAGE = 4_000
_READ_AT_ONCE = 1_000

LABELS: tuple[str, ...] = (*Label, *QueriedLabel)
"""The labels of a mirror, in the order in which they are written."""

SOURCES: Mapping[str, tuple[str, ...]] = {
    EdgeType.HAS_SECTION: (Label.DOCUMENT, Label.SECTION),
    EdgeType.HAS_CHUNK: (Label.SECTION,),
    EdgeType.HAS_CHILD: (Label.CHUNK, QueriedLabel.COMMUNITY),
    EdgeType.NEXT: (Label.CHUNK,),
    EdgeType.MENTIONS: (Label.CHUNK,),
    EdgeType.ABOUT: (Label.CHUNK,),
    EdgeType.RELATES: (Label.ENTITY, Label.KEYWORD),
    EdgeType.CO_OCCURS: (Label.ENTITY, Label.KEYWORD),
    QueriedEdgeType.IN_COMMUNITY: (Label.ENTITY, Label.KEYWORD, Label.CHUNK),
    QueriedEdgeType.ANSWERS: (Label.CHUNK,),
    QueriedEdgeType.LINKS_TO: (Label.DOCUMENT,),
}
"""The types of a mirror, in the order of writing, and the labels of their sources."""

Properties = dict[str, PropertyValue]


class EdgeKey(NamedTuple):
    """The key of an edge among those of its type: the ids of its ends, and its relation."""

    source: str
    target: str
    relation: str


class NodePage(NamedTuple):
    """Nodes of a label by id: all with an id above ``low`` and up to ``high`` (None: the last)."""

    label: str
    low: str
    high: str | None
    nodes: dict[str, Properties]


class EdgePage(NamedTuple):
    """Edges of a type from sources with a label: all whose source is in the range, as in a page of
    nodes. ``targets`` has the label of each target.
    """

    type: str
    label: str
    low: str
    high: str | None
    edges: dict[EdgeKey, Properties]
    targets: dict[str, str]


def digest(value: object) -> int:
    """Return 64 bits of a hash of plain values, the same for equal ones."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")


class MirrorContent:
    """The graph of one state of an index. Reads all ids at first, and everything else in pages."""

    def __init__(self, store: Store) -> None:
        self._store = store
        nodes, edges = read_records(store)
        self._records = {node.id: node for node in nodes}
        self._record_edges: defaultdict[str, list[Edge]] = defaultdict(list)
        for edge in sorted(edges, key=edge_order):
            self._record_edges[str(edge.type)].append(edge)
        found = {
            str(Label.DOCUMENT): store.documents.document_ids(),
            str(Label.SECTION): self._targets(EdgeType.HAS_SECTION),
            str(Label.CHUNK): self._targets(EdgeType.HAS_CHUNK),
            **self._entity_ids(),
            **{
                str(label): [node.id for node in nodes if node.label == label]
                for label in QueriedLabel
            },
        }
        self._ids = {label: _to_keys(found[label]) for label in LABELS}
        keys = np.concatenate([self._ids[label] for label in LABELS])
        codes = np.repeat(
            np.arange(len(LABELS), dtype=np.int8), [len(self._ids[label]) for label in LABELS]
        )
        order = np.argsort(keys, kind="stable")
        self._all, self._codes = keys[order], codes[order]

    def node_count(self, label: str) -> int:
        """Return the number of nodes with a label."""
        return len(self._ids[label])

    def edge_counts(self) -> dict[str, int]:
        """Return about how many edges each type has: those with a missing end count too."""
        counts = dict(self._store.graph.schema().edge_types)
        more = {kind: len(edges) for kind, edges in self._record_edges.items()}
        return {kind: counts.get(kind, 0) + more.get(kind, 0) for kind in SOURCES}

    def node_pages(self, label: str) -> Iterator[NodePage]:
        """Yield the nodes of a label in pages that together cover all ids."""
        keys, low = self._ids[label], ""
        starts = range(0, max(len(keys), 1), NODE_PAGE)
        for start in starts:
            ids = [int_to_id(key) for key in keys[start : start + NODE_PAGE].tolist()]
            is_last = start + NODE_PAGE >= len(keys)
            high = None if is_last else ids[-1]
            nodes = {node.id: clean(node_properties(node)) for node in self._nodes(label, ids)}
            yield NodePage(label, low, high, nodes)
            low = high or low

    def edge_pages(self, type_: str) -> Iterator[EdgePage]:
        """Yield the edges of a type in pages that together cover all sources of each label.

        A page has all edges of its sources, so that it may be long for one with many. Edges with a
        missing end are left out.
        """
        lows = dict.fromkeys(SOURCES[type_], "")
        waiting: dict[str, EdgePage] = {}
        for batch in split_batches(self._edges(type_), _READ_AT_ONCE):
            labels = self._labels([end for edge in batch for end in (edge.source, edge.target)])
            for edge in batch:
                label, target = labels.get(edge.source), labels.get(edge.target)
                if label not in lows or target is None:
                    continue
                page = waiting.get(label)
                if page is not None and len(page.edges) >= EDGE_PAGE:
                    last = next(reversed(page.edges)).source
                    if edge.source != last:
                        yield page._replace(high=last)
                        lows[label], page = last, None
                if page is None:
                    page = waiting[label] = EdgePage(type_, label, lows[label], None, {}, {})
                self._add(page, edge, label, target)
        for label, low in lows.items():
            yield waiting.get(label) or EdgePage(type_, label, low, None, {}, {})

    @staticmethod
    def _add(page: EdgePage, edge: Edge, label: str, target: str) -> None:
        relation = edge.relation if edge.type in (EdgeType.RELATES, EdgeType.CO_OCCURS) else ""
        key = EdgeKey(edge.source, edge.target, clean_text(relation))
        properties = edge_properties(
            edge.type, edge.weight, edge.relation, lambda: edge.chunks, source=label
        )
        page.edges[key] = clean(properties)
        page.targets[edge.target] = target

    def _targets(self, type_: EdgeType) -> list[str]:
        return [edge.target for edge in self._store.graph.edges(types=[type_])]

    def _entity_ids(self) -> dict[str, list[str]]:
        """Return the ids of entities and keywords, by label; each is mentioned somewhere."""
        keys = np.unique(_to_keys(self._targets(EdgeType.MENTIONS)))
        found: dict[str, list[str]] = {str(Label.ENTITY): [], str(Label.KEYWORD): []}
        for batch in split_batches(map(int_to_id, keys.tolist()), _READ_AT_ONCE):
            for entity in self._store.graph.entities(batch).values():
                found[str(Label.KEYWORD if entity.is_keyword else Label.ENTITY)].append(entity.id)
        return found

    def _nodes(self, label: str, ids: Sequence[str]) -> Iterable[Node]:
        if label in tuple(QueriedLabel):
            return [self._records[key] for key in ids]
        found = self._store.graph.nodes(ids)
        return [found[key] for key in ids if key in found]

    def _edges(self, type_: str) -> Iterator[Edge]:
        """Yield the edges of a type, ordered by source, target and relation."""
        more = self._record_edges.get(type_, [])
        if type_ in tuple(QueriedEdgeType):
            yield from more
        else:
            yield from merge(self._store.graph.edges(types=[type_]), more, key=edge_order)

    def _labels(self, ids: Sequence[str]) -> dict[str, str]:
        """Return the labels of those nodes that exist."""
        keys = np.array([id_to_int(key) for key in ids], np.int64)
        places = np.minimum(np.searchsorted(self._all, keys), max(len(self._all) - 1, 0))
        if not len(self._all):
            return {}
        return {
            key: LABELS[self._codes[place]]
            for key, place, number in zip(ids, places.tolist(), keys.tolist(), strict=True)
            if self._all[place] == number
        }


def clean(properties: Mapping[str, PropertyValue]) -> Properties:
    """Return properties as a server stores them: without nulls, in text that UTF-8 can encode."""
    return {key: _clean(value) for key, value in properties.items() if value is not None}


def _clean(value: PropertyValue) -> PropertyValue:
    if isinstance(value, str):
        return clean_text(value)
    return [_clean(item) for item in value] if isinstance(value, list | tuple) else value


def clean_text(text: str) -> str:
    """Return a text with a question mark for half a character, which no server stores."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _to_keys(ids: Sequence[str]) -> NDArray[np.int64]:
    return np.sort(np.array([id_to_int(key) for key in ids], np.int64))


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
    fan: int | None,
    limit: int | None,
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
    read: _Read, keys: Sequence[str], arrows: Sequence[str], fan: int | None
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


Key = TypeVar("Key", str, EdgeKey)

INDEX_META = "graph.mirror_id"
"""The setting of an index that identifies its mirror."""

SHOWN_DIFFERENCES = 20
_PASSES = 3
"""How often an update begins again because the index changed meanwhile."""

_CHECKSUM_MASK = (1 << 64) - 1


@dataclass(slots=True)
class MirrorPart:
    """A label or type of the mirror beside that of the index.

    ``kind`` is "nodes" or "edges". A checksum is the sum of the hashes of all items, in hexadecimal
    digits. ``differences`` are the first ones, such as "missing: ID".
    """

    kind: str
    name: str
    index_count: int = 0
    mirror_count: int = 0
    index_checksum: str = ""
    mirror_checksum: str = ""
    differences: tuple[str, ...] = ()

    @property
    def is_equal(self) -> bool:
        """True if both sides have the same items."""
        return (self.index_count, self.index_checksum) == (self.mirror_count, self.mirror_checksum)

    def note(self, words: str, keys: Sequence[str | EdgeKey]) -> None:
        """Keep the first differences."""
        for key in keys[: max(SHOWN_DIFFERENCES - len(self.differences), 0)]:
            shown = key if isinstance(key, str) else " ".join(filter(None, key))
            self.differences += (f"{words}: {shown}",)


@dataclass(frozen=True, slots=True)
class MirrorReport:
    """The outcome of an update or a verification.

    ``is_current`` is True if the stamp is that of the index and nothing differs. ``written`` and
    ``removed`` count nodes and edges. ``unchanged`` is True if the mirror was not compared, as its
    stamp was that of the index.
    """

    url: str
    generation: int
    is_current: bool
    parts: tuple[MirrorPart, ...] = ()
    written: int = 0
    removed: int = 0
    unchanged: bool = False

    @property
    def differing(self) -> tuple[MirrorPart, ...]:
        """The parts that differ."""
        return tuple(part for part in self.parts if not part.is_equal)


class Mirror:
    """The mirror of one index in one database."""

    def __init__(self, store: Store, connection: BoltConnection) -> None:
        self._store = store
        self._connection = connection

    def update(self, *, full: bool = False) -> Steps[MirrorReport]:
        """Write what differs, and return the report.

        A mirror whose stamp is that of the index is left as it is, unless ``full``. Raises
        GraphServerError if the database holds anything else, StoreBusy if the index changes again
        and again, StoreReadOnly for the first mirror of an index that was opened for reading.
        """
        database = MirrorDatabase(self._connection, self._identify())
        generation, stamp = self._store.generation(), database.stamp()
        if stamp is not None and stamp.is_current(self._index, generation) and not full:
            return MirrorReport(self._connection.url, generation, is_current=True, unchanged=True)
        database.begin(uuid.uuid4().hex, generation)
        written = removed = 0
        for _ in range(_PASSES):
            generation = self._store.generation()
            comparison = _Comparison(MirrorContent(self._store), database, writes=True)
            yield from comparison.steps()
            written, removed = written + comparison.written, removed + comparison.removed
            if self._store.generation() == generation:
                break
        else:
            raise StoreBusy(
                "The index changed each time while it was mirrored; the mirror is not finished.",
                fix="Run `knotwork graph mirror` again when indexing has finished.",
            )
        comparison.check_totals()
        database.finish(generation)
        return MirrorReport(
            self._connection.url, generation, is_current=True, written=written, removed=removed
        )

    def verify(self) -> Steps[MirrorReport]:
        """Compare everything, write nothing, and return the report.

        Raises StoreBusy if the index changes meanwhile.
        """
        database = MirrorDatabase(self._connection, self._index)
        generation, stamp = self._store.generation(), database.stamp()
        comparison = _Comparison(MirrorContent(self._store), database, writes=False)
        yield from comparison.steps()
        if self._store.generation() != generation:
            raise StoreBusy(
                "The index changed while it was compared with its mirror.",
                fix="Verify again when indexing has finished.",
            )
        parts = (*comparison.parts, *comparison.other_parts())
        is_stamped = stamp is not None and stamp.is_current(self._index, generation)
        is_current = is_stamped and all(part.is_equal for part in parts)
        return MirrorReport(self._connection.url, generation, is_current, parts)

    @property
    def _index(self) -> str:
        return self._store.meta().get(INDEX_META, "")

    def _identify(self) -> str:
        """Return what identifies the index; the first mirror stores it."""
        if not self._index:
            with self._store.transaction():
                self._store.set_meta({INDEX_META: uuid.uuid4().hex})
        return self._index


class _Comparison:
    """One pass over both sides, which makes the mirror equal if it ``writes``."""

    def __init__(self, content: MirrorContent, database: MirrorDatabase, *, writes: bool) -> None:
        self._content = content
        self._database = database
        self._writes = writes
        self.parts: list[MirrorPart] = []
        self.written = 0
        self.removed = 0

    def steps(self) -> Iterator[Progress]:
        """Compare nodes, then edges, and yield the progress."""
        database = self._database
        for label in LABELS:
            part, total = self._begin("nodes", label), self._content.node_count(label)
            for page in self._content.node_pages(label):
                put, removed = self._differences(part, page.nodes, database.nodes(page))
                if self._writes:
                    database.remove_nodes(label, removed)
                    database.put_nodes(label, put)
                yield Progress(label, part.index_count, total)
        counts = self._content.edge_counts()
        for type_ in SOURCES:
            part, total = self._begin("edges", type_), counts[type_]
            for edges in self._content.edge_pages(type_):
                put_edges, gone = self._differences(part, edges.edges, database.edges(edges))
                if self._writes:
                    database.remove_edges(edges, gone)
                    database.put_edges(edges, put_edges)
                yield Progress(type_, part.index_count, max(total, part.index_count))

    def _begin(self, kind: str, name: str) -> MirrorPart:
        no_items = _add_checksums("", [])
        part = MirrorPart(kind, str(name), index_checksum=no_items, mirror_checksum=no_items)
        self.parts.append(part)
        return part

    def _differences(
        self,
        part: MirrorPart,
        ours: Mapping[Key, Properties],
        theirs: Sequence[tuple[Key, Properties]],
    ) -> tuple[dict[Key, Properties], set[Key]]:
        """Count both sides; return what must be put into the mirror, and what removed before."""
        expected = {key: digest([key, properties]) for key, properties in ours.items()}
        hashes = [digest([key, properties]) for key, properties in theirs]
        part.index_count += len(ours)
        part.mirror_count += len(theirs)
        part.index_checksum = _add_checksums(part.index_checksum, expected.values())
        part.mirror_checksum = _add_checksums(part.mirror_checksum, hashes)
        counts = Counter(key for key, _ in theirs)
        found = {key: one for (key, _), one in zip(theirs, hashes, strict=True)}
        repeated = {key for key, count in counts.items() if count > 1}
        surplus = found.keys() - expected.keys()
        put = {
            key: properties
            for key, properties in ours.items()
            if found.get(key) != expected[key] or key in repeated
        }
        part.note("missing", [key for key in put if key not in found])
        part.note("different", [key for key in put if key in found and key not in repeated])
        part.note("repeated", sorted(repeated - surplus))
        part.note("surplus", sorted(surplus))
        removed = surplus | repeated
        self.written += len(put)
        self.removed += len(removed - put.keys())
        return put, removed

    def other_parts(self) -> list[MirrorPart]:
        """Return the labels and types whose totals in the database are not those compared.

        So are nodes with further labels, and edges that no node of the index has.
        """
        totals = {"nodes": self._database.label_counts(), "edges": self._database.type_counts()}
        for part in self.parts:
            compared = part.index_count if self._writes else part.mirror_count
            if count := totals[part.kind].pop(part.name, 0) - compared:
                totals[part.kind][f"other {part.name}"] = count
        return [
            MirrorPart(kind, name or "without a label", 0, count)
            for kind, counts in totals.items()
            for name, count in counts.items()
        ]

    def check_totals(self) -> None:
        """Raise GraphServerError if the database holds more than was written."""
        others = self.other_parts()
        if others:
            shown = ", ".join(f"{part.mirror_count:,} {part.name} {part.kind}" for part in others)
            raise GraphServerError(
                f"The database holds what is not of the index: {shown}.",
                fix="Remove it, or empty the database; then run `knotwork graph mirror` again.",
            )


def _add_checksums(before: str, hashes: Iterable[int]) -> str:
    """Return a checksum with the hashes of further items."""
    return f"{(int(before or '0', 16) + sum(hashes)) & _CHECKSUM_MASK:016x}"
