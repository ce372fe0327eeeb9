"""Split documents into sections and chunks: the Splitter protocol, four splitters, their registry.

The section tree follows the headings. Chunks consist of whole sentences, are about equally large,
and are exact spans of the text.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby, zip_longest
from operator import itemgetter
from typing import NamedTuple, Protocol

from knotwork._cancellation import check_cancelled, checked
from knotwork._registry import Entry, Registry
from knotwork._text.sentences import character_boundary, split_sentences, wrapping_width
from knotwork._text.token_counts import token_starts
from knotwork.errors import ConfigError
from knotwork.records import Chunk, Document, Frame, FrameKind, Heading, Section, Span, content_id


class SectionBody(NamedTuple):
    """A section's own text, up to the next heading; together these cover the document.

    ``body`` is the offset after the heading. ``bare`` is true if no text follows the heading.
    """

    section: int
    start: int
    body: int
    end: int
    bare: bool


class SectionTree:
    """The sections of a document in reading order (the root first) and their regions."""

    def __init__(self, document: Document) -> None:
        headings = _usable(document.headings, len(document.text))
        self.parents = _parents(headings)
        self.sections = _sections(document, headings, self.parents)
        self.regions = _regions(document.text, headings)
        self._frames = sorted(document.frames, key=lambda f: (f.span.start, -f.span.end))
        self._starts = [frame.span.start for frame in self._frames]
        self._around = _enclosing(self._frames)

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

    def frames_in(self, span: Span) -> list[Frame]:
        """Return the frames that overlap a span, outermost first."""
        first = bisect_right(self._starts, span.start)
        found: list[Frame] = []
        index = first - 1
        while index >= 0:
            if self._frames[index].span.end > span.start:
                found.append(self._frames[index])
            index = self._around[index]
        return found[::-1] + self._frames[first : bisect_left(self._starts, span.end)]

    def subsections(self, section: int, places: Iterable[tuple[Span, int]]) -> list[Frame]:
        """Return a title frame for each run of places in one region below a section.

        ``places`` are (span, region), in order. A frame has the titles below those of ``section``.
        """
        above = self.titles(section)
        found: list[Frame] = []
        for region, run in groupby(places, key=itemgetter(1)):
            spans = [span for span, _ in run]
            own = [
                title
                for title, common in zip_longest(
                    self.titles(self.regions[region].section), above, fillvalue=""
                )
                if title != common
            ]
            if label := ". ".join(filter(None, own)):
                span = Span(spans[0].start, spans[-1].end)
                found.append(Frame(FrameKind.TITLE, span, label))
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


def _enclosing(frames: Sequence[Frame]) -> list[int]:
    """Return for each frame the index of the innermost frame around its start, or -1.

    From the last frame that starts before an offset, these indexes lead through all frames that
    may contain the offset.
    """
    found: list[int] = []
    opened: list[int] = []
    for index, frame in enumerate(frames):
        while opened and frames[opened[-1]].span.end <= frame.span.start:
            opened.pop()
        found.append(opened[-1] if opened else -1)
        opened.append(index)
    return found


def _usable(headings: Sequence[Heading], length: int) -> list[Heading]:
    """Return the headings in order, without those outside the text or overlapping another."""
    kept: list[Heading] = []
    for heading in sorted(headings, key=lambda item: item.span):
        start, end = heading.span
        if not 0 <= start < end <= length:
            continue
        if kept and start < kept[-1].span.end:
            continue
        kept.append(heading)
    return kept


def _parents(headings: Sequence[Heading]) -> list[int]:
    """Return the index of each section's parent; the root, 0, is its own parent."""
    parents = [0]
    open_sections: list[tuple[int, int]] = []
    for index, heading in enumerate(headings, start=1):
        while open_sections and open_sections[-1][0] >= heading.level:
            open_sections.pop()
        parents.append(open_sections[-1][1] if open_sections else 0)
        open_sections.append((heading.level, index))
    return parents


