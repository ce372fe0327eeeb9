"""The embedded store: a `Store` in one SQLite file, composed of its parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from knotwork._registry import PARTS
from knotwork._sqlite_file import FULL, Migration
from knotwork._stores.capabilities import Capabilities
from knotwork._stores.embedded.contributions import EmbeddedContributions
from knotwork._stores.embedded.database import MIGRATIONS, Database
from knotwork._stores.embedded.text_index import EmbeddedTexts
from knotwork._stores.embedded.vector_index import EmbeddedVectors
from knotwork._stores.sql.documents import SqlIdChecks
from knotwork._stores.sql.store import SqlStore

if TYPE_CHECKING:
    import apsw


def _locate_damage(path: Path) -> str:
    place: str = PARTS.load("locate_damage")(path)
    return place


class EmbeddedStore(SqlStore[EmbeddedTexts, EmbeddedVectors]):
    """A store in one SQLite file. Any number of threads and processes can read it while one writes.

    Open it with `EmbeddedStore.open`.
    """

    _database: Database

    def __init__(self, database: Database) -> None:
        super().__init__(
            database.url,
            database,
            texts=partial(EmbeddedTexts, database),
            vectors=partial(EmbeddedVectors, database),
            contributions=EmbeddedContributions(database, SqlIdChecks(database)),
        )

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
            locate=_locate_damage,
        )
        return cls(database)

    @classmethod
    def open_temporary(cls, url: str) -> EmbeddedStore:
        """Open a new, empty index that is gone once it is closed.

        It is a file in a private folder among those of temporary files, so that threads can read
        it while one writes, and a process forked off shares it. The folder is removed when the
        store is closed or no longer used, and when the interpreter exits; if the process is killed,
        the folder stays there.
        """
        return cls(Database.open_temporary(url))

    @property
    def capabilities(self) -> Capabilities:
        return replace(super().capabilities, full_check=self.check_fully)

    def check(self) -> list[str]:
        """Read the whole file, and return a phrase for each fault of the index."""
        faults: list[str] = PARTS.load("find_faults")(self._database)
        return faults

    def check_fully(self) -> list[str]:
        """Do what `check` does, and compute again all that follows from the documents."""
        faults: list[str] = PARTS.load("find_all_faults")(self._database)
        return faults

    def connections(self) -> list[apsw.Connection]:
        """Return the open connections of all threads, to watch what they run."""
        return self._database.connections()
