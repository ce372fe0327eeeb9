"""Read a question for paths: the entities it names and the relations its words name.

A word names a relation if it has the stem of one of its words, shares a group of synonyms with it,
or begins alike. A Chinese relation is also named by a part of it. If the names of two relations
match in one place, the longer one counts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from knotwork._questions.reading import QuestionReading
from knotwork._retrieval.chunk_entities import read_merged_entities_of
from knotwork._retrieval.question import (
    MIN_NAME_CHARACTERS,
    looks_like_a_name,
    rarity,
    trusts_case,
)
from knotwork._stores.base import Store
from knotwork._text.languages import simplify
from knotwork._text.names import name_candidates
from knotwork._text.relation_words import (
    ALIKE,
    HAN_RUN,
    SAME_GROUP,
    SAME_STEM,
    WORD,
    base_form,
    likeness,
    read_lexicon,
    relation_words,
)
from knotwork._text.terms import STOP_WORDS
from knotwork.records import Entity, Span

NAMES_RELATION = 0.5
"""Minimum strength for a match to name a relation."""
_INSIDE_ANOTHER = 0.3
_WHOSE = re.compile(r"\bwhose\b")
_YEAR = re.compile(r"\b(?:what|which) year\b")
_HOW_MANY = re.compile(r"\bhow (?:many|much)\b|多少|几个|几位")
_ASKING = re.compile(
    r"\b(?:who|whom|whose|what|which|when|where|how)\b|谁|什么|哪|何时|何地|何处|多少|几"
)


class RelationMatch(NamedTuple):
    """A match of a relation in the question, with the relation's word and a strength."""

    span: Span
    word: str
    strength: float


