"""Companions of an index: its cached calls, the facts of conversations, the jobs of a server.

Each is a small database of its own, which does not change with the index: a file beside an index
file (`FileCompanions`), or tables in the schema of an index on a server, so that all processes that
use the index share them. Their statements have the parameters ``$1, $2, …`` in the order in which
they appear, and are the same for all engines.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import apsw

from knotwork._config import shown_url
from knotwork._sqlite_file import (
    FULL,
    IN_MEMORY,
    NORMAL,
    READ_WRITE,
    Row,
    SqliteFile,
    sync_commits,
    write_transaction,
)
from knotwork.errors import StoreError, StoreReadOnly
from knotwork.records import content_id

Bindings = Sequence[Any]


class CompanionDatabase(Protocol):
    """An open database of one companion, for any number of threads.

    All methods raise StoreError for errors of the engine.
    """

    @property
    def label(self) -> str:
        """The path of the file, or the URL of the index without secrets."""
        ...

    @property
    def path(self) -> str | None:
        """The path of the file, ":memory:" in memory, None on a server."""
        ...

    def rows(self, sql: str, bindings: Bindings = ()) -> list[Row]:
        """Run a query, or a statement with RETURNING, and return all its rows."""
        ...

    def change(self, sql: str, bindings: Bindings = ()) -> int:
        """Run a statement inside the open transaction; return the number of rows it changed."""
        ...

    def transaction(self, *, durable: bool = True) -> AbstractContextManager[None]:
        """Commit all changes of the block or none; nested use joins the outer transaction.

        Unless ``durable``, the commit does not wait for the disk: a power failure may undo it.
        """
        ...

    def check_writable(self) -> None:
        """Raise StoreReadOnly if nothing can be written, StoreError if writing fails."""

    def claim(self, name: str) -> None:
        """Hold a name, as other databases may too, until this one is closed or its process ends."""

    def claims(self, name: str) -> int:
        """Return the number of open databases that hold a name, by all processes."""
        ...

    def check(self) -> list[str]:
        """Read the whole database, and return a phrase for each fault of its file."""
        ...

    def damaged(self, detail: object) -> StoreError:
        """Return the error for damaged content."""
        ...

    def close(self) -> None:
        """Close the connection; the database cannot be used afterwards."""


@dataclass(frozen=True, slots=True)
class Companion:
    """One kind of companion, such as "call cache", as errors name it.

    ``repair`` returns what to do with a damaged file, by its path. ``configure`` prepares each
    connection, ``prepare`` the tables of a file that was opened. A server has its tables in the
    schema of the index.
    """

    kind: str
    suffix: str
    repair: Callable[[str], str]
    configure: Callable[[apsw.Connection], None]
    prepare: Callable[[SqliteFile, apsw.Connection], None]
    application_id: int = 0
    busy_timeout_s: float = 30.0


class Companions(Protocol):
    """Opens the companions of one index."""

    def open(self, companion: Companion) -> CompanionDatabase:
        """Open a companion, which is created if it does not exist.

        Raises StoreReadOnly if it cannot be written, other kinds of StoreError if it is damaged or
        of a later version, or cannot be reached.
        """
        ...

    def has(self, companion: Companion) -> bool:
        """Return True if a companion exists."""
        ...


class FileCompanions:
    """The companions of an index file, which are files beside it, or in memory."""

    def __init__(self, store_url: str) -> None:
        self._store_url = store_url

    def open(self, companion: Companion) -> CompanionDatabase:
        return SqliteCompanion(self._path(companion), companion)

    def has(self, companion: Companion) -> bool:
        path = self._path(companion)
        return path != IN_MEMORY and Path(path).exists()

    def _path(self, companion: Companion) -> str:
        return companion_path(self._store_url, companion.suffix)


IN_MEMORY_COMPANIONS = FileCompanions("memory:")
"""Companions that are lost when the process ends."""


def open_to_read(companions: Companions, companion: Companion) -> CompanionDatabase:
    """Open a companion to read it, without creating it.

    Returns an empty one in memory if it is missing, or cannot be opened without a write.
    """
    with suppress(StoreReadOnly):
        if companions.has(companion):
            return companions.open(companion)
    return IN_MEMORY_COMPANIONS.open(companion)


def companion_path(store_url: str, suffix: str) -> str:
    """Return the path of a file that accompanies an index.

    For an index file this is its own path with ``suffix`` appended; for an index in memory,
    ":memory:". For an index on a server it is a name in the working directory, made from the
    scheme, host, port and path of the URL and the name of the index. Credentials and the rest of
    the query never become part of it.
    """
    if store_url == "memory:":
        return IN_MEMORY
    if "://" not in store_url:
        return f"{store_url}{suffix}"
    address = shown_url(store_url)
    readable = re.sub("[^A-Za-z0-9._]+", "-", address).strip("-")
    return f"{readable}-{content_id(address)[:8]}{suffix}"


class SqliteCompanion:
    """A `CompanionDatabase` in a file: one connection, used by one thread at a time.

    Raises StoreNotFound if the folder does not exist, SchemaMismatch if the file is of another kind
    or of a later version, StoreReadOnly if it is not writable, and StoreError if it is damaged.
    """

    def __init__(self, path: str, companion: Companion) -> None:
        self.path = self.label = path
        self._companion = companion
        self._lock = threading.RLock()
        self._process = os.getpid()
        self._of_parent_process: list[apsw.Connection] = []
        self._open: apsw.Connection | None = None
        self._claimed: set[str] = set()
        self._file = SqliteFile(
            path,
            companion.kind,
            companion.application_id,
            repair=companion.repair(path),
            busy_timeout_s=companion.busy_timeout_s,
        )
        if path != IN_MEMORY:
            self._file.require(create=True)
        try:
            with self._file.translated_errors():
                companion.prepare(self._file, self._connection())
        except BaseException:
            self.close()
            raise

    def rows(self, sql: str, bindings: Bindings = ()) -> list[Row]:
        with self._lock, self._file.translated_errors():
            return self._connection().execute(sql, bindings).fetchall()

    def change(self, sql: str, bindings: Bindings = ()) -> int:
        with self._lock, self._file.translated_errors():
            connection = self._connection()
            connection.execute(sql, bindings)
            return int(connection.changes())

    @contextmanager
    def transaction(self, *, durable: bool = True) -> Iterator[None]:
        """Commit all changes of the block or none; no other thread uses the connection meanwhile.

        Raises StoreBusy if other processes keep writing, StoreError if the disk is full,
        StoreReadOnly if the file is not writable.
        """
        with self._lock, self._file.translated_errors():
            connection = self._connection()
            if connection.in_transaction:
                yield
                return
            self._require_writable(connection)
            if not durable:
                sync_commits(connection, NORMAL)
            try:
                with write_transaction(connection):
                    yield
            finally:
                if not durable:
                    sync_commits(connection, FULL)

    def check_writable(self) -> None:
        with self._lock, self._file.translated_errors():
            connection = self._connection()
            self._require_writable(connection)
            with write_transaction(connection):
                # The lock is not enough: a journal that cannot be created shows on writing.
                version = connection.pragma("user_version")
                connection.pragma("user_version", version)

    def claim(self, name: str) -> None:
        """Hold a name. Other processes do not see it: use this where a file is held alone."""
        self._claimed.add(name)

    def claims(self, name: str) -> int:
        """Return 1 if this database holds a name, else 0."""
        return int(name in self._claimed)

    def check(self) -> list[str]:
        """Read the whole file, and return a phrase for each fault."""
        found = [str(fault) for (fault,) in self.rows("PRAGMA integrity_check")]
        return [] if found == ["ok"] else found

    def damaged(self, detail: object) -> StoreError:
        return self._file.damaged(detail)

    def close(self) -> None:
        if self._process == os.getpid():
            with self._lock:
                if self._open is not None:
                    self._open.close()
        self._open, self._process = None, 0

    def _connection(self) -> apsw.Connection:
        if self._process == 0:
            raise StoreError(
                f"The {self._companion.kind} `{self.label}` is closed.", fix="Open it again."
            )
        if self._process != os.getpid():
            # A connection must not cross a fork, nor be closed by the child.
            if self._open is not None:
                self._of_parent_process.append(self._open)
            self._open, self._process = None, os.getpid()
        if self._open is None:
            connection = self._file.connect(flags=READ_WRITE)
            self._companion.configure(connection)
            self._open = connection
        return self._open

    def _require_writable(self, connection: apsw.Connection) -> None:
        if connection.readonly("main"):
            raise StoreReadOnly(
                f"`{self.label}` is not writable.",
                fix="Check the permissions of the file and its folder, or use another file for the "
                f"{self._companion.kind}.",
            )


# The tables of companions, written for SQLite. As those of an index in `_stores/sql/tables.py`,
# they are translated for PostgreSQL, for which alone are comments that begin with "pg:".

CALL_TABLES = """
CREATE TABLE reply (
    id INTEGER /*pg:GENERATED ALWAYS AS IDENTITY*/ PRIMARY KEY, key BLOB NOT NULL UNIQUE,
    stage TEXT NOT NULL, source TEXT NOT NULL, model TEXT NOT NULL, text BLOB NOT NULL,
    finish_reason TEXT NOT NULL, input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,
    calls INTEGER NOT NULL, digest BLOB NOT NULL
);
CREATE INDEX reply_by_source ON reply /*pg:USING hash*/ (source);
CREATE TABLE rejected (
    id INTEGER /*pg:GENERATED ALWAYS AS IDENTITY*/ PRIMARY KEY, key BLOB NOT NULL UNIQUE,
    stage TEXT NOT NULL, source TEXT NOT NULL, model TEXT NOT NULL, text BLOB NOT NULL,
    finish_reason TEXT NOT NULL, reason TEXT NOT NULL, attempts INTEGER NOT NULL
);
CREATE INDEX rejected_by_source ON rejected /*pg:USING hash*/ (source);
CREATE TABLE spent (
    stage TEXT NOT NULL, source TEXT NOT NULL, model TEXT NOT NULL, calls INTEGER NOT NULL,
    rejected INTEGER NOT NULL, input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,
    reused INTEGER NOT NULL, saved_input_tokens INTEGER NOT NULL,
    saved_output_tokens INTEGER NOT NULL, PRIMARY KEY (stage, source, model)
) WITHOUT ROWID;
CREATE TABLE awaited (
    key BLOB PRIMARY KEY, batch TEXT NOT NULL, server TEXT NOT NULL, model TEXT NOT NULL,
    stage TEXT NOT NULL, source TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX awaited_by_source ON awaited /*pg:USING hash*/ (source);
"""

FACT_TABLES = """
CREATE TABLE IF NOT EXISTS fact (
    id INTEGER /*pg:GENERATED ALWAYS AS IDENTITY*/ PRIMARY KEY, owner TEXT NOT NULL,
    subject TEXT NOT NULL, relation TEXT NOT NULL, object TEXT NOT NULL,
    subject_form TEXT NOT NULL, relation_form TEXT NOT NULL, object_form TEXT NOT NULL,
    valid_from TEXT NOT NULL, valid_to TEXT, source TEXT NOT NULL,
    UNIQUE (owner, subject_form, relation_form, object_form, valid_from)
);
CREATE INDEX IF NOT EXISTS fact_of_object ON fact /*pg:USING hash*/ (object_form);
"""

JOB_TABLES = """
CREATE TABLE IF NOT EXISTS job (
    id TEXT PRIMARY KEY, n INTEGER NOT NULL, workspace TEXT NOT NULL, kind TEXT NOT NULL,
    arguments TEXT NOT NULL, state TEXT NOT NULL, created TEXT NOT NULL, started TEXT NOT NULL,
    finished TEXT NOT NULL, progress TEXT NOT NULL, report TEXT NOT NULL, error TEXT NOT NULL,
    server TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS job_workspace ON job (workspace, n);
CREATE TABLE IF NOT EXISTS event (
    n INTEGER PRIMARY KEY AUTOINCREMENT, job TEXT NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS event_job ON event (job, n);
CREATE TABLE IF NOT EXISTS crash (
    job TEXT PRIMARY KEY, place TEXT NOT NULL, times INTEGER NOT NULL
);
"""
