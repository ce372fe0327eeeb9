"""Sentences that may stand in a report: on one line, told from tables and code, and weighed."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from knotwork.records import Chunk, Mention, Span, Support
from knotwork.text.markup import strip_links

_SHORTEST = 30
_SHORTEST_WIDE = 12
_LONGEST = 500
_WIDE = re.compile("[\u3400-\u9fff]")
_WIDE_BREAK = re.compile(r"(?<=[\u3000-\u9fff\uff00-\uffef])\s+(?=[\u3000-\u9fff\uff00-\uffef])")
_LEAST_LETTERS = 0.6
_MARKUP = re.compile(r"\||<[!/?A-Za-z]|[{}]|\w_\w+_\w")
_ASCII = re.compile(r"[\x00-\x7f]+")
_NO_LETTERS = bytes(b for b in range(128) if not (chr(b).isalpha() or chr(b).isspace()))


class Sentence(NamedTuple):
    """A sentence that may stand in a report; ``coverage`` is the importance of who it names.

    Of one ``origin`` (a chunk, or a community below) a report takes few.
    """

    support: Support
    text: str
    coverage: float
    origin: str


class Named:
    """Where a text names the members of a community, and how important these are."""

    def __init__(self, mentions: Iterable[Mention], importance: Mapping[str, float]) -> None:
        self._importance = importance
        self._spans = sorted(
            (*span, mention.entity_id)
            for mention in mentions
            if mention.entity_id in importance
            for span in mention.spans
        )

    def coverage(self, sentence: Span) -> float:
        """Return the importance of all members that are named inside a span."""
        named: set[str] = set()
        for place in range(bisect_left(self._spans, (sentence.start,)), len(self._spans)):
            start, end, entity = self._spans[place]
            if start > sentence.end:
                break
            if end <= sentence.end:
                named.add(entity)
        return sum(self._importance[entity] for entity in sorted(named))


def sentences_of(chunk: Chunk, named: Named) -> Iterator[Sentence]:
    """Yield the sentences of a chunk that hold any text."""
    for index, span in enumerate(chunk.sentences):
        text = flat_text(strip_links(chunk.sentence_text(index)))
        if text:
            yield Sentence(Support(chunk.id, span), text, named.coverage(span), chunk.id)


def prose_among(sentences: Sequence[Sentence]) -> Sequence[Sentence]:
    """Return the sentences that are prose, or all of them where none is."""
    return [sentence for sentence in sentences if is_prose(sentence.text)] or sentences


def flat_text(text: str) -> str:
    """Return text on one line; Chinese without the space that a line break leaves."""
    return " ".join((text if text.isascii() else _WIDE_BREAK.sub("", text)).split())


def is_prose(text: str) -> bool:
    """Tell whether a sentence is neither short, overlong, a row of numbers nor markup."""
    length = len(text)
    if not _SHORTEST_WIDE <= length <= _LONGEST:
        return False
    if length < _SHORTEST and not _WIDE.search(text):
        return False
    return _count_letters(text) >= _LEAST_LETTERS * length and _MARKUP.search(text) is None


def _count_letters(text: str) -> int:
    """Return how many characters of a text are letters or space."""
    count = len(text.encode("ascii", "ignore").translate(None, _NO_LETTERS))
    if not text.isascii():
        rest = _ASCII.sub("", text)
        count += sum(map(str.isalpha, rest)) + sum(map(str.isspace, rest))
    return count
