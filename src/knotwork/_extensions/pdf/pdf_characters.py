"""Read the characters of PDF pages with pdfium, each with its place and its type.

Vertical and right-to-left text is put in reading order: pdfium gives the characters of a
right-to-left line now as they are read and now from left to right, as the program that made the
file wrote them. Watermarks, and codes that name no characters, are left out.
"""

from __future__ import annotations

import ctypes
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from operator import attrgetter
from typing import Any, NamedTuple

from knotwork._extensions.pdf.pdf_annotations import Region
from knotwork._indexing.loaders.loader import clean_text

OBLIQUE = -1
"""The turn of text that neither runs along the page nor across it."""
_LEVEL = 1e-3
"""Largest slope of text against the directions of the page."""
_NEXT_BASELINE = 0.3
"""Sizes by which a character is higher or lower than the text object it belongs to began."""
_LARGE = 24
"""Points from which on type is looked at for its colour."""
_FAINT = 160
"""Least amount of each colour, of 255, in type that text can be read over."""
_LONGEST_FONT_NAME = 256
_HYPHENS = frozenset({"\x02", "\ufffe"})
"""What pdfium makes of a hyphen at the end of a line."""
_COMPATIBLE = (("\ufb00", "\ufdff"), ("\ufe70", "\ufefc"), ("\u2e80", "\u2fdf"),
    ("\U0001d400", "\U0001d7ff"))  # fmt: skip
"""Ligatures, forms of Hebrew and Arabic letters, Chinese radicals used in place of characters, and
letters of formulas."""
_LIGATURES = ("ff", "fi", "fl", "ffi", "ffl")
_TEX_LIGATURES = {chr(at + n): text for at in (11, 27) for n, text in enumerate(_LIGATURES)}
"""Codes of ligatures in fonts of TeX, the older and the newer ones, which name no characters."""
_ACCENTS = dict(zip("`´ˆ˜¯˘˙¨˚˝ˇ¸˛^~", map(chr, (
    0x300, 0x301, 0x302, 0x303, 0x304, 0x306, 0x307, 0x308, 0x30A, 0x30B, 0x30C, 0x327, 0x328,
    0x302, 0x303,
)), strict=True))  # fmt: skip
"""Accents by themselves, and as they are added to a letter."""
_DOTLESS = {"ı": "i", "ȷ": "j"}
_ON_LETTER = 0.5
"""Share of the narrower of an accent and a letter that the other must cover, to belong to it."""

_REACH = 100
"""Characters before an accent to search for its letter: pdfium puts a raised accent behind the rest
of the line that its letter begins."""


class Style(NamedTuple):
    """What the characters of a text object share: baseline, size, font and direction.

    ``turn`` counts the quarters by which text is turned to the left; y is the height of the
    baseline where the page is turned back, so that text is level. ``is_mapped`` is False if the
    font does not say which characters its codes are.
    """

    y: float
    size: float
    font: str
    turn: int = 0
    is_mapped: bool = True
    is_faint: bool = False


class Character(NamedTuple):
    """A character with its ends in points; ``text`` is " " for a space.

    ``part`` is the same number for the characters of one text object in one line. One that
    ``goes_on`` is in the line of the one before, wherever it stands, and spaces are characters.
    """

    text: str
    left: float
    right: float
    style: Style
    begins_line: bool
    part: int
    goes_on: bool = False


def read_characters(page: Any) -> list[Character]:  # noqa: ANN401
    """Return the characters of the text page of a page, in the order of pdfium."""
    return _with_accents(_read(page))


def turned(x: float, y: float, turn: int) -> tuple[float, float]:
    """Return a point of a page where text that is turned by so many quarters is level."""
    for _ in range(turn):
        x, y = y, -x
    return x, y


def _read(page: Any) -> Iterator[Character]:  # noqa: ANN401
    import pypdfium2.raw as pdfium

    box = pdfium.FS_RECTF()
    address = None
    style = Style(0.0, 0.0, "")
    begins_line = True
    part = high = 0
    bottom = 0.0
    for number in range(pdfium.FPDFText_CountChars(page)):
        code = pdfium.FPDFText_GetUnicode(page, number)
        shown_by = pdfium.FPDFText_GetTextObject(page, number)
        if not shown_by:  # a space or a line end that pdfium adds
            begins_line |= code in (10, 13)
            continue
        if 0xD800 <= code < 0xDC00:  # the first half of a character, as in UTF-16
            high = code
            continue
        if high and 0xDC00 <= code < 0xE000:
            code += 0x10000 - 0xDC00 + ((high - 0xD800) << 10)
        high = 0
        at = ctypes.addressof(shown_by.contents)
        pdfium.FPDFText_GetLooseCharBox(page, number, box)
        left, right = box.left, box.right
        is_moved = not style.turn and abs(box.bottom - bottom) > _NEXT_BASELINE * style.size
        if at != address or begins_line or is_moved:
            address, part, bottom = at, part + 1, box.bottom
            style, x = _style(page, number)
            if not style.turn:  # slanted letters reach over the gap before their word
                left = min(max(left, x), right)
        if style.turn > 0:
            corners = turned(left, box.bottom, style.turn), turned(right, box.top, style.turn)
            left, right = sorted(corner[0] for corner in corners)
        yield Character(_text(page, number, code), left, right, style, begins_line, part)
        begins_line = False


