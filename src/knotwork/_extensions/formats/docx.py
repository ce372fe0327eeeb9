"""Load Word documents: headings, lists, tables, text boxes, captions and code.

The style of a paragraph decides what it is, or its formatting if the style does not say.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import takewhile
from typing import Any, NamedTuple

from knotwork._extensions.formats.docx_markup import (
    BOX,
    COMMENT,
    LABEL,
    Markup,
    ParagraphRole,
    ParagraphStyle,
    StyleSheet,
    W,
    attached,
    font_of,
    is_on,
    links_of,
    mark_links,
    page_edges,
    size_of,
    styles_of,
    text_of,
    value_of,
)
from knotwork._extensions.formats.grids import (
    MAX_SPAN,
    MOST_NESTED,
    SpanningCell,
    add_grid,
    read_table,
    rows_on_a_line,
)
from knotwork._extensions.formats.office_markup import (
    RELATIONS,
    Graphics,
    add_item,
    comment_text,
    picture_text,
)
from knotwork._extensions.media.pictures import EmbeddedPictures
from knotwork._indexing.loaders.blocks import BlockWriter, OpenBlock
from knotwork._indexing.loaders.loader import (
    Content,
    FormatLoader,
    Source,
    check_archive,
    office_metadata,
    whole_number,
)
from knotwork._indexing.loaders.tables import MAX_HEADER_LENGTH
from knotwork._indexing.loaders.titles_and_captions import (
    is_caption,
    is_generic_title,
    is_monospaced_font,
    is_table_caption,
    is_title_like,
    run_in_term,
)
from knotwork._text.languages import detect_language
from knotwork.records import BlockKind

MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
_PICTURES = {
    "{http://schemas.openxmlformats.org/drawingml/2006/main}blip": f"{RELATIONS}embed",
    "{urn:schemas-microsoft-com:vml}imagedata": f"{RELATIONS}id",
}
_DESCRIPTIONS = {
    "{http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing}docPr": "descr",
    "{urn:schemas-microsoft-com:vml}shape": "alt",
}
"""Elements with the description of a picture, and its attribute."""
_PAGE_EDGES = {"header": ("Page header", "页眉"), "footer": ("Page footer", "页脚")}
_PAGE_NUMBER = re.compile(
    r"\W*|\W*(?:page |seite |第 ?)?\d*(?:(?: ?页)?(?: of | von |/|，? ?共) ?\d*)?(?: ?页)?\W*",
    re.IGNORECASE,
)
_MAX_HEADING_SHARE = 1 / 3
"""The share of paragraphs that can be headings; if more are bold, they are bold for another
reason."""
_SIZE_STEP = 2
"""Half points by which a heading that is not bold must be larger than the text."""


class WordLoader(FormatLoader, name="docx"):
    """Reads .docx; of tracked changes, inserted text is kept and deleted text left out."""

    def load(self, source: Source) -> Content:
        import docx

        check_archive(source)
        document = docx.Document(io.BytesIO(source.data))
        writer = BlockWriter(source)
        pictures = EmbeddedPictures(writer, source)
        body = _Body(writer, source, document, pictures)
        body.add(document.element.body)
        body.add_page_edges(document)
        properties = document.core_properties
        metadata = office_metadata(properties) | pictures.metadata
        return writer.content(MEDIA_TYPE, title=properties.title or "", metadata=metadata)


@dataclass(slots=True)
class _Group:
    """Paragraphs and a table that make one block together; what comes next may belong to it.

    A group is a caption and code, a table or pictures, or terms and their ``description``.
    ``title`` is the caption if it may be the title of what is below; ``table`` appends the table,
    and each of ``figures`` a picture or its description. ``notes`` are written below all else.
    """

    caption: str = ""
    title: str = ""
    code: list[str] = field(default_factory=list)
    table: Callable[[], object] | None = None
    figures: list[Callable[[OpenBlock | None], object]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    terms: list[str] = field(default_factory=list)
    description: OpenBlock | None = None


class _Body:
    def __init__(
        self,
        writer: BlockWriter,
        source: Source,
        document: Any,  # noqa: ANN401 - a python-docx document
        pictures: EmbeddedPictures,
    ) -> None:
        self._writer = writer
        self._pictures = pictures
        self._left_out = source.left_out
        self._graphics = Graphics(writer, source.left_out)
        self._parts = document.part.related_parts
        self._styles = StyleSheet(document)
        self._markup = Markup(document, self._styles)
        mark_links(document.element.body, document.part.rels)
        self._markup.reduce(document.element.body)
        self._notes = dict(self._markup.notes(document.part))
        self._rules = FormattingRules.of(document.element.body, self._styles)
        self._group = _Group()
        self._boxes = 0

    def add(self, parent: Any) -> None:  # noqa: ANN401
        """Append the paragraphs and tables below an element."""
        for element in parent:
            if element.tag in (f"{W}p", f"{W}tbl"):
                self._record_links(element)
            if element.tag == f"{W}p":
                self._add_paragraph(element)
            elif element.tag == f"{W}tbl":
                self._add_table(element)
            elif element.tag == f"{W}altChunk":
                self._left_out["embedded document"] += 1
        self._end_group()

    def _record_links(self, element: Any) -> None:  # noqa: ANN401
        for mark in element.iter(f"{W}bookmarkStart"):
            if (name := mark.get(f"{W}name") or "") not in ("", "_GoBack"):
                self._writer.anchor(name)
        for words, target in links_of(element):
            self._writer.link(words, target)
        for words, style, before in styles_of(element):
            self._writer.style(words, style, after=before)

    def add_page_edges(self, document: Any) -> None:  # noqa: ANN401
        """Append the lines of headers and footers that are nowhere else."""
        known = {line.strip("#*-> ") for line in self._writer.text.split("\n")}
        for name, labels in _PAGE_EDGES.items():
            found: list[str] = []
            for root in page_edges(document, name):
                self._markup.reduce(root)
                texts = (text_of(paragraph) for paragraph in root.iter(f"{W}p"))
                found += (line for text in texts for line in text.split("\n"))
            lines = [" ".join(line.split()) for line in dict.fromkeys(found)]
            shown = [
                line for line in lines if line not in known and not _PAGE_NUMBER.fullmatch(line)
            ]
            if shown:
                label = labels[detect_language(" ".join(shown)) == "zh"]
                with self._writer.block(BlockKind.BOX, label):
                    for line in shown:
                        self._writer.paragraph(line)

    def _end_group(self, caption_below: str = "") -> None:
        """Append the group, if there is one, in a box if it has a title.

        The title of pictures, or of nothing that is read, is the caption of a figure.
        """
        group, self._group = self._group, _Group()
        if group.description is not None:
            self._writer.end(group.description)
            self._add_notes(group.notes)
            return
        for term in group.terms:
            self._writer.paragraph(term)
        title = caption_below or group.title
        is_boxed = group.code or group.table
        if is_table_caption(title) and not is_boxed:
            title = ""
        kind = BlockKind.BOX if is_boxed else BlockKind.FIGURE
        box = self._writer.begin(kind, title) if title else None
        self._writer.paragraph(group.caption)
        for add in group.figures:
            add(box)
        self._writer.code("\n".join(group.code))
        if group.table is not None:
            group.table()
        self._writer.paragraph(caption_below)
        if box is not None:
            self._writer.end(box)
        self._add_notes(group.notes)

    def _add_notes(self, notes: list[str]) -> None:
        for note in notes:
            self._writer.extend(note, gap="\n")

    def _add_paragraph(self, paragraph: Any) -> None:  # noqa: ANN401
        text = text_of(paragraph)
        style = self._styles.of(paragraph)
        if text.strip() and style.role is not ParagraphRole.CONTENTS:
            self._add_text(paragraph, text, style)
        self._add_attached(paragraph)

    def _add_attached(self, parent: Any) -> None:  # noqa: ANN401
        """Append the text boxes, pictures, graphics and notes that a paragraph or table has."""
        for element in attached(parent):
            if element.tag == BOX:
                self._add_box(element)
            elif element.tag in self._markup.references:
                if note := self._note(element):
                    self._group.notes.append(note)
            elif self._graphics.is_graphic(element):
                self._begin_figure(is_table=True)
                self._group.table = partial(self._graphics.add, element, self._parts)
            elif element.tag in _DESCRIPTIONS:
                if text := picture_text(element.get(_DESCRIPTIONS[element.tag]) or ""):
                    self._begin_figure()
                    self._group.figures.append(partial(self._add_description, text))
            elif element.tag in _PICTURES:
                part = self._parts.get(element.get(_PICTURES[element.tag]))
                if part is not None and str(part.content_type).startswith("image/"):
                    self._begin_figure()
                    self._group.figures.append(partial(self._pictures.add, part.blob))

    def _begin_figure(self, *, is_table: bool = False) -> None:
        group = self._group
        if group.code or group.table or group.terms or (is_table and group.figures):
            self._end_group()

    def _add_description(self, text: str, figure: OpenBlock | None) -> None:
        with nullcontext(figure) if figure else self._writer.block(BlockKind.FIGURE):
            self._writer.paragraph(text)

    def _note(self, reference: Any) -> str:  # noqa: ANN401
        """Return a note as it is written below its paragraph, the first time."""
        note = self._notes.pop((reference.tag, reference.get(f"{W}id")), None)
        text = " ".join(text_of(note).split()) if note is not None else ""
        if not text or reference.tag != COMMENT:
            return f"[^{reference.get(LABEL)}] {text}" if text and reference.get(LABEL) else text
        return comment_text((note.get(f"{W}author") or "").strip(), text)

    def _add_text(self, paragraph: Any, text: str, style: ParagraphStyle) -> None:  # noqa: ANN401
        formatting = formatting_of(paragraph, style)
        level = self._level(paragraph, text, style, formatting)
        list_id, list_level = self._markup.numbering.place(paragraph, style)
        label = paragraph.get(LABEL) or ""
        is_item = bool(list_id) or style.depth > 0
        if level:
            self._end_group()
            self._writer.heading(level, label + text)
        elif style.role is ParagraphRole.CODE or (
            formatting.monospaced and self._rules.code_is_monospaced
        ):
            if self._group.table is not None or self._group.terms or self._group.figures:
                self._end_group()
            self._group.code.append(text)
        elif not is_item and (style.role is ParagraphRole.CAPTION or is_caption(text)):
            self._add_caption(text, style)
        elif not is_item and style.role in (ParagraphRole.TERM, ParagraphRole.DEFINITION):
            self._add_definition(text, style)
        else:
            self._end_group()
            term = run_in_term(
                (_run_text(run), _is_bold(run.find(f"{W}rPr"), style))
                for run in paragraph.iter(f"{W}r")
            )
            if is_item:
                depth = max(list_level, style.depth - 1)
                add_item(self._writer, text, label=label, level=depth, term=term)
            else:
                self._writer.paragraph(text, term=term)

    def _add_caption(self, text: str, style: ParagraphStyle) -> None:
        """Add a caption of the table or pictures above, or else of what is below."""
        group = self._group
        is_title = style.role is ParagraphRole.CAPTION or is_title_like(text)
        of_table = is_table_caption(text) or not is_caption(text)
        of_pictures = is_title and not is_table_caption(text)
        if not group.title and (of_table if group.table else group.figures and of_pictures):
            self._end_group(text)
            return
        self._end_group()
        self._group = _Group(text, text if is_title else "")

    def _add_definition(self, text: str, style: ParagraphStyle) -> None:
        group = self._group
        if style.role is ParagraphRole.TERM:
            if group.description is not None or not group.terms:
                self._end_group()
            self._group.terms.append(text)
            return
        if not group.terms:
            self._end_group()
        elif group.description is None:
            group.description = self._writer.begin_definition(group.terms)
        self._writer.paragraph(text)

    def _level(
        self,
        paragraph: Any,  # noqa: ANN401
        text: str,
        style: ParagraphStyle,
        formatting: Formatting,
    ) -> int:
        """Return the level of a heading, 0 for other paragraphs and inside text boxes."""
        if self._boxes:
            return 0
        outline = paragraph.find(f"{W}pPr/{W}outlineLvl")
        if outline is not None and outline.get(f"{W}val", "9") in "012345678":
            return style.level or int(outline.get(f"{W}val")) + 1
        if (
            style.level
            or style.role is not ParagraphRole.TEXT
            or any(self._markup.numbering.place(paragraph, style))
        ):
            return style.level
        return self._rules.level(text, formatting)

    def _add_box(self, box: Any) -> None:  # noqa: ANN401
        """Append a text box or a table of one cell, with its title as label."""
        self._end_group()
        paragraphs = [p for p in box.iterchildren(f"{W}p") if text_of(p).strip()]
        title, others = "", list(box)
        if len(paragraphs) > 1:
            style = self._styles.of(paragraphs[0])
            text = text_of(paragraphs[0]).strip()
            if is_generic_title(text):
                others.remove(paragraphs[0])
            elif (style.level or formatting_of(paragraphs[0], style).bold) and is_title_like(text):
                title = text
        self._boxes += 1
        with self._writer.block(BlockKind.BOX, title):
            self.add(others)
        self._boxes -= 1

    def _add_table(self, table: Any) -> None:  # noqa: ANN401
        rows = [list(row.iterchildren(f"{W}tc")) for row in table.iterchildren(f"{W}tr")]
        rows = [row for row in rows if row]
        cells = [cell for row in rows for cell in row]
        if len(cells) == 1 or _is_layout(rows):
            for row in rows:
                self._add_boxes(row)
            return
        heads = (bool(is_on(row[0].getparent().find(f"{W}trPr"), "tblHeader")) for row in rows)
        marked = sum(1 for _ in takewhile(bool, heads))
        grid = read_table([*self._read_rows(rows)], marked=marked)
        if grid.above and not self._group.caption:
            self._end_group()
            title = " ".join(text for row in grid.above for text in row if text)
            self._group = _Group(title, title)
            grid = replace(grid, above=())
        elif self._group != _Group(self._group.caption, self._group.title):
            self._end_group()
        self._group.table = partial(add_grid, self._writer, grid)
        self._add_attached(table)

    def _add_boxes(self, row: list[Any]) -> None:
        """Append the cells of a row of a layout; a short first one is the title of the others."""
        is_titled = len(row) > 1 and row[0].find(f"{W}tbl") is None
        text = _cell_text(row[0]) if is_titled else ""
        if not is_title_like(text):
            for cell in row:
                self._add_box(cell)
            return
        self._end_group()
        with self._writer.block(BlockKind.BOX, text):
            for cell in row:
                self._boxes += 1
                self.add(cell)
                self._boxes -= 1

    def _read_rows(self, rows: list[list[Any]]) -> Iterator[list[SpanningCell]]:
        """Yield the cells of rows; one merged with the cell above repeats its text if short."""
        above: dict[int, str] = {}
        for row in rows:
            before = value_of(row[0].getparent(), "trPr", "gridBefore")
            column = max(0, min(whole_number(before, 0), MAX_SPAN))
            read = [SpanningCell("", is_name=None)] * column
            for cell in row:
                text = _cell_text(cell)
                bold = self._is_bold(cell) if text else None
                merged = cell.find(f"{W}tcPr/{W}vMerge")
                if merged is not None and merged.get(f"{W}val") != "restart":
                    text = above.get(column, "")
                above[column] = text if len(text) <= MAX_HEADER_LENGTH else ""
                span = whole_number(value_of(cell, "tcPr", "gridSpan"))
                read.append(SpanningCell(text, span, is_name=bold))
                column += span
            yield read

    def _is_bold(self, cell: Any) -> bool:  # noqa: ANN401
        paragraph = cell.find(f"{W}p")
        return paragraph is not None and formatting_of(cell, self._styles.of(paragraph)).bold


def _cell_text(cell: Any) -> str:  # noqa: ANN401
    """Return the text of a cell on one line, with a table in it row by row."""
    tables = [*cell.iterchildren(f"{W}tbl")]
    if not tables:
        return " ".join(text_of(cell).split())
    parts = (_table_text(e) if e in tables else (e.get(LABEL) or "") + text_of(e) for e in cell)
    return " ".join(" ".join(parts).split())


def _table_text(table: Any) -> str:  # noqa: ANN401
    rows = table.iterchildren(f"{W}tr")
    return rows_on_a_line([[*map(_cell_text, row.iterchildren(f"{W}tc"))] for row in rows])


def _is_layout(rows: list[list[Any]]) -> bool:
    """Return True if a table has tables in it that are too long for its cells."""
    held = [cell for row in rows for cell in row if cell.find(f"{W}tbl") is not None]
    is_grid = len(rows) > 1 and all(len(row) > 1 for row in rows)
    is_short = all(sum(len(t.text or "") for t in c.iter(f"{W}t")) <= MOST_NESTED for c in held)
    return bool(held) and not (is_grid and is_short)


class Formatting(NamedTuple):
    """The formatting of a paragraph: whether all of it is bold or monospaced, and its usual size.

    ``size`` is in half points.
    """

    bold: bool = False
    monospaced: bool = False
    size: int = 0


def formatting_of(paragraph: Any, style: ParagraphStyle) -> Formatting:  # noqa: ANN401
    """Return the formatting of a paragraph; properties of its runs override those of its style."""
    bold = monospaced = True
    sizes: Counter[int] = Counter()
    for run in paragraph.iter(f"{W}r"):
        properties = run.find(f"{W}rPr")
        text = _run_text(run).strip()
        if text:
            bold &= _is_bold(properties, style)
            font = font_of(properties)
            monospaced &= is_monospaced_font(font) if font else style.monospaced
            sizes[size_of(properties) or style.size] += len(text)
    return Formatting(bold, monospaced, sizes.most_common(1)[0][0]) if sizes else Formatting()


@dataclass(frozen=True, slots=True)
class FormattingRules:
    """Rules that infer headings and code from the formatting of one document.

    ``sizes`` are the font sizes of headings, largest first, if no style marks headings. ``usual``
    is the size of most text. ``code_is_monospaced`` is False if most text is monospaced.
    """

    sizes: tuple[int, ...] = ()
    usual: int = 0
    code_is_monospaced: bool = True

    @classmethod
    def of(cls, body: Any, styles: StyleSheet) -> FormattingRules:  # noqa: ANN401
        """Infer the rules from the paragraphs of a document outside of tables."""
        seen: list[tuple[str, ParagraphStyle, Formatting]] = []
        for paragraph in body.iterchildren(f"{W}p"):
            text = text_of(paragraph).strip()
            if text:
                style = styles.of(paragraph)
                seen.append((text, style, formatting_of(paragraph, style)))
        lengths: Counter[int] = Counter()
        for text, _, formatting in seen:
            lengths[formatting.size] += len(text)
        usual = lengths.most_common(1)[0][0] if lengths else 0
        monospaced = sum(len(text) for text, _, formatting in seen if formatting.monospaced)
        code_is_monospaced = 2 * monospaced <= lengths.total()
        if any(style.level and style.role is not ParagraphRole.TITLE for _, style, _ in seen):
            return cls((), usual, code_is_monospaced)
        marked = [
            formatting.size
            for text, style, formatting in seen
            if style.role is ParagraphRole.TEXT and _is_marked(text, formatting, usual)
        ]
        few = len(marked) <= _MAX_HEADING_SHARE * len(seen)
        return cls(
            tuple(sorted(set(marked), reverse=True)) if few else (), usual, code_is_monospaced
        )

    def level(self, text: str, formatting: Formatting) -> int:
        """Return the level of a heading that no style marks, 0 for other paragraphs."""
        is_heading = formatting.size in self.sizes and _is_marked(text, formatting, self.usual)
        return self.sizes.index(formatting.size) + 1 if is_heading else 0


def _is_marked(text: str, formatting: Formatting, usual: int) -> bool:
    return (formatting.bold or formatting.size >= usual + _SIZE_STEP) and is_title_like(text)


def _run_text(run: Any) -> str:  # noqa: ANN401
    return "".join(piece.text or "" for piece in run.iterchildren(f"{W}t"))


def _is_bold(run_properties: Any, style: ParagraphStyle) -> bool:  # noqa: ANN401
    own = is_on(run_properties, "b")
    if own is None and value_of(run_properties, "rStyle") == "Strong":
        return True
    return style.bold if own is None else own
