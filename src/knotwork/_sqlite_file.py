"""SQLite files of Knotwork: checks before opening one, checksums, migrations, readable errors.

A protected file keeps the sum of each page in its last 8 bytes. SQLite's checksum VFS, which the
wheels of apsw include, writes it with the page and compares it whenever a page is read
(https://sqlite.org/cksumvfs.html). ``user_version`` marks protected files: the VFS itself relies on
one byte of the header, and damage of that byte would switch it off. A file that is created with an
apsw without the VFS has no checksums.
"""

from __future__ import annotations

import os
import shlex
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from knotwork.errors import (
    IndexDamaged,
    SchemaMismatch,
    StoreBusy,
    StoreError,
    StoreNotFound,
    StoreReadOnly,
)

Bindings = Sequence[int | float | str | bytes | None]
Row = tuple[Any, ...]

_HEADER = b"SQLite format 3\x00"
_APPLICATION_ID = slice(68, 72)

TABLES_SUFFIX = "-tables"
CALLS_SUFFIX = ".calls"
MEMORY_SUFFIX = ".memory"
FILE_KINDS = {
    "": "index",
    TABLES_SUFFIX: "table file",
    CALLS_SUFFIX: "call cache",
    MEMORY_SUFFIX: "file of facts",
}
"""The SQLite files of an index, by what their paths add to that of the index."""

JOURNAL_SUFFIXES = ("-wal", "-shm", "-journal")

IN_MEMORY = ":memory:"
"""The path of a database in memory."""

PAGE_CHECKSUMS = "page-checksums"
"""The entry of a protected file among its migrations."""


_VFS = "cksmvfs"
_PROTECTED = 1
"""The ``user_version`` of a protected file."""

SUM_BYTES = 8
_HEADER_BYTES = 100

READ_WRITE = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE


class HiddenChecksums(Exception):
    """The header of a protected file says that its pages have no checksums."""


class MissingChecksumVfs(Exception):
    """The file is protected, and this build of apsw cannot verify it."""


_loading = threading.Lock()


@cache
def _checksum_vfs() -> str:
    """Load SQLite's checksum VFS and return its name; empty if this build of apsw lacks it.

    Connections of other code keep their default VFS.
    """
    with _loading:
        if _VFS in apsw.vfs_names():
            return _VFS
        default = apsw.vfs_names()[0]
        connection = apsw.Connection(":memory:")
        try:
            from apsw import sqlite_extra

            sqlite_extra.load(connection, "cksumvfs")
        except (ImportError, LookupError, apsw.Error, sqlite_extra.NotAvailable):
            return ""
        finally:
            connection.close()
        apsw.set_default_vfs(default)  # the extension makes itself the default
        return _VFS


def open_connection(filename: str, *, flags: int = READ_WRITE) -> apsw.Connection:
    """Open a connection that verifies checksums. Call `protect_new` or `check_protection` on it."""
    return apsw.Connection(filename, flags=flags, vfs=_checksum_vfs() or None)


def protect_new(connection: apsw.Connection) -> None:
    """Give a file that is still empty checksums, and check that those of another are verified.

    Raises as `check_protection`.
    """
    if _checksum_vfs() and not connection.pragma("page_count"):
        connection.reserve_bytes("main", SUM_BYTES)
        connection.pragma("user_version", _PROTECTED)
    check_protection(connection)


def check_protection(connection: apsw.Connection) -> bool:
    """Return True if the open file is protected.

    Raises HiddenChecksums if its header is damaged so that nothing would be verified, or if another
    process filled the file since it was opened: the VFS looks at the header then. Raises
    MissingChecksumVfs if this build of apsw cannot verify it.
    """
    if connection.pragma("user_version") != _PROTECTED:
        return False
    if not _checksum_vfs():
        raise MissingChecksumVfs
    if connection.filename and connection.pragma("checksum_verification") != "1":
        raise HiddenChecksums
    return True


def is_marked_protected(path: Path) -> bool:
    """Return True if the header of a file says that its pages have checksums, in either place."""
    with path.open("rb") as file:
        header = file.read(_HEADER_BYTES)
    mark = int.from_bytes(header[60:64], "big")
    return len(header) == _HEADER_BYTES and (mark == _PROTECTED or header[20] == SUM_BYTES)


class DamagedValue(ValueError):
    """A stored value cannot be decoded; the message names the kind of value."""


FULL, NORMAL, OFF = "full", "normal", "off"
SYNCHRONOUS = (FULL, NORMAL)
"""What a user may choose. ``off`` is for files that end with their process."""


