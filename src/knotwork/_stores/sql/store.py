"""A `Store` in an SQL database: the parts that engines share, and how they make one store."""

from __future__ import annotations

import json
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from types import MappingProxyType
from typing import Any, Generic, Protocol, Self, TypeVar

from knotwork._registry import PARTS
from knotwork._stores.base import TextIndex, VectorIndex
from knotwork._stores.capabilities import OWN_GRAPH, Capabilities, CypherRunner, RowPage
from knotwork._stores.copy_marks import COPY_META
from knotwork._stores.indexes import (
    TEXT_INDEXES,
    VECTOR_INDEXES,
    VectorItem,
    final_name,
    stored_type,
)
from knotwork._stores.links import linked_documents
from knotwork._stores.removal import remove_documents
from knotwork._stores.sql.database import Row, SqlDatabase, SqlPart, unpack_text, upsert
from knotwork._stores.sql.documents import SqlDocuments, SqlLedger
from knotwork._stores.sql.fields import SqlFields
from knotwork._stores.sql.graph import SqlGraph
from knotwork._stores.sql.parts import (
    SqlCommunities,
    SqlHomonyms,
    SqlPropertyGraphs,
    SqlQuestions,
    SqlReadings,
    SqlResolutions,
)
from knotwork._stores.sql.tables import TABLE_COLUMNS
from knotwork.errors import UnknownName
from knotwork.records import PropertyValue, QueryResult, id_to_int


class SqlTexts(TextIndex, Protocol):
    """The text index of an engine."""

    def items(self, after: int, *, limit: int) -> list[Row]:
        """Return (key, length, hashes, times) of the first ``limit`` items that follow ``after``.

        They are as `pack_terms` packs them.
        """
        ...

    def put(self, items: Collection[Row]) -> None:
        """Add items that `items` returned; those that exist are replaced."""


class SqlVectors(VectorIndex, Protocol):
    """The vector index of an engine."""

    def items(self, after: int, *, limit: int) -> list[VectorItem]:
        """Return the first ``limit`` items whose keys follow ``after``."""
        ...

    def take_over(self, source: Self) -> None:
        """Replace all vectors with those of another index, which is empty afterwards."""

    def clear(self) -> None:
        """Remove all vectors."""


_CONTENTS = {
    "documents": "document", "sections": "section", "chunks": "chunk",
    "fields": "document_field", "pages": "document_page",
    "mentions": "mention", "relations": "contribution",
    "readings": "chunk_reading", "descriptions": "description", "summaries": "entity_summary",
    "questions": "question", "communities": "community", "members": "community_member",
    "community chunks": "community_chunk", "reports": "report", "citations": "report_citation",
    "decisions": "same_as", "touched": "touched_entity", "homonyms": "homonym", "senses": "sense",
    "ledger": "ledger", "entities": "entity", "edges": "edge",
}  # fmt: skip
"""The tables of the parts of `Contents`."""

_NAMED = {
    "mentions": ", (SELECT e.normal_form FROM entity e WHERE e.id = t.entity)",
    "relations": ", (SELECT r.name FROM relation r WHERE r.id = t.relation)",
}
"""What rows need beside their columns to be added: see `SqlGraph.add_rows`."""

_COMPRESSED = {"documents": ("outline", "text"), "readings": ("raw",)}


def _page_statement(part: str, *, is_first: bool) -> str:
    table, (types, key) = _CONTENTS[part], TABLE_COLUMNS[_CONTENTS[part]]
    ordered = ", ".join(f"t.{name}" for name in key)
    places = ", ".join(f"${number}" for number in range(1, len(key) + 1))
    where = "" if is_first else f"WHERE ({ordered}) > ({places})"
    columns = ", ".join(f"t.{name}" for name in types) + _NAMED.get(part, "")
    last = 1 if is_first else len(key) + 1
    return f"SELECT {columns} FROM {table} t {where} ORDER BY {ordered} LIMIT ${last}"


_PAGES = {
    (part, is_first): _page_statement(part, is_first=is_first)
    for part in _CONTENTS
    for is_first in (True, False)
}


