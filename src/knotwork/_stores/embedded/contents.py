"""Everything in the index file, in pages by primary key."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from itertools import groupby
from typing import Any

import numpy as np

from knotwork._sqlite_file import Row
from knotwork._stores.contents import TextItem, VectorItem
from knotwork._stores.embedded.communities import EmbeddedCommunities
from knotwork._stores.embedded.database import Database, reports_damage
from knotwork._stores.embedded.packing import (
    decodes,
    keys_of,
    pack_keys,
    unpack_line,
    unpack_strings,
)
from knotwork._stores.embedded.property_graphs import EmbeddedPropertyGraphs, unpack_properties
from knotwork._stores.embedded.readings import EmbeddedReadings
from knotwork._stores.embedded.resolutions import DECISION_COLUMNS, decision_of
from knotwork._stores.embedded.text_index import check_index_name
from knotwork._stores.vectors import stored_type
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

_DECISIONS = (
    f"SELECT {DECISION_COLUMNS} FROM same_as d WHERE (d.first, d.second) > (?, ?)"  # noqa: S608
    " ORDER BY d.first, d.second LIMIT ?"
)
_HOMONYMS = "SELECT entity, reason FROM homonym WHERE entity > ? ORDER BY entity LIMIT ?"
_SENSES = (
    "SELECT s.entity, s.number, s.chunk FROM json_each(?) j"
    " CROSS JOIN sense s ON s.entity = j.value ORDER BY s.entity, s.number, s.chunk"
)
_NODES = (
    "SELECT id, labels, properties FROM property_node WHERE graph = ? AND position >= ?"
    " ORDER BY position LIMIT ?"
)
_RELATIONSHIPS = (
    "SELECT r.id, r.type, s.id, t.id, r.properties FROM property_relationship r"
    " JOIN property_node s ON s.graph = r.graph AND s.position = r.source"
    " JOIN property_node t ON t.graph = r.graph AND t.position = r.target"
    " WHERE r.graph = ? AND r.position >= ? ORDER BY r.position LIMIT ?"
)


@reports_damage
class EmbeddedContents:
    """The `Contents` of the embedded store."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._communities = EmbeddedCommunities(database)
        self._readings = EmbeddedReadings(database)
        self._graphs = EmbeddedPropertyGraphs(database)

    def document_ids(self, after: str, *, limit: int) -> list[str]:
        """Return ids of documents."""
        return self._ids("document", "id", after, limit)

    def entity_ids(self, after: str, *, limit: int) -> list[str]:
        """Return ids of entities and keywords."""
        return self._ids("entity", "id", after, limit)

    def text_items(self, name: str, after: str, *, limit: int) -> list[TextItem]:
        """Return items of a text index; none if the index does not exist."""
        check_index_name(name)
        with self._database.reading():
            if not self._database.fetch("SELECT 1 FROM text_index WHERE name = ?", (name,)):
                return []
            rows = self._database.fetch(
                f"SELECT id, length FROM text_{name}_counts WHERE id > ? ORDER BY id LIMIT ?",  # noqa: S608
                (_key(after), limit),
            )
        return [TextItem(int_to_id(key), length) for key, length in rows]

    def vector_items(self, name: str, after: str, *, limit: int) -> list[VectorItem]:
        """Return items of a vector index; none if the index does not exist."""
        check_index_name(name)
        with self._database.reading():
            sql = "SELECT dimension FROM vector_index WHERE name = ?"
            found = self._database.fetch(sql, (name,))
            if not found:
                return []
            ((dimension,),) = found
            rows = self._database.fetch(
                f"SELECT id, key, data FROM vector_{name} WHERE id > ? ORDER BY id LIMIT ?",  # noqa: S608
                (_key(after), limit),
            )
        return _vector_items(rows, dimension, np.dtype(stored_type(name)).newbyteorder("<"))

    def community_ids(self, after: str, *, limit: int) -> list[str]:
        """Return ids of communities."""
        return self._ids("community", "id", after, limit)

    def summaries(self, after: str, *, limit: int) -> list[EntitySummary]:
        """Return summaries of entities, by entity id."""
        with self._database.reading():
            ids = self._ids("entity_summary", "entity", after, limit)
            return list(self._readings.summaries(ids).values())

    def decisions(self, after: tuple[str, str], *, limit: int) -> list[SameAs]:
        """Return decisions by pair, also those about entities that are gone for now."""
        first, second = after
        rows = self._database.rows(_DECISIONS, (_key(first), _key(second), limit))
        return [decision_of(*row) for row in rows]

    def touched(self, after: str, *, limit: int) -> list[str]:
        """Return ids of the entities that are marked as changed."""
        return self._ids("touched_entity", "entity", after, limit)

    def homonyms(self, after: str, *, limit: int) -> list[Homonym]:
        """Return homonyms as they were stored, by entity id."""
        with self._database.reading():
            rows = self._database.fetch(_HOMONYMS, (_key(after), limit))
            packed = pack_keys(key for key, _ in rows)
            senses: defaultdict[int, list[tuple[str, ...]]] = defaultdict(list)
            grouped = groupby(self._database.fetch(_SENSES, (packed,)), key=lambda row: row[:2])
            for (entity, _), chunks in grouped:
                senses[entity].append(tuple(int_to_id(chunk) for _, _, chunk in chunks))
        return [
            Homonym(int_to_id(key), tuple(senses[key]), unpack_line(reason)) for key, reason in rows
        ]

    def graph_nodes(self, name: str, start: int, *, limit: int) -> list[PropertyNode]:
        """Return nodes of an imported graph in the order of its import."""
        rows = self._graph_rows(_NODES, name, start, limit)
        return [
            PropertyNode(unpack_line(key), unpack_strings(labels), unpack_properties(properties))
            for key, labels, properties in rows
        ]

    def graph_relationships(self, name: str, start: int, *, limit: int) -> list[Relationship]:
        """Return relationships of an imported graph in the order of its import."""
        rows = self._graph_rows(_RELATIONSHIPS, name, start, limit)
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
        """Add or replace these communities; see `Contents.put_communities`."""
        new = list(communities)
        marked = set(stale)
        with self._database.transaction():
            self._communities.write(new)
            self._database.write_many(
                "UPDATE community SET stale = 1 WHERE id = ?",
                ((id_to_int(community.id),) for community in new if community.id in marked),
            )

    def _ids(self, table: str, column: str, after: str, limit: int) -> list[str]:
        sql = f"SELECT {column} FROM {table} WHERE {column} > ? ORDER BY {column} LIMIT ?"  # noqa: S608
        return [int_to_id(key) for (key,) in self._database.rows(sql, (_key(after), limit))]

    def _graph_rows(self, sql: str, name: str, start: int, limit: int) -> list[Row]:
        with self._database.reading():
            key = self._graphs.key(name)
            return [] if key is None else self._database.fetch(sql, (key, start, limit))


def _key(after: str) -> int:
    """Return the key after which a page begins."""
    return next((key for _, key in keys_of([after])), -1)


@decodes("a vector")
def _vector_items(rows: Iterable[Row], dimension: int, stored: np.dtype[Any]) -> list[VectorItem]:
    return [
        VectorItem(
            int_to_id(key),
            content_key,
            np.frombuffer(data, stored).reshape(-1, dimension).astype(np.float32),
        )
        for key, content_key, data in rows
    ]
