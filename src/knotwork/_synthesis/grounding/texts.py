"""Read statements and sentences for comparison: words, numbers, names, and what is aligned."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from knotwork._text.dates import MONTHS
from knotwork._text.languages import HAN, HAN_CHARACTER, segment, simplify, word_set
from knotwork._text.numbers import Number, find_numbers, is_unit
from knotwork._text.terms import STOP_WORDS, terms
from knotwork._transform.rules.lexicon import common_words

LARGEST_COUNT = 12
"""A number in words up to this one may count what a passage lists, and need not stand there."""

_KEPT_TEXTS = 4_096


class Word(NamedTuple):
    """A content word: the form to compare, its place, and whether it is a name."""

    term: str
    start: int
    end: int
    is_name: bool


class Mention(NamedTuple):
    """A name or a number: its terms, its place, and the kind of what may stand in its place."""

    terms: frozenset[str]
    start: int
    end: int
    kind: str


NAME = "name"
"""The kind of a mention that is a name; the other kinds are those of numbers."""


@dataclass(frozen=True, slots=True)
class ReadText:
    """A text with its content words, numbers and mentions, each in order of its kind.

    ``terms`` are the forms of the words.
    """

    text: str
    words: tuple[Word, ...]
    terms: frozenset[str]
    numbers: tuple[Number, ...]
    mentions: tuple[Mention, ...]
    is_chinese: bool


_TOKEN = re.compile(rf"[{HAN}]+|[^\W_{HAN}](?:[^\W{HAN}]|[-.'’/:+#@](?=[^\W{HAN}]))*")
_LETTERS = re.compile(rf"[^\W\d_{HAN}]+")


def has_more_han(text: str) -> bool:
    """Return True if a text has more Chinese characters than words of letters.

    Chinese manuals have sentences in which every third word is a command in Latin letters.
    """
    return len(HAN_CHARACTER.findall(text)) > len(_LETTERS.findall(text))


_BEFORE_FIRST = re.compile(r"(?:^|[.!?:;。！？：；\n]|^\W*[-*•\d.)]+)[\s\"'“‘(]*$")
_NAME_TAGS = ("nr", "ns", "nt", "nz")
EMPTY_ZH = frozenset(
    "的了是在和与及或而也都就被把对从向于之其此该这那他她它们我你您吗呢吧啊呀么嘛谁什哪些几个位有"
    "请问何多少怎样如为地得着过很还又再里中上下时候后前年月日次名种项一不没无非未会能可以要将让使先然儿"
)
"""Characters of words that carry no content of their own."""


@lru_cache(maxsize=_KEPT_TEXTS)
def read_text(text: str) -> ReadText:
    """Return a text with what is compared of it."""
    words: list[Word] = []
    numbers = tuple(find_numbers(text))
    for match in _TOKEN.finditer(text):
        if HAN_CHARACTER.match(match[0]):
            words += _read_han(match[0], match.start())
        elif not any(number.start <= match.start() < number.end for number in numbers):
            words += _read_latin(text, match, numbers)
    is_chinese = len(HAN_CHARACTER.findall(text)) > 2 * len(_LETTERS.findall(text))
    terms_ = frozenset(word.term for word in words)
    return ReadText(
        text, tuple(words), terms_, numbers, _find_mentions(text, words, numbers), is_chinese
    )


def _read_han(run: str, offset: int) -> Iterator[Word]:
    for word in segment(run):
        if word.simplified in STOP_WORDS or all(c in EMPTY_ZH for c in word.simplified):
            continue
        is_name = word.tag[:2] in _NAME_TAGS and len(word.text) > 1
        yield Word(word.simplified, offset + word.start, offset + word.end, is_name)


def _read_latin(text: str, match: re.Match[str], numbers: Sequence[Number]) -> Iterator[Word]:
    token, start = match[0], match.start()
    is_name = any(c.isupper() or c.isdigit() or c == "_" for c in token)
    if any(0 <= start - number.end <= 1 for number in numbers) and is_unit(text, start):
        is_name = False
    elif token[:1].isupper() and token[1:].islower() and _BEFORE_FIRST.search(text[:start]):
        after = text[match.end() :]
        is_name = bool(_BEFORE_NAME_PART.match(after)) or (
            bool(_BEFORE_VERB.match(after)) and not _is_common(token.casefold())
        )
    for term in terms(token):
        if term not in STOP_WORDS:
            yield Word(term, start, match.end(), is_name and not term.isdigit())


_BEFORE_NAME_PART = re.compile(r" [A-Z]")
_BEFORE_VERB = re.compile(
    r"['’]s|\W+(?:is|are|was|were|has|had|have|can|could|will|would|may|might|must|did|does"
    r"|\w+ed|\w+s)\b"
)
_COMMON_ENDING = re.compile(
    r"\w*(?:ly|ing|tion|ment|ness|ity|ful|ive|ed|ance|ence|able|ible|ous|less|ism|ship"
    r"|[^aeious]s|ies|ees|ers|ors)"
)
_COMMON_FIRST_WORDS = word_set("en", "technical_first_words")
"""Words that begin sentences beside the `common_words`."""


def _is_common(word: str) -> bool:
    """Return True for a word that begins a sentence and is probably not a name."""
    return (
        word in common_words()
        or word in _COMMON_FIRST_WORDS
        or bool(_COMMON_ENDING.fullmatch(word))
    )


_JOINT = re.compile(r"[\s·・.-]{0,2}")


def _find_mentions(
    text: str, words: Sequence[Word], numbers: Sequence[Number]
) -> tuple[Mention, ...]:
    """Return the names of a text, words of one name together, and its numbers."""
    found: list[Mention] = []
    for word in words:
        if not word.is_name:
            continue
        last = found[-1] if found else None
        if last and _JOINT.fullmatch(text[last.end : word.start]):
            found[-1] = Mention(last.terms | {word.term}, last.start, word.end, NAME)
        else:
            found.append(Mention(frozenset([word.term]), word.start, word.end, NAME))
    for number in numbers:
        if not number.is_written or max(number.values) > LARGEST_COUNT:
            values = frozenset(map(str, number.values))
            found.append(Mention(values, number.start, number.end, kind_of(number, text)))
    return tuple(found)


def kind_of(number: Number, text: str) -> str:
    """Return "year", "number", or the sign of a percentage or currency."""
    after = text[number.end : number.end + 2].strip()[:1]
    before = text[max(0, number.start - 2) : number.start].strip()[-1:]
    signs = (after if after in "%％" else "") + (before if before in "$€£¥" else "")
    value = min(number.values)
    return signs or ("year" if value in _YEARS else "number")


_YEARS = range(1000, 2101)
_MONTH_TERMS = {term: place for place, month in enumerate(MONTHS, start=1) for term in terms(month)}


def states_number(text: ReadText, values: frozenset[Decimal]) -> bool:
    """Return True if a text has one of these numbers; the names of months count as numbers."""
    return any(number.values & values for number in text.numbers) or any(
        word.term in _MONTH_TERMS and Decimal(_MONTH_TERMS[word.term]) in values
        for word in text.words
    )


_LONGEST_STEP = 12
_BREAK = re.compile(r"[,.;，。；]")


def word_behind(end: int, text: ReadText) -> str:
    """Return the content word right behind a place, such as the unit of a number, or ""."""
    following = next((word for word in text.words if word.start >= end), None)
    if following is None:
        return ""
    between = text.text[end : following.start]
    return "" if len(between) > _LONGEST_STEP or _BREAK.search(between) else following.term


_PIECE = 4
_LETTERS_OR_CHARACTER = re.compile(rf"[{HAN}]|[^\W_{HAN}]+")


def pieces_of(text: str) -> Iterator[str]:
    """Yield what words of one origin share: Chinese characters with a content, and of other words
    each group of four letters, with their ends as letters.
    """
    for part in _LETTERS_OR_CHARACTER.findall(simplify(text).casefold()):
        if not HAN_CHARACTER.match(part):
            word = f" {part} "
            yield from (word[i : i + _PIECE] for i in range(max(1, len(word) - _PIECE + 1)))
        elif part not in EMPTY_ZH:
            yield part


def covered_share(said: ReadText, sentence: ReadText) -> float:
    """Return the share of the words of a statement that a sentence has."""
    held = sentence.terms
    if not said.is_chinese:
        return sum(word.term in held for word in said.words) / max(len(said.words), 1)
    # Chinese words are cut in more than one way: count their characters.
    plain = simplify(sentence.text).casefold()
    found = sum(
        len(term) if term in held or term in plain else sum(c in plain for c in term) / 2
        for term in (word.term for word in said.words)
    )
    return found / max(sum(len(word.term) for word in said.words), 1)


def align(words: Sequence[Word], others: Sequence[Word]) -> dict[int, int]:
    """Return the longest common subsequence of two texts: places in the other by place."""
    lengths = [[0] * (len(others) + 1) for _ in range(len(words) + 1)]
    for i in range(len(words) - 1, -1, -1):
        for j in range(len(others) - 1, -1, -1):
            if words[i].term == others[j].term:
                lengths[i][j] = lengths[i + 1][j + 1] + 1
            else:
                lengths[i][j] = max(lengths[i + 1][j], lengths[i][j + 1])
    found: dict[int, int] = {}
    i = j = 0
    while i < len(words) and j < len(others):
        if words[i].term == others[j].term:
            found[i] = j
            i, j = i + 1, j + 1
        elif lengths[i + 1][j] >= lengths[i][j + 1]:
            i += 1
        else:
            j += 1
    return found