def _sections(
    document: Document, headings: Sequence[Heading], parents: Sequence[int]
) -> list[Section]:
    starts = [0, *(heading.span.start for heading in headings)]
    ends = [len(document.text)] * len(starts)
    last_open = list(range(len(starts)))
    # A section ends where the next one begins that is not below it: at its last descendant's end.
    for index in range(len(starts) - 1, 0, -1):
        last_open[parents[index]] = max(last_open[parents[index]], last_open[index])
    for index in range(1, len(starts)):
        following = last_open[index] + 1
        ends[index] = starts[following] if following < len(starts) else len(document.text)
    identity = document.id
    ids = [
        content_id("section", identity, index, start, heading.title if heading else "")
        for index, (start, heading) in enumerate(zip(starts, [None, *headings], strict=True))
    ]
    return [
        Section(
            id=ids[index],
            document_id=identity,
            parent_id=ids[parents[index]] if index else None,
            ordinal=index,
            level=headings[index - 1].level if index else 0,
            title=headings[index - 1].title if index else document.title,
            span=Span(starts[index], ends[index]),
        )
        for index in range(len(starts))
    ]


def _regions(text: str, headings: Sequence[Heading]) -> list[SectionBody]:
    spans = [Span(0, 0), *(heading.span for heading in headings)]
    ends = [*(span.start for span in spans[1:]), len(text)]
    return [
        SectionBody(index, span.start, span.end, end, bare=not text[span.end : end].strip())
        for index, (span, end) in enumerate(zip(spans, ends, strict=True))
    ]


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


class StructureSplitter:
    """Fills chunks sentence by sentence; a chunk never crosses a section (the default)."""

    name = "structure"

    def __init__(self, sizes: ChunkSizes) -> None:
        self._sizes = sizes

    def split(self, document: Document) -> tuple[list[Section], list[Chunk]]:
        tree = SectionTree(document)
        chunks: list[Chunk] = []
        for group in section_groups(document, tree, self._sizes.chunk_tokens):
            for shared, start, end in fill_chunks(
                group, limit=self._sizes.chunk_tokens, overlap=self._sizes.overlap_tokens
            ):
                chunks.append(
                    make_chunk(
                        document,
                        tree,
                        group[shared:end],
                        ordinal=len(chunks),
                        owned=group[start:end],
                    )
                )
        return tree.sections, chunks


