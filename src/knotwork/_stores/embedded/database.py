"""The index file: its tables and statements, one connection per thread, one writer at a time."""

from __future__ import annotations

import json
import logging
import math
import os
import shutil
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache, partial
from pathlib import Path

import apsw

from knotwork._cancellation import check_cancelled, checked, checks_due, finishing
from knotwork._sqlite_file import (
    ERRORS,
    FULL,
    OFF,
    Migration,
    SqliteFile,
    is_empty,
    repair_advice,
    sync_commits,
)
from knotwork._stores.sql.database import Bindings, Row, SqlDatabase, insert, rephrase
from knotwork._stores.sql.tables import TABLES
from knotwork.errors import IndexDamaged, SchemaMismatch, StoreError, StoreReadOnly

_FORMATS: Mapping[str, str] = {"id": "%016x", "integer": "%d", "real": "%!.17g"}
"""Formats of SQLite; 17 digits of a real number are the number itself."""


@lru_cache(maxsize=1_024)
def sqlite_text(sql: str) -> str:
    """Return a shared statement as SQLite takes it; it flattens the subqueries of lists."""
    return rephrase(sql, listed=_listed, joined=_joined)


def _listed(_kind: str, parameter: str, names: Sequence[str]) -> str:
    found = ", ".join(f"value ->> {place} AS {name}" for place, name in enumerate(names))
    return f"(SELECT key AS place, {found or 'value'} FROM json_each({parameter})) j"


def _joined(query: str, columns: Mapping[str, str]) -> str:
    """Return a scalar expression, as SQLite has no LATERAL joins; it parses the text only once."""
    formats = " ".join(_FORMATS[form] for form in columns.values())
    row = f"format('{formats}', {', '.join(columns)})"
    return f"(SELECT group_concat({row}, ' ') FROM ({query}))"


def _bound(bindings: Bindings) -> Bindings:
    """Return the values of parameters as SQLite takes them: lists are JSON."""
    return [json.dumps(value) if type(value) is list else value for value in bindings]


APPLICATION_ID = 0x4B4E4F54
"""``KNOT``, which marks a SQLite file as an index of Knotwork."""

_OWN_TABLES = """
CREATE TABLE state (generation INTEGER NOT NULL);
INSERT INTO state VALUES (0);
CREATE TABLE entity (
    id INTEGER PRIMARY KEY, chunk_count INTEGER NOT NULL, name TEXT NOT NULL,
    type TEXT NOT NULL, normal_form TEXT NOT NULL, names TEXT NOT NULL, types TEXT NOT NULL
);
CREATE INDEX entity_by_name ON entity (name);
CREATE TABLE text_index (
    name TEXT PRIMARY KEY, items INTEGER NOT NULL, tokens INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE vector_index (
    name TEXT PRIMARY KEY, dimension INTEGER NOT NULL, items INTEGER NOT NULL,
    matrices INTEGER NOT NULL, version INTEGER NOT NULL, replaced INTEGER NOT NULL,
    coded INTEGER NOT NULL DEFAULT 0, center BLOB NOT NULL DEFAULT x''
) WITHOUT ROWID;
CREATE TABLE vector_code (
    name TEXT NOT NULL, page INTEGER NOT NULL, keys BLOB NOT NULL, data BLOB NOT NULL,
    PRIMARY KEY (name, page)
);
CREATE TABLE document_field (
    name TEXT NOT NULL, text TEXT NOT NULL, document INTEGER NOT NULL,
    PRIMARY KEY (name, text, document)
) WITHOUT ROWID;
CREATE INDEX document_field_by_document ON document_field (document);
CREATE TABLE document_page (
    label TEXT NOT NULL, document INTEGER NOT NULL, start INTEGER NOT NULL,
    "end" INTEGER NOT NULL, PRIMARY KEY (label, document, start)
) WITHOUT ROWID;
CREATE INDEX document_page_by_document ON document_page (document);
"""

MIGRATIONS: tuple[Migration, ...] = (Migration("0017-first-release", TABLES + _OWN_TABLES),)
"""The names of migrations begin with a number, which is higher than those of former layouts."""


_log = logging.getLogger("knotwork.stores")

_CACHE_KIB = 32_768
_CHECKPOINT_PAGES = 8_000
_WAL_LIMIT_BYTES = 64 * 1024 * 1024
_PAGE_BYTES = 8_192
_LOCK_WAIT_S = 0.25
_ONE_DAY_S = 86_400.0
_STEPS_BETWEEN_CHECKS = 20_000
"""Steps of SQLite's virtual machine, about a millisecond."""


class _Thread(threading.local):
    """The connection of a thread, and whether it is inside a write transaction.

    ``kept`` are the rows that `rows_once` has read, while the thread reads one state.
    """

    connection: apsw.Connection | None = None
    writing: bool = False
    kept: dict[tuple[str, Bindings], list[Row]] | None = None


