"""Place the words and names of a statement in the sentences that it cites."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from knotwork._retrieval.paths.boosted_trees import Trees, parse_trees
from knotwork._retrieval.paths.path_question import base_form, read_lexicon
from knotwork._synthesis.grounding.texts import (
    NAME,
    Mention,
    ReadText,
    Word,
    states_number,
)
from knotwork._text.chinese import HAN_CHARACTER, simplify
from knotwork.errors import ConfigError

ALIKE = 0.7
"""The strength of a match of two words that begin alike, such as "founder" and "founded"."""
SAME_GROUP = 0.6
"""The strength of a match of two words that often name the same relation."""
_LEAST_PREFIX = 4
_MOST_PLACES = 8
BREAK = 6
"""The distance that the end of a sentence adds, in words."""


class Place(NamedTuple):
    """A mention in the sources: the number of words before it, its sentence, its offset there."""

    mention: Mention
    shown: str
    position: int
    sentence: int
    start: int


class Item(NamedTuple):
    """A word or number of a statement, where the sources have it, and how alike they are."""

    position: int
    start: int
    matches: tuple[int, ...]
    strength: float


class SourcePlaces:
    """The words and mentions of sentences, numbered in reading order."""

    def __init__(self, sentences: Sequence[ReadText]) -> None:
        self.sentences = sentences
        self._bases: list[int] = []
        self._starts: list[list[int]] = []
        self._plain: list[str] = []
        self._places: defaultdict[str, list[int]] = defaultdict(list)
        self.sentence_of: list[int] = []
        self.mentions: list[Place] = []
        base = 0
        for number, sentence in enumerate(sentences):
            starts = [word.start for word in sentence.words]
            self._bases.append(base)
            self._starts.append(starts)
            self._plain.append(simplify(sentence.text).casefold())
            for offset, word in enumerate(sentence.words):
                self._places[word.term].append(base + offset)
            self.sentence_of += [number] * max(len(starts), 1)
            for mention in sentence.mentions:
                shown = self._plain[number][mention.start : mention.end]
                self.mentions.append(self._place(mention, shown, number, mention.start))
            base += max(len(starts), 1)
        self._similar = _SimilarTerms(self._places)

    def position(self, sentence: int, offset: int) -> int:
        """Return the number of the word at or behind an offset in a sentence."""
        starts = self._starts[sentence]
        place = min(bisect_left(starts, offset), max(len(starts) - 1, 0))
        return self._bases[sentence] + place

    def word_at(self, position: int) -> Word | None:
        """Return the word with a number, or None for that of a sentence without words."""
        sentence = self.sentence_of[position]
        words = self.sentences[sentence].words
        return words[position - self._bases[sentence]] if words else None

    def _place(self, mention: Mention, shown: str, sentence: int, start: int) -> Place:
        return Place(mention, shown, self.position(sentence, start), sentence, start)

    def find_mention(self, mention: Mention, said: ReadText) -> list[Place]:
        """Return the places of a mention of a statement, written the same or in part."""
        if mention.kind != NAME:
            return [p for p in self.mentions if p.mention.terms & mention.terms]
        shown = simplify(said.text[mention.start : mention.end]).casefold()
        found = [
            self._place(mention, shown, number, offset)
            for number, plain in enumerate(self._plain)
            for offset in _occurrences(shown, plain)
        ]
        if found:
            return found
        same = [
            p
            for p in self.mentions
            if p.mention.kind == NAME
            and (p.mention.terms <= mention.terms or mention.terms <= p.mention.terms)
        ]
        if same:
            return same
        rarest = min(
            (self._places[term] for term in mention.terms if term in self._places),
            key=len,
            default=(),
        )
        found = []
        for position in rarest[:_MOST_PLACES]:
            if word := self.word_at(position):
                number = self.sentence_of[position]
                found.append(Place(mention, shown, position, number, word.start))
        return found

    def items_of(self, said: ReadText) -> list[Item]:
        """Return the words and numbers of a statement in order, with their places here."""
        found = [self._word_item(place, word) for place, word in enumerate(said.words)]
        starts = [word.start for word in said.words]
        for number in said.numbers:
            held = tuple(
                self.position(place, other.start)
                for place, sentence in enumerate(self.sentences)
                if states_number(sentence, number.values)
                for other in sentence.numbers
                if other.values & number.values
            )
            place = bisect_left(starts, number.start)
            found.append(Item(place, number.start, held[:_MOST_PLACES], 1.0))
        return sorted(found, key=lambda item: item.start)

    def _word_item(self, place: int, word: Word) -> Item:
        matches, strength = self._places.get(word.term, []), 1.0
        if not matches:
            terms, strength = self._similar.find(word.term)
            matches = [p for term in terms for p in self._places[term]]
        return Item(place, word.start, tuple(matches[:_MOST_PLACES]), strength)


class _SimilarTerms:
    """The terms of sources by how they begin, by their characters and by groups of relations."""

    def __init__(self, terms: Sequence[str] | dict[str, list[int]]) -> None:
        self._by_key: defaultdict[str, list[str]] = defaultdict(list)
        self._by_group: defaultdict[int, list[str]] = defaultdict(list)
        for term in terms:
            for key in _keys(term):
                self._by_key[key].append(term)
            for group in groups_of(term):
                self._by_group[group].append(term)

    def find(self, term: str) -> tuple[list[str], float]:
        """Return the terms that are like another one, and how alike they are."""
        near = {other for key in _keys(term) for other in self._by_key[key]}
        alike = sorted(other for other in near if _is_alike(term, other))
        if alike:
            return alike, ALIKE
        grouped = {other for group in groups_of(term) for other in self._by_group[group]}
        return sorted(grouped), SAME_GROUP


def _keys(term: str) -> str | tuple[str, ...]:
    """Return what two terms that are alike have in common."""
    return term if HAN_CHARACTER.match(term) else (term[:_LEAST_PREFIX],)


@lru_cache(maxsize=1 << 14)
def groups_of(term: str) -> frozenset[int]:
    """Return the groups of words for relations that a term belongs to."""
    groups = read_lexicon().groups
    return groups.get(term) or groups.get(base_form(term)) or frozenset()


def _is_alike(term: str, other: str) -> bool:
    if HAN_CHARACTER.match(term):
        return len(set(term) & set(other)) * 2 >= max(len(term), len(other))
    shared = 0
    for a, b in zip(term, other, strict=False):
        if a != b:
            break
        shared += 1
    return shared >= _LEAST_PREFIX and shared * 5 >= max(len(term), len(other)) * 3


def _occurrences(shown: str, plain: str) -> Iterator[int]:
    place = plain.find(shown)
    while place >= 0 and shown:
        end = place + len(shown)
        if HAN_CHARACTER.match(shown) or not (
            plain[place - 1 : place].isalnum() or plain[end : end + 1].isalnum()
        ):
            yield place
        place = plain.find(shown, end)


Grid = NDArray[np.float64]


class Mark(NamedTuple):
    """A place in the sources: the number of words before it, and its sentence."""

    position: int
    sentence: int


class Nearness:
    """How near the items of a statement are to places in the sources.

    ``offsets`` has the signed distance in words from each place to the nearest match of each item,
    of shape (places, items), with the ends of sentences counted; NaN without a match.
    ``same_sentence`` is True if that match is in the sentence of the place.
    """

    def __init__(
        self, sources: SourcePlaces, items: Sequence[Item], places: Sequence[Place | Mark]
    ) -> None:
        shape = len(places), len(items)
        self.offsets: Grid = np.full(shape, np.nan)
        self.same_sentence = np.zeros(shape, dtype=bool)
        self.strengths = np.array([item.strength for item in items])
        at = np.array([place.position for place in places])
        sentence = np.array([place.sentence for place in places])
        rows = np.arange(len(places))
        if not len(places):
            return
        for column, item in enumerate(items):
            if not item.matches:
                continue
            matches = np.array(item.matches)
            breaks = (
                np.array([sources.sentence_of[m] for m in item.matches])[None] - sentence[:, None]
            )
            steps = matches[None] - at[:, None]
            away = np.abs(steps) + BREAK * np.abs(breaks)
            best = away.argmin(axis=1)
            signs = np.where(steps[rows, best] < 0, -1.0, 1.0)
            self.offsets[:, column] = signs * away[rows, best]
            self.same_sentence[:, column] = breaks[rows, best] == 0

    def kernel(self, reach: float) -> Grid:
        """Return the nearness of each item to each place, from 0 to its strength."""
        near: Grid = np.nan_to_num(np.exp(-np.abs(self.offsets) / reach)) * self.strengths
        return near


@cache
def read_model(name: str, features: tuple[str, ...]) -> Trees:
    """Return the model with a name, trained on these features.

    Raises ConfigError if its file is damaged or of other features.
    """
    place = f"data/{name}.model"
    text = files("knotwork._synthesis.grounding").joinpath(place).read_text("utf-8")
    trees = parse_trees(text)
    if trees.features != features:
        raise ConfigError(
            f"The model `{place}` was trained on other features of statements.",
            fix="Train it again: see training/grounding/README.md.",
        )
    return trees
