"""Spool a graph to a temporary file during its import, to limit memory.

Files state facts in any order. The spool groups them: statements by entity and facts by subject,
with names that distinguish entities.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple, Self

import apsw

from knotwork._cancellation import checked
from knotwork._extensions.graphs.graph_import.formats import (
    EntityRow,
    Properties,
    RelationRow,
    pack,
    split_key,
)
from knotwork.records import PropertyValue

_BATCH = 5_000
_SCHEMA = """
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
PRAGMA cache_size = -65536;
CREATE TABLE entity (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, space TEXT NOT NULL, ident TEXT NOT NULL,
    is_name INTEGER NOT NULL, stated INTEGER NOT NULL DEFAULT 0,
    name TEXT NOT NULL DEFAULT '', form TEXT NOT NULL DEFAULT '', label TEXT NOT NULL DEFAULT '',
    plain TEXT NOT NULL DEFAULT '', by_key INTEGER NOT NULL DEFAULT 0, shown TEXT
);
CREATE TABLE statement (entity INTEGER NOT NULL, content TEXT NOT NULL);
CREATE TABLE relation (
    id INTEGER PRIMARY KEY, raw TEXT NOT NULL UNIQUE, name TEXT NOT NULL DEFAULT ''
);
CREATE TABLE fact (
    id INTEGER PRIMARY KEY, source INTEGER NOT NULL, relation INTEGER NOT NULL,
    target INTEGER NOT NULL, properties TEXT NOT NULL
);
"""
_INDEXES = """
CREATE INDEX fact_source ON fact (source);
CREATE INDEX fact_target ON fact (target);
CREATE INDEX statement_entity ON statement (entity);
CREATE INDEX entity_ident ON entity (ident);
"""
_PUT_ENTITY = (
    "INSERT INTO entity (key, space, ident, is_name, stated) VALUES (?1, ?2, ?3, ?4, ?5)"
    " ON CONFLICT (key) DO UPDATE SET is_name = is_name | ?4, stated = stated | ?5"
    " WHERE is_name < ?4 OR stated < ?5"
)
_PUT_STATEMENT = "INSERT INTO statement SELECT id, ?2 FROM entity WHERE key = ?1"
_PUT_RELATION = "INSERT INTO relation (raw) VALUES (?) ON CONFLICT (raw) DO NOTHING"
_PUT_FACT = (
    "INSERT INTO fact (source, relation, target, properties) VALUES ("
    "(SELECT id FROM entity WHERE key = ?1), (SELECT id FROM relation WHERE raw = ?2),"
    " (SELECT id FROM entity WHERE key = ?3), ?4)"
)
_REDIRECTED = """
CREATE TEMP TABLE redirected AS
SELECT t.id AS old, max(s.id) AS new FROM entity t JOIN entity s ON s.ident = t.ident AND s.stated
WHERE NOT t.stated AND NOT t.is_name
  AND t.space NOT IN (SELECT DISTINCT space FROM entity WHERE stated AND space != '')
