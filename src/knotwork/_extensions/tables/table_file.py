"""Store SQL tables in a SQLite file beside the index, and query them with guarded statements.

The tables come from indexed CSV and Excel files, or were added by a person. Statements run on a
read-only connection, guarded by `sql_guard`.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw

from knotwork._extensions.tables.guarded_query import SQL_LIMITS, GuardedQuery, check_sql
from knotwork._sqlite_file import (
    FILE_KINDS,
    READ_WRITE,
    TABLES_SUFFIX,
    SqliteFile,
    is_damage,
    repair_advice,
    sync_journal,
)
from knotwork._text.names import normal_form
from knotwork._text.terms import terms
from knotwork.errors import (
    StoreError,
    StoreNotFound,
    UnknownName,
)
from knotwork.records import Cell, Document, PropertyValue, QueryResult, RowSource, Span, Table

_CHANGES = slice(24, 28)
"""SQLite's count of transactions in the header: two may have the same time."""


class TableFile:
    """The tables beside an index, in one SQLite file, which the first write creates."""

    def __init__(self, path: Path) -> None:
        self.path = path
        index = path.with_name(path.name.removesuffix(TABLES_SUFFIX))
        self._file = SqliteFile(
            str(path), FILE_KINDS[TABLES_SUFFIX], 0, repair=repair_advice(index)
        )

    def exists(self) -> bool:
        """Return True if tables have been written."""
        return self.path.exists()

    def put(
        self,
        name: str,
        columns: Sequence[tuple[str, str]],
        rows: Iterable[Sequence[Cell]],
        *,
        source: str = "",
    ) -> TableShape:
        """Add a table, or replace the one of this name, and return its shape.

        ``columns`` are (header, type) pairs. The names of the table and its columns become distinct
        SQL names (`sql_name`). Raises StoreError if the file is not writable.
        """
        width = len(columns)
        padded = ((*row[:width], *[None] * (width - len(row))) for row in rows)
        with self._writing() as connection:
            return store_table(connection, name, columns, enumerate(padded, start=1), source=source)

    def put_table(self, name: str, table: Table, *, source: str = "") -> TableShape:
        """Add a table that a loader read, or replace the one of this name."""
        with self._writing() as connection:
            return put_table(connection, name, table, source=source)

    def put_documents(self, documents: Iterable[Document]) -> None:
        """Replace the tables of documents, in one transaction.

        A table has the name of its file and, if that has several, of its sheet. It never replaces
        one of another source: its name gets a number instead.
        """
        held = self.documents()
        changed = [document for document in documents if document.tables or document.uri in held]
        if not changed:
            return
        with self._writing() as connection:
            for document in changed:
                drop_documents(connection, [document.uri])
                taken = {str(n) for (n,) in connection.execute("SELECT name FROM knotwork_tables")}
                for name, table in named_tables(document):
                    chosen = _free_name(sql_name(name) or "table", taken)
                    taken.add(chosen)
                    put_table(
                        connection,
                        chosen,
                        table,
                        source=document.uri,
                        document=document.uri,
                        revision=document.revision,
                    )

    def packed(self, name: str) -> bytes:
        """Return a table with its rows, for `put_packed` of another place for tables."""
        with self._reading() as connection:
            return pack_table(connection, name)

    def put_packed(self, name: str, data: bytes) -> None:
        """Add a table that `packed` returned, or replace the one of this name."""
        with self._writing() as connection:
            unpack_table(connection, name, data)

    def documents(self) -> set[str]:
        """Return the uris of the documents with tables; empty if the file does not exist."""
        if not self.exists():
            return set()
        with self._reading() as connection:
            statement = "SELECT 1 FROM sqlite_schema WHERE name = 'knotwork_shapes'"
            if not connection.execute(statement).get:  # the first write was interrupted
                return set()
            rows = connection.execute("SELECT DISTINCT document FROM knotwork_shapes")
            return {str(document) for (document,) in rows} - {""}

    def remove_documents(self, documents: Collection[str]) -> None:
        """Remove the tables of documents."""
        with self._writing() as connection:
            drop_documents(connection, documents)

    def remove(self, name: str) -> None:
        """Remove a table. Raises UnknownName if it does not exist."""
        known = [shape.name for shape in self.tables()]
        if name not in known:
            raise UnknownName("table", name, known)
        with self._writing() as connection:
            drop_table(connection, name)

    def tables(self) -> list[TableShape]:
        """Return the shapes of all tables, ordered by name; empty if the file does not exist."""
        if not self.exists():
            return []
        with self._reading() as connection:
            return [shape_of(connection, str(n), str(s)) for n, s in registered(connection)]

    def find_values(self, forms: Sequence[str]) -> dict[str, list[tuple[str, str, str]]]:
        """Return the values of text columns with these normal forms or stems, by form.

        Each value is a (table, column, text). Numbers and dates are not indexed here.
        """
        found: dict[str, list[tuple[str, str, str]]] = {}
        if not self.exists():
            return found
        with self._reading() as connection:
            for form, table, column, value in connection.execute(
                'SELECT form, name, "column", value FROM knotwork_values'
                " WHERE form IN (SELECT value FROM json_each(?))",
                (json.dumps(list(forms)),),
            ):
                found.setdefault(str(form), []).append((str(table), str(column), str(value)))
        return found

    def row_sources(self, shape: TableShape, rows: Sequence[int]) -> list[RowSource]:
        """Return the sources of rows of a table, given by rowid, in order."""
        spans: dict[int, Span] = {}
        with self._reading() as connection:
            for row, start, end in connection.execute(
                'SELECT row, start, "end" FROM knotwork_lines WHERE name = ?'
                " AND row IN (SELECT value FROM json_each(?))",
                (shape.name, json.dumps(list(rows))),
            ):
                spans[int(row)] = Span(int(start), int(end))
        source = shape.document or shape.source
        return [RowSource(source, shape.name, row, spans.get(row, Span(0, 0))) for row in rows]

    def generation(self) -> int:
        """Return a number that changes with every write to the file, 0 if it does not exist."""
        try:
            with self.path.open("rb") as file:
                modified_ns = os.fstat(file.fileno()).st_mtime_ns
                header = file.read(_CHANGES.stop)
        except FileNotFoundError:
            return 0
        return (modified_ns << 32) + int.from_bytes(header[_CHANGES], "big")

    def run(
        self,
        statement: str,
        parameters: Mapping[str, PropertyValue] | None = None,
        *,
        row_limit: int = 1_000,
        timeout_s: float = 10.0,
    ) -> QueryResult:
        """Run a query and return its rows, at most ``row_limit``.

        Parameters are written as ``$name``. Raises QueryRefused for a statement that could do more
        than read these tables, QuerySyntaxError for one that SQLite rejects, QueryTimeout after
        ``timeout_s``, StoreNotFound if there are no tables.
        """
        query = check_sql(statement)
        known: list[str] = []
        if self.exists():
            with self._reading() as connection:
                known = [str(name) for name, _ in registered(connection)]
        if not known:
            raise StoreNotFound(
                "There are no tables.",
                fix="Add some: `knotwork tables add FILE`, or `kb.tables.add(FILE)`.",
            )
        connection = self._open()
        try:
            runner = GuardedQuery(connection, known, timeout_s=timeout_s)
            return runner.run(query, dict(parameters or {}), row_limit=row_limit)
        except (apsw.Error, UnicodeDecodeError) as error:
            raise self._file.damaged(error) from error
        finally:
            connection.close()

    @contextmanager
    def _writing(self) -> Iterator[apsw.Connection]:
        """Open the file for writing, in one transaction. Raises StoreError if that fails."""
        try:
            connection = self._file.connect(flags=READ_WRITE)
            sync_journal(connection)  # whatever the index does: it refers to tables that are stored
            try:
                with connection:
                    connection.execute(REGISTRY)
                    yield connection
            finally:
                connection.close()
        except apsw.Error as error:
            if is_damage(error):
                raise self._file.damaged(error) from error
            raise StoreError(
                f"Writing the tables in `{self.path}` failed: {error}.",
                fix="Check that the file and its folder are writable.",
            ) from error

    @contextmanager
    def _reading(self) -> Iterator[apsw.Connection]:
        with self._file.translated_errors():
            connection = self._open()
            try:
                yield connection
            finally:
                connection.close()

    def _open(self) -> apsw.Connection:
        connection = self._file.connect(flags=apsw.SQLITE_OPEN_READONLY)
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        connection.config(apsw.SQLITE_DBCONFIG_DQS_DML, 0)
        for limit, most in SQL_LIMITS.items():
            connection.limit(limit, most)
        return connection


