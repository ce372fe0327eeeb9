"""Words for the links, properties and kinds of graphs, in English and Chinese.

The groups are those of `schema_words.txt` and `kind_words.txt` in the folder `data`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from knotwork._text.languages import simplify
from knotwork._text.relation_words import base_form


class Role(StrEnum):
    """What a word says of a link: the deed, who does it, or what it is done to."""

    DEED = "deed"
    DOER = "doer"
    RESULT = "result"


class Sense(NamedTuple):
    """A group of words that mean the same, by number, and the role of a word in it."""

    group: int
    role: Role


class SchemaWords(NamedTuple):
    """Senses by word, narrower groups by group, the groups of events, and kinds by word.

    ``persons`` are the kinds of persons and organizations. Words of several parts are joined by
    an underscore, all words in their base form.
    """

    senses: Mapping[str, frozenset[Sense]]
    narrower: Mapping[int, frozenset[int]]
    events: frozenset[int]
    kinds: Mapping[str, frozenset[int]]
    persons: frozenset[int]


@cache
def read_schema_words() -> SchemaWords:
    """Read the shipped lists."""
    senses: defaultdict[str, set[Sense]] = defaultdict(set)
    narrow: dict[int, list[str]] = {}
    events = set[int]()
    for group, line in enumerate(_lines("schema_words.txt")):
        if line.startswith("!"):
            events.add(group)
        wide, _, narrow_words = line.lstrip("! ").partition(">")
        narrow[group] = narrow_words.split()
        for role, words in zip(Role, wide.split("|"), strict=False):
            for word in words.split():
                senses[joined_form(word)].add(Sense(group, role))
    groups = {word: {sense.group for sense in found} for word, found in senses.items()}
    narrower_groups = {
        group: frozenset().union(*(groups.get(joined_form(word), set()) for word in words))
        for group, words in narrow.items()
    }
    kinds: defaultdict[str, set[int]] = defaultdict(set)
    persons = set[int]()
    for kind, line in enumerate(_lines("kind_words.txt")):
        if line.startswith("!"):
            persons.add(kind)
        for word in line.lstrip("! ").split():
            kinds[joined_form(word)].add(kind)
    return SchemaWords(
        {word: frozenset(found) for word, found in senses.items()},
        narrower_groups,
        frozenset(events),
        {word: frozenset(found) for word, found in kinds.items()},
        frozenset(persons),
    )


def joined_form(word: str) -> str:
    """Return the base forms of the parts of a word, joined by underscores."""
    if not word.isascii():
        return simplify(word)
    first, *rest = word.split("_")
    return "_".join([word_form(first), *map(word_form, rest)])


def word_form(word: str) -> str:
    """Return the base form of a word; a listed word for who does a deed has one of its own.

    A stemmer makes one stem of "follows" and "follower", which lead opposite ways along a link.
    """
    base, lower = base_form(word), word.lower()
    return f"{base}+er" if lower in _doers() or lower.removesuffix("s") in _doers() else base


@cache
def _doers() -> frozenset[str]:
    columns = (line.partition(">")[0].split("|") for line in _lines("schema_words.txt"))
    words = (word for _, *doers in columns for word in " ".join(doers[:1]).split())
    return frozenset(word for word in words if word.endswith(("er", "or")))


def _lines(name: str) -> Iterator[str]:
    text = files("knotwork._text").joinpath(f"data/{name}").read_text("utf-8")
    return (line for line in text.splitlines() if line and not line.startswith("#"))
