"""The ontology retriever: a walk along the relations that an ontology says to follow.

Ontologies are rules for the relations that lead on from a type of entity: read from TOML, built in,
or derived from how the relations of an index are distributed.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import translate
from importlib.resources import files
from pathlib import Path
from typing import Any

from knotwork._extensions.patterns.walk_retrievers import (
    DIRECTIONS,
    EdgeGain,
    KeywordWalkRetriever,
    WalkOptions,
    share_of_words,
)
from knotwork._retrieval.base import bounded
from knotwork._retrieval.question import Question, rarity
from knotwork._stores.base import Store
from knotwork.errors import ConfigError, UnknownName
from knotwork.records import (
    CO_OCCURRENCE_RELATION,
    ENTITY_EDGES,
    Direction,
    Edge,
    Entity,
    Label,
)

BUILT_IN_ONTOLOGY = "default"
DERIVED_ONTOLOGY = "derived"
_RARITY = 1.0 / 3.0
_UNASKED = 0.7
"""Gain of an edge that shares no word with the question."""
_WANTED = 1.3
"""Factor of an edge that leads to the type of entity that the question asks for."""


class OntologyRetriever(KeywordWalkRetriever):
    """Ranks chunks along the relations that an ontology selects for each type of entity.

    ``ontology`` is the path of a TOML file, "default" (the built-in one, for the types that
    extraction rules assign) or "derived" (from the statistics of the index).
    """

    name = "ontology"
    opening = "The question leads to"

    @bounded
    class Options(WalkOptions):
        ontology: str | Path | Ontology = BUILT_IN_ONTOLOGY

    options: Options
    _generation: int | None = None

    def _prepare(self) -> None:
        ontology = self.options.ontology
        self._is_derived = str(ontology) == DERIVED_ONTOLOGY
        if isinstance(ontology, Ontology):
            self._ontology = ontology
        elif not self._is_derived:
            built_in = str(ontology) == BUILT_IN_ONTOLOGY
            self._ontology = default_ontology() if built_in else load_ontology(ontology)

    def _weigh(self, question: Question) -> tuple[EdgeGain, Sequence[str]]:
        if self._is_derived and self._generation != (generation := self._store.generation()):
            self._generation, self._ontology = generation, derive_ontology(self._store)
        ontology = self._ontology
        wanted = ontology.wanted_types(question.text)
        types = ", ".join(sorted(wanted)) or "none in particular"
        rules = f"ontology `{ontology.name}`, {len(ontology.rules)} rules"
        gain = gain_by_ontology(ontology, question, wanted)
        return gain, (f"Wanted types: {types}; {rules}.",)


def gain_by_ontology(ontology: Ontology, question: Question, wanted: Collection[str]) -> EdgeGain:
    """Weigh edges by their rule, the words shared with the question, and the ``wanted`` types."""
    shared: dict[str, float] = {}

    def gain(edge: Edge, source: Entity, target: Entity) -> float:
        weight = ontology.weight(edge, source, target)
        if weight <= 0.0:
            return 0.0
        if edge.relation not in shared:
            share = share_of_words(edge.relation, question)
            shared[edge.relation] = _UNASKED + (1.0 - _UNASKED) * share
        rare = question.rarity(target.chunk_count) ** _RARITY
        fits = _WANTED if target.type.casefold() in wanted else 1.0
        return float(weight * shared[edge.relation] * rare * fits)

    return gain


ANY = "*"
_RULE_KEYS = ("from", "to", "relations", "direction", "weight")
_ASK_KEYS = ("words", "types")
_TOP_KEYS = ("rest", "untyped", "follow", "ask")


@dataclass(frozen=True, slots=True)
class FollowRule:
    """A rule for edges between entities of some types, with the weight of following them.

    Types and relations are casefolded. ``relations`` may contain ``*`` for any characters. Empty
    fields match everything.
    """

    sources: frozenset[str] = frozenset()
    targets: frozenset[str] = frozenset()
    relations: tuple[str, ...] = ()
    direction: Direction = "both"
    weight: float = 1.0


WantedTypes = tuple[tuple[str, ...], frozenset[str]]
"""Words of questions, and the types of entities that a question with one of them asks for."""


@dataclass(slots=True)
class Ontology:
    """Rules of which the first match decides; ``rest`` is the weight of edges without a match.

    An entity without a type may have any: the best rule for some type applies, times ``untyped``.
    """

    name: str
    rules: Sequence[FollowRule]
    asks: Sequence[WantedTypes] = ()
    rest: float = 0.8
    untyped: float = 0.9
    _known: dict[tuple[str, str, str, bool], float] = field(default_factory=dict, repr=False)
    _compiled: list[re.Pattern[str] | None] = field(default_factory=list, repr=False)

    def __post_init__(self) -> None:
        self._compiled = [
            re.compile("|".join(f"(?:{translate(name)})" for name in rule.relations))
            if rule.relations and ANY not in rule.relations
            else None
            for rule in self.rules
        ]

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
        return 0.0 if found else self.untyped

    def wanted_types(self, question: str) -> frozenset[str]:
        """Return the casefolded types that a question asks for, if it names any."""
        words = set(re.findall(r"\w+", question.casefold()))
        return frozenset(
            type_
            for asking, types in self.asks
            if any(w in words or (not w.isascii() and w in question) for w in asking)
            for type_ in types
        )


def load_ontology(path: str | Path) -> Ontology:
    """Read an ontology from a TOML file.

    Raises ConfigError with the file and the entry that is invalid.
    """
    try:
        text = Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"The ontology `{path}` cannot be read: {error}.") from error
    return parse_ontology(text, name=str(path))


def default_ontology() -> Ontology:
    """Return the built-in ontology, for the types that extraction rules assign."""
    text = (files("knotwork._extensions.patterns") / "ontology_default.toml").read_text("utf-8")
    return parse_ontology(text, name="default")


def parse_ontology(text: str, *, name: str) -> Ontology:
    """Return the ontology of a TOML text. Raises ConfigError as `load_ontology`."""
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"The ontology `{name}` is not valid TOML: {error}.") from error
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


def _ask(item: Mapping[str, Any], place: str) -> WantedTypes:
    _check_keys(item, _ASK_KEYS, f" in {place}")
    words, types = _names(item, "words", place), _names(item, "types", place)
    if not words or not types:
        raise ConfigError(f"{place} needs both `words` and `types`.")
    return tuple(words), frozenset(types)


def _tables(data: Mapping[str, Any], key: str, name: str) -> list[Mapping[str, Any]]:
    found = data.get(key, [])
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        raise ConfigError(f"`{name}`: `{key}` must be a list of tables. Write [[{key}]].")
    return found


def _check_keys(item: Mapping[str, Any], valid: Iterable[str], place: str) -> None:
    for key in item:
        if key not in valid:
            raise UnknownName("key", key, valid, place=place)


def _names(item: Mapping[str, Any], key: str, place: str) -> list[str]:
    found = item.get(key, [])
    names = [found] if isinstance(found, str) else found
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ConfigError(f"{place}: `{key}` is {found!r}, but must be a text or a list of texts.")
    return [name.casefold() for name in names]


def _share(item: Mapping[str, Any], key: str, place: str, *, default: float) -> float:
    found = item.get(key, default)
    is_number = isinstance(found, int | float) and not isinstance(found, bool)
    if not is_number or not 0.0 <= found <= 1.0:
        raise ConfigError(f"{place}: `{key}` is {found!r}, but must be a number from 0 to 1.")
    return float(found)


SAMPLED_ENTITIES = 400
"""Sample size. Ids are hashes, so the first entities are a sample in any order of documents."""
_FAN = 16
_MOST_RULES = 400
_LEAST_SEEN = 2
_CO_OCCURS = 0.6
_LEAST_WEIGHT = 0.4


def derive_ontology(store: Store) -> Ontology:
    """Return rules derived from the index's schema and the edges of a sample of its entities.

    A relation has a high weight from a type if it is rare among all relations, and thus
    informative, and if entities of that type have few such edges. The types that questions ask for
    are those of the built-in ontology.
    """
    relations = store.graph.schema().relations
    total = sum(relations.values())
    rules = [FollowRule(relations=(CO_OCCURRENCE_RELATION,), weight=_CO_OCCURS)]
    for (type_, relation, forward), edges, fan in _sampled(store):
        informative = rarity(relations.get(relation, edges), total)
        weight = _LEAST_WEIGHT + (1.0 - _LEAST_WEIGHT) * informative / fan**0.5
        rules.append(
            FollowRule(
                sources=frozenset({type_.casefold()}),
                relations=(re.sub(r"([*?[])", r"[\1]", relation.casefold()),),
                direction="out" if forward else "in",
                weight=min(weight, 1.0),
            )
        )
    return Ontology("derived", rules, default_ontology().asks, rest=0.8, untyped=0.0)


def _sampled(store: Store) -> list[tuple[tuple[str, str, bool], int, float]]:
    """Return the relations from types of entities, with their edges in all and per entity."""
    nodes = store.graph.find(label=Label.ENTITY, limit=SAMPLED_ENTITIES)
    entities = store.graph.entities([node.id for node in nodes])
    around = store.graph.neighbours(list(entities), types=ENTITY_EDGES, fan=_FAN)
    edges: Counter[tuple[str, str, bool]] = Counter()
    sources: Counter[tuple[str, str, bool]] = Counter()
    for entity_id, found in around.items():
        type_ = entities[entity_id].type
        keys = [(type_, edge.relation, edge.source == entity_id) for edge in found]
        keys = [key for key in keys if key[1] != CO_OCCURRENCE_RELATION]
        edges.update(keys)
        sources.update(set(keys))
    common = [(key, times, times / sources[key]) for key, times in edges.items()]
    common = [item for item in common if item[1] >= _LEAST_SEEN]
    return sorted(common, key=lambda item: (-item[1], item[0]))[:_MOST_RULES]
