"""The tables that an index has in every database, written for SQLite.

`postgres/schema.py` translates them: whole numbers are INTEGER of 8 bytes or INT of 4, and what
comments that begin with "pg:" have is for PostgreSQL alone. The first migration of each engine
creates these tables and its own. Later migrations are written for each engine.

Ids are stored as their integer keys, spans as pairs of little-endian int32 in a blob. Aggregates
(`entity`, `edge`, `relation`) are stored beside their contributions (`mention`, `contribution`), so
that the cost of a document depends on its content and not on the size of the index. Model output is
stored as UTF-8 in blobs, since it may contain lone surrogates, which texts must not.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from knotwork.records import CO_OCCURRENCE_RELATION, content_id, id_to_int


@lru_cache(maxsize=1 << 16)
def relation_key(name: str) -> int:
    """Return the integer key of a relation, a hash of its name."""
    return id_to_int(content_id("relation", name))


IS_CO_OCCURRENCE = f"CAST(relation = {relation_key(CO_OCCURRENCE_RELATION)} AS INT)"
"""Of an edge: 0 for a relation that is stated, which is stronger than any other, else 1."""

TABLES = f"""
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE ledger (
    uri TEXT PRIMARY KEY, document_id TEXT NOT NULL, root TEXT NOT NULL, revision TEXT NOT NULL,
    settings TEXT NOT NULL, size INTEGER NOT NULL, modified_ns INTEGER NOT NULL,
    chunks INTEGER NOT NULL, error_reason TEXT NOT NULL, error TEXT NOT NULL,
    edge_keys BLOB NOT NULL, repeated TEXT NOT NULL, changed_ns INTEGER NOT NULL,
    checked_ns INTEGER NOT NULL, digest TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE document (
    id INTEGER PRIMARY KEY, uri TEXT NOT NULL, title TEXT NOT NULL, media_type TEXT NOT NULL,
    language TEXT NOT NULL, metadata TEXT NOT NULL, outline BLOB NOT NULL, text BLOB NOT NULL
);
CREATE INDEX document_by_title ON document /*pg:USING hash*/ (title);
CREATE TABLE section (
    id INTEGER PRIMARY KEY, document INTEGER NOT NULL, parent INTEGER, ordinal INT NOT NULL,
    level INT NOT NULL, start INT NOT NULL, "end" INT NOT NULL, title TEXT NOT NULL
);
CREATE INDEX section_by_document ON section (document);
CREATE INDEX section_by_parent ON section (parent) WHERE parent IS NOT NULL;
CREATE INDEX section_by_title ON section /*pg:USING hash*/ (title);
CREATE TABLE chunk (
    id INTEGER PRIMARY KEY, document INTEGER NOT NULL, section INTEGER NOT NULL, parent INTEGER,
    is_parent INT NOT NULL, ordinal INT NOT NULL, start INT NOT NULL, "end" INT NOT NULL,
    name TEXT NOT NULL, document_title TEXT NOT NULL, headings TEXT NOT NULL,
    sentences BLOB NOT NULL, text TEXT NOT NULL, blocks BLOB NOT NULL
);
CREATE INDEX chunk_by_document ON chunk (document, is_parent, ordinal/*pg:, id*/);
CREATE INDEX chunk_by_section ON chunk (section);
CREATE INDEX chunk_by_parent ON chunk (parent) WHERE parent IS NOT NULL;
CREATE INDEX chunk_by_name ON chunk /*pg:USING hash*/ (name);
CREATE TABLE mention (
    chunk INTEGER NOT NULL, entity INTEGER NOT NULL, times INT NOT NULL, about REAL NOT NULL,
    name TEXT NOT NULL, type TEXT NOT NULL, spans BLOB NOT NULL, PRIMARY KEY (chunk, entity)
) WITHOUT ROWID;
CREATE INDEX mention_by_entity ON mention (entity, about DESC, chunk, times);
CREATE TABLE contribution (
    chunk INTEGER NOT NULL, source INTEGER NOT NULL, target INTEGER NOT NULL,
    relation INTEGER NOT NULL, weight INTEGER NOT NULL, start INT, "end" INT,
    description TEXT NOT NULL, PRIMARY KEY (chunk, source, target, relation)
) WITHOUT ROWID;
CREATE INDEX contribution_by_edge ON contribution (source, target, relation, chunk);
CREATE TABLE relation (
    id INTEGER PRIMARY KEY, edges INTEGER NOT NULL, name TEXT NOT NULL
) /*pg:WITH (fillfactor = 50)*/;
CREATE TABLE edge (
    source INTEGER NOT NULL, target INTEGER NOT NULL, relation INTEGER NOT NULL,
    weight INTEGER NOT NULL, supports INTEGER NOT NULL, PRIMARY KEY (source, target, relation)
) WITHOUT ROWID;
CREATE INDEX edge_out ON edge (source, ({IS_CO_OCCURRENCE}), weight DESC, target, relation);
CREATE INDEX edge_in ON edge (target, ({IS_CO_OCCURRENCE}), weight DESC, source, relation);
CREATE TABLE community (
    id INTEGER PRIMARY KEY, level INT NOT NULL, parent INTEGER, stale INT NOT NULL
);
CREATE TABLE community_member (
    community INTEGER NOT NULL, entity INTEGER NOT NULL, importance REAL NOT NULL,
    PRIMARY KEY (community, entity)
) WITHOUT ROWID;
CREATE INDEX community_by_entity ON community_member (entity, community);
CREATE TABLE community_chunk (
    community INTEGER NOT NULL, chunk INTEGER NOT NULL, PRIMARY KEY (community, chunk)
) WITHOUT ROWID;
CREATE INDEX community_by_chunk ON community_chunk (chunk, community);
CREATE TABLE report (
    community INTEGER PRIMARY KEY, title TEXT NOT NULL, summary TEXT NOT NULL,
    findings TEXT NOT NULL, rating REAL NOT NULL, language TEXT NOT NULL, source TEXT NOT NULL,
    content_key TEXT NOT NULL
);
CREATE TABLE report_citation (
    chunk INTEGER NOT NULL, community INTEGER NOT NULL, PRIMARY KEY (chunk, community)
) WITHOUT ROWID;
CREATE INDEX report_citation_by_community ON report_citation (community);
CREATE TABLE chunk_reading (
    chunk INTEGER PRIMARY KEY, status TEXT NOT NULL, source TEXT NOT NULL, reason BLOB NOT NULL,
    complaints TEXT NOT NULL, raw BLOB
);
CREATE INDEX chunk_reading_by_status ON chunk_reading (status);
CREATE TABLE description (
    chunk INTEGER NOT NULL, entity INTEGER NOT NULL, normal_form TEXT NOT NULL,
    text BLOB NOT NULL, PRIMARY KEY (chunk, entity)
) WITHOUT ROWID;
CREATE INDEX description_by_entity ON description (entity);
CREATE TABLE entity_summary (
    entity INTEGER PRIMARY KEY, text BLOB NOT NULL, source TEXT NOT NULL, content_key TEXT NOT NULL
);
CREATE TABLE same_as (
    first INTEGER NOT NULL, second INTEGER NOT NULL, verdict TEXT NOT NULL, source TEXT NOT NULL,
    reason BLOB NOT NULL, score REAL NOT NULL, content_key TEXT NOT NULL,
    PRIMARY KEY (first, second)
) WITHOUT ROWID;
CREATE INDEX same_as_by_second ON same_as (second);
CREATE TABLE touched_entity (entity INTEGER PRIMARY KEY);
CREATE TABLE homonym (entity INTEGER PRIMARY KEY, reason BLOB NOT NULL);
CREATE TABLE sense (
    entity INTEGER NOT NULL, number INT NOT NULL, chunk INTEGER NOT NULL,
    PRIMARY KEY (entity, number, chunk)
) WITHOUT ROWID;
CREATE TABLE property_graph (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name BLOB NOT NULL UNIQUE
);
CREATE TABLE property_node (
    graph INTEGER NOT NULL, position INTEGER NOT NULL, id BLOB NOT NULL, labels TEXT NOT NULL,
    properties TEXT NOT NULL, PRIMARY KEY (graph, position)
) WITHOUT ROWID;
CREATE TABLE property_relationship (
    graph INTEGER NOT NULL, position INTEGER NOT NULL, id BLOB NOT NULL, type BLOB NOT NULL,
    source INTEGER NOT NULL, target INTEGER NOT NULL, properties TEXT NOT NULL,
    PRIMARY KEY (graph, position)
) WITHOUT ROWID;
CREATE TABLE question (
    id INTEGER PRIMARY KEY, chunk INTEGER NOT NULL, ordinal INT NOT NULL, text BLOB NOT NULL
);
CREATE INDEX question_by_chunk ON question (chunk, ordinal);
CREATE TABLE correction (
    id INTEGER PRIMARY KEY, position INTEGER NOT NULL, entity INTEGER NOT NULL,
    form INTEGER NOT NULL, body TEXT NOT NULL, kept TEXT NOT NULL
);
CREATE INDEX correction_by_form ON correction (form);
CREATE TABLE aside_mention (
    chunk INTEGER NOT NULL, entity INTEGER NOT NULL, times INT NOT NULL, about REAL NOT NULL,
    name TEXT NOT NULL, type TEXT NOT NULL, spans BLOB NOT NULL, normal_form TEXT NOT NULL,
    PRIMARY KEY (chunk, entity)
) WITHOUT ROWID;
CREATE INDEX aside_mention_by_entity ON aside_mention (entity);
CREATE TABLE aside_contribution (
    chunk INTEGER NOT NULL, source INTEGER NOT NULL, target INTEGER NOT NULL,
    relation INTEGER NOT NULL, weight INTEGER NOT NULL, start INT, "end" INT,
    description TEXT NOT NULL, relation_name TEXT NOT NULL,
    PRIMARY KEY (chunk, source, target, relation)
) WITHOUT ROWID;
CREATE INDEX aside_contribution_by_edge ON aside_contribution (source, target, relation);
CREATE INDEX aside_contribution_by_target ON aside_contribution (target);
"""
"""In a correction, ``form`` is the key that the new name of an entity has as a normal form. What
chunks contribute and corrections change is kept as it is in the tables ``aside_``, with the names
that hashes stand for.
"""


class TableColumns(NamedTuple):
    """The columns of a table with their types, as COPY of PostgreSQL names them, and its key."""

    types: dict[str, str]
    key: tuple[str, ...]


_TYPES = {"INTEGER": "int8", "INT": "int4", "REAL": "float8", "TEXT": "text", "BLOB": "bytea"}
_ENGINE_TABLES = """
CREATE TABLE document_field (
    document INTEGER, name TEXT, text TEXT, PRIMARY KEY (document, name, text)
);
CREATE TABLE document_page (
    document INTEGER, start INT, "end" INT, label TEXT, PRIMARY KEY (document, start, label)
);
CREATE TABLE entity (
    id INTEGER PRIMARY KEY, chunk_count INTEGER, name TEXT, type TEXT, normal_form TEXT
);
"""
"""What all engines have in tables of their own, in an order that their indexes support."""


def _columns(body: str) -> TableColumns:
    columns = re.findall(rf'("?\w+"?) ({"|".join(_TYPES)})\b( PRIMARY KEY)?', body)
    key = re.search(r"PRIMARY KEY \(([^)]*)\)", body)
    own = [name for name, _, is_key in columns if is_key]
    types = {name: _TYPES[kind] for name, kind, _ in columns}
    return TableColumns(types, tuple(key[1].split(", ") if key else own))


TABLE_COLUMNS = {
    name: _columns(body)
    for name, body in re.findall(
        r"CREATE TABLE (\w+) \(\n?(.*?)\)(?: WITHOUT ROWID| /\*.*?\*/)?;",
        TABLES + _ENGINE_TABLES,
        re.DOTALL,
    )
}
