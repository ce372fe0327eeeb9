"""Small chunks to search, large ones to read: children that lie in parents."""

from __future__ import annotations

from knotwork.indexing.splitters.base import Sizes
from knotwork.indexing.splitters.filling import fill, make_chunk
from knotwork.indexing.splitters.structure import section_groups
from knotwork.indexing.splitters.tree import SectionTree
from knotwork.records import Chunk, Document, Section


class ParentChildSplitter:
    """Cuts sections into parents, and each parent into the chunks that are searched."""

    name = "parent-child"

    def __init__(self, sizes: Sizes) -> None:
        self._sizes = sizes

    def split(self, document: Document) -> tuple[list[Section], list[Chunk]]:
        sizes = self._sizes
        tree = SectionTree(document)
        leaves: list[Chunk] = []
        parents: list[Chunk] = []
        for group in section_groups(document, tree, sizes.chunk_tokens):
            for _, first, last in fill(group, limit=max(sizes.parent_tokens, sizes.chunk_tokens)):
                own = group[first:last]
                parent = make_chunk(document, tree, own, ordinal=len(parents), is_parent=True)
                parents.append(parent)
                for shared, start, end in fill(
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
