"""Blocks are stored with documents and chunks; earlier versions stored headings and frames."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.stores.earlier_files import undo_migrations
from tests.stores.raw_files import opened

import knotwork
from knotwork._stores.embedded import EmbeddedStore
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
from knotwork.testing._store_contract import sample_document

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


def as_before_blocks(path: Path) -> None:
    """Make a file what a version with headings and frames would have written."""
    undo_migrations(path, since="0015-blocks")
    connection = opened(path)
    connection.execute("UPDATE document SET outline = ?", (pack_text(json.dumps(OLD_PARTS)),))
    frames = json.dumps([["term", 0, 5, "a term"]]).encode()
    connection.execute("UPDATE chunk SET frames = ? WHERE ordinal = 0", (frames,))
    connection.close()


@pytest.mark.parametrize("read_only", [True, False])
def test_a_file_with_frames_opens(tmp_path, read_only):
    path = tmp_path / "index.knot"
    document, sections, chunks = sample_document("a.md", ["One.", "Two."], with_blocks=True)
    store = EmbeddedStore.open(path, create=True)
    store.documents.put(document, sections, chunks)
    store.close()
    as_before_blocks(path)

    store = EmbeddedStore.open(path, read_only=read_only)
    (found,) = store.documents.documents([document.id]).values()
    assert (found.text, found.blocks, found.pages) == (document.text, (), document.pages)
    held = store.documents.chunks([chunk.id for chunk in chunks])
    assert [chunk.blocks for chunk in held.values()] == [(), ()]
    assert [chunk.headings for chunk in held.values()] == [("Part",), ("Part",)]
    assert store.check() == []
    store.close()


def test_an_index_with_frames_answers_and_is_read_again(tmp_path, monkeypatch):
    path, file = tmp_path / "index.knot", tmp_path / "travel.md"
    file.write_text(
        "# Travel\n\nThe Travel Office approves travel abroad:\n\n- by train\n- by ship\n"
    )
    monkeypatch.setattr("knotwork._indexing.stages.DOCUMENT_FORM", "frames")
    with knotwork.open(path) as kb:
        kb.index(file)
    monkeypatch.undo()
    as_before_blocks(path)

    with knotwork.open(path) as kb:
        answer = kb.ask("Who approves travel abroad?")
        assert answer.answered
        assert kb.index(file).changed == 1
        (document,) = kb.store.documents.documents(kb.store.documents.document_ids()).values()
        kinds = [block.kind for block in document.blocks]
        assert kinds == ["section", "paragraph", "list", "item", "item"]
        assert kb.index(file).unchanged == 1
