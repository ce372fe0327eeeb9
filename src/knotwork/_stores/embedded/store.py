"""The embedded store: a `Store` in one SQLite file, composed of its parts."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from knotwork._sqlite_file import FULL, Migration
from knotwork._stores.capabilities import OWN_GRAPH, Capabilities
from knotwork._stores.embedded.communities import EmbeddedCommunities
from knotwork._stores.embedded.contents import EmbeddedContents
from knotwork._stores.embedded.database import Database
from knotwork._stores.embedded.documents import (
    EmbeddedDocuments,
    EmbeddedFields,
    EmbeddedLedger,
    read_meta,
    write_meta,
)
from knotwork._stores.embedded.graph import EmbeddedGraph
from knotwork._stores.embedded.property_graphs import EmbeddedPropertyGraphs
from knotwork._stores.embedded.readings import EmbeddedQuestions, EmbeddedReadings
from knotwork._stores.embedded.resolutions import EmbeddedHomonyms, EmbeddedResolutions
from knotwork._stores.embedded.schema import MIGRATIONS
from knotwork._stores.embedded.text_index import EmbeddedTexts
from knotwork._stores.embedded.vector_index import EmbeddedVectors
from knotwork._stores.removal import remove_documents
from knotwork.records import PropertyValue, QueryResult

if TYPE_CHECKING:
    from knotwork._stores.embedded.cypher import EmbeddedCypher


class EmbeddedStore:
    """A store in one SQLite file. Any number of threads and processes can read it while one writes.

    Open it with `EmbeddedStore.open`.
    """

    def __init__(self, database: Database) -> None:
        self.url = str(database.path)
        self._database = database
        self._texts: dict[str, EmbeddedTexts] = {}
        self._vectors: dict[str, EmbeddedVectors] = {}
        self._cypher: EmbeddedCypher | None = None
        self._creating = threading.Lock()
        self.documents = EmbeddedDocuments(database)
        self.graph = EmbeddedGraph(database)
        self.ledger = EmbeddedLedger(database)
        self.communities = EmbeddedCommunities(database)
        self.readings = EmbeddedReadings(database)
        self.resolutions = EmbeddedResolutions(database)
        self.homonyms = EmbeddedHomonyms(database)
        self.property_graphs = EmbeddedPropertyGraphs(database)
        self.fields = EmbeddedFields(database)
        self.questions = EmbeddedQuestions(database)
        self.contents = EmbeddedContents(database)

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
        from knotwork._stores.embedded.cypher import EmbeddedCypher

        with self._creating:
            if self._cypher is None:
                self._cypher = EmbeddedCypher(self._database, self.property_graphs)
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
        return read_meta(self._database)

    def set_meta(self, values: Mapping[str, str]) -> None:
        """Add or replace settings."""
        write_meta(self._database, values)

    def transaction(self) -> AbstractContextManager[None]:
        """Open the write transaction, or join it if it is open."""
        return self._database.transaction()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Read one state of the index in the block, also while others write."""
        with self._database.reading():
            yield

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

    def close(self) -> None:
        """Close the file; the store cannot be used afterwards."""
        self._database.close()
