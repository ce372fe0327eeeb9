"""Choose names for the entities and relations of a graph, so that each is distinct.

An entity is called by a stated name, else by a property that reads as a name, else by its key.
Entities that a file identifies by name alone are merged if their names have one normal form.
Entities with ids stay apart: if they share a name, their type or id is added, and the shared name
becomes an alias of each.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby
from urllib.parse import unquote

from knotwork.indexing.foreign_indexes.labels import one_line
from knotwork.indexing.graph_import.formats import say_value
from knotwork.indexing.graph_import.spool import EntityStatements, Spool
from knotwork.records import PropertyValue
from knotwork.text.names import normal_form

_BATCH = 5_000
_BLANK = "_:"
_NAME = "UPDATE thing SET name = ?2, form = ?3, label = ?4, by_key = ?5 WHERE id = ?1"
_QUALIFY = "UPDATE thing SET name = ?2, form = ?3, plain = ?4, shown = NULL WHERE id = ?1"
_SHOW = "UPDATE thing SET shown = ?2 WHERE id = ?1"
_THINGS = "SELECT id, space, ident, is_name, stated FROM thing ORDER BY id"
_SHARED = (
    "SELECT form, id, name, by_key, label, ident,"
    " (SELECT count(*) FROM fact WHERE source = thing.id)"
    " + (SELECT count(*) FROM fact WHERE target = thing.id) FROM thing WHERE form IN"
    " (SELECT form FROM thing GROUP BY form HAVING count(*) > 1) ORDER BY form, id"
)


@dataclass(frozen=True, slots=True)
class _Named:
    """A thing that shares the normal form of its name with others."""

    number: int
    name: str
    by_key: bool
    label: str
    ident: str
    facts: int


def name_all(spool: Spool, graph: str) -> NameFinder:
    """Name all relations and things of a graph, which is called ``graph`` itself; return what
    knows of which properties the names are made.
    """
    name_relations(spool)
    finder = NameFinder()
    for _, said in spool.said():
        finder.add(said)
    finder.settle(spool.rows("SELECT ident FROM thing WHERE is_name LIMIT 20000"))
    _name_things(spool, finder, graph)
    spool.write("CREATE INDEX thing_form ON thing (form)", [()])
    _split_shared(spool, graph)
    return finder


def name_relations(spool: Spool) -> None:
    """Give each relation a name in words that no other one has."""
    known = sorted(spool.rows("SELECT id, raw FROM relation"), key=lambda row: row[1])
    taken: dict[str, int] = {}
    for number, raw in known:
        for name in _relation_names(raw, spool.stated_name(raw)):
            if name and taken.setdefault(name.casefold(), number) == number:
                spool.write("UPDATE relation SET name = ?2 WHERE id = ?1", [(number, name)])
                break


def _relation_names(raw: str, label: str) -> Iterator[str]:
    said = one_line(label) or say_relation_name(raw)
    yield said
    if is_iri(raw):
        yield f"{namespace(raw)}: {said}"
    yield one_line(raw)
    yield from (f"{said} {number}" for number in range(2, 1_000_000))


def _name_things(spool: Spool, finder: NameFinder, graph: str) -> None:
    said_of = spool.said()
    number, said = next(said_of, (-1, None))
    named: list[tuple[object, ...]] = []
    for thing, space, ident, is_name, _stated in list_in_batches(spool):
        own = said if number == thing else None
        if own is not None:
            number, said = next(said_of, (-1, None))
        label = own.labels[0] if own and own.labels else ""
        name, by_key = _choose_name(own, finder, ident, label, graph, is_name=bool(is_name))
        if not label and space:
            label = space[:1].upper() + space[1:] if not own else ""
        named.append((thing, name, normal_form(name) or name, label, int(by_key)))
        if len(named) >= _BATCH:
            spool.write(_NAME, named)
            named.clear()
    spool.write(_NAME, named)


def list_in_batches(spool: Spool) -> Iterator[tuple[int, str, str, int, int]]:
    """Yield all things, so that they can be written to in between."""
    last = -1
    sql = _THINGS.replace("ORDER BY", "WHERE id > ? ORDER BY") + f" LIMIT {_BATCH}"
    while batch := list(spool.rows(sql, (last,))):
        yield from batch
        last = batch[-1][0]


def _choose_name(
    said: EntityStatements | None,
    finder: NameFinder,
    ident: str,
    label: str,
    graph: str,
    *,
    is_name: bool,
) -> tuple[str, bool]:
    """Return a thing's name, and whether that is its key."""
    stated = finder.name_of(said, label) if said else ""
    if stated:
        return one_line(stated), False
    if said and said.aliases and (is_iri(ident) or ident.startswith(_BLANK)):
        return one_line(said.aliases[0]), False
    if is_iri(ident):
        return local_name(ident), False
    if ident.startswith(_BLANK):
        return f"{_in_words(label) or graph} {ident.removeprefix(_BLANK)}", False
    if not is_name and is_code(ident):
        return f"{_in_words(label) or graph} {ident}", False
    return finder.spell(one_line(ident), ""), True


