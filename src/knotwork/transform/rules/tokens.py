"""The words, numbers, dates and code of an English sentence, in one pass."""

from __future__ import annotations

import re
from typing import NamedTuple

from knotwork.text.characters import HAN_AND_KANA
from knotwork.transform.rules.vocabulary import JOINERS

WORD, CAPITAL, NUMBER, DATE, CODE, HAN, POSSESSIVE, SIGN = range(8)
"""Kinds of tokens; a CAPITAL is a word with an upper-case letter."""


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
_LETTER = rf"[^\W\d_{HAN_AND_KANA}]"
_LETTER_OR_DIGIT = rf"[^\W{HAN_AND_KANA}]"
_SUFFIXES = (
    "py|js|ts|md|json|toml|ya?ml|txt|csv|sh|cpp|java|go|rs|sql|html|xml|ini|cfg|conf|exe|dll|log"
    "|pdf|docx|xlsx"
)
_PLAIN_END = r"(?![\w@'’&+#-]|\.\w|\(\)|://)"
_TOKEN = re.compile(
    # The two kinds of words that make up nearly all of a text come first, for speed.
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
_KINDS = {
    "lower": WORD,
    "capital": CAPITAL,
    "code": CODE,
    "date": DATE,
    "day": SIGN,  # without its year it names nothing
    "number": NUMBER,
    "initial": CAPITAL,
    "short": CAPITAL,
    "word": WORD,
    "han": HAN,
    "possessive": POSSESSIVE,
    "sign": SIGN,
}


class Sentence:
    """A sentence read once: its text, where it starts, its tokens, and what kind of line it is.

    ``headline`` says that nearly all words are capitalised, so that capitals mean little.
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
        shouted = sum(t.text.isupper() for t in words)
        capitals = sum(t.kind == CAPITAL for t in words)
        ends = self.tokens[-1].text == "."
        return shouted >= 0.6 * len(words) or (capitals >= 0.75 * len(words) and not ends)


def tokenize(sentence: str) -> list[Token]:
    """Cut a sentence into tokens; white space separates them and is dropped."""
    tokens: list[Token] = []
    for match in _TOKEN.finditer(sentence):
        text = match[0]
        group = match.lastgroup
        start, end = match.span()
        if group == "lower":
            tokens.append(Token(text, text, start, end, WORD))
            continue
        lower = text.lower()
        kind = _KINDS[group or "sign"]
        if kind == WORD and lower != text:
            if text[0] == lower[0] and "-" in text:  # post-War, mid-Atlantic: the name starts late
                start += text.index("-") + 1
                text, lower = sentence[start:end], sentence[start:end].lower()
            kind = CAPITAL if lower != text else WORD
        tokens.append(Token(text, lower, start, end, kind))
    return tokens
