"""Word lists and the tokenizer that the extraction rules share."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from knotwork._text.chinese import HAN_AND_KANA
from knotwork._text.names import STOP_NAMES, normal_form
from knotwork._text.visible import MARKS
from knotwork._text.word_lists import word_list, word_set

STARTERS = STOP_NAMES | word_set("en", "starters")

PARTICLES = word_set("en", "particles")

JOINERS = word_set("en", "joiners") | PARTICLES

LOOSE_JOINERS = word_set("en", "loose_joiners")

CALENDAR = word_set("en", "calendar")

GENERIC_HEADS = word_set("en", "generic_heads")

NOBLE_TITLES = word_set("en", "noble_titles")

HONORIFICS = word_set("en", "honorifics")

PERSON_NOUNS = word_set("en", "person_nouns")

ORGANIZATION_ENDS = word_set("en", "organization_ends")
ORGANIZATION_HEADS = word_set("en", "organization_heads")
PLACE_ENDS = word_set("en", "place_ends")
PLACE_HEADS = word_set("en", "place_heads")
WORK_NOUNS = word_set("en", "work_nouns")

PRONOUNS = word_set("en", "pronouns")

VERBS_OF_BEING = word_set("en", "verbs_of_being")


@cache
def common_words() -> frozenset[str]:
    """Return English words that hardly ever have a capital inside a sentence."""
    return word_set("en", "common")


@cache
def given_names() -> frozenset[str]:
    """Return given names in lower case."""
    return word_set("en", "given_names")


@cache
def place_names() -> frozenset[str]:
    """Return the normal forms of well-known places."""
    return frozenset(map(normal_form, word_list("en", "places")))


WORD, CAPITAL, NUMBER, DATE, CODE, HAN, POSSESSIVE, SIGN = range(8)
"""Kinds of tokens; CAPITAL is a word with an upper-case letter."""


class Token(NamedTuple):
    """A token with its offsets into the sentence."""

    text: str
    lower: str
    start: int
    end: int
    kind: int


_MONTH = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December"
    r"|(?:Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\b\.?)"
)
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_YEAR = r"\d{3,4}(?!\w)"
_LETTER = rf"(?:[^\W\d_{HAN_AND_KANA}][{MARKS}]*+)"
_LETTER_OR_DIGIT = rf"(?:[^\W{HAN_AND_KANA}][{MARKS}]*+)"
_SUFFIXES = (
    "py|js|ts|md|json|toml|ya?ml|txt|csv|sh|cpp|java|go|rs|sql|html|xml|ini|cfg|conf|exe|dll|log"
    "|pdf|docx|xlsx"
)
_PLAIN_END = rf"(?![\w{MARKS}@'’&+#-]|\.\w|\(\)|://)"
_TOKEN = re.compile(
    # For speed, start with the two kinds of words that make up nearly all of a text.
    rf"(?P<lower>[a-z]+{_PLAIN_END})"
    rf"|(?P<capital>(?!Jan|Feb|Ma[ry]|Apr|Ju[nl]|Aug|Sep|Oct|Nov|Dec)[A-Z][a-z]{{3,}}{_PLAIN_END}(?!\.))"
    rf"|(?P<code>https?://[^\s<>\"')\]]+|www\.[^\s<>\"')\]]+|[\w.+-]{{1,64}}@[\w-]+(?:\.[\w-]+)+"
    rf"|(?<!`)`(?!`)[^`\n]{{1,80}}`(?!`)"
    rf"|(?<![\w/.~])(?:~/|/(?=[\w.+-]+/|(?:etc|usr|var|tmp|dev|proc|srv|opt|boot)\b))[\w.+@/-]{{0,120}}\w"
    rf"|(?<![\w-])--[a-z][\w-]{{1,60}}"
    rf"|[\w-]{{1,80}}\.(?:{_SUFFIXES})\b|\w{{1,80}}\(\)"
    rf"|[a-z]\w*(?:\.[A-Za-z_]\w+){{0,9}}\.[a-z]\w+(?:\(\))?(?<=\w\w)(?!\.\w)"
    rf"|{_LETTER}\w*_\w+)"
    rf"|(?P<date>{_DAY}\s+(?:of\s+)?{_MONTH},?\s+{_YEAR}|{_MONTH}\s+{_DAY},?\s+{_YEAR}"
    rf"|{_MONTH},?\s+{_YEAR}|\d{{4}}-\d\d-\d\d(?!\d))"
    rf"|(?P<day>{_DAY}\s+{_MONTH}(?!\w)|{_MONTH}\s+{_DAY}(?!\w))"
    rf"|(?P<number>[$€£¥]?\d+(?:[.,]\d+)*(?:-?{_LETTER_OR_DIGIT}+)*%?)"
    rf"|(?P<initial>(?:[A-Z]\.){{2,}}|[A-Z]\.(?=\s?[A-Z]))"
    r"|(?P<short>(?:St|Dr|Mr|Mrs|Ms|Jr|Sr|Prof|Gen|Col|Lt|Capt|Rev|Hon|Mt|Ft|Inc|Ltd|Corp|Co|Bros)\.)"
    rf"|(?P<word>{_LETTER}+\d*(?:(?:['’](?![sS]\b)|[-‐‑&])?{_LETTER_OR_DIGIT}+)*(?:\+\+|#(?!\w)|(?<=n)['’](?=\s[A-Z]))?)"
    rf"|(?P<han>[{HAN_AND_KANA}]+)"
    r"|(?P<possessive>['’][sS]\b|(?<=[sS])['’](?=\s))"
    r"|(?P<sign>\S)"
)
_TOKEN_KINDS = {
    "lower": WORD,
    "capital": CAPITAL,
    "code": CODE,
    "date": DATE,
    "day": SIGN,  # not a date without its year
    "number": NUMBER,
    "initial": CAPITAL,
    "short": CAPITAL,
    "word": WORD,
    "han": HAN,
    "possessive": POSSESSIVE,
    "sign": SIGN,
}


class EnglishSentence:
    """A tokenized sentence and its offset in the document.

    ``headline`` is True if nearly all words are capitalised, so that capitals mean little.
    ``marked`` are the positions of tokens that may start a name: all but plain words and signs.
    """

    __slots__ = ("end", "headline", "marked", "start", "text", "tokens")

    def __init__(self, text: str, start: int = 0) -> None:
        self.text = text
        self.start = start
        self.end = start + len(text)
        self.tokens = tokenize(text)
        self.marked = [i for i, t in enumerate(self.tokens) if CAPITAL <= t.kind <= HAN]
        self.headline = self._is_headline()

    def _is_headline(self) -> bool:
        if len(self.marked) < 4:
            return False
        words = [t for t in self.tokens if t.kind <= CAPITAL and t.lower not in JOINERS]
        if len(words) < 5:
            return False
        in_capitals = sum(t.text.isupper() for t in words)
        capitalised = sum(t.kind == CAPITAL for t in words)
        ends = self.tokens[-1].text == "."
        return in_capitals >= 0.6 * len(words) or (capitalised >= 0.75 * len(words) and not ends)


def tokenize(sentence: str) -> list[Token]:
    """Split a sentence into tokens; white space is dropped."""
    tokens: list[Token] = []
    for match in _TOKEN.finditer(sentence):
        text = match[0]
        group = match.lastgroup
        start, end = match.span()
        if group == "lower":
            tokens.append(Token(text, text, start, end, WORD))
            continue
        lower = text.lower()
        kind = _TOKEN_KINDS[group or "sign"]
        if kind == WORD and lower != text:
            if text[0] == lower[0] and "-" in text:  # post-War, mid-Atlantic: the name starts late
                start += text.index("-") + 1
                text, lower = sentence[start:end], sentence[start:end].lower()
            kind = CAPITAL if lower != text else WORD
        tokens.append(Token(text, lower, start, end, kind))
    return tokens


class Occurrence(NamedTuple):
    """A name in a sentence; offsets refer to the searched text.

    A ``part`` is inside a longer name ("Elmham" in "Bishop of Elmham"). A ``doubtful`` name may be
    any words, such as those between Chinese quotation marks; it serves to find chunks, but is not
    shown.
    """

    start: int
    end: int
    form: str
    type: str = ""
    part: bool = False
    doubtful: bool = False
