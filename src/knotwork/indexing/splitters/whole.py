"""One chunk a document: for passages that are documents already."""

from __future__ import annotations

from knotwork.indexing.splitters.base import Sizes
from knotwork.indexing.splitters.filling import make_chunk
from knotwork.indexing.splitters.tree import SectionTree
from knotwork.indexing.splitters.units import region_units
from knotwork.records import Chunk, Document, Section


class WholeSplitter:
    """Makes one chunk of the whole text, however long it is."""

    name = "whole"

    def __init__(self, sizes: Sizes) -> None:
        self._sizes = sizes

    def split(self, document: Document) -> tuple[list[Section], list[Chunk]]:
        tree = SectionTree(document)
        regions = region_units(document.text, tree.regions, longest=self._sizes.parent_tokens)
        units = [unit for own in regions for unit in own]
        chunks = [make_chunk(document, tree, units, ordinal=0)] if units else []
        return tree.sections, chunks
