"""Find what is wrong with a statement, given the sentences that it cites.

Its numbers and names must stand there, it may not deny what they affirm or affirm what they deny,
two names may not have changed places, and enough of its words must be theirs. No model is asked, so
the check finds contradictions in words, not those that take knowledge of the world. A statement in
another language than the sentences is only checked for numbers and for names that are written the
same in both.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from difflib import SequenceMatcher
from enum import StrEnum
from itertools import combinations, pairwise
from typing import NamedTuple

from knotwork._synthesis.grounding.denials import (
    NEAREST,
    denials_of,
    find_one_sided_denial,
    is_negative,
)
from knotwork._synthesis.grounding.texts import (
    HAN_CHARACTER,
    LARGEST_COUNT,
    NAME,
    Mention,
    ReadText,
    Word,
    align,
    covered_share,
    kind_of,
    read_text,
    states_number,
    word_after,
)
from knotwork._text.chinese import simplify
from knotwork._text.dates import MONTHS
from knotwork._text.numbers import Number

LEAST_SHARE = 0.34
"""The least share of a statement's words that its passages contain."""
LEAST_NEW_SHARE = 0.25
"""The same for the words that the question does not have."""
LEAST_FOLLOWED = 0.5
"""A statement follows the sentence that has most of its words, if it has this share of them."""
FAR_SHARE = 0.6
"""A sentence with less than this part of the best share speaks about something else."""
LEAST_ALIGNED = 0.6
"""The share of a statement's words in the order of a sentence, from which denials are compared."""
LEAST_NEAR = 0.3
NEAR_SHARE = 0.9
"""Otherwise all sentences are compared that have the first share of its words, and this part of the
best share."""
LEAST_PLACED = 0.8
"""The share of a statement's words other than names and numbers that a sentence has in the same
order, from which names and numbers are compared by their places."""
FEWEST_PLACED = 3
LONGEST_ADDITION = 4
"""A sentence of so few words speaks about what the one before it is about."""
LEAST_BETWEEN = 0.5
"""The share of the words between two names, from which the order of the names is compared."""


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


def find_fault(
    statement: str, sources: Sequence[str], *, titles: str = "", question: str = ""
) -> Finding | None:
    """Return the first fault of a statement, or None if the sources say it.

    ``sources`` are the sentences of the cited passages in reading order. Names may also come from
    the ``titles`` around them and from the question.
    """
    said = read_text(statement)
    if not (said.words or said.numbers) or _ABOUT_SOURCES.search(statement):
        return None
    cited = _Cited(
        [read_text(source) for source in sources], read_text(titles), read_text(question)
    )
    if said.is_chinese != cited.is_chinese:
        return cited.find_number(said) or cited.find_name(said)
    return (
        cited.find_number(said)
        or cited.find_name(said)
        or cited.find_denial(said)
        or cited.find_reversal(said)
        or cited.find_misplacement(said)
        or cited.find_strange_words(said)
    )


