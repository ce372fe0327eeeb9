"""Check the statements of a reply against the passages that the model was given.

The numbers and names of a statement must be those of its passages and be used as they use them, it
may not deny what they affirm or affirm what they deny, and enough of its words must be theirs. No
language model is asked, so the check finds contradictions in words, not those that take knowledge
of the world. A statement in another language than the passages is only checked for numbers and for
names that are written the same in both.

A statement may have only names of its passage and still replace one by another, or turn who does
what to whom. For each mention, features compare how near the other words of the statement are to it
in the sources with how near they are to other mentions of its kind, and the order of the words.
"Acme bought Bolt" and "Bolt was bought by Acme" say the same, "Bolt bought Acme" does not: of two
names and a word for what one does to the other, the voice and the order show which of them acts.
Where they do not, as in "Acme and Bolt bought", the roles stay unknown. A denial of the statement
is compared with those of the sources beside the same words, and the other way round. Boosted trees,
trained in `training/grounding/`, turn the features of mentions ("placement") and of denials
("polarity") into log-odds.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from difflib import SequenceMatcher
from enum import StrEnum
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from itertools import pairwise, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from knotwork._inference.boosted_trees import Trees, parse_trees
from knotwork._synthesis.grounding.texts import (
    LARGEST_COUNT,
    NAME,
    Mention,
    ReadText,
    Word,
    align,
    covered_share,
    has_more_han,
    pieces_of,
    read_text,
    states_number,
    word_behind,
)
from knotwork._synthesis.prompt_context import PromptPassage, sentences_of
from knotwork._text.dates import MONTHS
from knotwork._text.languages import HAN_CHARACTER, simplify
from knotwork._text.numbers import Number
from knotwork._text.plain_text import show_sentence, split_row
from knotwork._text.relation_words import base_form, read_lexicon
from knotwork._text.terms import STOP_WORDS, held_terms, terms
from knotwork.errors import ConfigError
from knotwork.records import BlockKind, Chunk, Span

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
        self._alike: defaultdict[str | int, list[str]] = defaultdict(list)
        """Terms by what similar ones share: their beginning, a character, a group of relations."""
        for term in self._places:
            for key in (*_keys(term), *groups_of(term)):
                self._alike[key].append(term)

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
            near = {other for key in _keys(word.term) for other in self._alike[key]}
            terms, strength = {other for other in near if _is_alike(word.term, other)}, ALIKE
            if not terms:
                groups, strength = groups_of(word.term), SAME_GROUP
                terms = {other for group in groups for other in self._alike[group]}
            matches = [p for term in sorted(terms) for p in self._places[term]]
        return Item(place, word.start, tuple(matches[:_MOST_PLACES]), strength)


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


NEAREST = 2
"""How many words from a place the aligned word may be that leads to the same place elsewhere."""
MOST_MENTIONS = 12
"""The names and numbers of a statement whose places are compared."""
LEAST_PLACED = 0.5
"""The share of a statement's words other than names and numbers that a sentence has in the same
order, from which names and numbers are compared by their places."""
FEWEST_PLACED = 3
LONGEST_ADDITION = 4
"""A sentence of so few words speaks about what the one before it is about."""


def place_in_order(
    mention: Mention, said: ReadText, sentences: Sequence[ReadText]
) -> tuple[float, bool]:
    """Return the share of words that the most similar sentence has in the same order, and whether
    it has another mention where the statement has this one.

    The share is 0 if no sentence has enough of the words.
    """
    mentions = said.mentions
    plain = {w.start for w in said.words if not any(m.start <= w.start < m.end for m in mentions)}
    rest = [w for w in said.words if not mention.start <= w.start < mention.end]
    best = 0.0, False
    if len(rest) < FEWEST_PLACED or not plain:
        return best
    for number, sentence in enumerate(sentences):
        if sum(w.term in sentence.terms for w in rest) < FEWEST_PLACED:
            continue
        aligned = align(rest, sentence.words)
        share = sum(rest[i].start in plain for i in aligned) / len(plain)
        if share > best[0] and share >= LEAST_PLACED and len(aligned) >= FEWEST_PLACED:
            is_added = any(
                len(after.words) <= LONGEST_ADDITION and mention.terms <= after.terms
                for after in sentences[number + 1 :][:1]
            )
            is_wrong = not is_added and _stands_elsewhere(mention, rest, aligned, sentence)
            best = share, is_wrong
    return best


def _stands_elsewhere(
    mention: Mention, rest: Sequence[Word], aligned: dict[int, int], sentence: ReadText
) -> bool:
    """Return True if the sentence has another mention where the statement has this one."""
    place = sum(word.start < mention.start for word in rest)
    before = max((i for i in aligned if i < place), default=None)
    after = min((i for i in aligned if i >= place), default=None)
    if before is None and after is None:
        return False
    if (before is not None and place - before > NEAREST) or (
        after is not None and after - place >= NEAREST
    ):
        return False
    start = sentence.words[aligned[before]].end if before is not None else 0
    end = sentence.words[aligned[after]].start if after is not None else len(sentence.text)
    gap = sentence.text[start:end]
    if len(gap) > _LONGEST_GAP or _REFERRING.search(gap):
        return False
    inside = [m for m in sentence.mentions if m.start >= start and m.end <= end]
    held = {w.term for w in sentence.words if start <= w.start < end}
    if mention.terms <= held or any(m.terms <= mention.terms for m in inside):
        return False
    return any(m.kind == mention.kind for m in inside)


_LONGEST_GAP = 80
_REFERRING = re.compile(
    r"\b(?:he|she|it|they|who|which|his|her|its|their|him|them|this|that|these|those)\b|[他她它其该這这]",
    re.IGNORECASE,
)


ROLE_FEATURES = ("acts", "held_acts", "roles_agree", "act_strength")
"""In a feature, -1 means that no clause of the sources has both names and the word."""

UNKNOWN = 0.5
"""The role of a name that may act or be acted on."""
_MOST_OF_A_NAME = 6
_AFTER_PAIR = 3
"""How many words behind two names the word for what one does to the other may be."""

_BY = re.compile(r"\bby\s+(?:(?:the|an?|its|his|her|their)\s+)?(?:[\w-]+\s+){0,3}$", re.IGNORECASE)
_DIRECTLY_BY = re.compile(r"^\W*(?:\w+\W+){0,2}?by\b", re.IGNORECASE)
_BE = re.compile(
    r"\b(?:is|are|was|were|be|been|being|gets?|got)\s+(?:\w+ly\s+|also\s+|not\s+)?$", re.IGNORECASE
)
_RELATIVE = re.compile(
    r"\b(?:which|that|whom|whose|where|when)\s+(?:(?:the|an?)\s+)?(?:[\w-]+\s+){0,2}$",
    re.IGNORECASE,
)
_NO_ACT = re.compile(
    r"\b(?:is|are|was|were|be|been|and|or|with|between)\b(?!.*\bby\b)|[,;，；、和與与及或是]",
    re.IGNORECASE,
)
"""Between two names that are listed, or of which one describes the other."""
_PASSIVE_ZH = re.compile("[被由受遭]|[为為](?=.{1,20}所)")
_TAKING_ZH = re.compile("[把将將]")


def who_acts(text: str, first: Span, second: Span, act: Span) -> float:
    """Return 1 if the first of two names acts, 0 if the second does, where the first is before it.

    The act stands between the names, or behind or before both.
    """
    if act.start >= second.end:
        between = text[first.end : second.start]
        if _PASSIVE_ZH.search(between) or _RELATIVE.search(between):
            return 0.0
        return 1.0 if _TAKING_ZH.search(between) else UNKNOWN
    if act.end <= first.start:
        return 1.0 if _BY.search(text[act.end : first.start]) else UNKNOWN
    before, after = text[first.end : act.start], text[act.end : second.start]
    if _BY.search(after) or _DIRECTLY_BY.match(after):
        return 0.0
    if _BE.search(before) or _PASSIVE_ZH.search(before) or _RELATIVE.search(before):
        return UNKNOWN
    return 1.0


class RoleReader:
    """Reads the roles of the names of a statement, there and in its sources."""

    def __init__(
        self,
        said: ReadText,
        sources: SourcePlaces,
        items: Sequence[Item],
        names: Sequence[tuple[Mention, Sequence[Place]]],
    ) -> None:
        self._said = said
        self._sources = sources
        self._ends = {word.start: word.end for word in said.words}
        inside = [(m.start, m.end) for m, _ in names]
        self._acts = [
            item
            for item in items
            if item.matches
            and item.start in self._ends
            and not any(start <= item.start < end for start, end in inside)
        ]
        self._found: dict[int, tuple[int, dict[str, float]]] = {}
        """By the start of a name, how far from the other one the sources have it, and features."""
        self.turned: list[tuple[Mention, Mention]] = []
        """Names of which the sources say the same, with the other one as who acts."""
        for one, other in pairwise(names):
            self._read_pair(one, other)

    def features(self, mention: Mention) -> dict[str, float]:
        """Return the `ROLE_FEATURES` of a name."""
        unknown = 0, dict.fromkeys(ROLE_FEATURES, -1.0)
        return self._found.get(mention.start, unknown)[1]

    def _read_pair(
        self, one: tuple[Mention, Sequence[Place]], other: tuple[Mention, Sequence[Place]]
    ) -> None:
        (first, firsts), (second, seconds) = one, other
        acts = [a for a in self._acts if first.end <= a.start < second.start]
        if not acts:
            acts = [a for a in self._acts if a.start >= second.end][:_AFTER_PAIR]
        found = min(
            (
                (span, -act.strength, order, act, held)
                for order, act in enumerate(acts)
                for span, held in self._held(act, firsts, seconds)
            ),
            key=lambda f: f[:3],
            default=None,
        )
        if found is None:
            return
        span, _, _, act, held = found
        here = Span(act.start, self._ends[act.start])
        ends = Span(first.start, first.end), Span(second.start, second.end)
        said = who_acts(self._said.text, *ends, here)
        agree = float(said == held) if UNKNOWN not in (said, held) else UNKNOWN
        between = self._said.text[first.end : second.start]
        is_told = said != UNKNOWN and act.strength == 1 and not _NO_ACT.search(between)
        if is_told and {own for _, own in self._held(act, firsts, seconds)} == {1 - said}:
            self.turned.append((first, second))
        for mention, *acting in ((first, said, held), (second, 1 - said, 1 - held)):
            row = dict(zip(ROLE_FEATURES, (*acting, agree, act.strength), strict=True))
            if mention.start not in self._found or span < self._found[mention.start][0]:
                self._found[mention.start] = span, row

    def _held(
        self, act: Item, firsts: Sequence[Place], seconds: Sequence[Place]
    ) -> Iterator[tuple[int, float]]:
        """Yield how far apart two names and a word are in each clause of the sources with them, and
        whether the first name acts there.
        """
        pairs = product(act.matches, firsts[:_MOST_OF_A_NAME], seconds[:_MOST_OF_A_NAME])
        for position, first, second in pairs:
            number, word = self._sources.sentence_of[position], self._sources.word_at(position)
            if word is None or not number == first.sentence == second.sentence:
                continue
            there = Span(word.start, word.end)
            own, other = (Span(p.start, p.start + max(len(p.shown), 1)) for p in (first, second))
            if own.start == other.start or any(
                s.start <= there.start < s.end for s in (own, other)
            ):
                continue
            text = self._sources.sentences[number].text
            is_first = own < other
            acts = who_acts(text, *((own, other) if is_first else (other, own)), act=there)
            places = sorted((position, first.position, second.position))
            yield places[2] - places[0], acts if is_first else 1 - acts


FEATURES = (
    "is_chinese", "is_name", "items", "in_question", "has_question", "near", "near_rival",
    "near_gain", "rank", "broad", "broad_rival", "broad_gain", "held", "held_most", "held_gain",
    "order", "before", "after", "rival_before", "rival_after", "asked_before", "asked_after",
    "asked_other", "is_whole", "position", "aligned", "is_displaced", "aligned_asked", "terms",
    "near_others", "said_by", "held_by", "other_said_by", "other_held_by", "shown_share",
    "same_before", "same_after", *ROLE_FEATURES,
)  # fmt: skip
"""In a feature, -1 means that there is nothing to compare."""

_SHARP, _BROAD = 4.0, 12.0
"""How fast words count less with their distance from a mention in the sources, in words."""
_LOCAL = 8.0
"""The same in the statement."""
_FAR = 30.0
"""The distance to a word that the sources lack, in words."""
_MOST_BESIDE = 8
"""The places of a mention whose neighbours are compared."""
_OF_TITLES = 0.4
"""The weight of a word of the titles, which a passage may leave out."""

Numbers = NDArray[np.intp]


def judge_placement(compared: Compared) -> tuple[Mention, float] | None:
    """Return the mention that most likely replaced another with its log-odds, if any may have."""
    mentions, rows = compared.rows()
    if not mentions:
        return None
    odds = read_model("placement", FEATURES).predict(rows)
    worst = int(odds.argmax())
    return mentions[worst], float(odds[worst])


_BEFORE_AGENT = re.compile(r"\bby\s?(?:the )?$|[被由受遭]$", re.IGNORECASE)
_LONGEST_BEFORE_AGENT = 8


def is_agent(before: str) -> bool:
    """Return True if a text ends with a word before the one who acts, such as "by" and 被."""
    return bool(_BEFORE_AGENT.search(before[-_LONGEST_BEFORE_AGENT:]))


class Compared:
    """A statement compared with its sources.

    ``own`` has the numbers of the places of each mention; the places of the sources' own mentions
    are the first. Grids have the shape (places, items).
    """

    def __init__(
        self, said: ReadText, sources: SourcePlaces, titles: ReadText, question: ReadText
    ) -> None:
        self._said = said
        self._sources = sources
        self._question = question
        self.mentions = sorted(said.mentions, key=lambda m: m.start)[:MOST_MENTIONS]
        found = [sources.find_mention(mention, said) for mention in self.mentions]
        self._places = [*sources.mentions, *(place for group in found for place in group)]
        ends = np.cumsum([len(sources.mentions), *map(len, found)])
        self.own: list[Numbers] = [np.arange(a, b) for a, b in pairwise(ends)]
        self._sentence = np.array([place.sentence for place in self._places], dtype=np.intp)
        self._items = sources.items_of(said)
        self._positions = np.array([item.position for item in self._items], dtype=np.float64)
        self._nearness = Nearness(sources, self._items, self._places)
        self._near = self._nearness.kernel(_SHARP)
        self._broad = self._nearness.kernel(_BROAD)
        self._held = held_items(self._items, sources)
        self._weights = self._weigh(titles)
        self._asked = simplify(question.text).casefold()
        names = [
            (mention, [self._places[p] for p in own])
            for mention, own in zip(self.mentions, self.own, strict=True)
            if mention.kind == NAME and len(own)
        ]
        self.roles = RoleReader(said, sources, self._items, names)

    def rows(self) -> tuple[list[Mention], Grid]:
        """Return the mentions that may have replaced another, and a row of `FEATURES` for each."""
        kept = [number for number in range(len(self.mentions)) if self.may_be_wrong(number)]
        rows = [[float(row[f]) for f in FEATURES] for row in map(self.features, kept)]
        mentions = [self.mentions[number] for number in kept]
        return mentions, np.array(rows, dtype=np.float64).reshape(-1, len(FEATURES))

    def may_be_wrong(self, number: int) -> bool:
        """Return True if the sources have a mention, and one that it might have replaced."""
        is_name = self.mentions[number].kind == NAME
        others = sum((mention.kind == NAME) == is_name for mention in self.mentions)
        return bool(len(self.own[number])) and (others > 1 or len(self._rivals(number)) > 0)

    def _weigh(self, titles: ReadText) -> Grid:
        """Return the weight of each item: less if more sentences or the titles have it."""
        counts = np.maximum((self._held > 0).sum(axis=0), 1)
        terms = {word.start: word.term for word in self._said.words}
        is_title = np.array([terms.get(i.start) in titles.terms for i in self._items], dtype=bool)
        weights: Grid = np.where(is_title, _OF_TITLES, 1.0) / np.sqrt(counts)
        return weights

    def features(self, number: int) -> dict[str, float]:
        """Return the features of a mention that may be wrong."""
        mention = self.mentions[number]
        one = _Mention(
            mention,
            np.array([mention.start <= i.start < mention.end for i in self._items], dtype=bool),
            self._positions,
            self._weights,
            before=sum(w.start < mention.start for w in self._said.words),
        )
        own = self.own[number]
        near = self._near @ one.local / max(one.local.sum(), 1e-9)
        broad = self._broad @ one.weights / one.total
        best = int(own[(near + 0.5 * broad)[own].argmax()])
        shown = simplify(self._said.text[mention.start : mention.end]).casefold()
        cover = self._held @ one.weights / one.total
        aligned, is_displaced = place_in_order(mention, self._said, self._sources.sentences)
        asked = place_in_order(mention, self._said, [self._question])[0] if self._asked else -1.0
        before, after = self._neighbours(one, best)
        return {
            **self._rivalry(number, one, near, broad, best),
            **self._other_agent(number, best),
            **self._as_asked(mention),
            **self.roles.features(mention),
            **self._beside(mention, own),
            "is_chinese": self._said.is_chinese,
            "is_name": mention.kind == NAME,
            "terms": len(mention.terms),
            "in_question": bool(shown) and shown in self._asked,
            "has_question": bool(self._asked),
            "is_whole": self._places[best].shown == shown,
            "position": mention.start / max(len(self._said.text), 1),
            "said_by": is_agent(self._said.text[: mention.start]),
            "held_by": is_agent(self._text_before(self._places[best])),
            "held": cover[self._sentence[best]],
            "held_most": cover.max(),
            "held_gain": cover.max() - cover[self._sentence[own]].max(),
            "order": self._order(one, best),
            "before": before,
            "after": after,
            "aligned": aligned,
            "is_displaced": is_displaced,
            "aligned_asked": asked,
            "items": (~one.inside).sum(),
            "near_others": max(
                (near[o].max() for i, o in enumerate(self.own) if i != number and len(o)),
                default=-1.0,
            ),
        }

    def _rivalry(
        self, number: int, one: _Mention, near: Grid, broad: Grid, best: int
    ) -> dict[str, float]:
        """Compare a place with those of other mentions of its kind."""
        rivals = self._rivals(number)
        near_rival = near[rivals].max(initial=0.0)
        broad_rival = broad[rivals].max(initial=0.0)
        before = after = _FAR
        if len(rivals):
            before, after = self._neighbours(one, int(rivals[near[rivals].argmax()]))
        return {
            "near": near[best],
            "near_rival": near_rival,
            "near_gain": near[best] - near_rival,
            "rank": (near[rivals] > near[best]).sum(),
            "broad": broad[best],
            "broad_rival": broad_rival,
            "broad_gain": broad[best] - broad_rival,
            "rival_before": before,
            "rival_after": after,
        }

    def _rivals(self, number: int) -> Numbers:
        """Return the places of mentions of the kind that statement and question do not have."""
        return self._strangers[self.mentions[number].kind == NAME]

    @cached_property
    def _strangers(self) -> tuple[Numbers, Numbers]:
        """The numbers and the names of the sources that statement and question do not have."""
        known = frozenset().union(*(mention.terms for mention in self.mentions))
        found: tuple[list[int], list[int]] = [], []
        for number, place in enumerate(self._sources.mentions):
            if not place.mention.terms & known and place.shown not in self._asked:
                found[place.mention.kind == NAME].append(number)
        return np.array(found[0], dtype=np.intp), np.array(found[1], dtype=np.intp)

    def _order(self, one: _Mention, best: int) -> float:
        """Return the share of the words of a sentence that are on the same side of a mention."""
        known = ~one.inside & self._nearness.same_sentence[best]
        agrees = (self._nearness.offsets[best] < 0) == (self._positions < one.start)
        weights = self._weights[known]
        total = weights.sum()
        return float(weights @ agrees[known] / total) if total else -1.0

    def _neighbours(self, one: _Mention, place: int) -> list[float]:
        """Return how far the words before and after a mention are from a place."""
        found = []
        for side in (
            np.flatnonzero(~one.inside & (self._positions < one.start))[-1:],
            np.flatnonzero(~one.inside & (self._positions >= one.end))[:1],
        ):
            steps = np.nan_to_num(np.abs(self._nearness.offsets[place, side]), nan=_FAR)
            found.append(float(np.minimum(steps, _FAR).max(initial=-1.0)))
        return found

    def _other_agent(self, number: int, best: int) -> dict[str, float]:
        """Return whether the nearest other name in the sentence is one who acts, here and there."""
        mention, here = self.mentions[number], self._places[best]
        names = [i for i, m in enumerate(self.mentions) if i != number and m.kind == NAME]
        for other in sorted(names, key=lambda i: abs(self.mentions[i].start - mention.start)):
            beside = [
                self._places[p] for p in self.own[other] if self._sentence[p] == here.sentence
            ]
            if beside:
                place = min(beside, key=lambda p: abs(p.position - here.position))
                return {
                    "other_said_by": is_agent(self._said.text[: self.mentions[other].start]),
                    "other_held_by": is_agent(self._text_before(place)),
                }
        return {"other_said_by": -1.0, "other_held_by": -1.0}

    def _terms_around(self, mention: Mention) -> tuple[list[str], list[str]]:
        """Return the words right before and after a mention in the statement."""
        before = [word.term for word in self._said.words if word.end <= mention.start]
        after = [word.term for word in self._said.words if word.start >= mention.end]
        return before[-1:], after[:1]

    def _text_before(self, place: Place) -> str:
        return self._sources.sentences[place.sentence].text[: place.start]

    def _as_asked(self, mention: Mention) -> dict[str, float]:
        """Return whether the words beside a mention are beside it in the question, and how many
        other mentions are beside them there.
        """
        if not self._asked:
            return {"asked_before": -1.0, "asked_after": -1.0, "asked_other": -1.0}
        asked, (before, after) = self._question.words, self._terms_around(mention)

        def is_asked(term: Sequence[str], place: int) -> bool:
            return 0 <= place < len(asked) and [asked[place].term] == list(term)

        own = [i for i, word in enumerate(asked) if word.term in mention.terms]
        others = 0
        for held in self._question.mentions:
            spots = [i for i, w in enumerate(asked) if held.start <= w.start < held.end]
            if spots and not held.terms & mention.terms:
                others += is_asked(before, spots[0] - 1) or is_asked(after, spots[-1] + 1)
        return {
            "asked_before": is_asked(before, own[0] - 1) if own and before else -1.0,
            "asked_after": is_asked(after, own[-1] + 1) if own and after else -1.0,
            "asked_other": others,
        }

    def _beside(self, mention: Mention, own: Numbers) -> dict[str, float]:
        """Return the share of a mention's words that a place has, and whether the words right
        before and after it are beside a place too, at the one with most of them.
        """
        before, after = self._terms_around(mention)
        best = (0.0, 0.0, 0.0)
        for number in own[:_MOST_BESIDE]:
            place = self._places[number]
            words = self._sources.sentences[place.sentence].words
            start = bisect_left(words, place.start, key=lambda w: w.start)
            end = start + max(len(mention.terms), 1)
            share = sum(w.term in mention.terms for w in words[start:end]) / (end - start)
            found = (
                share if mention.kind == NAME else 1.0,
                float([w.term for w in words[max(start - 1, 0) : start]] == before),
                float([w.term for w in words[end - (mention.kind != NAME) :][:1]] == after),
            )
            if sum(found) > sum(best):
                best = found
        return dict(zip(("shown_share", "same_before", "same_after"), best, strict=True))


class _Mention:
    """A mention with the weights of the items outside of it.

    ``local`` are the weights by the distance from the mention in the statement, ``total`` their sum
    without it. ``start`` and ``end`` are places of its first and last word.
    """

    def __init__(
        self,
        mention: Mention,
        inside: NDArray[np.bool_],
        positions: Grid,
        weights: Grid,
        *,
        before: int,
    ) -> None:
        self.mention = mention
        self.inside = inside
        self.start = float(positions[inside].min()) if inside.any() else float(before)
        self.end = float(positions[inside].max()) if inside.any() else self.start
        self.weights: Grid = np.where(inside, 0.0, weights)
        self.total = max(self.weights.sum(), 1e-9)
        away = np.where(positions < self.start, self.start - positions, positions - self.end)
        self.local: Grid = self.weights * np.exp(-np.maximum(away, 0) / _LOCAL)


def held_items(items: Sequence[Item], sources: SourcePlaces) -> Grid:
    """Return how alike each item is to a word of each sentence, of shape (sentences, items)."""
    held = np.zeros((max(len(sources.sentences), 1), len(items)))
    for column, item in enumerate(items):
        for match in item.matches:
            held[sources.sentence_of[match], column] = item.strength
    return held


POLARITY_FEATURES = (
    "is_chinese", "items", "denials", "asked_denied", "asked_undenied", "has_question", "cover",
    "second_cover", "said_near_denial", "said_near_place", "said_gain", "aligned", "is_one_sided",
    "denials_in_words",
)  # fmt: skip

_SHARP_POLARITY = 3.0
"""How fast words count less with their distance from a denial, in words."""


def judge_polarity(
    said: ReadText, sources: SourcePlaces, question: ReadText, denials: Sequence[re.Match[str]]
) -> float:
    """Return the log-odds that a statement denies what the sources say, or the other way round.

    ``denials`` are those of the statement. There must be a source.
    """
    row = polarity_row(said, sources, question, denials)
    return float(read_model("polarity", POLARITY_FEATURES).predict(row)[0])


def polarity_row(
    said: ReadText, sources: SourcePlaces, question: ReadText, denials: Sequence[re.Match[str]]
) -> Grid:
    """Return the `POLARITY_FEATURES` of a statement, of shape (1, features)."""
    items = sources.items_of(said)
    grid = held_items(items, sources)
    covers: Grid = grid.mean(axis=1) if items else np.zeros(len(grid))
    held = [
        Mark(sources.position(number, mark.start()), number)
        for number, sentence in enumerate(sources.sentences)
        for mark in denials_of(sentence)
    ]
    best = int(covers.argmax())
    sentence = sources.sentences[best]
    aligned = align(said.words, sentence.words)
    row = {
        "is_chinese": said.is_chinese,
        "items": len(items),
        "denials": len(denials),
        "denials_in_words": len(denials_of(said)) - len(denials),
        "has_question": bool(question.text),
        "cover": covers[best],
        "second_cover": np.delete(covers, best).max(initial=0.0),
        "aligned": len(aligned) / max(len(said.words), 1),
        "is_one_sided": bool(find_one_sided_denial(denials, said, sentence, aligned)),
        **_compare_with_question(said, denials, question),
        **_place_denials(said, denials, items, held, sources),
    }
    return np.array([[float(row[name]) for name in POLARITY_FEATURES]], dtype=np.float64)


def _compare_with_question(
    said: ReadText, denials: Sequence[re.Match[str]], question: ReadText
) -> dict[str, float]:
    """Return the share of a statement's denials that the question has beside the same words, and
    how many of the question's denials the statement lacks beside words that it has.
    """
    asked = [_words_beside(mark, question) for mark in denials_of(question)]
    own = [_words_beside(mark, said) for mark in denials]
    shared = sum(any(words & others for others in asked) for words in own)
    lacking = sum(
        bool(words & said.terms) and not any(words & others for others in own) for words in asked
    )
    return {"asked_denied": shared / len(own) if own else -1.0, "asked_undenied": lacking}


def _words_beside(mark: re.Match[str], text: ReadText) -> set[str]:
    place = bisect_left([word.start for word in text.words], mark.start())
    return {word.term for word in text.words[max(place - 1, 0) : place + 2]}


def _place_denials(
    said: ReadText,
    denials: Sequence[re.Match[str]],
    items: Sequence[Item],
    held: Sequence[Mark],
    sources: SourcePlaces,
) -> dict[str, float]:
    """Return how near the words beside a denial are to denials of the sources, from 0 to 1, and to
    each other; for the denial whose words are farthest from a denial.
    """
    places = [Mark(match, sources.sentence_of[match]) for item in items for match in item.matches]
    grids = [Nearness(sources, items, marks).kernel(_SHARP_POLARITY) for marks in (held, places)]
    worst = -1.0, -1.0, -1.0
    for denial in denials:
        # A place between words, such as 1.5 behind two of them.
        center = bisect_left([word.start for word in said.words], denial.start()) - 0.5
        weights = np.array(
            [np.exp(-abs(item.position - center) / _SHARP_POLARITY) for item in items]
        )
        total = max(weights.sum(), 1e-9)
        near, beside = (float((grid @ weights).max(initial=0.0) / total) for grid in grids)
        worst = max(worst, (beside - near, near, beside), key=lambda found: found[0])
    return dict(zip(("said_gain", "said_near_denial", "said_near_place"), worst, strict=True))


_DENIAL = re.compile(
    r"\b(?:not|never|cannot|no|nor|neither|none|nobody|nothing)\b|n['’]t\b"
    r"|(?<![是能会有可要好])[不没沒无無未非](?![过過止仅僅但断斷同管论論如少限久足錯错妨])",
    re.IGNORECASE,
)
_NO_DENIAL = re.compile(
    r"\bnot (?:only|merely|just|simply|solely)\b|\bnot\b(?=[^.;]{0,60}\buntil\b)|\bno\.?\s?\d"
    r"|\bno (?:more|less|fewer|later|longer) than\b"
    r"|^\W*no\b(?=\W)|[,;—]\s*not\b|^[不没沒](?:有|是)?[，。]|而非|而不是|不是(?=.{1,20}而是)"
    r"|无线|無線|非洲|非常|未来|未來|不[仅只光单]|差不多|\byes\b\W{0,3}(?:or|或|和)?\W{0,3}no\b"
    r"|不[得能可会會应應]?(?:[少低短小晚早多高大长長][于於]|超[过過])",
    re.IGNORECASE,
)
_NEGATIVE = re.compile(
    r"\b(?:without|unless|except|hardly|rarely|seldom|fail\w*|lack\w*|instead|prevent\w*|refus\w*"
    r"|reject\w*|den(?:y|ies|ied)|absent|missing|disabl\w*|forb\w*|prohibit\w*|exclud\w*|longer"
    r"|un(?!i|der|til|less)\w{4,}|in(?:valid|correct|capable|ability)\w*|impossible"
    r"|dis(?:allow|able)\w*|rather than|opposed|few|little|only|avoid\w*|ignor\w*|stop\w*"
    r"|independent\w*|improper\w*|dis\w{4,}|rather|rid|free|before|until|too)\b"
    r"|缺|失败|失敗|拒绝|拒絕|禁止|避免|停止|取消|除|只|仅|僅|难|難|否|别|莫|免|防",
    re.IGNORECASE,
)
"""Words that are negative in meaning, or that limit what is said."""


def denials_of(text: ReadText) -> list[re.Match[str]]:
    """Return the words of a text that deny, such as "not" and "never"."""
    plain = _NO_DENIAL.sub(lambda match: " " * len(match[0]), text.text)
    return list(_DENIAL.finditer(plain))


def is_negative(text: str) -> bool:
    """Return True if a text denies, or has a word that is negative or limits, such as "fails"."""
    return bool(_DENIAL.search(text) or _NEGATIVE.search(text))


def find_one_sided_denial(
    denials: Sequence[re.Match[str]], said: ReadText, sentence: ReadText, aligned: Mapping[int, int]
) -> str | None:
    """Return a denial of one of two aligned texts that the other lacks at the same place.

    ``denials`` are those of ``said``; ``aligned`` leads from its words to those of the sentence.
    """
    back = {there: here for here, there in aligned.items()}
    sides = [(denial, said, sentence, aligned) for denial in denials]
    sides += [(denial, sentence, said, back) for denial in denials_of(sentence)]
    for denial, text, other, places in sides:
        there = _same_place(denial, text, other, places)
        if there and not is_negative(there):
            return denial[0]
    return None


def _same_place(
    denial: re.Match[str], text: ReadText, other: ReadText, aligned: Mapping[int, int]
) -> str:
    """Return what another text has between the words around a denial, or "" if it lacks these."""
    place = sum(word.end <= denial.start() for word in text.words)
    following = range(place, min(place + NEAREST, len(text.words)))
    preceding = range(place - 1, max(place - 1 - NEAREST, -1), -1)
    after = next((i for i in following if i in aligned), None)
    before = next((i for i in preceding if i in aligned), None)
    if after is None or (before is None and place):
        return ""
    start = other.words[aligned[before]].start if before is not None else 0
    return other.text[start : other.words[aligned[after]].end]


LEAST_SHARE = 0.22
"""The least share of the pieces of a statement's words that its passages and their titles have."""
LEAST_SHARE_ZH = 0.35
"""The same for the characters of a Chinese statement, of which any two texts share more."""
LEAST_NEW_SHARE = 0.1
"""The same for the words that the question does not have."""
LEAST_ODDS = 1.2
"""The log-odds above which a name or number is taken for one that replaced another."""
LEAST_ODDS_OF_DENIAL = 0.5
"""The log-odds above which a statement is taken to deny what the sources say."""


