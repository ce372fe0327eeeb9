"""A `Store` in an SQL database: the parts that engines share, and how they make one store."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import AbstractContextManager
from itertools import groupby
from types import MappingProxyType
from typing import TYPE_CHECKING, Generic, Protocol, Self, TypeVar

from knotwork._companions import Companions
from knotwork._registry import PARTS
from knotwork._stores.base import TextIndex, VectorIndex
from knotwork._stores.bm25 import TEXT_INDEXES
from knotwork._stores.capabilities import OWN_GRAPH, Capabilities, CypherRunner
from knotwork._stores.contents import TextItem, VectorItem
from knotwork._stores.links import linked_documents
from knotwork._stores.removal import remove_documents
from knotwork._stores.sql.database import Row, SqlDatabase, SqlPart, upsert
from knotwork._stores.sql.documents import SqlDocuments, SqlIdChecks, SqlLedger
from knotwork._stores.sql.fields import SqlFields
from knotwork._stores.sql.graph import Contributions, SqlGraph
from knotwork._stores.sql.packing import keys_of, unpack_json, unpack_line, unpack_strings
from knotwork._stores.sql.parts import (
    DECISION_COLUMNS,
    SqlCommunities,
    SqlHomonyms,
    SqlPropertyGraphs,
    SqlQuestions,
    SqlReadings,
    SqlResolutions,
    decision_of,
)
from knotwork._stores.vectors import VECTOR_INDEXES, final_name
from knotwork.errors import UnknownName
from knotwork.records import (
    Community,
    EntitySummary,
    Homonym,
    PropertyNode,
    PropertyValue,
    QueryResult,
    Relationship,
    SameAs,
    id_to_int,
    int_to_id,
)

if TYPE_CHECKING:
    from knotwork._stores.table_file import TableFile


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


_PAGES = {
    table: f"SELECT {column} FROM {table} WHERE {column} > $1 ORDER BY {column} LIMIT $2"
    for table, column in (
        ("document", "id"),
        ("entity", "id"),
        ("community", "id"),
        ("entity_summary", "entity"),
        ("touched_entity", "entity"),
    )
}


class SqlContents(SqlPart):
    """The `Contents` of stores in SQL databases."""

    _DECISIONS = f"""
        SELECT {DECISION_COLUMNS} FROM same_as d WHERE (d.first, d.second) > ($1, $2)
        ORDER BY d.first, d.second LIMIT $3
    """
    _HOMONYMS = """
        SELECT entity, reason FROM homonym WHERE entity > $1 ORDER BY entity LIMIT $2
    """
    _SENSES = """
        SELECT s.entity, s.number, s.chunk
        FROM keys($1) CROSS JOIN sense s WHERE s.entity = j.value
        ORDER BY s.entity, s.number, s.chunk
    """
    _NODES = """
        SELECT id, labels, properties FROM property_node WHERE graph = $1 AND position >= $2
        ORDER BY position LIMIT $3
    """
    _RELATIONSHIPS = """
        SELECT r.id, r.type, s.id, t.id, r.properties FROM property_relationship r
        JOIN property_node s ON s.graph = r.graph AND s.position = r.source
        JOIN property_node t ON t.graph = r.graph AND t.position = r.target
        WHERE r.graph = $1 AND r.position >= $2 ORDER BY r.position LIMIT $3
    """
    _MARK = "UPDATE community SET stale = 1 WHERE id = $1"

    def __init__(
        self,
        database: SqlDatabase,
        *,
        texts: Callable[[str], SqlTexts],
        vectors: Callable[[str], SqlVectors],
    ) -> None:
        super().__init__(database)
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
        rows = self._database.rows(self._DECISIONS, (_key(first), _key(second), limit))
        return [decision_of(*row) for row in rows]

    def touched(self, after: str, *, limit: int) -> list[str]:
        return self._page("touched_entity", after, limit)

    def homonyms(self, after: str, *, limit: int) -> list[Homonym]:
        with self._database.reading():
            rows = self._database.rows(self._HOMONYMS, (_key(after), limit))
            sense_rows = self._database.rows(self._SENSES, ([key for key, _ in rows],))
        senses: defaultdict[int, list[tuple[str, ...]]] = defaultdict(list)
        for (entity, _), chunks in groupby(sense_rows, key=lambda row: row[:2]):
            senses[entity].append(tuple(int_to_id(chunk) for _, _, chunk in chunks))
        return [
            Homonym(int_to_id(key), tuple(senses[key]), unpack_line(reason)) for key, reason in rows
        ]

    def graph_nodes(self, name: str, start: int, *, limit: int) -> list[PropertyNode]:
        rows = self._graph_rows(self._NODES, name, start, limit)
        return [
            PropertyNode(unpack_line(key), unpack_strings(labels), unpack_json(properties))
            for key, labels, properties in rows
        ]

    def graph_relationships(self, name: str, start: int, *, limit: int) -> list[Relationship]:
        rows = self._graph_rows(self._RELATIONSHIPS, name, start, limit)
        return [
            Relationship(
                unpack_line(key),
                unpack_line(type_),
                unpack_line(source),
                unpack_line(target),
                unpack_json(properties),
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
                self._MARK,
                ((id_to_int(community.id),) for community in new if community.id in marked),
            )

    def _page(self, table: str, after: str, limit: int) -> list[str]:
        return self._ids(_PAGES[table], (_key(after), limit))

    def _graph_rows(self, sql: str, name: str, start: int, limit: int) -> list[Row]:
        with self._database.reading():
            key = self._graphs.key(name)
            return [] if key is None else self._database.rows(sql, (key, start, limit))


def _key(after: str) -> int:
    """Return the key after which a page begins."""
    return next((key for _, key in keys_of([after])), -1)


_READ_META = "SELECT key, value FROM meta ORDER BY key"
_PUT_META = upsert("meta", "key", "value", key=["key"])


Texts = TypeVar("Texts", bound=SqlTexts)
Vectors = TypeVar("Vectors", bound=SqlVectors)


class SqlStore(ABC, Generic[Texts, Vectors]):
    """A store in an SQL database. An engine supplies its indexes and writers of contributions.

    ``texts`` and ``vectors`` make an index by its name. ``checks`` refuse colliding ids; by default
    those for one writer.
    """

    def __init__(
        self,
        url: str,
        database: SqlDatabase,
        *,
        texts: Callable[[str], Texts],
        vectors: Callable[[str], Vectors],
        contributions: Contributions,
        checks: SqlIdChecks | None = None,
    ) -> None:
        self.url = url
        self._database = database
        self._make_texts = texts
        self._make_vectors = vectors
        self._texts: dict[str, Texts] = {}
        self._vectors: dict[str, Vectors] = {}
        self._cypher: CypherRunner | None = None
        self._creating = threading.Lock()
        self.documents = SqlDocuments(database, checks)
        self.graph = SqlGraph(database, contributions)
        self.ledger = SqlLedger(database)
        self.communities = SqlCommunities(database)
        self.readings = SqlReadings(database)
        self.resolutions = SqlResolutions(database)
        self.homonyms = SqlHomonyms(database)
        self.property_graphs = SqlPropertyGraphs(database)
        self.fields = SqlFields(database)
        self.questions = SqlQuestions(database)
        self.contents = SqlContents(database, texts=self.texts, vectors=self.vectors)

    @property
    def companions(self) -> Companions | None:
        """What keeps the companions of the index in its database; None if they are files."""
        return None

    @property
    def tables(self) -> TableFile | None:
        """The tables that the database of the index keeps; None if they are in a file."""
        return None

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(
            communities=self.communities,
            readings=self.readings,
            questions=self.questions,
            resolutions=self.resolutions,
            homonyms=self.homonyms,
            property_graphs=self.property_graphs,
            fields=self.fields,
            links=self.fields,
            cypher=self.cypher,
            vector_replacement=self,
            contents=self.contents,
            companions=self.companions,
            tables=self.tables,
            self_check=self.check,
        )

    def texts(self, name: str) -> Texts:
        with self._creating:
            if name not in self._texts:
                if name not in TEXT_INDEXES:
                    raise UnknownName("text index", name, TEXT_INDEXES)
                self._texts[name] = self._make_texts(name)
            return self._texts[name]

    def vectors(self, name: str) -> Vectors:
        with self._creating:
            if name not in self._vectors:
                if final_name(name) not in VECTOR_INDEXES:
                    raise UnknownName("vector index", name, VECTOR_INDEXES)
                self._vectors[name] = self._make_vectors(name)
            return self._vectors[name]

    def cypher(
        self,
        statement: str,
        parameters: Mapping[str, PropertyValue] | None = None,
        *,
        graph: str = OWN_GRAPH,
        row_limit: int = 1_000,
        timeout_s: float = 10.0,
    ) -> QueryResult:
        """Run a statement; see `CypherRunner`. The first one imports the Cypher language."""
        with self._creating:
            if self._cypher is None:
                make = PARTS.load("sql_cypher")
                self._cypher = make(
                    self._database, self.property_graphs, lambda: linked_documents(self).pairs
                ).run
        return self._cypher(
            statement, parameters, graph=graph, row_limit=row_limit, timeout_s=timeout_s
        )

    def replace_vectors(self, name: str, source: str) -> None:
        self.vectors(name).take_over(self.vectors(source))

    def clear_vectors(self, name: str) -> None:
        self.vectors(name).clear()

    def meta(self) -> Mapping[str, str]:
        return MappingProxyType(dict(self._database.rows_once(_READ_META)))

    def set_meta(self, values: Mapping[str, str]) -> None:
        with self._database.transaction():
            self._database.write_many(_PUT_META, values.items())

    def transaction(self) -> AbstractContextManager[None]:
        return self._database.transaction()

    def reading(self) -> AbstractContextManager[None]:
        return self._database.reading()

    @property
    def writing(self) -> bool:
        return self._database.writing

    def remove_documents(self, document_ids: Collection[str]) -> None:
        remove_documents(self, document_ids)

    def generation(self) -> int:
        return self._database.generation()

    @abstractmethod
    def check(self) -> list[str]:
        """Read the whole index, and return a phrase for each fault."""

    def close(self) -> None:
        """Close the database; the store cannot be used afterwards."""
        self._database.close()
