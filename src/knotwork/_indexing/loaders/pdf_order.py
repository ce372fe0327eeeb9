"""Put the characters of PDF pages in reading order: vertical and right-to-left text.

pdfium gives the characters of a right-to-left line now as they are read and now from left to
right, as the program that made the file wrote them. Only their places say where each of them is.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import pairwise

from knotwork._indexing.loaders.pdf_characters import OBLIQUE, Character, turned

RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
"""A letter of Hebrew, Arabic and the scripts beside them."""
_ARABIC = re.compile("[\u0600-\u08ff]")
CHINESE = re.compile("[\u3040-\u30ff\u3400-\u9fff]")
_ANOTHER_LINE = 0.5
"""Sizes between the baselines of two lines."""
_WORD_GAP = 0.2
"""Sizes between letters from which they belong to two words; the letters of Arabic overlap."""
_ASIDE = 0.3
"""Sizes between the left edges of two characters of one vertical line, at most."""
_FARTHEST_BELOW = 2.5
"""Sizes from a character of a vertical line to the next one, at most."""
_ASCENT = 0.88
"""Sizes from the baseline of a Chinese character to its top."""
_RUN = re.compile(r"[LD](?:[^R]*[LD])?")
"""What is read from left to right inside of right-to-left text: words, or numbers."""
_NUMBER, _ARABIC_NUMBER = re.compile(r"D+(?:[-+.,:/]D+)*"), re.compile(r"D+(?:[.,:/]D+)*")
"""A hyphen parts the numbers of Arabic, whose parts are shown from right to left."""
_RIGHT_RUN = re.compile(r"R(?:[^L]*R)?")
_ALEFS, _LAM = frozenset("\u0622\u0623\u0625\u0627"), "\u0644"
"""Two letters that are written as one, in this order: "\u0644\u0627"."""
_OPENING, _CLOSING = "([{<«", ")]}>»"
_PARTNERS = str.maketrans(_OPENING + _CLOSING, _CLOSING + _OPENING)


def turned_columns(characters: Sequence[Character]) -> list[Character]:
    """Return the characters of a page, those of vertical lines as text that is turned right.

    A page is vertical if most of its Chinese characters are below the ones before them.
    """
    down = across = 0
    for one, other in pairwise(characters):
        if CHINESE.match(one.text) and CHINESE.match(other.text):
            down += _is_below(one, other)
            across += abs(one.style.y - other.style.y) < _ASIDE * one.style.size
    return [_stood(c) for c in characters] if down > across else list(characters)


def _is_below(one: Character, other: Character) -> bool:
    size = one.style.size
    return (
        one.style.turn == other.style.turn == 0
        and not other.begins_line
        and abs(one.left - other.left) < _ASIDE * size
        and _ANOTHER_LINE * size < one.style.y - other.style.y < _FARTHEST_BELOW * size
    )


def _stood(character: Character) -> Character:
    """Return a character of a vertical line with its place in a line that is turned right."""
    style = character.style
    if style.turn:
        return character
    start, y = turned(character.left, style.y + _ASCENT * style.size, 3)
    return character._replace(
        left=start, right=start + style.size, style=style._replace(y=y, turn=3)
    )


def is_right_to_left(characters: Sequence[Character]) -> bool:
    """Return True if most letters of a page are read from right to left."""
    letters = [character.text for character in characters if character.text.isalpha()]
    return 2 * sum(RIGHT_TO_LEFT.match(letter) is not None for letter in letters) > len(letters)


def in_logical_order(characters: Sequence[Character]) -> list[Character]:
    """Return the characters of a page, those of lines with right-to-left text as they are read."""
    is_page = is_right_to_left(characters)
    ordered: list[Character] = []
    for line in _lines(characters):
        letters = [character for character in line if character.text.isalpha()]
        right = sum(RIGHT_TO_LEFT.match(letter.text) is not None for letter in letters)
        if right and line[0].style.turn != OBLIQUE:
            first = max(letters, key=lambda letter: letter.right).text
            begins = is_page and RIGHT_TO_LEFT.match(first) is not None
            ordered += _logical(line, is_right=begins or 2 * right > len(letters))
        else:
            ordered += line
    return ordered


def _lines(characters: Sequence[Character]) -> Iterator[list[Character]]:
    """Yield the characters on one baseline that follow each other in the file."""
    line: list[Character] = []
    for character in characters:
        if line:
            one, other = line[-1].style, character.style
            size = max(one.size, other.size)
            if one.turn != other.turn or abs(one.y - other.y) > _ANOTHER_LINE * size:
                yield line
                line = []
        line.append(character)
    if line:
        yield line


def _logical(line: Sequence[Character], *, is_right: bool) -> list[Character]:
    """Return the characters of a line in logical order, from their places.

    ``is_right`` is True if the line begins on the right.
    """
    shown = list(_with_spaces(_units(line)))
    kinds = "".join(_kind(unit[0].text) for unit in shown)
    if is_right:
        ordered = _turned_back(shown, kinds)
    else:
        ordered, done = [], 0
        for run in _RIGHT_RUN.finditer(kinds):
            ordered += shown[done : run.start()]
            ordered += _turned_back(shown[run.start() : run.end()], run[0])
            done = run.end()
        ordered += shown[done:]
    found = [character for unit in ordered for character in unit]
    texts = ["", *(character.text for character in found), ""]
    return [
        character._replace(
            text=_bracket(*texts[place : place + 3]),
            begins_line=not place,
            part=line[0].part,
            goes_on=place > 0,
        )
        for place, character in enumerate(found)
    ]


def _units(line: Sequence[Character]) -> list[list[Character]]:
    """Return characters from left to right, each with the marks on it, or those of a ligature."""
    units: list[list[Character]] = []
    for character in line:
        is_mark = unicodedata.combining(character.text[:1] or " ") > 0
        last = units[-1][0] if units else None
        is_same = last is not None and (last.left, last.right) == (character.left, character.right)
        if last is not None and (is_same or (is_mark and character.left < last.right)):
            units[-1].append(character)
        else:
            units.append([character])
    for unit in units:
        if len(unit) == 2 and unit[0].text in _ALEFS and unit[1].text == _LAM:
            unit.reverse()
    return sorted(units, key=lambda unit: unit[0].left + unit[0].right)


def _with_spaces(units: Sequence[list[Character]]) -> Iterator[list[Character]]:
    """Yield characters from left to right with a space in each wide gap between two of them."""
    before: Character | None = None
    for unit in units:
        character = unit[0]
        if before is not None:
            gap = character.left - before.right
            is_apart = gap > _WORD_GAP * character.style.size
            if is_apart and before.text.strip() and character.text.strip():
                yield [character._replace(text=" ", left=before.right, right=character.left)]
        yield unit
        before = character


def _kind(text: str) -> str:
    """Return R for a right-to-left letter, L for another one, D for a digit, or the text itself."""
    first = text[:1]
    if first.isdecimal():
        return "D"
    if RIGHT_TO_LEFT.match(first) and first.isalpha():
        return "R"
    if first.isalpha():
        return "L"
    return first if first and first in "-+.,:/" else "N"


def _turned_back(shown: Sequence[list[Character]], kinds: str) -> list[list[Character]]:
    """Return characters from right to left, but for the words and numbers of other scripts."""
    is_arabic = any(_ARABIC.match(unit[0].text) for unit in shown if unit[0].text.isalpha())
    number = _ARABIC_NUMBER if is_arabic else _NUMBER
    ordered, kinds = list(reversed(shown)), kinds[::-1]
    for run in _RUN.finditer(kinds):
        parts = [run] if "L" in run[0] else number.finditer(kinds, *run.span())
        for part in parts:
            ordered[part.start() : part.end()] = ordered[part.start() : part.end()][::-1]
    return ordered


def _bracket(before: str, text: str, after: str) -> str:
    """Return a bracket as it opens or closes in its text: it may be stored as it is shown."""
    if text and text in _OPENING + _CLOSING:
        opens = not before.strip() and bool(after.strip())
        closes = bool(before.strip()) and not after.strip(" .,;:!?،؛")
        if (opens and text in _CLOSING) or (closes and text in _OPENING):
            return text.translate(_PARTNERS)
    return text
