"""Load PDF files: join their lines to paragraphs, and read the outline and the metadata."""

from __future__ import annotations

import io
import logging
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from typing import Any, NamedTuple

from knotwork.errors import LoadError
from knotwork.indexing.loaders.archives import encrypted_file_error
from knotwork.indexing.loaders.loader import Content, Source, TextBuilder, clean_text, flat_metadata
from knotwork.indexing.loaders.pdf_content_stream import PdfFonts, correct_space_widths
from knotwork.indexing.loaders.pdf_lines import (
    WIDE,
    PdfLine,
    read_lines,
    without_contents,
    without_running_lines,
)
from knotwork.indexing.loaders.pdf_structure import (
    PlacedLine,
    frame_lines,
    headings_by_type,
    is_item,
    name_cells_of_rows,
)
from knotwork.indexing.loaders.tables_and_lists import row_key
from knotwork.records import FrameKind, Heading, Span

_ENDS_WIDE = re.compile(rf"[{WIDE}]\s*\Z")
_BEGINS_WIDE = re.compile(rf"\s*[{WIDE}]")
_WIDE_CHARACTER = re.compile(rf"[{WIDE}]")
_WRAPPED = re.compile(rf"[{WIDE}]{{12}}\s*\Z")
_FEWEST_COLUMNS = 24
"""Half-width characters of a line of Chinese that may be wrapped: shorter ones may be a list."""
_FULL = 0.6
"""How long such a line is, as a share of the longest of its page; rows of tables are shorter."""
_HYPHENATED = re.compile(r"([a-zß-ÿ]{2,})[-\u00ad\u2010]\Z")
_LONGEST_WORD = 60
_FIRST_WORD = re.compile(r"[a-zß-ÿ]{2,}")
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_ENDS_SENTENCE = re.compile(r"[.!?。！？]['\"”’」』)）]*\s*\Z")
_AT_MARGIN = 0.1
"""The share of the lines of a page that begin at its margin, at least; others begin there too."""
_INDENT = re.compile("[ \u3000]{2,}")
_INDENTED = 1.5
"""By how many sizes of its type the first line of a Chinese paragraph is further to the right."""
_ENDS_PARAGRAPH = re.compile(r"[.!?。！？:：]['\"”’」』)）\]\d]*\s*\Z")
_PARAGRAPH_GAP = 1.3
"""How much more than usual lies between two lines where a paragraph ends."""
_WIDE_GAP = 1.7
"""The same where the next line begins in lower case, as one does behind a formula."""
_OTHER_SIZE = 0.1
"""By how much type is larger or smaller where another part of the text begins."""
_NUMBERING = re.compile(
    r"(?:(?:chapter|appendix|part|section|anhang|kapitel)\s+)?(?:\d{1,3}|[A-Z])(?:\.\d{1,3})*\.?\s+",
    re.IGNORECASE,
)


class PdfLoader:
    """Reads the text layer of a PDF, page by page.

    Running heads, page numbers, tables of contents and indexes are left out.
    """

    name = "pdf"
    suffixes = (".pdf",)
    signatures = (b"%PDF-",)

    def load(self, source: Source) -> Content:
        from pypdf import PdfReader

        _quieten()
        reader = PdfReader(io.BytesIO(source.data), strict=False)
        if reader.is_encrypted and not reader.decrypt(source.password):
            raise encrypted_file_error(source)
        correct_space_widths(reader)
        fonts = PdfFonts()
        pages = [read_lines(page, number, fonts) for number, page in enumerate(reader.pages)]
        if not any(pages):
            held = "1 page" if len(pages) == 1 else f"{len(pages):,} pages"
            raise LoadError(
                "no_text",
                f"`{source.uri}` has {held} without any text: it is probably a scan.",
                fix="Run it through a text recognition program (OCR) first.",
            )
        lines = [line for page in without_running_lines(pages) for line in page]
        builder = TextBuilder()
        placed = _add_lines(builder, without_contents(lines, len(pages)) or lines)
        headings = _outline_headings(reader, builder) or headings_by_type(placed)
        frame_lines(builder, placed, headings)
        builder.headings.extend(headings)
        return builder.content(
            "application/pdf",
            title=_text_of(reader.metadata, "/Title"),
            metadata={**_metadata(reader), "pages": str(len(pages))},
        )


