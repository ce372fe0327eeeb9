"""Words that mean the same in names of relations: stems, irregular forms, and groups of synonyms.

The groups are those of `relation_words.txt` in the folder `data`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files

from knotwork._text.languages import HAN, simplify
from knotwork._text.terms import STOP_WORDS, terms

SAME_STEM = 1.0
SAME_GROUP = 0.9
ALIKE = 0.7
_LEAST_PREFIX = 4
_LEAST_WORD = 3

WORD = re.compile(rf"[^\W_{HAN}]+(?:['’][^\W_{HAN}]+)*")
HAN_RUN = re.compile(f"[{HAN}]+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Groups of words by member, forms by base, and the classes of answers that words indicate."""

    groups: Mapping[str, frozenset[int]]
    members: Sequence[tuple[str, ...]]
    forms: Mapping[str, str]
    classes: Mapping[str, frozenset[int]]
    mutual: tuple[str, ...]


@cache
def read_lexicon() -> Lexicon:
    """Read the shipped word lists."""
    text = files("knotwork._text").joinpath("data/relation_words.txt").read_text("utf-8")
    lines = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    forms = {form: words[0] for mark, *words in lines if mark == "!forms" for form in words}
    members = [tuple(words) for words in lines if words[0][0] not in "@!"]
    groups: defaultdict[str, set[int]] = defaultdict(set)
    for number, words in enumerate(members):
        for word in words:
            groups[_base(word, forms)].add(number)
    frozen = {word: frozenset(numbers) for word, numbers in groups.items()}
    classes = {
        mark[1:]: frozenset().union(
            *(frozen.get(_base(word, forms), frozenset()) for word in words)
        )
        for mark, *words in lines
        if mark[0] == "@" and mark != "@mutual"
    }
    mutual = next(tuple(words) for mark, *words in lines if mark == "@mutual")
    return Lexicon(frozen, members, forms, classes, mutual)


def _base(word: str, forms: Mapping[str, str]) -> str:
    word = forms.get(word, word)
    found = terms(word) if word.isascii() else [word]
    return found[0] if len(found) == 1 else word


@lru_cache(maxsize=1 << 14)
def base_form(word: str) -> str:
    """Return the stem of a word, or of its base form if it is an irregular verb."""
    return _base(word.lower(), read_lexicon().forms)


@lru_cache(maxsize=1 << 14)
def relation_words(relation: str) -> tuple[str, ...]:
    """Return the words of a relation's name without function words, unless there are no others."""
    spaced = _CAMEL.sub(" ", simplify(relation).replace("_", " ")).lower()
    words = [*WORD.findall(spaced), *HAN_RUN.findall(spaced)]
    kept = [word for word in words if word not in STOP_WORDS]
    return tuple(dict.fromkeys(kept or words))


@lru_cache(maxsize=1 << 16)
def likeness(first: str, second: str) -> float:
    """Return how likely two lower-case English words mean the same, from 0 to 1."""
    groups = read_lexicon().groups
    one, other = base_form(first), base_form(second)
    if one == other:
        return SAME_STEM
    if groups.get(one, frozenset()) & groups.get(other, frozenset()):
        return SAME_GROUP
    short, long = sorted((one, other), key=len)
    if len(short) < _LEAST_WORD or not short.isalpha():
        return 0.0
    shared = next(
        (n for n, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short)
    )
    is_alike = shared == len(short) if len(short) < _LEAST_PREFIX + 1 else (
        shared >= _LEAST_PREFIX and shared >= 0.7 * len(short)
    )  # fmt: skip
    is_inside = len(short) >= _LEAST_PREFIX and long.endswith(short)
    return ALIKE if is_alike or is_inside else 0.0