def _in_words(label: str) -> str:
    """Return a type as the beginning of a name: "Phone call" of "PhoneCall"."""
    words = say_relation_name(label)
    return words[:1].upper() + words[1:] if label[:1].isupper() else words


def _split_shared(spool: Spool, graph: str) -> None:
    """Call things that share a name, and are not one, by more than that."""
    rows = list(spool.rows(_SHARED))
    for _, group in groupby(rows, key=lambda row: row[0]):
        things = [_Named(*row[1:]) for row in group]
        shown = _best_spelling([thing for thing in things if thing.by_key])
        spool.write(_SHOW, ((thing.number, shown) for thing in things if thing.by_key))
        for thing, name in _split_name(things, graph):
            unique = _unique_name(spool, name, thing.number)
            spool.write(_QUALIFY, [(thing.number, unique, normal_form(unique), thing.name)])


def _split_name(things: Sequence[_Named], graph: str) -> Iterator[tuple[_Named, str]]:
    """Yield those of some things of one normal form that need another name, with it."""
    own = [thing for thing in things if not thing.by_key]
    by_name = [thing for thing in things if thing.by_key]
    endings = {normal_form(bracketed(thing.name)[1]) for thing in by_name}
    if len(endings) > 1:
        for thing in by_name:
            bare, ending = bracketed(thing.name)
            if ending:
                yield thing, f"{bare}, {ending}"
    if len(own) + bool(by_name) < 2:
        return
    labels = [thing.label for thing in own]
    for thing in own:
        if thing.label and labels.count(thing.label) == 1:
            yield thing, f"{thing.name}, {thing.label}"
        elif is_iri(thing.ident):
            yield thing, f"{thing.name}, {thing.label or namespace(thing.ident)}"
        else:
            yield thing, f"{thing.name}, {thing.label or graph} {thing.ident}"


def _best_spelling(things: Sequence[_Named]) -> str:
    """Return the name that most facts use, of those with capitals if there are any: "Charles
    Bronson" may be a tag, written without, more often than an actor.
    """
    counts: Counter[str] = Counter()
    for thing in things:
        counts[thing.name] += thing.facts
    return max(counts, key=lambda name: (name != name.lower(), counts[name]), default="")


def _unique_name(spool: Spool, name: str, number: int) -> str:
    """Return a name that no other thing has, with a number behind it if need be."""
    for counted in range(1, 1_000_000):
        tried = name if counted == 1 else f"{name} {counted}"
        sql = "SELECT 1 FROM thing WHERE form = ? AND id != ? LIMIT 1"
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
_TELLING_SHARE = 0.9
_DISTINCT_SHARE = 0.95
_MOST_CHARACTERS = 40
_SAMPLED_VALUES = 2_000
_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}.*|\d{1,2}:\d\d.*")


@dataclass(slots=True)
class _PropertyColumn:
    """What was seen of a property of one type."""

    count: int = 0
    characters: int = 0
    texts: int = 0
    odd: int = 0
    sample: set[str] = field(default_factory=set)
    sampled: int = 0

    def add(self, value: PropertyValue) -> None:
        text = say_value(value)
        if not text:
            return
        self.count += 1
        self.characters += len(text)
        self.texts += isinstance(value, str)
        self.odd += is_iri(text) or bool(_DATE.fullmatch(text)) or is_bare_code(text)
        if self.sampled < _SAMPLED_VALUES:
            self.sampled += 1
            self.sample.add(text)

    def reads_as_names(self, things: int) -> bool:
        """Tell whether nearly all things have a short text here, each its own."""
        return (
            self.texts == self.count
            and self.count >= _TELLING_SHARE * things
            and len(self.sample) >= _DISTINCT_SHARE * self.sampled
            and self.characters <= _MOST_CHARACTERS * self.count
            and 2 * self.odd < self.count
        )


