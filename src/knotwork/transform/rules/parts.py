"""The parts of a run of capitalised words, and the numbers worth keeping."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from knotwork.transform.rules.tokens import NUMBER, POSSESSIVE, SIGN, WORD, Token
from knotwork.transform.rules.vocabulary import (
    CALENDAR,
    GENERIC_HEADS,
    JOINERS,
    LOOSE_JOINERS,
    PARTICLES,
    STARTERS,
    common_words,
)

YEAR = re.compile(r"1\d{3}|20\d\d")


def number_type(text: str) -> str | None:
    """Return the type of a number worth keeping alone, else None."""
    if YEAR.fullmatch(text):
        return "DATE"
    digits = sum(c.isdigit() for c in text)
    if not text[0].isdigit() or text[-1] == "%" or (text.replace(",", "").isdigit() and digits > 2):
        return "NUMBER"
    if not text[-1].isdigit() and text.isupper() and digits < len(text):
        return ""  # 5G, 3D
    return None


def segments(
    tokens: Sequence[Token], first: int, last: int, *, main: bool = True
) -> Iterator[tuple[int, int, bool]]:
    """Yield a run, when it may be one name, and then its parts at the words that join it.

    The flag says whether it is the name to read here, rather than a part or a doubtful whole.
    """
    for cut in (_is_and, _is_loose, _is_possessive, _is_of):
        sides = _split(tokens, first, last, cut)
        if len(sides) == 1:
            continue
        whole = _holds_together(tokens, first, last, cut, sides)
        if whole:
            yield first, last, main and cut is not _is_loose
        if cut is _is_of and len(sides) > 2:
            yield from ((first, end, False) for _, end in sides[1:-1])
        main = main and (not whole or cut is _is_loose)
        for begin, end in sides:
            for part in segments(tokens, begin, end, main=main):
                if not is_generic(tokens, part[0], part[1]):
                    yield part
        return
    yield first, last, main


def _is_and(token: Token) -> bool:
    return token.lower in {"and", "&", "/"}


def _is_loose(token: Token) -> bool:
    return token.lower in LOOSE_JOINERS


def _is_possessive(token: Token) -> bool:
    return token.kind == POSSESSIVE


def _is_of(token: Token) -> bool:
    return token.lower in {"of", "for"}


def _split(
    tokens: Sequence[Token], first: int, last: int, cut: Callable[[Token], bool]
) -> list[tuple[int, int]]:
    sides: list[tuple[int, int]] = []
    begin = first
    for position in range(first + 1, last):
        if tokens[position].kind in {WORD, SIGN, POSSESSIVE} and cut(tokens[position]):
            end = position - 1
            while end > begin and tokens[end].lower in JOINERS and tokens[end].kind == WORD:
                end -= 1
            if end >= begin:
                sides.append((begin, end))
            begin = position + 1
            while (
                begin < last and tokens[begin].kind == WORD and tokens[begin].lower not in PARTICLES
            ):
                begin += 1
    sides.append((begin, last))
    return sides


def _holds_together(
    tokens: Sequence[Token],
    first: int,
    last: int,
    cut: Callable[[Token], bool],
    sides: list[tuple[int, int]],
) -> bool:
    """Say whether a joined run may be one name, rather than two names side by side."""
    if last - first >= 14:
        return False
    if cut is _is_and and len(sides) == 2:
        (_, left), (right, _) = sides
        has_of = any(_is_of(token) for token in tokens[first:left])
        tail = tokens[left + 2 : last]
        if tokens[left + 2].text == "the":  # Harry Potter and the Goblet of Fire
            return not has_of
        short = has_of or min(left - first, last - right) == 0  # Pride and Prejudice
        return short and not any(_is_of(token) for token in tail)
    return cut not in {_is_and, _is_loose} or (cut is _is_loose and len(sides) == 2)


def is_generic(tokens: Sequence[Token], first: int, last: int) -> bool:
    """Say whether a part is one word that names nothing without the rest."""
    if first != last:
        return False
    token = tokens[first]
    if token.kind == NUMBER:
        return number_type(token.text) is None
    return (
        token.lower.rstrip(".") in GENERIC_HEADS
        or token.lower in STARTERS
        or token.lower in CALENDAR
        or token.lower in common_words()
        or len(token.text.rstrip(".")) < 2
    )
