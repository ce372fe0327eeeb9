"""Compare names and numbers with those of a sentence, and who does something to whom.

Names and numbers are compared with those of a sentence in nearly the same words. "Acme bought Bolt"
and "Bolt was bought by Acme" say the same, "Bolt bought Acme" does not. Of two names and a word for
what one does to the other, the voice and the order show which of them acts. Where they do not, as
in "Acme and Bolt bought", the roles stay unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise, product

from knotwork._synthesis.grounding.source_places import Item, Place, SourcePlaces
from knotwork._synthesis.grounding.texts import (
    Mention,
    ReadText,
    Word,
    align,
)
from knotwork.records import Span

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


def addition_to(sentence: ReadText, sentences: Sequence[ReadText]) -> list[ReadText]:
    """Return the next sentence if it is as short as "The default is 128."."""
    after = sentences[sentences.index(sentence) + 1 :][:1]
    return [s for s in after if len(s.words) <= LONGEST_ADDITION]


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
    for sentence in sentences:
        if sum(w.term in sentence.terms for w in rest) < FEWEST_PLACED:
            continue
        aligned = align(rest, sentence.words)
        share = sum(rest[i].start in plain for i in aligned) / len(plain)
        if share > best[0] and share >= LEAST_PLACED and len(aligned) >= FEWEST_PLACED:
            is_wrong = _stands_elsewhere(mention, rest, aligned, sentence) and not any(
                mention.terms <= held.terms for held in addition_to(sentence, sentences)
            )
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
        pairs = product(act.matches, firsts[:_MOST_PLACES], seconds[:_MOST_PLACES])
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
