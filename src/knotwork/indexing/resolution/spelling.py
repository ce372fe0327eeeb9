"""How alike two names are written."""

from __future__ import annotations

from knotwork.indexing.resolution.names import NameShape
from knotwork.indexing.resolution.vocabulary import DEMONYM_ENDS
from knotwork.transform.rules.chinese_vocabulary import TRANSLITERATING

ALIKE = 0.6
"""The least likeness of two names that may be spellings of one."""

_FEWEST_LETTERS = 3
_FEWEST_LETTERS_ALONE = 7
_MANY_LETTERS = 8
_FEWEST_HAN = 3
_PLAIN_GRAM = 3
_HAN_GRAM = 2


def grams_of(shape: NameShape) -> frozenset[str]:
    """Return the character n-grams of a name's core, its ends marked: 3 letters, 2 of Han."""
    text = f"^{shape.core}$"
    size = _HAN_GRAM if shape.han else _PLAIN_GRAM
    return frozenset(text[place : place + size] for place in range(max(1, len(text) - size + 1)))


def likeness(first: frozenset[str], second: frozenset[str]) -> float:
    """Return the share of n-grams that two names have in common, from 0 to 1 (Dice)."""
    total = len(first) + len(second)
    return 2 * len(first & second) / total if total else 0.0


def are_spellings(first: NameShape, second: NameShape) -> bool:
    """Tell whether two names may be one, written in another way: word for word the same or alike,
    whatever the order and the blanks. A name with a further word is another name, and so is a word
    of few letters with another letter.
    """
    if first.han or second.han:
        return first.han and second.han and _are_han_spellings(first.core, second.core)
    if _is_demonym(first.core, second.core):
        return False
    one, other = sorted(first.words), sorted(second.words)
    if len(one) != len(other):
        return _are_variants(first.squeezed, second.squeezed, alone=True)
    odd = [word for word in one if word not in other], [word for word in other if word not in one]
    alone = len(one) == 1
    return all(_are_variants(a, b, alone=alone) for a, b in zip(*odd, strict=False))


def _are_han_spellings(one: str, other: str) -> bool:
    short, full = sorted((one, other), key=len)
    if len(short) < _FEWEST_HAN:
        return False
    if len(short) == len(full):
        odd = [pair for pair in zip(one, other, strict=True) if pair[0] != pair[1]]
        return len(odd) == 1 and all(character in TRANSLITERATING for character in odd[0])
    rest = iter(full)
    return (
        len(short) > _FEWEST_HAN
        and short[-2:] == full[-2:]
        and short[0] == full[0]
        and all(character in rest for character in short)
    )


def is_plural(one: str, other: str) -> bool:
    """Tell whether one of two names or words is the plural of the other."""
    short, full = sorted((one, other), key=len)
    if len(short) < _FEWEST_LETTERS:
        return False
    return full in {short + "s", short + "es"} or (short[-1] == "y" and full == short[:-1] + "ies")


def _is_demonym(one: str, other: str) -> bool:
    """Tell whether one is the people or the adjective of the other: Korean, Israeli, Italian."""
    short, full = sorted((one, other), key=len)
    stem = short.rstrip("aey")
    return full in {short + end for end in DEMONYM_ENDS} or full in {
        stem + end for end in DEMONYM_ENDS if len(end) > 1
    }


def _are_variants(one: str, other: str, *, alone: bool) -> bool:
    """Tell whether two words may be one, misspelt, in the plural or transliterated."""
    short, full = sorted((one, other), key=len)
    if is_plural(short, full):
        return True
    if short[:1] != full[:1] and (alone or len(short) != len(full)):
        return False  # what stands in front changes the meaning: synchronous, asynchronous
    if alone and len(short) < _FEWEST_LETTERS_ALONE:
        return False
    most = 0 if len(short) < _FEWEST_LETTERS else 1 if len(short) < _MANY_LETTERS or alone else 2
    return edit_distance(short, full, most=most) <= most


def edit_distance(one: str, other: str, *, most: int) -> int:
    """Return how many letters must be added, dropped, replaced or swapped with the next to turn one
    word into the other (optimal string alignment); ``most`` + 1 as soon as it is more than that.
    """
    if abs(len(one) - len(other)) > most:
        return most + 1
    before: list[int] = []
    above = list(range(len(other) + 1))
    for row, letter in enumerate(one, start=1):
        current = [row]
        for column, opposite in enumerate(other, start=1):
            cost = above[column - 1] + (letter != opposite)
            cost = min(cost, above[column] + 1, current[-1] + 1)
            if before and column > 1 and letter == other[column - 2] and one[row - 2] == opposite:
                cost = min(cost, before[column - 2] + 1)
            current.append(cost)
        if min(current) > most:
            return most + 1
        before, above = above, current
    return min(above[-1], most + 1)
