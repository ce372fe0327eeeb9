"""Rules for the relations to follow from a type of entity, as data and as TOML."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import translate
from importlib.resources import files
from pathlib import Path
from typing import Any

from knotwork.errors import ConfigError, UnknownName
from knotwork.records import Direction, Edge, Entity
from knotwork.retrieval.entity.walks import DIRECTIONS

ANY = "*"
NO_TYPE = ""
DEFAULT_FILE = "ontology_default.toml"

_RULE_KEYS = ("from", "to", "relations", "direction", "weight")
_ASK_KEYS = ("words", "types")
_TOP_KEYS = ("rest", "untyped", "follow", "ask")


@dataclass(frozen=True, slots=True)
class FollowRule:
    """Edges from entities of some types to some others, and what following them is worth.

    Types and relations are casefolded; ``relations`` may hold ``*`` for any characters. Empty
    fields fit all.
    """

    sources: frozenset[str] = frozenset()
    targets: frozenset[str] = frozenset()
    relations: tuple[str, ...] = ()
    direction: Direction = "both"
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Wanted:
    """The types of entities that a question with one of these words asks for."""

    words: tuple[str, ...]
    types: frozenset[str]


@dataclass(slots=True)
class Ontology:
    """Rules of which the first that fits an edge decides; ``rest`` is for those that none fits.

    An entity without a type may be of any: the best rule for some type counts for it too, times
    ``untyped``.
    """

    name: str
    rules: Sequence[FollowRule]
    asks: Sequence[Wanted] = ()
    rest: float = 0.8
    untyped: float = 0.9
    _known: dict[tuple[str, str, str, bool], float] = field(default_factory=dict, repr=False)
    _compiled: list[re.Pattern[str] | None] = field(default_factory=list, repr=False)

    def __post_init__(self) -> None:
        self._compiled = [_compile(rule.relations) for rule in self.rules]

    def weight(self, edge: Edge, source: Entity, target: Entity) -> float:
        """Return the weight of walking an edge from ``source`` to ``target``."""
        forward = edge.source == source.id
        key = source.type.casefold(), edge.relation.casefold(), target.type.casefold(), forward
        if key not in self._known:
            self._known[key] = self._decide(*key)
        return self._known[key]

    def _decide(self, source: str, relation: str, target: str, forward: bool) -> float:
        guess = 0.0
        for rule, pattern in zip(self.rules, self._compiled, strict=True):
            if rule.direction == ("in" if forward else "out"):
                continue
            if pattern is not None and not pattern.fullmatch(relation):
                continue
            fit = self._fit(rule.sources, source) * self._fit(rule.targets, target)
            if fit == 1.0:
                return max(rule.weight, guess)
            guess = max(guess, rule.weight * fit)
        return max(self.rest, guess)

    def _fit(self, types: frozenset[str], found: str) -> float:
        if not types or ANY in types or found in types:
            return 1.0
        return self.untyped if found == NO_TYPE else 0.0

    def wanted_types(self, question: str) -> frozenset[str]:
        """Return the types that a question asks for, casefolded; none where it does not say."""
        words = set(re.findall(r"\w+", question.casefold()))
        return frozenset(
            type_
            for ask in self.asks
            if any(w in words or (not w.isascii() and w in question) for w in ask.words)
            for type_ in ask.types
        )


def _compile(relations: Sequence[str]) -> re.Pattern[str] | None:
    if not relations or ANY in relations:
        return None
    return re.compile("|".join(f"(?:{translate(name)})" for name in relations))


def load_ontology(path: str | Path) -> Ontology:
    """Read an ontology from a TOML file.

    Raises ConfigError that names the file and the place for whatever does not fit the form.
    """
    try:
        text = Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"The ontology `{path}` cannot be read: {error}.") from error
    return parse_ontology(text, name=str(path))


def default_ontology() -> Ontology:
    """Return the built-in ontology, for the types that the rules of extraction know."""
    text = (files("knotwork.retrieval.entity") / DEFAULT_FILE).read_text("utf-8")
    return parse_ontology(text, name="default")


def parse_ontology(text: str, *, name: str) -> Ontology:
    """Return the ontology that a TOML text describes; see `load_ontology`."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"The ontology `{name}` is not TOML: {error}.") from error
    _check_keys(data, _TOP_KEYS, f" in the ontology `{name}`")
    rules = [
        _rule(item, f"`{name}`, [[follow]] number {number}")
        for number, item in enumerate(_tables(data, "follow", name), start=1)
    ]
    asks = [
        _ask(item, f"`{name}`, [[ask]] number {number}")
        for number, item in enumerate(_tables(data, "ask", name), start=1)
    ]
    place = f"`{name}`"
    return Ontology(
        name,
        rules,
        asks,
        rest=_share(data, "rest", place, default=0.8),
        untyped=_share(data, "untyped", place, default=0.9),
    )


def _rule(item: Mapping[str, Any], place: str) -> FollowRule:
    _check_keys(item, _RULE_KEYS, f" in {place}")
    direction = item.get("direction", "both")
    if direction not in DIRECTIONS:
        valid = ", ".join(f'"{known}"' for known in DIRECTIONS)
        raise ConfigError(f"{place}: `direction` is {direction!r}. Valid: {valid}.")
    return FollowRule(
        sources=frozenset(_names(item, "from", place)),
        targets=frozenset(_names(item, "to", place)),
        relations=tuple(_names(item, "relations", place)),
        direction=direction,
        weight=_share(item, "weight", place, default=1.0),
    )


def _ask(item: Mapping[str, Any], place: str) -> Wanted:
    _check_keys(item, _ASK_KEYS, f" in {place}")
    words, types = _names(item, "words", place), _names(item, "types", place)
    if not words or not types:
        raise ConfigError(f"{place} needs both `words` and `types`.")
    return Wanted(tuple(words), frozenset(types))


def _tables(data: Mapping[str, Any], key: str, name: str) -> list[Mapping[str, Any]]:
    found = data.get(key, [])
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        raise ConfigError(f"`{name}`: `{key}` is no list of tables: write [[{key}]].")
    return found


def _check_keys(item: Mapping[str, Any], valid: Iterable[str], place: str) -> None:
    for key in item:
        if key not in valid:
            raise UnknownName("key", key, valid, place=place)


def _names(item: Mapping[str, Any], key: str, place: str) -> list[str]:
    found = item.get(key, [])
    names = [found] if isinstance(found, str) else found
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ConfigError(f"{place}: `{key}` is {found!r}, and not a text or a list of texts.")
    return [name.casefold() for name in names]


def _share(item: Mapping[str, Any], key: str, place: str, *, default: float) -> float:
    found = item.get(key, default)
    is_number = isinstance(found, int | float) and not isinstance(found, bool)
    if not is_number or not 0.0 <= found <= 1.0:
        raise ConfigError(f"{place}: `{key}` is {found!r}, and not a number from 0 to 1.")
    return float(found)
