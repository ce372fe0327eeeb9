"""Pieces of text on PDF pages with both of their ends, and the lines that are drawn around them.

pypdf gives the place where a run of text begins. Columns need the place where a word ends too,
which follows from the widths of the font's glyphs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

_SPACE = re.compile(r"\s")
_THIN = 2.5
"""Points that the stroke of a ruled line has at most."""
_MOST_PIECES = 20_000
"""Pieces of a page: a page with more is a drawing."""
Matrix = Sequence[float]


class Piece(NamedTuple):
    """A word or a part of one: its ends and baseline in points from the lower left.

    ``is_placed`` is False for text whose place on the page is unknown, or that is not level.
    """

    text: str
    left: float
    right: float
    y: float
    size: float
    font: str
    is_placed: bool = True


class Rule(NamedTuple):
    """A level or upright line, or the edge of a filled or framed box, in points.

    ``place`` is the height of a level one and the distance from the left of an upright one, which
    lies between ``start`` and ``end`` in the other direction.
    """

    place: float
    start: float
    end: float


class Drawn(NamedTuple):
    """The level and the upright lines of a page."""

    level: list[Rule]
    upright: list[Rule]


class _State(NamedTuple):
    """What ``q`` keeps and ``Q`` restores."""

    font: str = ""
    size: float = 12.0
    char_spacing: float = 0.0
    word_spacing: float = 0.0
    stretch: float = 1.0


class Fonts:
    """Fonts of a file, each read once: its glyphs' texts and widths."""

    def __init__(self) -> None:
        self._read: dict[int, tuple[Any, _Font | None]] = {}

    def of(self, page: Any) -> Mapping[str, _Font | None]:  # noqa: ANN401 - a pypdf page
        """Return the fonts of a page by their names; None stands for one that cannot be read."""
        resources = _resolved(page.get("/Resources"))
        named = _resolved(resources.get("/Font")) if isinstance(resources, dict) else None
        if not isinstance(named, dict):
            return {}
        return {name: self._font(_resolved(named.get(name))) for name in named}

    def _font(self, resource: Any) -> _Font | None:  # noqa: ANN401
        if id(resource) not in self._read:
            # The resource is kept, so that no other one can have its identity.
            self._read[id(resource)] = resource, _read_font(resource)
        return self._read[id(resource)][1]


@dataclass(slots=True)
class _Font:
    """A font of pypdf with the glyphs seen so far: texts, and widths in 1/1000 of its size."""

    source: Any
    name: str
    glyphs: dict[str, tuple[str, float]] = field(default_factory=dict)

    def read(self, shown: str | bytes) -> list[tuple[str, float]]:
        """Return the text and width of each glyph of a string."""
        encoding = self.source.encoding
        if isinstance(shown, str):
            codes, keys = shown, shown
        elif isinstance(encoding, str):
            codes = keys = shown.decode(encoding, "replace")
        else:
            keys = shown.decode("latin-1")
            codes = "".join(encoding.get(code, chr(code)) for code in shown)
            if len(codes) != len(keys):
                keys = codes
        found = []
        for key, code in zip(keys, codes, strict=True):
            glyph = self.glyphs.get(key)
            if glyph is None:
                source = self.source
                text = source.character_map.get(code, code)
                width = (
                    source.space_width if key == source.space_char else source.get_text_width(key)
                )
                glyph = self.glyphs[key] = text, float(width)
            found.append(glyph)
        return found


def _read_font(resource: Any) -> _Font | None:  # noqa: ANN401
    # pypdf has no public way to the widths of glyphs; pyproject.toml bounds its version.
    from pypdf.generic._font import Font

    try:
        name = str(resource.get("/BaseFont", "")).rpartition("+")[2]
        return _Font(Font.from_font_resource(resource), name)
    except (AttributeError, KeyError, TypeError, ValueError):
        return None


def _resolved(value: Any) -> Any:  # noqa: ANN401
    return value.get_object() if value is not None else None


