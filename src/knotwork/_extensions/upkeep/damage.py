"""Damaged index files: what is damaged in one, and a copy of what can still be read.

A document is damaged if it cannot be read with all that its chunks contribute. A copy goes through
the parts of two stores, so that the new one computes again what follows from documents.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import apsw
import numpy as np

from knotwork._extensions.upkeep.verification import find_damaged_tables, part_of
from knotwork._sqlite_file import Migration, SqliteFile, is_damage
from knotwork._stores.base import LedgerEntry
from knotwork._stores.embedded.database import Database
from knotwork._stores.embedded.text_index import EmbeddedTexts
from knotwork._stores.embedded.vector_index import EmbeddedVectors
from knotwork._stores.indexes import DESCRIPTIONS, VECTOR_INDEXES, final_name, staged_name
from knotwork._stores.removal import remove_vectors
from knotwork._stores.sql.database import key_list
from knotwork._stores.sql.graph import SqlGraph
from knotwork._stores.sql.store import SqlStore
from knotwork.errors import IndexDamaged, StoreError
from knotwork.records import Document, id_to_int, int_to_id

_BUSY_TIMEOUT_S = 10.0
_SHOWN_DOCUMENTS = 5
_ITEMS = 1_024
_LAST_KEY = (1 << 63) - 1

T = TypeVar("T")
_Store = SqlStore[EmbeddedTexts, EmbeddedVectors]
Gaps = list[tuple[str, str]]
"""Ranges of ids, of which items could not be read."""


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
                with closing(DamagedIndex(path)) as index:
                    tables = find_damaged_tables(index.connection(), quick=True)
                    place = describe_damage(tables, index.damaged_documents() if tables else ())
                known = _located[str(path)] = version, place
        except (apsw.Error, OSError, StoreError):
            return ""
        return known[1]


def describe_damage(tables: Collection[str], documents: Sequence[str]) -> str:
    """Return a phrase with the damaged parts and documents; "" for no damage."""
    if not tables:
        return ""
    phrase = ", ".join(dict.fromkeys(map(part_of, tables)))
    if documents:
        more = len(documents) - _SHOWN_DOCUMENTS
        named = ", ".join(f"`{uri}`" for uri in documents[:_SHOWN_DOCUMENTS])
        phrase += f" (documents {named}{f' and {more:,} more' if more > 0 else ''})"
    return phrase


class _DamagedDatabase(Database):
    """An index file whose small tables may be damaged too, and which raises no located errors."""

    def _prepare(self, migrations: Sequence[Migration]) -> None:
        pass

    def generation(self) -> int:
        return 0


class Unread(NamedTuple):
    """A document that lost something: its uri, "" if unknown, and its known fields."""

    uri: str
    entry: LedgerEntry | None
    document: Document | None


@dataclass(slots=True)
class Salvage:
    """What a copy lacks: documents, reports of communities, and what no document can restore."""

    documents: list[Unread] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    lost_reports: bool = False


class DamagedIndex(SqlStore[EmbeddedTexts, EmbeddedVectors]):
    """A damaged index file, of which each part is read for itself."""

    _database: Database

    def __init__(self, path: Path) -> None:
        database = _DamagedDatabase(
            path, read_only=True, create=False, busy_timeout_s=_BUSY_TIMEOUT_S
        )
        super().__init__(
            str(path),
            database,
            texts=partial(EmbeddedTexts, database),
            vectors=partial(EmbeddedVectors, database),
            graph=SqlGraph(database),
        )

    def connection(self) -> apsw.Connection:
        """Return the connection of this thread."""
        return self._database.connection()

    def check(self) -> list[str]:
        """Return the damaged parts."""
        return list(dict.fromkeys(map(part_of, find_damaged_tables(self.connection()))))

    def damaged_documents(self) -> list[str]:
        """Return the uris of the documents in the list of sources that cannot be read."""
        entries, _ = self._entries()
        return [
            entry.uri
            for entry in entries.values()
            if (key := entry.document_id) and self._writer(self._document(key), entry) is None
        ]

    def copy_to(self, target: _Store) -> Salvage:
        """Copy what can be read into a new index, except for its full text."""
        found = Salvage()
        with target.transaction():
            self._copy_corrections(target, found)
            self._copy_documents(target, found)
            with suppress(IndexDamaged):
                target.set_meta(self.meta())
            self._copy_names(target, found)
            self._copy_graphs(target, found)
            self._copy_communities(target, found)
        gaps: dict[str, Gaps] = {}
        # A chunk is embedded with its sentences, and again if any of them is lost.
        for name in sorted(VECTOR_INDEXES, key=lambda name: name != "sentence"):
            for index in (name, staged_name(name)):
                lost = gaps.get(index.replace("chunk", "sentence"), [])
                with target.transaction():
                    gaps[index] = self._copy_vectors(target, index, lost)
        with suppress(IndexDamaged), target.transaction():
            sql = "UPDATE state SET generation = generation + ?"
            (generation,) = self._database.rows("SELECT generation FROM state")
            target._database.write(sql, generation)  # noqa: SLF001  a store of this package
        return found

    def _entries(self) -> tuple[dict[str, LedgerEntry], bool]:
        """Return the entries of the ledger up to a damaged page, by uri, and True if it has one."""
        found: dict[str, LedgerEntry] = {}
        try:
            for entry in self.ledger.entries():
                found[entry.uri] = entry
        except IndexDamaged:
            return found, True
        return found, False

    def _document(self, key: str) -> Document | None:
        with suppress(IndexDamaged):
            return self.documents.documents([key]).get(key)
        return None

    def _writer(
        self, document: Document | None, entry: LedgerEntry | None
    ) -> Callable[[_Store], None] | None:
        """Return what writes all of a document to another store; None if any of it is lost."""
        if document is None:
            return None
        stored, graph, key = self.documents, self.graph, document.id
        readings, questions = self.readings, self.questions
        try:
            sections = stored.sections_of([key]).get(key, [])
            ids = stored.chunk_ids_of([key]).get(key, [])
            chunks = list(stored.chunks(ids).values())
            mentions = [one for found in graph.mentions(ids).values() for one in found]
            relations = [one for found in graph.relations(ids).values() for one in found]
            read = list(readings.readings(ids).values())
            said = [one for found in readings.descriptions_in(ids).values() for one in found]
            asked = questions.questions(ids)
            counted = self._count("mention", ids), self._count("contribution", ids)
            hidden, removed = graph.set_aside(ids)
        except IndexDamaged:
            return None
        places = {section.id for section in sections}
        wanted = {chunk.section_id for chunk in chunks} | {s.parent_id for s in sections} - {None}
        parents = {chunk.parent_id for chunk in chunks} - {None}
        leaves = sum(not chunk.is_parent for chunk in chunks)
        is_whole = (
            len(chunks) == len(ids)
            and wanted <= places
            and parents <= set(ids)
            and counted == (len(mentions), len(relations))
            and (entry is None or entry.chunks == leaves)
        )

        def write(target: _Store) -> None:
            target.documents.put(document, sections, chunks)
            target.graph.upsert(mentions=[*mentions, *hidden], relations=[*relations, *removed])
            target.readings.put(read, said)
            target.questions.put(asked)
            if entry is not None:
                target.ledger.put([entry])

        return write if is_whole else None

    def _count(self, table: str, chunk_ids: Sequence[str]) -> int:
        sql = f"SELECT count(*) FROM {table} WHERE chunk IN (SELECT j.value FROM keys($1))"  # noqa: S608
        ((count,),) = self._database.rows(sql, (key_list(chunk_ids),))
        return int(count)

    def _readable_ids(self, table: str, column: str, gaps: Gaps) -> Iterator[str]:
        """Yield the ids in a column that can be read; add ranges of others to ``gaps``."""
        sql = f"SELECT DISTINCT {column} FROM {table} WHERE {column} > ? ORDER BY 1 LIMIT ?"  # noqa: S608

        def read(after: int, *, limit: int) -> Sequence[str]:
            return [int_to_id(key) for (key,) in self._database.rows(sql, (after, limit))]

        return _readable(read, gaps)

    def _copy_documents(self, target: _Store, found: Salvage) -> None:
        entries, is_damaged = self._entries()
        left = {entry.document_id: entry for entry in entries.values() if entry.document_id}
        target.ledger.put(entry for entry in entries.values() if not entry.document_id)
        gaps: Gaps = []
        for key in self._readable_ids("document", "id", gaps):
            document, entry = self._document(key), left.pop(key, None)
            if entry is None and document is not None and is_damaged:
                with suppress(IndexDamaged):
                    entry = self.ledger.get([document.uri]).get(document.uri)
            write = self._writer(document, entry)
            if write is not None and (entry is not None or not is_damaged):
                write(target)
                continue
            uri = entry.uri if entry is not None else document.uri if document is not None else ""
            found.documents.append(Unread(uri, entry, document))
        found.documents += (Unread(entry.uri, entry, None) for entry in left.values())
        if gaps and is_damaged:  # documents that neither list names
            found.documents.append(Unread("", None, None))

    def _copy_corrections(self, target: _Store, found: Salvage) -> None:
        try:
            for correction in self.corrections.corrections():
                kept = self.corrections.kept(correction.id)
                target.corrections.put(correction, kept=kept)
        except IndexDamaged:
            found.lost.append("corrections of the graph")

    def _copy_names(self, target: _Store, found: Salvage) -> None:
        def copy_homonym(key: str) -> None:
            target.homonyms.replace([self.homonyms.stored(key)], among=())

        def copy_summary(key: str) -> None:
            if target.readings.descriptions([key]):
                target.readings.put_summaries(self.readings.summaries([key]).values())

        copies: tuple[tuple[str, str, Callable[[str], object], str], ...] = (
            (
                *("same_as", "first"),
                lambda key: target.resolutions.put(self.resolutions.stored(key)),
                "decisions about aliases",
            ),
            ("touched_entity", "entity", lambda key: target.resolutions.touch([key]), ""),
            ("homonym", "entity", copy_homonym, "decisions about homonyms"),
            ("entity_summary", "entity", copy_summary, "descriptions of entities by a model"),
        )
        for table, column, copy, lost in copies:
            gaps: Gaps = []
            for key in self._readable_ids(table, column, gaps):
                try:
                    copy(key)
                except IndexDamaged:
                    gaps.append((key, key))
            found.lost += [lost] * bool(gaps and lost)

    def _copy_graphs(self, target: _Store, found: Salvage) -> None:
        lost = "imported graphs: import these graphs again"
        names: list[str] = []
        try:
            names = self.property_graphs.names()
        except IndexDamaged:
            found.lost.append(lost)
        for name in names:
            try:
                target.property_graphs.put_rows(name, self.property_graphs.rows_of(name))
            except IndexDamaged:
                found.lost.append(lost)

    def _copy_communities(self, target: _Store, found: Salvage) -> None:
        """Copy communities and reports; see `forget_lost`."""
        held, stale, gaps = self.communities, set[str](), list[tuple[str, str]]()
        with suppress(IndexDamaged):
            stale.update(held.stale())
        for key in self._readable_ids("community", "id", gaps):
            with suppress(IndexDamaged):
                target.communities.write(list(held.communities([key]).values()), stale=stale)
            try:
                target.communities.put_reports(held.reports([key]).values())
            except IndexDamaged:
                found.lost_reports = True
        found.lost_reports |= bool(gaps)

    def _copy_vectors(self, target: _Store, index: str, lost: Gaps) -> Gaps:
        """Copy the vectors of what is there and not ``lost``; return what cannot be read."""
        owners: Mapping[str, Callable[[list[str]], Collection[str]]] = {
            "chunk": target.documents.chunks,
            "sentence": target.documents.chunks,
            "question": target.questions.questions,
            "report": target.communities.reports,
            DESCRIPTIONS: target.readings.descriptions,
            "entity": lambda ids: {
                key for key, e in target.graph.entities(ids).items() if e.chunk_count > 1
            },
        }

        gaps: Gaps = []
        items = _readable(self.vectors(index).items, gaps, key=lambda item: item.id)
        while batch := list(islice(items, _ITEMS)):
            known = owners[final_name(index)]([item.id for item in batch])
            target.vectors(index).put(
                item
                for item in batch
                if item.id in known
                and np.isfinite(item.matrix).all()
                and not any(first < item.id <= last for first, last in lost)
            )
        return gaps


def forget_lost(store: _Store) -> None:
    """Remove from communities what was not read again, and the reports that cite it."""
    held = store.communities
    known = [key for level in held.levels() for key in level]
    for start in range(0, len(known), _ITEMS):
        ids = known[start : start + _ITEMS]
        communities, reports = held.communities(ids).values(), held.reports(ids).values()
        chunks = {i for community in communities for i in community.chunk_ids}
        chunks |= {i for report in reports for i in report.chunk_ids}
        members = {i for community in communities for i in community.entity_ids}
        chunks -= store.documents.chunks(chunks).keys()
        members -= store.graph.entities(members).keys()
        with store.transaction():
            lost = held.forget(chunks, mentioned=(), vanished=members)
            store.texts("report").remove(lost)
            remove_vectors(store, "report", lost)


def _readable(
    read: Callable[..., Sequence[T]], gaps: Gaps, *, key: Callable[[T], str] = str
) -> Iterator[T]:
    """Yield the items of a list by id that can be read; add the others to ``gaps``."""
    after, size = -1, _ITEMS
    while True:
        try:
            items = read(after, limit=size)
        except IndexDamaged:
            if size > 1:
                size = 1  # up to the damaged page
                continue
            beyond = _first_readable(read, after)
            gaps.append((int_to_id(after) if after >= 0 else "", int_to_id(beyond)))
            if beyond == _LAST_KEY:
                return
            after, size = beyond, _ITEMS
            continue
        if not items:
            return
        yield from items
        after = id_to_int(key(items[-1]))


def _first_readable(read: Callable[..., Sequence[T]], after: int) -> int:
    """Return the first key after ``after`` behind which something can be read, or the last key."""

    def can_read(key: int) -> bool:
        try:
            read(key, limit=1)
        except IndexDamaged:
            return False
        return True

    step = 1
    while after + step < _LAST_KEY and not can_read(after + step):
        step *= 2
    low, high = after + step // 2, min(after + step, _LAST_KEY)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if can_read(middle) else (middle, high)
    return high


def copy_tables(source: SqliteFile, target: SqliteFile) -> list[str]:
    """Copy a file of plain tables, each from both ends up to a damaged page.

    Return the names of the tables that lost rows.
    """
    damaged: list[str] = []
    read, write = apsw.SQLITE_OPEN_READONLY, apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
    with (
        closing(source.connect(flags=read)) as old,
        closing(target.connect(flags=write)) as new,
    ):
        schema = old.execute(
            "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL"
            " AND name NOT LIKE 'sqlite_%' ORDER BY type DESC"
        ).fetchall()
        new.pragma("application_id", int(old.pragma("application_id")))
        for kind, name, sql in schema:
            new.execute(str(sql))
            if kind == "table" and not _copy_rows(old, new, str(name)):
                damaged.append(str(name))
        new.pragma("journal_mode", str(old.pragma("journal_mode")))
    return damaged


def _copy_rows(old: apsw.Connection, new: apsw.Connection, table: str) -> bool:
    """Copy the rows of a table; return True if all could be read."""
    described: Any = old.execute("SELECT name, pk FROM pragma_table_info(?)", (table,)).fetchall()
    keys = [f'"{name}"' for name, place in sorted(described, key=lambda c: c[1]) if place]
    keys = keys or ["rowid"]
    columns = ", ".join(f'"{name}"' for name, _ in described)
    places = ", ".join("?" for _ in described)
    insert = f'INSERT OR IGNORE INTO "{table}" ({columns}) VALUES ({places})'  # noqa: S608
    if keys == ["rowid"]:
        columns = f"rowid, {columns}"
        insert = f'INSERT OR IGNORE INTO "{table}" ({columns}) VALUES (?, {places})'  # noqa: S608
    for direction in ("ASC", "DESC"):
        order = ", ".join(f"{name} {direction}" for name in keys)
        select = f'SELECT {columns} FROM "{table}" NOT INDEXED ORDER BY {order}'  # noqa: S608
        try:
            for row in old.execute(select):
                new.execute(insert, row)
        except (apsw.Error, UnicodeDecodeError) as error:
            if not is_damage(error):
                raise
        else:
            return direction == "ASC"
    return False
