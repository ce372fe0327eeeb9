"""Read what was filled into the forms of PDF pages, and the notes, comments and links on them.

A value is put beside the label of its field, as it is shown. What has no place in a line of the
page is a `PageNote`.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from itertools import islice
from statistics import median
from typing import Any, NamedTuple

from knotwork._indexing.loaders.loader import clean_line

_MOST_ANNOTATIONS = 2_000
"""Annotations of a page that are read."""
_MOST_FORM_PAGES = 20
"""Pages of an XFA form that are searched for fields."""
_MOST_LENGTH = 100_000
"""Characters of a value that are read."""
_MOST_OPTIONS = 500
_MOST_QUOTED = 8
"""Marked parts of a line of which a comment quotes the text."""
_LONGEST_QUOTE = 200
_PASSWORD = 1 << 13
"""The flag of a field for a password."""
_BAND = 10.0
"""Points of a page's height in which words are searched together."""
_MOST_NEAR = 1_000
"""Words beside a field that are looked at."""
_FARTHEST = 1e6
"""Largest coordinate of a place on a page."""
_HIGHEST = 60.0
"""Points below the upper edge of a field where its label may be."""
_ABOVE, _NEAR = 1.8, 2.5
"""Sizes from a field to the label above it, and from a box to the label beside it, at most."""
_SLACK = 3.0
"""Points by which a label may reach into its field."""
_BLANK = re.compile(r"[_.…·\s]{3,}$")
"""A line to write on."""
_PATH = re.compile(r"\[\d+\]|#\w+")
_PLAIN_STATES = re.compile(r"(?:on|yes|true|\d*)", re.IGNORECASE)
CHECKED, UNCHECKED = "☒", "☐"
FILLED, CELL = "filled in", "filled in a cell"
"""In place of the font of a value behind its label, and of one in a row of fields."""
_ASKS = (":", "：", "?", "？")
"""The ends of labels that have a value, or several boxes, behind them."""
_APART, _LARGER = 0.9, 1.12
"""Sizes from a label to text that is not part of it, and the size of its type at most."""
_MOST_CELLS = 1_000
_UNNAMED = re.compile(
    r"(?:text|field|fill|check|box|combo|list|drop ?down|radio|button|group|choice|untitled"
    r"|undefined|topmostsubform|[ \d#.,-])*",
    re.IGNORECASE,
)
"""A name that a program gave to a field."""


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

    def around(self, other: Region) -> Region:
        """Return the rectangle around two."""
        low, high = map(min, self[:2], other[:2]), map(max, self[2:], other[2:])
        return Region(*low, *high)


class PageNote(NamedTuple):
    """A comment, a text box, or a value without a label, and where it is on its page."""

    region: Region
    text: str


class Filled(NamedTuple):
    """What a field or a text box of a page shows.

    ``name`` is that of the field, "" for a text box; ``is_box`` is True for check boxes and radio
    buttons, whose label may be on their right.
    """

    region: Region
    text: str
    name: str = ""
    is_box: bool = False


def read_annotations(
    page: Any,  # noqa: ANN401 - a library without types
    place: Callable[[float, float], tuple[float, float]],
) -> tuple[list[Filled], list[PageNote]]:
    """Return what is filled into a page, and the comments on it, the topmost first.

    ``place`` returns where a point of the page is once it is turned.
    """
    import pypdfium2.raw as pdfium

    filled: list[Filled] = []
    notes: list[PageNote] = []
    hidden = pdfium.FPDF_ANNOT_FLAG_HIDDEN | pdfium.FPDF_ANNOT_FLAG_NOVIEW
    for annotation, kind in _annotations(page):
        is_read = kind not in (pdfium.FPDF_ANNOT_LINK, pdfium.FPDF_ANNOT_POPUP)
        if not is_read or pdfium.FPDFAnnot_GetFlags(annotation) & hidden:
            continue
        box = pdfium.FS_RECTF()
        pdfium.FPDFAnnot_GetRect(annotation, box)
        region = _region(box, place)
        if not all(abs(edge) < _FARTHEST for edge in region):
            continue
        if kind == pdfium.FPDF_ANNOT_WIDGET:
            filled += _field(page, annotation, region)
            continue
        text = clean_line(_string(pdfium.FPDFAnnot_GetStringValue, annotation, b"Contents"))
        if text and kind == pdfium.FPDF_ANNOT_FREETEXT:
            filled.append(Filled(region, text))
        elif text:
            author = clean_line(_string(pdfium.FPDFAnnot_GetStringValue, annotation, b"T"))
            by = f" by {author}" if author else ""
            quoted = clean_line(" ".join(_quoted(page, annotation)))[:_LONGEST_QUOTE]
            on = f" on “{quoted}”" if quoted else ""
            notes.append(PageNote(region, f"Comment{by}{on}: {text}"))
    in_rows = sorted(filled, key=lambda f: (-round(f.region.top / _SLACK), f.region.left))
    return in_rows, sorted(notes, key=lambda note: (-note.region.top, note.region.left))


