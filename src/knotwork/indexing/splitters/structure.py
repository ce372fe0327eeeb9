"""Chunks that follow the headings: the default splitter."""

from __future__ import annotations

from knotwork.indexing.splitters.base import Sizes
from knotwork.indexing.splitters.filling import fill, group_regions, make_chunk
from knotwork.indexing.splitters.tree import SectionTree
from knotwork.indexing.splitters.units import Unit, region_units
from knotwork.records import Chunk, Document, Section

SMALLEST_SECTION = 8
"""A section of less than this part of a chunk is joined with the next one."""


class StructureSplitter:
    """Fills chunks sentence by sentence, within one section of the document each."""

    name = "structure"

    def __init__(self, sizes: Sizes) -> None:
        self._sizes = sizes

    def split(self, document: Document) -> tuple[list[Section], list[Chunk]]:
        tree = SectionTree(document)
        chunks: list[Chunk] = []
        for group in section_groups(document, tree, self._sizes.chunk_tokens):
            for shared, start, end in fill(
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
    """Return the sentences of each section, tiny sections joined; chunks never cross a group."""
    units = region_units(document.text, tree.regions, longest=chunk_tokens)
    return group_regions(tree, units, minimum=chunk_tokens // SMALLEST_SECTION)