_NOT_PLAIN = re.compile(r"\W+")
_SQL_TYPES = {"text": "TEXT", "integer": "INTEGER", "number": "REAL", "date": "TEXT"}
_ROWID_NAMES = ("rowid", "oid")
"""Names of the row number in SQLite, which a column of such a name would hide."""
_OWN_PREFIX = "knotwork_"
_MAX_FORM_CHARACTERS = 80
REGISTRY = """
    CREATE TABLE IF NOT EXISTS knotwork_tables (name TEXT PRIMARY KEY, source TEXT);
    CREATE TABLE IF NOT EXISTS knotwork_shapes (
        name TEXT PRIMARY KEY, document TEXT NOT NULL, revision TEXT NOT NULL, columns TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS knotwork_lines (
        name TEXT NOT NULL, row INTEGER NOT NULL, start INTEGER NOT NULL, "end" INTEGER NOT NULL,
        PRIMARY KEY (name, row)
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS knotwork_values (
        form TEXT NOT NULL, name TEXT NOT NULL, "column" TEXT NOT NULL, value TEXT NOT NULL,
        PRIMARY KEY (form, name, "column", value)
    ) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS knotwork_values_of ON knotwork_values (name);
"""
_OWN_TABLES = ("knotwork_tables", "knotwork_shapes", "knotwork_lines", "knotwork_values")


