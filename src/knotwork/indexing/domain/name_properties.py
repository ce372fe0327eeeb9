"""Which property of things of a type reads as their name."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from knotwork.indexing.domain.spool import Said
from knotwork.indexing.domain.values import say_value
from knotwork.indexing.domain.wording import is_bare_code, is_iri
from knotwork.records import PropertyValue

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
class _Column:
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
        self._columns: dict[str, dict[str, _Column]] = defaultdict(dict)
        self._things: dict[str, int] = defaultdict(int)
        self._chosen: dict[str, tuple[tuple[str, ...], ...]] = {}
        self._spaced: dict[str, bool] = {}

    def add(self, said: Said) -> None:
        """Take the properties of a thing into account."""
        label = said.labels[0] if said.labels else ""
        self._things[label] += 1
        columns = self._columns[label]
        for name, value in said.properties.items():
            columns.setdefault(name, _Column()).add(value)

    def settle(self, idents: Iterable[tuple[str]]) -> None:
        """Choose, from all that was seen; ``idents`` are names that things are keyed by."""
        for label, columns in self._columns.items():
            self._chosen[label] = tuple(_choices(columns, self._things[label]))
            for parts in self._chosen[label]:
                values = [v for part in parts if part in columns for v in columns[part].sample]
                self._spaced[f"{label}/{parts}"] = _writes_spaces(values)
        self._spaced[""] = _writes_spaces([ident for (ident,) in idents])

    def name_of(self, said: Said, label: str) -> str:
        """Return a thing's name: a stated one, or that of its properties; "" where it has none."""
        if said.names:
            return said.names[0]
        for parts in self._chosen.get(label, ()):
            words = [say_value(_first(said.properties.get(part))) for part in parts]
            if all(words):
                return self.spell(" ".join(words), f"{label}/{parts}")
        return ""

    def name_properties(self, said: Said, label: str) -> tuple[str, ...]:
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


def _choices(columns: dict[str, _Column], things: int) -> list[tuple[str, ...]]:
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
