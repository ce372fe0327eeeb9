"""Compare who does something to whom in a statement with the same words in its sources.

"Acme bought Bolt" and "Bolt was bought by Acme" say the same, "Bolt bought Acme" does not. Of two
names and a word for what one does to the other, the voice and the order show which of them acts.
Where they do not, as in "Acme and Bolt bought", the roles stay unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

from knotwork._synthesis.grounding.source_places import Item, Place, SourcePlaces
from knotwork._synthesis.grounding.texts import Mention, ReadText

ROLE_FEATURES = (
    "acts", "held_acts", "roles_agree", "act_strength", "act_span", "act_step", "act_place",
    "names_nearer", "said_of", "held_of", "held_breaks",
)  # fmt: skip
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
_BREAK = re.compile(r"[,;:，；：、()（）]|\b(?:and|but|which|who|that|while)\b", re.IGNORECASE)
_OF = re.compile(r"\bof\b|['’]s\b|[的之]", re.IGNORECASE)


class Span(NamedTuple):
    """Where a name or a word stands in a text."""

    start: int
    end: int


class Clause(NamedTuple):
    """Who acts: 1 for the first of two names, 0 for the second; and how the text says so.

    ``order`` is 0 if the word stands between the names, 1 behind and 2 before them.
    """

    first_acts: float
    order: int
    is_of: bool
    breaks: int


def read_clause(text: str, first: Span, second: Span, act: Span) -> Clause:
    """Return which of two names acts, where the first stands before the second."""
    between = text[first.end : second.start]
    is_of = bool(_OF.search(between))
    if act.start >= second.end:
        breaks = len(_BREAK.findall(text[second.end : act.start]))
        return Clause(_when_behind(between), 1, is_of, breaks)
    if act.end <= first.start:
        breaks = len(_BREAK.findall(text[act.end : first.start]))
        is_by = bool(_BY.search(text[act.end : first.start]))
        return Clause(1.0 if is_by else UNKNOWN, 2, is_of, breaks)
    before, after = text[first.end : act.start], text[act.end : second.start]
    breaks = len(_BREAK.findall(before)) + len(_BREAK.findall(after))
    if _BY.search(after) or _DIRECTLY_BY.match(after):
        return Clause(0.0, 0, is_of, breaks)
    if _BE.search(before) or _PASSIVE_ZH.search(before):
        return Clause(UNKNOWN, 0, is_of, breaks)
    if _RELATIVE.search(before):
        return Clause(UNKNOWN, 0, is_of, breaks + 1)
    return Clause(1.0, 0, is_of, breaks)


def _when_behind(between: str) -> float:
    """Return which of two names acts, where both stand before the word for what it does."""
    if _PASSIVE_ZH.search(between) or _RELATIVE.search(between):
        return 0.0
    if _TAKING_ZH.search(between):
        return 1.0
    return UNKNOWN


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
        self._names = names
        self._found: dict[int, dict[str, float]] = {}
        for index in range(len(names) - 1):
            self._read_pair(index, index + 1)

    def features(self, mention: Mention) -> dict[str, float]:
        """Return the `ROLE_FEATURES` of a name."""
        return self._found.get(mention.start) or dict.fromkeys(ROLE_FEATURES, -1.0)

    def _read_pair(self, one: int, other: int) -> None:
        (first, firsts), (second, seconds) = self._names[one], self._names[other]
        acts = [a for a in self._acts if first.end <= a.start < second.start]
        if not acts:
            acts = [a for a in self._acts if a.start >= second.end][:_AFTER_PAIR]
        found = min(
            (
                (held.span, -act.strength, order, act, held)
                for order, act in enumerate(acts)
                for held in self._held(act, firsts, seconds)
            ),
            key=lambda f: f[:3],
            default=None,
        )
        if found is None:
            return
        act, held = found[3], found[4]
        here = Span(act.start, self._ends[act.start])
        said = read_clause(
            self._said.text, Span(first.start, first.end), Span(second.start, second.end), here
        )
        for mention, place, is_first in ((first, held.first, True), (second, held.second, False)):
            acts_here = said.first_acts if is_first else 1 - said.first_acts
            acts_there = held.clause.first_acts if is_first else 1 - held.clause.first_acts
            known = UNKNOWN not in (acts_here, acts_there)
            row = {
                "acts": acts_here,
                "held_acts": acts_there,
                "roles_agree": float(acts_here == acts_there) if known else UNKNOWN,
                "act_strength": act.strength,
                "act_span": held.span,
                "act_step": abs(place.position - held.position),
                "act_place": held.clause.order,
                "names_nearer": self._names_between(place, held.position),
                "said_of": said.is_of,
                "held_of": held.clause.is_of,
                "held_breaks": held.clause.breaks,
            }
            before = self._found.get(mention.start)
            if before is None or row["act_span"] < before["act_span"]:
                self._found[mention.start] = row

    def _held(
        self, act: Item, firsts: Sequence[Place], seconds: Sequence[Place]
    ) -> Iterator[_Held]:
        """Yield the clauses of the sources with two names and the word of an item."""
        pairs = product(act.matches, firsts[:_MOST_PLACES], seconds[:_MOST_PLACES])
        for position, first, second in pairs:
            number = self._sources.sentence_of[position]
            if not number == first.sentence == second.sentence:
                continue
            places = sorted((position, first.position, second.position))
            spans = self._spans(first), self._spans(second)
            word = self._sources.word_at(position)
            if word is None:
                continue
            there = Span(word.start, word.end)
            text = self._sources.sentences[number].text
            if any(s.start <= there.start < s.end for s in spans):
                continue
            if spans[0].start == spans[1].start:
                continue
            is_same = spans[0].start < spans[1].start
            before, behind = sorted(spans)
            clause = read_clause(text, before, behind, there)
            if not is_same:
                clause = clause._replace(first_acts=1 - clause.first_acts)
            yield _Held(clause, places[2] - places[0], position, first, second)

    @staticmethod
    def _spans(place: Place) -> Span:
        return Span(place.start, place.start + max(len(place.shown), 1))

    def _names_between(self, place: Place, position: int) -> float:
        low, high = sorted((place.position, position))
        return float(
            sum(
                low < other.position < high
                for other in self._sources.mentions
                if other.sentence == place.sentence
            )
        )


class _Held(NamedTuple):
    clause: Clause
    span: int
    position: int
    first: Place
    second: Place
