"""How sentences become chunks: even sizes, whole sentences, headings kept with their text."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from knotwork.indexing.splitters.tree import SectionTree
from knotwork.indexing.splitters.units import Unit
from knotwork.records import Chunk, Document, Span, content_id


def group_regions(
    tree: SectionTree, units: Sequence[Sequence[Unit]], *, minimum: int
) -> list[list[Unit]]:
    """Join the units of regions that are too small to stand alone.

    A section of fewer than ``minimum`` tokens is joined with what follows, when that is below it or
    next to it under one parent; so is a heading without text with the first section below it.
    """
    groups: list[list[Unit]] = []
    members: list[int] = []
    size = 0
    for index, own in enumerate(units):
        if not own:
            continue
        if members and _joins(tree, members, index, small=size < minimum):
            groups[-1].extend(own)
        else:
            groups.append(list(own))
            members, size = [], 0
        members.append(index)
        size += sum(unit.tokens for unit in own)
    return groups


def _joins(tree: SectionTree, members: Sequence[int], region: int, *, small: bool) -> bool:
    section = tree.regions[region].section
    last = tree.regions[members[-1]]
    if last.bare and tree.parents[section] == last.section:
        return True
    if not small:
        return False
    group = tree.common_section(members)
    return tree.parents[section] == tree.parents[group] or group in tree.ancestors(section)


def fill(units: Sequence[Unit], *, limit: int, overlap: int = 0) -> list[tuple[int, int, int]]:
    """Return (overlap start, start, end) of each chunk, as indices into ``units``.

    Chunks have at most ``limit`` tokens and are about equally large. Each repeats at most
    ``overlap`` tokens of whole sentences of the one before.
    """
    before = [0, *accumulate(unit.tokens for unit in units)]
    ranges: list[tuple[int, int, int]] = []
    start = 0
    while start < len(units):
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
    rest = before[-1] - before[start]
    target = rest / -(-rest // room)
    end = start + 1
    while end < len(units):
        size = before[end] - before[start]
        if size + units[end].tokens > room or size + units[end].tokens / 2 > target:
            break
        end += 1
    # A heading at the end of a chunk belongs to what comes next.
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
    """Return the chunk of consecutive units; its section is that of the units it ``owned``."""
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
