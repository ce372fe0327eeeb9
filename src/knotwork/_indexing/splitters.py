"""Split documents into sections and chunks: the Splitter protocol, four splitters, their registry.

The section tree follows the headings. Chunks consist of whole sentences, rows and lines of code,
are about equally large, and are exact spans of the text.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Protocol

from knotwork._cancellation import check_cancelled
from knotwork._indexing.section_tree import SectionTree
from knotwork._indexing.text_units import Unit, region_units
from knotwork._registry import Entry, Registry
from knotwork.errors import ConfigError
from knotwork.records import Chunk, Document, Section, Span, block_order, content_id


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
            _add_leaves(chunks, document, tree, group, self._sizes)
        return tree.sections, chunks


def _add_leaves(
    leaves: list[Chunk],
    document: Document,
    tree: SectionTree,
    units: Sequence[Unit],
    sizes: ChunkSizes,
    parent: Chunk | None = None,
) -> None:
    """Append the chunks of these units, with their overlaps."""
    for shared, start, end in fill_chunks(
        units, limit=sizes.chunk_tokens, overlap=sizes.overlap_tokens
    ):
        own, owned = units[shared:end], units[start:end]
        leaves.append(
            make_chunk(document, tree, own, ordinal=len(leaves), owned=owned, parent=parent)
        )


def section_groups(document: Document, tree: SectionTree, chunk_tokens: int) -> list[list[Unit]]:
    """Return the units of each section, small sections merged; no chunk may cross a group."""
    units = region_units(document, tree, longest=chunk_tokens)
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
                _add_leaves(leaves, document, tree, own, sizes, parent)
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
        regions = region_units(document, tree, longest=self._sizes.parent_tokens)
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
    span = Span(units[0].cover.start, units[-1].cover.end)
    text = document.text[span.start : span.end]
    section = tree.common_section(dict.fromkeys(unit.region for unit in owned or units))
    titles = tree.subsections(section, ((unit.cover, unit.region) for unit in units))
    blocks = tree.blocks_in(span)
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
