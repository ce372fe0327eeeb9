"""Compare the words, names and denials of a statement with those of the sentences that it cites.

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
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from itertools import pairwise, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from knotwork._inference.boosted_trees import Trees, parse_trees
from knotwork._synthesis.grounding.texts import NAME, Mention, ReadText, Word, align, states_number
from knotwork._text.chinese import HAN_CHARACTER, simplify
from knotwork._text.relation_words import base_form, read_lexicon
from knotwork.errors import ConfigError
from knotwork.records import Span

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
