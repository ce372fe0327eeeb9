"""Load PDF files: their lines as blocks, headings from bookmarks or type, and metadata."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby, islice, pairwise
from statistics import median
from typing import Any, NamedTuple

from knotwork._cancellation import checked
from knotwork._extensions.pdf.line_blocks import LineWriter, end_of_definition
from knotwork._extensions.pdf.page_layout import lines_of
from knotwork._extensions.pdf.pdf_annotations import (
    PageLink,
    PageNote,
    count_attachments,
    is_dynamic_form,
)
from knotwork._extensions.pdf.pdf_flow import join_lines
from knotwork._extensions.pdf.pdf_lines import make_lines, without_contents, without_running_lines
from knotwork._extensions.pdf.pdf_pages import PDFIUM_LOCK, open_pdf, read_page
from knotwork._extensions.pdf.pdf_pictures import (
    Figure,
    ReadPictures,
    add_figures,
    caption_near,
    figures_of,
    is_scanned,
    lines_as_figures,
    no_text_error,
    page_ranges,
    place_behind,
    read_pictures,
    without_repetitions,
)
from knotwork._indexing.loaders.blocks import BlockWriter
from knotwork._indexing.loaders.lines import PARAGRAPH_GAP, FlowLine, PageLine, joined, page_item
from knotwork._indexing.loaders.loader import (
    UNREAD_PAGES,
    UNREAD_PICTURES,
    Content,
    FormatLoader,
    Source,
    TextMeter,
    clean_line,
    clean_text,
    flat_metadata,
)
from knotwork._indexing.loaders.titles_and_captions import is_title_like
from knotwork._run import report_share
from knotwork.errors import LoadError

_SHOWN_INFORMATION = ("Author", "Subject", "Keywords")
_DEEPEST_BOOKMARK = 15
_MOST_BOOKMARKS = 20_000


class PdfLoader(FormatLoader, name="pdf"):
    """Reads the text layer of a PDF.

    Leaves out running heads and feet, page numbers, tables of contents and indexes.
    """

    def load(self, source: Source) -> Content:
        with open_pdf(source) as document:
            with PDFIUM_LOCK:
                found, scanned, figures, notes, links = _read_pages(source, document)
                attached = count_attachments(document)
                bookmarks = dict(_bookmarks(document))
                information = document.get_metadata_dict()
            read = read_pictures(source, document, scanned, figures)
        pages = [[] if number in read.pages else page for number, page in enumerate(found)]
        if not any(pages) and not read.pages and not read.figures and not notes:
            raise no_text_error(source, len(pages), read.unread)
        lines = [line for page in without_running_lines(pages) for line in page]
        lines = without_contents(lines, len(pages)) or lines
        writer = BlockWriter(source)
        flow = _with_notes(_in_order(writer, source, lines, read), notes, read.pages)
        _add_lines(writer, flow, _headings(flow, bookmarks))
        starts = {page.label: page.start for page in writer.pages}
        for number, of_page in links.items():
            for words, target in of_page:
                writer.link(words, target, place=starts.get(str(number + 1)))
        source.left_out["attached file"] += attached
        unread = {}
        if read.unread:
            unread[UNREAD_PAGES] = page_ranges(read.unread)
        if read.unread_figures:
            unread[UNREAD_PICTURES] = str(read.unread_figures)
        return writer.content(
            "application/pdf",
            title=clean_line(information.get("Title", "")),
            metadata={**_metadata(information), "pages": str(len(pages)), **unread},
        )


def _read_pages(
    source: Source,
    document: Any,  # noqa: ANN401 - a library without types
) -> tuple[
    list[list[PageLine]],
    list[int],
    list[Figure],
    dict[int, Sequence[PageNote]],
    dict[int, Sequence[PageLink]],
]:
    """Return the lines of each page, the numbers of scanned pages, the figures on others, and the
    notes and links of pages by their numbers.

    Raises LoadError for a form that only programs of Adobe show.
    """
    meter = TextMeter(source)
    pages: list[list[PageLine]] = []
    scanned: list[int] = []
    figures: list[Figure] = []
    notes: dict[int, Sequence[PageNote]] = {}
    links: dict[int, Sequence[PageLink]] = {}
    if is_dynamic_form(document):
        raise LoadError(
            "unsupported",
            f"`{source.uri}` is an XFA form. Its pages are made by Adobe Reader when it is opened.",
            fix="Open it in Adobe Reader, and print it to a PDF file.",
        )
    for number in checked(range(len(document))):
        report_share(number, len(document))
        content = read_page(document, number)
        pages.append(make_lines(content, number, pages[-1] if pages else ()))
        length = sum(len(line.text) for line in pages[-1])
        if content.notes:
            notes[number] = content.notes
        if content.links:
            links[number] = content.links
        meter.add(length + sum(len(note.text) for note in content.notes))
        if content.garbled.is_most or is_scanned(content, length):
            scanned.append(number)
        else:
            figures += figures_of(content, number)
            if content.garbled.regions:
                lines = lines_as_figures(content, number)
                figures += lines
                scanned += [] if lines else [number]
    return pages, scanned, without_repetitions(figures), notes, links


def _bookmarks(document: Any) -> Iterator[tuple[tuple[int, str], int]]:  # noqa: ANN401
    """Yield the levels of the outline, from 1, by pages and keys of titles."""
    for entry in islice(document.get_toc(max_depth=_DEEPEST_BOOKMARK), _MOST_BOOKMARKS):
        destination = entry.get_dest()
        page = destination.get_index() if destination is not None else None
        if page is not None:
            yield (page, _title_key(clean_text(entry.get_title()))), entry.level + 1


def _title_key(title: str) -> str:
    """Return a title without its number: files name chapters with and without it."""
    return "".join(_NUMBERING.sub("", title).casefold().split())


def _in_order(
    writer: BlockWriter, source: Source, lines: Sequence[PageLine], read: ReadPictures
) -> list[FlowLine]:
    """Return the lines of all pages in order, with the figures behind them.

    A page of figures alone is a line without text.
    """
    alone = {*read.pages, *read.figures} - {line.page for line in lines}
    flow = join_lines(lines, alone)
    placed = {page: [(f.region, (f, r)) for f, r in found] for page, found in read.figures.items()}
    for number, behind in place_behind(flow, placed).items():
        caption = caption_near(flow, number)
        add = partial(add_figures, writer, source, behind, caption=caption)
        line, *following = flow[number : number + 2]
        flow[number] = line._replace(behind=add)
        if following and not following[0].begins_paragraph:
            flow[number] = line._replace(text=line.line.text.rstrip(), behind=add)
            flow[number + 1] = following[0]._replace(gap=PARAGRAPH_GAP, begins_paragraph=True)
    for page in sorted(alone):
        if page in read.pages:
            flow += lines_of(read.pages[page], page)
        else:
            add = partial(add_figures, writer, source, read.figures[page])
            empty = PageLine("", page)
            flow.append(FlowLine(empty, "", PARAGRAPH_GAP, begins_paragraph=True, behind=add))
    return sorted(flow, key=lambda line: line.line.page)


def _with_notes(
    flow: list[FlowLine], notes: Mapping[int, Sequence[PageNote]], recognised: Container[int]
) -> list[FlowLine]:
    """Return lines with the notes of pages behind the paragraphs that they are beside.

    On ``recognised`` pages they are behind all lines.
    """
    if not notes:
        return flow
    beside = {
        page: [(note.region, note) for note in found]
        for page, found in notes.items()
        if page not in recognised
    }
    placed = place_behind(flow, beside)
    held = {flow[number].line.page for number in placed}
    size = median(line.line.size for line in flow) if flow else 0.0
    found: list[FlowLine] = []
    for number, line in enumerate(flow):
        found.append(line)
        found += [_note_line(note, line.line.page, size) for note in placed.get(number, ())]
        if number in placed and number + 1 < len(flow):
            flow[number + 1] = flow[number + 1]._replace(gap=PARAGRAPH_GAP, begins_paragraph=True)
    for page in sorted(set(notes) - held):
        found += [_note_line(note, page, size) for note in notes[page]]
    return sorted(found, key=lambda line: line.line.page)


def _note_line(note: PageNote, page: int, size: float) -> FlowLine:
    line = PageLine(note.text, page, note.region.left, note.region.top, size, note.region.right)
    return FlowLine(line, note.text, PARAGRAPH_GAP, begins_paragraph=True)


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


_LARGER = 1.12
"""Font size of a heading, as a multiple of that of the text."""
_MAX_HEADING_SHARE = 1 / 3
"""The share of a text that can be headings; if more looks like headings, none is."""
_MOST_TITLE_LINES = 2
_MAX_LEVEL = 6
_NUMBERED = re.compile(r"(\d{1,3}(?:\.\d{1,3})*)\.?\s+\S")
_CHAPTER = re.compile(
    r"第\s?[一二三四五六七八九十百零\d]{1,5}\s?([编篇章节])|[一二三四五六七八九十]{1,3}、"
)
_CHAPTER_LEVELS = {"编": 1, "篇": 1, "章": 1, "节": 2}
_NUMBERING = re.compile(
    r"\A(?:(?:chapter|appendix|part|section|anhang|kapitel)\s+)?"
    r"(?:\d{1,3}|[A-Z])(?:\.\d{1,3})*\.?\s+",
    re.IGNORECASE,
)


class LineHeading(NamedTuple):
    """A heading that consists of the lines from ``start`` up to ``end``."""

    level: int
    title: str
    start: int
    end: int


def _headings(
    lines: Sequence[FlowLine], bookmarks: Mapping[tuple[int, str], int]
) -> list[LineHeading]:
    """Return a heading for each part in a larger font, or bold with a number or chapter mark.

    A line that a bookmark of its page names is one too, and a short bold paragraph above text. The
    level is that of the number or the bookmark, else the rank of the font size. Returns [] if too
    much of the text looks like headings.
    """
    lengths: Counter[float] = Counter()
    for line in lines:
        if line.edges is None:
            lengths[line.line.size] += len(line.line.text)
    usual = lengths.most_common(1)[0][0] if lengths else 0.0
    if not usual:
        return []
    found: list[tuple[float, str, int, int]] = []
    for titles in (_bold_titles(lines), set[int]()):
        parts = (
            (lines[start].line.size, joined(lines[start:end]), start, end)
            for start, end in _large_parts(lines, usual, bookmarks, titles)
        )
        found = [part for part in parts if is_title_like(part[1].rstrip(":： "))]
        if sum(len(title) for _, title, _, _ in found) <= _MAX_HEADING_SHARE * lengths.total():
            break
    else:
        return []
    sizes = sorted({size for size, _, _, _ in found}, reverse=True)
    return [
        LineHeading(_level(title, marked or sizes.index(size) + 1), title, start, end)
        for size, title, start, end in found
        for marked in [bookmarks.get((lines[start].line.page, _title_key(title)), 0)]
    ]


def _large_parts(
    lines: Sequence[FlowLine],
    usual: float,
    bookmarks: Container[tuple[int, str]],
    titles: Container[int],
) -> Iterator[tuple[int, int]]:
    """Yield the first and last line of each part that looks like a heading.

    ``usual`` is the font size of the text, ``titles`` are lines that do for their bold type.
    """

    def kind(number: int) -> tuple[float, int]:
        line = lines[number].line
        if line.row is not None or lines[number].edges is not None:
            return 0.0, line.page
        is_heading = (
            line.size >= _LARGER * usual
            or (line.page, _title_key(line.text)) in bookmarks
            or number in titles
            or (
                line.bold
                and line.size >= usual
                and (_NUMBERED.match(line.text) or _CHAPTER.match(line.text)) is not None
            )
        )
        return (line.size if is_heading else 0.0), line.page

    for (size, _), run in groupby(range(len(lines)), key=kind):
        if not size:
            continue
        members = list(run)
        starts = [n for n in members if n == members[0] or lines[n].begins_paragraph]
        yield from zip(starts, [*starts[1:], members[-1] + 1], strict=True)


def _bold_titles(lines: Sequence[FlowLine]) -> set[int]:
    """Return the lines of short bold paragraphs above text that is not bold and no definition."""
    found: set[int] = set()
    for is_bold, run in groupby(range(len(lines)), key=lambda n: lines[n].line.bold):
        first, *further = run
        after = first + 1 + len(further)
        if not is_bold or after == len(lines) or lines[after].line.row is not None:
            continue
        below = lines[after].line
        starts = [n for n in (first, *further) if lines[n].begins_paragraph]
        for start, end in pairwise([*starts, after]):
            line = lines[start].line
            if (
                end - start <= _MOST_TITLE_LINES
                and line.page == below.page
                and line.size >= below.size
                and not (line.text[:1].islower() or below.text[:1].islower())
                and (page_item(below.text) or end_of_definition(lines, start) == start)
            ):
                found.update(range(start, end))
    return found


def _level(title: str, rank: int) -> int:
    numbered, chapter = _NUMBERED.match(title), _CHAPTER.match(title)
    if numbered:
        return min(numbered[1].count(".") + 1, _MAX_LEVEL)
    return _CHAPTER_LEVELS.get(chapter[1] if chapter else "", min(rank, _MAX_LEVEL))
