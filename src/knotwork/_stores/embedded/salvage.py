"""Copy what can be read of a damaged index into a new one, and find the documents that lost rows.

Rows are read in the order of their key from both ends. Around a damaged page, the range of keys is
halved until what can be read on both sides is found. Text and graph tables that follow from others
are computed again.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from typing import Any

import apsw
import numpy as np

from knotwork._sqlite_file import SqliteFile, write_transaction
from knotwork._stores.embedded.damage import (
    OF_CHUNKS,
    Gap,
    TableReader,
    in_gaps,
    owners_in_gaps,
    part_of,
)
from knotwork._stores.graph_view import entity_type, most_frequent
from knotwork._stores.sql.documents import PUT_FIELD, PUT_PAGE, field_rows, page_rows
from knotwork._stores.sql.packing import unpack_json, unpack_outline, unpack_text
from knotwork._stores.vectors import final_name, stored_type
from knotwork._text.names import normal_form
from knotwork.records import Document, entity_id, id_to_int, int_to_id

_VECTOR_TABLE = re.compile(r"vector_(?!(?:index|code)$)[a-z][a-z0-9_]*")
_OWN = frozenset({"migration", "state", "sqlite_sequence", "vector_code"})

_VECTOR_OWNERS = {
    "chunk": "SELECT id FROM chunk",
    "sentence": "SELECT id FROM chunk",
    "question": "SELECT chunk FROM question",
    "entity": "SELECT id FROM entity WHERE chunk_count > 1",
    "report": "SELECT community FROM report",
}
"""Queries for the ids of what has a vector, by the name of the vector index."""

_INCOMPLETE = (
    "SELECT document FROM chunk WHERE section NOT IN (SELECT id FROM section)",
    "SELECT document FROM chunk WHERE parent NOT IN (SELECT id FROM chunk)",
    "SELECT document FROM section WHERE parent NOT IN (SELECT id FROM section)",
    "SELECT document FROM chunk WHERE document NOT IN (SELECT id FROM document)",
)
"""Queries for documents of which a section or a chunk is missing."""


@dataclass(slots=True)
class Salvage:
    """What could not be read: the damaged tables, and gaps in those with integer keys.

    ``documents`` are the ids of the documents that lost something, with their uris, "" if unknown.
    """

    damaged: list[str] = field(default_factory=list)
    gaps: dict[str, list[Gap]] = field(default_factory=dict)
    documents: dict[str, str] = field(default_factory=dict)

    def is_lost(self, table: str, key: int) -> bool:
        """Return True if a row with this key may be among those that could not be read."""
        return in_gaps(key, self.gaps.get(table, ()))

    @property
    def parts(self) -> tuple[str, ...]:
        """The damaged parts, in the words of users."""
        return tuple(dict.fromkeys(map(part_of, self.damaged)))


def copy_readable(source: apsw.Connection, target: apsw.Connection, table: str) -> TableReader:
    """Copy the readable rows of a table into the same table of another file; return the reader."""
    reader = TableReader(source, table)
    known = {str(n) for (n,) in target.execute("SELECT name FROM pragma_table_info(?)", (table,))}
    kept = [place for place, name in enumerate(reader.columns) if name in known]
    names = ", ".join(f'"{reader.columns[place]}"' for place in kept)
    blanks = ", ".join("?" for _ in kept)
    insert = f'INSERT OR IGNORE INTO "{table}" ({names}) VALUES ({blanks})'  # noqa: S608
    with write_transaction(target):
        target.executemany(insert, (tuple(row[place] for place in kept) for row in reader.rows()))
    return reader


def salvage_tables(
    source: SqliteFile, target: SqliteFile, *, busy_timeout_s: float
) -> tuple[list[str], list[str]]:
    """Copy a file of plain tables, such as tables of spreadsheets, as far as it can be read.

    Return the names of the tables that are complete, and of those that lost rows.
    """
    whole: list[str] = []
    damaged: list[str] = []
    with (
        closing(
            source.connect(flags=apsw.SQLITE_OPEN_READONLY, busy_timeout_s=busy_timeout_s)
        ) as old,
        closing(
            target.connect(
                flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE,
                busy_timeout_s=busy_timeout_s,
            )
        ) as new,
    ):
        schema = old.execute(
            "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL"
            " AND name NOT LIKE 'sqlite_%' ORDER BY type DESC"
        ).fetchall()
        new.pragma("application_id", int(old.pragma("application_id")))
        for kind, name, sql in schema:
            new.execute(str(sql))
            if kind == "table":
                reader = copy_readable(old, new, str(name))
                (damaged if reader.is_damaged else whole).append(str(name))
        new.pragma("journal_mode", str(old.pragma("journal_mode")))
    return whole, damaged


def salvage_index(source: apsw.Connection, target: apsw.Connection) -> Salvage:
    """Copy what can be read of a damaged index into an empty one of the current schema.

    Afterwards the graph and the fields follow from what was copied. Documents that lost rows still
    have the others. Full text is empty.
    """
    found = Salvage()
    stored = {
        str(name): str(sql)
        for name, sql in source.execute(
            "SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND sql IS NOT NULL"
        ).fetchall()
    }
    for name, sql in stored.items():
        if _VECTOR_TABLE.fullmatch(name):
            target.execute(sql)
            target.execute(f"CREATE INDEX {name}_version ON {name} (version)")
            target.execute(f"CREATE INDEX {name}_key ON {name} (key)")
    wanted = [
        str(name)
        for (name,) in target.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        ).fetchall()
    ]
    for table in wanted:
        if table in _OWN or table not in stored:
            continue
        reader = copy_readable(source, target, table)
        if reader.is_damaged:
            found.damaged.append(table)
            found.gaps[table] = reader.gaps
    _copy_generation(source, target)
    with write_transaction(target):
        found.documents = _damaged_documents(source, target, found)
        _drop_orphans(target)
        _derive_graph(target, found)
        target.execute("DELETE FROM text_index")
        if "vector_chunk" in stored:  # a chunk is embedded together with its sentences
            target.executemany(
                "DELETE FROM vector_chunk WHERE id BETWEEN ? AND ?",
                ((gap.first, gap.last) for gap in found.gaps.get("vector_sentence", ())),
            )
        vectors = [name for name in stored if _VECTOR_TABLE.fullmatch(name)]
        _count_vectors(target, _read_dimensions(source, target, vectors))
    return found


def drop_documents(target: apsw.Connection, ids: Collection[str], found: Salvage) -> None:
    """Delete documents from a salvaged index, and derive the graph and the fields again."""
    with write_transaction(target):
        for table, column in (("document", "id"), ("section", "document"), ("chunk", "document")):
            target.executemany(
                f"DELETE FROM {table} WHERE {column} = ?",  # noqa: S608
                ((id_to_int(i),) for i in ids),
            )
        target.executemany("DELETE FROM ledger WHERE document_id = ?", ((i,) for i in ids))
        _drop_orphans(target)
        _derive_graph(target, found)
        target.execute(
            "DELETE FROM community_member WHERE entity NOT IN (SELECT id FROM entity);"
            "DELETE FROM sense WHERE chunk NOT IN (SELECT id FROM chunk);"
            "DELETE FROM document_field; DELETE FROM document_page"
        )
        _fill_fields(target)
        names = [str(name) for (name,) in target.execute("SELECT name FROM vector_index")]
        for name in names:
            owners = _VECTOR_OWNERS.get(final_name(name))
            if owners:
                target.execute(f"DELETE FROM vector_{name} WHERE id NOT IN ({owners})")  # noqa: S608
        dimensions: Any = target.execute("SELECT name, dimension FROM vector_index").fetchall()
        _count_vectors(target, dict(dimensions))


def _fill_fields(connection: apsw.Connection) -> None:
    """Write the fields and pages of all documents."""
    for (key,) in connection.execute("SELECT id FROM document").fetchall():
        assert isinstance(key, int)
        sql = "SELECT uri, metadata, outline, text FROM document WHERE id = ?"
        ((uri, metadata, outline, text),) = connection.execute(sql, (key,))
        known = unpack_outline(outline)
        document = Document(
            str(uri),
            unpack_text(text) if known.pages else "",
            metadata=unpack_json(metadata),
            pages=known.pages,
            links=known.links,
        )
        connection.executemany(PUT_FIELD, field_rows(key, document))
        connection.executemany(PUT_PAGE, page_rows(key, document))


def _copy_generation(source: apsw.Connection, target: apsw.Connection) -> None:
    with suppress(apsw.Error):
        generation: Any = source.execute("SELECT generation FROM state").get
        target.execute("UPDATE state SET generation = ?", (generation + 1,))


def _damaged_documents(
    source: apsw.Connection, target: apsw.Connection, found: Salvage
) -> dict[str, str]:
    """Return the ids and uris of the documents of which any row could not be read."""
    ledger = {
        id_to_int(str(i)): (str(uri), int(chunks))
        for uri, i, chunks in target.execute("SELECT uri, document_id, chunks FROM ledger")
        if i
    }
    known = {int(k): str(uri) for k, uri in target.execute("SELECT id, uri FROM document")}
    keys = ledger.keys() - known.keys()
    if "ledger" in found.damaged:
        keys |= known.keys() - ledger.keys()
    leaves: Counter[int] = Counter()
    document_of: dict[int, int] = {}
    for chunk, document, is_parent in target.execute("SELECT id, document, is_parent FROM chunk"):
        document_of[int(chunk)] = int(document)
        leaves[int(document)] += not is_parent
    keys |= {key for key, (_, chunks) in ledger.items() if chunks != leaves[key]}
    for table in OF_CHUNKS:
        keys |= {document_of[chunk] for chunk in document_of if found.is_lost(table, chunk)}
    for table in ("chunk", "section"):
        keys |= set(owners_in_gaps(source, table, "document", found.gaps.get(table, ())))
    chunks_asked = owners_in_gaps(source, "question", "chunk", found.gaps.get("question", ()))
    keys |= {document_of[chunk] for chunk in chunks_asked if chunk in document_of}
    for sql in _INCOMPLETE:
        keys |= {int(key) for (key,) in target.execute(sql)}
    return {
        int_to_id(key): ledger[key][0] if key in ledger else known.get(key, "")
        for key in sorted(keys)
    }


def _drop_orphans(target: apsw.Connection) -> None:
    """Delete rows that belong to rows which could not be read."""
    for table in ("section", "chunk"):
        sql = f"DELETE FROM {table} WHERE document NOT IN (SELECT id FROM document)"  # noqa: S608
        target.execute(sql)
    for table in (*OF_CHUNKS, "community_chunk", "question", "report_citation"):
        sql = f"DELETE FROM {table} WHERE chunk NOT IN (SELECT id FROM chunk)"  # noqa: S608
        target.execute(sql)
    target.execute(
        "DELETE FROM report WHERE community NOT IN (SELECT id FROM community);"
        "DELETE FROM community_member WHERE community NOT IN (SELECT id FROM community);"
        "DELETE FROM community_chunk WHERE community NOT IN (SELECT id FROM community);"
        "DELETE FROM report_citation WHERE community NOT IN (SELECT community FROM report);"
        "DELETE FROM property_relationship AS r WHERE NOT EXISTS (SELECT 1 FROM property_node"
        " WHERE graph = r.graph AND position = r.source) OR NOT EXISTS (SELECT 1 FROM"
        " property_node WHERE graph = r.graph AND position = r.target);"
        "DELETE FROM entity_summary WHERE entity NOT IN (SELECT entity FROM description)"
    )


def _derive_graph(target: apsw.Connection, found: Salvage) -> None:
    """Compute entities, edges and relations from mentions and contributions.

    Chunks that name an entity or relation whose name cannot be read lose their part of the graph,
    and their documents count as damaged.
    """
    unnamed = _derive_entities(target)
    target.execute("CREATE TEMP TABLE unnamed (entity INTEGER PRIMARY KEY)")
    target.executemany("INSERT INTO unnamed VALUES (?)", ((key,) for key in unnamed))
    lost = target.execute(
        "SELECT chunk FROM mention WHERE entity IN (SELECT entity FROM unnamed)"
        " UNION SELECT chunk FROM contribution WHERE relation NOT IN (SELECT id FROM relation)"
    ).fetchall()
    target.execute("DROP TABLE unnamed")
    for (chunk,) in lost:
        for key, uri in target.execute(
            "SELECT d.id, d.uri FROM chunk c JOIN document d ON d.id = c.document WHERE c.id = ?",
            (chunk,),
        ):
            found.documents.setdefault(int_to_id(int(key)), str(uri))
    for table in ("mention", "contribution"):
        target.executemany(f"DELETE FROM {table} WHERE chunk = ?", lost)  # noqa: S608
    if lost:
        _derive_entities(target)
    target.execute(
        "DELETE FROM edge;"
        "INSERT INTO edge SELECT source, target, relation, sum(weight), count(*)"
        " FROM contribution GROUP BY source, target, relation;"
        "DELETE FROM relation WHERE id NOT IN (SELECT relation FROM edge);"
        "UPDATE relation SET edges = (SELECT count(*) FROM edge WHERE relation = relation.id)"
    )


def _derive_entities(target: apsw.Connection) -> list[int]:
    """Write the entities that are mentioned; return those without a readable normal form."""
    forms_known: Any = target.execute("SELECT id, normal_form FROM entity").fetchall()
    known: dict[int, str] = dict(forms_known)
    names: defaultdict[int, Counter[str]] = defaultdict(Counter)
    types: defaultdict[int, Counter[str]] = defaultdict(Counter)
    chunks: Counter[int] = Counter()
    sql = "SELECT entity, times, name, type FROM mention ORDER BY chunk, entity"
    mentions: Iterator[tuple[int, int, str, str]] = iter(target.execute(sql))
    for key, times, name, type_ in mentions:
        chunks[key] += 1
        names[key][name] += times
        if type_:
            types[key][type_] += times
    rows: list[tuple[int | str, ...]] = []
    unnamed = []
    for key, forms in names.items():
        form = known.get(key) or _normal_form_of(key, forms)
        if form is None:
            unnamed.append(key)
            continue
        best = most_frequent(forms), entity_type(types[key], sum(forms.values()))
        packed = json.dumps(forms), json.dumps(types[key])
        rows.append((key, chunks[key], *best, form, *packed))
    target.execute("DELETE FROM entity")
    target.executemany("INSERT INTO entity VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
    return unnamed


def _normal_form_of(key: int, names: Sequence[str] | Counter[str]) -> str | None:
    """Return the normal form of an entity, if one of its names shows it: the key is its hash."""
    for name in names:
        form = normal_form(name)
        if id_to_int(entity_id(form)) == key:
            return form
    return None


def _read_dimensions(
    source: apsw.Connection, target: apsw.Connection, tables: Sequence[str]
) -> dict[str, int]:
    """Return the dimension of each vector index, 0 if it cannot be read."""
    names = [table.removeprefix("vector_") for table in tables]
    stored: Any = target.execute("SELECT value FROM meta WHERE key = 'dimension'").get
    found = dict.fromkeys(names, int(stored or 0))
    for connection in (source, target):
        with suppress(apsw.Error):
            rows: Any = connection.execute("SELECT name, dimension FROM vector_index")
            found.update(rows)
    return found


def _count_vectors(target: apsw.Connection, dimensions: Mapping[str, int]) -> None:
    """Write the size of each vector index; indexes without vectors are dropped."""
    target.execute("DELETE FROM vector_index; DELETE FROM vector_code")
    generation: Any = target.execute("SELECT generation FROM state").get
    version = generation + 1
    for name, dimension in dimensions.items():
        table = f"vector_{name}"
        counts: Any = target.execute(
            f"SELECT length(data), count(*) FROM {table} GROUP BY 1"  # noqa: S608
        ).fetchall()
        sizes: Counter[int] = Counter(dict(counts))
        if not sizes or not dimension:
            target.execute(f"DROP TABLE {table}")
            continue
        one = dimension * np.dtype(stored_type(name)).itemsize
        items = sizes.total()
        target.execute(
            "INSERT INTO vector_index (name, dimension, items, matrices, version, replaced)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (name, dimension, items, items - sizes[one], version, version),
        )