class SqlContents(SqlPart):
    """The `Contents` of stores in SQL databases, whose tables have the same columns."""

    def __init__(self, database: SqlDatabase, store: SqlStore[Any, Any]) -> None:
        super().__init__(database)
        self._store = store

    def _index(self, part: str) -> Any:  # noqa: ANN401  of texts or vectors
        """Return the index whose items are a part; None for rows of tables."""
        name, _, kind = part.rpartition(" ")
        if kind in ("texts", "vectors"):
            return self._store.texts(name) if kind == "texts" else self._store.vectors(name)
        return None

    def page(self, part: str, after: str, *, limit: int) -> RowPage:
        if index := self._index(part):
            rows: list[Any] = index.items(int(after or -1), limit=limit)
            last = rows[-1][0] if rows else ""
            return RowPage(rows, str(id_to_int(last) if isinstance(last, str) and last else last))
        if part == "settings":
            held = sorted(item for item in self._store.meta().items() if item[0] != COPY_META)
            rows = [item for item in held if item[0] > after][:limit]
            return RowPage(rows, rows[-1][0] if rows else "")
        if part == "graphs":
            graphs = self._store.property_graphs
            names = [name for name in graphs.names() if name > after][:limit]
            return RowPage(
                [(name, graphs.rows_of(name)) for name in names], names[-1] if names else ""
            )
        start = json.loads(after) if after else ()
        rows = self._database.rows(_PAGES[part, not after], (*start, limit))
        types, key = TABLE_COLUMNS[_CONTENTS[part]]
        places = [list(types).index(name) for name in key]
        return RowPage(rows, json.dumps([rows[-1][place] for place in places]) if rows else "")

    def count(self, part: str) -> int:
        if index := self._index(part):
            return int(index.count())
        if part == "settings":
            return len(self._store.meta().keys() - {COPY_META})
        if part == "graphs":
            return len(self._store.property_graphs.names())
        ((count,),) = self._database.rows(f"SELECT count(*) FROM {_CONTENTS[part]}")
        return int(count)

    def add(self, part: str, rows: Sequence[Any]) -> None:
        if index := self._index(part):
            index.put(rows)
        elif part == "settings":
            self._store.set_meta(dict(rows))
        elif part == "graphs":
            for name, graph in rows:
                self._store.property_graphs.put_rows(name, graph)
        elif part == "mentions":
            self._store.graph.add_rows(rows, ())
        elif part == "relations":
            self._store.graph.add_rows((), rows)
        else:
            table = _CONTENTS[part]
            self._database.add_rows(table, TABLE_COLUMNS[table].types, rows)

    def values(self, part: str, rows: Sequence[Any]) -> list[tuple[str, object]]:
        return list(self._values(part, rows))

    def _values(self, part: str, rows: Sequence[Any]) -> Iterator[tuple[str, object]]:
        if part == "graphs":
            for name, (nodes, relationships) in rows:
                yield "graphs", name
                yield from (("graph nodes", [name, i, *row]) for i, row in enumerate(nodes))
                edges = enumerate(relationships)
                yield from (("graph relationships", [name, i, *row]) for i, row in edges)
        elif part.endswith(" vectors"):
            stored = f"<f{stored_type(part.removesuffix(' vectors'))().itemsize}"
            for key, content_key, matrix in rows:
                found = matrix.astype(stored)
                yield part, [key, content_key, found.shape, found.tobytes()]
        elif part in _COMPRESSED:
            places = [
                list(TABLE_COLUMNS[_CONTENTS[part]].types).index(n) for n in _COMPRESSED[part]
            ]
            for row in map(list, rows):
                for place in places:
                    row[place] = None if row[place] is None else unpack_text(row[place])
                yield part, row
        else:
            yield from ((part, row) for row in rows)


_READ_META = "SELECT key, value FROM meta ORDER BY key"
_PUT_META = upsert("meta", "key", "value", key=["key"])


Texts = TypeVar("Texts", bound=SqlTexts)
Vectors = TypeVar("Vectors", bound=SqlVectors)


class SqlStore(ABC, Generic[Texts, Vectors]):
    """A store in an SQL database. An engine supplies its indexes, and a graph that it writes.

    ``texts`` and ``vectors`` make an index by its name.
    """

    def __init__(
        self,
        url: str,
        database: SqlDatabase,
        *,
        texts: Callable[[str], Texts],
        vectors: Callable[[str], Vectors],
        graph: SqlGraph,
    ) -> None:
        self.url = url
        self._database = database
        self._make_texts = texts
        self._make_vectors = vectors
        self._texts: dict[str, Texts] = {}
        self._vectors: dict[str, Vectors] = {}
        self._cypher: CypherRunner | None = None
        self._creating = threading.Lock()
        self.documents = SqlDocuments(database, graph.checks)
        self.graph = graph
        self.ledger = SqlLedger(database)
        self.communities = SqlCommunities(database)
        self.readings = SqlReadings(database)
        self.resolutions = SqlResolutions(database)
        self.homonyms = SqlHomonyms(database)
        self.property_graphs = SqlPropertyGraphs(database)
        self.fields = SqlFields(database)
        self.questions = SqlQuestions(database)
        self.contents = SqlContents(database, self)

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