class NameFinder:
    """Finds, by type, the property that is the name; feed it all things, then settle it."""

    def __init__(self) -> None:
        self._columns: dict[str, dict[str, _PropertyColumn]] = defaultdict(dict)
        self._things: dict[str, int] = defaultdict(int)
        self._chosen: dict[str, tuple[tuple[str, ...], ...]] = {}
        self._spaced: dict[str, bool] = {}

    def add(self, said: EntityStatements) -> None:
        """Take the properties of a thing into account."""
        label = said.labels[0] if said.labels else ""
        self._things[label] += 1
        columns = self._columns[label]
        for name, value in said.properties.items():
            columns.setdefault(name, _PropertyColumn()).add(value)

    def settle(self, idents: Iterable[tuple[str]]) -> None:
        """Choose, from all that was seen; ``idents`` are names that things are keyed by."""
        for label, columns in self._columns.items():
            self._chosen[label] = tuple(_choices(columns, self._things[label]))
            for parts in self._chosen[label]:
                values = [v for part in parts if part in columns for v in columns[part].sample]
                self._spaced[f"{label}/{parts}"] = _writes_spaces(values)
        self._spaced[""] = _writes_spaces([ident for (ident,) in idents])

    def name_of(self, said: EntityStatements, label: str) -> str:
        """Return a thing's name: a stated one, or that of its properties; "" where it has none."""
        if said.names:
            return said.names[0]
        for parts in self._chosen.get(label, ()):
            words = [say_value(_first(said.properties.get(part))) for part in parts]
            if all(words):
                return self.spell(" ".join(words), f"{label}/{parts}")
        return ""

    def name_properties(self, said: EntityStatements, label: str) -> tuple[str, ...]:
        """Return the properties that make up a thing's name."""
        if said.names:
            return ()
        for parts in self._chosen.get(label, ()):
            if all(say_value(_first(said.properties.get(part))) for part in parts):
                return parts
        return ()

    def spell(self, name: str, column: str) -> str:
        """Return a name with spaces, where its column writes underscores instead of them."""
        if self._spaced.get(column, True) or "_" not in name:
            return name
        return " ".join(name.replace("_", " ").split())


def _choices(columns: dict[str, _PropertyColumn], things: int) -> list[tuple[str, ...]]:
    """Return the properties that may be the name, the best first; several where they are parts."""
    present = {name for name, column in columns.items() if column.count >= _FEWEST_SHARE * things}
    texts = {name for name in present if columns[name].texts}
    first = next((name for name in _FIRST if name in texts), "")
    last = next((name for name in _LAST if name in texts), "")
    found: list[tuple[str, ...]] = [(first, last)] if first and last else []
    found += [(name,) for name in _WHOLE if name in texts]
    found += [(name,) for name in _PLACES if name in texts]
    found += [(name,) for name, column in columns.items() if column.reads_as_names(things)]
    found += [(name,) for name in _WHOLE if name in columns and columns[name].texts]
    return list(dict.fromkeys(found))


def _writes_spaces(values: Iterable[str]) -> bool:
    """Tell whether names hold spaces, or no underscores that could stand for them."""
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
    """Tell an IRI from a name."""
    return text.startswith(_KNOWN_SCHEMES) and _IRI.fullmatch(text) is not None


def short_name(iri: str) -> str:
    """Return the last part of an IRI, decoded: "Hamid_Karzai" of ".../resource/Hamid_Karzai"."""
    bare = iri.rstrip("/#")
    part = re.split(r"[/#]", bare)[-1]
    return unquote(bare.rpartition(":")[2] if part == bare else part) or iri


def local_name(iri: str) -> str:
    """Return the last part of an IRI in words: "Hamid Karzai"."""
    return " ".join(short_name(iri).replace("_", " ").split()) or iri


def namespace(iri: str) -> str:
    """Return the part before the last of an IRI, as a short word."""
    parts = [part for part in re.split(r"[/#:]", iri.rstrip("/#")) if part]
    return parts[-2] if len(parts) > 1 else ""


def is_code(text: str) -> bool:
    """Tell an id that names nothing to people: a number, "n12", a hash."""
    return _CODE.fullmatch(text) is not None


def is_bare_code(text: str) -> bool:
    """Tell a number or a hash."""
    return _BARE_CODE.fullmatch(text) is not None


def has_han(text: str) -> bool:
    """Tell whether a text has Chinese characters."""
    return _HAN.search(text) is not None


def bracketed(name: str) -> tuple[str, str]:
    """Return a name without what stands in brackets at its end, and that."""
    found = _SUFFIX.search(name)
    if found is None or not name[: found.start()].strip():
        return name, ""
    return name[: found.start()].strip(), found[1].strip()


@lru_cache(maxsize=4_096)
def say_relation_name(raw: str) -> str:
    """Return a relation in words: "directed by" of "directed_by", "is located in" of
    "isLocatedIn", "acted in" of "ACTED_IN", the last part of an IRI or a path.
    """
    text = short_name(raw) if is_iri(raw) else raw
    if text.startswith("/") and text.strip("/"):
        text = text.strip("/").rpartition("/")[2]
    if " " in text.strip():
        return " ".join(text.split())
    words = [word for part in _PARTS.split(text) for word in _CAMEL.split(part) if word]
    shouted = text.upper() == text
    said = " ".join(
        word.lower() if shouted or len(word) == 1 or not word.isupper() else word for word in words
    )
    return said or " ".join(raw.split())


def say_property(name: str) -> str:
    """Return the name of a property in words."""
    return say_relation_name(name)
