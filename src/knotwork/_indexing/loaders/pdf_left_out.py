"""Leave out what is not text of a PDF page: watermarks, and codes that name no characters."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from knotwork._indexing.loaders.pdf_annotations import Region
from knotwork._indexing.loaders.pdf_characters import OBLIQUE, Character

_LARGER = 1.5
"""Size of a watermark across the page, at least, as a multiple of that of the text."""
_REPEATED = 3
"""Times that smaller type is repeated across a page, to be a watermark."""
_MOST_FAINT = 100
"""Faint text objects of a page with a watermark."""
_MOST_OF_PAGE = 0.5
"""The share of a page that is garbled, at least, for it to be read as a picture."""
_RUN = 4
"""Characters that a text object of prose has, at least; those of formulas have fewer."""
_UNKNOWN = re.compile(
    "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\ufffd\\ue000-\\uf8ff\\U000f0000-\\U0010ffff]"
)
_MOST_UNKNOWN = (0.04, 0.3)
"""The share of codes that are no signs at most, where a font does not say its characters, and
elsewhere."""
_WORD = re.compile(r"[^\W\d_]{4,}")
_VOWEL = re.compile("[aeiouyà-æè-ïò-öø-ýÿ]", re.IGNORECASE)
_FEWEST_WORDS = (8, 50)
"""Words that show a language or none, where a font does not say its characters, and elsewhere."""
_FEWEST_VOWELS = (0.3, 0.22)
"""The same for the share of vowels in their letters, which is above a third in any language."""
_WESTERN = re.compile("[À-ÿ]")
_MOST_WESTERN = 0.6
"""The share of letters with accents at most: with more they stand for those of another script."""
_LATIN = re.compile(r"[A-Za-zÀ-ÿ]+")


def without_watermarks(characters: Sequence[Character]) -> list[Character]:
    """Return the characters of a page without watermarks.

    These are large, or repeated, and run across the page, or are faint type that crosses text.
    """
    if not any(c.style.turn == OBLIQUE or c.style.is_faint for c in characters):
        return list(characters)
    objects = list(_objects(characters))
    faint = sum(shown[0].style.is_faint for shown in objects)
    sizes: Counter[float] = Counter()
    for shown in objects:
        sizes[shown[0].style.size] += len(shown)
    usual = sizes.most_common(1)[0][0]
    texts = Counter(_text(shown) for shown in objects if shown[0].style.turn == OBLIQUE)
    kept: list[Character] = []
    for shown in objects:
        style = shown[0].style
        is_large = style.size >= _LARGER * usual
        across = style.turn == OBLIQUE and (is_large or texts[_text(shown)] >= _REPEATED)
        may_cross = style.is_faint and is_large and faint <= _MOST_FAINT
        if not across and not (may_cross and _is_crossed(shown, objects)):
            kept += shown
    return kept


def _is_crossed(shown: Sequence[Character], objects: Sequence[Sequence[Character]]) -> bool:
    """Return True if smaller level text is within the height and width of a text object."""
    style = shown[0].style
    left, right = shown[0].left, shown[-1].right
    return any(
        other[0].style.turn == style.turn
        and other[0].style.size < style.size
        and style.y <= other[0].style.y <= style.y + style.size / 2
        and other[0].left < right
        and left < other[-1].right
        for other in objects
    )


def _objects(characters: Sequence[Character]) -> Iterator[list[Character]]:
    for _, shown in groupby(characters, key=attrgetter("part")):
        yield list(shown)


def _text(shown: Sequence[Character]) -> str:
    return "".join(character.text for character in shown).strip()


class Garbled(NamedTuple):
    """Where a page shows text of which only the codes are known; ``is_most`` if half of it does."""

    regions: Sequence[Region] = ()
    is_most: bool = False


def without_garbled(characters: Sequence[Character]) -> tuple[list[Character], Garbled]:
    """Return the characters of a page that can be read, and where others were left out.

    Fonts without a mapping show text of which only the codes are known. A few signs stay.
    """
    texts: dict[tuple[str, bool], list[str]] = {}
    for shown in _objects(characters):
        style = shown[0].style
        texts.setdefault((style.font, style.is_mapped), []).append(_text(shown))
    garbled = {kind for kind, found in texts.items() if _is_garbled(found, is_mapped=kind[1])}
    for font, _ in garbled.copy():  # signs of the same font, such as codes taken for ligatures
        rest = "".join(texts.get((font, True), ()))
        if 10 * len(rest) < len("".join(texts.get((font, False), ()))):
            garbled.add((font, True))
    if not garbled:
        return list(characters), Garbled()
    kept: list[Character] = []
    regions: list[Region] = []
    for character in characters:
        style = character.style
        if (style.font, style.is_mapped) not in garbled:
            kept.append(character)
            continue
        half = style.size / 2
        region = Region(character.left, style.y - half, character.right, style.y + 2 * half)
        last = regions[-1] if regions else None
        if last is not None and last.bottom < region.top + half and region.bottom < last.top:
            region = regions.pop().around(region)
        regions.append(region)
    count = len(characters) - len(kept)
    return kept, Garbled(regions, count >= _MOST_OF_PAGE * len(characters))


def _is_garbled(texts: Sequence[str], *, is_mapped: bool) -> bool:
    """Return True if the text of a font has no words of any language."""
    text = "".join("".join(texts).split())
    runs = "".join(found for found in texts if len(found) >= _RUN)
    if 2 * len(runs) < len(text):
        return False
    if len(_UNKNOWN.findall(runs)) > _MOST_UNKNOWN[is_mapped] * len(runs):
        return True
    words = _WORD.findall(" ".join(texts))
    latin = [word for word in words if _LATIN.fullmatch(word)]
    if len(latin) < _FEWEST_WORDS[is_mapped] or 2 * len(latin) < len(words):
        return False
    letters = "".join(latin)
    return len(_VOWEL.findall(letters)) < _FEWEST_VOWELS[is_mapped] * len(letters) or len(
        _WESTERN.findall(letters)
    ) > _MOST_WESTERN * len(letters)
