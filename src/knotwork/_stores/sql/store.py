"""A `Store` in an SQL database: the parts that engines share, and how they make one store."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from types import MappingProxyType
from typing import Generic, Protocol, Self, TypeVar

from knotwork._registry import PARTS
from knotwork._stores.base import TextIndex, VectorIndex
from knotwork._stores.capabilities import OWN_GRAPH, Capabilities, Contents, CypherRunner
from knotwork._stores.fields import FieldStore
from knotwork._stores.indexes import TEXT_INDEXES, VECTOR_INDEXES, VectorItem, final_name
from knotwork._stores.links import linked_documents
from knotwork._stores.removal import remove_documents
from knotwork._stores.sql.corrections import SqlCorrections
from knotwork._stores.sql.database import Row, SqlDatabase, upsert
from knotwork._stores.sql.documents import SqlDocuments, SqlLedger, SqlLinks
from knotwork._stores.sql.graph import SqlGraph
from knotwork._stores.sql.parts import (
    SqlCommunities,
    SqlHomonyms,
    SqlPropertyGraphs,
    SqlQuestions,
    SqlReadings,
    SqlResolutions,
)
from knotwork.errors import UnknownName
from knotwork.records import PropertyValue, QueryResult


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
        self.corrections = SqlCorrections(database, graph)
        self.property_graphs = SqlPropertyGraphs(database)
        self.fields: FieldStore = PARTS.load("sql_fields")(database)
        self.links = SqlLinks(database)
        self.questions = SqlQuestions(database)

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(
            communities=self.communities,
            readings=self.readings,
            questions=self.questions,
            resolutions=self.resolutions,
            homonyms=self.homonyms,
            corrections=self.corrections,
            property_graphs=self.property_graphs,
            fields=self.fields,
            links=self.links,
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

    def contents(self) -> Contents:
        """Return all that the store holds, as rows."""
        contents: Contents = PARTS.load("sql_contents")(self._database, self)
        return contents

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
