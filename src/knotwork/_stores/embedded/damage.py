"""Find what is damaged in an index file: the tables, the ranges of their keys, the documents."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import apsw

from knotwork._sqlite_file import Row, is_damage
from knotwork._sqlite_pages import (
    HiddenChecksums,
    MissingChecksumVfs,
    check_protection,
    open_connection,
)
from knotwork.records import id_to_int

_LEAST_KEY, _LARGEST_KEY = -(1 << 63), (1 << 63) - 1
_MOST_HALVINGS = 8
"""How often a range without a readable row is halved before it counts as lost."""

OF_CHUNKS = ("mention", "contribution", "chunk_reading", "description")
"""The tables whose first key is a chunk."""

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


def in_gaps(key: int, gaps: Collection[Gap]) -> bool:
    """Return True if a row with this key may be among those that could not be read."""
    return any(key in gap for gap in gaps)


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


def owners_in_gaps(
    source: apsw.Connection, table: str, column: str, gaps: Collection[Gap]
) -> Iterator[int]:
    """Yield the owners of lost rows of a damaged table, if its index by owner can be read."""
    if not gaps:
        return
    with suppress(apsw.Error):
        sql = f"SELECT {column}, rowid FROM {table} INDEXED BY {table}_by_{column}"  # noqa: S608
        for owner, row in source.execute(sql):
            if in_gaps(int(row), gaps):
                yield int(owner)


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


def find_damaged_documents(connection: apsw.Connection, tables: Collection[str]) -> list[str]:
    """Return the uris of the documents of which rows in these damaged tables cannot be read.

    Documents that cannot be named, because the list of sources or the passages are damaged as
    well, are left out.
    """
    gaps = {table: _find_gaps(connection, table) for table in tables if table in PARTS}
    keys: set[int] = set()
    for table in ("chunk", "section"):
        keys.update(owners_in_gaps(connection, table, "document", gaps.get(table, ())))
    with suppress(apsw.Error):
        for chunk, document in connection.execute("SELECT id, document FROM chunk"):
            if any(in_gaps(int(chunk), gaps.get(table, ())) for table in OF_CHUNKS):
                keys.add(int(document))
    found: list[str] = []
    with suppress(apsw.Error):
        for uri, document_id in connection.execute("SELECT uri, document_id FROM ledger"):
            key = id_to_int(str(document_id)) if document_id else -1
            if key in keys or in_gaps(key, gaps.get("document", ())):
                found.append(str(uri))
    return found


def _find_gaps(connection: apsw.Connection, table: str) -> Sequence[Gap]:
    reader = TableReader(connection, table)
    for _ in reader.rows():
        pass
    return reader.gaps


_SHOWN_DOCUMENTS = 5
_locating = threading.Lock()
_located: dict[str, tuple[tuple[int, int], str]] = {}


def locate_damage(path: Path) -> str:
    """Return what is damaged in an index file, as a phrase; "" if that cannot be found out.

    Reads the whole file, unless it did so since the file changed.
    """
    with _locating:
        try:
            state = path.stat()
            version = (state.st_mtime_ns, state.st_size)
            known = _located.get(str(path))
            if known is None or known[0] != version:
                known = _located[str(path)] = version, _locate(path)
        except (apsw.Error, OSError):
            return ""
        return known[1]


def _locate(path: Path) -> str:
    with closing(open_connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        with suppress(HiddenChecksums, MissingChecksumVfs):
            check_protection(connection)
        tables = find_damaged_tables(connection, quick=True)
        return describe_damage(tables, find_damaged_documents(connection, tables))


def describe_damage(tables: Mapping[str, str] | Collection[str], documents: Sequence[str]) -> str:
    """Return a phrase with the damaged parts and documents; "" for no damage."""
    if not tables:
        return ""
    phrase = ", ".join(dict.fromkeys(map(part_of, tables)))
    if documents:
        more = len(documents) - _SHOWN_DOCUMENTS
        named = ", ".join(f"`{uri}`" for uri in documents[:_SHOWN_DOCUMENTS])
        phrase += f" (documents {named}{f' and {more:,} more' if more > 0 else ''})"
    return phrase