def count_attachments(document: Any) -> int:  # noqa: ANN401
    """Return the number of files in a document."""
    import pypdfium2.raw as pdfium

    return max(0, int(pdfium.FPDFDoc_GetAttachmentCount(document)))


def is_dynamic_form(document: Any) -> bool:  # noqa: ANN401
    """Return True for an XFA form without fields on its pages: these ask for another program."""
    import pypdfium2.raw as pdfium

    kinds = (pdfium.FORMTYPE_XFA_FULL, pdfium.FORMTYPE_XFA_FOREGROUND)
    if document.get_formtype() not in kinds:
        return False
    for page in map(document.get_page, range(min(len(document), _MOST_FORM_PAGES))):
        with closing(page):
            if pdfium.FPDF_ANNOT_WIDGET in {kind for _, kind in _annotations(page)}:
                return False
    return True


def _annotations(page: Any) -> Iterator[tuple[Any, int]]:  # noqa: ANN401
    """Yield the annotations of a page with their kinds; each is closed before the next one."""
    import pypdfium2.raw as pdfium

    for number in range(min(pdfium.FPDFPage_GetAnnotCount(page), _MOST_ANNOTATIONS)):
        if annotation := pdfium.FPDFPage_GetAnnot(page, number):
            try:
                yield annotation, pdfium.FPDFAnnot_GetSubtype(annotation)
            finally:
                pdfium.FPDFPage_CloseAnnot(annotation)


def _region(box: Any, place: Callable[[float, float], tuple[float, float]]) -> Region:  # noqa: ANN401
    corners = place(box.left, box.bottom), place(box.right, box.top)
    across, up = zip(*corners, strict=True)
    return Region(min(across), min(up), max(across), max(up))


def _string(read: Callable[..., int], *arguments: Any, encoding: str = "utf-16-le") -> str:  # noqa: ANN401
    """Return a text of pdfium, which needs a buffer for it."""
    import pypdfium2.raw as pdfium

    length = min(read(*arguments, None, 0), 2 * _MOST_LENGTH)
    if length <= 2:
        return ""
    buffer = ctypes.create_string_buffer(length)
    read(*arguments, ctypes.cast(buffer, ctypes.POINTER(pdfium.FPDF_WCHAR)), length)
    return buffer.raw.decode(encoding, "replace").partition("\0")[0]


def _quoted(page: Any, annotation: Any) -> Iterator[str]:  # noqa: ANN401
    """Yield the texts that a comment marks."""
    import pypdfium2.raw as pdfium

    if not pdfium.FPDFAnnot_HasAttachmentPoints(annotation):
        return
    text = page.get_textpage()
    try:
        count = min(pdfium.FPDFAnnot_CountAttachmentPoints(annotation), _MOST_QUOTED)
        for number in range(count):
            points = pdfium.FS_QUADPOINTSF()
            if pdfium.FPDFAnnot_GetAttachmentPoints(annotation, number, points):
                across = points.x1, points.x2, points.x3, points.x4
                up = points.y1, points.y2, points.y3, points.y4
                yield text.get_text_bounded(min(across), min(up), max(across), max(up))
    finally:
        text.close()


