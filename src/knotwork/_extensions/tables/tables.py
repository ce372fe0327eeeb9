"""The tables beside an index: list, add and remove them, and query them with read-only SQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from knotwork._config import IndexSettings, shown_url
from knotwork._extensions.tables.table_file import TableFile, TableShape, named_tables
from knotwork._stores.base import Store, tables_of
from knotwork.errors import ConfigError, LoadError
from knotwork.records import PropertyValue, QueryResult


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
        return require_tables(self._store)


def require_tables(store: Store) -> TableFile:
    """Return the tables of an index. Raises ConfigError if it has no place for tables."""
    tables = tables_of(store)
    if store.capabilities.whole is not None:
        raise ConfigError("The tables of an index cannot be filtered.", fix="Ask the whole index.")
    if tables is None:
        raise ConfigError(
            f"The index `{shown_url(store.url)}` has no place for tables.",
            fix="Use an index file, such as --store docs.knot, or one on a PostgreSQL server.",
        )
    return tables


SUFFIXES = (".csv", ".tsv", ".xlsx", ".xlsm", ".json", ".jsonl")


def add_tables(
    tables: TableFile, path: Path, settings: IndexSettings | None = None
) -> list[TableShape]:
    """Store all tables of a file beside an index, each under its file's or sheet's name.

    The file is read in a worker process, within the limits of the settings.

    Raises LoadError for a file without a table, StoreError if they cannot be stored.
    """
    from knotwork._indexing.loaders.loader_registry import load_file
    from knotwork._indexing.workers import read_files

    if path.suffix.lower() not in SUFFIXES:
        valid = ", ".join(SUFFIXES)
        raise LoadError(
            "not a table",
            f"`{path}` is not a table file.",
            fix=f"Supported suffixes are {valid}.",
        )
    settings = settings or IndexSettings()
    size = path.stat().st_size if path.is_file() else 0
    load = partial(
        load_file,
        path.absolute(),
        uri=str(path),
        max_file_mb=settings.max_file_mb,
        max_characters=settings.max_file_characters,
    )
    (result,) = read_files([(load, str(path), size)], settings=settings)
    found = named_tables(result())
    if not found:
        raise LoadError(
            "empty",
            f"`{path}` has no row below a header.",
            fix="Check that the first row names the columns.",
        )
    return [tables.put_table(name, table, source=str(path)) for name, table in found]
