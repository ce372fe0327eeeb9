"""Run Cypher on an SQL database: the index graph and imported graphs, read into arrays.

The first use of a label reads the properties of all its nodes. The text of a chunk and the chunks
that support an edge are read one at a time and never cached. Stores import this module on the first
statement, as it loads the Cypher language.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from itertools import accumulate, chain, islice, repeat
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from knotwork._extensions.cypher.language import Limits, PropertyGraph, run_statement
from knotwork._extensions.cypher.store_graphs import (
    GraphCache,
    LazyProperties,
    edge_id,
    edge_properties,
    node_properties,
    unknown_graph,
)
from knotwork._stores.capabilities import OWN_GRAPH
from knotwork._stores.graph_view import question_node
from knotwork._stores.sql.database import (
    Row,
    SqlDatabase,
    reports_damage,
    unpack_json,
    unpack_line,
    unpack_strings,
)
from knotwork._stores.sql.graph import (
    NEXT_ROWS,
    NODE_TABLES,
    SECTION_ROWS,
    chunk_of_row,
    document_of_row,
    entity_of_row,
    section_of_row,
)
from knotwork._stores.sql.parts import SqlPropertyGraphs
from knotwork.records import (
    CO_OCCURRENCE_RELATION,
    EdgeType,
    Label,
    Node,
    PropertyValue,
    QueriedEdgeType,
    QueriedLabel,
    QueryResult,
    id_to_int,
    int_to_id,
)

_BLOCK_ROWS = 50_000


@reports_damage
class SqlCypher:
    """Run each statement inside one read transaction; graphs are cached until they change."""

    def __init__(
        self,
        database: SqlDatabase,
        graphs: SqlPropertyGraphs,
        links: Callable[[], list[tuple[str, str]]],
    ) -> None:
        self._database = database
        self._graphs = graphs
        self._links = links
        self._cache = GraphCache()

    def run(
        self,
        statement: str,
        parameters: Mapping[str, PropertyValue] | None = None,
        *,
        graph: str = OWN_GRAPH,
        row_limit: int = 1_000,
        timeout_s: float = 10.0,
    ) -> QueryResult:
        """Run a statement; see `CypherRunner`."""
        with self._database.reading():
            found = self._cache.get(graph, *self._source(graph))
            limits = Limits(rows=row_limit, timeout_s=timeout_s)
            return run_statement(found, statement, parameters, limits=limits)

    def _source(self, name: str) -> tuple[int | None, Callable[[], PropertyGraph]]:
        """Return the version of a graph, if it may be cached, and what builds it."""
        database = self._database
        if name == OWN_GRAPH:
            version = None if database.writing else database.generation()
            return version, partial(project_index, database, self._links)
        key = self._graphs.key(name)
        if key is None:
            raise unknown_graph(name, self._graphs.names())
        return None if database.writing else key, partial(self._read_imported, key)

    def _read_imported(self, key: int) -> PropertyGraph:
        """Read an imported graph; equal labels and types share one object."""
        stored = self._graphs.read(key)
        unpack_labels, unpack_type = cache(unpack_strings), cache(unpack_line)
        packed_nodes = [row[2] for row in stored.nodes]
        packed_edges = [row[4] for row in stored.relationships]
        ids = [row[0] for row in stored.relationships]
        return PropertyGraph(
            ids=[unpack_line(row[0]) for row in stored.nodes],
            labels=[unpack_labels(row[1]) for row in stored.nodes],
            types=[unpack_type(row[1]) for row in stored.relationships],
            sources=[row[2] for row in stored.relationships],
            targets=[row[3] for row in stored.relationships],
            node_properties=lambda index: unpack_json(packed_nodes[index]),
            relationship_properties=lambda index: unpack_json(packed_edges[index]),
            relationship_id=lambda index: unpack_line(ids[index]),
        )


_TABLES: dict[str, str] = {str(label): table for label, table in NODE_TABLES.items()} | {
    QueriedLabel.COMMUNITY: "community",
    QueriedLabel.QUESTION: "question",
}
_LABELS = tuple(_TABLES)


class CypherStatements:
    """The statements of `SqlCypher`, the same in all dialects."""

    nodes: Mapping[str, str] = {
        label: f"SELECT id FROM {table}" for label, table in _TABLES.items()
    }
    relation_names = "SELECT id, name FROM relation"
    _relations = """
        SELECT e.source, e.target, e.weight, e.relation
        FROM edge e JOIN relation r ON r.id = e.relation
        WHERE r.name {} ORDER BY e.source, e.target, r.name
    """
    edges: Mapping[str, str] = {
        EdgeType.ABOUT: """
            SELECT chunk, entity, about FROM mention WHERE about > 0 ORDER BY chunk, entity
        """,
        QueriedEdgeType.ANSWERS: "SELECT chunk, id FROM question ORDER BY chunk, id",
        EdgeType.CO_OCCURS: _relations.format(f"= '{CO_OCCURRENCE_RELATION}'"),
        EdgeType.HAS_CHILD: """
            SELECT parent, id FROM chunk WHERE parent IS NOT NULL
            UNION ALL SELECT parent, id FROM community WHERE parent IS NOT NULL
            ORDER BY 1, 2
        """,
        EdgeType.HAS_CHUNK: "SELECT section, id FROM chunk ORDER BY section, id",
        EdgeType.HAS_SECTION: SECTION_ROWS,
        QueriedEdgeType.IN_COMMUNITY: """
            SELECT entity, community, importance FROM community_member
            UNION ALL SELECT chunk, community, 0 FROM community_chunk
            ORDER BY 1, 2
        """,
        EdgeType.MENTIONS: "SELECT chunk, entity, times FROM mention ORDER BY chunk, entity",
        EdgeType.NEXT: NEXT_ROWS,
        EdgeType.RELATES: _relations.format(f"<> '{CO_OCCURRENCE_RELATION}'"),
    }
    """By type, in its order: sources, targets, and for some types weights and relations."""
    supports = """
        SELECT chunk FROM contribution
        WHERE source = $1 AND target = $2 AND relation = $3 ORDER BY chunk
    """
    properties: Mapping[str, str] = {
        Label.CHUNK: 'SELECT id, name, document, section, ordinal, start, "end" FROM chunk',
        Label.DOCUMENT: "SELECT id, uri, title, media_type, language FROM document",
        **{
            label: f"SELECT id, name, normal_form, type, chunk_count FROM {NODE_TABLES[label]}"
            for label in (Label.ENTITY, Label.KEYWORD)
        },
        Label.SECTION: 'SELECT id, title, document, level, ordinal, start, "end" FROM section',
        QueriedLabel.COMMUNITY: """
            SELECT c.id, c.level,
                (SELECT count(*) FROM community_member m WHERE m.community = c.id),
                (SELECT count(*) FROM community_chunk h WHERE h.community = c.id),
                r.title, r.summary, r.rating, r.language
            FROM community c LEFT JOIN report r ON r.community = c.id
        """,
        QueriedLabel.QUESTION: "SELECT id, chunk, ordinal, text FROM question",
    }
    """By label: the key of each node, and what its properties are made of."""
    chunk_text = "SELECT text FROM chunk WHERE id = $1"


class _Edges(NamedTuple):
    """The edges of one type, as places of both ends among the nodes.

    ``weights`` and ``relations`` (keys) are empty for types without them.
    """

    sources: NDArray[np.int32]
    targets: NDArray[np.int32]
    weights: NDArray[np.float64]
    relations: NDArray[np.int64]


def project_index(
    database: SqlDatabase, links: Callable[[], list[tuple[str, str]]]
) -> PropertyGraph:
    """Read the index graph. Use it, and read its properties, inside `Database.reading`.

    ``links`` returns the ids of documents that link to others (`LinkedDocuments.pairs`).
    """
    keys, labels = _read_nodes(database)
    rows = {str(kind): database.stream(sql) for kind, sql in CypherStatements.edges.items()}
    rows[QueriedEdgeType.LINKS_TO] = iter([(*map(id_to_int, pair),) for pair in links()])
    types = sorted(rows)
    edges = [_read_edges(rows[kind], keys) for kind in types]
    counts = [len(of_type.sources) for of_type in edges]
    starts = [0, *accumulate(counts)][:-1]
    names: dict[int, str] = dict(database.rows(CypherStatements.relation_names))
    rows_of: dict[str, dict[int, Row]] = {}

    def node_properties_of(index: int) -> Mapping[str, PropertyValue]:
        label, key = _LABELS[labels[index]], int(keys[index])
        if label not in rows_of:
            found = database.rows(CypherStatements.properties[label])
            rows_of[label] = {row[0]: row[1:] for row in found}
        return _PROPERTIES_OF[label](database, key, rows_of[label][key])

    def locate(index: int) -> tuple[str, _Edges, int]:
        """Return the type of an edge, all edges of that type, and its place among them."""
        place = bisect_right(starts, index) - 1
        return types[place], edges[place], index - starts[place]

    def relationship_properties(index: int) -> Mapping[str, PropertyValue]:
        kind, of_type, place = locate(index)
        source, target = int(of_type.sources[place]), int(of_type.targets[place])
        relation = int(of_type.relations[place]) if len(of_type.relations) else 0

        def chunks() -> list[str]:
            between = int(keys[source]), int(keys[target]), relation
            rows = database.rows(CypherStatements.supports, between)
            return [int_to_id(chunk) for (chunk,) in rows]

        weight = float(of_type.weights[place]) if len(of_type.weights) else 0.0
        label = _LABELS[labels[source]]
        return edge_properties(kind, weight, names.get(relation, ""), chunks, source=label)

    def relationship_id(index: int) -> str:
        kind, of_type, place = locate(index)
        source, target = (int(keys[end[place]]) for end in (of_type.sources, of_type.targets))
        relation = names[int(of_type.relations[place])] if len(of_type.relations) else ""
        return edge_id(int_to_id(source), kind, int_to_id(target), relation)

    return PropertyGraph(
        ids=[int_to_id(key) for key in keys.tolist()],
        labels=[(str(_LABELS[code]),) for code in labels.tolist()],
        types=chain.from_iterable(map(repeat, types, counts)),
        sources=np.concatenate([of_type.sources for of_type in edges]),
        targets=np.concatenate([of_type.targets for of_type in edges]),
        node_properties=node_properties_of,
        relationship_properties=relationship_properties,
        relationship_id=relationship_id,
    )


def _read_nodes(database: SqlDatabase) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
    """Return the keys of all nodes, ascending, and the positions of their labels."""
    found = [
        np.fromiter((key for (key,) in database.stream(CypherStatements.nodes[label])), np.int64)
        for label in _LABELS
    ]
    codes = np.repeat(np.arange(len(found), dtype=np.int8), [len(keys) for keys in found])
    keys = np.concatenate(found)
    order = np.argsort(keys, kind="stable")
    return keys[order], codes[order]


def _read_edges(rows: Iterator[Row], keys: NDArray[np.int64]) -> _Edges:
    """Return the edges of a type, without those that have an end that is not a node."""
    blocks = [_Edges(*(np.empty(0, type_) for type_ in (np.int32, np.int32, float, np.int64)))]
    while block := list(islice(rows, _BLOCK_ROWS)):
        columns = list(zip(*block, strict=True))
        sources, targets = (np.array(column, np.int64) for column in columns[:2])
        weights = np.array(columns[2] if len(columns) > 2 else (), np.float64)
        relations = np.array(columns[3] if len(columns) > 3 else (), np.int64)
        ends = [np.searchsorted(keys, end).clip(max=len(keys) - 1) for end in (sources, targets)]
        good = (keys[ends[0]] == sources) & (keys[ends[1]] == targets)
        blocks.append(
            _Edges(
                ends[0][good].astype(np.int32),
                ends[1][good].astype(np.int32),
                weights[good] if len(weights) else weights,
                relations[good] if len(relations) else relations,
            )
        )
    return _Edges(*(np.concatenate(column) for column in zip(*blocks, strict=True)))


_PropertiesOf = Callable[[SqlDatabase, int, Row], Mapping[str, PropertyValue]]


def _from_node(make: Callable[..., Node]) -> _PropertiesOf:
    return lambda _, key, row: node_properties(make(int_to_id(key), *row))


def _community_properties(_: SqlDatabase, key: int, row: Row) -> Mapping[str, PropertyValue]:
    names = ("level", "entity_count", "chunk_count", "title", "summary", "rating", "language")
    found = {name: value for name, value in zip(names, row, strict=True) if value is not None}
    return {"id": int_to_id(key), "name": found.get("title", ""), **found}


def _question_properties(_: SqlDatabase, key: int, row: Row) -> Mapping[str, PropertyValue]:
    del key
    chunk, ordinal, text = row
    return node_properties(question_node(int_to_id(chunk), ordinal, unpack_line(text)))


def _chunk_properties(database: SqlDatabase, key: int, row: Row) -> Mapping[str, PropertyValue]:
    plain = node_properties(chunk_of_row(int_to_id(key), *(*row, "")))
    del plain["text"]

    def read_text() -> str:
        found = database.row(CypherStatements.chunk_text, (key,))
        if found is None:
            raise KeyError("text")
        return str(found[0])

    return LazyProperties(plain, "text", read_text)


_PROPERTIES_OF: dict[str, _PropertiesOf] = {
    Label.CHUNK: _chunk_properties,
    Label.DOCUMENT: _from_node(document_of_row),
    Label.ENTITY: _from_node(entity_of_row),
    Label.KEYWORD: _from_node(entity_of_row),
    Label.SECTION: _from_node(section_of_row),
    QueriedLabel.COMMUNITY: _community_properties,
    QueriedLabel.QUESTION: _question_properties,
}
