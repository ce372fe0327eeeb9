"""Resolve pronouns to the likeliest name of earlier turns, by rules."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import NamedTuple

from knotwork.synthesis.conversation.names import SpokenName
from knotwork.synthesis.conversation.turns import Turn


class Kind(Enum):
    """What a pronoun may stand for."""

    PERSON = "person"
    THING = "thing"
    PLACE = "place"
    ANY = "any"


class Pronoun(NamedTuple):
    """A pronoun in a question: from where to where, and whether it stands for a possessor."""

    kind: Kind
    start: int
    end: int
    possessive: bool


_ENGLISH = re.compile(
    r"\b(?:(?P<person>he|she|him)|(?P<persons>his|her(?=\s+(?!(?:in|on|at|by|from|to|when|before"
    r"|after|and|or|with|for|as|of|is|was|did)\b)[a-z])(?!\s*$))|(?P<her>her|hers)"
    r"|(?P<things>its)|(?P<thing>it|this one|that one)|(?P<many>they|them)|(?P<manys>their)"
    r"|(?P<place>there(?=\s*(?:[?.,;]|$|in\b|when\b|now\b|then\b|before\b|after\b)))"
    r")\b",
    re.IGNORECASE,
)
_KINDS = {
    "person": (Kind.PERSON, False), "persons": (Kind.PERSON, True), "her": (Kind.PERSON, False),
    "thing": (Kind.THING, False), "things": (Kind.THING, True), "many": (Kind.ANY, False),
    "manys": (Kind.ANY, True), "place": (Kind.PLACE, False),
}  # fmt: skip
_EMPTY_IT = re.compile(
    r"\b(?:does|did|will|would|can) it take\b|\b(?:is|was) it (?:true|possible|necessary|allowed"
    r"|legal|required|ok|okay)\b|\bwhat time is it\b|\bit (?:seems|appears) that\b",
    re.IGNORECASE,
)
_CHINESE = re.compile(
    r"(?P<person>(?<!其)[他她](?!们|人)|(?<!其)[他她]们)|(?P<thing>它们?|这个(?=[?？]?$))"
    r"|(?P<place>那里|那儿)"
)
_ASKS_WHO = re.compile(r"\bwho(?:m|se)?\b|谁|哪位", re.IGNORECASE)
_ASKS_WHAT = re.compile(r"\b(?:what|which)\b|什么|哪[个家座条]", re.IGNORECASE)
_ASKS_HOW_MUCH = re.compile(
    r"\b(?:price|cost|depth|height|length|width|size|weight|number|amount|date|day|year|time|age"
    r"|population|colou?r|speed|temperature|rate|share|reason|purpose|name)s?\b"
    r"|价格|费用|深度|高度|长度|重量|数量|日期|时间|年龄|人口|颜色|速度|温度|原因|目的",
    re.IGNORECASE,
)
_DEFINES = re.compile(
    r"^\W*(?i:who|what)(?:['’]s| is| was| are| were) (?:(?:the|an?) )?[A-Z《][^?]*[?]?\W*$"
    r"|是谁[?？]?\s*$|是什么[?？]?\s*$"
)
_SHORT_ANSWER_WORDS = 20
_NO_PERSONS = frozenset(
    {"PLACE", "ORGANIZATION", "DATE", "NUMBER", "WORK", "IDENTIFIER", "EVENT", "PRODUCT"}
)


def find_pronoun(question: str) -> Pronoun | None:
    """Return the first pronoun that stands for something said before, if there is one."""
    if _EMPTY_IT.search(question):
        return None
    if match := _CHINESE.search(question):
        return Pronoun(Kind(match.lastgroup), *match.span(), possessive=False)
    match = _ENGLISH.search(question)
    if match is None or match.lastgroup is None:
        return None
    kind, possessive = _KINDS[match.lastgroup]
    return Pronoun(kind, *match.span(), possessive=possessive)


def find_antecedent(kind: Kind, turns: Sequence[Turn]) -> str:
    """Return the name that a pronoun of this kind stands for, "" where none fits.

    The last turns come first. What an answer names comes before what its question names if the
    question asked for it: who it is, or which one, where the answer is short and names one thing.
    """
    for turn in reversed(turns):
        fitting = [name for name in _in_order(kind, turn) if _may_be(kind, name)]
        certain = [name for name in fitting if name.type == kind.name]
        for name in [*certain, *fitting]:
            return name.name
    return ""


def _in_order(kind: Kind, turn: Turn) -> Iterator[SpokenName]:
    if kind is Kind.PLACE or _asks_for(kind, turn):
        yield from turn.answer_names
        yield from turn.names
    else:
        yield from turn.names
        yield from turn.answer_names


def _asks_for(kind: Kind, turn: Turn) -> bool:
    """Return whether a pronoun may stand for what the answer of a turn names."""
    question = turn.question
    if _DEFINES.search(question):
        return False
    if kind is Kind.PERSON and _ASKS_WHO.search(question):
        return True
    is_one = len(turn.answer_names) == 1 and len(turn.answer.split()) <= _SHORT_ANSWER_WORDS
    return is_one and bool(_ASKS_WHAT.search(question) and not _ASKS_HOW_MUCH.search(question))


def _may_be(kind: Kind, name: SpokenName) -> bool:
    if kind is Kind.PLACE:
        return name.type == "PLACE"
    if kind is Kind.PERSON:
        is_word = name.name.isascii() and name.name.islower() and " " not in name.name
        return name.type not in _NO_PERSONS and (name.type == "PERSON" or not is_word)
    return kind is Kind.ANY or name.type != "PERSON"