class Database(SqlDatabase):
    """An open index file, the `SqlDatabase` of SQLite.

    Any number of threads and processes may use it at the same time. Messages name it by its
    path. One with a ``temporary_url`` is named by that, and removes its folder with everything in
    it. ``locate`` returns what is damaged in a file, as a phrase, "" if that is unknown.
    """

    def __init__(
        self,
        path: Path,
        *,
        read_only: bool,
        create: bool,
        busy_timeout_s: float,
        synchronous: str = FULL,
        migrations: Sequence[Migration] = MIGRATIONS,
        temporary_url: str = "",
        locate: Callable[[Path], str] = lambda _: "",
    ) -> None:
        self.path = path
        self.url = temporary_url or str(path)
        self.read_only = read_only
        self.locate = partial(locate, path)
        self._create = create and not read_only
        self._synchronous = synchronous
        self._closed = False
        self._process = os.getpid()
        self._thread = _Thread()
        self._opened: weakref.WeakSet[apsw.Connection] = weakref.WeakSet()
        self._of_parent_process: list[object] = []
        self._remove_folder: Callable[[], object] = lambda: None
        if temporary_url:
            args = path.parent, self._opened, self._process
            self._remove_folder = weakref.finalize(self, _remove_folder, *args)
        self._file = SqliteFile(
            str(path),
            "index",
            APPLICATION_ID,
            repair=repair_advice(path),
            locate=self.locate,
            busy_timeout_s=busy_timeout_s,
        )
        self._file.require(create=self._create)
        self._prepare(migrations)

    @classmethod
    def open_temporary(cls, url: str) -> Database:
        """Open a new, empty index in a private folder; see `EmbeddedStore.open_temporary`.

        A writer waits as long as another thread writes, and no write waits for the disk.
        """
        return cls(
            Path(tempfile.mkdtemp(prefix="knotwork-"), "index.knot"),
            read_only=False,
            create=True,
            busy_timeout_s=_ONE_DAY_S,
            synchronous=OFF,
            temporary_url=url,
        )

    def connection(self) -> apsw.Connection:
        """Return the connection of this thread; first use opens it.

        A connection must not be used after a fork: the child process opens its own, and never
        closes those of its parent.
        """
        if self._process != os.getpid():
            self._of_parent_process += [self._thread, *self._opened]
            self._thread, self._process = _Thread(), os.getpid()
            self._opened = weakref.WeakSet()
        connection = self._thread.connection
        if connection is None:
            if self._closed:
                raise StoreError(f"The index `{self.url}` is closed.", fix="Open it again.")
            connection = self._thread.connection = self._connect()
            self._opened.add(connection)
        return connection

    def connections(self) -> list[apsw.Connection]:
        """Return the open connections of all threads."""
        return list(self._opened)

    def rows(self, sql: str, bindings: Bindings = ()) -> list[Row]:
        checks_due()
        try:
            return self.connection().execute(sqlite_text(sql), _bound(bindings)).fetchall()
        except ERRORS as error:
            raise self._file.translate(error) from error

    @property
    def kept(self) -> dict[tuple[str, Bindings], list[Row]] | None:
        return self._thread.kept

    def stream(self, sql: str, bindings: Bindings = ()) -> Iterator[Row]:
        return checked(self.connection().execute(sqlite_text(sql), _bound(bindings)))

    def write(self, sql: str, bindings: Bindings = ()) -> list[Row]:
        checks_due()
        return self._in_transaction().execute(sqlite_text(sql), _bound(bindings)).fetchall()

    def write_many(self, sql: str, rows: Iterable[Bindings]) -> None:
        self._in_transaction().executemany(sql, checked(rows))

    def add_rows(self, table: str, columns: Mapping[str, str], rows: Iterable[Bindings]) -> None:
        self.write_many(insert(table, *columns), rows)

    @property
    def writing(self) -> bool:
        return self._thread.writing

    @contextmanager
    def reading(self) -> Iterator[None]:
        connection, thread = self.connection(), self._thread
        joins = connection.in_transaction
        try:  # Ctrl-C may come as soon as the transaction has begun
            if not joins:
                connection.execute("BEGIN")
                thread.kept = {}
            yield
        except ERRORS as error:
            raise self._file.translate(error) from error
        finally:
            if not joins:
                thread.kept = None
                with finishing(math.inf):
                    if connection.in_transaction:  # an error of reading the file ends it
                        connection.execute("COMMIT")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit all writes of the block or none; nested use joins the outer transaction.

        Raises StoreBusy if another writer does not finish in time, StoreReadOnly if the index was
        opened for reading.
        """
        if self._thread.writing:
            yield
            return
        if self.read_only:
            raise StoreReadOnly(
                f"The index `{self.url}` was opened for reading only.",
                fix="In Python, open it without `read_only`.",
            )
        connection = self.connection()
        with self._file.translated_errors():
            thread = self._thread
            before = connection.total_changes()
            try:  # Ctrl-C may come as soon as the transaction has begun
                self._lock_for_writing(connection)
                thread.writing = True
                yield
                check_cancelled()
                with finishing(math.inf):  # a commit that reports an interruption is still made
                    if connection.total_changes() != before:
                        connection.execute("UPDATE state SET generation = generation + 1")
                    connection.execute("COMMIT")
            finally:
                thread.writing = False
                if connection.in_transaction:
                    with finishing(math.inf):
                        connection.execute("ROLLBACK")

    def _lock_for_writing(self, connection: apsw.Connection) -> None:
        end = time.monotonic() + self._file.busy_timeout_s
        connection.set_busy_timeout(int(min(self._file.busy_timeout_s, _LOCK_WAIT_S) * 1_000))
        try:
            while True:
                check_cancelled()
                try:
                    connection.execute("BEGIN IMMEDIATE")
                except apsw.BusyError:
                    if time.monotonic() >= end:
                        raise
                else:
                    return
        finally:
            connection.set_busy_timeout(int(self._file.busy_timeout_s * 1_000))

    def _in_transaction(self) -> apsw.Connection:
        """Return the connection. Raises StoreError if SQLite has rolled back its transaction.

        A full disk, for example, ends a transaction, and later writes would be committed alone.
        """
        connection = self.connection()
        if not connection.in_transaction:
            raise StoreError(
                f"The transaction on `{self.url}` was rolled back after an error.",
                fix="Leave the transaction and start a new one.",
            )
        return connection

    def generation(self) -> int:
        ((generation,),) = self.rows_once("SELECT generation FROM state")
        return int(generation)

    def close(self) -> None:
        self._closed = True
        if self._process == os.getpid():
            for connection in list(self._opened):
                connection.close()
        self._thread = _Thread()
        self._remove_folder()

    def _prepare(self, migrations: Sequence[Migration]) -> None:
        connection = self.connection()
        try:
            with self._file.translated_errors():
                missing = self._missing_migrations(connection, migrations)
                if not self.read_only:
                    connection.pragma("journal_mode", "wal")
                self._file.migrate(connection, missing)
        except BaseException:
            self.close()
            raise

    def _missing_migrations(
        self, connection: apsw.Connection, migrations: Sequence[Migration]
    ) -> Sequence[Migration]:
        if self._create and is_empty(connection):
            return migrations
        missing = self._file.missing_migrations(connection, migrations)
        if missing and self.read_only:
            self._migrate_with_writer(migrations)
            return []
        return missing

    def _migrate_with_writer(self, migrations: Sequence[Migration]) -> None:
        if not os.access(self.path, os.W_OK):
            raise SchemaMismatch(
                f"`{self.path}` was written by an earlier version of Knotwork and needs an update, "
                "but the file is not writable.",
                fix="Make it writable once, or copy it to a writable folder.",
            )
        _log.info("updating `%s` to the current schema", self.path)
        self._thread.connection = None  # the connection was opened for a file that does not change
        writer = Database(
            self.path,
            read_only=False,
            create=False,
            busy_timeout_s=self._file.busy_timeout_s,
            migrations=migrations,
        )
        writer.close()

    def _connect(self) -> apsw.Connection:
        with self._file.translated_errors():
            connection = self._open_file()
            connection.set_progress_handler(checks_due, _STEPS_BETWEEN_CHECKS)
            connection.pragma("cache_size", -_CACHE_KIB)
            connection.pragma("temp_store", "memory")
            if not self.read_only:
                sync_commits(connection, self._synchronous)
                connection.pragma("wal_autocheckpoint", _CHECKPOINT_PAGES)
                connection.pragma("journal_size_limit", _WAL_LIMIT_BYTES)
            return connection

    def _open_file(self) -> apsw.Connection:
        filename = ""
        if self.read_only:
            flags = apsw.SQLITE_OPEN_READONLY
            if _is_at_rest(self.path):
                filename = f"{self.path.absolute().as_uri()}?immutable=1"
                flags |= apsw.SQLITE_OPEN_URI
        else:
            flags = apsw.SQLITE_OPEN_READWRITE
            if self._create:
                flags |= apsw.SQLITE_OPEN_CREATE
        return self._file.connect(
            flags=flags,
            filename=filename,
            page_bytes=_PAGE_BYTES,
        )

    def damaged(self, detail: object) -> IndexDamaged:
        return self._file.damaged(detail)


def _remove_folder(folder: Path, opened: Iterable[apsw.Connection], process: int) -> None:
    """Remove the folder of a temporary index, unless this is a child of the process it belongs to.

    Open connections are closed before, as some systems keep files that are open.
    """
    if process == os.getpid():
        for connection in list(opened):
            with suppress(apsw.Error):
                connection.close()
        shutil.rmtree(folder, ignore_errors=True)


def _is_at_rest(path: Path) -> bool:
    """Return True if the folder of a file is not writable and no process writes to the file.

    SQLite cannot create its shared-memory file there, and does not need it.
    """
    return not os.access(path.parent, os.W_OK) and not path.with_name(f"{path.name}-wal").exists()