class Migration(NamedTuple):
    """A named change of the schema; never edited once released. Names are in ascending order."""

    name: str
    statements: str


ERRORS = (apsw.Error, DamagedValue, UnicodeDecodeError)
"""What reading or writing a file may raise: errors of SQLite, and damage."""


@dataclass(frozen=True, slots=True)
class SqliteFile:
    """A file of one kind, such as "index" or "call cache", as errors name it.

    ``application_id`` marks the files of a kind, 0 those that have no mark. ``repair`` says what
    to do with a damaged file. ``locate`` returns what is damaged in a file, "" if that is unknown.
    A connection waits ``busy_timeout_s`` for another process that writes.
    """

    path: str
    kind: str
    application_id: int
    repair: str
    locate: Callable[[], str] | None = None
    busy_timeout_s: float = 10.0

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
                    header = file.read(_APPLICATION_ID.stop)
            except PermissionError as error:
                raise StoreReadOnly(
                    f"`{path}` is not readable.", fix="Check the permissions of the file."
                ) from error
            if header and not header.startswith(_HEADER):
                mark = int.from_bytes(header[_APPLICATION_ID], "big")
                if self.application_id and mark == self.application_id:
                    raise self.damaged("the first bytes of its header")
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

    def connect(
        self,
        *,
        flags: int,
        filename: str = "",
        page_bytes: int = 0,
    ) -> apsw.Connection:
        """Open the file, by ``filename`` if given.

        With the flag to create files, a new or empty one is private to its owner, and gets
        checksums and pages of ``page_bytes``. Raises apsw.Error, and StoreError if checksums cannot
        be verified.
        """
        if flags & apsw.SQLITE_OPEN_CREATE and self.path != IN_MEMORY:
            create_private(self.path)
        try:
            with suppress(HiddenChecksums):
                return _connect(filename or self.path, flags, self.busy_timeout_s, page_bytes)
            # If the file was empty when it was opened, and another process filled it since, then
            # the header shows its checksums to the second connection.
            return _connect(filename or self.path, flags, self.busy_timeout_s, page_bytes)
        except HiddenChecksums as error:
            raise self.damaged("the header denies the checksums of its pages") from error
        except MissingChecksumVfs as error:
            raise StoreError(
                f"The pages of `{self.path}` have checksums, which the installed apsw cannot "
                "verify.",
                fix="Install a wheel of apsw: "
                "pip install --force-reinstall --only-binary :all: apsw",
            ) from error

    def missing_migrations(
        self, connection: apsw.Connection, migrations: Sequence[Migration]
    ) -> list[Migration]:
        """Return the migrations that a file which is not empty lacks.

        Raises SchemaMismatch if it is of another kind, was written by a later version or has a
        layout from before the first release.
        """
        if connection.pragma("application_id") != self.application_id:
            raise self._foreign()
        recorded = _recorded_migrations(connection)
        known = [*(migration.name for migration in migrations), PAGE_CHECKSUMS]
        later = [name for name in recorded if name not in known and name > known[0]]
        if later:
            raise SchemaMismatch(
                f"`{self.path}` was written by a later version of Knotwork (it has `{later[-1]}`; "
                f"this version knows up to `{known[-2]}`).",
                fix=f"Upgrade Knotwork, or use another file for the {self.kind}.",
            )
        if known[0] not in recorded and any(name < known[0] for name in recorded):
            raise SchemaMismatch(
                f"`{self.path}` has a layout from before the first release.",
                fix=f"{self._use_another} Then index the documents again.",
            )
        return [migration for migration in migrations if migration.name not in recorded]

    def migrate(self, connection: apsw.Connection, migrations: Sequence[Migration]) -> None:
        """Apply the migrations that the file lacks, each in a transaction of its own.

        A file that got its checksums when it was created also gets their entry.
        """
        if migrations and check_protection(connection):
            migrations = [Migration(PAGE_CHECKSUMS, ""), *migrations]
        for migration in migrations:
            with write_transaction(connection):
                connection.execute(
                    "CREATE TABLE IF NOT EXISTS migration (position INTEGER PRIMARY KEY, name TEXT)"
                )
                # Another process may have migrated the file while this one waited.
                if migration.name not in _recorded_migrations(connection):
                    connection.execute(migration.statements)
                    connection.execute("INSERT INTO migration (name) VALUES (?)", (migration.name,))
                    connection.pragma("application_id", self.application_id)

    @contextmanager
    def translated_errors(self) -> Iterator[None]:
        """Raise errors of SQLite as StoreError, with what to do, and IndexDamaged for damage."""
        try:
            yield
        except ERRORS as error:
            raise self.translate(error) from error

    def damaged(self, detail: object) -> IndexDamaged:
        """Return the error for a file with damaged content, and where the damage is."""
        place = self.locate() if self.locate is not None else ""
        return IndexDamaged(
            f"The {self.kind} `{self.path}` is damaged: {place or detail}.",
            path=self.path,
            place=place,
            fix=self.repair,
        )

    def translate(self, error: Exception) -> StoreError:
        """Return the error to raise for one of `ERRORS`, as `translated_errors` does."""
        name = f"the {self.kind} `{self.path}`"
        if isinstance(error, apsw.NotADBError):
            return self._foreign()
        if is_damage(error):
            checksum = isinstance(error, apsw.Error) and is_checksum_error(error)
            return self.damaged("a page differs from its checksum" if checksum else error)
        if isinstance(error, apsw.BusyError | apsw.LockedError):
            return StoreBusy(
                f"Another process is writing to {name} (waited {self.busy_timeout_s:g} s).",
                fix="Wait until it is done, or stop it, then try again.",
            )
        if isinstance(error, apsw.FullError):
            return StoreError(
                f"The disk is full: writing to {name} failed, and this step was rolled back.",
                fix="Free some disk space, then try again: finished steps are not repeated.",
            )
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


