"""Read positioned words, ruling lines and the places of pictures from PDF pages, with pdfium.

pdfium gives each character with its place, its font and the text object that shows it. Words are
made of characters by the gaps between them, since the spaces of many files are gaps.
"""

from __future__ import annotations

import ctypes
import logging
import math
import threading
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from hashlib import blake2b
from itertools import groupby, islice, pairwise
from operator import attrgetter
from statistics import median
from typing import Any, NamedTuple

from knotwork._indexing.loaders.loader import (
    Source,
    broken_file_error,
    encrypted_file_error,
)

_LEVEL = 1e-3
"""Largest slope of text that counts as horizontal."""
_LONGEST_FONT_NAME = 256
_HYPHENS = frozenset({"\x02", "\ufffe"})
"""What pdfium makes of a hyphen at the end of a line."""
_COMPATIBLE = (("\ufb00", "\ufb06"), ("\u2e80", "\u2fdf"), ("\U0001d400", "\U0001d7ff"))
"""Ligatures, Chinese radicals used in place of characters, and letters of formulas."""
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
    """What the characters of a text object share: baseline, size and font."""

    y: float
    size: float
    font: str
    is_level: bool


class Character(NamedTuple):
    """A character with its ends in points; ``text`` is " " for a space.

    ``part`` is the same number for the characters of one text object in one line.
    """

    text: str
    left: float
    right: float
    style: Style
    begins_line: bool
    part: int


def characters_of(page: Any) -> Iterator[list[Character]]:  # noqa: ANN401
    """Yield the characters of each text object of a page, in the order of pdfium."""
    for _, own in groupby(_with_accents(_read(page)), key=attrgetter("part")):
        yield list(own)


def _read(page: Any) -> Iterator[Character]:  # noqa: ANN401
    import pypdfium2.raw as pdfium

    box = pdfium.FS_RECTF()
    address = None
    style = Style(0.0, 0.0, "", is_level=True)
    begins_line = True
    part = high = 0
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
        left = box.left
        if at != address or begins_line:
            address, part = at, part + 1
            style, x = _style(page, number)
            if style.is_level:  # slanted letters reach over the gap before their word
                left = min(max(left, x), box.right)
        yield Character(_text(page, number, code), left, box.right, style, begins_line, part)
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
    is_level = abs(matrix.b) < _LEVEL * matrix.a and matrix.d > 0
    return Style(y.value, size, font, is_level), x.value


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
    return text


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
    if not letter.text.isalpha() or not (accent.style.is_level and letter.style.is_level):
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


PDFIUM_LOCK = threading.Lock()
"""Held while pdfium is used, which is not made for several threads."""

_WORD_GAP = 0.1
"""Sizes between characters from which they belong to two words, as in Poppler. In the manuals that
were measured, kerning is below 0.03, and spaces in narrow lines are above 0.2."""
_WIDE_GAP = 0.6
"""The same between two Chinese characters, which justified lines set apart."""
_LEAST_SPACED = 4
"""Fewest gaps of a text object whose median is that of letter-spaced text."""
_BACK = 0.3
"""Sizes by which a character may begin to the left of the one before it, as an accent does."""
_ANOTHER_LINE = 0.5
"""Sizes between the baselines of two lines; raised and lowered text is nearer."""
_THIN = 2.5
"""Largest stroke width of a ruling line, in points."""
_MOST_PIECES = 20_000
_MOST_RULES = 5_000
"""Largest number of words and ruling lines on a page; a page with more is a drawing."""
_MOST_OBJECTS = 100_000
_MOST_PICTURE_BYTES = 50_000_000
"""A picture with more is compared with others by its size alone."""
_DEEPEST_FORM = 6
"""Levels of objects that are read: forms may be in each other."""

Point = tuple[float, float]


class Piece(NamedTuple):
    """A word or a part of one, with its ends and baseline in points from the lower left.

    ``is_spaced`` is True if there is a space or a gap before it in its line, and ``begins_line`` if
    it is the first one there. ``is_placed`` is False if the text is not horizontal.
    """

    text: str
    left: float
    right: float
    y: float
    size: float
    font: str
    is_placed: bool = True
    is_spaced: bool = False
    begins_line: bool = False


class RulingLine(NamedTuple):
    """A horizontal line, or such an edge of a filled or framed box, in points.

    ``place`` is its y coordinate; it extends from ``start`` to ``end``.
    """

    place: float
    start: float
    end: float


class Region(NamedTuple):
    """A rectangle on a page, in points from the lower left."""

    left: float
    bottom: float
    right: float
    top: float

    @property
    def area(self) -> float:
        """The area in square points."""
        return max(self.right - self.left, 0.0) * max(self.top - self.bottom, 0.0)


