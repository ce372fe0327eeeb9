"""Write the text of a document from its blocks, as Markdown.

A loader calls one method for each block that it reads. A BlockWriter appends the block to the text
and records its span, so that all formats have one text form: headings after ``#``, items after
their marks, tables with bars, code in fences. Inline markup is not written: the text of a paragraph
is what a reader sees, and how its words look is recorded beside it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from knotwork._indexing.loaders.decoding import without_encoded_data
from knotwork._indexing.loaders.loader import (
    PLACEHOLDER,
    Content,
    DescribablePicture,
    Source,
    TextMeter,
    clean_line,
    clean_text,
)
from knotwork._indexing.loaders.tables import names_columns, row_key
from knotwork._indexing.loaders.titles_and_captions import item_term
from knotwork._text.sentences import split_sentences
from knotwork.records import (
    Anchor,
    Block,
    BlockKind,
    BoxedSpan,
    Link,
    Page,
    Span,
    StyledSpan,
    Table,
    TextStyle,
    TimedSpan,
    block_order,
)

DEEPEST_HEADING = 6
"""The deepest heading that Markdown can write."""
DEEPEST_LIST = 20
DEEPEST_BLOCK = 50
"""Blocks around one, and levels of sections: a damaged page may have any number."""
MAX_LEAD = 300
"""A longer sentence does not introduce a list, table or code."""
MAX_ITEM_LEAD = 80
"""A longer item does not introduce the list in it, unless it ends in a colon."""
BULLET = "-"
_LINE_END_SPACE = re.compile(r"(?<![ \t\u00a0])[ \t\u00a0]++(?=\n)")
_LINK_ROOM = 50_000
"""Characters within which the words of a link are looked for."""
_STYLE_CONTEXT = 40
"""Characters before words that are set apart, by which they are found."""
_SPACE = re.compile(r"\s")
_FENCE = re.compile(r"^[ \t]*(`{3,})", re.MULTILINE)
_BAR = re.compile(r"(?<!\\)\|")
_LED = (BlockKind.LIST, BlockKind.TABLE, BlockKind.CODE)
_IN_LISTS = (BlockKind.LIST, BlockKind.ITEM, BlockKind.PARAGRAPH)
"""Blocks that may be in the lists that `BlockWriter.item` begins; others end these."""
_INNERMOST = (BlockKind.TABLE, BlockKind.CODE, BlockKind.PARAGRAPH)
_OWN_TEXT = (BlockKind.ITEM, BlockKind.TURN, BlockKind.FIGURE)
"""Blocks whose first paragraph is not a block of its own."""


def lead_in_sentence(text: str) -> str:
    """Return the last sentence of a text if it ends with a colon, else ""."""
    line = text.rpartition("\n")[2].strip()
    if not line.endswith((":", "：")):
        return ""
    last = split_sentences(line)[-1]
    lead = line[last.start : last.end]
    return lead if len(lead) <= MAX_LEAD else ""


@dataclass(eq=False, slots=True)
class OpenBlock:
    """A block to which text is still appended; ``start`` is -1 until its first text.

    ``mark`` is written before its first line, ``indent`` before the others. ``number`` is that of
    the next item of an ordered list, else -1. A list that ``ends_with_item`` was begun for an item
    outside of lists.
    """

    kind: BlockKind
    label: str = ""
    lead: str = ""
    level: int = 0
    mark: str = ""
    indent: str = ""
    number: int = -1
    start: int = -1
    end: int = -1
    ends_with_item: bool = False


class BlockWriter:
    """Appends blocks to the text of a document, and records them with pages, times and boxes.

    Raises LoadError ("too_large") once the text of ``source`` exceeds the limit of its file.
    """

    def __init__(self, source: Source) -> None:
        self._meter = TextMeter(source)
        self._left_out = source.left_out
        self._parts: list[str] = []
        self._length = 0
        self._blocks: list[OpenBlock] = []
        self._sections: list[OpenBlock] = []
        self._base = 0  # the level below which headings are
        self._open: list[OpenBlock] = []  # those around the next text, outermost first
        # Those of `item`, with their levels, and True if their items have bullets.
        self._lists: list[tuple[tuple[int, bool], OpenBlock]] = []
        self._leaf: OpenBlock | None = None
        self._last = ""
        self._labels: list[str] = []  # of pages that begin with the next text
        self.pages: list[Page] = []
        self.tables: list[Table] = []
        self.link_lines: list[Span] = []
        self._links: list[tuple[int, str, str]] = []  # from where to look for which words
        self._anchors: list[Anchor] = []
        self._styles: list[tuple[int, str, int, TextStyle]] = []
        self.times: list[TimedSpan] = []
        self.boxes: list[BoxedSpan] = []
        self.pictures: list[DescribablePicture] = []

    @property
    def length(self) -> int:
        """The number of characters so far."""
        return self._length

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(self._parts)

    @property
    def last(self) -> str:
        """The text of the paragraph, item or heading before, "" after other blocks."""
        return self._last

    def link(self, words: str, target: str, *, place: int | None = None) -> None:
        """Record that words of the text behind a place, by default written next, lead to a target.

        Links are recorded in the order of the text.
        """
        if line := clean_line(words):
            self._links.append((self._length if place is None else place, line, target))

    def anchor(self, name: str) -> None:
        """Record the name of the place that is written next."""
        self._anchors.append(Anchor(name, self._length))

    def style(self, words: str, style: TextStyle, *, after: str = "") -> None:
        """Record that words of the text written next are set apart; ``after`` is what precedes them
        in their paragraph. Words of one style are recorded in the order of the text.
        """
        if line := clean_line(words):
            known = clean_line(after.rpartition("\n")[2][-_STYLE_CONTEXT:] + words)
            self._styles.append((self._length, known, len(line), style))

    def heading(self, level: int, title: str) -> Span:
        """End all open blocks, append a heading, and begin its section; levels count from 1.

        Returns the span of the title, which is empty if the title is blank.
        """
        line = clean_line(title)
        if not line:
            return Span(self._length, self._length)
        depth = min(self._base + max(1, level), DEEPEST_BLOCK)
        section = OpenBlock(BlockKind.SECTION, line, level=depth)
        section.mark = "#" * min(section.level, DEEPEST_HEADING) + " "
        self._end_all(section.level)
        self._sections.append(section)
        self._start([section])
        span = self._write(line)
        self._leaf, self._last = None, ""
        return span

    @contextmanager
    def subsections(self) -> Iterator[None]:
        """Put the headings of this context below the open section, and end theirs with it."""
        before = self._base
        self._base = self._sections[-1].level if self._sections else 0
        yield
        if self._sections and self._sections[-1].level > self._base:
            self._end_all(self._base + 1)
        self._base = before

    def paragraph(self, text: str, *, term: str = "") -> Span:
        """Append a paragraph with its line breaks, and return its span; ignore blank text.

        ``term`` is what it defines, if its first words say so. The first paragraph of an item gives
        the item its label.
        """
        if text.strip():
            self.end_lists()
        inner = self._open[-1] if self._open else None
        if inner is not None and inner.start < 0 and inner.kind is BlockKind.ITEM:
            inner.label = clean_line(term or item_term(text))
        elif term and text.strip():
            with self.block(BlockKind.DEFINITION, term):
                return self._paragraph(text)
        return self._paragraph(text)

    def entries(self, found: Sequence[tuple[str, str]]) -> None:
        """Append pairs of a term and a text that includes it, such as ("size", "size: 40").

        They are definitions, or turns if a speaker speaks again.
        """
        is_talk = len({term for term, _ in found}) < len(found)
        kind = BlockKind.TURN if is_talk else BlockKind.DEFINITION
        for term, text in found:
            with self.block(kind, term):
                self.paragraph(text)

    def term(self, term: str) -> Span:
        """Append the term of a definition as a line of its own, in bold."""
        line = clean_line(term)
        if not line:
            return Span(self._length, self._length)
        bold = "" if "*" in line else "**"
        self._start()
        self._append(bold)
        span = self._write(line)
        self._append(bold)
        self._leaf, self._last = None, ""
        return span

    def begin_definition(self, terms: Iterable[str], *, is_further: bool = False) -> OpenBlock:
        """Begin a definition with a line of its terms; the blocks that follow describe them.

        A further definition of the terms of the one before has no such line.
        """
        label = ", ".join(filter(None, map(clean_line, terms)))
        opened = self.begin(BlockKind.DEFINITION, label)
        if not is_further:
            self.term(label)
        return opened

    def extend(self, text: str, *, gap: str = " ") -> Span:
        """Append text to the paragraph or item before; begin a paragraph if there is none."""
        block = self._clean(text)
        if self._leaf is None or not block:
            return self._paragraph(text)
        self._append(gap + self._indent if gap == "\n" else gap)
        self._begin_pages()
        span = self._write(block)
        self._leaf.end = span.end
        self._last += gap + block
        return span

    def placeholder(self) -> Span:
        """Append a paragraph that a description of a picture replaces, and `before` leaves out."""
        return self._paragraph(PLACEHOLDER)

    def code(self, text: str, language: str = "", *, lead: str | None = None) -> Span:
        """Append code in a fence, and return the span of its lines; ignore blank text."""
        cleaned = without_encoded_data(clean_text(text) + "\n", self._left_out)
        lines = _LINE_END_SPACE.sub("", cleaned).strip("\n")
        if not lines.strip():
            return Span(self._length, self._length)
        self.end_lists()
        name = clean_line(language)
        name = "" if " " in name else name
        fence = "`" * max([3, *(len(found) + 1 for found in _FENCE.findall(lines))])
        with self.block(BlockKind.CODE, name, lead=lead):
            self._start()
            self._append(f"{fence}{name}\n{self._indent}")
            span = self._write(lines)
            self._append(f"\n{self._indent}{fence}")
        self._leaf, self._last = None, ""
        return span

    def table(
        self,
        rows: Iterable[Sequence[str]],
        *,
        header: bool | None = None,
        lead: str | None = None,
    ) -> list[Span]:
        """Append a table, and return the spans of its rows without the header.

        Blank rows and columns are left out. ``header`` says whether the first row names the
        columns; None detects it. A table of one column without a header becomes paragraphs.
        """
        cleaned = ([" ".join(clean_text(cell).split()) for cell in row] for row in rows)
        filled = [row for row in cleaned if any(row)]
        if filled:
            self.end_lists()
        if header is None:
            header = len(filled) > 1 and names_columns(filled[0], filled[1])
        names: Sequence[str] = ()
        if header and len(filled) > 1:
            names, *filled = filled
        lines = (names, *filled)
        columns = sorted({number for row in lines for number, cell in enumerate(row) if cell})
        if not filled or len(columns) < (1 if any(names) else 2):
            return [self._paragraph(" ".join(row)) for row in lines if any(row)]
        names = _cells_at(columns, names)
        label = " | ".join(name.replace("|", "/") for name in names)
        spans: list[Span] = []
        with self.block(BlockKind.TABLE, label if label.strip("| ") else "", lead=lead):
            self._start()
            self._append(_table_line(names))
            self._append(f"\n{self._indent}| {' | '.join(['---'] * len(columns))} |")
            for row in filled:
                self._append(f"\n{self._indent}")
                start = self._length
                self._append(_table_line(_cells_at(columns, row)))
                span = Span(start, self._length)
                self._blocks.append(
                    OpenBlock(BlockKind.ROW, row_key(row), start=start, end=self._length)
                )
                spans.append(span)
        self._leaf, self._last = None, ""
        return spans

    def item(self, text: str, *, level: int = 0, mark: str = BULLET, term: str = "") -> Span:
        """Append an item, and return its span; ``level`` 0 is that of an outermost list.

        Begins and ends lists as the levels require, until `end_lists`. Items with bullets after a
        numbered one of their level are below it. ``term`` is what it defines,
        if its first words say so.
        """
        place = max(0, min(level, DEEPEST_LIST)), mark == BULLET
        while self._lists and self._lists[-1][0] > place:
            self.end(self._lists[-1][1])
        if not self._lists or self._lists[-1][0] < place:
            if len(self._open) > DEEPEST_BLOCK - 2:
                return self._paragraph(text)
            self._lists.append((place, self.begin(BlockKind.LIST)))
        while self._open[-1] is not self._lists[-1][1]:
            self.end(self._open[-1])
        self.begin(BlockKind.ITEM, term or item_term(text), mark=mark)
        return self._paragraph(text)

    def end_lists(self) -> None:
        """End the lists that `item` has begun."""
        if self._lists:
            self.end(self._lists[0][1])

    @contextmanager
    def block(
        self, kind: BlockKind, label: str = "", *, lead: str | None = None, mark: str = ""
    ) -> Iterator[OpenBlock]:
        """Put the blocks that are appended in this context into a block; see `begin`."""
        opened = self.begin(kind, label, lead=lead, mark=mark)
        yield opened
        self.end(opened)

    def begin(
        self,
        kind: BlockKind,
        label: str = "",
        *,
        lead: str | None = None,
        mark: str = "",
        number: int = -1,
    ) -> OpenBlock:
        """Begin a block, which `end` ends; it is left out if it has no text or is nested too deep.

        ``mark`` is that of an item: a bullet, or a number with its stop. ``number`` is that of the
        first item of an ordered list, whose items are counted; an item may have its own. ``lead``
        is by default the sentence before a list, table or code that ends in a colon, or the short
        item around a list.
        """
        if kind not in _IN_LISTS:
            self.end_lists()
        if len(self._open) >= DEEPEST_BLOCK and kind not in _INNERMOST:
            return OpenBlock(kind)
        is_alone = kind is BlockKind.ITEM and (
            not self._open or self._open[-1].kind is not BlockKind.LIST
        )
        if is_alone:
            self.begin(BlockKind.LIST).ends_with_item = True
        if lead is None:
            lead = self._lead_of(kind) if kind in _LED else ""
        indent = ""
        if kind is BlockKind.QUOTE:
            mark = indent = "> "
        elif kind is BlockKind.ITEM:
            around = self._open[-1]
            if not mark and around.number >= 0:
                here = number if number >= 0 else around.number
                mark, around.number = f"{here}.", here + 1
            mark = f"{mark or BULLET} "
            indent = " " * len(mark)
        opened = OpenBlock(kind, level=0, mark=mark, indent=indent, number=number)
        opened.label, opened.lead = (
            clean_line(label) if label else "",
            clean_line(lead) if lead else "",
        )
        self._open.append(opened)
        return opened

    def end(self, opened: OpenBlock) -> None:
        """End a block, and those in it, unless a heading has ended it."""
        self._leaf = None
        while opened in self._open:
            ended = self._open.pop()
            ended.end = self._length
            if self._lists and self._lists[-1][1] is ended:
                self._lists.pop()
        if self._open and self._open[-1].ends_with_item:
            self.end(self._open[-1])

    def page(self, label: str) -> None:
        """Begin a page, slide or sheet with the next block."""
        self._labels.append(label)

    def before(self, characters: int) -> str:
        """Return the end of the text so far without placeholders, at most this many characters."""
        parts: list[str] = []
        left = characters
        for part in reversed(self._parts):
            if left <= 0:
                break
            parts.append(part)
            left -= 0 if part == PLACEHOLDER or part.isspace() else len(part)
        *described, last = "".join(reversed(parts)).split(PLACEHOLDER)
        return ("".join(map(str.rstrip, described)) + last)[-characters:].strip()

    def include(self, content: Content) -> None:
        """Append the text of another document with its blocks and tables, in the open section."""
        if self._open:
            self.end(self._open[0])
        if self._parts:
            self._append("\n\n")
        base = self._sections[-1].level if self._sections else 0
        begin, starts, marks = self._length, [], [0]  # of headings, and the marks added before them
        written = 0
        for block in content.blocks:
            if block.level:
                level = min(block.level, DEEPEST_HEADING)
                starts.append(block.span.start)
                self._append(content.text[written : block.span.start])
                self._append("#" * (min(base + level, DEEPEST_HEADING) - level))
                written = block.span.start
                marks.append(self._length - begin - written)
        self._append(content.text[written:])

        def moved(span: Span) -> Span:
            return Span(*(begin + place + marks[bisect_left(starts, place)] for place in span))

        for kind, span, label, lead, level in content.blocks:
            depth = min(base + level, DEEPEST_BLOCK) if level else 0
            start, end = moved(span)
            self._blocks.append(OpenBlock(kind, label, lead, depth, start=start, end=end))
        for table in content.tables:
            self.tables.append(replace(table, spans=tuple(map(moved, table.spans))))
        self._leaf, self._last = None, ""

    def content(
        self, media_type: str, *, title: str = "", metadata: Mapping[str, str] | None = None
    ) -> Content:
        """Return the text with everything recorded about it."""
        self._end_all()
        blocks = (
            Block(b.kind, Span(b.start, b.end), b.label, b.lead, b.level) for b in self._blocks
        )
        return Content(
            text=self.text,
            media_type=media_type,
            title=clean_line(title),
            metadata=metadata or {},
            blocks=tuple(sorted(blocks, key=block_order)),
            pages=tuple(self.pages),
            tables=tuple(self.tables),
            link_lines=tuple(self.link_lines),
            times=tuple(self.times),
            boxes=tuple(self.boxes),
            pictures=tuple(self.pictures),
            links=tuple(self._found_links()),
            anchors=tuple(anchor for anchor in self._anchors if anchor.start < self._length),
            styles=tuple(sorted(self._found_styles())),
        )

    def _found_styles(self) -> Iterator[StyledSpan]:
        """Yield the words set apart that were written, each behind the one before of its style."""
        text = _SPACE.sub(" ", self.text) if self._styles else ""
        ends: dict[TextStyle, int] = {}
        for position, known, length, style in dict.fromkeys(self._styles):
            least, most = max(position, ends.get(style, 0)), position + _LINK_ROOM
            before = len(known) - length
            place = text.find(known, max(position, least - before), most)
            if place < 0:  # the text before them is written in another way
                place, before = text.find(known[before:], least, most), 0
            if place >= 0:
                span = Span(place + before, place + before + length)
                ends[style] = span.end
                yield StyledSpan(span, style)

    def _found_links(self) -> Iterator[Link]:
        """Yield the links whose words were written, each behind the link before."""
        text, end = _SPACE.sub(" ", self.text) if self._links else "", 0
        for position, words, target in dict.fromkeys(self._links):  # a loader may read text twice
            place = text.find(words, max(position, end), position + _LINK_ROOM)
            if place >= 0:
                end = place + len(words)
                yield Link(Span(place, end), target)

    def _lead_of(self, kind: BlockKind) -> str:
        inner = self._open[-1] if self._open else None
        is_in_item = inner is not None and inner.kind is BlockKind.ITEM and inner.start >= 0
        is_led = kind is BlockKind.LIST and is_in_item and len(self._last) <= MAX_ITEM_LEAD
        return lead_in_sentence(self._last) or (self._last if is_led else "")

    @property
    def _indent(self) -> str:
        return "".join(opened.indent for opened in self._open)

    def _clean(self, text: str) -> str:
        cleaned = without_encoded_data(clean_text(text), self._left_out)
        return _LINE_END_SPACE.sub("", cleaned).strip()

    def _paragraph(self, text: str) -> Span:
        block = self._clean(text)
        if not block:
            return Span(self._length, self._length)
        inner = self._open[-1] if self._open else None
        if inner is not None and inner.start < 0 and inner.kind in _OWN_TEXT:
            leaf = inner
            self._start()
            span = self._write(block)
        else:
            leaf = self.begin(BlockKind.PARAGRAPH)
            self._start()
            span = self._write(block)
            self.end(leaf)
        self._leaf, self._last = leaf, block
        return span

    def _start(self, new: Sequence[OpenBlock] | None = None) -> None:
        """Append what stands before the first line of ``new`` blocks, and record these.

        By default, these are the open ones without text. Items of a list are on adjacent lines.
        """
        if new is None:
            new = [opened for opened in self._open if opened.start < 0]
        around = [opened for opened in self._open if opened.start >= 0]
        indent = "".join(opened.indent for opened in around)
        is_adjacent = any(opened.kind is BlockKind.ITEM for opened in new) and any(
            opened.kind is BlockKind.LIST for opened in around
        )
        if self._parts:
            self._append("\n" if is_adjacent else f"\n{indent.rstrip()}\n")
        self._append(indent)
        self._begin_pages()
        for opened in new:
            opened.start = self._length
            self._append(opened.mark)
        self._blocks.extend(new)

    def _begin_pages(self) -> None:
        self.pages.extend(Page(label, self._length) for label in self._labels)
        self._labels.clear()

    def _end_all(self, level: int = 0) -> None:
        """End all blocks and the sections of at least this level."""
        if self._open:
            self.end(self._open[0])
        while self._sections and self._sections[-1].level >= level:
            self._sections.pop().end = self._length

    def _write(self, text: str) -> Span:
        """Append text, its further lines indented, and return its span."""
        start = self._length
        if indent := self._indent:
            first, *others = text.split("\n")
            text = "\n".join((first, *((indent + line).rstrip(" ") for line in others)))
        self._append(text)
        return Span(start, self._length)

    def _append(self, text: str) -> None:
        if text:
            self._parts.append(text)
            self._length += len(text)
            self._meter.add(len(text))


def _cells_at(columns: Sequence[int], row: Sequence[str]) -> list[str]:
    return [row[number] if number < len(row) else "" for number in columns]


def _table_line(cells: Sequence[str]) -> str:
    escaped = (_BAR.sub(r"\\|", cell) if "|" in cell else cell for cell in cells)
    return f"| {' | '.join(escaped)} |"