def _connect(filename: str, flags: int, busy_timeout_s: float, page_bytes: int) -> apsw.Connection:
    connection = open_connection(filename, flags=flags)
    try:
        connection.set_busy_timeout(int(busy_timeout_s * 1_000))
        if flags & apsw.SQLITE_OPEN_CREATE:
            if page_bytes:
                connection.pragma("page_size", page_bytes)
            protect_new(connection)
        else:
            check_protection(connection)
    except BaseException:
        connection.close()
        raise
    return connection


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
    disk before a checkpoint, so that the last commits may be lost, and the file stays intact. With
    "off", nothing waits for the disk. A killed process loses no commit with any of them.
    """
    is_full = synchronous == FULL
    connection.pragma("synchronous", synchronous)
    connection.pragma("fullfsync", is_full)  # macOS: flush the cache of the disk too
    connection.pragma("checkpoint_fullfsync", is_full)


def sync_journal(connection: apsw.Connection) -> None:
    """Make a commit return when it is on the disk, in a file with a rollback journal."""
    connection.pragma("synchronous", "extra")  # "full" may undo a commit: the journal comes back
    connection.pragma("fullfsync", True)


def verify_file(file: SqliteFile) -> list[str]:
    """Read every page of a file, and return its faults.

    Raises StoreError if it cannot be opened, IndexDamaged if it cannot be read.
    """
    file.require(create=False)
    with file.translated_errors():
        flags = apsw.SQLITE_OPEN_READONLY
        with closing(file.connect(flags=flags)) as connection:
            found = connection.execute("PRAGMA integrity_check(3)").fetchall()
    return [] if found == [("ok",)] else [str(fault) for (fault,) in found]


def repair_advice(index: Path) -> str:
    """Return what to do with a damaged index file, or with a damaged file beside it."""
    name = shlex.quote(str(index))
    return (
        f"Repair it with: knotwork repair {name}. It keeps a copy of the damaged file, and says "
        f"what it cannot bring back. Or use a backup: knotwork restore BACKUP {name} --force"
    )


def is_checksum_error(error: apsw.Error) -> bool:
    """Return True if a page that was read differs from its checksum."""
    return getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_DATA


def is_damage(error: Exception) -> bool:
    """Return True if an error of reading means that the file is damaged."""
    if isinstance(error, apsw.CorruptError | apsw.NotADBError | UnicodeDecodeError | DamagedValue):
        return True
    return isinstance(error, apsw.Error) and is_checksum_error(error)


def create_private(path: str | Path) -> None:
    """Create an empty database file that only its owner can read, unless it exists.

    SQLite gives the files beside it the same mode. What prevents the file, it reports itself.
    """
    with suppress(OSError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


def is_empty(connection: apsw.Connection) -> bool:
    """Return True if a database has no tables."""
    return connection.execute("SELECT 1 FROM sqlite_schema").fetchone() is None


def _recorded_migrations(connection: apsw.Connection) -> list[str]:
    rows = connection.execute("SELECT name FROM migration ORDER BY position")
    return [name for (name,) in rows]
