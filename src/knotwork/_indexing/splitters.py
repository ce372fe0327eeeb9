"""Split documents into sections and chunks: the Splitter protocol, four splitters, their registry.

The section tree follows the headings. Chunks consist of whole sentences, rows and lines of code,
are about equally large, and are exact spans of the text. Marks, such as those of headings and
items, belong to a unit of a chunk but not to its sentence.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, chain, groupby, zip_longest
from operator import itemgetter
from typing import NamedTuple, Protocol

from knotwork._cancellation import check_cancelled, checked
from knotwork._registry import Entry, Registry
from knotwork._text.block_index import BlockIndex
from knotwork._text.sentences import character_boundary, split_sentences, wrapping_width
from knotwork._text.token_counts import token_starts
from knotwork.errors import ConfigError
from knotwork.records import (
    Block,
    BlockKind,
    Chunk,
    Document,
    Section,
    Span,
    block_order,
    content_id,
)


class Splitter(Protocol):
    """Splits a document into a section tree and chunks."""

    name: str

    def split(self, document: Document) -> tuple[list[Section], list[Chunk]]:
        """Return the sections in reading order, the root first, and the chunks.

        Leaf chunks come first, in reading order, then their parents, if any. Every non-blank
        character is in exactly one leaf (with overlap: in at least one).
        """


@dataclass(frozen=True, slots=True)
class ChunkSizes:
    """The largest sizes of chunks, in tokens of `knotwork._text.token_counts`.

    ``overlap_tokens`` are repeated from the chunk before. Raises ConfigError if the sizes are
    inconsistent.
    """

    chunk_tokens: int = 200
    overlap_tokens: int = 0
    parent_tokens: int = 800

    def __post_init__(self) -> None:
        if self.chunk_tokens < 1:
            raise ConfigError(f"`chunk_tokens` is {self.chunk_tokens}, but must be at least 1.")
        if not 0 <= self.overlap_tokens < self.chunk_tokens:
            raise ConfigError(
                f"`overlap_tokens` is {self.overlap_tokens}, but must be at least 0 and less than "
                f"`chunk_tokens`, which is {self.chunk_tokens}."
            )


SMALL_SECTIONS_PER_CHUNK = 8
"""A section smaller than a chunk divided by this is merged with the next section."""


class _TreeSplitter:
    """Splits by the section tree; a subclass makes the chunks."""

    name: str

    def __init__(self, sizes: ChunkSizes) -> None:
        self.sizes = sizes

    def split(self, document: Document) -> tuple[list[Section], list[Chunk]]:
        tree = SectionTree(document)
        return tree.sections, self.chunks(tree)

    def chunks(self, tree: SectionTree) -> list[Chunk]:
        raise NotImplementedError

    def section_groups(self, tree: SectionTree) -> list[list[Unit]]:
        """Return the units of each section, small sections merged; no chunk may cross a group."""
        units = region_units(tree, longest=self.sizes.chunk_tokens)
        minimum = self.sizes.chunk_tokens // SMALL_SECTIONS_PER_CHUNK
        return group_regions(tree, units, minimum=minimum)

    def add_leaves(
        self,
        leaves: list[Chunk],
        tree: SectionTree,
        units: Sequence[Unit],
        parent: Chunk | None = None,
    ) -> None:
        """Append the chunks of these units, with their overlaps."""
        for shared, start, end in fill_chunks(
            units, limit=self.sizes.chunk_tokens, overlap=self.sizes.overlap_tokens
        ):
            own, owned = units[shared:end], units[start:end]
            leaves.append(make_chunk(tree, own, ordinal=len(leaves), owned=owned, parent=parent))


class StructureSplitter(_TreeSplitter):
    """Fills chunks sentence by sentence; a chunk never crosses a section (the default)."""

    name = "structure"

    def chunks(self, tree: SectionTree) -> list[Chunk]:
        leaves: list[Chunk] = []
        for group in self.section_groups(tree):
            self.add_leaves(leaves, tree, group)
        return leaves


class ParentChildSplitter(_TreeSplitter):
    """Splits sections into parent chunks, and these into the smaller chunks that are searched."""

    name = "parent-child"

    def chunks(self, tree: SectionTree) -> list[Chunk]:
        leaves: list[Chunk] = []
        parents: list[Chunk] = []
        limit = max(self.sizes.parent_tokens, self.sizes.chunk_tokens)
        for group in self.section_groups(tree):
            for _, first, last in fill_chunks(group, limit=limit):
                own = group[first:last]
                parent = make_chunk(tree, own, ordinal=len(parents), is_parent=True)
                parents.append(parent)
                self.add_leaves(leaves, tree, own, parent)
        return leaves + parents


CHUNKS_IN_WINDOW = 4
"""A chunk has ``chunk_tokens`` divided by this, its window ``chunk_tokens``."""


class SentenceWindowSplitter(_TreeSplitter):
    """Builds chunks of a few sentences; the parent of each is the window around it."""

    name = "sentence-window"

    def chunks(self, tree: SectionTree) -> list[Chunk]:
        leaves: list[Chunk] = []
        windows: dict[str, Chunk] = {}
        window_tokens = self.sizes.chunk_tokens
        limit = max(1, window_tokens // CHUNKS_IN_WINDOW)
        for group in self.section_groups(tree):
            for _, start, end in fill_chunks(group, limit=limit):
                low, high = _window(group, start, end, window_tokens)
                window = make_chunk(tree, group[low:high], ordinal=len(windows), is_parent=True)
                window = windows.setdefault(window.id, window)
                leaves.append(
                    make_chunk(tree, group[start:end], ordinal=len(leaves), parent=window)
                )
        return leaves + list(windows.values())


def _window(units: Sequence[Unit], start: int, end: int, limit: int) -> tuple[int, int]:
    """Widen a range of units on both sides in turn, up to ``limit`` tokens."""
    size = sum(unit.tokens for unit in units[start:end])
    grown = True
    while grown:
        grown = False
        if start > 0 and size + units[start - 1].tokens <= limit:
            start -= 1
            size += units[start].tokens
            grown = True
        if end < len(units) and size + units[end].tokens <= limit:
            size += units[end].tokens
            end += 1
            grown = True
    return start, end


class WholeSplitter(_TreeSplitter):
    """Makes the whole text one chunk, however long it is."""

    name = "whole"

    def chunks(self, tree: SectionTree) -> list[Chunk]:
        regions = region_units(tree, longest=self.sizes.parent_tokens)
        units = [unit for own in regions for unit in own]
        return [make_chunk(tree, units, ordinal=0)] if units else []


_HERE = "knotwork._indexing.splitters"
SPLITTERS: Registry[Splitter] = Registry(
    "splitters",
    (
        Entry("structure", f"{_HERE}:StructureSplitter"),
        Entry("whole", f"{_HERE}:WholeSplitter"),
        Entry("sentence-window", f"{_HERE}:SentenceWindowSplitter"),
        Entry("parent-child", f"{_HERE}:ParentChildSplitter"),
    ),
    kind="splitter",
    protocol=Splitter,
)


def make_splitter(
    name: str = "structure",
    *,
    chunk_tokens: int = 200,
    overlap_tokens: int = 0,
    parent_tokens: int = 800,
) -> Splitter:
    """Return the splitter with this name; sizes are in tokens.

    Raises UnknownName if no splitter has the name, ConfigError if the sizes are inconsistent.
    """
    sizes = ChunkSizes(
        chunk_tokens=chunk_tokens, overlap_tokens=overlap_tokens, parent_tokens=parent_tokens
    )
    return SPLITTERS.create(name, sizes=sizes)


def group_regions(
    tree: SectionTree, units: Sequence[Sequence[Unit]], *, minimum: int
) -> list[list[Unit]]:
    """Merge the units of regions that are too small for a chunk of their own.

    A section of fewer than ``minimum`` tokens is merged with the next one if that is its subsection
    or its sibling. A heading without text is merged with its first subsection.
    """
    groups: list[list[Unit]] = []
    members: list[int] = []
    size = 0
    for index, own in enumerate(units):
        if not own:
            continue
        if members and _belongs_to_group(tree, members, index, small=size < minimum):
            groups[-1].extend(own)
        else:
            groups.append(list(own))
            members, size = [], 0
        members.append(index)
        size += sum(unit.tokens for unit in own)
    return groups


def _belongs_to_group(
    tree: SectionTree, members: Sequence[int], region: int, *, small: bool
) -> bool:
    """Return True if a region is merged into the group of regions before it.

    ``small`` is True if that group is below the minimal size.
    """
    section = tree.regions[region].section
    last = tree.regions[members[-1]]
    if last.bare and tree.parents[section] == last.section:
        return True
    if not small:
        return False
    group = tree.common_section(members)
    return tree.parents[section] == tree.parents[group] or group in tree.ancestors(section)


def fill_chunks(
    units: Sequence[Unit], *, limit: int, overlap: int = 0
) -> list[tuple[int, int, int]]:
    """Return (start of the overlap, start, end) of each chunk, as indices into ``units``.

    Chunks are about equally large and have at most ``limit`` tokens, of which at most ``overlap``
    are whole sentences repeated from the chunk before.
    """
    before = [0, *accumulate(unit.tokens for unit in units)]
    ranges: list[tuple[int, int, int]] = []
    start = 0
    while start < len(units):
        check_cancelled()
        end = _chunk_end(units, before, start, limit - overlap)
        shared = start
        while (
            shared > 0
            and before[start] - before[shared - 1] <= overlap
            and before[end] - before[shared - 1] <= limit
        ):
            shared -= 1
        ranges.append((shared, start, end))
        start = end
    return ranges


def _chunk_end(units: Sequence[Unit], before: Sequence[int], start: int, room: int) -> int:
    """Return the end of the chunk that begins at ``start`` and has ``room`` for so many tokens.

    ``before`` are the numbers of tokens before each unit. The chunk ends neither inside a block nor
    behind what introduces the next unit, if there is another end.
    """
    rest = before[-1] - before[start]
    target = before[start] + rest / -(-rest // room)
    last = max(bisect_right(before, before[start] + room, lo=start) - 1, start + 1)
    ends = range(start + 1, last + 1)
    whole = [end for end in ends if end == len(units) or not units[end - 1].introduces]
    free = [end for end in whole if end == len(units) or not units[end].joined]
    return min(free or whole or ends, key=lambda end: (abs(before[end] - target), -end))


def make_chunk(
    tree: SectionTree,
    units: Sequence[Unit],
    *,
    ordinal: int,
    owned: Sequence[Unit] = (),
    parent: Chunk | None = None,
    is_parent: bool = False,
) -> Chunk:
    """Return the chunk of consecutive units.

    Its section is the common one of the ``owned`` units, which exclude the overlap.
    """
    document, span = tree.document, Span(units[0].cover.start, units[-1].cover.end)
    text = document.text[span.start : span.end]
    section = tree.common_section(dict.fromkeys(unit.region for unit in owned or units))
    titles = tree.subsections(section, ((unit.cover, unit.region) for unit in units))
    blocks = tree.blocks.overlapping(span)
    kind = "parent chunk" if is_parent else "chunk"
    return Chunk(
        id=content_id(kind, document.id, span.start, span.end, text),
        document_id=document.id,
        section_id=tree.sections[section].id,
        ordinal=ordinal,
        span=span,
        text=text,
        sentences=tuple(unit.span for unit in units),
        document_title=document.title,
        headings=tree.titles(section),
        parent_id=parent.id if parent else None,
        is_parent=is_parent,
        blocks=tuple(sorted((*titles, *blocks), key=block_order) if titles else blocks),
    )


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


def region_units(tree: SectionTree, *, longest: int) -> list[list[Unit]]:
    """Return the units of each region, each of at most ``longest`` tokens."""
    reader = _UnitReader(tree.document.text, longest)
    return [
        reader.read(index, region, tree.blocks.overlapping(Span(region.body, region.end)))
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
        said = " ".join(self._text[unit.span.start : unit.span.end].split())
        wanted = " ".join(lead.split())
        return said.endswith(wanted) or wanted.endswith(said)

    def _count(self, start: int, end: int) -> int:
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
    return re.compile(rf"^[ \t]*(?:>[ \t]*){{1,{depth}}}", re.MULTILINE)


def _blank_mark(mark: re.Pattern[str], text: str) -> str:
    found = mark.match(text)
    return text if found is None else " " * found.end() + text[found.end() :]


def _lines(text: str, start: int) -> Iterator[Span]:
    for line in text.split("\n"):
        bare = line.strip()
        if bare:
            begin = start + line.index(bare)
            yield Span(begin, begin + len(bare))
        start += len(line) + 1


class SectionBody(NamedTuple):
    """Text of a section outside of those below it; the regions have all text of the document.

    ``body`` is the offset after the heading. ``bare`` is true if no text follows the heading.
    """

    section: int
    start: int
    body: int
    end: int
    bare: bool


class SectionTree:
    """The sections of a document in reading order (the root first), their regions and ``blocks``.

    A section has more than one region if text of its own follows a section below it.
    """

    def __init__(self, document: Document) -> None:
        self.document = document
        headings = _headings(document)
        self.parents, ends = _nest(headings, len(document.text))
        ends = _widen(document.text, headings, self.parents, ends)
        self.sections = _sections(document, headings, self.parents, ends)
        self.regions = _regions(document.text, headings, self.parents, ends)
        self.blocks = BlockIndex(
            block
            for block in document.blocks
            if block.kind is not BlockKind.SECTION and block.span.start < block.span.end
        )

    def titles(self, section: int) -> tuple[str, ...]:
        """Return the titles from below the root down to a section."""
        above = [self.sections[index].title for index in self.ancestors(section) if index]
        return tuple(title for title in reversed(above) if title)

    def ancestors(self, section: int) -> list[int]:
        """Return a section and all sections above it, up to the root."""
        path = [section]
        while path[-1]:
            path.append(self.parents[path[-1]])
        return path

    def subsections(self, section: int, places: Iterable[tuple[Span, int]]) -> list[Block]:
        """Return a section for each run of places in one region below ``section``.

        ``places`` are (span, region), in order. The label has the titles below those of
        ``section``.
        """
        above = self.titles(section)
        found: list[Block] = []
        for region, run in groupby(places, key=itemgetter(1)):
            inner = self.regions[region].section
            if inner == section:
                continue
            spans = [span for span, _ in run]
            own = [
                title
                for title, common in zip_longest(self.titles(inner), above, fillvalue="")
                if title != common
            ]
            if label := ". ".join(filter(None, own)):
                span = Span(spans[0].start, spans[-1].end)
                level = self.sections[inner].level
                found.append(Block(BlockKind.SECTION, span, label, level=level))
        return found

    def common_section(self, regions: Iterable[int]) -> int:
        """Return the lowest section that contains all these regions.

        Headings without text of their own do not count, as they only introduce what follows.
        """
        listed = list(regions)
        full = [index for index in listed if not self.regions[index].bare] or listed[:1]
        common = self.ancestors(self.regions[full[0]].section)
        for index in full[1:]:
            above = set(self.ancestors(self.regions[index].section))
            common = [section for section in common if section in above]
        return common[0]


class _Heading(NamedTuple):
    """The line that begins a section; the section ends at ``end``."""

    level: int
    title: str
    line: Span
    end: int


def _headings(document: Document) -> list[_Heading]:
    """Return the headings in order, without those outside the text or in the line of another."""
    text = document.text
    kept: list[_Heading] = []
    sections = (block for block in document.blocks if block.kind is BlockKind.SECTION)
    for block in sorted(sections, key=block_order):
        start, end = block.span
        after = kept[-1].line.end if kept else 0
        if after <= start < end <= len(text):
            line = text.find("\n", start, end)
            span = Span(start, end if line < 0 else line)
            kept.append(_Heading(max(block.level, 1), block.label, span, end))
    return kept


def _nest(headings: Sequence[_Heading], length: int) -> tuple[list[int], list[int]]:
    """Return the index of each section's parent, and its end; the root, 0, is its own parent."""
    parents, ends = [0], [length]
    opened = [0]
    for index, heading in enumerate(headings, start=1):
        start = heading.line.start
        while opened[-1] and (
            headings[opened[-1] - 1].level >= heading.level or ends[opened[-1]] <= start
        ):
            ends[opened[-1]] = min(ends[opened[-1]], start)
            opened.pop()
        parents.append(opened[-1])
        ends.append(min(heading.end, ends[opened[-1]]))
        opened.append(index)
    return parents, ends


