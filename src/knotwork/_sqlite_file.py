"""SQLite files of Knotwork: checks before opening one, migrations, and readable errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from knotwork.errors import SchemaMismatch, StoreBusy, StoreError, StoreNotFound, StoreReadOnly

Bindings = Sequence[int | float | str | bytes | None]
Row = tuple[Any, ...]

_HEADER = b"SQLite format 3\x00"

FULL, NORMAL = "full", "normal"
SYNCHRONOUS = (FULL, NORMAL)


class Migration(NamedTuple):
    """A named change of the schema; never edited once released.

    ``fill`` writes values that SQL alone cannot derive from the existing rows.
    """

    name: str
    statements: str
    fill: Callable[[apsw.Connection], None] | None = None


@dataclass(frozen=True, slots=True)
class SqliteFile:
    """A file of one kind, such as "index" or "call cache", as errors name it.

    ``application_id`` marks the files of a kind. ``repair`` says what to do with a damaged file.
    """

    path: str
    kind: str
    application_id: int
    repair: str

    def require(self, *, create: bool) -> None:
        """Refuse a path that cannot be opened as such a file, or created if ``create`` is set.

        SQLite would accept more: it takes a very short file of another kind for an empty database.
        Raises StoreNotFound, StoreReadOnly and SchemaMismatch.
        """
        path = Path(self.path)
        if path.is_dir():
            raise SchemaMismatch(f"`{path}` is a folder, not a file.", fix=self._use_another)
        if path.exists():
            try:
                with path.open("rb") as file:
                    start = file.read(len(_HEADER))
            except PermissionError as error:
                raise StoreReadOnly(
                    f"`{path}` is not readable.", fix="Check the permissions of the file."
                ) from error
            if start not in (b"", _HEADER):
                raise self._foreign()
        elif not create:
            raise StoreNotFound(
                f"There is no {self.kind} at `{path}`.",
                fix="Check the path, or index documents into it.",
            )
        elif not path.parent.is_dir():
            raise StoreNotFound(
                f"The folder `{path.parent}` for the {self.kind} does not exist.",
                fix="Create it first.",
            )

    def missing_migrations(
        self, connection: apsw.Connection, migrations: Sequence[Migration]
    ) -> list[Migration]:
        """Return the migrations that a file which is not empty lacks.

        Raises SchemaMismatch if it is of another kind or was written by a later version.
        """
        if connection.pragma("application_id") != self.application_id:
            raise self._foreign()
        recorded = _recorded_migrations(connection)
        known = [migration.name for migration in migrations]
        later = [name for name in recorded if name not in known]
        if later:
            raise SchemaMismatch(
                f"`{self.path}` was written by a later version of Knotwork (it has `{later[-1]}`; "
                f"this version knows up to `{known[-1]}`).",
                fix=f"Upgrade Knotwork, or use another file for the {self.kind}.",
            )
        return [migration for migration in migrations if migration.name not in recorded]

    def migrate(self, connection: apsw.Connection, migrations: Sequence[Migration]) -> None:
        """Apply the migrations that the file lacks, each in a transaction of its own."""
        for migration in migrations:
            with write_transaction(connection):
                connection.execute(
                    "CREATE TABLE IF NOT EXISTS migration (position INTEGER PRIMARY KEY, name TEXT)"
                )
                # Another process may have migrated the file while this one waited.
                if migration.name not in _recorded_migrations(connection):
                    connection.execute(migration.statements)
                    if migration.fill is not None:
                        migration.fill(connection)
                    connection.execute("INSERT INTO migration (name) VALUES (?)", (migration.name,))
                    connection.pragma("application_id", self.application_id)

    @contextmanager
    def translated_errors(self, *, busy_timeout_s: float) -> Iterator[None]:
        """Raise errors of SQLite as StoreError, with what to do."""
        try:
            yield
        except apsw.Error as error:
            raise self._translate(error, busy_timeout_s) from error

    def damaged(self, detail: object) -> StoreError:
        """Return the error for a file with damaged content."""
        return StoreError(f"The {self.kind} `{self.path}` is damaged ({detail}).", fix=self.repair)

    def _translate(self, error: apsw.Error, busy_timeout_s: float) -> StoreError:
        name = f"the {self.kind} `{self.path}`"
        if isinstance(error, apsw.BusyError | apsw.LockedError):
            return StoreBusy(
                f"Another process is writing to {name} (waited {busy_timeout_s:g} s).",
                fix="Wait until it is done, or stop it, then try again.",
            )
        if isinstance(error, apsw.FullError):
            return StoreError(
                f"The disk is full: writing to {name} failed, and this step was rolled back.",
                fix="Free some disk space, then try again: finished steps are not repeated.",
            )
        if isinstance(error, apsw.NotADBError):
            return self._foreign()
        if isinstance(error, apsw.CorruptError):
            return self.damaged(error)
        if isinstance(error, apsw.ReadOnlyError | apsw.PermissionsError | apsw.CantOpenError):
            return StoreReadOnly(
                f"`{self.path}` is not writable ({error}).",
                fix="Check the permissions of the file and its folder, or use another file for the "
                f"{self.kind}.",
            )
        return StoreError(f"The {self.kind} `{self.path}` cannot be used: {error}.")

    def _foreign(self) -> SchemaMismatch:
        article = "an" if self.kind[0] in "aeiou" else "a"
        return SchemaMismatch(
            f"`{self.path}` is not {article} {self.kind} of Knotwork.", fix=self._use_another
        )

    @property
    def _use_another(self) -> str:
        return f"Use another file for the {self.kind}."


@contextmanager
def write_transaction(connection: apsw.Connection) -> Iterator[None]:
    """Commit the writes of the block, or none of them if it fails."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def sync_commits(connection: apsw.Connection, synchronous: str = FULL) -> None:
    """Choose what a power failure may cost a file with a write-ahead log; call this first.

    With "full", a commit returns when it is on the disk. With "normal", the log is written to the
    disk before a checkpoint, so that the last commits may be lost, and the file stays intact. A
    killed process loses no commit with either.
    """
    is_full = synchronous == FULL
    connection.pragma("synchronous", synchronous)
    connection.pragma("fullfsync", is_full)  # macOS: flush the cache of the disk too
    connection.pragma("checkpoint_fullfsync", is_full)


def sync_journal(connection: apsw.Connection) -> None:
    """Make a commit return when it is on the disk, in a file with a rollback journal."""
    connection.pragma("synchronous", "extra")  # "full" may undo a commit: the journal comes back
    connection.pragma("fullfsync", True)


def is_empty(connection: apsw.Connection) -> bool:
    """Return True if a database has no tables."""
    return connection.execute("SELECT 1 FROM sqlite_schema").fetchone() is None


def _recorded_migrations(connection: apsw.Connection) -> list[str]:
    rows = connection.execute("SELECT name FROM migration ORDER BY position")
    return [name for (name,) in rows]
