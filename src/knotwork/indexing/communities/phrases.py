"""Phrases that come back in the sentences of a community."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, pairwise
from typing import TypeAlias

from knotwork.text.segmentation import segment
from knotwork.text.terms import STOP_WORDS

Phrase: TypeAlias = tuple[str, ...]

_LEAST_SENTENCES = 2
_WORD_OR_BREAK = re.compile(r"(\w+(?:[-’']\w+)*)|[^\w\s’'-]+")
_QUOTE = re.compile("[’']s?")
_DIGIT = re.compile(r"\d")
_REFERRING = frozenset(
    {"see", "section", "chapter", "figure", "table", "appendix", "page", "et", "al", "etc"}
    | {"example", "examples", "following", "above", "below", "org", "com", "http", "https", "www"}
)
"""Words that point to another place rather than name something."""
_VOCABULARY_SIZE = 1 << 16
_HAN = re.compile("[\u3400-\u9fff]{2,}")
_NOUNS = frozenset({"n", "vn", "an", "nz", "j", "l", "nr", "ns", "nt"})


def key_phrases(
    texts: Sequence[str], *, language: str, names: Iterable[str] = (), count: int = 6
) -> list[str]:
    """Return the phrases that stand in most sentences, the best first, longer ones preferred.

    English: two or three words without function words; Chinese: nouns and pairs of nouns. Phrases
    that say no more than one of ``names``, or stand in one sentence only, are left out.
    """
    if language == "zh":
        sentences = Counter(chain.from_iterable(set(_chinese_phrases(text)) for text in texts))
    else:
        sentences = _count_phrases(texts)
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
    return chosen if language == "zh" else _as_written(chosen, "\n".join(texts))


def _as_written(phrases: Sequence[str], text: str) -> list[str]:
    """Return phrases as the text writes them most often, in lower case if it does so as often."""
    folded = text.casefold()
    if len(folded) != len(text):
        return list(phrases)
    found = []
    for phrase in phrases:
        forms = Counter(text[m.start() : m.end()] for m in re.finditer(re.escape(phrase), folded))
        found.append(max(forms, key=lambda form: (forms[form], form), default=phrase))
    return found


def _overlap(phrase: str, other: str) -> bool:
    return phrase in other or other in phrase


def _count_phrases(texts: Iterable[str]) -> Counter[Phrase]:
    """Return how many sentences hold each two words, and each three whose pairs come back."""
    rows = [[_content(word) for word in _WORD_OR_BREAK.findall(text.casefold())] for text in texts]
    found: Counter[Phrase] = Counter()
    for row in rows:
        found.update({pair for pair in pairwise(row) if pair[0] and pair[1]})
    repeated = {pair for pair, times in found.items() if times >= _LEAST_SENTENCES}
    for row in rows if repeated else ():
        triples = zip(row, row[1:], row[2:], strict=False)
        found.update({t for t in triples if t[:2] in repeated and t[1:] in repeated})
    return found


@lru_cache(maxsize=_VOCABULARY_SIZE)
def _content(word: str) -> str:
    """Return a word that may stand in a phrase, and "" for any other, and for a break."""
    bare = _QUOTE.sub("", word)
    if len(word) == 1 or bare in STOP_WORDS or bare in _REFERRING or _DIGIT.search(word):
        return ""
    return word


def _chinese_phrases(text: str) -> Iterator[Phrase]:
    before = ""
    for word in segment(text):
        noun = word.tag in _NOUNS and _HAN.fullmatch(word.text) is not None
        if noun:
            yield (word.text,)
            if before:
                yield (before, word.text)
        before = word.text if noun else ""