def _quieten() -> None:
    """Keep pypdf's remarks on sloppy files out of the user's terminal, unless they asked."""
    logger = logging.getLogger("pypdf")
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.CRITICAL)


def _add_lines(builder: TextBuilder, lines: Sequence[PdfLine]) -> list[PlacedLine]:
    """Append lines, in paragraphs by their distances; words cut by a line end are joined."""
    words = _Words(lines)
    prose = [line for line in lines if line.row is None]
    pitch = _usual_pitch(prose)
    pages = _measure_pages(prose)
    lines = name_cells_of_rows(lines, words.join)
    placed: list[PlacedLine] = []
    gap = ""
    for line, following in pairwise([*lines, None]):
        assert line is not None
        begins_paragraph = gap == "\n\n" or not placed
        if not placed or placed[-1].line.page != line.page:
            builder.page(str(line.page + 1), gap=len(gap))
        after, cut = "", 0
        if following is not None and (line.row or following.row):
            after = "\n" if following.row and following.row.place else "\n\n"
        elif following is not None:
            begins = _is_indented(following, pages[following.page].margin)
            wrapped = _is_wrapped(line, following, pages[line.page].columns)
            after, cut = _gap_between(line, following, pitch, words, begins=begins, wrapped=wrapped)
        span = builder.add(line.text[: len(line.text.rstrip()) - cut], gap=gap)
        placed.append(PlacedLine(line, span, begins_paragraph=begins_paragraph))
        if line.row:
            builder.frame(FrameKind.ROW, span.start, row_key(line.row.cells))
        gap = after
    return placed


class _Measure(NamedTuple):
    """Where the lines of a page begin, in points, and the longest one in half-width characters."""

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
    """Return whether a line begins as the first one of a paragraph of Chinese does."""
    if not _BEGINS_WIDE.match(line.text):
        return False
    return line.x >= margin + _INDENTED * line.size > margin or bool(_INDENT.match(line.text))


def _gap_between(
    line: PdfLine, following: PdfLine, pitch: float, words: _Words, *, begins: bool, wrapped: bool
) -> tuple[str, int]:
    """Return what parts two lines, and how many characters at the end of the first are left out.

    ``begins`` is whether the second line is indented as that of a Chinese paragraph, ``wrapped``
    whether the first one is a line of Chinese that goes on in the second.
    """
    if _ends_paragraph(line, following, pitch):
        return "\n\n", 0
    if begins and _ENDS_SENTENCE.search(line.text):
        return "\n\n", 0
    hyphenated, rest = (
        _HYPHENATED.search(line.text.rstrip()[-_LONGEST_WORD:]),
        _FIRST_WORD.match(following.text),
    )
    if hyphenated and rest and not line.monospaced:
        return "", 0 if words.has_hyphen(hyphenated[1], rest[0]) else 1
    return "" if wrapped else "\n", 0


def _is_wrapped(line: PdfLine, following: PdfLine, longest: int) -> bool:
    """Return whether a line of Chinese goes on in the next one, without a space between them."""
    if not (_ENDS_WIDE.search(line.text) and _BEGINS_WIDE.match(following.text)):
        return False
    is_full = _columns(line.text) >= max(_FEWEST_COLUMNS, _FULL * longest)
    return (is_full or _WRAPPED.search(line.text) is not None) and not is_item(following.text)


def _columns(text: str) -> int:
    """Return the width of a text in half-width characters."""
    return len(text) + len(_WIDE_CHARACTER.findall(text))


def _ends_paragraph(line: PdfLine, following: PdfLine, pitch: float) -> bool:
    first = following.text.lstrip()[:1]
    goes_on = first.islower() or "\u3400" <= first <= "\u9fff"
    larger = max(line.size, following.size)
    distance = line.y - following.y
    # The next column begins higher up; what is raised in a line does so by less.
    if line.page != following.page or distance < -2 * larger:
        return bool(_ENDS_PARAGRAPH.search(line.text)) or not goes_on
    if following.after_blank:
        return True
    if not larger or distance < 0:
        return False
    if abs(line.size - following.size) > _OTHER_SIZE * larger and distance > larger / 2:
        return line.bold or following.bold or not first.islower()
    gap = distance / (pitch * larger)
    return gap > _WIDE_GAP or (gap > _PARAGRAPH_GAP and not first.islower())


