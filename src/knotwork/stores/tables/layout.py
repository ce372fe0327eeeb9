"""Tables as they are laid out in their file, with what describes them and finds their values."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

import apsw

from knotwork.records import Cell, Table
from knotwork.text.names import normal_form
from knotwork.text.terms import terms

_NOT_PLAIN = re.compile(r"\W+")
_SQL_TYPES = {"text": "TEXT", "integer": "INTEGER", "number": "REAL", "date": "TEXT"}
_KINDS = {"TEXT": "text", "INTEGER": "integer", "REAL": "number"}
_ROWID_NAMES = ("rowid", "oid")
"""By which SQLite knows the number of a row, unless a column has such a name."""
_OWN_PREFIX = "knotwork_"
_LONGEST_FORM = 80
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
    """A table: where it came from, its columns with their types, and how many rows it has.

    Types are those of `COLUMN_TYPES`. ``labels`` are the headers of the columns as the file has
    them. ``document`` is the uri of the document that it was read from, with its ``revision``; both
    are empty for a table that a person added.
    """

    name: str
    source: str
    columns: tuple[tuple[str, str], ...]
    rows: int
    labels: tuple[str, ...] = ()
    document: str = ""
    revision: str = ""


def plain_name(name: str) -> str:
    """Return a name as a table or column has it: letters, digits and underscores, lower case."""
    plain = _NOT_PLAIN.sub("_", name.strip()).strip("_").lower()
    if plain in _ROWID_NAMES:
        return f"column_{plain}"
    if not plain or plain.startswith((_OWN_PREFIX, "sqlite")):
        return f"table_{plain}" if plain else ""
    return f"_{plain}" if plain[0].isdigit() else plain


def create_table(
    connection: apsw.Connection,
    name: str,
    labels: Sequence[str],
    kinds: Sequence[str],
    *,
    source: str,
    document: str = "",
    revision: str = "",
) -> TableShape:
    """Create an empty table, and replace the one with its name."""
    plain = plain_name(name) or "table"
    names = _distinct([plain_name(label) or "column" for label in labels])
    drop_table(connection, plain)
    listed = ", ".join(f'"{n}" {_SQL_TYPES[t]}' for n, t in zip(names, kinds, strict=True))
    connection.execute(f'CREATE TABLE "{plain}" ({listed})')
    columns = tuple(zip(names, kinds, strict=True))
    described = json.dumps(
        [[*column, label] for column, label in zip(columns, labels, strict=True)]
    )
    connection.execute("INSERT INTO knotwork_tables VALUES (?, ?)", (plain, source))
    connection.execute(
        "INSERT INTO knotwork_shapes VALUES (?, ?, ?, ?)", (plain, document, revision, described)
    )
    return TableShape(plain, source, columns, 0, tuple(labels), document, revision)


def fill_table(
    connection: apsw.Connection, shape: TableShape, rows: Iterable[tuple[int, Sequence[Cell]]]
) -> None:
    """Insert numbered rows, whose numbers become their rowids."""
    names = ", ".join(f'"{name}"' for name, _ in shape.columns)
    blanks = ", ".join("?" for _ in shape.columns)
    insert = f'INSERT INTO "{shape.name}" (rowid, {names}) VALUES (?, {blanks})'  # noqa: S608
    connection.executemany(insert, ((number, *row) for number, row in rows))


def finish_table(connection: apsw.Connection, shape: TableShape) -> TableShape:
    """Index the texts of a filled table, and return its shape with the number of rows."""
    for column, kind in shape.columns:
        if kind != "text":
            continue
        distinct = connection.execute(
            f'SELECT DISTINCT "{column}" FROM "{shape.name}"'  # noqa: S608  plain names
            f' WHERE length("{column}") BETWEEN 1 AND {_LONGEST_FORM}'
        ).fetchall()
        connection.executemany(
            "INSERT OR IGNORE INTO knotwork_values VALUES (?, ?, ?, ?)",
            (
                (form, shape.name, column, value)
                for (value,) in distinct
                for form in dict.fromkeys(value_forms(str(value)))
            ),
        )
    count = connection.execute(f'SELECT count(*) FROM "{shape.name}"').get  # noqa: S608
    return replace(shape, rows=int(count))


def value_forms(text: str) -> list[str]:
    """Return the forms by which a text in a column is found: its normal form, and its stems."""
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
    """Store a table that was read from a file, and replace the one with its name."""
    labels = [column.label for column in table.columns]
    kinds = [column.type for column in table.columns]
    shape = create_table(
        connection, name, labels, kinds, source=source, document=document, revision=revision
    )
    fill_table(connection, shape, zip(table.numbers, table.rows, strict=True))
    connection.executemany(
        "INSERT INTO knotwork_lines VALUES (?, ?, ?, ?)",
        (
            (shape.name, number, *span)
            for number, span in zip(table.numbers, table.spans, strict=True)
        ),
    )
    return finish_table(connection, shape)


def drop_table(connection: apsw.Connection, name: str) -> None:
    """Remove a table with all that describes it."""
    connection.execute(f'DROP TABLE IF EXISTS "{name}"')
    for table in _OWN_TABLES:
        connection.execute(f"DELETE FROM {table} WHERE name = ?", (name,))  # noqa: S608


def drop_documents(connection: apsw.Connection, documents: Collection[str]) -> None:
    """Remove the tables of documents."""
    for document in documents:
        statement = "SELECT name FROM knotwork_shapes WHERE document = ?"
        for (name,) in connection.execute(statement, (document,)).fetchall():
            drop_table(connection, str(name))


def free_name(name: str, taken: Collection[str]) -> str:
    """Return a name that is not taken: with a number behind it, if need be."""
    chosen, number = name, 1
    while chosen in taken:
        number += 1
        chosen = f"{name}_{number}"
    return chosen


def registered(connection: apsw.Connection) -> list[tuple[object, ...]]:
    """Return the names of all tables with their sources, ordered by name."""
    return connection.execute("SELECT name, source FROM knotwork_tables ORDER BY name").fetchall()


def has_registry(connection: apsw.Connection) -> bool:
    """Return whether the file describes its tables: one of an earlier release does not."""
    statement = "SELECT count(*) FROM sqlite_schema WHERE name = 'knotwork_shapes'"
    return bool(connection.execute(statement).get)


def shape_of(connection: apsw.Connection, name: str, source: str) -> TableShape:
    """Return the shape of a table; of one from an earlier release, as SQLite knows it."""
    count = int(connection.execute(f'SELECT count(*) FROM "{name}"').get)  # noqa: S608
    described = None
    if has_registry(connection):
        statement = "SELECT document, revision, columns FROM knotwork_shapes WHERE name = ?"
        described = connection.execute(statement, (name,)).fetchone()
    if described is None:
        statement = "SELECT name, type FROM pragma_table_info(?)"
        found = connection.execute(statement, (name,)).fetchall()
        columns = tuple((str(n), _KINDS[str(t)]) for n, t in found)
        return TableShape(name, source, columns, count, tuple(n for n, _ in columns))
    document, revision, listed = described
    items = json.loads(str(listed))
    columns = tuple((str(n), str(kind)) for n, kind, _ in items)
    labels = tuple(str(label) for _, _, label in items)
    return TableShape(name, source, columns, count, labels, str(document), str(revision))


def _distinct(names: Sequence[str]) -> list[str]:
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
