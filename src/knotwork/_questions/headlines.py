"""Check that a short answer is of the kind that its question asks for.

A question for an amount, a time, a share, a version, a person, a place or a name is asked in few
forms, and most answers show their kind: by a unit, by their form, by the type of an entity. A near
value of another kind is what misleads most: a duration for a price, a version for a date.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache
from typing import NamedTuple

from knotwork._questions.asked_facts import PEOPLE, Fit, asked_fact
from knotwork._questions.languages import DIMENSIONS, HAN_NUMBER, Words, read_words
from knotwork._questions.reading import QuestionReading
from knotwork._text.languages import HAN_CHARACTER, simplify
from knotwork._text.terms import content_terms, terms

NEAR = 40
"""Characters on each side of a number among which the things that it counts are named."""
_UNIT = 12
"""Characters behind words in which their unit may stand."""
_NEVER = "(?!)"
_BARE_YEAR = re.compile(r"\W*[12]\d{3}\W*")
_NUMERAL = re.compile(r"\d|[一二两三四五六七八九十百千万亿半]")
_MEASURE = re.compile("(?:多少|几)([\u4e00-\u9fff])")
"""The measure word of what a Chinese question counts."""
_BIG = Words(r"\b(?:how (?:big|large|long)|size|space)\b|多大|多长|大小|空间")
_SIZE = Words(r"(?:\d|\b[a-z]+)\s?(?:[kmgtpz]i?b|bytes?|bits?|characters?|pages?)\b|字节|字符|位$")
"""Sizes without a dimension of their own: of files, memory and texts."""
_OF_ORGANIZATIONS = Words(
    r"\b(?:owns?|owned|built|build|builds|ma[dk]es?|manufactur\w*|operat\w*|publish\w*|maintain\w*"
    r"|develop\w*|produc\w*|suppl(?:y|ies|ied)|sells?|sold|buys?|bought|funds?|funded|pays?|paid"
    r"|sponsor\w*|provid\w*|insur\w*|certif\w*|regulat\w*|support\w*|employ\w*|deliver\w*|own)\b"
    r"|拥有|建造|制造|生产|运营|发布|出版|开发|维护|供应|提供|资助|出资|支付|收购|承建|承办|主办"
)
"""Matches questions for a person that an organization may answer."""


class _Kind(NamedTuple):
    asks: Words
    shows: Words
    refuses: Words
    types: frozenset[str]
    others: frozenset[str]


@cache
def _kinds() -> dict[str, _Kind]:
    def form(held: str | list[str]) -> Words:
        return Words("".join(held).replace("«CN»", HAN_NUMBER))

    return {
        name: _Kind(
            form(held["asks"]),
            form(held.get("shows", _NEVER)),
            form(held.get("refuses", _NEVER)),
            frozenset(held.get("types", "").split()),
            frozenset(held.get("others", "").split()),
        )
        for name, held in read_words("headlines").items()
    }


def asked_kind(question: QuestionReading) -> str:
    """Return the kind of short answer that a question asks for; "" if it is none of them.

    "amount" stands for the quantities of `dimensions.toml`.
    """
    simple = question.simple
    first = next((name for name, kind in _kinds().items() if kind.asks.search(simple)), "")
    is_amount = question.expected.dimensions and first not in ("share", "version", "person")
    return "amount" if is_amount else first


def fit_kind(
    question: QuestionReading, words: str, before: str, behind: str, types: Collection[str] = ()
) -> Fit:
    """Return whether words are of the kind that a question asks for, open if their form is silent.

    ``before`` and ``behind`` are the text around them, or the names of their row and column.
    ``types`` are those of entities that the words name.
    """
    name, held = asked_kind(question), simplify(words)
    if name == "amount":
        return _fit_amount(question, held, simplify(behind))
    if not name:
        return Fit.OPEN
    kind = _kinds()[name]
    is_nameless = bool(kind.types) and not any(map(str.isalpha, words))
    if is_nameless or kind.refuses.search(held) or (types and kind.others.issuperset(types)):
        return Fit.OTHER
    if kind.types:
        return _fit_name(name, question, held, frozenset(types))
    led = f"{before[-3:]}{held}" if before.endswith("at ") else held  # "at seven" is a time
    fit = Fit.STATES if kind.shows.search(led) else Fit.OTHER
    if fit is Fit.OTHER and name in ("name", "setting"):
        return Fit.OPEN
    is_count = name == "count" and fit is Fit.STATES
    return _fit_count(question, held, before, behind) if is_count else fit


def _fit_name(kind: str, question: QuestionReading, words: str, types: frozenset[str]) -> Fit:
    """Return whether words name a person, an organization or a place."""
    held = _kinds()[kind]
    if kind == "person" and "ORGANIZATION" in types and "PERSON" not in types:
        return Fit.OPEN if _OF_ORGANIZATIONS.search(question.simple) else Fit.OTHER
    is_named = held.types & types or (not types and held.shows.search(words))
    return Fit.STATES if is_named else Fit.OPEN


def _fit_amount(question: QuestionReading, words: str, behind: str) -> Fit:
    """Return whether words have a unit that is asked for; a bare number is open."""
    expected, unit = question.expected, f"{words}{behind[:_UNIT]}"
    if expected.has_unit(words) or (_NUMERAL.search(words[-2:]) and expected.has_unit(unit)):
        return Fit.STATES
    if _BIG.search(question.simple) and _SIZE.search(words):
        return Fit.STATES
    had = {name for name, held in DIMENSIONS.items() if held.units.search(words)}
    if had or not _kinds()["level"].shows.search(words) or _kinds()["level"].refuses.search(words):
        return Fit.OTHER
    is_time = expected.dimensions & {"clock", "year"}
    return Fit.OTHER if _BARE_YEAR.fullmatch(words) and not is_time else Fit.OPEN


def _fit_count(question: QuestionReading, words: str, before: str, behind: str) -> Fit:
    """Return whether a number is near the things that it should count."""
    counted, measure = asked_fact(question.text).counted, _MEASURE.search(question.simple)
    if measure and measure[1] in f"{words}{behind[:2]}":
        return Fit.STATES
    near = simplify(f"{before[-NEAR:]} {words} {behind[:NEAR]}")
    if any(held.units.search(words) for held in DIMENSIONS.values()):
        return Fit.OTHER if not _names(counted, words) else Fit.STATES
    return Fit.STATES if _names(counted, near) else Fit.OPEN


def _names(counted: str, text: str) -> bool:
    if counted and HAN_CHARACTER.search(counted):
        return counted[-1] in text
    last, held = content_terms(counted)[-1:], set(terms(text))
    is_of_people = not PEOPLE.isdisjoint(last) and not PEOPLE.isdisjoint(held)
    return is_of_people or (bool(last) and last[0] in held)
