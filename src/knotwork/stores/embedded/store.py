"""Embedded store: one SQLite file, its parts and its transactions."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from knotwork.records import PropertyValue, QueryResult
from knotwork.stores.base import Capability
from knotwork.stores.embedded.communities import EmbeddedCommunities
from knotwork.stores.embedded.database import Database, find_faults
from knotwork.stores.embedded.documents import (
    EmbeddedDocuments,
    EmbeddedFields,
    EmbeddedLedger,
    read_meta,
    write_meta,
)
from knotwork.stores.embedded.graph import EmbeddedGraph
from knotwork.stores.embedded.property_graphs import EmbeddedPropertyGraphs
from knotwork.stores.embedded.readings import EmbeddedQuestions, EmbeddedReadings
from knotwork.stores.embedded.resolutions import EmbeddedHomonyms, EmbeddedResolutions
from knotwork.stores.embedded.schema import MIGRATIONS, Migration
from knotwork.stores.embedded.text_index import EmbeddedTexts
from knotwork.stores.embedded.vector_index import EmbeddedVectors
from knotwork.stores.property_graphs import OWN_GRAPH
from knotwork.stores.removal import remove_documents

if TYPE_CHECKING:
    from knotwork.stores.embedded.cypher import EmbeddedCypher


class EmbeddedStore:
    """A store in one SQLite file. Any number of threads and processes may read it while one writes.

    Open it with `EmbeddedStore.open`.
    """

    capabilities = frozenset({Capability.TEXT, Capability.VECTORS, Capability.GRAPH})

    def __init__(self, database: Database) -> None:
        self.url = str(database.path)
        self._database = database
        self._texts: dict[str, EmbeddedTexts] = {}
        self._vectors: dict[str, EmbeddedVectors] = {}
        self._cypher: EmbeddedCypher | None = None
        self._making = threading.Lock()
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

    @classmethod
    def open(
        cls,
        path: str | PathLike[str],
        *,
        read_only: bool = False,
        create: bool = False,
        busy_timeout_s: float = 10.0,
        migrations: Sequence[Migration] = MIGRATIONS,
    ) -> EmbeddedStore:
        """Open the index file at ``path``, bringing its tables up to date.

        Raises StoreNotFound when there is none and ``create`` is off, SchemaMismatch when the file
        is something else or of a later version, StoreBusy when a writer stays longer than
        ``busy_timeout_s``.
        """
        database = Database(
            Path(path),
            read_only=read_only,
            create=create,
            busy_timeout_s=busy_timeout_s,
            migrations=migrations,
        )
        return cls(database)

    def texts(self, name: str) -> EmbeddedTexts:
        """Return the text index of this name, made on first use."""
        with self._making:
            if name not in self._texts:
                self._texts[name] = EmbeddedTexts(self._database, name)
            return self._texts[name]

    def vectors(self, name: str) -> EmbeddedVectors:
        """Return the vector index of this name, made on first use."""
        with self._making:
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
        """Run a statement; see `RunsCypher`. Its language is imported with the first one."""
        from knotwork.stores.embedded.cypher import EmbeddedCypher

        with self._making:
            if self._cypher is None:
                self._cypher = EmbeddedCypher(self._database, self.property_graphs)
        return self._cypher.run(
            statement, parameters, graph=graph, row_limit=row_limit, timeout_s=timeout_s
        )

    def replace_vectors(self, name: str, source: str) -> None:
        """Replace the vectors of one index with those of another, which ends up empty."""
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
        """Open the one write transaction; nested use joins it."""
        return self._database.transaction()

    @property
    def writing(self) -> bool:
        """Whether this thread is inside a write transaction."""
        return self._database.writing

    def remove_documents(self, document_ids: Collection[str]) -> None:
        """Remove documents with all that only they supported, from every part of the store."""
        remove_documents(self, document_ids)

    def generation(self) -> int:
        """Return a number that changes with every committed write, by any process."""
        return self._database.generation()

    def check(self) -> list[str]:
        """Return what is wrong with the file, in words; reads all of it."""
        return find_faults(self._database)

    def close(self) -> None:
        """Close the file; the store cannot be used afterwards."""
        self._database.close()
