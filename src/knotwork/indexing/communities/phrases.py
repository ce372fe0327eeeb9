"""Phrases that come back in the sentences of a community."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from knotwork.text.segmentation import segment
from knotwork.text.terms import STOP_WORDS

_LONGEST = 3
_LEAST_SENTENCES = 2
_WORD = re.compile(r"[^\W\d_]+(?:[-’'][^\W\d_]+)*")
_QUOTE = re.compile("[’']s?")
_BREAK = re.compile(r"[^\w\s’'-]+")
_HAN = re.compile("[\u3400-\u9fff]{2,}")
_NOUNS = frozenset({"n", "vn", "an", "nz", "j", "l", "nr", "ns", "nt"})


def key_phrases(
    texts: Sequence[str], *, language: str, names: Iterable[str] = (), count: int = 6
) -> list[str]:
    """Return the phrases that stand in most sentences, the best first, longer ones preferred.

    English: two or three words without function words; Chinese: nouns and pairs of nouns. Phrases
    that say no more than one of ``names``, or stand in one sentence only, are left out.
    """
    read = _chinese_phrases if language == "zh" else _phrases
    sentences = Counter(phrase for text in texts for phrase in set(read(text)))
    known = [name.casefold() for name in names]
    gap = "" if language == "zh" else " "
    chosen: list[str] = []
    ranked = sorted(
        (phrase for phrase, times in sentences.items() if times >= _LEAST_SENTENCES),
        key=lambda phrase: (-sentences[phrase] * len(phrase), -sentences[phrase], phrase),
    )
    for words in ranked:
        phrase = gap.join(words)
        if not any(_overlap(phrase, other) for other in (*known, *chosen)):
            chosen.append(phrase)
        if len(chosen) == count:
            break
    return chosen


def _overlap(phrase: str, other: str) -> bool:
    return phrase in other or other in phrase


def _phrases(text: str) -> Iterator[tuple[str, ...]]:
    for part in _BREAK.split(text.casefold()):
        run: list[str] = []
        for word in (*_WORD.findall(part), ""):
            if len(word) > 1 and _plain(word) not in STOP_WORDS:
                run.append(word)
            elif run:
                for length in range(2, _LONGEST + 1):
                    yield from zip(*(run[start:] for start in range(length)), strict=False)
                run = []


def _plain(word: str) -> str:
    return _QUOTE.sub("", word) if "'" in word or "’" in word else word


def _chinese_phrases(text: str) -> Iterator[tuple[str, ...]]:
    before = ""
    for word in segment(text):
        noun = word.tag in _NOUNS and _HAN.fullmatch(word.text) is not None
        if noun:
            yield (word.text,)
            if before:
                yield (before, word.text)
        before = word.text if noun else ""