class RelationWording:
    """A question's words outside names, matched with the names of relations.

    ``names`` are the spans of the entities that the question names. ``named`` are the spans that
    name any learned relation, with the strength of the best.
    """

    def __init__(self, text: str, names: Sequence[Span] = ()) -> None:
        self.text = text
        self.named: Mapping[Span, float] = {}
        self._places: dict[str, list[RelationMatch]] = {}
        self._sure: dict[str, list[RelationMatch]] = {}
        plain = list(simplify(text).lower())
        if len(plain) != len(text):  # the lower case of a letter is longer
            plain = list(text)
        for start, end in names:
            plain[start:end] = "\x00" * (end - start)
        self._plain = "".join(plain)
        found = [(match[0], Span(*match.span())) for match in WORD.finditer(self._plain)]
        self.words = [
            (word, span) for word, span in found if word not in STOP_WORDS or word == "when"
        ]
        asked = QuestionReading(self._plain)
        asks = {
            "person": asked.asks_who or _WHOSE.search(self._plain),
            "time": asked.asked_when or _YEAR.search(self._plain),
            "place": asked.asks_where,
            "amount": _HOW_MANY.search(self._plain),
        }
        self.kinds = frozenset(kind for kind, found in asks.items() if found)
        asking = _ASKING.search(self._plain)
        self.asking = Span(*asking.span()) if asking else None
        own = {word for word, _ in found}
        self.is_mutual = any(
            cue in (own if cue.isascii() else self._plain) for cue in read_lexicon().mutual
        ) or bool(re.search(r"\bco-?(?=[a-z])", self._plain))

    @property
    def without_names(self) -> str:
        """The question without names, or the whole question if nothing else is left."""
        return " ".join(self._plain.replace("\x00", " ").split()) or self.text

    def learn(self, relations: Iterable[str]) -> None:
        """Find the matches of these relations and add them to those learned before."""
        new = {relation for relation in relations if relation not in self._places}
        if not new:
            return
        for relation in new:
            self._places[relation] = self._find(relation)
        self._prefer_longer()
        self._sure = {
            relation: [place for place in places if place.strength >= NAMES_RELATION]
            for relation, places in self._places.items()
        }
        self.named = self.named_by(self._sure)

    def sure(self, relation: str) -> list[RelationMatch]:
        """Return the matches that name a learned relation, in reading order."""
        return self._sure.get(relation, [])

    def strength(self, relation: str) -> float:
        """Return the strength of the best match of a relation, from 0 to 1."""
        return max((place.strength for place in self._places.get(relation, ())), default=0.0)

    def times(self, relation: str) -> int:
        """Return how often the question names a relation, by its most frequent word."""
        return max(Counter(place.word for place in self.sure(relation)).values(), default=0)

    def named_by(self, relations: Iterable[str]) -> dict[Span, float]:
        """Return the spans that name one of these relations, with the strength of the best."""
        best: dict[Span, float] = {}
        for relation in relations:
            for place in self.sure(relation):
                best[place.span] = max(best.get(place.span, 0.0), place.strength)
        return best

    def _find(self, relation: str) -> list[RelationMatch]:
        found: list[RelationMatch] = []
        for wanted in relation_words(relation):
            if HAN_RUN.fullmatch(wanted):
                found += self._find_han(wanted)
                continue
            for word, span in self.words:
                strength = likeness(word, wanted)
                if strength:
                    found.append(RelationMatch(span, wanted, strength))
        return sorted(found)

    def _find_han(self, wanted: str) -> list[RelationMatch]:
        spans = _occurrences(wanted, self._plain)
        if spans:
            return [RelationMatch(span, wanted, SAME_STEM) for span in spans]
        lexicon = read_lexicon()
        others = {w for g in lexicon.groups.get(wanted, ()) for w in lexicon.members[g]}
        found = [
            RelationMatch(span, wanted, SAME_GROUP)
            for other in sorted(others, key=lambda w: (-len(w), w))
            for span in _occurrences(other, self._plain)
        ]
        if found:
            return _outermost(found)
        for size in range(len(wanted) - 1, 1, -1):
            spans = [
                span
                for start in range(len(wanted) - size + 1)
                for span in _occurrences(wanted[start : start + size], self._plain)
            ]
            if spans:
                strength = ALIKE * (0.5 + 0.5 * size / len(wanted))
                return _outermost([RelationMatch(span, wanted, strength) for span in spans])
        return []

    def _prefer_longer(self) -> None:
        """Weaken matches that are inside the name of another relation."""
        whole = {
            place.span
            for places in self._places.values()
            for place in places
            if place.strength >= SAME_GROUP
        }
        longest = {span for span in whole if not any(_is_inside(span, other) for other in whole)}
        for relation, places in self._places.items():
            self._places[relation] = [
                place
                if not any(_is_inside(place.span, other) for other in longest)
                else place._replace(strength=min(place.strength, _INSIDE_ANOTHER))
                for place in places
            ]


def _names_relations(surface: str) -> bool:
    words = relation_words(surface)
    return bool(words) and all(base_form(word) in read_lexicon().groups for word in words)


def classes_of(relation: str) -> frozenset[str]:
    """Return the classes of a relation's targets by its words: "person", "time", ..."""
    lexicon = read_lexicon()
    groups: set[int] = set()
    for word in relation_words(relation):
        groups |= lexicon.groups.get(base_form(word), frozenset())
    return frozenset(name for name, numbers in lexicon.classes.items() if numbers & groups)


def _occurrences(wanted: str, text: str) -> list[Span]:
    return [Span(*match.span()) for match in re.finditer(re.escape(wanted), text)]


def _is_inside(inner: Span, outer: Span) -> bool:
    return outer != inner and outer.contains(inner)


def _outermost(places: Sequence[RelationMatch]) -> list[RelationMatch]:
    spans = {place.span for place in places}
    return sorted({p for p in places if not any(_is_inside(p.span, other) for other in spans)})


MOST_SEEDS = 4
LOWER_CASE_TRUST = 0.3
MARKED_TRUST = 1.5
"""Trust in a name in brackets or quotation marks."""