GROUP BY t.id HAVING count(*) = 1;
CREATE UNIQUE INDEX temp.redirected_old ON redirected (old);
UPDATE fact SET source = (SELECT new FROM redirected WHERE old = source)
WHERE source IN (SELECT old FROM redirected);
UPDATE fact SET target = (SELECT new FROM redirected WHERE old = target)
WHERE target IN (SELECT old FROM redirected);
DELETE FROM entity WHERE id IN (SELECT old FROM redirected);
DROP TABLE redirected;
"""
_SUBJECTS = (
    "SELECT id, key, name, form, label, plain, ifnull(shown, name) FROM entity t WHERE stated"
    " OR EXISTS (SELECT 1 FROM fact WHERE source = t.id)"
    " OR NOT EXISTS (SELECT 1 FROM fact WHERE target = t.id) ORDER BY id"
)
_FACTS = (
    "SELECT r.name, t.name, t.form, t.label, ifnull(t.shown, t.name), f.properties FROM fact f"
    " JOIN relation r ON r.id = f.relation JOIN entity t ON t.id = f.target"
    " WHERE f.source = ? ORDER BY f.id"
)


@dataclass(slots=True)
class EntityStatements:
    """All statements of the files about an entity, except its facts."""

    names: list[str]
    aliases: list[str]
    labels: list[str]
    properties: dict[str, PropertyValue]


class SpooledEntity(NamedTuple):
    """An entity with a name that is unique in its graph.

    ``form`` is the normal form of the name, ``label`` its type. ``plain`` is a stated name that was
    replaced because others share it, ``shown`` the best spelling of the name in this graph.
    """

    number: int
    key: str
    name: str
    form: str
    label: str
    plain: str
    shown: str


class End(NamedTuple):
    """The target of a fact with its names, and the relation and properties of the fact."""

    relation: str
    name: str
    form: str
    label: str
    shown: str
    properties: Properties


class Spool:
    """A graph in a temporary file, which the end of the block removes."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="knotwork-graph-")
        self._database = apsw.Connection(str(Path(self._folder.name, "graph")))
        self._run(_SCHEMA)
        self._run("BEGIN")
        self._entities: dict[str, tuple[int, int]] = {}
        self._statements: list[tuple[str, str]] = []
        self._relations: dict[str, None] = {}
        self._facts: list[tuple[str, str, str, str]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close(force=True)
        self._folder.cleanup()

    def add(self, row: EntityRow | RelationRow) -> None:
        """Add an element of a reader."""
        if isinstance(row, RelationRow):
            named = int(row.are_names)
            for key in (row.source, row.target):
                self._note(key, named, 0)
            self._relations[row.relation] = None
            properties = pack(dict(row.properties)) if row.properties else ""
            self._facts.append((row.source, row.relation, row.target, properties))
        else:
            self._note(row.key, int(row.is_name), 1)
            content = [row.names, row.aliases, row.labels, dict(row.properties)]
            self._statements.append((row.key, pack(content)))
        if len(self._facts) + len(self._statements) >= _BATCH:
            self._write()

    def finish_reading(self) -> None:
        """Write the rest and link facts to entities.

        An end of an edge without a known namespace is linked to the only node with its id.
        """
        self._write()
        self._run(_INDEXES)
        self._run(_REDIRECTED)

    def rows(self, sql: str, bindings: tuple[object, ...] = ()) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a statement."""
        yield from checked(self._database.cursor().execute(sql, bindings))

    def write(self, sql: str, rows: Iterable[tuple[object, ...]]) -> None:
        """Run a statement for each row."""
        self._database.executemany(sql, checked(rows))

    def count(self, sql: str) -> int:
        """Return the single number that a query yields."""
        ((number,),) = self._database.execute(sql)
        return int(number)

    def statements(self) -> Iterator[tuple[int, EntityStatements]]:
        """Yield the number and the statements of each stated entity, by ascending number."""
        rows = self.rows("SELECT entity, content FROM statement ORDER BY entity, rowid")
        for number, group in groupby(rows, key=lambda row: row[0]):
            yield number, _merge(content for _, content in group)

    def with_statements(
        self, rows: Iterable[tuple[Any, ...]]
    ) -> Iterator[tuple[tuple[Any, ...], EntityStatements | None]]:
        """Yield rows that begin with ascending numbers of entities, with their statements."""
        stated = self.statements()
        number, statements = next(stated, (-1, None))
        for row in rows:
            if row[0] == number:
                yield row, statements
                number, statements = next(stated, (-1, None))
            else:
                yield row, None

    def statements_of(self, number: int) -> EntityStatements:
        """Return the statements about an entity."""
        sql = "SELECT content FROM statement WHERE entity = ? ORDER BY rowid"
        return _merge(content for (content,) in self.rows(sql, (number,)))

    def subjects(self) -> Iterator[SpooledEntity]:
        """Yield the entities that are stated, a source or without facts, in file order."""
        for row in self.rows(_SUBJECTS):
            yield SpooledEntity(*row)

    def facts_of(self, number: int) -> Iterator[End]:
        """Yield the facts of a subject, in the order of the files."""
        for relation, name, form, label, shown, packed in self.rows(_FACTS, (number,)):
            properties = json.loads(packed) if packed else {}
            yield End(relation, name, form, label, shown, properties)

    def stated_name(self, key: str) -> str:
        """Return the first stated name of the entity with this key, or ""."""
        for (number,) in self.rows("SELECT id FROM entity WHERE key = ? AND stated", (key,)):
            return next(iter(self.statements_of(number).names), "")
        return ""

    def _run(self, script: str) -> None:
        """Run a script; its rows are consumed, as statements end with their last row."""
        for _ in self._database.execute(script):
            pass

    def _note(self, key: str, named: int, stated: int) -> None:
        before = self._entities.get(key, (0, 0))
        self._entities[key] = before[0] | named, before[1] | stated

    def _write(self) -> None:
        self.write(
            _PUT_ENTITY, ((key, *split_key(key), *flags) for key, flags in self._entities.items())
        )
        self.write(_PUT_RELATION, ((raw,) for raw in self._relations))
        self.write(_PUT_STATEMENT, self._statements)
        self.write(_PUT_FACT, self._facts)
        for buffer in (self._entities, self._relations, self._statements, self._facts):
            buffer.clear()


def _merge(texts: Iterable[str]) -> EntityStatements:
    merged = EntityStatements([], [], [], {})
    lists = (merged.names, merged.aliases, merged.labels)
    for text in texts:
        *more, properties = json.loads(text)
        for known, items in zip(lists, more, strict=True):
            known.extend(item for item in items if item and item not in known)
        for name, value in properties.items():
            held = merged.properties.setdefault(name, value)
            if held is not value and held != value:
                found = held if isinstance(held, list) else [held]
                values = value if isinstance(value, list) else [value]
                merged.properties[name] = [*found, *(item for item in values if item not in found)]
    return merged