class Fault(StrEnum):
    """What is wrong with a statement."""

    NUMBER = "number"
    NAME = "name"
    NEGATION = "negation"
    ROLES = "roles"
    WORDS = "words"
    SELF = "self"


class Finding(NamedTuple):
    """A fault of a statement, and the words that show it ("" without any)."""

    fault: Fault
    words: str = ""


class CitedSources:
    """The sentences of the cited passages in reading order.

    Names may also come from the ``titles`` around them and from the ``question``.
    """

    def __init__(self, sentences: Sequence[str], titles: str = "", question: str = "") -> None:
        self._sentences = list(map(read_text, sentences))
        self.titles = read_text(titles)
        self.question = read_text(question)
        self._terms = self.titles.terms.union(*(sentence.terms for sentence in self._sentences))
        self._plain = simplify(" ".join((*sentences, titles))).casefold()
        self._asked = simplify(question).casefold()
        self.is_chinese = has_more_han(self._plain)

    @cached_property
    def places(self) -> SourcePlaces:
        """The places of the words and mentions of the sentences."""
        return SourcePlaces(self._sentences)

    def find_fault(self, statement: str) -> Finding | None:
        """Return the first fault of a statement, or None if the sources say it."""
        said = read_text(statement)
        if not (said.words or said.numbers) or _ABOUT_SOURCES.search(statement):
            return None
        if has_more_han(said.text) != self.is_chinese:
            return self.find_number(said) or self.find_name(said)
        return (
            self.find_number(said)
            or self.find_name(said)
            or self.find_denial(said)
            or self.find_misplacement(said)
            or self.find_strange_words(said)
        )

    def find_number(self, said: ReadText) -> Finding | None:
        for number in said.numbers:
            if self._has_number(number, said):
                continue
            return Finding(Fault.NUMBER, said.text[number.start : number.end].strip())
        return None

    def _has_number(self, number: Number, said: ReadText) -> bool:
        before, after = said.text[: number.start], said.text[number.end :]
        if _ENUMERATION.search(before) and _AFTER_ENUMERATION.match(after):
            return True
        if number.is_written and max(number.values) <= LARGEST_COUNT:
            # It may count, unless the passage counts the same things, and never to this number.
            thing = word_behind(number.end, said)
            counted = (
                n for s in self._sentences for n in s.numbers if word_behind(n.end, s) == thing
            )
            counts = [n.values for n in counted] if thing else []
            is_one = number.values == _ONE
            return is_one or not counts or any(values & number.values for values in counts)
        holders = [s for s in self._sentences if states_number(s, number.values)]
        if holders:
            thing = word_behind(number.end, said)
            return not thing or not all(_counts_other(thing, number, s) for s in holders)
        if states_number(self.question, number.values):
            return not _ASKS_YES_NO.search(self.question.text) or bool(_NOT_THIS.search(before))
        near = (b for s in self._sentences for other in s.numbers for b in other.values)
        return states_number(self.titles, number.values) or (
            bool(_ABOUT.search(before))
            and any(abs(a - b) <= _ROUNDING * abs(b) for b in near for a in number.values)
        )

    def find_name(self, said: ReadText) -> Finding | None:
        for word in said.words:
            if word.is_name and not self._has_name(word, said):
                return Finding(Fault.NAME, said.text[word.start : word.end])
        return None

    def _has_name(self, word: Word, said: ReadText) -> bool:
        shown = simplify(said.text[word.start : word.end]).casefold()
        if (
            word.term in self._terms
            or word.term in self.question.terms
            or shown in self._plain
            or shown in self._asked
            or shown in _TITLES_OF_PEOPLE
        ):
            return True
        is_chinese = has_more_han(said.text)
        if self.is_chinese != is_chinese and shown.isalpha() and not shown.isupper():
            # Names are translated; what has digits or signs is not.
            return not is_chinese or bool(HAN_CHARACTER.match(shown))
        if HAN_CHARACTER.match(shown):
            name = shown.lstrip(_BEFORE_NAMES_ZH)
            pairs = [a + b for a, b in pairwise(name)]
            held = sum(pair in self._plain or pair in self._asked for pair in pairs)
            return held * 2 >= len(pairs)
        if shown in MONTHS:
            month = frozenset([Decimal(MONTHS.index(shown) + 1)])
            return any(states_number(s, month) for s in self._sentences)
        return self._is_spelled_otherwise(shown) or self._is_shortened(said, word)

    def _is_spelled_otherwise(self, name: str) -> bool:
        return any(
            abs(len(term) - len(name)) <= 3
            and term[:3] == name[:3]
            and len(name) > 4
            and SequenceMatcher(None, term, name).ratio() >= _SAME_SPELLING
            for term in self._terms
        )

    def _is_shortened(self, said: ReadText, word: Word) -> bool:
        """Return True for "LTS" where the passage has "long term support", or the other way."""
        shown = said.text[word.start : word.end]
        if shown.isupper() and len(shown) > 1:
            letters = "".join(w[0] for w in re.findall(r"[^\W\d_]+", self._plain))
            return shown.casefold() in letters
        names = "".join(m[0][0] for m in re.finditer(r"\b[A-Z][a-z]+", said.text)).casefold()
        return any(
            len(term) > 1 and term in names and shown[0].casefold() in term
            for s in self._sentences
            for term in re.findall(r"\b[A-Z]{2,}\b", s.text)
            for term in (term.casefold(),)
        )

    def find_denial(self, said: ReadText) -> Finding | None:
        """Find a denial that the sources do not have, or the lack of one that they have."""
        if not self._sentences:
            return None
        denials = self.denials_in(said)
        if not denials and not any(map(denials_of, self._sentences)):
            return None
        if judge_polarity(said, self.places, self.question, denials) <= LEAST_ODDS_OF_DENIAL:
            return None
        if not denials:  # that of the sentence with most of its words
            denied = [s for s in self._sentences if denials_of(s)]
            denials = denials_of(max(denied, key=lambda s: covered_share(said, s)))
        return Finding(Fault.NEGATION, denials[0][0])

    def denials_in(self, said: ReadText) -> list[re.Match[str]]:
        """Return the denials of a statement, without those in words that the sources have too."""
        found = [(d, simplify(said.text[d.start() : d.start() + 2])) for d in denials_of(said)]
        # A mark before a verb such as 是 and 能 denies, whatever the passage has elsewhere.
        return [
            denial
            for denial, word in found
            if not HAN_CHARACTER.match(word) or word[1:] in _DENIED_ZH or word not in self._plain
        ]

    def find_misplacement(self, said: ReadText) -> Finding | None:
        """Find a name or number that stands where the sources have another one."""
        compared = Compared(said, self.places, self.titles, self.question)
        for first, second in compared.roles.turned:
            return Finding(Fault.ROLES, said.text[first.start : second.end])
        found = judge_placement(compared)
        if found is None or found[1] <= LEAST_ODDS:
            return None
        kind = Fault.NAME if found[0].kind == NAME else Fault.NUMBER
        return Finding(kind, said.text[found[0].start : found[0].end])

    def find_strange_words(self, said: ReadText) -> Finding | None:
        """Find a statement that has too little in common with its passages to be theirs."""
        words = {word.start: word for word in said.words}.values()
        least = LEAST_SHARE_ZH if has_more_han(said.text) else LEAST_SHARE
        if self._held_share(words, said) < least:
            return Finding(Fault.WORDS)
        new = [
            word
            for word in words
            if word.term not in self._asked and word.term not in self.question.terms
        ]
        if new and self._held_share(new, said) < LEAST_NEW_SHARE:
            return Finding(Fault.WORDS, said.text[new[0].start : new[0].end])
        return None

    def _held_share(self, words: Collection[Word], said: ReadText) -> float:
        """Return the share of words, and of a statement's numbers, that the sources have.

        A number or a word of letters counts as much as two Chinese characters.
        """
        total = 2.0 * len(said.numbers)
        held = 2.0 * sum(
            any(states_number(s, number.values) for s in self._sentences) for number in said.numbers
        )
        for word in words:
            pieces = list(pieces_of(said.text[word.start : word.end]))
            weight = len(pieces) if HAN_CHARACTER.match(word.term) else 2.0
            total += weight
            held += weight * sum(p in self._pieces for p in pieces) / max(len(pieces), 1)
        return held / total if total else 1.0

    @cached_property
    def _pieces(self) -> frozenset[str]:
        return frozenset(pieces_of(self._plain))


