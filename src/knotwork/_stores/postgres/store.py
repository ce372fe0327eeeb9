"""The store on a PostgreSQL server: a `Store` in one schema of a database."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from knotwork._config import StoreSettings
from knotwork._stores.capabilities import OWN_GRAPH, Capabilities
from knotwork._stores.postgres.address import read_address
from knotwork._stores.postgres.collisions import PostgresIdChecks
from knotwork._stores.postgres.contributions import PostgresContributions
from knotwork._stores.postgres.database import PostgresDatabase
from knotwork._stores.postgres.text_index import PostgresTexts
from knotwork._stores.postgres.vector_index import PostgresVectors
from knotwork._stores.removal import remove_documents
from knotwork._stores.sql.communities import SqlCommunities
from knotwork._stores.sql.contents import SqlContents
from knotwork._stores.sql.documents import SqlDocuments
from knotwork._stores.sql.fields import SqlFields
from knotwork._stores.sql.graph import SqlGraph
from knotwork._stores.sql.ledger import SqlLedger, SqlSettings
from knotwork._stores.sql.property_graphs import SqlPropertyGraphs
from knotwork._stores.sql.readings import SqlQuestions, SqlReadings
from knotwork._stores.sql.resolutions import SqlHomonyms, SqlResolutions
from knotwork.records import PropertyValue, QueryResult

if TYPE_CHECKING:
    from knotwork._stores.sql.cypher import SqlCypher


class PostgresStore:
    """A store on a server. Any number of threads and processes can read and write it at once.

    Open it with `PostgresStore.open`.
    """

    def __init__(self, database: PostgresDatabase) -> None:
        self.url = database.label
        self._database = database
        self._texts: dict[str, PostgresTexts] = {}
        self._vectors: dict[str, PostgresVectors] = {}
        self._cypher: SqlCypher | None = None
        self._creating = threading.Lock()
        self._settings = SqlSettings(database)
        checks = PostgresIdChecks(database)
        self.documents = SqlDocuments(database, checks)
        self.graph = SqlGraph(database, PostgresContributions(database, checks))
        self.ledger = SqlLedger(database)
        self.communities = SqlCommunities(database)
        self.readings = SqlReadings(database)
        self.resolutions = SqlResolutions(database)
        self.homonyms = SqlHomonyms(database)
        self.property_graphs = SqlPropertyGraphs(database)
        self.fields = SqlFields(database)
        self.questions = SqlQuestions(database)
        self.contents = SqlContents(database, texts=self.texts, vectors=self.vectors)

    @classmethod
    def open(
        cls,
        url: str,
        *,
        read_only: bool = False,
        create: bool = False,
        limits: StoreSettings | None = None,
    ) -> PostgresStore:
        """Open the index that ``url`` names, and update its schema.

        ``limits`` are the pool and the time-outs. Raises StoreNotFound if the database or the index
        is missing and ``create`` is off, SchemaMismatch if the schema is not an index or was
        written by a later version, StoreUnavailable if the server cannot be reached, StoreError if
        it lacks pgvector, ConfigError for an invalid URL.
        """
        address = read_address(url)
        limits = limits or StoreSettings()
        return cls(PostgresDatabase(address, read_only=read_only, create=create, limits=limits))

    @property
    def capabilities(self) -> Capabilities:
        """All optional parts."""
        return Capabilities(
            communities=self.communities,
            readings=self.readings,
            questions=self.questions,
            resolutions=self.resolutions,
            homonyms=self.homonyms,
            property_graphs=self.property_graphs,
            fields=self.fields,
            cypher=self.cypher,
            vector_replacement=self,
            contents=self.contents,
            self_check=self.check,
        )

    def texts(self, name: str) -> PostgresTexts:
        """Return the text index of this name; the first use of a new name creates it."""
        with self._creating:
            if name not in self._texts:
                self._texts[name] = PostgresTexts(self._database, name)
            return self._texts[name]

    def vectors(self, name: str) -> PostgresVectors:
        """Return the vector index of this name; the first use of a new name creates it."""
        with self._creating:
            if name not in self._vectors:
                self._vectors[name] = PostgresVectors(self._database, name)
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
        from knotwork._stores.sql.cypher import SqlCypher

        with self._creating:
            if self._cypher is None:
                self._cypher = SqlCypher(self._database, self.property_graphs)
        return self._cypher.run(
            statement, parameters, graph=graph, row_limit=row_limit, timeout_s=timeout_s
        )

    def replace_vectors(self, name: str, source: str) -> None:
        """Move the vectors of ``source`` to index ``name``; see `VectorReplacement`."""
        self.vectors(name).take_over(self.vectors(source))

    def clear_vectors(self, name: str) -> None:
        """Remove all vectors of an index."""
        self.vectors(name).clear()

    def meta(self) -> Mapping[str, str]:
        """Return all settings stored with the index."""
        return self._settings.read()

    def set_meta(self, values: Mapping[str, str]) -> None:
        """Add or replace settings."""
        self._settings.write(values)

    def transaction(self) -> AbstractContextManager[None]:
        """Open the write transaction, or join it if it is open."""
        return self._database.transaction()

    def reading(self) -> AbstractContextManager[None]:
        """Read one state of the index in the block, also while others write."""
        return self._database.reading()

    @property
    def writing(self) -> bool:
        """Whether this thread is inside a write transaction."""
        return self._database.writing

    def remove_documents(self, document_ids: Collection[str]) -> None:
        """Remove documents and all that only they supported from every part of the store."""
        remove_documents(self, document_ids)

    def generation(self) -> int:
        """Return a number that changes with every committed write, by any process."""
        return self._database.generation()

    def watched(self) -> AbstractContextManager[list[str]]:
        """Return a block that collects the statements sent in it, by any thread, also BEGIN."""
        return self._database.watched()

    def check(self) -> list[str]:
        """Read all tables, and return a phrase for each fault of the index."""
        from knotwork._stores.postgres.verification import find_faults

        return find_faults(self._database)

    def close(self) -> None:
        """Close all connections; the store cannot be used afterwards."""
        self._database.close()