class _Cited:
    """The cited sentences, with the titles around them and the question."""

    def __init__(self, sentences: Sequence[ReadText], titles: ReadText, question: ReadText) -> None:
        self._sentences = sentences
        self._titles = titles
        self._question = question
        self._terms = titles.terms.union(*(sentence.terms for sentence in sentences))
        self._plain = simplify(" ".join(s.text for s in (*sentences, titles))).casefold()
        self._asked = simplify(question.text).casefold()
        self.is_chinese = sum(s.is_chinese for s in sentences) * 2 > len(sentences)

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
            return number.values == _ONE or self._may_count(number, said)
        holders = [s for s in self._sentences if states_number(s, number.values)]
        if holders:
            return not self._is_elsewhere(number, said, holders)
        if states_number(self._question, number.values):
            return not _ASKS_YES_NO.search(self._question.text) or bool(_NOT_THIS.search(before))
        return states_number(self._titles, number.values) or (
            bool(_ABOUT.search(before)) and self._rounds(number)
        )

    def _rounds(self, number: Number) -> bool:
        """Return True if the passages have a number near this one."""
        held = [b for s in self._sentences for other in s.numbers for b in other.values]
        return any(abs(a - b) <= _ROUNDING * abs(b) for a in number.values for b in held)

    def _may_count(self, number: Number, said: ReadText) -> bool:
        """Return False if the passage counts the same things, and never to this number."""
        thing = word_after(number, said)
        counts = [n.values for s in self._sentences for n in s.numbers if word_after(n, s) == thing]
        return not thing or not counts or any(values & number.values for values in counts)

    def _is_elsewhere(self, number: Number, said: ReadText, holders: Sequence[ReadText]) -> bool:
        """Return True if the statement follows a sentence with another number of the same kind."""
        shares = [covered_share(said, s) for s in self._sentences]
        best = max(shares)
        place = self._sentences[shares.index(best)]
        if best < LEAST_FOLLOWED or states_number(self._question, number.values):
            return False
        if place in holders:
            return self._counts_other_things(number, said, place)
        if any(s in holders for s in self._addition_to(place)):
            return False
        if max(covered_share(said, holder) for holder in holders) > FAR_SHARE * best:
            return False
        kind = kind_of(number, said.text)
        stated = frozenset().union(*(n.values for n in said.numbers))
        return any(
            kind_of(n, place.text) == kind and not n.is_written and not n.values & stated
            for n in place.numbers
        )

    @staticmethod
    def _counts_other_things(number: Number, said: ReadText, place: ReadText) -> bool:
        """Return True if a sentence has the number of something else, and another one of this."""
        thing = word_after(number, said)
        counted = {word_after(n, place) for n in place.numbers if n.values & number.values}
        return (
            bool(thing)
            and thing not in counted
            and "" not in counted
            and any(word_after(n, place) == thing for n in place.numbers)
        )

    def _addition_to(self, sentence: ReadText) -> list[ReadText]:
        """Return the next sentence if it is as short as "The default is 128."."""
        after = self._sentences[self._sentences.index(sentence) + 1 :][:1]
        return [s for s in after if len(s.words) <= LONGEST_ADDITION]

    def find_name(self, said: ReadText) -> Finding | None:
        for word in said.words:
            if word.is_name and not self._has_name(word, said):
                return Finding(Fault.NAME, said.text[word.start : word.end])
        return None

    def _has_name(self, word: Word, said: ReadText) -> bool:
        shown = simplify(said.text[word.start : word.end]).casefold()
        if (
            word.term in self._terms
            or word.term in self._question.terms
            or shown in self._plain
            or shown in self._asked
            or shown in _TITLES_OF_PEOPLE
        ):
            return True
        if self.is_chinese != said.is_chinese and shown.isalpha() and not shown.isupper():
            # Names are translated; what has digits or signs is not.
            return not said.is_chinese or bool(HAN_CHARACTER.match(shown))
        if HAN_CHARACTER.match(shown):
            return self._has_parts(shown.lstrip(_BEFORE_NAMES_ZH))
        if shown in MONTHS:
            month = frozenset([Decimal(MONTHS.index(shown) + 1)])
            return any(states_number(s, month) for s in self._sentences)
        return self._is_spelled_otherwise(shown) or self._is_shortened(said, word)

    def _has_parts(self, name: str) -> bool:
        """Return True if the passage has most pairs of characters of a Chinese word."""
        pairs = [a + b for a, b in pairwise(name)]
        return sum(pair in self._plain or pair in self._asked for pair in pairs) * 2 >= len(pairs)

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
        """Find a denial that the sentence the statement follows does not have, or one it lacks."""
        if not self._sentences:
            return None
        denials = [d for d in denials_of(said) if not self._is_part_of_word(d, said.text)]
        alignments = [(align(said.words, s.words), s) for s in self._sentences]
        most = max(len(aligned) for aligned, _ in alignments)
        if most >= max(LEAST_ALIGNED * len(said.words), _FEWEST_WORDS):
            one_sided = [
                find_one_sided_denial(denials, said, sentence, aligned)
                for aligned, sentence in alignments
                if len(aligned) == most
            ]
            if all(one_sided):
                return Finding(Fault.NEGATION, one_sided[0] or "")
        shares = [(covered_share(said, s), s) for s in self._sentences]
        best = max(share for share, _ in shares)
        near = [s for share, s in shares if share >= max(NEAR_SHARE * best, LEAST_NEAR)]
        if denials and near and not any(map(is_negative, near)):
            return Finding(Fault.NEGATION, denials[0][0])
        return None

    def _is_part_of_word(self, mark: re.Match[str], text: str) -> bool:
        """Return True if the passage too has the Chinese word that a mark begins."""
        word = simplify(text[mark.start() : mark.start() + 2])
        return bool(HAN_CHARACTER.match(word)) and word in self._plain

    def find_misplacement(self, said: ReadText) -> Finding | None:
        """Find a name or number that stands where the sentence has another one."""
        mentions = said.mentions[:_MOST_MENTIONS]
        plain = {
            w.start for w in said.words if not any(m.start <= w.start < m.end for m in mentions)
        }
        for mention in mentions:
            rest = [w for w in said.words if not mention.start <= w.start < mention.end]
            if len(rest) < FEWEST_PLACED or not plain:
                continue
            faults = []
            for sentence in self._sentences:
                aligned = align(rest, sentence.words)
                share = sum(rest[i].start in plain for i in aligned) / len(plain)
                if share >= LEAST_PLACED and len(aligned) >= FEWEST_PLACED:
                    is_wrong = _stands_elsewhere(mention, rest, aligned, sentence) and not any(
                        mention.terms <= held.terms for held in self._addition_to(sentence)
                    )
                    faults.append((share, is_wrong))
            if faults and max(faults, key=lambda f: f[0])[1]:
                fault = Fault.NUMBER if mention.kind != NAME else Fault.NAME
                return Finding(fault, said.text[mention.start : mention.end])
        return None

    def find_reversal(self, said: ReadText) -> Finding | None:
        """Find two names on both sides of the same words, but in the other order."""
        mentions = [m for m in said.mentions if m.kind == NAME][:_MOST_MENTIONS]
        for sentence in self._sentences:
            others = [m for m in sentence.mentions if m.kind == NAME]
            for first, second in combinations(mentions, 2):
                firsts = [m for m in others if _is_same(m, first)]
                seconds = [m for m in others if _is_same(m, second)]
                if len(firsts) != 1 or len(seconds) != 1:
                    continue
                others_in_order = sorted((firsts[0], seconds[0]), key=lambda m: m.start)
                if _is_turned(
                    said,
                    (first, second),
                    sentence,
                    (others_in_order[0], others_in_order[1]),
                    same_order=others_in_order[0] is firsts[0],
                ):
                    return Finding(Fault.ROLES, said.text[first.start : second.end])
        return None

    def find_strange_words(self, said: ReadText) -> Finding | None:
        strange = [word for word in said.words if not self._has_word(word)]
        numbers = len(said.numbers)
        new = [
            word
            for word in said.words
            if word.term not in self._asked and word.term not in self._question.terms
        ]
        if len(strange) > (1 - LEAST_SHARE) * (len(said.words) + numbers):
            return Finding(Fault.WORDS)
        if new and sum(w in strange for w in new) > (1 - LEAST_NEW_SHARE) * (len(new) + numbers):
            return Finding(Fault.WORDS, said.text[new[0].start : new[0].end])
        return None

    def _has_word(self, word: Word) -> bool:
        if word.term in self._terms:
            return True
        if not HAN_CHARACTER.match(word.term):
            return False
        return (
            word.term in self._plain
            or (len(word.term) > 1 and self._has_parts(word.term))
            or (len(word.term) == 2 and any(c in self._plain for c in word.term))
        )