def _counts_other(thing: str, number: Number, sentence: ReadText) -> bool:
    """Return True if a sentence has a number of something else, and another one of a thing."""
    counted = [(word_behind(n.end, sentence), n.values & number.values) for n in sentence.numbers]
    own = {word for word, shared in counted if shared}
    return bool(own) and not own & {thing, ""} and any(word == thing for word, _ in counted)


_BEFORE_NAMES_ZH = "由被在于为对把跟与和"
"""Words of one character that the segmentation joins with a name after them."""
_DENIED_ZH = frozenset("是能会可要需应该得必用有在再曾位属由被将")
"""Characters before which a negation is a word of its own."""
_ONE = frozenset([Decimal(1)])
_ROUNDING = Decimal("0.06")
_SAME_SPELLING = 0.78
_ENUMERATION = re.compile(r"(?:^|\n)[\s(（]*$")
_AFTER_ENUMERATION = re.compile(r"\s*[.)）、:]\s")
_ABOUT = re.compile(
    r"(?:about|around|approximately|roughly|nearly|almost|over|than|some|约|近|超过|大约|左右|多达)\s*[$€£¥]?$",
    re.IGNORECASE,
)
_NOT_THIS = re.compile(
    r"(?:\bnot|\bthan|instead of|不是|而非|并非|不止)\W*(?:\w+\W+){0,2}$", re.IGNORECASE
)
_ASKS_YES_NO = re.compile(
    r"^\W*(?:is|are|was|were|do|does|did|can|could|has|have|had|will|would|should|must|may)\b|[吗嗎]|是否|是不是",
    re.IGNORECASE,
)
_TITLES_OF_PEOPLE = frozenset(
    "mr mrs ms dr sir lord lady king queen prince princess president professor general captain"  # noqa: SIM905
    " colonel saint pope emperor chapter section figure table".split()
)
_ABOUT_SOURCES = re.compile(
    r"\b(?:passages?|documents?|sources?|texts?|context|manual|excerpts?)\b[^.]{0,30}\b(?:not|no)\b"
    r"[^.]{0,12}\b(?:say|state|mention|contain|includ|specif|give|provid|describ|explain|tell|answer)"
    r"|(?:段落|文档|文檔|文中|资料|資料|原文|上下文).{0,6}(?:没有|沒有|未|不)"
    r".{0,4}(?:提|说|說|写|寫|给|給|包含|涉及|回答)",
    re.IGNORECASE,
)
"""A statement that the passages do not say something: they need not say that themselves."""


