"""The embedded store: a `Store` in one SQLite file, composed of its parts."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from knotwork._sqlite_file import FULL, Migration
from knotwork._stores.capabilities import OWN_GRAPH, Capabilities
from knotwork._stores.embedded.contributions import EmbeddedContributions
from knotwork._stores.embedded.database import Database
from knotwork._stores.embedded.schema import MIGRATIONS
from knotwork._stores.embedded.text_index import EmbeddedTexts
from knotwork._stores.embedded.vector_index import EmbeddedVectors
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
    import apsw

    from knotwork._stores.sql.cypher import SqlCypher


class EmbeddedStore:
    """A store in one SQLite file. Any number of threads and processes can read it while one writes.

    Open it with `EmbeddedStore.open`.
    """

    def __init__(self, database: Database) -> None:
        self.url = str(database.path)
        self._database = database
        self._texts: dict[str, EmbeddedTexts] = {}
        self._vectors: dict[str, EmbeddedVectors] = {}
        self._cypher: SqlCypher | None = None
        self._creating = threading.Lock()
        self._settings = SqlSettings(database)
        self.documents = SqlDocuments(database)
        self.graph = SqlGraph(database, EmbeddedContributions(database))
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
        path: str | PathLike[str],
        *,
        read_only: bool = False,
        create: bool = False,
        synchronous: str = FULL,
        busy_timeout_s: float = 10.0,
        migrations: Sequence[Migration] = MIGRATIONS,
    ) -> EmbeddedStore:
        """Open the index file at ``path``, and update its schema.

        ``synchronous`` ("full" or "normal") is what a power failure may cost: see `sync_commits`.
        Raises StoreNotFound if the file is missing and ``create`` is off, SchemaMismatch if it is
        not an index or was written by a later version, StoreBusy if another process writes for
        longer than ``busy_timeout_s``.
        """
        database = Database(
            Path(path),
            read_only=read_only,
            create=create,
            synchronous=synchronous,
            busy_timeout_s=busy_timeout_s,
            migrations=migrations,
        )
        return cls(database)

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
            full_check=self.check_fully,
        )

    def texts(self, name: str) -> EmbeddedTexts:
        """Return the text index of this name; first use creates it."""
        with self._creating:
            if name not in self._texts:
                self._texts[name] = EmbeddedTexts(self._database, name)
            return self._texts[name]

    def vectors(self, name: str) -> EmbeddedVectors:
        """Return the vector index of this name; first use creates it."""
        with self._creating:
            if name not in self._vectors:
                self._vectors[name] = EmbeddedVectors(self._database, name)
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

    def check(self) -> list[str]:
        """Read the whole file, and return a phrase for each fault of the index."""
        from knotwork._stores.embedded.verification import find_faults

        return find_faults(self._database)

    def check_fully(self) -> list[str]:
        """Do what `check` does, and compute again all that follows from the documents."""
        from knotwork._stores.embedded.verification import find_all_faults

        return find_all_faults(self._database)

    def connections(self) -> list[apsw.Connection]:
        """Return the open connections of all threads, to watch what they run."""
        return self._database.connections()

    def close(self) -> None:
        """Close the file; the store cannot be used afterwards."""
        self._database.close()
