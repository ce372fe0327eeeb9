"""Words for the links, properties and kinds of graphs, in English and Chinese.

The groups are those of `schema_words.txt`, `kind_words.txt` and `scale_words.txt` in the folder
`data`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from knotwork._text.languages import simplify
from knotwork._text.relation_words import base_form
from knotwork.records import Span


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


class Degree(StrEnum):
    """The form of an adjective: "how old", "older", "oldest"."""

    HOW = "how"
    MORE = "more"
    MOST = "most"


class Scale(NamedTuple):
    """Words for properties that grow with an adjective, and that fall with it.

    With ``is_general``, it may also be about a property that the question names.
    """

    rising: tuple[str, ...]
    falling: tuple[str, ...]
    is_general: bool


class ScaleMention(NamedTuple):
    """An adjective in a question: its scales, each with True for its upper end."""

    span: Span
    degree: Degree
    scales: tuple[tuple[Scale, bool], ...]

    @property
    def is_general(self) -> bool:
        """True if a property of another name may be meant."""
        return any(scale.is_general for scale, _ in self.scales)


def find_scales(text: str) -> list[ScaleMention]:
    """Return the adjectives of a question that ask for, compare or order by a property."""
    forms, known = _read_scales()
    plain = simplify(text)
    found = []
    for degree, form in forms.items():
        for match in form.finditer(plain if len(plain) == len(text) else text):
            word = next(held for held in match.groups() if held)
            is_zh = degree is Degree.MORE and not word.isascii()
            start = match.end() - len(word) if is_zh else match.start()
            is_turned = match[0].lower().startswith("l") and word[0].lower() != "l"
            key = re.sub(r"[\s-]+", "_", word.lower())
            scales = tuple((scale, upper != is_turned) for scale, upper in known[key])
            found.append(ScaleMention(Span(start, match.end()), degree, scales))
    return found


@cache
def _read_scales() -> tuple[
    Mapping[Degree, re.Pattern[str]], Mapping[str, Mapping[tuple[Scale, bool], None]]
]:
    """Return the patterns of adjectives by degree, and the scales of each form."""
    known = defaultdict[str, dict[tuple[Scale, bool], None]](dict)
    forms: defaultdict[str, set[str]] = defaultdict(set)
    for line in _lines("scale_words.txt"):
        more, less, rising, falling = line.lstrip("? ").split("|")
        scale = Scale(tuple(rising.split()), tuple(falling.split()), line.startswith("?"))
        for words, upper in ((more, True), (less, False)):
            for word in words.split():
                for key, form in _forms_of(word):
                    forms[key].add(form.replace("_", r"[\s-]"))
                    known[form][scale, upper] = None
    how, more, most, base, han = (
        "|".join(sorted(forms[key], key=len, reverse=True))
        for key in ("how", "more", "most", "base", "han")
    )
    patterns = {
        Degree.HOW: rf"\bhow\s+({how})\b|(?<=years )({how})\b|(?:有多么?|多)(?!少)({han})",
        Degree.MORE: rf"\b(?:(?:more|less)\s+({base})|({more}))\b"
        rf"|(?<=比)[^，。？?]{{1,20}}?({han})|({han})(?=于)",
        Degree.MOST: rf"\b(?:(?:most|least)\s+({base})|({most}))\b|最({han})",
    }
    return {key: re.compile(form, re.IGNORECASE) for key, form in patterns.items()}, known


def _forms_of(word: str) -> Iterator[tuple[str, str]]:
    """Yield the forms of an adjective, each with its degree; "base" may have "more" before it."""
    if not word.isascii() or "_" in word:
        yield ("most" if word.isascii() else "han"), word
        return
    base, *irregular = word.split("/")
    stem = base.removesuffix("e")
    if base.endswith("y"):
        stem = f"{base[:-1]}i"
    elif re.fullmatch(r"[a-z]*[^aeiou][aeiou][^aeiouwy]", base):
        stem = base + base[-1]
    yield "how", base
    yield "base", base
    yield from zip(("more", "most"), irregular or (f"{stem}er", f"{stem}est"), strict=True)


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
