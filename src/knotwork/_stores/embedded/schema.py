"""The migrations that create and update the tables of the index file.

Those of `sql/tables.py` are the same in every database. An entity counts its names and types in
JSON objects here.
"""

from __future__ import annotations

from knotwork._sqlite_file import Migration
from knotwork._stores.sql.tables import TABLES

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

MIGRATIONS: tuple[Migration, ...] = (Migration("0016-first-release", TABLES + _OWN_TABLES),)
"""The names of migrations begin with a number, which is higher than those of former layouts."""
