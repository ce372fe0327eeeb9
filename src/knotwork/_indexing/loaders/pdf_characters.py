"""Read the characters of PDF pages with pdfium, each with its place and its type."""

from __future__ import annotations

import ctypes
import math
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

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
