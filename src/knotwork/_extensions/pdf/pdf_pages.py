"""Read positioned words, ruling lines and the places of pictures from PDF pages, with pdfium.

pdfium gives each character with its place, its font and the text object that shows it. Words are
made of characters by the gaps between them, since the spaces of many files are gaps.
"""

from __future__ import annotations

import ctypes
import logging
import threading
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from hashlib import blake2b
from itertools import groupby, islice, pairwise
from operator import attrgetter
from statistics import median
from typing import Any, NamedTuple

from knotwork._extensions.pdf.pdf_annotations import (
    PageLink,
    PageNote,
    Region,
    read_annotations,
    read_links,
    with_values,
)
from knotwork._extensions.pdf.pdf_characters import (
    CHINESE,
    OBLIQUE,
    RIGHT_TO_LEFT,
    Character,
    Garbled,
    in_logical_order,
    is_right_to_left,
    read_characters,
    turned,
    turned_columns,
    without_garbled,
    without_watermarks,
)
from knotwork._indexing.loaders.loader import Source, broken_file_error, encrypted_file_error

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
_SMALLER = 0.85
"""Size of raised and lowered text, at most, as a multiple of that of its line."""
_RAISED, _LOWERED, _RAISED_APART = 0.12, 0.08, 0.25
"""Sizes by which smaller text is raised or lowered behind a word, and other text is raised."""
_SHORT = 3
"""Characters of a line whose largest type is that of its text, at most."""
_THIN = 2.5
"""Largest stroke width of a ruling line, in points."""
_MOST_PIECES = 20_000
_MOST_RULES = 10_000
"""Largest number of words and ruling lines on a page; a page with more is a drawing."""
_MOST_OBJECTS = 100_000
_MOST_PICTURE_BYTES = 50_000_000
"""A picture with more is compared with others by its size alone."""
_DEEPEST_FORM = 6
"""Levels of objects that are read: forms may be in each other."""

_ELSEWHERE = 100_000.0
"""Points between the heights of text in different directions, which has no lines in common."""

Point = tuple[float, float]


class Piece(NamedTuple):
    """A word or a part of one, with its ends and baseline in points from the lower left.

    The page is turned so that most of its text is level; if most of it is read from right to left,
    the ends count from the right. ``turn`` counts the quarters by which other text is turned.
    ``is_spaced`` is True if there is a space or a gap before it in its line, and ``begins_line`` if
    it is the first one there. ``rise`` is 1 for raised and -1 for lowered text, whose baseline is
    that of its line.
    """

    text: str
    left: float
    right: float
    y: float
    size: float
    font: str
    turn: int = 0
    is_spaced: bool = False
    begins_line: bool = False
    rise: int = 0


class RulingLine(NamedTuple):
    """A level line, or such an edge of a filled or framed box, in points.

    ``place`` is its y coordinate; it extends from ``start`` to ``end``. That of an ``upright`` line
    is its x coordinate.
    """

    place: float
    start: float
    end: float
    upright: bool = False


_NOWHERE = Region(0, 0, 0, 0)


class PagePicture(NamedTuple):
    """A picture on a page: where it is, its size in pixels, and a hash of its data."""

    region: Region
    pixels: int
    digest: bytes


class PageContent(NamedTuple):
    """What a page shows: its words in file order, its lines, and its pictures.

    ``drawn`` are the level lines, the topmost first, ``upright`` the other ones. ``region`` is that
    of the whole page, empty if the page is turned. ``is_complete`` is False if it is a drawing,
    whose lines were not all read, ``garbled`` says where codes were left out. ``notes`` are
    comments, text boxes and values without labels, ``links`` lead away from words of the page.
    """

    pieces: list[Piece]
    drawn: list[RulingLine]
    pictures: list[PagePicture]
    region: Region
    is_complete: bool
    garbled: Garbled = Garbled()
    notes: Sequence[PageNote] = ()
    links: Sequence[PageLink] = ()
    upright: Sequence[RulingLine] = ()