_BEFORE_NAMES_ZH = "由被在于为对把跟与和"
"""Words of one character that the segmentation joins with a name after them."""
_ONE = frozenset([Decimal(1)])
_ROUNDING = Decimal("0.06")
_SAME_SPELLING = 0.78
_FEWEST_WORDS = 2
_MOST_MENTIONS = 12
"""The names and numbers of a statement whose places are compared."""
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


def _is_same(one: Mention, other: Mention) -> bool:
    return one.terms <= other.terms or other.terms <= one.terms


_SYMMETRIC = re.compile(
    r"\b(?:and|or|with|between|same|equal\w*|versus|vs|met|married|both)\b|[,;，；和與与及或、]|相同|之间|之間",
    re.IGNORECASE,
)
_PASSIVE = re.compile(r"\b(?:is|are|was|were|been|being)\b.*\bby\b|被|受", re.IGNORECASE)
_TURNING = re.compile(r"\b(?:by|of)\b|['’]s\b|被|由|受|为.{1,12}所|為.{1,12}所|的", re.IGNORECASE)
"""Words that turn the order of two names without a change of meaning."""


def _is_turned(
    said: ReadText,
    pair: tuple[Mention, Mention],
    sentence: ReadText,
    others: tuple[Mention, Mention],
    *,
    same_order: bool,
) -> bool:
    """Return True if two texts say the same between two names, but of the other one.

    The names are in the order of each text. Either they changed places, or the verb its voice.
    """
    between, held = (
        {w.term for w in text.words if a.end <= w.start and w.end <= b.start}
        for text, (a, b) in ((said, pair), (sentence, others))
    )
    parts = [text.text[a.end : b.start] for text, (a, b) in ((said, pair), (sentence, others))]
    if not between or len(between & held) < LEAST_BETWEEN * max(len(between), len(held)):
        return False
    if any(_SYMMETRIC.search(part) for part in parts):
        return False
    if same_order:
        return bool(_PASSIVE.search(parts[0])) != bool(_PASSIVE.search(parts[1]))
    return bool(_TURNING.search(parts[0])) == bool(_TURNING.search(parts[1]))


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
