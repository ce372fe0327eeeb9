"""Cut the text of a document into units: sentences, rows and lines of code.

Splitters fill chunks with whole units. Marks, such as those of headings and items, belong to a unit
but not to its sentence.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import accumulate, chain
from typing import NamedTuple

from knotwork._cancellation import checked
from knotwork._indexing.section_tree import SectionBody, SectionTree
from knotwork._text.sentences import character_boundary, split_sentences, wrapping_width
from knotwork._text.token_counts import token_starts
from knotwork.records import Block, BlockKind, Document, Span


class Unit(NamedTuple):
    """A sentence, a row, a line of code, or a part of one that is too long for a chunk.

    ``cover`` has the marks before and after ``span`` too; ``tokens`` counts those on its line.
    ``introduces`` is True for a heading, a lead-in, a term and the header of a table, which belong
    to what follows. ``joined`` is True if no chunk should begin with the unit, as it continues a
    block that fits into one.
    """

    span: Span
    cover: Span
    tokens: int
    region: int
    introduces: bool = False
    joined: bool = False


def region_units(document: Document, tree: SectionTree, *, longest: int) -> list[list[Unit]]:
    """Return the units of each region, each of at most ``longest`` tokens."""
    reader = _UnitReader(document.text, longest)
    return [
        reader.read(index, region, tree.blocks_in(Span(region.body, region.end)))
        for index, region in checked(enumerate(tree.regions))
    ]


_WHOLE = (BlockKind.ITEM, BlockKind.ROW, BlockKind.DEFINITION, BlockKind.TURN)
"""Blocks that are not cut if they fit into a chunk."""
_BY_LINES = (BlockKind.CODE, BlockKind.TABLE, BlockKind.ROW)
_HEADING_MARK = re.compile(r"#{1,6}[ \t]+")
_ITEM_MARK = re.compile(r"(?:[-*+]|\d+[.)])[ \t]+")
_BOLD_LINE = re.compile(r"\*\*([^*\s](?:[^*\n]*[^*\s])?)\*\*(?=[ \t]*(?:\n|\Z))")
_FENCE = re.compile(r"`{3,}|~{3,}")
_INK = re.compile(r"\S")
_WORD = re.compile(r"[^\W_]")


class _Part(NamedTuple):
    """A part of a text directly inside ``block``: none of the blocks in that one has it.

    ``quotes`` is the number of quotes around it.
    """

    start: int
    end: int
    block: Block | None = None
    quotes: int = 0
    is_heading: bool = False


class _UnitReader:
    """Reads the units of one text."""

    def __init__(self, text: str, longest: int) -> None:
        self._text = text
        self._longest = longest
        self._tokens = token_starts(text)
        self._width = wrapping_width(text)

    def read(self, index: int, region: SectionBody, blocks: Sequence[Block]) -> list[Unit]:
        """Return the units of a region, of which ``blocks`` are the blocks."""
        heading = _Part(region.start, region.body, is_heading=True)
        units: list[Unit] = []
        position = region.start
        for part in checked(chain([heading], _parts(blocks, region))):
            if spans := self._readable_spans(part):
                units.extend(self._units_of(part, spans, position, index))
                position = units[-1].cover.end
        left = self._text[position : region.end].rstrip()
        if left and units:
            start, end = units[-1].cover
            units[-1] = units[-1]._replace(cover=Span(start, end + len(left)))
        elif left:  # nothing but marks
            spans = split_sentences(left, start=position, wrapped_at=self._width)
            units.extend(self._units_of(_Part(position, region.end), spans, position, index))
        related = [block for block in blocks if block.lead or block.kind in _WHOLE]
        return self._mark(units, related) if units and related else units

    def _readable_spans(self, part: _Part) -> Sequence[Span]:
        """Return what is read of a part: its sentences, or its lines, without marks."""
        raw = self._text[part.start : part.end]
        if not raw or raw.isspace():
            return ()
        kind = part.block.kind if part.block is not None else None
        if part.quotes:
            raw = _quote_mark(part.quotes).sub(lambda mark: " " * len(mark[0]), raw)
        if kind in _BY_LINES:
            return self._readable_lines(kind, list(_lines(raw, part.start)))
        if part.is_heading:
            return list(_lines(_blank_mark(_HEADING_MARK, raw), part.start))
        term: list[Span] = []
        begin = 0
        if part.block is not None and part.block.span.start == part.start:
            if kind is BlockKind.ITEM:
                raw = _blank_mark(_ITEM_MARK, raw)
            elif kind is BlockKind.DEFINITION and (bold := _BOLD_LINE.match(raw)):
                term.append(Span(part.start + bold.start(1), part.start + bold.end(1)))
                begin = bold.end()
        said = split_sentences(raw[begin:], start=part.start + begin, wrapped_at=self._width)
        return term + said

    def _readable_lines(self, kind: BlockKind, lines: Sequence[Span]) -> Sequence[Span]:
        """Return the lines of code without its fence, or those of a table that have a word."""
        if kind is BlockKind.TABLE:
            return [line for line in lines if _WORD.search(self._text, *line)]
        if kind is BlockKind.CODE and lines:
            fence = _FENCE.match(self._text, lines[0].start)
            if fence is not None:
                is_closed = self._text.startswith(fence[0], lines[-1].start)
                return lines[1:-1] if is_closed else lines[1:]
        return lines

    def _units_of(
        self, part: _Part, spans: Sequence[Span], position: int, region: int
    ) -> Iterator[Unit]:
        """Yield the units of a part; ``position`` is the end of the unit before it.

        Each unit has the marks before it, and the last one has all that follow it.
        """
        text, block = self._text, part.block
        is_header = (
            block is not None and block.kind is BlockKind.TABLE and part.end < block.span.end
        )
        introduces = part.is_heading or is_header
        for span in spans:
            start, end = span
            if position < start:
                start -= len(text[position:start].lstrip())
            if span is spans[-1] and end < part.end:
                end += len(text[end : part.end].rstrip())
            position = end
            above, below = self._marks_beside(span, Span(start, end))
            pieces = self._pieces(span, max(1, self._longest - above - below))
            last = len(pieces) - 1
            for number, (piece, tokens) in enumerate(pieces):
                cover = Span(piece.start if number else start, piece.end if number < last else end)
                size = tokens + (0 if number else above) + (0 if number < last else below)
                yield Unit(piece, cover, size, region, introduces)

    def _marks_beside(self, span: Span, cover: Span) -> tuple[int, int]:
        """Return the numbers of tokens of a cover before and after a span on the same line."""
        above = below = 0
        if cover.start < span.start:
            line = self._text.rfind("\n", cover.start, span.start)
            above = self._count(max(cover.start, line), span.start)
        if span.end < cover.end:
            line = self._text.find("\n", span.end, cover.end)
            below = self._count(span.end, cover.end if line < 0 else line)
        return above, below

    def _mark(self, units: Sequence[Unit], blocks: Sequence[Block]) -> list[Unit]:
        """Return units with those marked that introduce or continue one of these blocks."""
        starts = [unit.cover.start for unit in units]
        sizes = [0, *accumulate(unit.tokens for unit in units)]
        introduces, joined = bytearray(len(units)), bytearray(len(units))
        for block in blocks:
            first = max(bisect_right(starts, block.span.start) - 1, 0)
            if units[first].cover.end <= block.span.start:
                first += 1
            last = bisect_left(starts, block.span.end, lo=first)
            if first >= last:
                continue
            if first and block.lead:
                introduces[first - 1] |= self._is_lead(units[first - 1], block.lead)
            if last - first > 1 and block.kind in _WHOLE:
                if self._text.startswith("**", block.span.start):  # the line of a term
                    line_end = self._text.find("\n", *block.span)
                    for number in range(first, bisect_left(starts, line_end, lo=first)):
                        introduces[number] = True
                if sizes[last] - sizes[first] <= self._longest:
                    joined[first + 1 : last] = b"\x01" * (last - first - 1)
        return [
            unit._replace(introduces=unit.introduces or bool(leads), joined=bool(goes_on))
            if leads or goes_on
            else unit
            for unit, leads, goes_on in zip(units, introduces, joined, strict=True)
        ]

    def _is_lead(self, unit: Unit, lead: str) -> bool:
        """Return True if a unit is a lead-in, or the last part of one."""
        said = " ".join(self._text[unit.span.start : unit.span.end].split())
        wanted = " ".join(lead.split())
        return said.endswith(wanted) or wanted.endswith(said)

    def _count(self, start: int, end: int) -> int:
        """Return the number of tokens between two offsets."""
        low = bisect_left(self._tokens, start)
        return bisect_left(self._tokens, end, lo=low) - low

    def _pieces(self, span: Span, longest: int) -> list[tuple[Span, int]]:
        """Return a sentence with its number of tokens, or its parts if it is too long.

        Parts end at the start of a token, after white space if there is some nearby.
        """
        low = bisect_left(self._tokens, span.start)
        high = bisect_left(self._tokens, span.end, lo=low)
        if high - low <= longest:
            return [(span, max(1, high - low))]
        return list(_cut(self._text, span, self._tokens[low:high], longest))


def _cut(text: str, span: Span, starts: Sequence[int], longest: int) -> Iterator[tuple[Span, int]]:
    """Yield the parts of a sentence whose tokens begin at ``starts``, with their sizes."""
    first, begin = 0, span.start
    while len(starts) - first > longest:
        last = first + longest
        nearest = max(first + 1, last - longest // 5)
        at_space = (i for i in range(last, nearest - 1, -1) if text[starts[i] - 1].isspace())
        last = next(at_space, last)
        cut = character_boundary(text, begin + 1, starts[last])
        last = bisect_left(starts, cut, lo=first)
        end = begin + len(text[begin:cut].rstrip())
        if end > begin:
            yield Span(begin, end), max(1, last - first)
        following = _INK.search(text, cut, span.end)
        begin = following.start() if following is not None else span.end
        first = max(last, first + 1)
    if begin < span.end:
        yield Span(begin, span.end), max(1, len(starts) - first)


def _parts(blocks: Sequence[Block], region: SectionBody) -> Iterator[_Part]:
    """Yield the parts of the body of a region between the starts and ends of its blocks.

    A block that is not inside the one before, but begins there, ends with it.
    """
    opened: list[tuple[Block, int]] = []  # with their ends
    quotes = 0
    position = region.body
    for block in (*blocks, None):
        start = block.span.start if block is not None else region.end
        while opened and opened[-1][1] <= start:
            inner, end = opened.pop()
            if end > position:
                yield _Part(position, end, inner, quotes=quotes)
                position = end
            quotes -= inner.kind is BlockKind.QUOTE
        if start > position:
            around = opened[-1][0] if opened else None
            yield _Part(position, start, around, quotes=quotes)
            position = start
        if block is not None:
            limit = opened[-1][1] if opened else region.end
            opened.append((block, min(block.span.end, limit)))
            quotes += block.kind is BlockKind.QUOTE


@cache
def _quote_mark(depth: int) -> re.Pattern[str]:
    """Return a pattern of the mark of each line inside this number of quotes."""
    return re.compile(rf"^[ \t]*(?:>[ \t]*){{1,{depth}}}", re.MULTILINE)


def _blank_mark(mark: re.Pattern[str], text: str) -> str:
    """Return a text with white space in place of the mark that it begins with."""
    found = mark.match(text)
    return text if found is None else " " * found.end() + text[found.end() :]


def _lines(text: str, start: int) -> Iterator[Span]:
    """Yield the spans of the lines that are not blank, without white space around them."""
    for line in text.split("\n"):
        bare = line.strip()
        if bare:
            begin = start + line.index(bare)
            yield Span(begin, begin + len(bare))
        start += len(line) + 1