def _field(page: Any, annotation: Any, region: Region) -> Iterator[Filled]:  # noqa: ANN401
    """Yield what a field of a form shows, unless it is empty, a button or a password."""
    import pypdfium2.raw as pdfium

    form = page.formenv
    if form is None:
        return
    kind = pdfium.FPDFAnnot_GetFormFieldType(form, annotation)
    name = _string(pdfium.FPDFAnnot_GetFormFieldAlternateName, form, annotation)
    if not name:
        path = _PATH.sub("", _string(pdfium.FPDFAnnot_GetFormFieldName, form, annotation))
        name = path.rpartition(".")[2].replace("_", " ")
    name = clean_line(name).rstrip(":： ")
    if kind in (pdfium.FPDF_FORMFIELD_CHECKBOX, pdfium.FPDF_FORMFIELD_RADIOBUTTON):
        if not pdfium.FPDFAnnot_IsChecked(form, annotation):
            yield Filled(region, UNCHECKED, name, is_box=True)
            return
        state = clean_line(_string(pdfium.FPDFAnnot_GetFormFieldExportValue, form, annotation))
        shown = "Yes" if _PLAIN_STATES.fullmatch(state) else state
        yield Filled(region, f"{CHECKED} {shown}", name, is_box=True)
        return
    if kind == pdfium.FPDF_FORMFIELD_TEXTFIELD:
        if pdfium.FPDFAnnot_GetFormFieldFlags(form, annotation) & _PASSWORD:
            return
    elif kind not in (pdfium.FPDF_FORMFIELD_COMBOBOX, pdfium.FPDF_FORMFIELD_LISTBOX):
        return
    chosen = [
        _string(pdfium.FPDFAnnot_GetOptionLabel, form, annotation, number)
        for number in range(min(pdfium.FPDFAnnot_GetOptionCount(form, annotation), _MOST_OPTIONS))
        if pdfium.FPDFAnnot_IsOptionSelected(form, annotation, number)
    ]
    value = ", ".join(chosen) or _string(pdfium.FPDFAnnot_GetFormFieldValue, form, annotation)
    if text := clean_line(value):
        yield Filled(region, text, name)


def with_values(
    pieces: Sequence[Any], filled: Sequence[Filled]
) -> tuple[list[Any], list[PageNote]]:
    """Return the words of a page with what is filled in behind their labels, or in rows of cells.

    What is in the text of the page already is left out. The others are returned as notes.
    """
    form = _Form(pieces)
    missing = [value for value in filled if not form.shows(value)]
    cells = form.add_cells(missing)
    alone = [value for value in missing if value not in cells and not form.add(value)]
    notes = []
    for value in alone:
        if not (value.name and form.add_to_label(value, above=False)):
            name = "" if _UNNAMED.fullmatch(value.name) else f"{value.name}: "
            notes.append(PageNote(value.region, name + value.text))
    return list(form.words()), notes


