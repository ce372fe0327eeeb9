"""Create and update the tables of an index in a database, by named migrations.

An index is one schema of the database. Its tables have the names and columns of the index file, so
that both engines share their statements, except for what each engine keeps in its own way: text
indexes, vectors and the sums of contributions. Ids are bigint, spans and packed values are bytea.
Texts compare by code points (collation "C"). A text of any length may be looked up, but a B-tree
holds only short ones, so that names and titles have hash indexes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from knotwork._stores.postgres.address import Address
from knotwork._stores.postgres.connection import Connection, connect
from knotwork._stores.vectors import VECTOR_INDEXES, staged_name, stored_type
from knotwork.errors import SchemaMismatch, StoreError, StoreNotFound

TEXT_INDEXES = ("chunk", "entity", "question", "report")
"""The text indexes that every index has. Others are created on first use."""

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


def create_text_index(connection: Connection, name: str) -> None:
    """Create the tables of a text index: its items with their terms, and the postings of terms."""
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


def _create_tables(connection: Connection) -> None:
    connection.execute(_TABLES.replace("TEXT", _TEXT), prepare=False)
    for name in TEXT_INDEXES:
        create_text_index(connection, name)
    for name in VECTOR_INDEXES:
        create_vector_index(connection, name)
        create_vector_index(connection, staged_name(name))


_TABLES = """
CREATE TABLE total (
    id bigint GENERATED ALWAYS AS IDENTITY, name TEXT NOT NULL, value bigint NOT NULL
);
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE ledger (
    uri TEXT PRIMARY KEY, document_id TEXT NOT NULL, root TEXT NOT NULL, revision TEXT NOT NULL,
    settings TEXT NOT NULL, size bigint NOT NULL, modified_ns bigint NOT NULL,
    chunks bigint NOT NULL, error_reason TEXT NOT NULL, error TEXT NOT NULL,
    edge_keys bytea NOT NULL DEFAULT '', repeated TEXT NOT NULL DEFAULT '',
    changed_ns bigint NOT NULL DEFAULT 0, checked_ns bigint NOT NULL DEFAULT 0,
    digest TEXT NOT NULL DEFAULT ''
);

CREATE TABLE document (
    id bigint PRIMARY KEY, uri TEXT NOT NULL, title TEXT NOT NULL, media_type TEXT NOT NULL,
    language TEXT NOT NULL, metadata TEXT NOT NULL, outline bytea NOT NULL, text bytea NOT NULL
);
ALTER TABLE document ALTER COLUMN text SET STORAGE EXTERNAL,
    ALTER COLUMN outline SET STORAGE EXTERNAL;
CREATE INDEX document_by_title ON document USING hash (title);
CREATE TABLE section (
    id bigint PRIMARY KEY, document bigint NOT NULL, parent bigint, ordinal integer NOT NULL,
    level integer NOT NULL, start integer NOT NULL, "end" integer NOT NULL, title TEXT NOT NULL
);
CREATE INDEX section_by_document ON section (document);
CREATE INDEX section_by_parent ON section (parent) WHERE parent IS NOT NULL;
CREATE INDEX section_by_title ON section USING hash (title);
CREATE TABLE chunk (
    id bigint PRIMARY KEY, document bigint NOT NULL, section bigint NOT NULL, parent bigint,
    is_parent integer NOT NULL, ordinal integer NOT NULL, start integer NOT NULL,
    "end" integer NOT NULL, name TEXT NOT NULL, document_title TEXT NOT NULL,
    headings TEXT NOT NULL, sentences bytea NOT NULL, text TEXT NOT NULL,
    blocks bytea NOT NULL DEFAULT ''
);
CREATE INDEX chunk_by_document ON chunk (document, is_parent, ordinal, id);
CREATE INDEX chunk_by_section ON chunk (section);
CREATE INDEX chunk_by_parent ON chunk (parent) WHERE parent IS NOT NULL;
CREATE INDEX chunk_by_name ON chunk USING hash (name);

