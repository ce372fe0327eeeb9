"""Blocks are stored with documents and chunks; earlier versions stored headings and frames."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork._stores.sql.packing import (
    pack_blocks,
    pack_outline,
    pack_text,
    unpack_blocks,
    unpack_outline,
)
from knotwork.records import (
    Block,
    BlockKind,
    BoxedSpan,
    Document,
    Page,
    Span,
    TimedSpan,
)

OLD_PARTS = [
    [[1, "Part", 0, 4]],
    [["1", 0]],
    [["term", 0, 5, "a term"]],
    [[0, 5, 1.25, 2.5]],
    [[0, 5, 0.1, 0.2, 0.3, 0.4]],
]
SPANS = st.tuples(st.integers(0, 2**31 - 1), st.integers(0, 2**31 - 1)).map(lambda s: Span(*s))
BLOCKS = st.builds(
    Block, st.sampled_from(BlockKind), SPANS, st.text(), st.text(), st.integers(0, 200)
)


@given(st.lists(BLOCKS).map(tuple))
def test_blocks_are_packed(blocks):
    assert unpack_blocks(pack_blocks(blocks)) == blocks
    assert unpack_outline(pack_outline(Document("a", "a", blocks=blocks))) == (blocks, (), (), ())
    assert pack_blocks(()) == b""


@pytest.mark.parametrize("parts", range(2, 6))
def test_the_outline_of_an_earlier_version_is_read_without_blocks(parts):
    blocks, *others = unpack_outline(pack_text(json.dumps(OLD_PARTS[:parts])))
    kept = [
        (Page("1", 0),),
        (TimedSpan(Span(0, 5), 1.25, 2.5),) if parts > 3 else (),
        (BoxedSpan(Span(0, 5), 0.1, 0.2, 0.3, 0.4),) if parts > 4 else (),
    ]
    assert blocks == ()
    assert others == kept
