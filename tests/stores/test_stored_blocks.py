"""Blocks and links are stored with documents and chunks."""

from hypothesis import given
from hypothesis import strategies as st

from knotwork._stores.sql.database import (
    pack_blocks,
    pack_outline,
    unpack_blocks,
    unpack_outline,
)
from knotwork.records import Anchor, Block, BlockKind, Document, Link, Span, StyledSpan, TextStyle

SPANS = st.tuples(st.integers(0, 2**31 - 1), st.integers(0, 2**31 - 1)).map(lambda s: Span(*s))
BLOCKS = st.builds(
    Block, st.sampled_from(BlockKind), SPANS, st.text(), st.text(), st.integers(0, 200)
)


@given(st.lists(BLOCKS).map(tuple))
def test_blocks_are_packed(blocks):
    assert unpack_blocks(pack_blocks(blocks)) == blocks
    outline = unpack_outline(pack_outline(Document("a", "a", blocks=blocks)))
    assert outline == (blocks, (), (), (), (), (), ())
    assert pack_blocks(()) == b""


@given(
    st.lists(st.builds(Link, SPANS, st.text(), st.text())).map(tuple),
    st.lists(st.builds(Anchor, st.text(), st.integers(0))).map(tuple),
    st.lists(st.builds(StyledSpan, SPANS, st.sampled_from(TextStyle))).map(tuple),
)
def test_links_anchors_and_styles_are_packed(links, anchors, styles):
    document = Document("a", "a", links=links, anchors=anchors, styles=styles)
    outline = unpack_outline(pack_outline(document))
    assert outline == ((), (), (), (), links, anchors, styles)