FENCE = "```"
_ROW = re.compile(r"\|.+\|")
_CODE = re.compile(r"\s*(?:(?:[-*+]|\d{1,3}[.)])[ \t]+)?```")
LEAST_CODE = 0.8
"""Code is said by passages that have this share of its distinct words."""

LEAST_REPAIRED = 0.8
"""A passage with a sentence that has this share of a statement's words may be cited for it."""
_MOST_NEAREST = 3
_OF_ITSELF = re.compile(
    r"\b(?:as an? (?:AI|artificial intelligence|(?:large )?language model)\b[^,.]*"
    r"|I(?:'m| am) (?:just |only )?an? (?:AI|assistant|(?:large )?language model)|my training data"
    r"|I (?:cannot|can't|am unable to) (?:assist|help|answer|provide|browse|access)"
    r"|I(?:'m| am) (?:sorry|happy to help|here to help)|I don't have (?:access|enough information))"
    r"|作为(?:一个|一名)?(?:AI|人工智能|大?语言模型|大模型|智能助手)[^，。]*|我是一个?(?:AI|人工智能|语言模型|大模型)"
    r"|我(?:无法|不能)(?:回答|提供|访问|协助)|很抱歉|我的训练数据",
    re.IGNORECASE,
)


Row = list[tuple[str, str]]
"""The cells of a row, each behind the name of its column."""


