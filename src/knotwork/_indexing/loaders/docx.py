"""Load Word documents: headings, lists, tables, text boxes, captions and code.

The style of a paragraph decides what it is, or its formatting if the style does not say.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import Any, NamedTuple

from knotwork._indexing.loaders.blocks import BULLET, BlockWriter, OpenBlock
from knotwork._indexing.loaders.loader import (
    Content,
    FormatLoader,
    Source,
    check_archive,
    office_metadata,
)
from knotwork._indexing.loaders.pictures import EmbeddedPictures
from knotwork._indexing.loaders.table_rows import MAX_HEADER_LENGTH, SpanningCell, spread_cells
from knotwork._indexing.loaders.titles_and_captions import (
    is_caption,
    is_generic_title,
    is_monospaced_font,
    is_table_caption,
    is_title_like,
    run_in_term,
)
from knotwork.records import BlockKind

MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
BOX = f"{W}txbxContent"
BLIP = "{http://schemas.openxmlformats.org/drawingml/2006/main}blip"
EMBEDDED = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}embed"
FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_AROUND = frozenset({f"{W}ins", f"{W}customXml", f"{W}moveTo", f"{W}sdtContent"})
_CONTENTS = frozenset({"Table of Contents", "Index"})
_LEFT_OUT = frozenset({FALLBACK, BOX, f"{W}moveFrom"})
"""Elements to skip: text boxes, which are read separately, their second copy for programs
released before 2010, and text that was moved away."""
_BLANKS = {f"{W}tab": "\t", f"{W}br": "\n", f"{W}cr": "\n", f"{W}noBreakHyphen": "-"}
_MAX_HEADING_SHARE = 1 / 3
"""The share of paragraphs that can be headings; if more are bold, they are bold for another
reason."""
_SIZE_STEP = 2
"""Half points by which a heading that is not bold must be larger than the text."""
_HEADING_NAME = re.compile(r"(?:heading|überschrift|titre|标题|標題)\s*(\d)", re.IGNORECASE)
_LIST_NAME = re.compile(r"List (?:Bullet|Number)(?: (\d))?", re.IGNORECASE)
_MAX_INHERITANCE = 20
"""Styles to follow along an inheritance chain, which is circular in some damaged files."""


class WordLoader(FormatLoader, name="docx"):
    """Reads .docx; of tracked changes, inserted text is kept and deleted text left out."""

    def load(self, source: Source) -> Content:
        import docx

        check_archive(source)
        document = docx.Document(io.BytesIO(source.data))
        writer = BlockWriter(source)
        pictures = EmbeddedPictures(writer, source)
        _Body(writer, document, pictures).add(document.element.body)
        properties = document.core_properties
        metadata = office_metadata(properties) | pictures.metadata
        return writer.content(MEDIA_TYPE, title=properties.title or "", metadata=metadata)


@dataclass(slots=True)
class _Group:
    """Paragraphs and a table that make one block together; what comes next may belong to it.

    A group is a caption and code, a table or pictures, or terms and their ``description``.
    ``title`` is the caption if it may be the title of what is below; ``table`` appends the table.
    """

    caption: str = ""
    title: str = ""
    code: list[str] = field(default_factory=list)
    table: Callable[[], object] | None = None
    pictures: list[bytes] = field(default_factory=list)
    terms: list[str] = field(default_factory=list)
    description: OpenBlock | None = None


class _Body:
    def __init__(
        self,
        writer: BlockWriter,
        document: Any,  # noqa: ANN401 - a python-docx document
        pictures: EmbeddedPictures,
    ) -> None:
        self._writer = writer
        self._pictures = pictures
        self._parts = document.part.related_parts
        self._styles = StyleSheet(document)
        self._rules = FormattingRules.of(document.element.body, self._styles)
        self._numbers: Counter[tuple[str, int]] = Counter()
        self._group = _Group()
        self._boxes = 0

    def add(self, parent: Any) -> None:  # noqa: ANN401
        """Append the paragraphs and tables below an element."""
        self._add_all(parent)
        self._end_group()

    def _add_all(self, parent: Any) -> None:  # noqa: ANN401
        for element in parent:
            if element.tag == f"{W}p":
                self._add_paragraph(element)
            elif element.tag == f"{W}tbl":
                self._add_table(element)
            elif element.tag == f"{W}sdt":
                kind = element.find(f"{W}sdtPr/{W}docPartObj/{W}docPartGallery")
                if kind is None or kind.get(f"{W}val") not in _CONTENTS:
                    self._add_all(element)
            elif element.tag in _AROUND:
                self._add_all(element)

    def _end_group(self, caption_below: str = "") -> None:
        """Append the group, if there is one, in a box if it has a title.

        The title of pictures, or of nothing that is read, is the caption of a figure.
        """
        group, self._group = self._group, _Group()
        if group.description is not None:
            self._writer.end(group.description)
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
        for data in group.pictures:
            self._pictures.add(data, box)
        self._writer.code("\n".join(group.code))
        if group.table is not None:
            group.table()
        self._writer.paragraph(caption_below)
        if box is not None:
            self._writer.end(box)

    def _add_paragraph(self, paragraph: Any) -> None:  # noqa: ANN401
        text = text_of(paragraph)
        style = self._styles.of(paragraph)
        if text.strip() and style.role is not ParagraphRole.CONTENTS:
            self._add_text(paragraph, text, style)
        for box in _boxes(paragraph):
            self._add_box(box)
        for picture in paragraph.iter(BLIP):
            part = self._parts.get(picture.get(EMBEDDED))
            if part is None or not str(part.content_type).startswith("image/"):
                continue  # it is not in the file
            if self._group.code or self._group.table or self._group.terms:
                self._end_group()
            self._group.pictures.append(part.blob)

    def _add_text(self, paragraph: Any, text: str, style: ParagraphStyle) -> None:  # noqa: ANN401
        formatting = formatting_of(paragraph, style)
        level = self._level(paragraph, text, style, formatting)
        list_id, list_level = _list_place(paragraph, style)
        is_item = bool(list_id) or style.depth > 0
        if level:
            self._end_group()
            self._writer.heading(level, text)
        elif style.role is ParagraphRole.CODE or (
            formatting.monospaced and self._rules.code_is_monospaced
        ):
            if self._group.table is not None or self._group.terms or self._group.pictures:
                self._end_group()
            self._group.code.append(text)
        elif not is_item and (style.role is ParagraphRole.CAPTION or is_caption(text)):
            self._add_caption(text, style)
        elif not is_item and style.role in (ParagraphRole.TERM, ParagraphRole.DEFINITION):
            self._add_definition(text, style)
        else:
            self._end_group()
            term = run_in_term(bold_runs(paragraph, style))
            if is_item:
                mark = self._mark(list_id, list_level)
                depth = max(list_level, style.depth - 1)
                self._writer.item(text, level=depth, mark=mark, term=term)
            else:
                self._writer.paragraph(text, term=term)

    def _add_caption(self, text: str, style: ParagraphStyle) -> None:
        """Add a caption of the table or pictures above, or else of what is below."""
        group = self._group
        is_title = style.role is ParagraphRole.CAPTION or is_title_like(text)
        of_table = is_table_caption(text) or not is_caption(text)
        of_pictures = is_title and not is_table_caption(text)
        if not group.title and (of_table if group.table else group.pictures and of_pictures):
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

    def _mark(self, list_id: str, level: int) -> str:
        """Return the number of the next item of an ordered list, or a bullet."""
        if not self._styles.is_ordered(list_id, level):
            return BULLET
        for key in [key for key in self._numbers if key[0] == list_id and key[1] > level]:
            del self._numbers[key]
        self._numbers[list_id, level] += 1
        return f"{self._numbers[list_id, level]}."

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
            or any(_list_place(paragraph, style))
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
        rows = [list(_cells(row)) for row in table.iterchildren(f"{W}tr")]
        cells = [cell for row in rows for cell in row]
        if len(cells) == 1 or any(cell.find(f"{W}tbl") is not None for cell in cells):
            for cell in cells:
                self._add_box(cell)
            return
        if self._group != _Group(self._group.caption, self._group.title):
            self._end_group()
        bold = [[self._is_bold(cell) for cell in row] for row in rows]
        has_header = is_on(table.find(f"{W}tr/{W}trPr"), "tblHeader") or _is_bold_header(bold)
        self._group.table = partial(
            self._writer.table,
            list(spread_cells(_read_rows(rows))),
            header=True if has_header else None,
            keyed=not has_header and _is_keyed(rows, bold),
        )

    def _is_bold(self, cell: Any) -> bool | None:  # noqa: ANN401
        """Return True if all text of a cell is bold, None for an empty cell."""
        paragraph = cell.find(f"{W}p")
        if paragraph is None or not text_of(cell).strip():
            return None
        return formatting_of(cell, self._styles.of(paragraph)).bold


def _list_place(paragraph: Any, style: ParagraphStyle) -> tuple[str, int]:  # noqa: ANN401
    """Return the list that a paragraph is an item of ("": none), and its level from 0."""
    own = paragraph.find(f"{W}pPr/{W}numPr")
    if own is None:
        return ("" if style.list_id == "0" else style.list_id), style.list_level
    numbers = {child.tag: child.get(f"{W}val") or "" for child in own}
    list_id = numbers.get(f"{W}numId", style.list_id)
    level = numbers.get(f"{W}ilvl", "")
    return ("" if list_id == "0" else list_id), int(level) if level.isdigit() else 0


def _boxes(paragraph: Any) -> list[Any]:  # noqa: ANN401
    """Return the outermost text boxes anchored in a paragraph, without their second copies."""
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


def _read_rows(rows: list[list[Any]]) -> Iterator[list[SpanningCell]]:
    """Yield the cells of rows; a cell merged with the one above repeats its text if short."""
    above: dict[int, str] = {}
    for row in rows:
        read: list[SpanningCell] = []
        column = 0
        for cell in row:
            text = " ".join(text_of(cell).split())
            merged = cell.find(f"{W}tcPr/{W}vMerge")
            if merged is not None and merged.get(f"{W}val") != "restart":
                text = above.get(column, "")
            above[column] = text if len(text) <= MAX_HEADER_LENGTH else ""
            span = cell.find(f"{W}tcPr/{W}gridSpan")
            width = span.get(f"{W}val", "") if span is not None else ""
            read.append(SpanningCell(text, int(width) if width.isdigit() else 1))
            column += read[-1].columns
        yield read


def _is_bold_header(bold: list[list[bool | None]]) -> bool:
    """Return True if all cells of the first row are bold and not all cells below it."""
    first = [cell for cell in bold[0] if cell is not None] if bold else []
    below = [cell for row in bold[1:] for cell in row if cell is not None]
    is_named = len(first) > 1 or (bool(first) and len(bold[0]) == 1)
    return is_named and all(first) and not all(below)


def _is_keyed(rows: list[list[Any]], bold: list[list[bool | None]]) -> bool:
    """Return True if the first cell of every row labels it: it alone is bold, or has a colon."""
    if not all(len(row) > 1 for row in rows):
        return False
    named = all(text_of(row[0]).rstrip().endswith((":", "：")) for row in rows)
    return named or all(row[0] and not any(row[1:]) for row in bold)


class ParagraphRole(StrEnum):
    """The role of a paragraph, as its style says."""

    TEXT = "text"
    TITLE = "title"
    CAPTION = "caption"
    CODE = "code"
    CONTENTS = "contents"
    TERM = "term"
    DEFINITION = "definition"


_ROLES = {
    ParagraphRole.CONTENTS: r"(?:toc|contents|index|toa)(?: heading| \d)|(?:user |table )?index.*"
    r"|table of (?:figures|authorities|contents)|目录.*|目次.*",
    ParagraphRole.CAPTION: r"(?:image |table |figure )?caption|题注|beschriftung|légende",
    ParagraphRole.CODE: r"(?:source|sample|program|block)? ?code(?: block| listing| text)?"
    r"|(?:code )?listing"
    r"|html preformatted|preformatted(?: text)?|macro(?: text)?|console|terminal|verbatim"
    r"|代码.*|源代码.*",
    ParagraphRole.TERM: r"definition (?:list )?term|list heading",
    ParagraphRole.DEFINITION: r"definition(?: list definition)?|list contents",
}
_ROLE_OF = {role: re.compile(form, re.IGNORECASE) for role, form in _ROLES.items()}


class ParagraphStyle(NamedTuple):
    """The properties that a style gives its paragraphs, inherited ones included.

    ``level`` is the level of a heading (0: not a heading), ``list_id`` the number of a list
    definition ("0" or "": no list), ``depth`` that of the list that the name of the style says,
    from 1 (0: none), ``size`` the font size in half points (0: unknown).
    """

    level: int = 0
    role: ParagraphRole = ParagraphRole.TEXT
    list_id: str = ""
    list_level: int = 0
    depth: int = 0
    bold: bool = False
    monospaced: bool = False
    size: int = 0


class StyleSheet:
    """The paragraph styles and list definitions of a document."""

    def __init__(self, document: Any) -> None:  # noqa: ANN401 - a python-docx document
        root = document.styles.element
        self._elements = {style.get(f"{W}styleId") or "": style for style in root.iter(f"{W}style")}
        self._default = next(
            (
                key
                for key, style in self._elements.items()
                if style.get(f"{W}type") == "paragraph"
                and style.get(f"{W}default") in ("1", "true")
            ),
            "",
        )
        defaults = root.find(f"{W}docDefaults/{W}rPrDefault/{W}rPr")
        self._size = _size(defaults)
        self._found: dict[str, ParagraphStyle] = {}
        self._ordered = _ordered_lists(document)

    def of(self, paragraph: Any) -> ParagraphStyle:  # noqa: ANN401
        """Return the style of a paragraph, the default style if it names none."""
        style = paragraph.find(f"{W}pPr/{W}pStyle")
        key = (style.get(f"{W}val") or "") if style is not None else ""
        key = key if key in self._elements else self._default
        if key not in self._found:
            self._found[key] = self._read(key)
        return self._found[key]

    def is_ordered(self, list_id: str, level: int) -> bool:
        """Return True if the items at this level of a list have numbers or letters."""
        return (list_id, level) in self._ordered

    def _read(self, key: str) -> ParagraphStyle:
        """Return a style with inherited properties; the nearest style of the chain wins."""
        chain = list(self._inherited(key))
        if not chain:
            return ParagraphStyle(size=self._size)
        names = [_value(style, "name") for style in chain]
        outline = next(filter(None, (_value(s, "pPr", "outlineLvl") for s in chain)), "")
        numbering = next((n for s in chain if (n := s.find(f"{W}pPr/{W}numPr")) is not None), None)
        list_level = _value(numbering, "ilvl")
        role = next(
            (r for n in names for r, form in _ROLE_OF.items() if form.fullmatch(n)),
            ParagraphRole.TEXT,
        )
        # Ignore inherited names here: many styles are based on the style of titles.
        if names[0].lower() == "title":
            role = ParagraphRole.TITLE
        runs = [style.find(f"{W}rPr") for style in chain]
        return ParagraphStyle(
            level=1 if role is ParagraphRole.TITLE else _heading_level(names, outline),
            role=role,
            list_id=_value(numbering, "numId"),
            list_level=int(list_level) if list_level.isdigit() else 0,
            depth=int(item[1] or 1) if (item := _LIST_NAME.fullmatch(names[0])) else 0,
            bold=next((b for run in runs if (b := is_on(run, "b")) is not None), False),
            monospaced=any(map(is_monospaced_font, filter(None, map(_font, runs[:1])))),
            size=next(filter(None, map(_size, runs)), self._size),
        )

    def _inherited(self, key: str) -> Iterator[Any]:
        for _ in range(_MAX_INHERITANCE):
            style = self._elements.get(key)
            if style is None:
                return
            yield style
            key = _value(style, "basedOn")


def is_on(run_properties: Any, name: str) -> bool | None:  # noqa: ANN401
    """Return the value of an on/off property of a run, None if it is not set."""
    switch = run_properties.find(f"{W}{name}") if run_properties is not None else None
    if switch is None:
        return None
    return (switch.get(f"{W}val") or "1") not in ("0", "false", "off", "none")


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
            font = _font(properties)
            monospaced &= is_monospaced_font(font) if font else style.monospaced
            sizes[_size(properties) or style.size] += len(text)
    return Formatting(bold, monospaced, sizes.most_common(1)[0][0]) if sizes else Formatting()


def bold_runs(paragraph: Any, style: ParagraphStyle) -> Iterator[tuple[str, bool]]:  # noqa: ANN401
    """Yield the text of each run of a paragraph, with True if it is bold."""
    for run in paragraph.iter(f"{W}r"):
        yield _run_text(run), _is_bold(run.find(f"{W}rPr"), style)


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


def text_of(element: Any) -> str:  # noqa: ANN401
    """Return the text below an element, one line for each paragraph, without text boxes."""
    return "".join(_pieces(element)).strip("\n")


def _pieces(element: Any) -> Iterator[str]:  # noqa: ANN401
    for inner in element:
        if inner.tag == f"{W}t":
            yield inner.text or ""
        elif inner.tag in _BLANKS:
            yield _BLANKS[inner.tag]
        elif inner.tag not in _LEFT_OUT:
            if inner.tag == f"{W}p":
                yield "\n"
            yield from _pieces(inner)


def _run_text(run: Any) -> str:  # noqa: ANN401
    return "".join(piece.text or "" for piece in run.iterchildren(f"{W}t"))


def _is_bold(run_properties: Any, style: ParagraphStyle) -> bool:  # noqa: ANN401
    own = is_on(run_properties, "b")
    if own is None and _value(run_properties, "rStyle") == "Strong":
        return True
    return style.bold if own is None else own


def _heading_level(names: Iterable[str], outline: str) -> int:
    """Return the heading level of a style, from its outline level or its names; 0 for others."""
    if outline:
        return int(outline) + 1 if outline in "012345678" else 0
    found = (_HEADING_NAME.fullmatch(name.strip()) for name in names)
    return next((int(match[1]) for match in found if match), 0)


def _ordered_lists(document: Any) -> set[tuple[str, int]]:  # noqa: ANN401
    """Return the (list, level) pairs whose items have numbers or letters."""
    try:
        root = document.part.numbering_part.element
    except (KeyError, NotImplementedError):
        return set()
    formats: dict[tuple[str, int], str] = {}
    for definition in root.iterchildren(f"{W}abstractNum"):
        for level in definition.iterchildren(f"{W}lvl"):
            number = level.get(f"{W}ilvl") or ""
            if number.isdigit():
                key = definition.get(f"{W}abstractNumId") or "", int(number)
                formats[key] = _value(level, "numFmt")
    return {
        (instance.get(f"{W}numId") or "", level)
        for instance in root.iterchildren(f"{W}num")
        for (definition, level), form in formats.items()
        if definition == _value(instance, "abstractNumId") and form not in ("bullet", "none", "")
    }


def _value(element: Any, *path: str) -> str:  # noqa: ANN401
    """Return the ``w:val`` attribute of the element at a path below another, or ""."""
    found = element.find("/".join(f"{W}{name}" for name in path)) if element is not None else None
    return (found.get(f"{W}val") or "") if found is not None else ""


def _size(run_properties: Any) -> int:  # noqa: ANN401
    size = _value(run_properties, "sz")
    return int(size) if size.isdigit() and len(size) <= 4 else 0


def _font(run_properties: Any) -> str:  # noqa: ANN401
    fonts = run_properties.find(f"{W}rFonts") if run_properties is not None else None
    return (fonts.get(f"{W}ascii") or "") if fonts is not None else ""
