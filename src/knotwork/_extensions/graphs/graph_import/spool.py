"""Spool a graph to a temporary file during its import, to limit memory, and name what is in it.

Files state facts in any order. The spool groups them: statements by entity and facts by subject,
with names that distinguish entities. An entity is called by a stated name, else by a property that
reads as a name, else by its key. Entities that a file identifies by name alone are merged if their
names have one normal form. Entities with ids stay apart: if they share a name, their type or id is
added, and the shared name becomes an alias of each.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple, Self
from urllib.parse import unquote

import apsw

from knotwork._cancellation import checked
from knotwork._extensions.graphs.foreign_indexes.labels import one_line
from knotwork._extensions.graphs.graph_import.formats import (
    EntityRow,
    Properties,
    RelationRow,
    pack,
    split_key,
)
from knotwork._text.names import normal_form
from knotwork.records import PropertyValue, value_text

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


_BLANK = "_:"
_NAME = "UPDATE entity SET name = ?2, form = ?3, label = ?4, by_key = ?5 WHERE id = ?1"
_QUALIFY = "UPDATE entity SET name = ?2, form = ?3, plain = ?4, shown = NULL WHERE id = ?1"
_SHOW = "UPDATE entity SET shown = ?2 WHERE id = ?1"
_ENTITIES = "SELECT id, space, ident, is_name FROM entity WHERE id > ? ORDER BY id LIMIT ?"
_SHARED = (
    "SELECT form, id, name, by_key, label, ident,"
    " (SELECT count(*) FROM fact WHERE source = entity.id)"
    " + (SELECT count(*) FROM fact WHERE target = entity.id) FROM entity WHERE form IN"
    " (SELECT form FROM entity GROUP BY form HAVING count(*) > 1) ORDER BY form, id"
)


class _Named(NamedTuple):
    """An entity whose name has the same normal form as others."""

    number: int
    name: str
    by_key: bool
    label: str
    ident: str
    facts: int


def name_all(spool: Spool, graph: str) -> NameFinder:
    """Name all relations and entities of the graph called ``graph``.

    Returns the finder, which knows the properties that names consist of.
    """
    _name_relations(spool)
    finder = NameFinder()
    for _, statements in spool.statements():
        finder.add(statements)
    finder.settle(spool.rows("SELECT ident FROM entity WHERE is_name LIMIT 20000"))
    _name_entities(spool, finder, graph)
    spool.write("CREATE INDEX entity_form ON entity (form)", [()])
    _split_shared(spool, graph)
    return finder


def _name_relations(spool: Spool) -> None:
    """Give each relation a unique name in words."""
    known = sorted(spool.rows("SELECT id, raw FROM relation"), key=lambda row: row[1])
    taken: dict[str, int] = {}
    for number, raw in known:
        for name in _relation_names(raw, spool.stated_name(raw)):
            if name and taken.setdefault(name.casefold(), number) == number:
                spool.write("UPDATE relation SET name = ?2 WHERE id = ?1", [(number, name)])
                break


def _relation_names(raw: str, label: str) -> Iterator[str]:
    words = one_line(label) or identifier_words(raw)
    yield words
    if is_iri(raw):
        yield f"{namespace(raw)}: {words}"
    yield one_line(raw)
    yield from (f"{words} {number}" for number in range(2, 1_000_000))


def _name_entities(spool: Spool, finder: NameFinder, graph: str) -> None:
    named: list[tuple[object, ...]] = []
    for (entity, space, ident, is_name), own in spool.with_statements(_in_batches(spool)):
        label = own.labels[0] if own and own.labels else ""
        name, by_key = _choose_name(own, finder, ident, label, graph, is_name=bool(is_name))
        if not label and space and not own:
            label = space[:1].upper() + space[1:]
        named.append((entity, name, normal_form(name) or name, label, int(by_key)))
        if len(named) >= _BATCH:
            spool.write(_NAME, named)
            named.clear()
    spool.write(_NAME, named)


def _in_batches(spool: Spool) -> Iterator[tuple[int, str, str, int]]:
    """Yield all entities in batches, between which their rows may be updated."""
    last = -1
    while batch := list(spool.rows(_ENTITIES, (last, _BATCH))):
        yield from batch
        last = batch[-1][0]


def _choose_name(
    statements: EntityStatements | None,
    finder: NameFinder,
    ident: str,
    label: str,
    graph: str,
    *,
    is_name: bool,
) -> tuple[str, bool]:
    """Return the name of an entity, and True if it is the key."""
    stated = finder.name_of(statements, label) if statements else ""
    if stated:
        return one_line(stated), is_name and stated == ident
    if statements and statements.aliases and (is_iri(ident) or ident.startswith(_BLANK)):
        return one_line(statements.aliases[0]), False
    if is_iri(ident):
        return local_name(ident), False
    if ident.startswith(_BLANK):
        return f"{_in_words(label) or graph} {ident.removeprefix(_BLANK)}", False
    if not is_name and is_code(ident):
        return f"{_in_words(label) or graph} {ident}", False
    return finder.spell(one_line(ident), ""), True


def _in_words(label: str) -> str:
    """Return a type as the beginning of a name: "Phone call" for "PhoneCall"."""
    words = identifier_words(label)
    return words[:1].upper() + words[1:] if label[:1].isupper() else words


def _split_shared(spool: Spool, graph: str) -> None:
    """Rename distinct entities that share a name."""
    rows = list(spool.rows(_SHARED))
    for _, group in groupby(rows, key=lambda row: row[0]):
        entities = [_Named(*row[1:]) for row in group]
        shown = _best_spelling([entity for entity in entities if entity.by_key])
        spool.write(_SHOW, ((entity.number, shown) for entity in entities if entity.by_key))
        for entity, name in _split_name(entities, graph):
            unique = _unique_name(spool, name, entity.number)
            spool.write(_QUALIFY, [(entity.number, unique, normal_form(unique), entity.name)])


def _split_name(entities: Sequence[_Named], graph: str) -> Iterator[tuple[_Named, str]]:
    """Yield the entities of one normal form that need another name, with that name."""
    own = [entity for entity in entities if not entity.by_key]
    by_name = [entity for entity in entities if entity.by_key]
    endings = {normal_form(bracketed(entity.name)[1]) for entity in by_name}
    if len(endings) > 1:
        for entity in by_name:
            bare, ending = bracketed(entity.name)
            if ending:
                yield entity, f"{bare}, {ending}"
    if len(own) + bool(by_name) < 2:
        return
    labels = [entity.label for entity in own]
    for entity in own:
        if entity.label and labels.count(entity.label) == 1:
            yield entity, f"{entity.name}, {entity.label}"
        elif is_iri(entity.ident):
            yield entity, f"{entity.name}, {entity.label or namespace(entity.ident)}"
        else:
            yield entity, f"{entity.name}, {entity.label or graph} {entity.ident}"


def _best_spelling(entities: Sequence[_Named]) -> str:
    """Return the spelling with most facts, preferring those with capitals.

    A lower-case tag "charles bronson" may be more frequent than the actor.
    """
    counts: Counter[str] = Counter()
    for entity in entities:
        counts[entity.name] += entity.facts
    return max(counts, key=lambda name: (name != name.lower(), counts[name]), default="")


def _unique_name(spool: Spool, name: str, number: int) -> str:
    """Return a name that no other entity has, with a number appended if necessary."""
    for counted in range(1, 1_000_000):
        tried = name if counted == 1 else f"{name} {counted}"
        sql = "SELECT 1 FROM entity WHERE form = ? AND id != ? LIMIT 1"
        if not list(spool.rows(sql, (normal_form(tried), number))):
            return tried
    return name


_WHOLE_NAMES = """
    name title label caption prefLabel pref_label fullName full_name display_name displayName
    名称 姓名 名字 标题 中文名
