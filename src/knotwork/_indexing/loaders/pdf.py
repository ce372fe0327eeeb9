"""Load PDF files: their lines as blocks, headings from bookmarks or type, and metadata."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

from knotwork._cancellation import checked
from knotwork._indexing.loaders.blocks import BlockWriter
from knotwork._indexing.loaders.embedded_pictures import UNREAD_PICTURES
from knotwork._indexing.loaders.line_blocks import LineWriter
from knotwork._indexing.loaders.loader import (
    FORMATS,
    Content,
    Source,
    TextMeter,
    clean_line,
    clean_text,
    flat_metadata,
)
from knotwork._indexing.loaders.page_layout import lines_of
from knotwork._indexing.loaders.page_lines import PARAGRAPH_GAP, FlowLine, PageLine
from knotwork._indexing.loaders.pdf_figures import (
    Figure,
    ReadFigures,
    add_figures,
    caption_near,
    figures_of,
    place_figures,
    read_figures,
    without_repetitions,
)
from knotwork._indexing.loaders.pdf_flow import join_lines
from knotwork._indexing.loaders.pdf_lines import (
    make_lines,
    without_contents,
    without_running_lines,
)
from knotwork._indexing.loaders.pdf_pages import open_pdf, read_page
from knotwork._indexing.loaders.pdf_structure import (
    Bookmark,
    LineHeading,
    headings_by_outline,
    headings_by_type,
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

_SHOWN_INFORMATION = ("Author", "Subject", "Keywords")
_DEEPEST_BOOKMARK = 15
_MOST_BOOKMARKS = 20_000


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
        lines = without_contents(lines, len(pages)) or lines
        writer = BlockWriter(source)
        flow = _in_order(writer, source, lines, scans.pages, figures)
        headings, flow = headings_by_outline(file.bookmarks, flow)
        _add_lines(writer, flow, headings or headings_by_type(flow))
        unread = {UNREAD_PAGES: page_ranges(scans.unread)} if scans.unread else {}
        if figures.unread:
            unread[UNREAD_PICTURES] = str(figures.unread)
        return writer.content(
            "application/pdf",
            title=clean_line(file.information.get("Title", "")),
            metadata={**_metadata(file.information), "pages": str(len(pages)), **unread},
        )


class _File(NamedTuple):
    """The lines of each page, scanned pages, figures on others, the outline, the information."""

    pages: list[list[PageLine]]
    scanned: list[int]
    figures: list[Figure]
    bookmarks: list[Bookmark]
    information: Mapping[str, str]


def _read_file(source: Source) -> _File:
    """Read all that is needed of a file, while nothing else uses pdfium."""
    meter = TextMeter(source)
    pages: list[list[PageLine]] = []
    scanned: list[int] = []
    figures: list[Figure] = []
    with open_pdf(source) as document:
        for number in checked(range(len(document))):
            content = read_page(document, number)
            pages.append(make_lines(content, number, pages[-1] if pages else ()))
            length = sum(len(line.text) for line in pages[-1])
            meter.add(length)
            if is_scanned(content, length):
                scanned.append(number)
            else:
                figures += figures_of(content, number)
        bookmarks = list(_bookmarks(document))
        information = document.get_metadata_dict()
        return _File(pages, scanned, without_repetitions(figures), bookmarks, information)


def _bookmarks(document: Any) -> Iterator[Bookmark]:  # noqa: ANN401 - a library without types
    for entry in islice(document.get_toc(max_depth=_DEEPEST_BOOKMARK), _MOST_BOOKMARKS):
        destination = entry.get_dest()
        page = destination.get_index() if destination is not None else None
        if page is not None:
            yield Bookmark(entry.level + 1, clean_text(entry.get_title()), page)


def _in_order(
    writer: BlockWriter,
    source: Source,
    lines: Sequence[PageLine],
    scans: Mapping[int, RecognisedPage],
    figures: ReadFigures,
) -> list[FlowLine]:
    """Return the lines of all pages in order, with the figures behind them.

    A page of figures alone is a line without text.
    """
    with_lines = {line.page for line in lines}
    alone = {*scans, *figures.by_page} - with_lines
    flow = join_lines(lines, alone)
    for number, behind in place_figures(flow, figures).items():
        caption = caption_near(flow, number)
        add = partial(add_figures, writer, source, behind, caption=caption)
        line, *following = flow[number : number + 2]
        flow[number] = line._replace(behind=add)
        if following and not following[0].begins_paragraph:
            flow[number] = line._replace(text=line.line.text.rstrip(), behind=add)
            flow[number + 1] = following[0]._replace(gap=PARAGRAPH_GAP, begins_paragraph=True)
    for page in sorted(alone):
        if page in scans:
            flow += lines_of(scans[page], page)
        else:
            add = partial(add_figures, writer, source, figures.by_page[page])
            empty = PageLine("", page)
            flow.append(FlowLine(empty, "", PARAGRAPH_GAP, begins_paragraph=True, behind=add))
    return sorted(flow, key=lambda line: line.line.page)


def _add_lines(
    writer: BlockWriter, lines: Sequence[FlowLine], headings: Sequence[LineHeading]
) -> None:
    """Append lines as blocks, in the sections that the headings begin."""
    total = sum(len(line.text) for line in lines)
    monospaced = sum(len(line.text) for line in lines if line.line.monospaced)
    blocks = LineWriter(writer, has_code=2 * monospaced <= total)
    done = 0
    for heading in headings:
        blocks.add(lines[done : heading.start])
        blocks.heading(heading.level, heading.title, lines[heading.start : heading.end])
        done = heading.end
    blocks.add(lines[done:])


def _metadata(information: Mapping[str, str]) -> dict[str, str]:
    date = re.match(r"D:(\d{4})(\d\d)?(\d\d)?", information.get("CreationDate", ""))
    named = {name.lower(): clean_line(information.get(name, "")) for name in _SHOWN_INFORMATION}
    return flat_metadata({**named, "date": "-".join(filter(None, date.groups())) if date else ""})