class _Form:
    """The words of a page by their heights, and what is filled in before and behind them."""

    def __init__(self, pieces: Sequence[Any]) -> None:
        self._pieces = pieces
        self._size = median(piece.size for piece in pieces) if pieces else 0.0
        self._bands: dict[int, list[int]] = {}
        self._blank: set[int] = set()  # words that are lines to write on
        self._before: dict[int, str] = {}
        self._behind: dict[int, list[Any]] = {}
        for index, piece in enumerate(pieces):
            if abs(piece.y) < _FARTHEST:
                self._bands.setdefault(int(piece.y // _BAND), []).append(index)

    def words(self) -> Iterator[Any]:
        """Yield the words of the page, and the values."""
        begins = False
        for index, piece in enumerate(self._pieces):
            text = _BLANK.sub("", piece.text) if index in self._blank else piece.text
            mark = self._before.get(index, "")
            edges = {"left": piece.left - piece.size, "right": piece.left, "font": FILLED}
            is_spaced = piece.is_spaced or mark != ""
            own = [
                piece._replace(text=mark, **edges),
                piece._replace(text=text, is_spaced=is_spaced),
            ]
            begins |= piece.begins_line
            for word in (word for word in own if word.text):
                yield word._replace(begins_line=begins, is_spaced=word.is_spaced and not begins)
                begins = False
            for word in self._behind.get(index, ()):
                yield word._replace(begins_line=word.begins_line or begins)
                begins = False

    def shows(self, value: Filled) -> bool:
        """Return True if a value is in the text of the page."""
        inside = "".join(self._pieces[index].text for index in self._inside(value.region))
        return bool(inside) and "".join(value.text.split()) in inside

    def _between(self, bottom: float, top: float) -> list[int]:
        """Return the words with baselines between two heights, near the upper one."""
        lowest = max(bottom, top - _HIGHEST)
        near = (
            index
            for band in range(int(lowest // _BAND), int(top // _BAND) + 1)
            for index in self._bands.get(band, ())
            if lowest <= self._pieces[index].y <= top
        )
        return list(islice(near, _MOST_NEAR))

    def _inside(self, region: Region) -> list[int]:
        """Return the words whose middle is in a region."""
        return [
            index
            for index in self._between(region.bottom - _SLACK, region.top)
            for piece in [self._pieces[index]]
            if region.left <= (piece.left + piece.right) / 2 <= region.right
        ]

    def _left_of(self, region: Region) -> int | None:
        """Return the nearest word on the left of a field; it may be a line to write on there."""
        left: list[int] = []
        for index in self._between(region.bottom - _SLACK, region.top):
            piece = self._pieces[index]
            is_blank = _BLANK.search(piece.text) is not None and piece.left < region.right
            if is_blank and piece.right > region.left + _SLACK:
                self._blank.add(index)
            if piece.right <= region.left + _SLACK or (is_blank and piece.left < region.left):
                left.append(index)
        return max(left, key=lambda index: (self._pieces[index].right, index), default=None)

    def add(self, value: Filled) -> bool:
        """Put a value beside its label, or below it; return False without a label."""
        label = self._left_of(value.region)
        if value.is_box and self._add_box(value, label):
            return True
        if label is not None:
            text = self._pieces[label].text
            if not (value.name or text.endswith(_ASKS) or _BLANK.search(text)):
                label = None
        is_free = label is not None and label not in self._behind
        if not is_free and value.name and self.add_to_label(value):
            return True
        if label is not None:
            self._add_behind(label, value.text)
        return label is not None

    def add_to_label(self, value: Filled, *, above: bool = True) -> bool:
        """Put a value behind the label above its field, or below it, if this has no value yet."""
        label = self._next_label(value.region, above=above)
        if label is None or label in self._behind:
            return False
        ends = self._pieces[label].text.endswith(_ASKS)
        self._add_behind(label, value.text if ends else f": {value.text}")
        return True

    def _add_behind(self, index: int, text: str, **options: Any) -> None:  # noqa: ANN401
        """Put a word behind another one; ``options`` say where it is if it is not beside it."""
        piece = self._pieces[index]
        left = piece.right + piece.size / 4
        placed = {"left": left, "right": left + piece.size * len(text) / 2, "font": FILLED}
        is_spaced = not text.startswith(":")
        word = piece._replace(text=text, begins_line=False, is_spaced=is_spaced, rise=0)
        self._behind.setdefault(index, []).append(word._replace(**{**placed, **options}))

    def _add_box(self, value: Filled, nearest: int | None) -> bool:
        """Put the mark of a box before the label that is next to it: right, left or above."""
        region, pieces, farthest = value.region, self._pieces, _NEAR * self._size
        level = self._between(region.bottom - _SLACK, region.top)
        right = [n for n in level if -_SLACK <= pieces[n].left - region.right <= farthest]
        label = min(right, key=lambda n: pieces[n].left, default=None)
        gap = pieces[label].left - region.right if label is not None else farthest
        before = region.left - pieces[nearest].right if nearest is not None else farthest
        if nearest is not None and before < gap and not pieces[nearest].text.endswith(_ASKS):
            label = nearest
            while label and not pieces[label].begins_line:
                last = pieces[label - 1]
                is_apart = pieces[label].left - last.right > _APART * last.size
                if is_apart or last.text.endswith(_ASKS):
                    break
                label -= 1
        if label is None and before >= farthest:
            label = self._next_label(region)
        if label is None or label in self._before:
            return False
        self._before[label] = value.text.split(" ", 1)[0]
        return True

    def _next_label(self, region: Region, *, above: bool = True) -> int | None:
        """Return the last word of the label that is next above or below a field."""
        pieces, reach = self._pieces, _ABOVE * self._size
        near = (region.top, region.top + reach) if above else (region.bottom - reach, region.bottom)
        found = [
            index
            for index in self._between(*near)
            if region.left - self._size <= pieces[index].left < region.right
            and pieces[index].size <= _LARGER * self._size
        ]
        lowest = min((pieces[index].y for index in found), default=0.0)
        label = [index for index in found if pieces[index].y - lowest < self._size / 2]
        return max(label, key=lambda index: pieces[index].right, default=None)

    def add_cells(self, filled: Sequence[Filled]) -> set[Filled]:
        """Put the values of fields in rows and columns at their places; return these."""
        found: set[Filled] = set()
        for rows in self._grids(filled[:_MOST_CELLS]):
            anchor = self._next_label(rows[0][-1].region)
            for row in rows:
                first = row[0].region
                label = self._left_of(first)
                anchor = anchor if label is None else label
                if anchor is None:
                    break
                y = first.bottom + _SLACK if label is None else self._pieces[label].y
                for value in row:
                    left, right, size = value.region.left, value.region.right, self._size
                    text = value.text.split(" ", 1)[0] if value.is_box else value.text
                    right = max(left + _SLACK, min(right - size, left + size * len(text) / 2))
                    begins = label is None and value is row[0]
                    edges = {"left": left, "right": right, "y": y, "size": size, "font": CELL}
                    self._add_behind(anchor, text, begins_line=begins, is_spaced=True, **edges)
                    found.add(value)
        return found

    def _grids(self, filled: Sequence[Filled]) -> Iterator[list[list[Filled]]]:
        """Yield the rows of fields without labels between them: two at least, of two fields."""
        rows: list[list[Filled]] = []
        for value in filled:
            if rows and self._is_beside(rows[-1][-1].region, value.region):
                rows[-1].append(value)
            else:
                rows.append([value])
        grid: list[list[Filled]] = []
        for row in [*(row for row in rows if len(row) > 1), []]:
            if not any(self._is_below(a, b) for a in (grid or [[]])[-1] for b in row):
                if len(grid) > 1:
                    yield grid
                grid = []
            grid.append(row)

    def _is_beside(self, one: Region, other: Region) -> bool:
        """Return True if a field is right of another one, without a word between them."""
        bottom, top = max(one.bottom, other.bottom), min(one.top, other.top)
        is_level = 2 * (top - bottom) > min(one.top - one.bottom, other.top - other.bottom)
        is_right = other.left >= one.right - _SLACK
        between = Region(one.right, bottom, other.left, top)
        return is_level and is_right and not self._inside(between)

    def _is_below(self, above: Filled, value: Filled) -> bool:
        """Return True if a field is below another one of its kind, without a word between them."""
        one, other = above.region, value.region
        left, right = max(one.left, other.left), min(one.right, other.right)
        is_same = 2 * (right - left) > min(one.right - one.left, other.right - other.left)
        is_near = -_SLACK <= one.bottom - other.top < 2 * (one.top - one.bottom)
        between = Region(left, other.top + _SLACK, right, one.bottom)
        is_like = above.is_box is value.is_box and is_same and is_near
        return is_like and not self._inside(between)


_MOST_LINKS = 500
"""Links of a page that are read."""
_LONGEST_ADDRESS = 4_000


class PageLink(NamedTuple):
    """Words of a page that lead to ``target``: an address, a file, or "#page=3" of the document."""

    words: str
    target: str


def read_links(document: Any, page: Any) -> list[PageLink]:  # noqa: ANN401 - a library without types
    """Return the links of a page whose words are on it, in the order of the file."""
    import pypdfium2.raw as pdfium

    found: list[PageLink] = []
    place, link, box = ctypes.c_int(0), pdfium.FPDF_LINK(), pdfium.FS_RECTF()
    text = None
    for _ in range(_MOST_LINKS):
        if not pdfium.FPDFLink_Enumerate(page, place, link):
            break
        target = _target(document, link)
        is_usable = 0 < len(target) < _LONGEST_ADDRESS
        if not is_usable or not pdfium.FPDFLink_GetAnnotRect(link, box):
            continue
        text = text or page.get_textpage()
        words = clean_line(text.get_text_bounded(box.left, box.bottom, box.right, box.top))
        if any(map(str.isalnum, words)):
            found.append(PageLink(words, target))
    if text is not None:
        text.close()
    return found


def _target(document: Any, link: Any) -> str:  # noqa: ANN401
    import pypdfium2.raw as pdfium

    action = pdfium.FPDFLink_GetAction(link)
    kind = pdfium.FPDFAction_GetType(action) if action else 0
    if kind == pdfium.PDFACTION_URI:
        return _string(pdfium.FPDFAction_GetURIPath, document, action, encoding="utf-8")
    if kind == pdfium.PDFACTION_REMOTEGOTO:
        return _string(pdfium.FPDFAction_GetFilePath, action, encoding="utf-8")
    destination = pdfium.FPDFLink_GetDest(document, link)
    if not destination and kind == pdfium.PDFACTION_GOTO:
        destination = pdfium.FPDFAction_GetDest(document, action)
    number = pdfium.FPDFDest_GetDestPageIndex(document, destination) if destination else -1
    return f"#page={number + 1}" if number >= 0 else ""