def is_code(statement: str) -> bool:
    """Return True for code in a fence."""
    return _CODE.match(statement) is not None


class StatementCheck:
    """Checks the statements of one reply against the passages that were given to the model.

    What was compared once is known: a streamed reply is read twice, as it comes and as a whole.
    """

    def __init__(self, passages: Mapping[int, PromptPassage], *, question: str = "") -> None:
        self._passages = passages
        self._question = question
        self._rows: dict[str, Row] = {}
        self._compare = cache(self._find_fault_in)
        self._cite = cache(self._read_cited)
        self._read = cache(self._read_passage)

    def find_fault(self, statement: str, cited: Sequence[int]) -> Finding | None:
        """Return the fault of a statement that cites passages by number, or None.

        Without citations, any passage may say it, or the nearest ones together.
        """
        if match := _OF_ITSELF.search(statement):
            said = match[0].casefold()
            if not any(said in p.chunk.text.casefold() for p in self._passages.values()):
                return Finding(Fault.SELF, match[0])
        if cited:
            return self._compare(statement, tuple(cited))
        nearest = self._nearest(statement)
        first: Finding | None = None
        for number in nearest:
            finding = self._compare(statement, (number,))
            if finding is None:
                return None
            first = first or finding
        return self._compare(statement, tuple(nearest)) and first

    def read_row(self, row: str, columns: Sequence[str]) -> str:
        """Return a row as a statement, with the names of its columns if the passages have them.

        Its cells are then compared with those of tables, too.
        """
        cells, names = split_row(row), set(terms(" ".join(columns)))
        texts = (p.chunk.context + p.chunk.text + p.rows for p in self._passages.values())
        is_named = names <= {term for text in texts for term in held_terms(text, names)}
        statement = name_cells(columns, cells) if is_named else row
        self._rows[statement] = pair_cells(columns, cells)
        return statement

    def find_passage(self, statement: str) -> int | None:
        """Return the number of a passage that says nearly every word of a statement, or None."""
        words = read_text(statement)
        for number in self._nearest(statement):
            if is_code(statement):
                if self._compare(statement, (number,)) is None:
                    return number
                continue
            best = max(
                (covered_share(words, read_text(s)) for s in self._read(number)[0]), default=0.0
            )
            if best >= LEAST_REPAIRED and self._compare(statement, (number,)) is None:
                return number
        return None

    def _find_fault_in(self, statement: str, numbers: tuple[int, ...]) -> Finding | None:
        chunks = [self._passages[number].chunk for number in numbers]
        if is_code(statement):
            words = set(terms("\n".join(statement.strip().split("\n")[1:])))
            said = held_terms("\n".join(chunk.text for chunk in chunks), words)
            return None if len(said) >= LEAST_CODE * len(words) else Finding(Fault.WORDS, "")
        if row := self._rows.get(statement):
            known = [pair_cells(*read) for chunk in chunks for read in read_rows(chunk)]
            if fault := find_cell_fault(row, known):
                return fault
        return self._cite(numbers).find_fault(statement)

    def _read_cited(self, numbers: tuple[int, ...]) -> CitedSources:
        read = [self._read(number) for number in numbers]
        sentences = [sentence for own, _ in read for sentence in own]
        titles = " / ".join(titles for _, titles in read)
        return CitedSources(sentences, titles, self._question)

    def _read_passage(self, number: int) -> tuple[list[str], str]:
        passage = self._passages[number]
        chunk = passage.chunk
        sentences = [show_sentence(chunk.text_at(span)) for span in sentences_of(chunk)]
        sentences += (name_cells(columns, cells) for columns, cells in read_rows(chunk))
        sentences += passage.rows.split(" / ")
        titles = " / ".join((chunk.document_title, *chunk.headings))
        return [s for s in sentences if s], titles

    def _nearest(self, statement: str) -> list[int]:
        asked = set(terms(statement)) - STOP_WORDS
        shared = {
            number: len(held_terms(passage.chunk.text, asked))
            for number, passage in self._passages.items()
        }
        return sorted(shared, key=lambda number: (-shared[number], number))[:_MOST_NEAREST]


