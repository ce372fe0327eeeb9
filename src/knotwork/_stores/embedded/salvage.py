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

from knotwork._sqlite_file import Row, SqliteFile, is_damage, write_transaction
from knotwork._stores.embedded.schema import fill_fields
from knotwork._stores.graph_view import entity_type, most_frequent
from knotwork._stores.vectors import final_name, stored_type
from knotwork._text.names import normal_form
from knotwork.records import entity_id, id_to_int, int_to_id

_LEAST_KEY, _LARGEST_KEY = -(1 << 63), (1 << 63) - 1
_MOST_HALVINGS = 8
"""How often a range without a readable row is halved before it counts as lost."""

_VECTOR_TABLE = re.compile(r"vector_(?!index$)[a-z][a-z0-9_]*")
_OWN = frozenset({"migration", "state", "sqlite_sequence"})
_OF_CHUNKS = ("mention", "contribution", "chunk_reading", "description")
"""The tables whose first key is a chunk."""

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

PARTS = {
    "document": "documents",
    "section": "documents",
    "chunk": "passages",
    "mention": "graph",
    "entity": "graph",
    "contribution": "graph",
    "relation": "graph",
    "edge": "graph",
    "ledger": "list of sources",
    "meta": "settings of the index",
    "state": "settings of the index",
    "migration": "settings of the index",
    "community": "communities",
    "community_member": "communities",
    "community_chunk": "communities",
    "report": "communities",
    "report_citation": "communities",
    "chunk_reading": "readings of a model",
    "description": "readings of a model",
    "entity_summary": "readings of a model",
    "question": "questions of passages",
    "same_as": "aliases",
    "touched_entity": "aliases",
    "homonym": "aliases",
    "sense": "aliases",
    "property_graph": "imported graphs",
    "property_node": "imported graphs",
    "property_relationship": "imported graphs",
    "document_field": "fields of documents",
    "document_page": "fields of documents",
}


def part_of(table: str) -> str:
    """Return the part of an index to which a table belongs, in the words of users."""
    if table.startswith("text_"):
        return "full text"
    if table.startswith("vector_"):
        return "vectors"
    return PARTS.get(table, f"table {table}")


@dataclass(frozen=True, slots=True)
class Gap:
    """A range of keys, both ends included, in which rows of a table could not be read."""

    first: int
    last: int

    def __contains__(self, key: int) -> bool:
        return self.first <= key <= self.last


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
        return any(key in gap for gap in self.gaps.get(table, ()))

    @property
    def parts(self) -> tuple[str, ...]:
        """The damaged parts, in the words of users."""
        return tuple(dict.fromkeys(map(part_of, self.damaged)))


