"""The embedded store: a `Store` in one SQLite file, of its parts, and the sums of its graph.

The entities and edges of the graph follow from the contributions of chunks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from knotwork._registry import PARTS
from knotwork._sqlite_file import FULL, Migration
from knotwork._stores.capabilities import Capabilities
from knotwork._stores.embedded.database import MIGRATIONS, Database
from knotwork._stores.embedded.text_index import EmbeddedTexts
from knotwork._stores.embedded.vector_index import EmbeddedVectors
from knotwork._stores.sql.store import SqlStore

if TYPE_CHECKING:
    import apsw
import json
from collections import Counter, defaultdict
from collections.abc import Mapping

from knotwork._cancellation import checked
from knotwork._stores.graph_view import entity_type, most_frequent
from knotwork._stores.sql.database import unpack_json
from knotwork._stores.sql.documents import (
    HELD_BY_DOCUMENTS,
    NO_DOCUMENT,
    check_same_name,
    describe_holder,
    refuse_held,
)
from knotwork._stores.sql.graph import GraphChanges, SqlGraph

_ENTITIES = (
    "SELECT e.id, e.chunk_count, e.name, e.type, e.names, e.types, e.normal_form"
    " FROM keys($1) CROSS JOIN entity e ON e.id = j.value"
)
_NEW_ENTITY = "INSERT INTO entity VALUES (?, ?, ?, ?, ?, ?, ?)"
_COUNT_ENTITY = "UPDATE entity SET chunk_count = ?, names = ?, types = ? WHERE id = ?"
_NAME_ENTITY = "UPDATE entity SET name = ?, type = ? WHERE id = ?"
_SUPPORTS = (
    "SELECT e.source, e.target, e.relation, e.supports"
    " FROM rows($1, source, target, relation) CROSS JOIN edge e"
    " ON e.source = j.source AND e.target = j.target AND e.relation = j.relation"
)
_ADD_EDGE = (
    "INSERT INTO edge VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT (source, target, relation) DO UPDATE SET"
    " weight = weight + excluded.weight, supports = supports + excluded.supports"
)
_DROP_EDGE = "DELETE FROM edge WHERE source = ? AND target = ? AND relation = ?"
_ADD_RELATION = (
    "INSERT INTO relation VALUES (?, ?, ?)"
    " ON CONFLICT (id) DO UPDATE SET edges = edges + excluded.edges"
)
_NO_ENTITY = (0, "", "", "", "", "")


class EmbeddedGraph(SqlGraph):
    """The graph of the embedded store, whose sums are brought up to date at once.

    An entity has the number of mentions with each of its names and types.
    """

    def _apply(self, changes: GraphChanges) -> None:
        self.checks.check_relations(changes.relations)
        self._update_entities(changes)
        self._update_edges(changes)

    def _update_entities(self, changes: GraphChanges) -> None:
        chunks: dict[int, int] = {}
        new_names: defaultdict[int, dict[str, int]] = defaultdict(dict)
        new_types: defaultdict[int, dict[str, int]] = defaultdict(dict)
        for key, times in changes.times.items():
            entity, name, type_ = key
            chunks[entity] = chunks.get(entity, 0) + changes.chunks[key]
            names, types = new_names[entity], new_types[entity]
            names[name] = names.get(name, 0) + times
            if type_:
                types[type_] = types.get(type_, 0) + times
        database, forms, rules = self._database, changes.normal_forms, self.rules()
        rows = database.rows(_ENTITIES, ([*{*chunks, *changes.renamed}],))
        stored = {row[0]: row[1:] for row in rows}
        chunks = dict.fromkeys(stored, 0) | chunks
        for entity, held in stored.items():
            if forms.get(entity, held[-1]) != held[-1]:
                check_same_name(entity, "entity", held[-1], forms[entity])
        if new := [key for key in chunks if key not in stored]:
            held_ids = database.rows(HELD_BY_DOCUMENTS, (new, NO_DOCUMENT))
            refuse_held(held_ids, lambda key: describe_holder("entity", forms[key]))
        added, counted, renamed, removed = [], [], [], []
        for entity, change in checked(chunks.items()):
            count, name, type_, stored_names, stored_types, _ = stored.get(entity, _NO_ENTITY)
            count += change
            names, types = (
                _sum(stored_names, new_names[entity]),
                _sum(stored_types, new_types[entity]),
            )
            best = (
                rules.names.get(entity) or most_frequent(names),
                rules.types.get(entity) or entity_type(types, sum(names.values())),
            )
            packed = json.dumps(names), json.dumps(types)
            if entity not in stored:
                added.append((entity, count, *best, forms[entity], *packed))
            elif not count:
                removed.append((entity,))
            else:
                counted.append((count, *packed, entity))
                if best != (name, type_):
                    renamed.append((*best, entity))
        database.write_many(_NEW_ENTITY, added)
        database.write_many(_COUNT_ENTITY, counted)
        database.write_many(_NAME_ENTITY, renamed)
        database.write_many("DELETE FROM entity WHERE id = ?", removed)

    def _update_edges(self, changes: GraphChanges) -> None:
        database = self._database
        rows = database.rows(_SUPPORTS, ([*changes.supports],))
        stored = {
            (source, target, relation): supports for source, target, relation, supports in rows
        }
        new_edges: Counter[int] = Counter()
        changed, removed = [], []
        for key, supports in checked(changes.supports.items()):
            before = stored.get(key, 0)
            if before + supports <= 0:
                removed.append(key)
                new_edges[key[2]] -= 1
            else:
                changed.append((*key, changes.weights[key], supports))
                new_edges[key[2]] += not before
        database.write_many(_ADD_EDGE, changed)
        database.write_many(_DROP_EDGE, removed)
        names = changes.relations
        database.write_many(
            _ADD_RELATION,
            ((key, edges, names.get(key, "")) for key, edges in new_edges.items() if edges),
        )
        database.write_many(
            "DELETE FROM relation WHERE id = ? AND edges <= 0",
            ((key,) for key, edges in new_edges.items() if edges < 0),
        )


def _sum(packed: str, changes: Mapping[str, int]) -> dict[str, int]:
    forms: dict[str, int] = unpack_json(packed) if packed else {}
    for form, times in changes.items():
        forms[form] = forms.get(form, 0) + times
    return {form: times for form, times in forms.items() if times > 0}


def _locate_damage(path: Path) -> str:
    place: str = PARTS.load("locate_damage")(path)
    return place


class EmbeddedStore(SqlStore[EmbeddedTexts, EmbeddedVectors]):
    """A store in one SQLite file. Any number of threads and processes can read it while one writes.

    Open it with `EmbeddedStore.open`.
    """

    _database: Database

    def __init__(self, database: Database) -> None:
        super().__init__(
            database.url,
            database,
            texts=partial(EmbeddedTexts, database),
            vectors=partial(EmbeddedVectors, database),
            graph=EmbeddedGraph(database),
        )

    @classmethod
    def open(
        cls,
        path: str | PathLike[str],
        *,
        read_only: bool = False,
        create: bool = False,
        synchronous: str = FULL,
        busy_timeout_s: float = 10.0,
        migrations: Sequence[Migration] = MIGRATIONS,
    ) -> EmbeddedStore:
        """Open the index file at ``path``, and update its schema.

        ``synchronous`` ("full" or "normal") is what a power failure may cost: see `sync_commits`.
        Raises StoreNotFound if the file is missing and ``create`` is off, SchemaMismatch if it is
        not an index or was written by a later version, StoreBusy if another process writes for
        longer than ``busy_timeout_s``.
        """
        database = Database(
            Path(path),
            read_only=read_only,
            create=create,
            synchronous=synchronous,
            busy_timeout_s=busy_timeout_s,
            migrations=migrations,
            locate=_locate_damage,
        )
        return cls(database)

    @classmethod
    def open_temporary(cls, url: str) -> EmbeddedStore:
        """Open a new, empty index that is gone once it is closed.

        It is a file in a private folder among those of temporary files, so that threads can read
        it while one writes, and a process forked off shares it. The folder is removed when the
        store is closed or no longer used, and when the interpreter exits; if the process is killed,
        the folder stays there.
        """
        return cls(Database.open_temporary(url))

    @property
    def capabilities(self) -> Capabilities:
        return replace(super().capabilities, full_check=self.check_fully)

    def check(self) -> list[str]:
        """Read the whole file, and return a phrase for each fault of the index."""
        faults: list[str] = PARTS.load("find_faults")(self._database)
        return faults

    def check_fully(self) -> list[str]:
        """Do what `check` does, and compute again all that follows from the documents."""
        faults: list[str] = PARTS.load("find_all_faults")(self._database)
        return faults

    def connections(self) -> list[apsw.Connection]:
        """Return the open connections of all threads, to watch what they run."""
        return self._database.connections()