def _usual_pitch(lines: Sequence[PdfLine]) -> float:
    """Return the distance of lines in a paragraph, as a multiple of the size of their type."""
    distances = [
        (line.y - following.y) / following.size
        for line, following in pairwise(lines)
        if line.page == following.page and following.size and line.size == following.size
    ]
    near = sorted(distance for distance in distances if 0.7 < distance < 4)
    # Where most paragraphs have one line, the usual distance is that of paragraphs.
    return near[len(near) // 4] if near else 1.2


class _Words:
    """The words of a document: how one that a line end cuts is written elsewhere."""

    def __init__(self, lines: Sequence[PdfLine]) -> None:
        self._counts = Counter(
            word for line in lines for word in _WORD.findall(line.text.casefold())
        )

    def has_hyphen(self, first: str, second: str) -> bool:
        """Return whether the parts of a word are elsewhere parted by a hyphen, and not one word."""
        return self._counts[f"{first}-{second}"] > self._counts[f"{first}{second}"]

    def join(self, line: str, following: str) -> str:
        """Return two lines of a cell as one."""
        hyphenated = _HYPHENATED.search(line[-_LONGEST_WORD:])
        rest = _FIRST_WORD.match(following)
        if hyphenated and rest:
            return (line if self.has_hyphen(hyphenated[1], rest[0]) else line[:-1]) + following
        is_wide = _ENDS_WIDE.search(line) and _BEGINS_WIDE.match(following)
        return line + following if is_wide else f"{line} {following}"


def _text_of(metadata: Mapping[str, object] | None, key: str) -> str:
    """Return an entry of the document information, which may be of any type in a sloppy file."""
    value = (metadata or {}).get(key)
    return " ".join(clean_text(value).split()) if isinstance(value, str) else ""


def _metadata(reader: Any) -> dict[str, str]:  # noqa: ANN401 - a pypdf reader
    information = reader.metadata
    date = re.match(r"D:(\d{4})(\d\d)?(\d\d)?", _text_of(information, "/CreationDate"))
    return flat_metadata(
        {
            "author": _text_of(information, "/Author"),
            "subject": _text_of(information, "/Subject"),
            "keywords": _text_of(information, "/Keywords"),
            "date": "-".join(filter(None, date.groups())) if date else "",
        }
    )


def _outline_headings(reader: Any, builder: TextBuilder) -> tuple[Heading, ...]:  # noqa: ANN401
    """Return the bookmarks whose title is found on their page, in the order of the text.

    A line that is the title, with its number before it, goes before the same words in a sentence.
    """
    from pypdf.errors import PyPdfError

    starts = [(int(page.label), page.start) for page in builder.pages]
    text = builder.text
    headings: list[Heading] = []
    position = 0
    try:
        for level, title, number in _bookmarks(reader, reader.outline, 1):
            # A page with pictures alone has no text, and no place in it.
            on_page = next((start for page, start in starts if page >= number), len(text))
            start = max(position, on_page)
            numbering = _NUMBERING.match(title)
            words = [
                re.escape(word) for word in title[numbering.end() if numbering else 0 :].split()
            ]
            if not words or len(words) > 40:
                continue
            bare = r"\s+".join(words)
            line = re.compile(rf"^(?:{_NUMBERING.pattern})?{bare}$", re.MULTILINE | re.IGNORECASE)
            match = line.search(text, start, start + 20_000) or re.compile(
                r"\s+".join(map(re.escape, title.split()))
            ).search(text, start, start + 20_000)
            if match:
                headings.append(Heading(level, " ".join(match[0].split()), Span(*match.span())))
                position = match.end()
    except (PyPdfError, AttributeError, KeyError, TypeError, ValueError, RecursionError):
        # A broken outline costs the headings, not the text.
        return tuple(headings)
    return tuple(headings)


def _bookmarks(reader: Any, outline: Any, level: int) -> Iterator[tuple[int, str, int]]:  # noqa: ANN401
    for item in outline:
        if isinstance(item, list):
            yield from _bookmarks(reader, item, level + 1)
            continue
        page = reader.get_destination_page_number(item)
        if page is not None and isinstance(item.title, str):
            yield level, clean_text(item.title), page + 1