@contextmanager
def open_pdf(source: Source) -> Iterator[Any]:
    """Open a PDF, as a `pypdfium2.PdfDocument`; who uses it holds `PDFIUM_LOCK`.

    Raises LoadError, whose reason is "password" if the password is missing or wrong, or "broken".
    """
    import pypdfium2
    from pypdfium2.raw import FPDF_ERR_PASSWORD

    logger = logging.getLogger("pypdfium2")
    if logger.level == logging.NOTSET:  # hide warnings about sloppy files
        logger.setLevel(logging.CRITICAL)
    with PDFIUM_LOCK:
        try:
            document = pypdfium2.PdfDocument(source.data, password=source.password or None)
        except pypdfium2.PdfiumError as error:
            if error.err_code == FPDF_ERR_PASSWORD:
                raise encrypted_file_error(source) from None
            raise broken_file_error(source, "its pages cannot be found") from error
    try:
        with PDFIUM_LOCK:
            document.init_forms()
        yield document
    finally:
        with PDFIUM_LOCK:
            document.close()


def read_page(document: Any, number: int) -> PageContent:  # noqa: ANN401 - a library without types
    """Return the content of a page, empty if it is broken; ``number`` is from 0."""
    import pypdfium2

    try:
        with closing(document[number]) as page:
            region = _NOWHERE if page.get_rotation() else Region(*page.get_bbox())
            characters, turn = _read_level(page)
            characters, garbled = without_garbled(without_watermarks(characters))
            text = "".join(character.text for character in characters)
            if CHINESE.search(text):
                characters = turned_columns(characters)
            is_mirrored = False
            if RIGHT_TO_LEFT.search(text):
                is_mirrored = is_right_to_left(characters)
                characters = in_logical_order(characters)
            sign = -1 if is_mirrored else 1

            def place(x: float, y: float) -> Point:
                x, y = turned(x, y, turn)
                return sign * x, y

            drawn, pictures, is_complete = _read_drawing(page, place)
            placed = [_placed(piece, turn, sign) for piece in _pieces(characters)]
            pieces = list(_with_rises(placed))
            filled, notes = read_annotations(page, place)
            if filled:
                pieces, unplaced = with_values(pieces, filled)
                notes = [*unplaced, *notes]
            links = read_links(document, page)
    except pypdfium2.PdfiumError:
        return PageContent([], [], [], _NOWHERE, is_complete=False)
    is_complete &= len(pieces) < _MOST_PIECES
    level = [line for line in drawn if not line.upright]
    upright = [line for line in drawn if line.upright]
    return PageContent(pieces, level, pictures, region, is_complete, garbled, notes, links, upright)


def _read_level(page: Any) -> tuple[list[Character], int]:  # noqa: ANN401
    """Return the characters of a page, and the quarters by which most of them are turned.

    pdfium gives lines in their order if the page is shown so that they are level.
    """
    shown = page.get_rotation()
    with closing(page.get_textpage()) as text:
        characters = read_characters(text.raw)
    turns = Counter(character.style.turn for character in characters)
    del turns[OBLIQUE]
    turn = turns.most_common(1)[0][0] if turns else 0
    if turn * 90 != shown:
        try:
            page.set_rotation(turn * 90)
            with closing(page.get_textpage()) as text:
                characters = read_characters(text.raw)
        finally:
            page.set_rotation(shown)
    return characters, turn


def _placed(piece: Piece, turn: int, sign: int) -> Piece:
    """Return a piece on a page that is turned, and mirrored if ``sign`` is -1."""
    if piece.turn == OBLIQUE:
        return piece
    left, right = sorted((sign * piece.left, sign * piece.right))
    further = (piece.turn - turn) % 4
    return piece._replace(left=left, right=right, y=piece.y - _ELSEWHERE * further, turn=further)