def _widen(
    text: str, headings: Sequence[_Heading], parents: Sequence[int], ends: Sequence[int]
) -> list[int]:
    """Return the ends of the sections with the white space that follows them."""
    starts = [0, *(heading.line.start for heading in headings), len(text)]
    last_inside = list(range(len(parents)))
    for index in range(len(parents) - 1, 0, -1):
        above = parents[index]
        last_inside[above] = max(last_inside[above], last_inside[index])
    wide = [len(text)]
    for index in range(1, len(parents)):
        limit = min(starts[last_inside[index] + 1], wide[parents[index]])
        wide.append(ends[index] if _INK.search(text, ends[index], limit) else limit)
    return wide


def _sections(
    document: Document,
    headings: Sequence[_Heading],
    parents: Sequence[int],
    ends: Sequence[int],
) -> list[Section]:
    identity = document.id
    root = Section(
        content_id("section", identity, 0, 0, ""),
        identity,
        None,
        0,
        0,
        document.title,
        Span(0, len(document.text)),
    )
    found = [root]
    for index, heading in enumerate(headings, start=1):
        start = heading.line.start
        found.append(
            Section(
                id=content_id("section", identity, index, start, heading.title),
                document_id=identity,
                parent_id=found[parents[index]].id,
                ordinal=index,
                level=heading.level,
                title=heading.title,
                span=Span(start, ends[index]),
            )
        )
    return found


def _regions(
    text: str, headings: Sequence[_Heading], parents: Sequence[int], ends: Sequence[int]
) -> list[SectionBody]:
    lines = [Span(0, 0), *(heading.line for heading in headings)]
    stops = [*(line.start for line in lines[1:]), len(text)]
    found: list[SectionBody] = []
    for index, (line, stop) in enumerate(zip(lines, stops, strict=True)):
        section, end = index, min(ends[index], stop)
        body = min(line.end, end)
        bare = _INK.search(text, body, end) is None
        found.append(SectionBody(section, line.start, body, end, bare))
        while end < stop:
            section, start = parents[section], end
            end = min(ends[section], stop)
            if _INK.search(text, start, end):
                found.append(SectionBody(section, start, start, end, bare=False))
    return found
