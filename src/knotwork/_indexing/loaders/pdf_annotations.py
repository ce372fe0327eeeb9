"""Read what was filled into the forms of PDF pages, and the notes and comments on them.

A value is put beside the label of its field, as it is shown. What has no place in a line of the
page is a `PageNote`.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
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
FILLED = "filled in"
"""In place of the font of a value."""


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
    for number in range(min(pdfium.FPDFPage_GetAnnotCount(page), _MOST_ANNOTATIONS)):
        with _annotation(page, number) as annotation:
            kind = pdfium.FPDFAnnot_GetSubtype(annotation) if annotation else pdfium.FPDF_ANNOT_LINK
            if kind in (pdfium.FPDF_ANNOT_LINK, pdfium.FPDF_ANNOT_POPUP):
                continue
            hidden = pdfium.FPDF_ANNOT_FLAG_HIDDEN | pdfium.FPDF_ANNOT_FLAG_NOVIEW
            if pdfium.FPDFAnnot_GetFlags(annotation) & hidden:
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
            for number in range(min(pdfium.FPDFPage_GetAnnotCount(page), _MOST_ANNOTATIONS)):
                with _annotation(page, number) as annotation:
                    kind = pdfium.FPDFAnnot_GetSubtype(annotation) if annotation else 0
                    if kind == pdfium.FPDF_ANNOT_WIDGET:
                        return False
    return True


@contextmanager
def _annotation(page: Any, number: int) -> Iterator[Any]:  # noqa: ANN401
    import pypdfium2.raw as pdfium

    annotation = pdfium.FPDFPage_GetAnnot(page, number)
    try:
        yield annotation
    finally:
        if annotation:
            pdfium.FPDFPage_CloseAnnot(annotation)


def _region(box: Any, place: Callable[[float, float], tuple[float, float]]) -> Region:  # noqa: ANN401
    corners = place(box.left, box.bottom), place(box.right, box.top)
    across, up = zip(*corners, strict=True)
    return Region(min(across), min(up), max(across), max(up))


def _string(read: Callable[..., int], *arguments: Any) -> str:  # noqa: ANN401
    """Return a text of pdfium, which needs a buffer for it."""
    import pypdfium2.raw as pdfium

    length = min(read(*arguments, None, 0), 2 * _MOST_LENGTH)
    if length <= 2:
        return ""
    buffer = ctypes.create_string_buffer(length)
    read(*arguments, ctypes.cast(buffer, ctypes.POINTER(pdfium.FPDF_WCHAR)), length)
    return buffer.raw.decode("utf-16-le", "replace").partition("\0")[0]


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
    name = _string(pdfium.FPDFAnnot_GetFormFieldAlternateName, form, annotation) or _PATH.sub(
        "", _string(pdfium.FPDFAnnot_GetFormFieldName, form, annotation)
    ).rpartition(".")[2].replace("_", " ")
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


class _Place(NamedTuple):
    """Where a value stands: behind this word, below it, or ``before`` it."""

    word: int
    before: bool = False
    below: bool = False


def with_values(
    pieces: Sequence[Any], filled: Sequence[Filled]
) -> tuple[list[Any], list[PageNote]]:
    """Return the words of a page with what is filled in behind their labels.

    What is in the text of the page already is left out. The others are returned as notes.
    """
    notes: list[PageNote] = []
    words = _Words(pieces)
    behind: dict[int, list[str]] = {}
    before: dict[int, str] = {}
    for value in filled:
        inside = "".join(pieces[index].text for index in words.inside(value.region))
        if inside and "".join(value.text.split()) in inside:
            continue
        place = words.place_of(value, behind)
        text = value.text
        if place is None:
            named = f"{value.name}: {text}" if value.name else text
            notes.append(PageNote(value.region, named))
        elif place.before:
            before[place.word] = text.split(" ", 1)[0]
        else:
            names = place.below and not pieces[place.word].text.endswith((":", "：", "?", "？"))
            behind.setdefault(place.word, []).append(f": {text}" if names else text)
    return list(_inserted(pieces, words.blank, behind, before)), notes


def _inserted(
    pieces: Sequence[Any],
    blank: set[int],
    behind: dict[int, list[str]],
    before: dict[int, str],
) -> Iterator[Any]:
    begins = False
    for index, piece in enumerate(pieces):
        begins |= piece.begins_line
        text = piece.text
        if index in blank:
            text = _BLANK.sub("", text)
        if index in before:
            mark = piece._replace(
                text=before[index], right=piece.left, left=piece.left - piece.size, font=FILLED
            )
            yield mark._replace(begins_line=begins, is_spaced=not begins)
            begins = False
            yield piece._replace(text=text, begins_line=False, is_spaced=True)
        elif text:
            yield piece._replace(text=text, begins_line=begins)
            begins = False
        for value in behind.get(index, ()):
            left = piece.right + piece.size / 4
            yield piece._replace(
                text=value,
                left=left,
                right=left + piece.size * len(value) / 2,
                font=FILLED,
                begins_line=begins,
                is_spaced=not begins and not value.startswith(":"),
                rise=0,
            )
            begins = False


class _Words:
    """The words of a page by their heights; ``blank`` are those that are lines to write on."""

    def __init__(self, pieces: Sequence[Any]) -> None:
        self._pieces = pieces
        self._size = median(piece.size for piece in pieces) if pieces else 0.0
        self._bands: dict[int, list[int]] = {}
        self.blank: set[int] = set()
        for index, piece in enumerate(pieces):
            if abs(piece.y) < _FARTHEST:
                self._bands.setdefault(int(piece.y // _BAND), []).append(index)

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

    def inside(self, region: Region) -> list[int]:
        """Return the words whose middle is in a region."""
        return [
            index
            for index in self._between(region.bottom - _SLACK, region.top)
            if region.left <= (self._pieces[index].left + self._pieces[index].right) / 2
            and (self._pieces[index].left + self._pieces[index].right) / 2 <= region.right
        ]

    def place_of(self, value: Filled, behind: dict[int, list[str]]) -> _Place | None:
        """Return where a value stands, None without a label.

        ``behind`` are the values that stand behind words already.
        """
        region, pieces = value.region, self._pieces
        level = self._between(region.bottom - _SLACK, region.top)
        for index in level:
            piece = pieces[index]
            reaches = piece.right > region.left + _SLACK and piece.left < region.right
            if reaches and _BLANK.search(piece.text):
                self.blank.add(index)
        if value.is_box:
            right = [
                index
                for index in level
                if -_SLACK <= pieces[index].left - region.right <= _NEAR * self._size
            ]
            if right:
                return _Place(min(right, key=lambda index: pieces[index].left), before=True)
        left = [
            index
            for index in level
            if pieces[index].right <= region.left + _SLACK
            or (index in self.blank and pieces[index].left < region.left)
        ]
        nearest = max(left, key=lambda index: (pieces[index].right, index), default=None)
        is_label = nearest is not None and (
            value.name
            or pieces[nearest].text.endswith((":", "："))
            or _BLANK.search(pieces[nearest].text)
        )
        if nearest is not None and is_label and nearest not in behind:
            return _Place(nearest)
        above = self._above(region) if value.name else None
        if above is not None and above not in behind:
            return _Place(above, below=True)
        return _Place(nearest) if nearest is not None and is_label else None

    def _above(self, region: Region) -> int | None:
        """Return the last word of the label above a field."""
        pieces = self._pieces
        over = [
            index
            for index in self._between(region.top, region.top + _ABOVE * self._size)
            if region.left - self._size <= pieces[index].left < region.right
        ]
        if not over:
            return None
        lowest = min(pieces[index].y for index in over)
        label = [index for index in over if pieces[index].y - lowest < self._size / 2]
        return max(label, key=lambda index: pieces[index].right)
