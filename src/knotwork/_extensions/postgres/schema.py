"""Create and update the tables of an index in a database, by named migrations.

An index is one schema of the database. Its tables have the names and columns of the index file, so
that both engines share their statements, except for what each engine keeps in its own way: text
indexes, vectors and the sums of contributions. Ids are bigint, spans and packed values are bytea.
Texts compare by code points (collation "C"). A text of any length may be looked up, but a B-tree
holds only short ones, so that names and titles have hash indexes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from knotwork._companions import CALL_TABLES, FACT_TABLES, JOB_TABLES
from knotwork._extensions.postgres.connection import Address, Connection, connect
from knotwork._stores.indexes import TEXT_INDEXES, VECTOR_INDEXES, staged_name, stored_type
from knotwork._stores.sql.tables import TABLES
from knotwork.errors import SchemaMismatch, StoreError, StoreNotFound

_MIGRATION_LOCK = 0x4B4E4F4D
_LEAST_VERSION = 140_000
_TEXT = 'text COLLATE "C"'


class Migration(NamedTuple):
    """A named change of the schema; never edited once released. Names are in ascending order."""

    name: str
    apply: Callable[[Connection], None]


class Prepared(NamedTuple):
    """What a store needs to know of its schema.

    ``number`` identifies the schema in advisory locks. ``extensions`` is the schema of pgvector.
    """

    number: int
    extensions: str
    is_owner: bool


def _create_text_index(connection: Connection, name: str) -> None:
    connection.execute(
        f"CREATE TABLE text_{name} (id bigint PRIMARY KEY, length integer NOT NULL,"
        " hashes bytea NOT NULL, times bytea NOT NULL)"
    )
    connection.execute(
        f"CREATE TABLE text_{name}_posting (term bigint NOT NULL, item bigint NOT NULL,"
        " times integer NOT NULL, length integer NOT NULL,"
        " PRIMARY KEY (term, item) INCLUDE (times, length))"
    )
    connection.execute("INSERT INTO text_index (name) VALUES ($1)", (name,))


def create_vector_index(connection: Connection, name: str) -> None:
    """Create the table of a vector index, under a number of its own."""
    row = connection.execute(
        "INSERT INTO vector_index (name) VALUES ($1) RETURNING number", (name,)
    ).fetchone()
    assert row is not None
    table = vector_table(int(row[0]))
    connection.execute(
        f"CREATE TABLE {table} (id bigint NOT NULL, place smallint NOT NULL, key {_TEXT},"
        f" embedding {vector_type(name)}, PRIMARY KEY (id, place))"
    )
    connection.execute(f"CREATE INDEX {table}_key ON {table} USING hash (key)")


def vector_table(number: int) -> str:
    """Return the table of a vector index, by its number."""
    return f"vector_{number}"


def vector_type(name: str) -> str:
    """Return the type of pgvector for the rows of a vector index."""
    return "halfvec" if stored_type(name).__name__ == "float16" else "vector"


_WORDS = {
    " WITHOUT ROWID": "",
    "INTEGER PRIMARY KEY AUTOINCREMENT": "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
    "INTEGER": "bigint",
    "INT": "integer",
    "BLOB": "bytea",
    "REAL": "double precision",
    "TEXT": _TEXT,
}
"""What words of the shared tables are here."""


def _create_tables(connection: Connection) -> None:
    shared = TABLES + CALL_TABLES + FACT_TABLES + JOB_TABLES
    tables = re.sub(r"/\*pg:(.*?)\*/", r"\1", shared) + _OWN_TABLES
    for word, here in _WORDS.items():
        tables = re.sub(rf"(?<!\w){word}\b", here, tables)
    connection.execute(tables, prepare=False)
    for name in TEXT_INDEXES:
        _create_text_index(connection, name)
    for name in VECTOR_INDEXES:
        create_vector_index(connection, name)
        create_vector_index(connection, staged_name(name))


_OWN_TABLES = """
CREATE TABLE total (
    id bigint GENERATED ALWAYS AS IDENTITY, name TEXT NOT NULL, value bigint NOT NULL
);
ALTER TABLE document ALTER COLUMN text SET STORAGE EXTERNAL,
    ALTER COLUMN outline SET STORAGE EXTERNAL;
CREATE TABLE entity (
    id bigint PRIMARY KEY, chunk_count bigint NOT NULL, name TEXT NOT NULL, type TEXT NOT NULL,
    normal_form TEXT NOT NULL
) WITH (fillfactor = 80);
CREATE INDEX entity_by_name ON entity USING hash (name);
CREATE TABLE entity_form (
    entity bigint NOT NULL, form bigint NOT NULL, name TEXT NOT NULL, type TEXT NOT NULL,
    times bigint NOT NULL, chunks bigint NOT NULL, PRIMARY KEY (entity, form)
) WITH (fillfactor = 80);
CREATE TABLE text_index (name TEXT PRIMARY KEY);
CREATE TABLE vector_index (
    name TEXT PRIMARY KEY, number integer GENERATED ALWAYS AS IDENTITY, dimension integer
);
CREATE TABLE vector_garbage (number integer PRIMARY KEY, since timestamptz NOT NULL);
CREATE TABLE document_field (name TEXT NOT NULL, text TEXT NOT NULL, document bigint NOT NULL);
CREATE UNIQUE INDEX document_field_by_document
    ON document_field (document, md5(name), md5(text));
CREATE INDEX document_field_by_name ON document_field (name);
CREATE INDEX document_field_by_text ON document_field USING hash (text);
CREATE TABLE document_page (
    label TEXT NOT NULL, document bigint NOT NULL, start integer NOT NULL,
    "end" integer NOT NULL, PRIMARY KEY (document, start, label)
);
CREATE INDEX document_page_by_label ON document_page (label);

