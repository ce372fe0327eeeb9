"""Load PDF files: lines joined to paragraphs, tables, headings from bookmarks, and metadata."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, islice, pairwise
from typing import Any, NamedTuple

from knotwork._cancellation import checked
from knotwork._indexing.loaders.embedded_pictures import UNREAD_PICTURES
from knotwork._indexing.loaders.loader import (
    FORMATS,
    Content,
    Source,
    TextBuilder,
    TextMeter,
    clean_line,
    clean_text,
    flat_metadata,
)
from knotwork._indexing.loaders.page_layout import add_page
from knotwork._indexing.loaders.pdf_figures import (
    PARAGRAPH_GAP,
    Figure,
    ReadFigures,
    add_figures,
    figures_of,
    place_figures,
    read_figures,
    without_repetitions,
)
from knotwork._indexing.loaders.pdf_lines import (
    WIDE,
    PdfLine,
    make_lines,
    without_contents,
    without_running_lines,
)
from knotwork._indexing.loaders.pdf_pages import open_pdf, read_page
from knotwork._indexing.loaders.pdf_structure import (
    PlacedLine,
    frame_lines,
    headings_by_type,
    is_item,
    name_cells_of_rows,
)
from knotwork._indexing.loaders.recognised_pages import RecognisedPage
from knotwork._indexing.loaders.scanned_pages import (
    UNREAD_PAGES,
    PictureProgress,
    is_scanned,
    no_text_error,
    page_ranges,
    read_scanned_pages,
)
from knotwork._indexing.loaders.tables_and_lists import row_key
from knotwork.records import FrameKind, Heading, Span

_ENDS_WIDE = re.compile(rf"[{WIDE}]\s*\Z")
_BEGINS_WIDE = re.compile(rf"\s*[{WIDE}]")
_WIDE_CHARACTER = re.compile(rf"[{WIDE}]")
_WRAPPED = re.compile(rf"[{WIDE}]{{12}}\s*\Z")
_MIN_WRAPPED_WIDTH = 24
"""Half-width characters in a wrapped line of Chinese, at least; shorter lines may be a list."""
_FULL_SHARE = 0.6
"""Length of a wrapped line of Chinese, at least, as a share of the longest line of its page; rows
of tables are shorter."""
_HYPHENATED = re.compile(r"((?:[A-ZÀ-Þ]|[a-zß-ÿ])[a-zß-ÿ]+)[-\u00ad\u2010]\Z")
_MAX_WORD_LENGTH = 60
_FIRST_WORD = re.compile(r"[a-zß-ÿ]{2,}")
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_ENDS_SENTENCE = re.compile(r"[.!?。！？]['\"”’」』)）]*\s*\Z")
_AT_MARGIN = 0.1
"""The share of lines that must begin at one position for it to be the margin of a page."""
_INDENT = re.compile("[ \u3000]{2,}")
_INDENTED = 1.5
"""Indent of the first line of a Chinese paragraph, in multiples of the font size."""
_ENDS_PARAGRAPH = re.compile(r"[.!?。！？:：]['\"”’」』)）\]\d]*\s*\Z")
_PARAGRAPH_GAP = 1.3
"""Distance of lines where a paragraph ends, as a multiple of the usual distance."""
_WIDE_GAP = 1.7
"""The same if the next line begins in lower case, as after a formula."""
_OTHER_SIZE = 0.1
"""Relative change of the font size where another part of the text begins."""
_SHOWN_INFORMATION = ("Author", "Subject", "Keywords")
_DEEPEST_BOOKMARK = 15
_MOST_BOOKMARKS = 20_000
_NUMBERING = re.compile(
    r"(?:(?:chapter|appendix|part|section|anhang|kapitel)\s+)?(?:\d{1,3}|[A-Z])(?:\.\d{1,3})*\.?\s+",
    re.IGNORECASE,
)


class PdfLoader:
    """Reads the text layer of a PDF.

    Leaves out running heads and feet, page numbers, tables of contents and indexes.
    """

    name = "pdf"
    suffixes, signatures = FORMATS["pdf"]

    def load(self, source: Source) -> Content:
        file = _read_file(source)
        progress = PictureProgress(len(file.scanned) + len(file.figures))
        scans = read_scanned_pages(source, file.scanned, progress)
        figures = read_figures(source, file.figures, progress)
        pages = [[] if number in scans.pages else page for number, page in enumerate(file.pages)]
        if not any(pages) and not scans.pages and not figures.by_page:
            raise no_text_error(source, len(pages), scans.unread)
        lines = [line for page in without_running_lines(pages) for line in page]
        builder = TextBuilder(source)
        writer = _PageWriter(builder, source, figures)
        placed = writer.add(without_contents(lines, len(pages)) or lines, scans.pages)
        headings = _outline_headings(file.bookmarks, builder) or headings_by_type(placed)
        frame_lines(builder, placed, headings)
        builder.headings.extend(headings)
        unread = {UNREAD_PAGES: page_ranges(scans.unread)} if scans.unread else {}
        if figures.unread:
            unread[UNREAD_PICTURES] = str(figures.unread)
        return builder.content(
            "application/pdf",
            title=clean_line(file.information.get("Title", "")),
            metadata={**_metadata(file.information), "pages": str(len(pages)), **unread},
        )


class _Bookmark(NamedTuple):
    """An entry of the outline of a file; ``level`` and ``page`` count from 1."""

    level: int
    title: str
    page: int


class _File(NamedTuple):
    """The lines of each page, scanned pages, figures on others, the outline, the information."""

    pages: list[list[PdfLine]]
    scanned: list[int]
    figures: list[Figure]
    bookmarks: list[_Bookmark]
    information: Mapping[str, str]


def _read_file(source: Source) -> _File:
    """Read all that is needed of a file, while nothing else uses pdfium."""
    meter = TextMeter(source)
    pages: list[list[PdfLine]] = []
    scanned: list[int] = []
    figures: list[Figure] = []
    with open_pdf(source) as document:
        for number in checked(range(len(document))):
            content = read_page(document, number)
            pages.append(make_lines(content, number))
            length = sum(len(line.text) for line in pages[-1])
            meter.add(length)
            if is_scanned(content, length):
                scanned.append(number)
            else:
                figures += figures_of(content, number)
        bookmarks = list(_bookmarks(document))
        information = document.get_metadata_dict()
        return _File(pages, scanned, without_repetitions(figures), bookmarks, information)


def _bookmarks(document: Any) -> Iterator[_Bookmark]:  # noqa: ANN401 - a library without types
    for entry in islice(document.get_toc(max_depth=_DEEPEST_BOOKMARK), _MOST_BOOKMARKS):
        destination = entry.get_dest()
        page = destination.get_index() if destination is not None else None
        if page is not None:
            yield _Bookmark(entry.level + 1, clean_text(entry.get_title()), page + 1)


class _PageWriter:
    """Appends the lines, the figures and the scanned pages of a file to a builder."""

    def __init__(self, builder: TextBuilder, source: Source, figures: ReadFigures) -> None:
        self._builder = builder
        self._source = source
        self._figures = figures

    def add(
        self, lines: Sequence[PdfLine], scans: Mapping[int, RecognisedPage]
    ) -> list[PlacedLine]:
        """Append all in the order of pages; return the lines with spans."""
        placed: list[PlacedLine] = []
        with_lines = {line.page for line in lines}
        for number in sorted({*scans, *self._figures.by_page} - with_lines):
            placed += self._add_lines([line for line in lines if line.page < number])
            if number in scans:
                add_page(self._builder, scans[number], str(number + 1))
            else:
                self._builder.page(str(number + 1))
                add_figures(self._builder, self._source, self._figures.by_page[number])
            lines = [line for line in lines if line.page > number]
        return placed + self._add_lines(lines)

    def _add_lines(self, lines: Sequence[PdfLine]) -> list[PlacedLine]:
        """Append lines as paragraphs, joining hyphenated words, and return the lines with spans."""
        words = _Words(lines)
        prose = [line for line in lines if line.row is None]
        pitch = _usual_pitch(prose)
        pages = _measure_pages(prose)
        lines = name_cells_of_rows(lines, words.join)
        gaps = [
            _gap_behind(line, following, words, pitch, pages)
            for line, following in pairwise([*lines, None])
            if line is not None
        ]
        figures = place_figures(lines, [gap for gap, _ in gaps], self._figures)
        builder = self._builder
        placed: list[PlacedLine] = []
        gap = PARAGRAPH_GAP if builder.length else ""
        for number, (line, (after, cut)) in enumerate(zip(lines, gaps, strict=True)):
            begins_paragraph = gap == PARAGRAPH_GAP or not placed
            if not placed or placed[-1].line.page != line.page:
                builder.page(str(line.page + 1), gap=len(gap))
            kept = len(line.text.rstrip()) - (0 if number in figures else cut)
            span = builder.add(line.text[:kept], gap=gap)
            placed.append(PlacedLine(line, span, begins_paragraph=begins_paragraph))
            if line.row:
                builder.frame(FrameKind.ROW, span.start, row_key(line.row.cells))
            add_figures(builder, self._source, figures.get(number, ()))
            gap = PARAGRAPH_GAP if number in figures else after
        return placed


def _gap_behind(
    line: PdfLine,
    following: PdfLine | None,
    words: _Words,
    pitch: float,
    pages: Mapping[int, _Measure],
) -> tuple[str, int]:
    """Return what stands behind a line, and the number of characters to drop before it."""
    if following is None:
        return "", 0
    if line.row or following.row:
        return ("\n" if following.row and following.row.place else PARAGRAPH_GAP), 0
    begins = _is_indented(following, pages[following.page].margin)
    wrapped = _is_wrapped(line, following, pages[line.page].columns)
    return _gap_between(line, following, pitch, words, begins=begins, wrapped=wrapped)


class _Measure(NamedTuple):
    """The left margin of a page in points, and its longest line in half-width characters."""

    margin: float
    columns: int


def _measure_pages(lines: Sequence[PdfLine]) -> dict[int, _Measure]:
    measured = {}
    for page, run in groupby(lines, key=lambda line: line.page):
        own = list(run)
        starts = Counter(line.x // 1 for line in own)
        fewest = min(_AT_MARGIN * len(own), max(starts.values()))
        margin = min(x for x, count in starts.items() if count >= fewest)
        measured[page] = _Measure(margin, max(_columns(line.text) for line in own))
    return measured


def _is_indented(line: PdfLine, margin: float) -> bool:
    """Return True if a line is indented as the first line of a Chinese paragraph."""
    if not _BEGINS_WIDE.match(line.text):
        return False
    return line.x >= margin + _INDENTED * line.size > margin or bool(_INDENT.match(line.text))


def _gap_between(
    line: PdfLine, following: PdfLine, pitch: float, words: _Words, *, begins: bool, wrapped: bool
) -> tuple[str, int]:
    """Return the separator of two lines, and the number of characters to drop before it.

    ``begins`` is True if the second line begins a Chinese paragraph by its indent, ``wrapped`` if
    the first is a line of Chinese that continues in the second.
    """
    if _ends_paragraph(line, following, pitch):
        return PARAGRAPH_GAP, 0
    if begins and _ENDS_SENTENCE.search(line.text):
        return PARAGRAPH_GAP, 0
    hyphenated = _HYPHENATED.search(line.text.rstrip()[-_MAX_WORD_LENGTH:])
    rest = _FIRST_WORD.match(following.text)
    if hyphenated and rest and not line.monospaced:
        return "", 0 if words.has_hyphen(hyphenated[1], rest[0]) else 1
    return "" if wrapped else "\n", 0


def _is_wrapped(line: PdfLine, following: PdfLine, longest: int) -> bool:
    """Return True if a line of Chinese continues in the next one, to be joined without a space."""
    if not (_ENDS_WIDE.search(line.text) and _BEGINS_WIDE.match(following.text)):
        return False
    is_full = _columns(line.text) >= max(_MIN_WRAPPED_WIDTH, _FULL_SHARE * longest)
    return (is_full or _WRAPPED.search(line.text) is not None) and not is_item(following.text)


def _columns(text: str) -> int:
    """Return the width of a text in half-width characters."""
    return len(text) + len(_WIDE_CHARACTER.findall(text))


def _ends_paragraph(line: PdfLine, following: PdfLine, pitch: float) -> bool:
    """Return True if a paragraph ends between two lines, by distance, size and punctuation.

    ``pitch`` is the usual distance of lines as a multiple of the font size.
    """
    first = following.text.lstrip()[:1]
    goes_on = first.islower() or "\u3400" <= first <= "\u9fff"
    larger = max(line.size, following.size)
    distance = line.y - following.y
    # A new column begins much higher up on the page than raised text such as superscripts.
    if line.page != following.page or distance < -2 * larger:
        return bool(_ENDS_PARAGRAPH.search(line.text)) or not goes_on
    if not larger or distance < 0:
        return False
    if abs(line.size - following.size) > _OTHER_SIZE * larger and distance > larger / 2:
        return line.bold or following.bold or not first.islower()
    gap = distance / (pitch * larger)
    return gap > _WIDE_GAP or (gap > _PARAGRAPH_GAP and not first.islower())


def _usual_pitch(lines: Sequence[PdfLine]) -> float:
    """Return the distance of lines within a paragraph, as a multiple of their font size."""
    distances = [
        (line.y - following.y) / following.size
        for line, following in pairwise(lines)
        if line.page == following.page and following.size and line.size == following.size
    ]
    near = sorted(distance for distance in distances if 0.7 < distance < 4)
    # The lower quartile, because the median is that of paragraphs if most have a single line.
    return near[len(near) // 4] if near else 1.2


class _Words:
    """Word counts of a document, to decide whether a word cut by a line end keeps its hyphen."""

    def __init__(self, lines: Sequence[PdfLine]) -> None:
        self._counts = Counter(
            word for line in lines for word in _WORD.findall(line.text.casefold())
        )

    def has_hyphen(self, first: str, second: str) -> bool:
        """Return True if the document has the parts more often with a hyphen than as one word."""
        first = first.casefold()
        return self._counts[f"{first}-{second}"] > self._counts[f"{first}{second}"]

    def join(self, line: str, following: str) -> str:
        """Join two lines of a table cell."""
        hyphenated = _HYPHENATED.search(line[-_MAX_WORD_LENGTH:])
        rest = _FIRST_WORD.match(following)
        if hyphenated and rest:
            return (line if self.has_hyphen(hyphenated[1], rest[0]) else line[:-1]) + following
        is_wide = _ENDS_WIDE.search(line) and _BEGINS_WIDE.match(following)
        return line + following if is_wide else f"{line} {following}"


def _metadata(information: Mapping[str, str]) -> dict[str, str]:
    date = re.match(r"D:(\d{4})(\d\d)?(\d\d)?", information.get("CreationDate", ""))
    named = {name.lower(): clean_line(information.get(name, "")) for name in _SHOWN_INFORMATION}
    return flat_metadata({**named, "date": "-".join(filter(None, date.groups())) if date else ""})


def _outline_headings(bookmarks: Sequence[_Bookmark], builder: TextBuilder) -> tuple[Heading, ...]:
    """Return a heading for each bookmark whose title is found on or after its page, in order.

    A line that consists of the title, with or without a number, is preferred to the same words in a
    sentence of its page.
    """
    starts = [(int(page.label), page.start) for page in builder.pages]
    text = builder.text
    headings: list[Heading] = []
    position = 0
    for level, title, number in bookmarks:
        # A page without text has no offset: search from the next page that has one.
        on_page = next((start for page, start in starts if page >= number), len(text))
        start = max(position, on_page)
        numbering = _NUMBERING.match(title)
        words = [re.escape(word) for word in title[numbering.end() if numbering else 0 :].split()]
        if not words or len(words) > 40:
            continue
        bare = r"\s+".join(words)
        line = re.compile(rf"^(?:{_NUMBERING.pattern})?{bare}$", re.MULTILINE | re.IGNORECASE)
        end_of_page = next((start for page, start in starts if page > number), len(text))
        match = line.search(text, start, start + 20_000) or re.compile(
            r"\s+".join(map(re.escape, title.split()))
        ).search(text, start, end_of_page)
        if match:
            headings.append(Heading(level, " ".join(match[0].split()), Span(*match.span())))
            position = match.end()
    return tuple(headings)
