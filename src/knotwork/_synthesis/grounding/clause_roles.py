"""Compare who does something to whom in a statement with the same words in its sources.

"Acme bought Bolt" and "Bolt was bought by Acme" say the same, "Bolt bought Acme" does not. Of two
names and a word for what one does to the other, the voice and the order show which of them acts.
Where they do not, as in "Acme and Bolt bought", the roles stay unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise, product
from typing import NamedTuple

from knotwork._synthesis.grounding.source_places import Item, Place, SourcePlaces
from knotwork._synthesis.grounding.texts import Mention, ReadText
from knotwork.records import Span

ROLE_FEATURES = ("acts", "held_acts", "roles_agree", "act_strength")
"""In a feature, -1 means that no clause of the sources has both names and the word."""

UNKNOWN = 0.5
"""The role of a name that may act or be acted on."""
_MOST_PLACES = 6
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
_PASSIVE_ZH = re.compile("[被由受遭]|[为為](?=.{1,20}所)")
_TAKING_ZH = re.compile("[把将將]")


def who_acts(text: str, first: Span, second: Span, act: Span) -> float:
    """Return 1 if the first of two names acts, 0 if the second does, where the first is before it.

    The act stands between the names, or behind or before both.
    """
    if act.start >= second.end:
        return _when_behind(text[first.end : second.start])
    if act.end <= first.start:
        return 1.0 if _BY.search(text[act.end : first.start]) else UNKNOWN
    before, after = text[first.end : act.start], text[act.end : second.start]
    if _BY.search(after) or _DIRECTLY_BY.match(after):
        return 0.0
    if _BE.search(before) or _PASSIVE_ZH.search(before) or _RELATIVE.search(before):
        return UNKNOWN
    return 1.0


def _when_behind(between: str) -> float:
    """Return which of two names acts, where both stand before the word for what it does."""
    if _PASSIVE_ZH.search(between) or _RELATIVE.search(between):
        return 0.0
    if _TAKING_ZH.search(between):
        return 1.0
    return UNKNOWN


class _Roles(NamedTuple):
    """The features of a name, and how far from the other one the sources have it."""

    span: int
    features: dict[str, float]


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
        self._found: dict[int, _Roles] = {}
        for one, other in pairwise(names):
            self._read_pair(one, other)

    def features(self, mention: Mention) -> dict[str, float]:
        """Return the `ROLE_FEATURES` of a name."""
        found = self._found.get(mention.start)
        return found.features if found else dict.fromkeys(ROLE_FEATURES, -1.0)

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
        for mention, *acting in ((first, said, held), (second, 1 - said, 1 - held)):
            row = dict(zip(ROLE_FEATURES, (*acting, agree, act.strength), strict=True))
            if mention.start not in self._found or span < self._found[mention.start].span:
                self._found[mention.start] = _Roles(span, row)

    def _held(
        self, act: Item, firsts: Sequence[Place], seconds: Sequence[Place]
    ) -> Iterator[tuple[int, float]]:
        """Yield how far apart two names and a word are in each clause of the sources with them, and
        whether the first name acts there.
        """
        pairs = product(act.matches, firsts[:_MOST_PLACES], seconds[:_MOST_PLACES])
        for position, first, second in pairs:
            number, word = self._sources.sentence_of[position], self._sources.word_at(position)
            if word is None or not number == first.sentence == second.sentence:
                continue
            there, spans = Span(word.start, word.end), (self._span(first), self._span(second))
            if spans[0].start == spans[1].start or any(
                s.start <= there.start < s.end for s in spans
            ):
                continue
            before, behind = sorted(spans)
            acts = who_acts(self._sources.sentences[number].text, before, behind, there)
            places = sorted((position, first.position, second.position))
            yield places[2] - places[0], acts if spans[0] < spans[1] else 1 - acts

    @staticmethod
    def _span(place: Place) -> Span:
        return Span(place.start, place.start + max(len(place.shown), 1))