_NOWHERE = Region(0, 0, 0, 0)


class PagePicture(NamedTuple):
    """A picture on a page: where it is, its size in pixels, and a hash of its data."""

    region: Region
    pixels: int
    digest: bytes


class PageContent(NamedTuple):
    """What a page shows: its words in file order, its lines, and its pictures.

    ``drawn`` are the horizontal lines, the topmost first. ``region`` is that of the whole page,
    empty if the page is turned. ``is_complete`` is False if it is a drawing, whose lines were not
    all read.
    """

    pieces: list[Piece]
    drawn: list[RulingLine]
    pictures: list[PagePicture]
    region: Region
    is_complete: bool


@contextmanager
def open_pdf(source: Source) -> Iterator[Any]:
    """Open a PDF, as a `pypdfium2.PdfDocument`; who uses it holds `PDFIUM_LOCK`.

    Raises LoadError, whose reason is "password" if the password is missing or wrong, or "broken".
    """
    import pypdfium2
    from pypdfium2.raw import FPDF_ERR_PASSWORD

    _silence()
    with PDFIUM_LOCK:
        try:
            document = pypdfium2.PdfDocument(source.data, password=source.password or None)
        except pypdfium2.PdfiumError as error:
            if error.err_code == FPDF_ERR_PASSWORD:
                raise encrypted_file_error(source) from None
            raise broken_file_error(source, "its pages cannot be found") from error
    try:
        yield document
    finally:
        with PDFIUM_LOCK:
            document.close()


def _silence() -> None:
    """Hide pypdfium2's warnings about sloppy files, unless the user configured its logger."""
    logger = logging.getLogger("pypdfium2")
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.CRITICAL)


def read_page(document: Any, number: int) -> PageContent:  # noqa: ANN401 - a library without types
    """Return the content of a page, empty if it is broken; ``number`` is from 0."""
    import pypdfium2

    try:
        with closing(document[number]) as page:
            drawn, pictures, is_complete = _read_drawing(page)
            region = _NOWHERE if page.get_rotation() else Region(*page.get_bbox())
            with closing(page.get_textpage()) as text:
                pieces = list(_pieces(characters_of(text.raw)))
    except pypdfium2.PdfiumError:
        return PageContent([], [], [], _NOWHERE, is_complete=False)
    return PageContent(pieces, drawn, pictures, region, is_complete and len(pieces) < _MOST_PIECES)


def _pieces(objects: Iterable[Sequence[Character]]) -> Iterator[Piece]:
    """Join the characters of text objects, in file order, to words of one font each."""
    word: list[Character] = []
    begins_line, is_spaced, had_space = True, False, False
    count = 0
    for characters in objects:
        spacing = _spacing(characters)
        for character in characters:
            if not character.text.strip():
                had_space |= bool(character.text)
                continue
            is_first = not word or _is_in_another_line(word[-1], character)
            is_apart = not is_first and (had_space or _has_gap(word[-1], character, spacing))
            if word and (is_first or is_apart or character.style != word[-1].style):
                yield _piece(word, begins_line=begins_line, is_spaced=is_spaced)
                count += 1
                word, begins_line, is_spaced = [], is_first, is_apart
            word.append(character)
            had_space = False
        if count >= _MOST_PIECES:
            return
    if word:
        yield _piece(word, begins_line=begins_line, is_spaced=is_spaced)


def _piece(word: Sequence[Character], *, begins_line: bool, is_spaced: bool) -> Piece:
    text = "".join(character.text for character in word)
    y, size, font, is_level = word[0].style
    ends = word[0].left, word[-1].right
    return Piece(text, *ends, y, size, font, is_level, is_spaced, begins_line)


def _spacing(characters: Sequence[Character]) -> float:
    """Return the gap between the letters of a text object in sizes, 0 unless they are spaced."""
    size = characters[0].style.size
    inked = [character for character in characters if character.text.strip()]
    if 2 * sum(character.text.isalnum() for character in inked) < len(inked):
        return 0.0  # points of ellipsis
    gaps = [(after.left - before.right) / size for before, after in pairwise(inked) if size]
    usual = median(gaps) if len(gaps) >= _LEAST_SPACED else 0.0
    return usual if usual > _WORD_GAP / 2 else 0.0


def _is_in_another_line(last: Character, character: Character) -> bool:
    """Return True if a character is not in the line of the one before it."""
    one, other = last.style, character.style
    if not (one.is_level and other.is_level):
        return character.begins_line or one.is_level != other.is_level
    size = max(one.size, other.size)
    is_below = abs(one.y - other.y) > _ANOTHER_LINE * size
    return is_below or character.left < last.left - _BACK * size


