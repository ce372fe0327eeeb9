"""Judge whether the sources say of each name and number what a statement says of it.

A statement may have only names of its passage and still replace one by another, or turn who does
what to whom. For each mention these features compare how near the other words of the
statement are to it in the sources with how near they are to other mentions of its kind, and the
order of the words. Boosted trees, trained in `training/grounding/`, make log-odds of them.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from knotwork._synthesis.grounding.aligned_mentions import (
    MOST_MENTIONS,
    ROLE_FEATURES,
    RoleReader,
    place_in_order,
)
from knotwork._synthesis.grounding.source_places import (
    Grid,
    Item,
    Nearness,
    Place,
    SourcePlaces,
    read_model,
)
from knotwork._synthesis.grounding.texts import NAME, Mention, ReadText
from knotwork._text.chinese import simplify

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
        return {
            **self._describe(mention, best),
            **self._rivalry(number, one, near, broad, best),
            **self._coverage(one, own, best),
            **self._order(one, best),
            **self._other_agent(number, best),
            **self._as_asked(mention),
            **self._by_rules(mention),
            **self.roles.features(mention),
            **self._beside(mention, own),
            "items": (~one.inside).sum(),
            "near_others": max(
                (near[o].max() for i, o in enumerate(self.own) if i != number and len(o)),
                default=-1.0,
            ),
        }

    def _describe(self, mention: Mention, best: int) -> dict[str, float]:
        shown = simplify(self._said.text[mention.start : mention.end]).casefold()
        return {
            "is_chinese": self._said.is_chinese,
            "is_name": mention.kind == NAME,
            "terms": len(mention.terms),
            "in_question": bool(shown) and shown in self._asked,
            "has_question": bool(self._asked),
            "is_whole": self._places[best].shown == shown,
            "position": mention.start / max(len(self._said.text), 1),
            "said_by": is_agent(self._said.text[: mention.start]),
            "held_by": is_agent(self._text_before(self._places[best])),
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

    def _coverage(self, one: _Mention, own: Numbers, best: int) -> dict[str, float]:
        """Compare the words that the sentence of a place has with those of other sentences."""
        cover = self._held @ one.weights / one.total
        return {
            "held": cover[self._sentence[best]],
            "held_most": cover.max(),
            "held_gain": cover.max() - cover[self._sentence[own]].max(),
        }

    def _order(self, one: _Mention, best: int) -> dict[str, float]:
        """Compare the sides of a mention that the words of its sentence are on."""
        known = ~one.inside & self._nearness.same_sentence[best]
        agrees = (self._nearness.offsets[best] < 0) == (self._positions < one.start)
        weights = self._weights[known]
        total = weights.sum()
        before, after = self._neighbours(one, best)
        return {
            "order": float(weights @ agrees[known] / total) if total else -1.0,
            "before": before,
            "after": after,
        }

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
        words = self._said.words
        return (
            [word.term for word in words if word.end <= mention.start][-1:],
            [word.term for word in words if word.start >= mention.end][:1],
        )

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

    def _by_rules(self, mention: Mention) -> dict[str, float]:
        """Return what the comparison with sentences in nearly the same words finds."""
        aligned, is_displaced = place_in_order(mention, self._said, self._sources.sentences)
        asked = place_in_order(mention, self._said, [self._question])[0] if self._asked else -1.0
        return {"aligned": aligned, "is_displaced": is_displaced, "aligned_asked": asked}


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