def section_groups(document: Document, tree: SectionTree, chunk_tokens: int) -> list[list[Unit]]:
    """Return the units of each section, small sections merged; no chunk may cross a group."""
    units = region_units(document.text, tree.regions, longest=chunk_tokens)
    return group_regions(tree, units, minimum=chunk_tokens // SMALL_SECTIONS_PER_CHUNK)


class ParentChildSplitter:
    """Splits sections into parent chunks, and these into the smaller chunks that are searched."""

    name = "parent-child"

    def __init__(self, sizes: ChunkSizes) -> None:
        self._sizes = sizes

    def split(self, document: Document) -> tuple[list[Section], list[Chunk]]:
        sizes = self._sizes
        tree = SectionTree(document)
        leaves: list[Chunk] = []
        parents: list[Chunk] = []
        for group in section_groups(document, tree, sizes.chunk_tokens):
            for _, first, last in fill_chunks(
                group, limit=max(sizes.parent_tokens, sizes.chunk_tokens)
            ):
                own = group[first:last]
                parent = make_chunk(document, tree, own, ordinal=len(parents), is_parent=True)
                parents.append(parent)
                for shared, start, end in fill_chunks(
                    own, limit=sizes.chunk_tokens, overlap=sizes.overlap_tokens
                ):
                    leaves.append(
                        make_chunk(
                            document,
                            tree,
                            own[shared:end],
                            ordinal=len(leaves),
                            owned=own[start:end],
                            parent=parent,
                        )
                    )
        return tree.sections, leaves + parents


CHUNKS_IN_WINDOW = 4
"""A chunk has ``chunk_tokens`` divided by this, its window ``chunk_tokens``."""


class SentenceWindowSplitter:
    """Builds chunks of a few sentences; the parent of each is the window around it."""

    name = "sentence-window"

    def __init__(self, sizes: ChunkSizes) -> None:
        self._sizes = sizes

    def split(self, document: Document) -> tuple[list[Section], list[Chunk]]:
        tree = SectionTree(document)
        leaves: list[Chunk] = []
        windows: dict[str, Chunk] = {}
        window_tokens = self._sizes.chunk_tokens
        limit = max(1, window_tokens // CHUNKS_IN_WINDOW)
        for group in section_groups(document, tree, window_tokens):
            for _, start, end in fill_chunks(group, limit=limit):
                low, high = _window(group, start, end, window_tokens)
                window = make_chunk(
                    document, tree, group[low:high], ordinal=len(windows), is_parent=True
                )
                window = windows.setdefault(window.id, window)
                leaves.append(
                    make_chunk(document, tree, group[start:end], ordinal=len(leaves), parent=window)
                )
        return tree.sections, leaves + list(windows.values())


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


class WholeSplitter:
    """Makes the whole text one chunk, however long it is."""

    name = "whole"

    def __init__(self, sizes: ChunkSizes) -> None:
        self._sizes = sizes

    def split(self, document: Document) -> tuple[list[Section], list[Chunk]]:
        tree = SectionTree(document)
        regions = region_units(document.text, tree.regions, longest=self._sizes.parent_tokens)
        units = [unit for own in regions for unit in own]
        chunks = [make_chunk(document, tree, units, ordinal=0)] if units else []
        return tree.sections, chunks


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

    ``before`` are the numbers of tokens before each unit.
    """
    rest = before[-1] - before[start]
    target = rest / -(-rest // room)
    end = start + 1
    while end < len(units):
        size = before[end] - before[start]
        if size + units[end].tokens > room or size + units[end].tokens / 2 > target:
            break
        end += 1
    # A heading at the end of a chunk belongs to the next one.
    last = end
    while last > start + 1 and units[last - 1].heading:
        last -= 1
    return end if end == len(units) or units[last - 1].heading else last


def make_chunk(
    document: Document,
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
    span = Span(units[0].span.start, units[-1].span.end)
    text = document.text[span.start : span.end]
    section = tree.common_section(dict.fromkeys(unit.region for unit in owned or units))
    own_titles = tree.subsections(section, ((unit.span, unit.region) for unit in units))
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
        frames=(*own_titles, *tree.frames_in(span)),
    )


class Unit(NamedTuple):
    """A sentence, or a part of a sentence that is too long for one chunk."""

    span: Span
    tokens: int
    region: int
    heading: bool


def region_units(text: str, regions: Sequence[SectionBody], *, longest: int) -> list[list[Unit]]:
    """Return the units of each region, each of at most ``longest`` tokens."""
    starts = token_starts(text)
    width = wrapping_width(text)
    units: list[list[Unit]] = []
    for index, region in checked(enumerate(regions)):
        own: list[Unit] = []
        for low, high in ((region.start, region.body), (region.body, region.end)):
            for span in checked(split_sentences(text[low:high], start=low, wrapped_at=width)):
                own.extend(
                    Unit(piece, tokens, index, heading=high == region.body)
                    for piece, tokens in _pieces(text, span, starts, longest)
                )
        units.append(own)
    return units


def _pieces(
    text: str, span: Span, token_offsets: Sequence[int], longest: int
) -> Iterator[tuple[Span, int]]:
    """Yield a sentence with its number of tokens, or its parts if it is too long.

    Parts end at the start of a token, after white space if there is some nearby.
    """
    low = bisect_left(token_offsets, span.start)
    high = bisect_left(token_offsets, span.end, lo=low)
    if high - low <= longest:
        yield span, max(1, high - low)
        return
    starts = token_offsets[low:high]
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
        begin = span.end - len(text[cut : span.end].lstrip())
        first = max(last, first + 1)
    if begin < span.end:
        yield Span(begin, span.end), max(1, len(starts) - first)