_MARKED = re.compile(r"\[([^\[\]]+)\]|\"([^\"]+)\"|“([^”]+)”|「([^」]+)」|《([^》]+)》|`([^`]+)`")


@dataclass(frozen=True, slots=True)
class PathSeed:
    """An entity that the question names at ``span``, with the ids of all merged entities.

    ``trust`` is how certain the link is, ``rarity`` (0 to 1) how few chunks mention the entity, and
    ``share`` the length of the name relative to the question.
    """

    entity: Entity
    span: Span
    ids: tuple[str, ...]
    trust: float
    rarity: float
    share: float

    @property
    def weight(self) -> float:
        return self.trust * (0.5 + 0.5 * self.rarity) * (0.5 + min(self.share, 0.5))


def find_seeds(text: str, store: Store) -> list[PathSeed]:
    """Return the entities that a question names, most certain first, at most `MOST_SEEDS`.

    Of nested names the longest counts. A name in quotation marks or brackets precedes all that it
    overlaps.
    """
    marked = {
        Span(match.start(group), match.end(group))
        for match in _MARKED.finditer(text)
        for group in range(1, match.re.groups + 1)
        if match[group] is not None
    }
    spans = {
        form: span for form, span in name_candidates(text) if _may_name(form, text, span, marked)
    }
    found = store.graph.lookup(list(spans))
    kept = _choose({form: spans[form] for form in found}, marked)
    chunk_count = store.documents.chunk_count()
    merged = read_merged_entities_of(store, [found[form].id for form in kept])
    has_case = trusts_case(text)
    seeds: dict[str, PathSeed] = {}
    for form in kept:
        entity, span = found[form], spans[form]
        trust = LOWER_CASE_TRUST
        if any(other.contains(span) for other in marked):
            trust = MARKED_TRUST
        elif not has_case or looks_like_a_name(text[span.start : span.end], first=not span.start):
            trust = 1.0
        canonical = merged.canonical(entity.id)
        seed = PathSeed(
            entity=entity,
            span=span,
            ids=tuple(dict.fromkeys([entity.id, *merged.members(entity.id)])),
            trust=trust,
            rarity=rarity(entity.chunk_count, chunk_count),
            share=(span.end - span.start) / max(len(text), 1),
        )
        if canonical not in seeds or seed.weight > seeds[canonical].weight:
            seeds[canonical] = seed
    ranked = sorted(seeds.values(), key=lambda seed: (-seed.weight, seed.span, seed.entity.id))
    # Plain words of the question are left out if names remain.
    sure = [
        seed
        for seed in ranked
        if seed.trust > 1.0 or (seed.trust == 1.0 and not _names_relations(text[slice(*seed.span)]))
    ]
    return (sure or ranked)[:MOST_SEEDS]


def _may_name(form: str, text: str, span: Span, marked: set[Span]) -> bool:
    if len(form) >= MIN_NAME_CHARACTERS or not form.isascii():
        return True
    surface = text[span.start : span.end]
    is_named = surface[:1].isupper() or surface[:1].isdigit()
    return any(_same(span, other, text) for other in marked) or (is_named and span.start > 0)


def _same(span: Span, other: Span, text: str) -> bool:
    """Return True if two spans differ only by marks and spaces."""
    start, end = min(span.start, other.start), max(span.end, other.end)
    around = text[start : max(span.start, other.start)] + text[min(span.end, other.end) : end]
    return not any(character.isalnum() for character in around)


def _choose(spans: dict[str, Span], marked: set[Span]) -> list[str]:
    """Return names that are not inside another, nor overlap a marked one."""
    whole = [
        span
        for span in spans.values()
        if any(
            o.contains(span) and span.end - span.start >= 0.8 * (o.end - o.start) for o in marked
        )
    ]
    return [
        form
        for form, span in spans.items()
        if (span in whole or not any(span.overlaps(other) for other in whole))
        and not any(other != span and other.contains(span) for other in spans.values())
    ]