"""
_FIRST_NAMES = "firstName first_name fName fname given_name givenName name"
_LAST_NAMES = "lastName last_name lName lname surname family_name familyName"
_PLACE_NAMES = "address 地址"
_WHOLE, _FIRST, _LAST, _PLACES = (
    names.split() for names in (_WHOLE_NAMES, _FIRST_NAMES, _LAST_NAMES, _PLACE_NAMES)
)
_FEWEST_SHARE = 0.5
_NAMED_SHARE = 0.9
_DISTINCT_SHARE = 0.95
_MOST_CHARACTERS = 40
_SAMPLED_VALUES = 2_000
_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}.*|\d{1,2}:\d\d.*")


@dataclass(slots=True)
class _PropertyColumn:
    """Statistics of a property of one type."""

    count: int = 0
    characters: int = 0
    texts: int = 0
    odd: int = 0
    sample: set[str] = field(default_factory=set)
    sampled: int = 0

    def add(self, value: PropertyValue) -> None:
        text = value_text(value)
        if not text:
            return
        self.count += 1
        self.characters += len(text)
        self.texts += isinstance(value, str)
        self.odd += is_iri(text) or bool(_DATE.fullmatch(text)) or bool(_BARE_CODE.fullmatch(text))
        if self.sampled < _SAMPLED_VALUES:
            self.sampled += 1
            self.sample.add(text)

    def reads_as_names(self, entities: int) -> bool:
        """Return True if nearly all entities have a short and distinct text here."""
        return (
            self.texts == self.count
            and self.count >= _NAMED_SHARE * entities
            and len(self.sample) >= _DISTINCT_SHARE * self.sampled
            and self.characters <= _MOST_CHARACTERS * self.count
            and 2 * self.odd < self.count
        )


class NameFinder:
    """Finds the property that holds the name, for each type.

    Call `add` with all entities, then `settle`.
    """

    def __init__(self) -> None:
        self._columns: dict[str, dict[str, _PropertyColumn]] = defaultdict(dict)
        self._entities: dict[str, int] = defaultdict(int)
        self._chosen: dict[str, tuple[tuple[str, ...], ...]] = {}
        self._spaced: dict[str, bool] = {}

    def add(self, statements: EntityStatements) -> None:
        """Take the properties of an entity into account."""
        label = statements.labels[0] if statements.labels else ""
        self._entities[label] += 1
        columns = self._columns[label]
        for name, value in statements.properties.items():
            columns.setdefault(name, _PropertyColumn()).add(value)

    def settle(self, idents: Iterable[tuple[str]]) -> None:
        """Choose the name properties; ``idents`` are keys that are names."""
        for label, columns in self._columns.items():
            self._chosen[label] = tuple(_choices(columns, self._entities[label]))
            for parts in self._chosen[label]:
                values = [v for part in parts if part in columns for v in columns[part].sample]
                self._spaced[f"{label}/{parts}"] = _writes_spaces(values)
        self._spaced[""] = _writes_spaces([ident for (ident,) in idents])

    def name_of(self, statements: EntityStatements, label: str) -> str:
        """Return the name of an entity: a stated one, or that of its properties, or ""."""
        if statements.names:
            return statements.names[0]
        parts = self.name_properties(statements, label)
        words = (value_text(_first(statements.properties.get(part))) for part in parts)
        return self.spell(" ".join(words), f"{label}/{parts}") if parts else ""

    def name_properties(self, statements: EntityStatements, label: str) -> tuple[str, ...]:
        """Return the properties that the name of an entity consists of."""
        if statements.names:
            return ()
        for parts in self._chosen.get(label, ()):
            if all(value_text(_first(statements.properties.get(part))) for part in parts):
                return parts
        return ()

    def spell(self, name: str, column: str) -> str:
        """Return a name with spaces if its column uses underscores instead."""
        if self._spaced.get(column, True) or "_" not in name:
            return name
        return " ".join(name.replace("_", " ").split()) or name


def _choices(columns: dict[str, _PropertyColumn], entities: int) -> list[tuple[str, ...]]:
    """Return the candidate properties for names, the best first; first and last names combine."""
    present = {name for name, column in columns.items() if column.count >= _FEWEST_SHARE * entities}
    texts = {name for name in present if columns[name].texts}
    first = next((name for name in _FIRST if name in texts), "")
    last = next((name for name in _LAST if name in texts), "")
    found: list[tuple[str, ...]] = [(first, last)] if first and last else []
    found += [(name,) for name in _WHOLE if name in texts]
    found += [(name,) for name in _PLACES if name in texts]
    found += [(name,) for name, column in columns.items() if column.reads_as_names(entities)]
    found += [(name,) for name in _WHOLE if name in columns and columns[name].texts]
    return list(dict.fromkeys(found))


def _writes_spaces(values: Iterable[str]) -> bool:
    """Return True if names contain spaces, or no underscores that may replace them."""
    listed = list(values)
    return any(" " in value for value in listed) or not any("_" in value for value in listed)


def _first(value: PropertyValue) -> PropertyValue:
    return value[0] if isinstance(value, list) and value else value


_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_PARTS = re.compile(r"[_\s]+|(?<=\w)-(?=\w)")
_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:(?://|[^\s/])\S*")
_KNOWN_SCHEMES = ("http://", "https://", "urn:", "tag:", "mailto:", "info:", "file:")
_HASH = r"[0-9a-fA-F]{16,}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_CODE = re.compile(rf"[A-Za-z]{{0,2}}[:_\-]?\d+|{_HASH}")
_BARE_CODE = re.compile(rf"\d+|{_HASH}")
_HAN = re.compile("[\u3400-\u9fff]")
_SUFFIX = re.compile(r"\s*[(（]([^()（）]*)[)）]\s*$")


def is_iri(text: str) -> bool:
    """Return True if a text is an IRI rather than a name."""
    return text.startswith(_KNOWN_SCHEMES) and _IRI.fullmatch(text) is not None


def short_name(iri: str) -> str:
    """Return the last part of an IRI, decoded: "Hamid_Karzai" for ".../resource/Hamid_Karzai"."""
    bare = iri.rstrip("/#")
    part = re.split(r"[/#]", bare)[-1]
    return unquote(bare.rpartition(":")[2] if part == bare else part) or iri


def local_name(iri: str) -> str:
    """Return the last part of an IRI in words: "Hamid Karzai"."""
    return " ".join(short_name(iri).replace("_", " ").split()) or iri


def namespace(iri: str) -> str:
    """Return the second to last part of an IRI, or ""."""
    parts = [part for part in re.split(r"[/#:]", iri.rstrip("/#")) if part]
    return parts[-2] if len(parts) > 1 else ""


def is_code(text: str) -> bool:
    """Return True if a text is a technical id: a number, "n12" or a hash."""
    return _CODE.fullmatch(text) is not None


def has_han(text: str) -> bool:
    """Return True if a text has Chinese characters."""
    return _HAN.search(text) is not None


def bracketed(name: str) -> tuple[str, str]:
    """Split a name into the part before its final brackets and their content."""
    found = _SUFFIX.search(name)
    if found is None or not name[: found.start()].strip():
        return name, ""
    return name[: found.start()].strip(), found[1].strip()


@lru_cache(maxsize=4_096)
def identifier_words(raw: str) -> str:
    """Return an identifier of a relation, type or property in words.

    This gives "directed by" for "directed_by", "is located in" for "isLocatedIn", "acted in" for
    "ACTED_IN", and the words of the last part of an IRI or a path.
    """
    text = short_name(raw) if is_iri(raw) else raw
    if text.startswith("/") and text.strip("/"):
        text = text.strip("/").rpartition("/")[2]
    if " " in text.strip():
        return " ".join(text.split())
    words = [word for part in _PARTS.split(text) for word in _CAMEL.split(part) if word]
    in_capitals = text.upper() == text
    lowered = " ".join(
        word.lower() if in_capitals or len(word) == 1 or not word.isupper() else word
        for word in words
    )
    return lowered or " ".join(raw.split())