def _style(page: Any, number: int) -> tuple[Style, float]:  # noqa: ANN401
    """Return the style of a character, and where it begins without its overhang."""
    import pypdfium2.raw as pdfium

    x, y, flags = ctypes.c_double(), ctypes.c_double(), ctypes.c_int()
    pdfium.FPDFText_GetCharOrigin(page, number, x, y)
    matrix = pdfium.FS_MATRIX()
    pdfium.FPDFText_GetMatrix(page, number, matrix)
    name = ctypes.create_string_buffer(_LONGEST_FONT_NAME)
    pdfium.FPDFText_GetFontInfo(page, number, name, _LONGEST_FONT_NAME, flags)
    font = name.value.decode("utf-8", "replace").rpartition("+")[2]
    scale = math.hypot(matrix.c, matrix.d)
    size = round(abs(pdfium.FPDFText_GetFontSize(page, number) * scale), 2)
    turn = _turn(matrix.a, matrix.b, matrix.c, matrix.d)
    place = turned(x.value, y.value, turn)
    is_mapped = pdfium.FPDFText_HasUnicodeMapError(page, number) != 1
    is_faint = size >= _LARGE and _is_faint(page, number)
    return Style(place[1], size, font, turn, is_mapped, is_faint), place[0]


def _turn(a: float, b: float, c: float, d: float) -> int:
    """Return the quarters by which a matrix turns text to the left, or `OBLIQUE`."""
    for turn in range(4):
        if abs(b) < _LEVEL * a and d > 0:
            return turn
        a, b, c, d = b, -a, d, -c
    return OBLIQUE


def _is_faint(page: Any, number: int) -> bool:  # noqa: ANN401
    """Return True if type is light or transparent."""
    import pypdfium2.raw as pdfium

    red, green, blue, alpha = (ctypes.c_uint() for _ in range(4))
    if not pdfium.FPDFText_GetFillColor(page, number, red, green, blue, alpha):
        return False
    return min(red.value, green.value, blue.value) >= _FAINT or alpha.value < _FAINT


def _text(page: Any, number: int, code: int) -> str:  # noqa: ANN401
    """Return a character as people type it: "fi" for the ligature, "-" for a hyphen."""
    import pypdfium2.raw as pdfium

    if not 0 < code < 0x110000 or 0xD800 <= code < 0xE000:
        return ""
    text = chr(code)
    if " " < text < "\x7f":
        return text
    if text in _TEX_LIGATURES and pdfium.FPDFText_HasUnicodeMapError(page, number) == 1:
        return _TEX_LIGATURES[text]
    if text in _HYPHENS:
        return "-"
    if text.isspace():
        return " "
    if any(first <= text <= last for first, last in _COMPATIBLE):
        text = unicodedata.normalize("NFKC", text)
    return clean_text(text)


def _with_accents(characters: Iterable[Character]) -> list[Character]:
    """Return characters, with each accent joined to the letter that it is drawn over."""
    kept: list[Character] = []
    was_accent = False
    for character in characters:
        is_accent = character.text in _ACCENTS
        reach = _REACH if is_accent else int(was_accent)
        was_accent = is_accent
        for place in range(len(kept) - 1, max(-1, len(kept) - 1 - reach), -1):
            joined = _accented(kept[place], character)
            if joined is not None:
                kept[place] = joined
                break
        else:
            kept.append(character)
    return kept


def _accented(one: Character, other: Character) -> Character | None:
    """Return the letter of an accent and a letter that are drawn over each other, if they are."""
    if one.text in _ACCENTS and other.text not in _ACCENTS:
        accent, letter = one, other
    elif other.text in _ACCENTS and one.text not in _ACCENTS:
        accent, letter = other, one
    else:
        return None
    if not letter.text.isalpha() or not (accent.style.turn == letter.style.turn != OBLIQUE):
        return None
    shared = min(one.right, other.right) - max(one.left, other.left)
    width = min(one.right - one.left, other.right - other.left)
    if not width > 0 or shared < _ON_LETTER * width:
        return None
    if abs(one.style.y - other.style.y) > letter.style.size / 2:
        return None
    base = _DOTLESS.get(letter.text, letter.text)
    text = unicodedata.normalize("NFC", base + _ACCENTS[accent.text])
    begins_line = letter.begins_line or (accent is one and accent.begins_line)
    return letter._replace(text=text, begins_line=begins_line) if len(text) == 1 else None


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


_LARGER = 1.5
"""Size of a watermark across the page, at least, as a multiple of that of the text."""
_REPEATED = 3
"""Times that smaller type is repeated across a page, to be a watermark."""
_MOST_FAINT = 100
"""Faint text objects of a page with a watermark."""
_MOST_OF_PAGE = 0.5
"""The share of a page that is garbled, at least, for it to be read as a picture."""
_OF_PROSE = 4
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
    texts = Counter(_text_of(shown) for shown in objects if shown[0].style.turn == OBLIQUE)
    kept: list[Character] = []
    for shown in objects:
        style = shown[0].style
        is_large = style.size >= _LARGER * usual
        across = style.turn == OBLIQUE and (is_large or texts[_text_of(shown)] >= _REPEATED)
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


def _text_of(shown: Sequence[Character]) -> str:
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
        texts.setdefault((style.font, style.is_mapped), []).append(_text_of(shown))
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
    runs = "".join(found for found in texts if len(found) >= _OF_PROSE)
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