CREATE TABLE mention (
    chunk bigint NOT NULL, entity bigint NOT NULL, times integer NOT NULL,
    about double precision NOT NULL, name TEXT NOT NULL, type TEXT NOT NULL,
    spans bytea NOT NULL, PRIMARY KEY (chunk, entity)
);
CREATE INDEX mention_by_entity ON mention (entity, about DESC, chunk) INCLUDE (times);
CREATE TABLE entity (
    id bigint PRIMARY KEY, chunk_count bigint NOT NULL, name TEXT NOT NULL, type TEXT NOT NULL,
    normal_form TEXT NOT NULL
) WITH (fillfactor = 80);
CREATE INDEX entity_by_name ON entity USING hash (name);
CREATE TABLE entity_form (
    entity bigint NOT NULL, form bigint NOT NULL, name TEXT NOT NULL, type TEXT NOT NULL,
    times bigint NOT NULL, chunks bigint NOT NULL, PRIMARY KEY (entity, form)
) WITH (fillfactor = 80);

CREATE TABLE contribution (
    chunk bigint NOT NULL, source bigint NOT NULL, target bigint NOT NULL,
    relation bigint NOT NULL, weight bigint NOT NULL, start integer, "end" integer,
    description TEXT NOT NULL, PRIMARY KEY (chunk, source, target, relation)
);
CREATE INDEX contribution_by_edge ON contribution (source, target, relation, chunk);
CREATE TABLE relation (
    id bigint PRIMARY KEY, edges bigint NOT NULL, name TEXT NOT NULL
) WITH (fillfactor = 50);
CREATE TABLE edge (
    source bigint NOT NULL, target bigint NOT NULL, relation bigint NOT NULL,
    weight bigint NOT NULL, supports bigint NOT NULL, PRIMARY KEY (source, target, relation)
);
CREATE INDEX edge_out ON edge (source, weight DESC, target, relation);
CREATE INDEX edge_in ON edge (target, weight DESC, source, relation);

CREATE TABLE text_index (name TEXT PRIMARY KEY);
CREATE TABLE vector_index (
    name TEXT PRIMARY KEY, number integer GENERATED ALWAYS AS IDENTITY, dimension integer
);
CREATE TABLE vector_garbage (number integer PRIMARY KEY, since timestamptz NOT NULL);

CREATE TABLE community (
    id bigint PRIMARY KEY, level integer NOT NULL, parent bigint, stale integer NOT NULL
);
CREATE TABLE community_member (
    community bigint NOT NULL, entity bigint NOT NULL, importance double precision NOT NULL,
    PRIMARY KEY (community, entity)
);
CREATE INDEX community_by_entity ON community_member (entity, community);
CREATE TABLE community_chunk (
    community bigint NOT NULL, chunk bigint NOT NULL, PRIMARY KEY (community, chunk)
);
CREATE INDEX community_by_chunk ON community_chunk (chunk, community);
CREATE TABLE report (
    community bigint PRIMARY KEY, title TEXT NOT NULL, summary TEXT NOT NULL,
    findings TEXT NOT NULL, rating double precision NOT NULL, language TEXT NOT NULL,
    source TEXT NOT NULL, content_key TEXT NOT NULL
);
CREATE TABLE report_citation (
    chunk bigint NOT NULL, community bigint NOT NULL, PRIMARY KEY (chunk, community)
);
CREATE INDEX report_citation_by_community ON report_citation (community);