def _has_gap(last: Character, character: Character, spacing: float) -> bool:
    """Return True if there is a gap between two characters of a line that parts words."""
    size = max(last.style.size, character.style.size)
    is_wide = _is_wide(last.text) and _is_wide(character.text)
    least = _WIDE_GAP if is_wide else _WORD_GAP
    return character.left - last.right > (least + spacing) * size


def _is_wide(text: str) -> bool:
    return unicodedata.east_asian_width(text[-1]) in "WF"


def _read_drawing(page: Any) -> tuple[list[RulingLine], list[PagePicture], bool]:  # noqa: ANN401
    """Return the ruling lines and the pictures of a page, and whether all were read."""
    from pypdfium2.raw import FPDF_PAGEOBJ_IMAGE, FPDF_PAGEOBJ_PATH

    drawn: list[RulingLine] = []
    pictures: list[PagePicture] = []
    objects = page.get_objects(max_depth=_DEEPEST_FORM)
    for shown in islice(objects, _MOST_OBJECTS):
        if shown.type == FPDF_PAGEOBJ_IMAGE:
            pictures += _picture(shown)
        elif shown.type == FPDF_PAGEOBJ_PATH and len(drawn) < _MOST_RULES:
            drawn += _rules(shown)
    is_complete = len(drawn) < _MOST_RULES and not any(objects)
    return sorted(drawn, reverse=True), pictures, is_complete


def _matrices(shown: Any) -> Iterator[Any]:  # noqa: ANN401
    """Yield the matrices of an object and of the forms around it."""
    while shown is not None:
        yield shown.get_matrix()
        shown = shown.container


def _picture(shown: Any) -> Iterator[PagePicture]:  # noqa: ANN401
    """Yield the picture that an object shows, unless it is broken."""
    import pypdfium2.raw as pdfium

    width, height = ctypes.c_uint(), ctypes.c_uint()
    if not pdfium.FPDFImageObj_GetImagePixelSize(shown, width, height):
        return
    matrices = list(_matrices(shown))
    corners = [_moved(x, y, matrices) for x in (0.0, 1.0) for y in (0.0, 1.0)]
    across, up = zip(*corners, strict=True)
    region = Region(min(across), min(up), max(across), max(up))
    size = pdfium.FPDFImageObj_GetImageDataRaw(shown, None, 0)
    digest = blake2b(f"{width.value} {height.value} {size}".encode(), digest_size=16)
    digest.update(shown.get_data() if size <= _MOST_PICTURE_BYTES else b"")
    yield PagePicture(region, width.value * height.value, digest.digest())


def _rules(path: Any) -> Iterator[RulingLine]:  # noqa: ANN401
    """Yield the horizontal lines of a path that is drawn or filled; one with curves has none."""
    import pypdfium2.raw as pdfium

    fill, is_drawn = ctypes.c_int(), ctypes.c_int()
    pdfium.FPDFPath_GetDrawMode(path, fill, is_drawn)
    if not fill.value and not is_drawn.value:
        return
    matrices = list(_matrices(path))
    outlines: list[list[Point]] = []
    curved: set[int] = set()
    x, y = ctypes.c_float(), ctypes.c_float()
    for number in range(min(pdfium.FPDFPath_CountSegments(path), _MOST_RULES)):
        segment = pdfium.FPDFPath_GetPathSegment(path, number)
        kind = pdfium.FPDFPathSegment_GetType(segment)
        if kind == pdfium.FPDF_SEGMENT_MOVETO or not outlines:
            outlines.append([])
        if kind == pdfium.FPDF_SEGMENT_BEZIERTO:
            curved.add(len(outlines))
        pdfium.FPDFPathSegment_GetPoint(segment, x, y)
        outlines[-1].append(_moved(x.value, y.value, matrices))
    for number, points in enumerate(outlines, start=1):
        for (x1, y1), (x2, y2) in pairwise([*points, points[0]]):
            if number not in curved and abs(y1 - y2) < _THIN < abs(x1 - x2):
                yield RulingLine(min(y1, y2), min(x1, x2), max(x1, x2))


def _moved(x: float, y: float, matrices: Iterable[Any]) -> Point:
    """Return a point transformed by matrices, one after the other, to hundredths of a point."""
    for m in matrices:
        x, y = x * m.a + y * m.c + m.e, x * m.b + y * m.d + m.f
    return round(x, 2), round(y, 2)
