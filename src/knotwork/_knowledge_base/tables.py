"""The tables beside an index: list, add and remove them, and query them with read-only SQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from knotwork._config import IndexSettings
from knotwork._stores.base import Store
from knotwork.records import PropertyValue, QueryResult

if TYPE_CHECKING:
    from knotwork._stores.table_file import TableFile, TableShape


class Tables:
    """The SQL tables of indexed and added spreadsheets; `KnowledgeBase.tables`.

    All methods raise ConfigError for an index in memory, which has no place for tables.
    """

    def __init__(self, store: Store, settings: IndexSettings | None = None) -> None:
        self._store = store
        self._settings = settings

    def list(self) -> Sequence[TableShape]:
        """Return the tables by name, each with its columns, types and number of rows."""
        return self._file().tables()

    def query(
        self,
        /,
        statement: str,
        parameters: Mapping[str, PropertyValue] | None = None,
        *,
        row_limit: int = 1_000,
        timeout_s: float = 10.0,
        **named: PropertyValue,
    ) -> QueryResult:
        """Run one SELECT statement on the tables and return its rows, at most ``row_limit``.

        Pass parameters as a mapping or by name: ``query("... WHERE day = $day", day=day)``.
        Raises QueryRefused for a statement that could do more than read these tables,
        QuerySyntaxError, QueryTimeout after ``timeout_s`` seconds, StoreNotFound if there are no
        tables.
        """
        given = {**(parameters or {}), **named}
        return self._file().run(statement, given, row_limit=row_limit, timeout_s=timeout_s)

    def add(self, paths: str | Path | Sequence[str | Path]) -> Sequence[TableShape]:
        """Add the tables of .csv, .tsv, .xlsx and .json files, or replace those of the same names.

        A table has the name of its file or sheet. The tables of indexed documents need not be
        added. Raises LoadError for a file without a table, when the files before it are added;
        StoreReadOnly if the index was opened read-only, StoreBusy while another process writes.
        """
        from knotwork._indexing.commit import add_tables

        named = [paths] if isinstance(paths, str | Path) else list(paths)
        tables = self._file()
        with self._store.transaction():
            return [
                t
                for path in named
                for t in add_tables(tables, Path(path).expanduser(), self._settings)
            ]

    def remove(self, name: str) -> None:
        """Remove a table. Raises UnknownName if it does not exist, else as `add`."""
        tables = self._file()
        with self._store.transaction():
            tables.remove(name)

    def _file(self) -> TableFile:
        from knotwork._stores.base import require_tables

        return require_tables(self._store)
