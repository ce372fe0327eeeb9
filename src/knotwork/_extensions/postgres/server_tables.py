"""The tables of an index on a server: stored there whole, and queried in a copy on this machine.

A statement over tables runs where it can be guarded, so each process queries a table file
(`TableFile`). It is brought up to date before each use: the server has a version of each table, and
tables whose version differs are read again. The copy can be deleted at any time.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import apsw
from platformdirs import user_cache_path

from knotwork._companions import CompanionDatabase, companion_path
from knotwork._extensions.tables.table_file import (
    TableFile,
    drop_table,
    pack_table,
    registered,
    unpack_table,
)
from knotwork._sqlite_file import TABLES_SUFFIX
from knotwork.errors import IndexDamaged, SchemaMismatch

_VERSIONS = "SELECT name, version FROM stored_table"
_READ = "SELECT version, body FROM stored_table WHERE name = $1"
_REMOVE = "DELETE FROM stored_table WHERE name = $1"
_ADD = "INSERT INTO stored_table (name, body) VALUES ($1, $2) RETURNING version"
_COPIED = "CREATE TABLE IF NOT EXISTS knotwork_copied (name TEXT PRIMARY KEY, version INTEGER)"


class ServerTables(TableFile):
    """The tables of an index on a server, with the methods of a table file."""

    def __init__(self, tables: CompanionDatabase, folder: Path | None = None) -> None:
        """``folder`` is that of the copy, by default one in the cache of the user."""
        folder = folder or user_cache_path("knotwork", appauthor=False) / "tables"
        self._tables = tables
        self._scratch: tempfile.TemporaryDirectory[str] | None = None
        self._place(folder)

    def _place(self, folder: Path) -> None:
        super().__init__(folder / companion_path(self._tables.label, TABLES_SUFFIX))
        advice = "Delete the file: it is a copy of what the server has, and is made again."
        self._file = replace(self._file, repair=advice)

    def close(self) -> None:
        """Close the connection to the server."""
        self._tables.close()
        if self._scratch is not None:
            self._scratch.cleanup()

    def _follow(self) -> None:
        wanted: dict[str, int] = dict(self._tables.rows(_VERSIONS))
        try:
            if wanted != self._copied():
                self._copy(wanted)
        except (IndexDamaged, SchemaMismatch):
            for suffix in ("", "-journal"):
                self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
            self._copy(wanted)

    def _copied(self) -> dict[str, int]:
        if not self.path.exists():
            return {}
        with self._file.translated_errors():
            connection = self._open()
            try:
                return _versions(connection)
            finally:
                connection.close()

    def _make_folder(self) -> None:
        """Create the folder of the copy, which only its owner can enter; elsewhere if it fails."""
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            self._scratch = tempfile.TemporaryDirectory(prefix="knotwork-tables-")
            self._place(Path(self._scratch.name))

    def _copy(self, wanted: dict[str, int]) -> None:
        self._make_folder()
        with super()._writing() as connection:
            connection.execute(_COPIED)
            copied = _versions(connection)  # another process may have done it meanwhile
            for name in copied.keys() - wanted.keys():
                _forget(connection, name)
            for name, version in wanted.items():
                found = self._tables.rows(_READ, (name,)) if copied.get(name) != version else []
                for current, body in found:
                    unpack_table(connection, name, bytes(body))
                    _note(connection, name, int(current))

    def exists(self) -> bool:
        self._follow()
        return super().exists()

    def generation(self) -> int:
        self._follow()
        return super().generation()

    @contextmanager
    def _writing(self) -> Iterator[apsw.Connection]:
        """Write to the copy, and what has changed to the server, both or none.

        A copy whose change the server does not get has a version that no table has, and is read
        again.
        """
        with self._tables.transaction():
            self._follow()
            self._make_folder()
            with super()._writing() as connection:
                connection.execute(_COPIED)
                before = {str(name) for name, _ in registered(connection)}
                added: set[int] = set()

                def note(_kind: int, _database: str, table: str, row: int) -> None:
                    if table == "knotwork_tables":
                        added.add(row)

                connection.set_update_hook(note)
                try:
                    yield connection
                finally:
                    connection.set_update_hook(None)
                for name in before - {str(name) for name, _ in registered(connection)}:
                    self._tables.change(_REMOVE, (name,))
                    _forget(connection, name)
                for name in _names_of(connection, added):
                    self._tables.change(_REMOVE, (name,))
                    ((version,),) = self._tables.rows(_ADD, (name, pack_table(connection, name)))
                    _note(connection, name, int(version))


def _versions(connection: apsw.Connection) -> dict[str, int]:
    if not connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'knotwork_copied'").get:
        return {}
    rows = connection.execute("SELECT name, version FROM knotwork_copied")
    return {str(name): int(version) for name, version in rows}


def _note(connection: apsw.Connection, name: str, version: int) -> None:
    statement = "INSERT OR REPLACE INTO knotwork_copied VALUES (?, ?)"
    connection.execute(statement, (name, version))


def _forget(connection: apsw.Connection, name: str) -> None:
    drop_table(connection, name)
    connection.execute("DELETE FROM knotwork_copied WHERE name = ?", (name,))


def _names_of(connection: apsw.Connection, rows: Iterable[int]) -> list[str]:
    statement = (
        "SELECT name FROM knotwork_tables WHERE rowid IN (SELECT value FROM json_each(?))"
        " ORDER BY name"
    )
    found = connection.execute(statement, (json.dumps(list(rows)),))
    return [str(name) for (name,) in found]
