"""The store on a PostgreSQL server: a `Store` in one schema of a database."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from knotwork._config import StoreSettings
from knotwork._extensions.postgres.companions import PostgresCompanion, PostgresCompanions
from knotwork._extensions.postgres.connection import read_address
from knotwork._extensions.postgres.contributions import PostgresContributions, PostgresIdChecks
from knotwork._extensions.postgres.database import PostgresDatabase
from knotwork._extensions.postgres.text_index import PostgresTexts
from knotwork._extensions.postgres.vector_index import PostgresVectors
from knotwork._stores.capabilities import Capabilities
from knotwork._stores.sql.store import SqlStore

if TYPE_CHECKING:
    from knotwork._extensions.postgres.server_tables import ServerTables


class PostgresStore(SqlStore[PostgresTexts, PostgresVectors]):
    """A store on a server. Any number of threads and processes can read and write it at once.

    Open it with `PostgresStore.open`.
    """

    _database: PostgresDatabase

    def __init__(self, database: PostgresDatabase, opener: Callable[[], PostgresStore]) -> None:
        checks = PostgresIdChecks(database)
        self._tables: ServerTables | None = None
        self._opener = opener
        super().__init__(
            database.label,
            database,
            texts=partial(PostgresTexts, database),
            vectors=partial(PostgresVectors, database),
            contributions=PostgresContributions(database, checks),
            checks=checks,
        )

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
        database = PostgresDatabase(address, read_only=read_only, create=create, limits=limits)
        return cls(database, partial(cls.open, url, limits=limits))

    @property
    def capabilities(self) -> Capabilities:
        return replace(
            super().capabilities,
            opener=self._opener,
            companions=PostgresCompanions(self._database),
            tables=self.tables,
        )

    @property
    def tables(self) -> ServerTables:
        with self._creating:
            if self._tables is None:
                from knotwork._extensions.postgres.server_tables import ServerTables

                self._tables = ServerTables(PostgresCompanion(self._database, "tables"))
            return self._tables

    def close(self) -> None:
        if self._tables is not None:
            self._tables.close()
        super().close()

    def watched(self) -> AbstractContextManager[list[str]]:
        """Return a block that collects the statements sent in it, by any thread, also BEGIN."""
        return self._database.watched()

    def check(self) -> list[str]:
        from knotwork._extensions.postgres.verification import find_faults

        return find_faults(self._database)