class PieceReader:
    """Collects pieces and rules while pypdf extracts the text of a page, in the order of the file.

    ``before``, ``after`` and ``text`` are its visitors.
    """

    def __init__(self, fonts: Mapping[str, _Font | None]) -> None:
        self.pieces: list[Piece] = []
        self.drawn = Drawn([], [])
        self._fonts = fonts
        self._state = _State()
        self._saved: list[_State] = []
        self._pen = 0.0
        self._forms = 0
        self._flushes = False
        self._path = Drawn([], [])
        self._point: tuple[float, float] | None = None

    @property
    def is_complete(self) -> bool:
        """Whether all text of the page was read."""
        return len(self.pieces) < _MOST_PIECES

    def before(self, operator: bytes, _operands: Any, _cm: Matrix, _tm: Matrix) -> None:  # noqa: ANN401
        """Note that a form begins: pypdf does not say where on the page it stands."""
        if operator == b"Do":
            self._flushes |= not self._forms
            self._forms += 1

    def text(self, text: str) -> None:
        """Note text that pypdf read; that of forms is known from here alone."""
        if self._flushes:  # what stands before the form on the page itself
            self._flushes = False
        elif self._forms and text.strip() and self.is_complete:
            self.pieces.append(Piece("".join(text.split()), 0, 0, 0, 0, "", is_placed=False))

    def after(self, operator: bytes, operands: Any, cm: Matrix, tm: Matrix) -> None:  # noqa: ANN401
        """Follow an operation of the page."""
        if operator == b"Do":
            self._forms -= 1
        elif self._forms or not self.is_complete:
            return
        elif operator in (b"Tj", b"TJ", b"'", b'"'):
            self._show(operator, operands, cm, tm)
        elif operator in (b"Td", b"TD", b"Tm", b"T*", b"BT"):
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
        shown = operands[0] if operator == b"TJ" and operands else list(operands)[-1:]
        if font is None or not isinstance(shown, list):
            return
        matrix = _multiplied(tm, cm)
        for part in shown:
            if isinstance(part, (int, float)):
                self._pen -= float(part) / 1000 * self._state.size * self._state.stretch
            elif isinstance(part, (str, bytes)):
                self._show_string(font, font.read(part), matrix)

    def _show_string(
        self, font: _Font, glyphs: Sequence[tuple[str, float]], matrix: Matrix
    ) -> None:
        """Append the words of a string: spaces part them."""
        state = self._state
        along, across, _, up, *_ = matrix
        is_level = abs(across) < 1e-3 * abs(along) and along > 0 and up > 0
        size = round(abs(state.size * up), 2)
        word, began = "", self._pen
        ended = began
        for text, width in glyphs:
            advance = width / 1000 * state.size + state.char_spacing
            is_space = not text or _SPACE.fullmatch(text) is not None
            if is_space and text == " ":
                advance += state.word_spacing
            if is_space and word:
                self._append(word, began, ended, font, size, matrix, is_placed=is_level)
                word = ""
            elif not is_space:
                began = began if word else self._pen
                word += text
                ended = self._pen + width / 1000 * state.size * state.stretch
            self._pen += advance * state.stretch
        if word:
            self._append(word, began, ended, font, size, matrix, is_placed=is_level)

    def _append(
        self,
        word: str,
        began: float,
        ended: float,
        font: _Font,
        size: float,
        matrix: Matrix,
        *,
        is_placed: bool,
    ) -> None:
        along, _, _, _, x, y = matrix
        self.pieces.append(
            Piece(
                word,
                x + began * along,
                x + ended * along,
                y,
                size,
                font.name,
                is_placed,
            )
        )

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
            self._path = Drawn([], [])
        elif operator == b"n":
            self._path = Drawn([], [])

    def _add_box(self, corner: tuple[float, float], opposite: tuple[float, float]) -> None:
        """Add the edges of a box to the path; a thin one is a line."""
        (left, right), (low, high) = (sorted(pair) for pair in zip(corner, opposite, strict=True))
        if right - left > _THIN:
            self._path.level.append(Rule(low, left, right))
            if high - low > _THIN:
                self._path.level.append(Rule(high, left, right))
        if high - low > _THIN:
            self._path.upright.append(Rule(left, low, high))
            if right - left > _THIN:
                self._path.upright.append(Rule(right, low, high))


_SETTERS = frozenset({b"Tf", b"Tz", b"Tc", b"Tw"})
_PAINTS = frozenset({b"S", b"s", b"f", b"F", b"f*", b"B", b"B*", b"b", b"b*"})
_PATHS = frozenset({b"re", b"m", b"l", b"n"}) | _PAINTS


def _multiplied(first: Matrix, second: Matrix) -> tuple[float, float, float, float, float, float]:
    a, b, c, d, e, f = first
    p, q, r, s, _, _ = second
    return (
        *(a * p + b * r, a * q + b * s, c * p + d * r, c * q + d * s),
        *_moved(e, f, second),
    )


def _moved(x: float, y: float, matrix: Matrix) -> tuple[float, float]:
    a, b, c, d, e, f = matrix
    return x * a + y * c + e, x * b + y * d + f