@dataclass(frozen=True, slots=True)
class TableShape:
    """A table: its SQL name, source, (name, type) columns and number of rows.

    Types are those of `records.Column`. ``labels`` are the original headers of the columns.
    ``document`` and ``revision`` are those of the document with the table; both are empty for a
    table that a person added.
    """

    name: str
    source: str
    columns: tuple[tuple[str, str], ...]
    rows: int
    labels: tuple[str, ...] = ()
    document: str = ""
    revision: str = ""


def named_tables(document: Document) -> list[tuple[str, Table]]:
    """Return the tables of a document, named by the file and, if it has several, by the sheet."""
    stem = Path(document.uri.rpartition("/")[2]).stem
    single = len(document.tables) == 1
    return [(stem if single else f"{stem} {table.name}", table) for table in document.tables]


def sql_name(name: str) -> str:
    """Return the SQL name of a table or column: lower-case letters, digits and underscores.

    It is empty if ``name`` has none of these.
    """
    plain = _NOT_PLAIN.sub("_", name.strip()).strip("_").lower()
    if plain in _ROWID_NAMES:
        return f"column_{plain}"
    if not plain or plain.startswith((_OWN_PREFIX, "sqlite")):
        return f"table_{plain}" if plain else ""
    return f"_{plain}" if plain[0].isdigit() else plain


def store_table(
    connection: apsw.Connection,
    name: str,
    columns: Sequence[tuple[str, str]],
    rows: Iterable[tuple[int, Sequence[Cell]]],
    lines: Iterable[Sequence[int]] = (),
    *,
    source: str,
    document: str = "",
    revision: str = "",
) -> TableShape:
    """Store a table, replacing the one of this name, and index the values of its text columns.

    ``columns`` are (header, type) pairs. ``rows`` have a number each, and ``lines`` are the numbers
    of rows with the start and end of their lines in a text.
    """
    plain = sql_name(name) or "table"
    labels, kinds = [label for label, _ in columns], [kind for _, kind in columns]
    names = _distinct([sql_name(label) or "column" for label in labels])
    drop_table(connection, plain)
    typed = ", ".join(f'"{n}" {_SQL_TYPES[t]}' for n, t in zip(names, kinds, strict=True))
    connection.execute(f'CREATE TABLE "{plain}" ({typed})')
    described = json.dumps([*map(list, zip(names, kinds, labels, strict=True))])
    connection.execute("INSERT INTO knotwork_tables VALUES (?, ?)", (plain, source))
    connection.execute(
        "INSERT INTO knotwork_shapes VALUES (?, ?, ?, ?)", (plain, document, revision, described)
    )
    quoted = ", ".join(f'"{name}"' for name in names)
    blanks = ", ".join("?" for _ in names)
    connection.executemany(
        f'INSERT INTO "{plain}" (rowid, {quoted}) VALUES (?, {blanks})',  # noqa: S608
        ((number, *row) for number, row in rows),
    )
    connection.executemany(
        "INSERT INTO knotwork_lines VALUES (?, ?, ?, ?)", ((plain, *line) for line in lines)
    )
    for column, kind in zip(names, kinds, strict=True):
        if kind != "text":
            continue
        distinct = connection.execute(
            f'SELECT DISTINCT "{column}" FROM "{plain}"'  # noqa: S608  plain names
            f' WHERE length("{column}") BETWEEN 1 AND {_MAX_FORM_CHARACTERS}'
        ).fetchall()
        connection.executemany(
            "INSERT OR IGNORE INTO knotwork_values VALUES (?, ?, ?, ?)",
            (
                (form, plain, column, value)
                for (value,) in distinct
                for form in dict.fromkeys(_value_forms(str(value)))
            ),
        )
    return shape_of(connection, plain, source)