class TableReader:
    """Reads the rows of one table of a damaged file, as far as possible."""

    def __init__(self, connection: apsw.Connection, table: str) -> None:
        self._connection = connection
        self._table = table
        found = connection.execute(
            "SELECT name, type, pk FROM pragma_table_info(?)", (table,)
        ).fetchall()
        self.columns = [str(name) for name, _, _ in found]
        keys = sorted((pk, str(name), str(kind)) for name, kind, pk in found if pk)
        self._key = keys[0][1] if keys else "rowid"
        self._order = ", ".join(f'"{name}"' for _, name, _ in keys) or "rowid"
        self._descending = ", ".join(f'"{name}" DESC' for _, name, _ in keys) or "rowid DESC"
        self._is_integer = not keys or keys[0][2] == "INTEGER"
        self._is_unique = len(keys) < 2
        self.is_damaged = False
        self.gaps: list[Gap] = []

    def rows(self) -> Iterator[Row]:
        """Yield all rows that can be read; ``gaps`` and ``is_damaged`` are complete afterwards."""
        if self._is_integer:
            yield from self._between(_LEAST_KEY, _LARGEST_KEY, _MOST_HALVINGS)
            return
        columns = ", ".join(f'"{name}"' for name in self.columns)
        for order in (self._order, self._descending):
            sql = f'SELECT {columns} FROM "{self._table}" ORDER BY {order}'  # noqa: S608
            try:
                yield from self._connection.execute(sql)
            except (apsw.Error, UnicodeDecodeError) as error:
                self._note(error)
            else:
                return

    def _note(self, error: Exception) -> None:
        """Note damage. Raises other errors."""
        if not is_damage(error):
            raise error
        self.is_damaged = True

    def _between(self, low: int, high: int, halvings: int) -> Iterator[Row]:
        """Yield the readable rows with keys in this range, both ends included."""
        last = low - 1
        whole = True
        for row in self._scan(low, high, self._order):
            if row is None:
                whole = False
                break
            last = int(row[0])
            yield row[1:]
        if whole:
            return
        # A key with several rows may have lost some of them.
        start = last + 1 if self._is_unique else max(last, low)
        first = high + 1
        for row in self._scan(start, high, self._descending):
            if row is None:
                break
            first = int(row[0])
            yield row[1:]
        end = first - 1 if self._is_unique else min(first, high)
        found = last >= low or first <= high
        halvings = _MOST_HALVINGS if found else halvings - 1
        if end < start:
            return
        if halvings < 0 or end == start:
            self.gaps.append(Gap(start, end))
            return
        middle = (start + end) // 2
        yield from self._between(start, middle, halvings)
        yield from self._between(middle + 1, end, halvings)

    def _scan(self, low: int, high: int, order: str) -> Iterator[Row | None]:
        """Yield (key, *row) in this order; None, last, if a page is damaged."""
        columns = ", ".join(f'"{name}"' for name in self.columns)
        sql = (
            f'SELECT "{self._key}", {columns} FROM "{self._table}" NOT INDEXED'  # noqa: S608
            f' WHERE "{self._key}" BETWEEN ? AND ? ORDER BY {order}'
        )
        try:
            yield from self._connection.execute(sql, (low, high))
        except (apsw.Error, UnicodeDecodeError) as error:
            self._note(error)
            yield None


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
        fill_fields(target)
        names = [str(name) for (name,) in target.execute("SELECT name FROM vector_index")]
        for name in names:
            owners = _VECTOR_OWNERS.get(final_name(name))
            if owners:
                target.execute(f"DELETE FROM vector_{name} WHERE id NOT IN ({owners})")  # noqa: S608
        dimensions: Any = target.execute("SELECT name, dimension FROM vector_index").fetchall()
        _count_vectors(target, dict(dimensions))


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
    for table in _OF_CHUNKS:
        keys |= {document_of[chunk] for chunk in document_of if found.is_lost(table, chunk)}
    for table in ("chunk", "section"):
        keys |= set(_owners_in_gaps(source, found, table, "document"))
    chunks_asked = _owners_in_gaps(source, found, "question", "chunk")
    keys |= {document_of[chunk] for chunk in chunks_asked if chunk in document_of}
    for sql in _INCOMPLETE:
        keys |= {int(key) for (key,) in target.execute(sql)}
    return {
        int_to_id(key): ledger[key][0] if key in ledger else known.get(key, "")
        for key in sorted(keys)
    }


def _owners_in_gaps(
    source: apsw.Connection, found: Salvage, table: str, column: str
) -> Iterator[int]:
    """Yield the owners of lost rows of a damaged table, if its index by owner can be read."""
    if not found.gaps.get(table):
        return
    with suppress(apsw.Error):
        sql = f"SELECT {column}, rowid FROM {table} INDEXED BY {table}_by_{column}"  # noqa: S608
        for owner, row in source.execute(sql):
            if found.is_lost(table, int(row)):
                yield int(owner)


def _drop_orphans(target: apsw.Connection) -> None:
    """Delete rows that belong to rows which could not be read."""
    for table in ("section", "chunk"):
        sql = f"DELETE FROM {table} WHERE document NOT IN (SELECT id FROM document)"  # noqa: S608
        target.execute(sql)
    for table in (*_OF_CHUNKS, "community_chunk", "question", "report_citation"):
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
    target.execute("DELETE FROM vector_index")
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
            "INSERT INTO vector_index VALUES (?, ?, ?, ?, ?, ?)",
            (name, dimension, items, items - sizes[one], version, version),
        )


def find_damaged_tables(connection: apsw.Connection) -> dict[str, str]:
    """Read every page of each table with its indexes; return the first fault of each, by table.

    Raises apsw.Error if the schema cannot be read.
    """
    names = [
        str(name)
        for (name,) in connection.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        ).fetchall()
    ]
    faults: dict[str, str] = {}
    for name in names:
        try:
            found = connection.execute(f'PRAGMA integrity_check("{name}")').fetchall()
        except (apsw.Error, UnicodeDecodeError) as error:
            if not is_damage(error):
                raise
            faults[name] = str(error)
            continue
        if found and str(found[0][0]) != "ok":
            faults[name] = str(found[0][0])
    return faults
