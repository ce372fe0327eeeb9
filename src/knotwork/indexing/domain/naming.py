"""What things and relations are called, so that each is told from the others of its graph.

A thing is called by a stated name, else by a property that reads as a name, else by its key. Things
that a file names by their names alone are one where their names have one normal form. Things with
ids of their own stay apart: those that share a name are called by their type or id beside it, and
the shared name becomes another name of each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from knotwork.indexing.domain.name_properties import NameFinder
from knotwork.indexing.domain.spool import Said, Spool
from knotwork.indexing.domain.wording import (
    bracketed,
    is_code,
    is_iri,
    local_name,
    namespace,
    say_relation_name,
)
from knotwork.indexing.exchange.labels import one_line
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
    _part_shared(spool, graph)
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
    said: Said | None,
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


def _part_shared(spool: Spool, graph: str) -> None:
    """Call things that share a name, and are not one, by more than that."""
    rows = list(spool.rows(_SHARED))
    for _, group in groupby(rows, key=lambda row: row[0]):
        things = [_Named(*row[1:]) for row in group]
        shown = _best_spelling([thing for thing in things if thing.by_key])
        spool.write(_SHOW, ((thing.number, shown) for thing in things if thing.by_key))
        for thing, name in _parted(things, graph):
            unique = _unique_name(spool, name, thing.number)
            spool.write(_QUALIFY, [(thing.number, unique, normal_form(unique), thing.name)])


def _parted(things: Sequence[_Named], graph: str) -> Iterator[tuple[_Named, str]]:
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