def _with_rises(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Yield pieces, raised and lowered ones on the baseline of their line."""
    line: list[Piece] = []
    for piece in pieces:
        if piece.begins_line:
            yield from _levelled(line)
            line = []
        line.append(piece)
    yield from _levelled(line)


def _levelled(line: Sequence[Piece]) -> Iterator[Piece]:
    weights: Counter[tuple[float, float]] = Counter()
    for piece in line:
        weights[piece.size, piece.y] += len(piece.text)
    if len(weights) < 2:
        yield from line
        return
    (size, y), count = weights.most_common(1)[0]
    if count <= _SHORT:
        size, y = max(weights)
    for piece in line:
        rise = (piece.y - y) / size if size and piece.turn != OBLIQUE else 0.0
        is_small = piece.size <= _SMALLER * size
        is_near = not (piece.begins_line or piece.is_spaced)
        is_raised = (_RAISED_APART, _RAISED)[is_near] < rise < 1 and (
            is_small or (is_near and rise > _RAISED_APART)
        )
        is_lowered = is_small and -1 < rise < -_LOWERED
        if is_raised or is_lowered:
            yield piece._replace(y=y, rise=1 if is_raised else -1)
        else:
            yield piece


def _pieces(found: Iterable[Character]) -> Iterator[Piece]:
    """Join characters, in file order, to words of one font each."""
    word: list[Character] = []
    begins_line, is_spaced, had_space = True, False, False
    count = 0
    for _, own in groupby(found, key=attrgetter("part")):
        characters = list(own)
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
    style = word[0].style
    left, right = min(word[0].left, word[-1].left), max(word[0].right, word[-1].right)
    return Piece(
        text, left, right, style.y, style.size, style.font, style.turn, is_spaced, begins_line
    )


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
    if character.goes_on:
        return False
    if OBLIQUE in (one.turn, other.turn) or one.turn != other.turn:
        return character.begins_line or one.turn != other.turn
    size = max(one.size, other.size)
    is_below = abs(one.y - other.y) > _ANOTHER_LINE * size
    return is_below or character.left < last.left - _BACK * size


def _has_gap(last: Character, character: Character, spacing: float) -> bool:
    """Return True if there is a gap between two characters of a line that parts words."""
    if character.goes_on:
        return False
    size = max(last.style.size, character.style.size)
    is_wide = _is_wide(last.text) and _is_wide(character.text)
    least = _WIDE_GAP if is_wide else _WORD_GAP
    return character.left - last.right > (least + spacing) * size


def _is_wide(text: str) -> bool:
    return unicodedata.east_asian_width(text[-1]) in "WF"


def _read_drawing(
    page: Any,  # noqa: ANN401
    place: Callable[[float, float], Point],
) -> tuple[list[RulingLine], list[PagePicture], bool]:
    """Return the ruling lines and the pictures of a page, and whether all were read.

    ``place`` returns where a point of the page is once the page is turned.
    """
    from pypdfium2.raw import FPDF_PAGEOBJ_IMAGE, FPDF_PAGEOBJ_PATH

    drawn: list[RulingLine] = []
    pictures: list[PagePicture] = []
    objects = page.get_objects(max_depth=_DEEPEST_FORM)
    for shown in islice(objects, _MOST_OBJECTS):
        if shown.type == FPDF_PAGEOBJ_IMAGE:
            pictures += _picture(shown)
        elif shown.type == FPDF_PAGEOBJ_PATH and len(drawn) < _MOST_RULES:
            drawn += _rules(shown, place)
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


def _rules(path: Any, place: Callable[[float, float], Point]) -> Iterator[RulingLine]:  # noqa: ANN401
    """Yield the lines of a path that is drawn or filled; one with curves has none."""
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
        outlines[-1].append(place(*_moved(x.value, y.value, matrices)))
    for number, points in enumerate(outlines, start=1):
        for (x1, y1), (x2, y2) in pairwise([*points, points[0]]):
            if number not in curved and abs(y1 - y2) < _THIN < abs(x1 - x2):
                yield RulingLine(min(y1, y2), min(x1, x2), max(x1, x2))
            elif number not in curved and abs(x1 - x2) < _THIN < abs(y1 - y2):
                yield RulingLine(x1, min(y1, y2), max(y1, y2), upright=True)


def _moved(x: float, y: float, matrices: Iterable[Any]) -> Point:
    """Return a point transformed by matrices, one after the other, to hundredths of a point."""
    for m in matrices:
        x, y = x * m.a + y * m.c + m.e, x * m.b + y * m.d + m.f
    return round(x, 2), round(y, 2)