def _value_forms(text: str) -> list[str]:
    stems = " ".join(terms(text))
    return [form for form in (normal_form(text), f"stems {stems}" if stems else "") if form]


def put_table(
    connection: apsw.Connection,
    name: str,
    table: Table,
    *,
    source: str,
    document: str = "",
    revision: str = "",
) -> TableShape:
    """Store a table that a loader read, replacing the one of this name."""
    return store_table(
        connection,
        name,
        [(column.label, column.type) for column in table.columns],
        zip(table.numbers, table.rows, strict=True),
        ((n, *span) for n, span in zip(table.numbers, table.spans, strict=True)),
        source=source,
        document=document,
        revision=revision,
    )


def pack_table(connection: apsw.Connection, name: str) -> bytes:
    """Return a table as compressed JSON, with the numbers of its rows and their lines."""
    (source,) = (source for other, source in registered(connection) if other == name)
    shape = shape_of(connection, name, str(source))
    rows = connection.execute(f'SELECT rowid, * FROM "{name}" ORDER BY rowid')  # noqa: S608
    statement = 'SELECT row, start, "end" FROM knotwork_lines WHERE name = ? ORDER BY row'
    lines = connection.execute(statement, (name,)).fetchall()
    body = {
        "source": shape.source,
        "document": shape.document,
        "revision": shape.revision,
        "labels": shape.labels,
        "kinds": [kind for _, kind in shape.columns],
        "rows": rows.fetchall(),
        "lines": lines,
    }
    return zlib.compress(json.dumps(body, ensure_ascii=False).encode("utf-8"))


def unpack_table(connection: apsw.Connection, name: str, data: bytes) -> None:
    """Store a table that `pack_table` returned, in place of the one of its name."""
    body: dict[str, Any] = json.loads(zlib.decompress(data))
    store_table(
        connection,
        name,
        list(zip(body["labels"], body["kinds"], strict=True)),
        ((row[0], row[1:]) for row in body["rows"]),
        body["lines"],
        source=body["source"],
        document=body["document"],
        revision=body["revision"],
    )


def drop_table(connection: apsw.Connection, name: str) -> None:
    """Remove a table with its entries in the registry."""
    connection.execute(f'DROP TABLE IF EXISTS "{name}"')
    for table in _OWN_TABLES:
        connection.execute(f"DELETE FROM {table} WHERE name = ?", (name,))  # noqa: S608


def drop_documents(connection: apsw.Connection, documents: Collection[str]) -> None:
    """Remove the tables of documents."""
    for document in documents:
        statement = "SELECT name FROM knotwork_shapes WHERE document = ?"
        for (name,) in connection.execute(statement, (document,)).fetchall():
            drop_table(connection, str(name))


def _free_name(name: str, taken: Collection[str]) -> str:
    chosen, number = name, 1
    while chosen in taken:
        number += 1
        chosen = f"{name}_{number}"
    return chosen


def registered(connection: apsw.Connection) -> list[tuple[object, ...]]:
    """Return (name, source) of all tables, ordered by name."""
    return connection.execute("SELECT name, source FROM knotwork_tables ORDER BY name").fetchall()


def shape_of(connection: apsw.Connection, name: str, source: str) -> TableShape:
    """Return the shape of a table."""
    count = int(connection.execute(f'SELECT count(*) FROM "{name}"').get)  # noqa: S608
    statement = "SELECT document, revision, columns FROM knotwork_shapes WHERE name = ?"
    ((document, revision, listed),) = connection.execute(statement, (name,))
    items = json.loads(str(listed))
    columns = tuple((str(n), str(kind)) for n, kind, _ in items)
    labels = tuple(str(label) for _, _, label in items)
    return TableShape(name, source, columns, count, labels, str(document), str(revision))


def _distinct(names: Sequence[str]) -> list[str]:
    """Return the names, with a number behind those that would repeat an earlier one."""
    seen: Counter[str] = Counter()
    taken = set(names)
    found: list[str] = []
    for name in names:
        seen[name] += 1
        chosen = name
        while seen[name] > 1 and chosen in (*taken, *found):
            chosen = f"{name}_{seen[name]}"
            seen[name] += chosen in taken
        found.append(chosen)
    return found