CREATE TABLE chunk_reading (
    chunk bigint PRIMARY KEY, status TEXT NOT NULL, source TEXT NOT NULL, reason bytea NOT NULL,
    complaints TEXT NOT NULL, raw bytea
);
CREATE INDEX chunk_reading_by_status ON chunk_reading (status);
CREATE TABLE description (
    chunk bigint NOT NULL, entity bigint NOT NULL, normal_form TEXT NOT NULL,
    text bytea NOT NULL, PRIMARY KEY (chunk, entity)
);
CREATE INDEX description_by_entity ON description (entity);
CREATE TABLE entity_summary (
    entity bigint PRIMARY KEY, text bytea NOT NULL, source TEXT NOT NULL,
    content_key TEXT NOT NULL
);
CREATE TABLE same_as (
    first bigint NOT NULL, second bigint NOT NULL, verdict TEXT NOT NULL, source TEXT NOT NULL,
    reason bytea NOT NULL, score double precision NOT NULL, content_key TEXT NOT NULL,
    undone integer NOT NULL, PRIMARY KEY (first, second)
);
CREATE INDEX same_as_by_second ON same_as (second);
CREATE TABLE touched_entity (entity bigint PRIMARY KEY);
CREATE TABLE homonym (entity bigint PRIMARY KEY, reason bytea NOT NULL);
CREATE TABLE sense (
    entity bigint NOT NULL, number integer NOT NULL, chunk bigint NOT NULL,
    PRIMARY KEY (entity, number, chunk)
);
CREATE TABLE property_graph (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name bytea NOT NULL UNIQUE
);
CREATE TABLE property_node (
    graph bigint NOT NULL, position bigint NOT NULL, id bytea NOT NULL, labels TEXT NOT NULL,
    properties TEXT NOT NULL, PRIMARY KEY (graph, position)
);
CREATE TABLE property_relationship (
    graph bigint NOT NULL, position bigint NOT NULL, id bytea NOT NULL, type bytea NOT NULL,
    source bigint NOT NULL, target bigint NOT NULL, properties TEXT NOT NULL,
    PRIMARY KEY (graph, position)
);
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
CREATE TABLE question (
    id bigint PRIMARY KEY, chunk bigint NOT NULL, ordinal integer NOT NULL, text bytea NOT NULL
);
CREATE INDEX question_by_chunk ON question (chunk, ordinal);

CREATE TABLE reply (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, key bytea NOT NULL UNIQUE,
    stage TEXT NOT NULL, source TEXT NOT NULL, model TEXT NOT NULL, text bytea NOT NULL,
    finish_reason TEXT NOT NULL, input_tokens bigint NOT NULL, output_tokens bigint NOT NULL,
    calls bigint NOT NULL, digest bytea NOT NULL
);
CREATE INDEX reply_by_source ON reply USING hash (source);
CREATE TABLE rejected (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, key bytea NOT NULL UNIQUE,
    stage TEXT NOT NULL, source TEXT NOT NULL, model TEXT NOT NULL, text bytea NOT NULL,
    finish_reason TEXT NOT NULL, reason TEXT NOT NULL, attempts bigint NOT NULL
);
CREATE INDEX rejected_by_source ON rejected USING hash (source);
CREATE TABLE spent (
    stage TEXT NOT NULL, source TEXT NOT NULL, model TEXT NOT NULL, calls bigint NOT NULL,
    rejected bigint NOT NULL, input_tokens bigint NOT NULL, output_tokens bigint NOT NULL,
    reused bigint NOT NULL, saved_input_tokens bigint NOT NULL,
    saved_output_tokens bigint NOT NULL, PRIMARY KEY (stage, source, model)
);
CREATE TABLE awaited (
    key bytea PRIMARY KEY, batch TEXT NOT NULL, server TEXT NOT NULL, model TEXT NOT NULL,
    stage TEXT NOT NULL, source TEXT NOT NULL
);
CREATE INDEX awaited_by_source ON awaited USING hash (source);

CREATE TABLE fact (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, subject TEXT NOT NULL,
    relation TEXT NOT NULL, object TEXT NOT NULL, subject_form TEXT NOT NULL,
    relation_form TEXT NOT NULL, object_form TEXT NOT NULL, valid_from TEXT NOT NULL,
    valid_to TEXT, source TEXT NOT NULL, owner TEXT NOT NULL DEFAULT '',
    UNIQUE (owner, subject_form, relation_form, object_form, valid_from)
);
CREATE INDEX fact_of_object ON fact USING hash (object_form);

