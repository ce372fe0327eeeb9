"""Word documents: paragraphs with their part in the text, by their style or their look."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator
from enum import Enum, auto
from typing import Any

from knotwork.indexing.loaders.archives import check_archive
from knotwork.indexing.loaders.base import Content, Source, TextBuilder, flat_metadata
from knotwork.indexing.loaders.cues import (
    is_caption,
    is_generic_title,
    is_table_caption,
    is_title_like,
    run_in_term,
)
from knotwork.indexing.loaders.lists import ListWriter
from knotwork.indexing.loaders.rows import LONGEST_HEADER, Cell, add_table, spread_cells
from knotwork.indexing.loaders.word_paragraphs import (
    BOX,
    FALLBACK,
    Look,
    Looks,
    Role,
    Style,
    Styles,
    W,
    bold_runs,
    is_on,
    look_of,
    text_of,
)
from knotwork.records import FrameKind

MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
_AROUND = frozenset({f"{W}ins", f"{W}customXml", f"{W}moveTo", f"{W}sdtContent"})
_CONTENTS = frozenset({"Table of Contents", "Index"})


class WordLoader:
    """Reads .docx; deleted text of tracked changes is left out, inserted text kept."""

    name = "docx"
    suffixes = (".docx", ".docm", ".dotx")
    signatures: tuple[bytes, ...] = ()

    def load(self, source: Source) -> Content:
        import docx

        check_archive(source)
        document = docx.Document(io.BytesIO(source.data))
        builder = TextBuilder()
        styles = Styles(document)
        body = _Body(builder, styles, Looks.of(document.element.body, styles))
        body.add(document.element.body)
        body.finish()
        properties = document.core_properties
        metadata = flat_metadata(
            {
                "author": properties.author,
                "subject": properties.subject,
                "keywords": properties.keywords,
                "language": properties.language,
                "date": properties.modified or properties.created,
            }
        )
        return builder.content(MEDIA_TYPE, title=properties.title or "", metadata=metadata)


class _Block(Enum):
    """What the last block was a part of; a block of another kind ends it."""

    TEXT = auto()
    LIST = auto()
    CODE = auto()
    CAPTION = auto()
    TABLE = auto()
    TERM = auto()
    DEFINITION = auto()


class _Body:
    """One walk over the body of a document."""

    def __init__(self, builder: TextBuilder, styles: Styles, looks: Looks) -> None:
        self._builder = builder
        self._styles = styles
        self._looks = looks
        self._lists = ListWriter(builder)
        self._numbers: Counter[tuple[str, int]] = Counter()
        self._block = _Block.TEXT
        self._start = 0
        self._code: list[str] = []
        self._terms: list[str] = []
        self._caption = ""
        self._boxes = 0

    def add(self, parent: Any) -> None:  # noqa: ANN401
        """Append all that is below an element."""
        for element in parent:
            if element.tag == f"{W}p":
                self._add_paragraph(element)
            elif element.tag == f"{W}tbl":
                self._add_table(element)
            elif element.tag == f"{W}sdt":
                kind = element.find(f"{W}sdtPr/{W}docPartObj/{W}docPartGallery")
                if kind is None or kind.get(f"{W}val") not in _CONTENTS:
                    self.add(element)
            elif element.tag in _AROUND:
                self.add(element)

    def finish(self) -> None:
        """End what the last block was a part of."""
        self._begin(_Block.TEXT)

    def _begin(self, block: _Block) -> None:
        """Begin a block, and end what it is no part of."""
        if block is self._block and block not in (_Block.CAPTION, _Block.TABLE):
            return
        if self._block is _Block.LIST:
            self._lists.close()
        elif self._block is _Block.CODE:
            self._builder.add("\n".join(self._code))
            self._builder.frame(FrameKind.CODE, self._start)
            self._end_captioned()
            self._code.clear()
        elif self._block is _Block.DEFINITION:
            self._builder.frame(FrameKind.TERM, self._start, ", ".join(self._terms))
            self._terms.clear()
        if block not in (_Block.TERM, _Block.DEFINITION):
            self._terms.clear()
        is_captioned = self._block is _Block.CAPTION and block in (_Block.TABLE, _Block.CODE)
        if not is_captioned:
            self._caption = ""
            self._start = self._builder.length
        self._block = block

    def _end_captioned(self) -> None:
        self._builder.frame(FrameKind.TITLE, self._start, self._caption)

    def _add_paragraph(self, paragraph: Any) -> None:  # noqa: ANN401
        text = text_of(paragraph)
        style = self._styles.of(paragraph)
        if text.strip() and style.role is not Role.CONTENTS:
            self._add_text(paragraph, text, style)
        for box in _boxes(paragraph):
            self._add_box(box)

    def _add_text(self, paragraph: Any, text: str, style: Style) -> None:  # noqa: ANN401
        look = look_of(paragraph, style)
        level = self._level(paragraph, text, style, look)
        list_id, list_level = _list_place(paragraph, style)
        if level:
            self._begin(_Block.TEXT)
            self._builder.heading(level, text)
        elif style.role is Role.CODE or (look.monospaced and self._looks.code_is_monospaced):
            self._begin(_Block.CODE)
            self._code.append(text)
        elif list_id or style.is_item:
            self._begin(_Block.LIST)
            start = self._builder.length
            number = self._number(list_id, list_level)
            self._lists.add(text, level=list_level, number=number)
            self._frame_term(paragraph, style, start)
        elif style.role is Role.CAPTION or is_caption(text):
            self._add_caption(text, style)
        elif style.role is Role.TERM:
            if self._block is _Block.DEFINITION:
                self._begin(_Block.TEXT)
            self._begin(_Block.TERM)
            self._builder.add(text)
            self._terms.append(text.strip())
        elif style.role is Role.DEFINITION and self._terms:
            self._begin(_Block.DEFINITION)
            self._builder.add(text)
        else:
            self._begin(_Block.TEXT)
            start = self._builder.length
            self._builder.add(text)
            self._frame_term(paragraph, style, start)

    def _frame_term(self, paragraph: Any, style: Style, start: int) -> None:  # noqa: ANN401
        self._builder.frame(FrameKind.TERM, start, run_in_term(bold_runs(paragraph, style)))

    def _add_caption(self, text: str, style: Style) -> None:
        """Append a caption: that of the table before it, or else of what comes next."""
        is_below = self._block is _Block.TABLE and not self._caption
        start = self._start
        self._begin(_Block.CAPTION)
        self._builder.add(text)
        if is_below and (is_table_caption(text) or not is_caption(text)):
            self._builder.frame(FrameKind.TITLE, start, text)
            self._begin(_Block.TEXT)
        elif style.role is Role.CAPTION or is_title_like(text):
            self._caption = text

    def _number(self, list_id: str, level: int) -> int:
        """Return the number of the next item of a list, 0 if it has none."""
        if not self._styles.is_ordered(list_id, level):
            return 0
        for key in [key for key in self._numbers if key[0] == list_id and key[1] > level]:
            del self._numbers[key]
        self._numbers[list_id, level] += 1
        return self._numbers[list_id, level]

    def _level(self, paragraph: Any, text: str, style: Style, look: Look) -> int:  # noqa: ANN401
        """Return the level of a heading, 0 for other text; a box has none of its own."""
        if self._boxes:
            return 0
        outline = paragraph.find(f"{W}pPr/{W}outlineLvl")
        if outline is not None and outline.get(f"{W}val", "9") in "012345678":
            return style.level or int(outline.get(f"{W}val")) + 1
        if style.level or style.role is not Role.TEXT or any(_list_place(paragraph, style)):
            return style.level
        return self._looks.level(text, look)

    def _add_box(self, box: Any) -> None:  # noqa: ANN401
        """Append a text box or a table of one cell, in a frame of its title."""
        self._begin(_Block.TEXT)
        start = self._builder.length
        paragraphs = [p for p in box.iterchildren(f"{W}p") if text_of(p).strip()]
        title, others = "", list(box)
        if len(paragraphs) > 1:
            style = self._styles.of(paragraphs[0])
            text = text_of(paragraphs[0]).strip()
            if is_generic_title(text):
                others.remove(paragraphs[0])
            elif (style.level or look_of(paragraphs[0], style).bold) and is_title_like(text):
                title = text
        self._boxes += 1
        self.add(others)
        self._boxes -= 1
        self._begin(_Block.TEXT)
        self._builder.frame(FrameKind.TITLE, start, title)

    def _add_table(self, table: Any) -> None:  # noqa: ANN401
        rows = [list(_cells(row)) for row in table.iterchildren(f"{W}tr")]
        cells = [cell for row in rows for cell in row]
        if len(cells) == 1 or any(cell.find(f"{W}tbl") is not None for cell in cells):
            for cell in cells:
                self._add_box(cell)
            return
        self._begin(_Block.TABLE)
        bold = [[self._is_bold(cell) for cell in row] for row in rows]
        has_header = is_on(table.find(f"{W}tr/{W}trPr"), "tblHeader") or _is_bold_header(bold)
        add_table(
            self._builder,
            spread_cells(_read_rows(rows)),
            header=True if has_header else None,
            keyed=not has_header and _is_keyed(rows, bold),
        )
        self._end_captioned()

    def _is_bold(self, cell: Any) -> bool | None:  # noqa: ANN401
        """Return whether the text of a cell is bold, None for an empty cell."""
        paragraph = cell.find(f"{W}p")
        if paragraph is None or not text_of(cell).strip():
            return None
        return look_of(cell, self._styles.of(paragraph)).bold


def _list_place(paragraph: Any, style: Style) -> tuple[str, int]:  # noqa: ANN401
    """Return the list that a paragraph is an item of, "" for none, and its level from 0."""
    own = paragraph.find(f"{W}pPr/{W}numPr")
    if own is None:
        return ("" if style.list_id == "0" else style.list_id), style.list_level
    numbers = {child.tag: child.get(f"{W}val") or "" for child in own}
    list_id = numbers.get(f"{W}numId", style.list_id)
    level = numbers.get(f"{W}ilvl", "")
    return ("" if list_id == "0" else list_id), int(level) if level.isdigit() else 0


def _boxes(paragraph: Any) -> list[Any]:  # noqa: ANN401
    """Return the text boxes that are anchored in a paragraph, each once, outermost ones only."""
    return [
        box
        for box in paragraph.iter(BOX)
        if not any(above.tag in (FALLBACK, BOX) for above in box.iterancestors())
    ]


def _cells(row: Any) -> Iterator[Any]:  # noqa: ANN401
    for element in row:
        if element.tag == f"{W}tc":
            yield element
        elif element.tag == f"{W}sdt":
            yield from element.iter(f"{W}tc")


def _read_rows(rows: list[list[Any]]) -> Iterator[list[Cell]]:
    """Yield the cells of rows; one that goes on from above has the text above, if that is short."""
    above: dict[int, str] = {}
    for row in rows:
        read: list[Cell] = []
        column = 0
        for cell in row:
            text = " ".join(text_of(cell).split())
            merged = cell.find(f"{W}tcPr/{W}vMerge")
            if merged is not None and merged.get(f"{W}val") != "restart":
                text = above.get(column, "")
            above[column] = text if len(text) <= LONGEST_HEADER else ""
            span = cell.find(f"{W}tcPr/{W}gridSpan")
            width = span.get(f"{W}val", "") if span is not None else ""
            read.append(Cell(text, int(width) if width.isdigit() else 1))
            column += read[-1].columns
        yield read


def _is_bold_header(bold: list[list[bool | None]]) -> bool:
    """Return whether the first row alone is bold, by what its cells and those below are."""
    first = [cell for cell in bold[0] if cell is not None] if bold else []
    below = [cell for row in bold[1:] for cell in row if cell is not None]
    return len(first) > 1 and all(first) and not all(below)


def _is_keyed(rows: list[list[Any]], bold: list[list[bool | None]]) -> bool:
    """Return whether the first cell of every row names the others: it is bold, or has a colon."""
    if not all(len(row) > 1 for row in rows):
        return False
    named = all(text_of(row[0]).rstrip().endswith((":", "：")) for row in rows)
    return named or all(row[0] and not any(row[1:]) for row in bold)
