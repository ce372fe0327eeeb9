"""Read positioned words and ruling lines from the content streams of PDF pages.

pypdf reports the start of a run of text only; the end of each word follows from the glyph widths
of its font.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from knotwork._indexing.loaders.titles_and_captions import is_monospaced_font

_LEVEL = 1e-3
"""Largest slope of text that counts as horizontal."""
_THIN = 2.5
"""Largest stroke width of a ruling line, in points."""
_MAX_PIECES = 20_000
_MAX_RULES = 5_000
"""Largest number of words and ruling lines on a page; a page with more is a drawing."""
Matrix = Sequence[float]


class Piece(NamedTuple):
    """A word or a part of one, with its ends and baseline in points from the lower left.

    ``is_placed`` is False if the position of the text is unknown or the text is not horizontal.
    """

    text: str
    left: float
    right: float
    y: float
    size: float
    font: str
    is_placed: bool = True


class RulingLine(NamedTuple):
    """A horizontal or vertical line, or the edge of a filled or framed box, in points.

    ``place`` is the y coordinate of a horizontal line and the x coordinate of a vertical one; it
    extends from ``start`` to ``end`` on the other axis.
    """

    place: float
    start: float
    end: float


class RulingLines(NamedTuple):
    """The horizontal (``level``) and vertical (``upright``) lines of a page."""

    level: list[RulingLine]
    upright: list[RulingLine]


class _State(NamedTuple):
    """The text state of a content stream, which ``q`` saves and ``Q`` restores."""

    font: str = ""
    size: float = 12.0
    char_spacing: float = 0.0
    word_spacing: float = 0.0
    stretch: float = 1.0


class PdfFonts:
    """A cache of the fonts of a file, with the texts and widths of their glyphs."""

    def __init__(self) -> None:
        self._read: dict[int, tuple[Any, _Font | None]] = {}

    def of(self, page: Any) -> Mapping[str, _Font | None]:  # noqa: ANN401 - a pypdf page
        """Return the fonts of a page by name, None for a font that cannot be read."""
        resources = _resolved(page.get("/Resources"))
        named = _resolved(resources.get("/Font")) if isinstance(resources, dict) else None
        if not isinstance(named, dict):
            return {}
        return {name: self._font(_resolved(named.get(name))) for name in named}

    def _font(self, resource: Any) -> _Font | None:  # noqa: ANN401
        if id(resource) not in self._read:
            # Hold a reference to the resource, so that no other object gets the same id.
            self._read[id(resource)] = resource, _read_font(resource)
        return self._read[id(resource)][1]


class _Glyph(NamedTuple):
    """The text of a glyph ("" for a space), and its width in 1/1000 of the font size."""

    text: str
    width: float


@dataclass(slots=True)
class _Font:
    """A pypdf font with a cache of its glyphs by character code."""

    source: Any
    name: str
    glyphs: dict[str, _Glyph] = field(default_factory=dict)

    def read(self, shown: str | bytes) -> list[_Glyph]:
        """Return the glyphs of a string operand."""
        encoding = self.source.encoding
        if isinstance(shown, str):
            codes = shown
        else:
            codes = shown.decode(encoding if isinstance(encoding, str) else "latin-1", "replace")
        known = self.glyphs
        return [known.get(code) or self._read_glyph(code) for code in codes]

    def _read_glyph(self, code: str) -> _Glyph:
        source = self.source
        encoding = source.encoding
        key = code if isinstance(encoding, str) else encoding.get(ord(code), code)
        text = source.character_map.get(key, key)
        is_space = code == source.space_char
        width = source.space_width if is_space else source.get_text_width(code)
        return self.glyphs.setdefault(code, _Glyph("" if text.isspace() else text, float(width)))


def _read_font(resource: Any) -> _Font | None:  # noqa: ANN401
    # pypdf has no public API for glyph widths; pyproject.toml bounds its version for this reason.
    from pypdf.generic._font import Font

    try:
        name = str(resource.get("/BaseFont", "")).rpartition("+")[2]
        return _Font(Font.from_font_resource(resource), name)
    except (AttributeError, KeyError, TypeError, ValueError):
        return None


def _resolved(value: Any) -> Any:  # noqa: ANN401
    return value.get_object() if value is not None else None


class PieceReader:
    """Collects words and ruling lines while pypdf extracts the text of a page, in file order.

    ``before``, ``after`` and ``text`` are visitors for ``extract_text``.
    """

    def __init__(self, fonts: Mapping[str, _Font | None]) -> None:
        self.pieces: list[Piece] = []
        self.drawn = RulingLines([], [])
        self._fonts = fonts
        self._state = _State()
        self._saved: list[_State] = []
        self._pen = 0.0
        self._forms = 0
        self._flushes = False
        self._path = RulingLines([], [])
        self._point: tuple[float, float] | None = None

    @property
    def is_complete(self) -> bool:
        """True if the whole page was read; reading stops at the limits for drawings."""
        return len(self.pieces) < _MAX_PIECES and len(self.drawn.level) < _MAX_RULES

    def before(self, operator: bytes, _operands: Any, _cm: Matrix, _tm: Matrix) -> None:  # noqa: ANN401
        """Record that a form XObject begins; pypdf does not report its position on the page."""
        if operator == b"Do":
            self._flushes |= not self._forms
            self._forms += 1

    def text(self, text: str) -> None:
        """Record text of a form XObject, which reaches no other visitor."""
        if self._flushes:  # text of the page itself, before the form
            self._flushes = False
        elif self._forms and text.strip() and self.is_complete:
            self.pieces.append(Piece("".join(text.split()), 0, 0, 0, 0, "", is_placed=False))

    def after(self, operator: bytes, operands: Any, cm: Matrix, tm: Matrix) -> None:  # noqa: ANN401
        """Track one operation of the content stream."""
        if operator == b"Do":
            self._forms -= 1
        elif self._forms or not self.is_complete:
            return
        elif operator in _SHOWS:
            self._show(operator, operands, cm, tm)
        elif operator in _MOVES:
            self._pen = 0.0
        elif operator == b"q":
            self._saved.append(self._state)
        elif operator == b"Q":
            self._state = self._saved.pop() if self._saved else _State()
        elif operator in _SETTERS:
            self._set(operator, operands)
        elif operator in _PATHS:
            self._draw(operator, operands, cm)

    def _set(self, operator: bytes, operands: Sequence[Any]) -> None:
        *names, value = operands or [None]
        if not isinstance(value, (int, float)):
            return
        number = float(value)
        if operator == b"Tf" and names:
            self._state = self._state._replace(font=names[0], size=number)
        elif operator == b"Tz":
            self._state = self._state._replace(stretch=number / 100)
        elif operator == b"Tc":
            self._state = self._state._replace(char_spacing=number)
        elif operator == b"Tw":
            self._state = self._state._replace(word_spacing=number)

    def _show(self, operator: bytes, operands: Sequence[Any], cm: Matrix, tm: Matrix) -> None:
        font = self._fonts.get(self._state.font)
        if operator in (b"'", b'"'):
            self._pen = 0.0
        if operator == b'"' and len(operands) == 3:
            self._set(b"Tw", operands[:1])
            self._set(b"Tc", operands[1:2])
        shown = operands[0] if operator == b"TJ" and operands else list(operands)[-1:]
        if font is None or not isinstance(shown, list):
            return
        matrix = _multiplied(tm, cm)
        for part in shown:
            if isinstance(part, (int, float)):
                self._pen -= float(part) / 1000 * self._state.size * self._state.stretch
            elif isinstance(part, (str, bytes)):
                self._show_string(font, font.read(part), matrix)

    def _show_string(self, font: _Font, glyphs: Sequence[_Glyph], matrix: Matrix) -> None:
        """Append the words of a string, split at spaces."""
        _, size, char_spacing, word_spacing, stretch = self._state
        scale = size * stretch / 1000
        spacing = char_spacing * stretch
        pen = began = ended = self._pen
        word = ""
        for text, width in glyphs:
            after = pen + width * scale
            if text:
                began = began if word else pen
                word += text
                ended = after
            else:
                after += word_spacing * stretch
                if word:
                    self._append(word, began, ended, font, matrix)
                    word = ""
            pen = after + spacing
        if word:
            self._append(word, began, ended, font, matrix)
        self._pen = pen

    def _append(self, word: str, began: float, ended: float, font: _Font, matrix: Matrix) -> None:
        along, across, _, up, x, y = matrix
        is_level = abs(across) < _LEVEL * along and up > 0
        size = round(abs(self._state.size * up), 2)
        left, right = x + began * along, x + ended * along
        self.pieces.append(Piece(word, left, right, y, size, font.name, is_level))

    def _draw(self, operator: bytes, operands: Sequence[Any], cm: Matrix) -> None:
        numbers = [float(value) for value in operands if isinstance(value, (int, float))]
        if operator == b"re" and len(numbers) == 4:
            x, y, width, height = numbers
            self._add_box(_moved(x, y, cm), _moved(x + width, y + height, cm))
        elif operator in (b"m", b"l") and len(numbers) == 2:
            point = _moved(numbers[0], numbers[1], cm)
            if operator == b"l" and self._point is not None:
                across, along = (abs(a - b) for a, b in zip(point, self._point, strict=True))
                if min(across, along) < _THIN:
                    self._add_box(self._point, point)
            self._point = point
        elif operator in _PAINTS:
            self.drawn.level.extend(self._path.level)
            self.drawn.upright.extend(self._path.upright)
            self._path = RulingLines([], [])
        elif operator == b"n":
            self._path = RulingLines([], [])
        else:
            self._point = None  # curves are ignored

    def _add_box(self, corner: tuple[float, float], opposite: tuple[float, float]) -> None:
        """Add the edges of a box to the path; a thin one is a line."""
        (left, right), (low, high) = (sorted(pair) for pair in zip(corner, opposite, strict=True))
        if right - left > _THIN:
            self._path.level.append(RulingLine(low, left, right))
            if high - low > _THIN:
                self._path.level.append(RulingLine(high, left, right))
        if high - low > _THIN:
            self._path.upright.append(RulingLine(left, low, high))
            if right - left > _THIN:
                self._path.upright.append(RulingLine(right, low, high))


_SHOWS = frozenset({b"Tj", b"TJ", b"'", b'"'})
_MOVES = frozenset({b"Td", b"TD", b"Tm", b"T*", b"BT"})
_SETTERS = frozenset({b"Tf", b"Tz", b"Tc", b"Tw"})
_PAINTS = frozenset({b"S", b"s", b"f", b"F", b"f*", b"B", b"B*", b"b", b"b*"})
_PATHS = frozenset({b"re", b"m", b"l", b"c", b"v", b"y", b"n"}) | _PAINTS


def _multiplied(first: Matrix, second: Matrix) -> tuple[float, float, float, float, float, float]:
    """Return the product of two transformation matrices."""
    a, b, c, d, e, f = first
    p, q, r, s, _, _ = second
    return (
        *(a * p + b * r, a * q + b * s, c * p + d * r, c * q + d * s),
        *_moved(e, f, second),
    )


def _moved(x: float, y: float, matrix: Matrix) -> tuple[float, float]:
    """Return a point transformed by a matrix."""
    a, b, c, d, e, f = matrix
    return x * a + y * c + e, x * b + y * d + f


_MAPS_SPACE = re.compile(rb">\s*<0020>\s*$", re.MULTILINE)
"""An entry of a ToUnicode map whose target is the space (``<0020>`` as a source is glyph 32)."""
_SPACE_CODE = 0x20


def correct_space_widths(reader: Any) -> None:  # noqa: ANN401 - a pypdf reader
    """Set the width of glyph 32 to 0 in fonts without a space glyph, for pypdf's word detection.

    pypdf splits words at gaps of at least half the width of a space. In fonts whose codes are glyph
    ids, as XeTeX embeds them, it measures glyph 32, which is another and often wider character, so
    that words run together. With a width of 0, pypdf falls back to a default width.
    """
    from pypdf.generic import ArrayObject, NumberObject

    seen: set[int] = set()
    for font in _composite_fonts(reader):
        # Skip monospaced fonts: their letters may be spaced widely, and all widths are equal.
        if id(font) in seen or is_monospaced_font(str(font.get("/BaseFont"))) or _has_space(font):
            continue
        seen.add(id(font))
        for descendant in _held(font, "/DescendantFonts", ArrayObject) or ():
            widths = _held(descendant.get_object(), "/W", ArrayObject)
            if widths is not None:
                widths.extend((NumberObject(_SPACE_CODE), ArrayObject([NumberObject(0)])))


def _composite_fonts(reader: Any) -> Iterator[Any]:  # noqa: ANN401
    """Yield the fonts of the pages whose codes are glyph ids."""
    from pypdf.generic import DictionaryObject

    for page in reader.pages:
        resources = _held(page, "/Resources", DictionaryObject)
        for name in fonts if (fonts := _held(resources, "/Font", DictionaryObject)) else ():
            font = _held(fonts, name, DictionaryObject)
            if font is not None and font.get("/Encoding") in ("/Identity-H", "/Identity-V"):
                yield font


def _has_space(font: Any) -> bool:  # noqa: ANN401
    """Return True if a font has a glyph for the space."""
    from pypdf.generic import StreamObject

    mapping = _held(font, "/ToUnicode", StreamObject)
    return mapping is not None and _MAPS_SPACE.search(mapping.get_data()) is not None


def _held(dictionary: Any, key: str, kind: type) -> Any:  # noqa: ANN401
    """Return the value of a key of a PDF dictionary, None if it is missing or of another type."""
    from pypdf.generic import DictionaryObject

    value = dictionary.get(key) if isinstance(dictionary, DictionaryObject) else None
    value = value.get_object() if value is not None else None
    return value if isinstance(value, kind) else None