CREATE TABLE job (
    id TEXT PRIMARY KEY, n bigint NOT NULL, workspace TEXT NOT NULL, kind TEXT NOT NULL,
    arguments TEXT NOT NULL, state TEXT NOT NULL, created TEXT NOT NULL, started TEXT NOT NULL,
    finished TEXT NOT NULL, progress TEXT NOT NULL, report TEXT NOT NULL, error TEXT NOT NULL,
    server TEXT NOT NULL
);
CREATE INDEX job_workspace ON job (workspace, n);
CREATE TABLE event (
    n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, job TEXT NOT NULL, kind TEXT NOT NULL,
    body TEXT NOT NULL
);
CREATE INDEX event_job ON event (job, n);
CREATE TABLE crash (job TEXT PRIMARY KEY, place TEXT NOT NULL, times bigint NOT NULL);

CREATE TABLE stored_table (
    name TEXT PRIMARY KEY, version bigint GENERATED ALWAYS AS IDENTITY, body bytea NOT NULL
);
ALTER TABLE stored_table ALTER COLUMN body SET STORAGE EXTERNAL;
"""


MIGRATIONS: tuple[Migration, ...] = (Migration("0006-blocks", _create_tables),)
"""Indexes from before the first release, which have the names of earlier steps as well, are
complete if they have this one.
"""


def prepare_schema(address: Address, *, create: bool, read_only: bool) -> Prepared:
    """Check the server and the index, and apply the migrations that the index lacks.

    Raises StoreNotFound if there is no such index and ``create`` is off, SchemaMismatch if the
    schema is not an index or was written by a later version, StoreError if the server lacks what an
    index needs.
    """
    with connect(address) as connection:
        extensions = _check_server(connection, address)
        found = _find_schema(connection, address, create=create)
        connection.execute(
            "SELECT set_config('search_path', $1, false)",
            (f'"{address.schema}", "{extensions}"',),
            prepare=False,
        )
        missing = _missing_migrations(connection, address)
        if len(missing) == len(MIGRATIONS) and not create:
            raise _no_index(address)
        if missing and not found.is_owner:
            raise SchemaMismatch(
                f"`{address.label}` was written by an earlier version of Knotwork and needs an "
                "update.",
                fix="Open it once with the user that owns it"
                f"{', or for writing' if read_only else ''}.",
            )
        if missing:
            _migrate(connection, address)
        return Prepared(found.number, extensions, found.is_owner)


def _no_index(address: Address) -> StoreNotFound:
    return StoreNotFound(
        f"There is no index at `{address.label}`.",
        fix="Check the name after `index=`, or index documents into it.",
    )


class _Schema(NamedTuple):
    number: int
    is_owner: bool


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


def _find_schema(connection: Connection, address: Address, *, create: bool) -> _Schema:
    """Return the schema of the index, which is created if that is wanted."""
    found = _read_schema(connection, address)
    if found is None and not create:
        raise _no_index(address)
    if found is None:
        with connection.transaction():
            _lock_migrations(connection)
            connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{address.schema}"', prepare=False)
        found = _read_schema(connection, address)
        assert found is not None
    return found


def _read_schema(connection: Connection, address: Address) -> _Schema | None:
    row = connection.execute(
        "SELECT (oid::bigint % 2147483647)::int, pg_has_role(nspowner, 'USAGE')"
        " FROM pg_namespace WHERE nspname = $1",
        (address.schema,),
        binary=True,
    ).fetchone()
    return None if row is None else _Schema(int(row[0]), bool(row[1]))


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
            f"`{address.label}` was written before the first release of Knotwork.",
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
    """Wait for other processes that migrate an index of this database."""
    connection.execute("SELECT pg_advisory_xact_lock($1)", (_MIGRATION_LOCK,))