def is_row(statement: str) -> bool:
    """Return True for a row of a table."""
    return _ROW.fullmatch(statement.strip()) is not None


def name_cells(columns: Sequence[str], cells: Sequence[str]) -> str:
    """Return the cells of a row with the names of their columns, as "Part: fuse; Price: 2"."""
    named = pair_cells(columns, cells)
    return "; ".join(f"{column}: {cell}" if column else cell for column, cell in named)


def read_rows(chunk: Chunk) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Yield the rows in a chunk: the names of their columns, and their cells."""
    columns: tuple[str, ...] = ()
    for block in chunk.blocks:
        if block.kind is BlockKind.TABLE:
            columns = split_row(block.label)
        elif block.kind is BlockKind.ROW and columns and chunk.span.contains(block.span):
            yield columns, split_row(chunk.text_at(block.span))


def find_cell_fault(row: Row, known: Sequence[Row]) -> Finding | None:
    """Return the fault of a row with a cell that tables have in other rows or columns alone.

    The first cell names the subject of the row; a cell that no table has is not judged. ``known``
    are the rows of the tables.
    """

    def fold(row: Row) -> Row:
        return [(column.casefold(), cell.casefold()) for column, cell in row]

    def gives(row: Row, column: str, cell: str) -> bool:
        named = [value for name, value in row if name == column]
        return cell in (named or [value for _, value in row])

    tables = [fold(other) for other in known]
    (_, subject), *others = fold(row)
    about = [other for other in tables if any(cell == subject for _, cell in other)]
    for place, (column, cell) in enumerate(others, start=1):
        is_known = about and any(cell == value for other in tables for _, value in other)
        if is_known and not any(gives(other, column, cell) for other in about):
            return Finding(Fault.NUMBER, row[place][1])
    return None


def pair_cells(columns: Sequence[str], cells: Sequence[str]) -> Row:
    """Return the cells of a row with the names of their columns, without empty cells."""
    named = zip(columns, cells, strict=False)
    return [(column, " ".join(cell.split())) for column, cell in named if cell]