CREATE TABLE stored_table (
    name TEXT PRIMARY KEY, version bigint GENERATED ALWAYS AS IDENTITY, body bytea NOT NULL
);
ALTER TABLE stored_table ALTER COLUMN body SET STORAGE EXTERNAL;
"""


MIGRATIONS: tuple[Migration, ...] = (Migration("0008-first-release", _create_tables),)
"""The number of a name is higher than those of former layouts."""


def prepare_schema(address: Address, *, create: bool, read_only: bool) -> Prepared:
    """Check the server and the index, and apply the migrations that the index lacks.

    Raises StoreNotFound if there is no such index and ``create`` is off, SchemaMismatch if the
    schema is not an index or was written by a later version, StoreError if the server lacks what an
    index needs.
    """
    with connect(address) as connection:
        extensions = _check_server(connection, address)
        found = _read_schema(connection, address)
        if found is None and create:
            with connection.transaction():
                _lock_migrations(connection)
                connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{address.schema}"', prepare=False)
            found = _read_schema(connection, address)
        if found is None:
            raise _no_index(address)
        number, is_owner = found
        connection.execute(
            "SELECT set_config('search_path', $1, false)",
            (f'"{address.schema}", "{extensions}"',),
            prepare=False,
        )
        missing = _missing_migrations(connection, address)
        if len(missing) == len(MIGRATIONS) and not create:
            raise _no_index(address)
        if missing and not is_owner:
            raise SchemaMismatch(
                f"`{address.label}` was written by an earlier version of Knotwork and needs an "
                "update.",
                fix="Open it once with the user that owns it"
                f"{', or for writing' if read_only else ''}.",
            )
        if missing:
            _migrate(connection, address)
        return Prepared(number, extensions, is_owner)


def _no_index(address: Address) -> StoreNotFound:
    return StoreNotFound(
        f"There is no index at `{address.label}`.",
        fix="Check the name after `index=`, or index documents into it.",
    )


def _check_server(connection: Connection, address: Address) -> str:
    """Return the schema in which pgvector is installed."""
    version = connection.info.server_version
    if version < _LEAST_VERSION:
        raise StoreError(
            f"The server of `{address.label}` is PostgreSQL {version // 10_000}.",
            fix=f"Knotwork needs PostgreSQL {_LEAST_VERSION // 10_000} or later.",
        )
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise StoreError(
            f"The database of `{address.label}` stores texts in the encoding {encoding}.",
            fix="Create a database with the encoding UTF8.",
        )
    row = connection.execute(
        "SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace"
        " WHERE e.extname = 'vector'"
    ).fetchone()
    if row is None:
        raise StoreError(
            f"The database of `{address.label}` lacks the extension pgvector.",
            fix="Install pgvector 0.7 or later on the server, then run in the database: "
            "CREATE EXTENSION vector;",
        )
    return str(row[0])


def _read_schema(connection: Connection, address: Address) -> tuple[int, bool] | None:
    """Return the number of the schema, and whether the user owns it; None if it is missing."""
    row = connection.execute(
        "SELECT (oid::bigint % 2147483647)::int, pg_has_role(nspowner, 'USAGE')"
        " FROM pg_namespace WHERE nspname = $1",
        (address.schema,),
        binary=True,
    ).fetchone()
    return None if row is None else (int(row[0]), bool(row[1]))


def _missing_migrations(connection: Connection, address: Address) -> list[Migration]:
    recorded = _recorded_migrations(connection, address)
    known = [migration.name for migration in MIGRATIONS]
    later = [name for name in recorded if name not in known and name > known[0]]
    if later:
        raise SchemaMismatch(
            f"`{address.label}` was written by a later version of Knotwork (it has `{later[-1]}`; "
            f"this version knows up to `{known[-1]}`).",
            fix="Upgrade Knotwork, or use another name after `index=`.",
        )
    if recorded and known[0] not in recorded:
        raise SchemaMismatch(
            f"`{address.label}` has a layout from before the first release.",
            fix="Use another name after `index=`, and index the documents again.",
        )
    return [migration for migration in MIGRATIONS if migration.name not in recorded]


def _recorded_migrations(connection: Connection, address: Address) -> list[str]:
    tables = [
        name
        for (name,) in connection.execute(
            "SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
            " WHERE n.nspname = $1 AND c.relkind IN ('r', 'p', 'v') AND NOT EXISTS"
            " (SELECT 1 FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')",
            (address.schema,),
        )
    ]
    if "migration" not in tables:
        if tables:
            raise SchemaMismatch(
                f"The schema `{address.schema}` of `{address.label}` is not an index of Knotwork.",
                fix="Use another name after `index=`.",
            )
        return []
    rows = connection.execute(f'SELECT name FROM "{address.schema}".migration ORDER BY name')  # noqa: S608
    return [str(name) for (name,) in rows]


def _migrate(connection: Connection, address: Address) -> None:
    """Apply the missing migrations, all or none, one process at a time."""
    with connection.transaction():
        _lock_migrations(connection)
        connection.execute(
            f'CREATE TABLE IF NOT EXISTS "{address.schema}".migration (name {_TEXT} PRIMARY KEY)',
            prepare=False,
        )
        # Another process may have migrated the index while this one waited.
        for migration in _missing_migrations(connection, address):
            migration.apply(connection)
            connection.execute("INSERT INTO migration (name) VALUES ($1)", (migration.name,))


def _lock_migrations(connection: Connection) -> None:
    connection.execute("SELECT pg_advisory_xact_lock($1)", (_MIGRATION_LOCK,))
