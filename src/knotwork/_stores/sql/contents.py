"""Everything in the tables of an index, in pages by primary key."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from itertools import groupby
from typing import Protocol, Self

from knotwork._stores.base import TextIndex, VectorIndex
from knotwork._stores.contents import TextItem, VectorItem
from knotwork._stores.sql.communities import SqlCommunities
from knotwork._stores.sql.database import Dialect, Row, SqlDatabase, SqlPart, reports_damage
from knotwork._stores.sql.packing import keys_of, unpack_line, unpack_strings
from knotwork._stores.sql.property_graphs import SqlPropertyGraphs, unpack_properties
from knotwork._stores.sql.readings import SqlReadings
from knotwork._stores.sql.resolutions import DECISION_COLUMNS, decision_of
from knotwork.records import (
    Community,
    EntitySummary,
    Homonym,
    PropertyNode,
    Relationship,
    SameAs,
    id_to_int,
    int_to_id,
)


class SqlTexts(TextIndex, Protocol):
    """The text index of an engine."""

    def items(self, after: int, *, limit: int) -> list[TextItem]:
        """Return the first ``limit`` items whose keys follow ``after``."""
        ...


class SqlVectors(VectorIndex, Protocol):
    """The vector index of an engine."""

    def items(self, after: int, *, limit: int) -> list[VectorItem]:
        """Return the first ``limit`` items whose keys follow ``after``."""
        ...

    def take_over(self, source: Self) -> None:
        """Replace all vectors with those of another index, which is empty afterwards."""

    def clear(self) -> None:
        """Remove all vectors."""


class ContentsStatements:
    """The statements of `SqlContents` in one dialect."""

    def __init__(self, dialect: Dialect) -> None:
        self.ids = {
            table: f"SELECT {column} FROM {table} WHERE {column} > $1 ORDER BY {column} LIMIT $2"
            for table, column in (
                ("document", "id"),
                ("entity", "id"),
                ("community", "id"),
                ("entity_summary", "entity"),
                ("touched_entity", "entity"),
            )
        }
        self.decisions = f"""
            SELECT {DECISION_COLUMNS} FROM same_as d WHERE (d.first, d.second) > ($1, $2)
            ORDER BY d.first, d.second LIMIT $3
        """
        self.homonyms = """
            SELECT entity, reason FROM homonym WHERE entity > $1 ORDER BY entity LIMIT $2
        """
        self.senses = f"""
            SELECT s.entity, s.number, s.chunk
            FROM {dialect.keys("$1")} CROSS JOIN sense s WHERE s.entity = j.value
            ORDER BY s.entity, s.number, s.chunk
        """
        self.nodes = """
            SELECT id, labels, properties FROM property_node WHERE graph = $1 AND position >= $2
            ORDER BY position LIMIT $3
        """
        self.relationships = """
            SELECT r.id, r.type, s.id, t.id, r.properties FROM property_relationship r
            JOIN property_node s ON s.graph = r.graph AND s.position = r.source
            JOIN property_node t ON t.graph = r.graph AND t.position = r.target
            WHERE r.graph = $1 AND r.position >= $2 ORDER BY r.position LIMIT $3
        """
        self.mark = "UPDATE community SET stale = 1 WHERE id = $1"


@reports_damage
class SqlContents(SqlPart):
    """The `Contents` of stores in SQL databases."""

    def __init__(
        self,
        database: SqlDatabase,
        *,
        texts: Callable[[str], SqlTexts],
        vectors: Callable[[str], SqlVectors],
    ) -> None:
        super().__init__(database)
        self._sql = ContentsStatements(database.dialect)
        self._texts = texts
        self._vectors = vectors
        self._communities = SqlCommunities(database)
        self._readings = SqlReadings(database)
        self._graphs = SqlPropertyGraphs(database)

    def document_ids(self, after: str, *, limit: int) -> list[str]:
        return self._page("document", after, limit)

    def entity_ids(self, after: str, *, limit: int) -> list[str]:
        return self._page("entity", after, limit)

    def text_items(self, name: str, after: str, *, limit: int) -> list[TextItem]:
        return self._texts(name).items(_key(after), limit=limit)

    def vector_items(self, name: str, after: str, *, limit: int) -> list[VectorItem]:
        return self._vectors(name).items(_key(after), limit=limit)

    def community_ids(self, after: str, *, limit: int) -> list[str]:
        return self._page("community", after, limit)

    def summaries(self, after: str, *, limit: int) -> list[EntitySummary]:
        with self._database.reading():
            ids = self._page("entity_summary", after, limit)
            return list(self._readings.summaries(ids).values())

    def decisions(self, after: tuple[str, str], *, limit: int) -> list[SameAs]:
        first, second = after
        rows = self._database.rows(self._sql.decisions, (_key(first), _key(second), limit))
        return [decision_of(*row) for row in rows]

    def touched(self, after: str, *, limit: int) -> list[str]:
        return self._page("touched_entity", after, limit)

    def homonyms(self, after: str, *, limit: int) -> list[Homonym]:
        with self._database.reading():
            rows = self._database.fetch(self._sql.homonyms, (_key(after), limit))
            bound = self._database.dialect.bind_keys(key for key, _ in rows)
            sense_rows = self._database.fetch(self._sql.senses, (bound,))
        senses: defaultdict[int, list[tuple[str, ...]]] = defaultdict(list)
        for (entity, _), chunks in groupby(sense_rows, key=lambda row: row[:2]):
            senses[entity].append(tuple(int_to_id(chunk) for _, _, chunk in chunks))
        return [
            Homonym(int_to_id(key), tuple(senses[key]), unpack_line(reason)) for key, reason in rows
        ]

    def graph_nodes(self, name: str, start: int, *, limit: int) -> list[PropertyNode]:
        rows = self._graph_rows(self._sql.nodes, name, start, limit)
        return [
            PropertyNode(unpack_line(key), unpack_strings(labels), unpack_properties(properties))
            for key, labels, properties in rows
        ]

    def graph_relationships(self, name: str, start: int, *, limit: int) -> list[Relationship]:
        rows = self._graph_rows(self._sql.relationships, name, start, limit)
        return [
            Relationship(
                unpack_line(key),
                unpack_line(type_),
                unpack_line(source),
                unpack_line(target),
                unpack_properties(properties),
            )
            for key, type_, source, target, properties in rows
        ]

    def put_communities(
        self, communities: Iterable[Community], *, stale: Collection[str] = ()
    ) -> None:
        new = list(communities)
        marked = set(stale)
        with self._database.transaction():
            self._communities.write(new)
            self._database.write_many(
                self._sql.mark,
                ((id_to_int(community.id),) for community in new if community.id in marked),
            )

    def _page(self, table: str, after: str, limit: int) -> list[str]:
        return self._ids(self._sql.ids[table], (_key(after), limit))

    def _graph_rows(self, sql: str, name: str, start: int, limit: int) -> list[Row]:
        with self._database.reading():
            key = self._graphs.key(name)
            return [] if key is None else self._database.fetch(sql, (key, start, limit))


def _key(after: str) -> int:
    """Return the key after which a page begins."""
    return next((key for _, key in keys_of([after])), -1)
