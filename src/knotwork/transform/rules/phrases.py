"""Lower-case noun phrases of English that a document shows to be terms by repeating them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from knotwork.transform.rules.tokens import WORD, Sentence, Token
from knotwork.transform.rules.vocabulary import STARTERS

_LONGEST = 4
_USUAL_WORDS = """
    said says say saying make makes made making use uses used using include includes included
    including become becomes became get gets got getting go goes went gone going take takes took
    taken taking see sees saw seen know knows knew known think thinks thought come comes came
    want wants give gives gave given find finds found tell tells told ask asks asked seem seems
    seemed feel feels felt try tries tried leave leaves left call calls called need needs needed
    keep keeps kept let begin begins began begun show shows showed shown hear heard play plays
    played run runs ran move moves moved like likes live lives lived believe hold holds held
    bring brings brought happen happens happened write writes wrote written provide provides
    provided sit stand lose lost pay paid meet met set sets put puts allow allows allowed lead
    leads led won win wins back away well never always today new old good great big small
    different many first last next same able own right early late major certain full whole
    number lot way thing things part kind sort bit don't didn't doesn't isn't wasn't aren't
    can't couldn't won't wouldn't million billion thousand hundred one two three four five six
    seven eight nine ten percent cent"""
_NEVER_INSIDE = frozenset(_USUAL_WORDS.split())
"""Words of no term: common verbs, numerals and adjectives."""


def repeated_phrases(sentences: Iterable[Sentence], *, repeats: int) -> dict[str, int]:
    """Return phrases of two to four words that occur ``repeats`` times, with their counts.

    A phrase inside a longer one counts only where it also stands alone.
    """
    counts: Counter[tuple[str, ...]] = Counter()
    for sentence in sentences:
        for run in _runs(sentence.tokens):
            size = len(run)
            for length in range(2, min(_LONGEST, size) + 1):
                counts.update([tuple(run[i : i + length]) for i in range(size - length + 1)])
    kept = {words: count for words, count in counts.items() if count >= repeats}
    for words, count in sorted(kept.items(), key=_longest):
        for length in range(2, len(words)):
            for start in range(len(words) - length + 1):
                inner = words[start : start + length]
                if kept.get(inner, 0) and kept[inner] - count < repeats:
                    kept[inner] = 0
    return {
        " ".join(words): count for words, count in kept.items() if count and _is_noun_phrase(words)
    }


def _longest(item: tuple[tuple[str, ...], int]) -> tuple[int, tuple[str, ...]]:
    return -len(item[0]), item[0]


def _runs(tokens: Sequence[Token]) -> Iterator[list[str]]:
    """Yield runs of neighbouring lower-case content words."""
    run: list[str] = []
    for token in tokens:
        word = token.lower
        if (
            token.kind == WORD
            and len(word) > 2
            and word not in STARTERS
            and word not in _NEVER_INSIDE
        ):
            run.append(word)
            continue
        if len(run) > 1:
            yield run
        run = []
    if len(run) > 1:
        yield run


def _is_noun_phrase(words: Sequence[str]) -> bool:
    return not (
        words[-1].endswith(("ly", "ed", "ive", "ous", "ful", "able", "ible"))
        or words[0].endswith("ly")
        or any("'" in word or "’" in word for word in words)
    )
