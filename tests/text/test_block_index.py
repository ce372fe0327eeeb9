"""A BlockIndex finds what a search through all blocks would find."""

import time

from hypothesis import given
from hypothesis import strategies as st

from knotwork._text.block_index import BlockIndex
from knotwork.records import Block, BlockKind, Span, block_order, nest_blocks

SPANS = st.tuples(st.integers(0, 30), st.integers(1, 12)).map(lambda s: Span(s[0], sum(s)))
BLOCKS = st.lists(st.builds(Block, st.sampled_from(BlockKind), SPANS), max_size=12)


def nested(start, end, depth):
    """Draw blocks inside a span, each of which may have blocks inside."""

    @st.composite
    def draw_blocks(draw):
        blocks, position = [], start
        while position < end and draw(st.booleans()):
            low = draw(st.integers(position, end - 1))
            high = draw(st.integers(low + 1, end))
            blocks.append(Block(draw(st.sampled_from(BlockKind)), Span(low, high)))
            if depth:
                blocks += draw(nested(low, high, depth - 1))
            position = high
        return blocks

    return draw_blocks()


@given(st.one_of(BLOCKS, nested(0, 30, 3)), SPANS)
def test_blocks_are_found_by_position(blocks, span):
    index = BlockIndex(blocks)
    ordered = sorted(blocks, key=block_order)
    assert index.blocks == ordered
    assert index.overlapping(span) == [b for b in ordered if b.span.overlaps(span)]
    assert index.around(span) == [b for b in ordered if b.span.contains(span)]
    assert index.starting_at(span.start) == [b for b in ordered if b.span.start == span.start]
    assert index.inside(span) == [b for b in ordered if span.start <= b.span.start < span.end]


@given(nested(0, 30, 3))
def test_trees_have_each_block_below_the_smallest_around_it(blocks):
    nodes = [node for tree in nest_blocks(blocks) for node in tree.walk()]
    ordered = sorted(blocks, key=block_order)
    assert [node.block for node in nodes] == ordered
    for node in nodes:
        assert all(node.block.span.contains(child.block.span) for child in node.children)
    below = [child for node in nodes for child in node.children]
    assert len(below) + len(nest_blocks(blocks)) == len(nodes)


def test_many_blocks_are_found_fast():
    spans = [Span(0, 2_000_000), *(Span(10 * n, 10 * n + 9) for n in range(200_000))]
    index = BlockIndex(Block(BlockKind.ITEM, span) for span in spans)
    start = time.perf_counter()
    found = [index.overlapping(Span(n, n + 5)) for n in range(0, 2_000_000, 200)]
    assert time.perf_counter() - start < 2
    assert all(len(blocks) == 2 for blocks in found)
