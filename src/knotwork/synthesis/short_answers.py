"""The short answer: the words of the first sentence that answer, where a reader is sure of them.

What a reader predicts is made whole (an option, a path or a name is not cut inside, brackets and
quotes come in pairs) and is only given where the words are probably right. The probability is
fitted on questions about manuals that the reader was not trained on; see docs/benchmarks.md.
"""

from __future__ import annotations

import math
import re
from itertools import pairwise

from knotwork.records import Span
from knotwork.retrieval.confidence import logistic
from knotwork.synthesis.citing import show_sentence
from knotwork.synthesis.expected import Expectation
from knotwork.synthesis.prose import announces
from knotwork.synthesis.selection import Selected
from knotwork.text.characters import HAN_AND_KANA
from knotwork.text.terms import content_terms

LEAST_PROBABILITY = 0.6
"""Words that are less probably right are not given."""
LONGEST = 80
"""Characters of a short answer."""

_INTERCEPT, _CONFIDENCE, _WORDS, _EXPECTED = -0.61, 0.4, 0.86, 0.72
"""Of the log-odds that the answer is right, of the logarithm of the words' probability, and of how
far the words are of the kind that the question expects."""
_LEAST = 1e-3

_ASKS_NAME = re.compile(
    r"\b(?:which|what) (?:[\w-]+ ){0,2}(?:directive|option|command|setting|parameter|function"
    r"|method|module|file|flag|switch|tool|program|package|variable|keyword|field|button|menu|person|city"
    r"|country|company|name)\b|\bwho(?:m|se)?\b"
    r"|哪一?个(?:指令|选项|命令|设置|参数|函数|方法|模块|文件|工具|程序|软件包|变量|按钮|菜单|人|城市)|谁|什么命令",
    re.IGNORECASE,
)
_YES_OR_NO = re.compile(
    r"^\W*(?:is|are|was|were|am|do|does|did|can|could|may|might|must|shall|should|will|would|has|have"
    r"|had)\b|吗\s*[?？]?$|是否|能不能|能否|可不可以|可否|是不是|会不会|有没有|要不要|需不需要",
    re.IGNORECASE,
)
_WIDE = re.compile(rf"[{HAN_AND_KANA}\u3000-\u303f\uff00-\uffef]")
_AROUND = ",.;:!?，。；：！？、|—–"
_LEADING = re.compile(rf"^(?:\s|[{_AROUND}](?![\w./-]))+")
_TRAILING = re.compile(rf"[\s{_AROUND}]+$")
_PAIRS = tuple(zip("([{<“‘（「《", ")]}>”’）」》", strict=True))
_QUOTES = ("`", '"')
_ENCLOSING = tuple(zip('(（“‘`"', ')）”’`"', strict=True))


def choose_short_answer(first: Selected, question: str, *, confidence: float) -> str:
    """Return the words of a sentence that answer a question, "" where they are not sure.

    ``confidence`` is the probability that the answer which begins with this sentence is right.
    """
    if first.answer is None or announces(first.text) or _YES_OR_NO.search(question):
        return ""
    chunk = first.chunk
    start = first.span.start - chunk.span.start
    end = start + len(first.text)
    if not start <= first.answer.span.start < first.answer.span.end <= end:
        return ""
    words = show_sentence(complete_words(chunk.text, first.answer.span, Span(start, end)))
    said = set(content_terms(words))
    if _ASKS_NAME.search(question) and not any(letter.isalpha() for letter in words):
        return ""
    if len(words) > LONGEST or said <= set(content_terms(question)):
        return ""
    sure = min(max(confidence, _LEAST), 1 - _LEAST)
    probability = logistic(
        _INTERCEPT
        + _CONFIDENCE * math.log(sure / (1 - sure))
        + _WORDS * math.log(first.answer.probability + _LEAST)
        + _EXPECTED * Expectation.of(question).met_by(words)
    )
    return words if probability >= LEAST_PROBABILITY else ""


def complete_words(text: str, words: Span, within: Span) -> str:
    """Return some words of a text, made whole inside the sentence ``within``.

    A run of characters without white space and of no wide script is not cut. Of words with half a
    pair of brackets or quotes the longest part without it is kept.
    """
    start, end = words
    while start > within.start and _joins(text[start - 1], text[start]):
        start -= 1
    while end < within.end and _joins(text[end - 1], text[end]):
        end += 1
    return _trim(text[start:end])


def _joins(before: str, after: str) -> bool:
    """Return whether two characters are parts of one word, option, path or address."""
    return not any(letter.isspace() or _WIDE.match(letter) for letter in (before, after))


def _trim(words: str) -> str:
    """Return words without punctuation around them, without half a pair, and out of one."""
    before = ""
    while words != before:  # what one pair leaves may be half of another
        before = words
        for opening, closing in _PAIRS:
            words = _balance(words, opening, closing)
        for quote in _QUOTES:
            if words.count(quote) % 2:
                words = max(words.split(quote), key=len)
        words = _TRAILING.sub("", _LEADING.sub("", words))
    for opening, closing in _ENCLOSING:
        inner = words[1:-1]
        if words[:1] == opening and words[-1:] == closing and not {opening, closing} & set(inner):
            return inner.strip()
    return words


def _balance(words: str, opening: str, closing: str) -> str:
    """Return the longest part of a text that has no half of a pair."""
    cuts, opened = [], []
    for place, letter in enumerate(words):
        if letter == opening:
            opened.append(place)
        elif letter == closing:
            cuts += [] if opened else [place]
            opened = opened[:-1]
    places = sorted((-1, *cuts, *opened, len(words)))
    parts = (words[before + 1 : after] for before, after in pairwise(places))
    return max(parts, key=len)
