"""Verify a whole index: every page, every value, and what follows from the documents.

`find_faults` compares tables with each other and is fast enough for every `knotwork doctor`.
`find_all_faults` also computes again what is stored beside its source: full text, fields and pages.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import apsw
import numpy as np

from knotwork._sqlite_file import is_damage
from knotwork._stores.corrections import entity_text
from knotwork._stores.embedded.database import Database
from knotwork._stores.embedded.text_index import EmbeddedTexts
from knotwork._stores.embedded.vector_index import EmbeddedVectors
from knotwork._stores.indexes import stored_type
from knotwork._stores.sql.corrections import SqlCorrections
from knotwork._stores.sql.documents import SqlDocuments, field_rows, page_rows
from knotwork._stores.sql.graph import SqlGraph
from knotwork.records import Document, Label, id_to_int

_PARTS = {
    "documents": "document section",
    "passages": "chunk",
    "graph": "mention entity contribution relation edge",
    "list of sources": "ledger",
    "settings of the index": "meta state migration",
    "communities": "community community_member community_chunk report report_citation",
    "readings of a model": "chunk_reading description entity_summary",
    "questions of passages": "question",
    "aliases": "same_as touched_entity homonym sense",
    "corrections": "correction aside_mention aside_contribution",
    "imported graphs": "property_graph property_node property_relationship",
    "fields of documents": "document_field document_page",
}
_PART_OF = {table: part for part, tables in _PARTS.items() for table in tables.split()}


def part_of(table: str) -> str:
    """Return the part of an index to which a table belongs, in the words of users."""
    if table.startswith("text_"):
        return "full text"
    if table.startswith("vector_"):
        return "vectors"
    return _PART_OF.get(table, f"table {table}")


def find_damaged_tables(connection: apsw.Connection, *, quick: bool = False) -> dict[str, str]:
    """Read every page of each table with its indexes; return the first fault of each, by table.

    ``quick`` does not compare tables with their indexes. Raises apsw.Error if the schema cannot be
    read.
    """
    check = "quick_check" if quick else "integrity_check"
    names = connection.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    ).fetchall()
    faults: dict[str, str] = {}
    for (name,) in names:
        try:
            found = connection.execute(f'PRAGMA {check}("{name}")').fetchall()
        except (apsw.Error, UnicodeDecodeError) as error:
            if not is_damage(error):
                raise
            faults[str(name)] = str(error)
            continue
        if found and str(found[0][0]) != "ok":
            faults[str(name)] = str(found[0][0])
    return faults


class _Reference(NamedTuple):
    """A column whose values must exist in another; ``phrase`` says what rows without one are."""

    phrase: str
    table: str
    column: str
    other: str
    other_column: str = "id"


_REFERENCES = (
    _Reference("chunks without a document", "chunk", "document", "document"),
    _Reference("sections without a document", "section", "document", "document"),
    _Reference("mentions without a chunk", "mention", "chunk", "chunk"),
    _Reference("mentions without an entity", "mention", "entity", "entity"),
    _Reference("relations without a chunk", "contribution", "chunk", "chunk"),
    _Reference("hidden mentions without a chunk", "aside_mention", "chunk", "chunk"),
    _Reference("removed relations without a chunk", "aside_contribution", "chunk", "chunk"),
    _Reference("entities that no chunk mentions", "entity", "id", "mention", "entity"),
    _Reference("members of communities without an entity", "community_member", "entity", "entity"),
    _Reference(
        "members of communities without a community", "community_member", "community", "community"
    ),
    _Reference("chunks of communities without a chunk", "community_chunk", "chunk", "chunk"),
    _Reference(
        "chunks of communities without a community", "community_chunk", "community", "community"
    ),
    _Reference("readings without a chunk", "chunk_reading", "chunk", "chunk"),
    _Reference("questions without a chunk", "question", "chunk", "chunk"),
    _Reference("descriptions without a chunk", "description", "chunk", "chunk"),
    _Reference(
        "summaries of entities without a description",
        *("entity_summary", "entity", "description", "entity"),
    ),
    _Reference("citations of reports without a chunk", "report_citation", "chunk", "chunk"),
    _Reference("citations without a report", "report_citation", "community", "report", "community"),
)


def _without_other(found: _Reference) -> str:
    exists = f"SELECT 1 FROM {found.other} o WHERE o.{found.other_column} = t.{found.column}"
    return f"SELECT count(*) FROM {found.table} t WHERE NOT EXISTS ({exists})"


MISSING_REFERENCES = {found.phrase: _without_other(found) for found in _REFERENCES}
"""Statements that count the rows without what they refer to, by what such rows are."""

_ALL = 1 << 62
_MAX_FAULTS = 20
_INCONSISTENCIES = MISSING_REFERENCES | {
    "entities with a wrong count of chunks": (
        "SELECT count(*) FROM entity e WHERE chunk_count != "
        "(SELECT count(*) FROM mention m WHERE m.entity = e.id)"
    ),
    "edges that differ from the sum of their contributions": (
        "SELECT count(*) FROM edge e WHERE (weight, supports) IS NOT "
        "(SELECT sum(c.weight), count(*) FROM contribution c WHERE c.source = e.source "
        "AND c.target = e.target AND c.relation = e.relation)"
    ),
    "imported relationships without their ends": (
        "SELECT count(*) FROM property_relationship r WHERE"
        " NOT EXISTS (SELECT 1 FROM property_node WHERE graph = r.graph AND position = r.source)"
        " OR NOT EXISTS (SELECT 1 FROM property_node WHERE graph = r.graph AND position = r.target)"
    ),
}


def find_faults(database: Database) -> list[str]:
    """Read the whole file, and return a phrase for each fault of the index.

    Raises StoreError if the file is too damaged to be read.
    """
    with database.reading():
        found = database.connection().execute(f"PRAGMA quick_check({_MAX_FAULTS})").fetchall()
    if found != [("ok",)]:
        place = database.locate()
        return [f"damaged pages: {place}"] if place else [str(message) for (message,) in found]
    faults: list[str] = []
    for name, sql in _INCONSISTENCIES.items():
        ((count,),) = database.rows(sql)
        if count:
            faults.append(f"{count} {name}")
    return faults


def find_all_faults(database: Database) -> list[str]:
    """Read every page and value of an index, and return a phrase for each fault.

    Raises StoreError if the file is too damaged to be read.
    """
    with database.reading():
        connection = database.connection()
        tables = find_damaged_tables(connection)
        if tables:
            place = database.locate() or ", ".join(dict.fromkeys(map(part_of, tables)))
            return [f"damaged pages: {place}"]
        (structure,) = connection.execute("PRAGMA integrity_check(1)").fetchall()
    if structure != ("ok",):
        return [f"damaged pages: {structure[0]}"]
    return [*find_faults(database), *_find_differences(database)]


def _find_differences(database: Database) -> Iterator[str]:
    stored, graph = SqlDocuments(database), SqlGraph(database)
    chunk_texts, entity_texts = (EmbeddedTexts(database, name) for name in ("chunk", "entity"))
    vectors = EmbeddedVectors(database, "chunk")
    texts, fields = 0, 0
    for document_id in stored.document_ids():
        (document,) = stored.documents([document_id]).values()
        ids = stored.chunk_ids_of([document_id]).get(document_id, [])
        chunks = stored.chunks(ids).values()
        texts += len(
            chunk_texts.differing((c.id, c.searched_text) for c in chunks if not c.is_parent)
        )
        fields += _fields_differ(database, document)
        graph.mentions([chunk.id for chunk in chunks])
        vectors.get([chunk.id for chunk in chunks])
    if texts:
        yield f"{texts} chunks whose full text differs from their text"
    if fields:
        yield f"{fields} documents whose fields differ from their metadata"
    nodes = [
        node
        for label in (Label.ENTITY, Label.KEYWORD)
        for node in graph.find(label=label, limit=_ALL)
    ]
    text_of = entity_text(SqlCorrections(database, graph).corrections())
    names = entity_texts.differing((node.id, text_of(node)) for node in nodes)
    if names and entity_texts.count():
        yield f"{len(names)} entities whose full text differs from their name"
    for (name,) in database.rows("SELECT name FROM text_index ORDER BY name"):
        if EmbeddedTexts(database, name).counts_differ():
            yield f"the full text of `{name}` does not have the terms that it counts"
    yield from _vector_faults(database)


def _fields_differ(database: Database, document: Document) -> bool:
    key = id_to_int(document.id)
    stored: dict[str, list[tuple[Any, ...]]] = {}
    for table, columns in (
        ("document_field", "name, text, document"),
        ("document_page", 'label, document, start, "end"'),
    ):
        sql = f"SELECT {columns} FROM {table} WHERE document = ?"
        stored[table] = database.rows(sql, (key,))
    wanted: Mapping[str, list[tuple[Any, ...]]] = {
        "document_field": field_rows(key, document),
        "document_page": list(page_rows(key, document)),
    }
    return any(set(stored[table]) - set(wanted[table]) for table in stored) or any(
        len(stored[table]) != len({row[:3] for row in wanted[table]}) for table in stored
    )


def _vector_faults(database: Database) -> Iterator[str]:
    for name, dimension, items in database.rows(
        "SELECT name, dimension, items FROM vector_index ORDER BY name"
    ):
        type_ = np.dtype(stored_type(name)).newbyteorder("<")
        count, invalid = 0, 0
        sql = f"SELECT id, data FROM vector_{name} WHERE id > ? ORDER BY id LIMIT ?"
        for _, data in database.rows_in_pages(sql, (-1,)):
            count += 1
            whole = len(data) % (dimension * type_.itemsize) == 0
            invalid += not (whole and np.isfinite(np.frombuffer(data, type_)).all())
        if count != items:
            yield f"{count} vectors of `{name}`, not {items}"
        if invalid:
            yield f"{invalid} vectors of `{name}` that are not vectors"
        elif miscoded := EmbeddedVectors(database, name).count_miscoded():
            yield f"{miscoded} vectors of `{name}` without their code"
