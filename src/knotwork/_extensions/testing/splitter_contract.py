"""Contract suite for splitters: exact chunks of a section tree, and no lost text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import pytest

from knotwork._extensions.testing.worker_copy import worker_copy
from knotwork._indexing.loaders.blocks import BlockWriter
from knotwork._indexing.loaders.loader import Source
from knotwork._indexing.splitters import Splitter
from knotwork._text.token_counts import count_tokens
from knotwork.records import Block, BlockKind, Chunk, Document, Section, Span, block_order

_ID = re.compile("[0-7][0-9a-f]{15}")
_RULES = " ".join(f"Rule {n} says that office {n} approves trip number {n}." for n in range(30))
_HANDBOOK = f"""This handbook says who approves a trip, and how it is paid.

# Travel

## Booking

Trips are booked by the travel office. Each trip needs an approval. Ask early.

## Approval

{_RULES}

# Money

per diem

The sum for one day. It is 40 crowns in most cities.
"""
_CHINESE = (
    """# 差旅

差旅由行政部统一预订。每次出差都需要部门主管批准！请提前两周提出申请。

## 报销

报销须在返回后三十天内提交。逾期不予受理。
"""
    + "每张发票都要写明日期和金额。" * 20
)
_FAMILY = "\U0001f469\u200d\U0001f469\u200d\U0001f467"
_ODD_TEXTS = {
    "blank": " \n\t ",
    "one letter": "a",
    "long word": "word" * 2_000,
    "long Chinese run": "字" * 2_000,
    "short tokens": "1, " * 2_000,
    "bare headings": "# A\n" * 300,
    "control characters": "\x01\x02 a\x0b.\x0c b\u2028c\u2029d\x85e",
    "right to left": "\u202eשלום עולם.\u202c مرحبا بالعالم. " * 40,
    "accents": "e\u0301" * 1_000,
    "emoji": _FAMILY * 300,
    "accents alone": "\u0301" * 30,
    "no line ends": "A sentence without an end of line, " * 400,
    "blank lines": "\n" * 500 + "One.\n" + "\n" * 500 + "Two.\n",
}


_MARKS = re.compile(r"(?:[\s#>*+|-]|\d+[.)]|(`{3,}|~{3,})[^\s`]*)*")
"""What no sentence has of the text of blocks."""


def sample_document(text: str, *, uri: str = "handbook.md") -> Document:
    """Return a document in which each line that starts with # is a heading.

    A line "per diem" is a term, which the text after it defines.
    """
    blocks: list[Block] = []
    opened: list[tuple[int, str, int]] = []  # the level, title and start of sections

    def close(level: int, end: int) -> None:
        while opened and opened[-1][0] >= level:
            above, title, start = opened.pop()
            blocks.append(Block(BlockKind.SECTION, Span(start, end), title, level=above))

    position = 0
    for line in text.split("\n"):
        marks = len(line) - len(line.lstrip("#"))
        if marks and (title := line[marks:].strip()):
            close(marks, position)
            opened.append((marks, title, position))
        position += len(line) + 1
    close(0, len(text))
    _, term, defined = text.partition("per diem\n\n")
    if term:
        span = Span(len(text) - len(term + defined), len(text))
        blocks.append(Block(BlockKind.DEFINITION, span, "per diem"))
    return Document(uri, text, "Guide", blocks=tuple(sorted(blocks, key=block_order)))


def block_document() -> Document:
    """Return a document with blocks of every kind."""
    writer = BlockWriter(Source("blocks.md", b""))
    writer.heading(1, "Travel")
    with writer.block(BlockKind.QUOTE):
        writer.paragraph("Ask early.\nThe office is small.")
    writer.paragraph("A trip needs:")
    for number in range(12):
        writer.item(f"A form {number}. It is signed.", mark=f"{number + 1}.")
    writer.item("a copy", level=1)
    with writer.subsections():
        writer.heading(1, "Costs")
        writer.table([["city", "crowns"], *([f"City {n}", str(40 + n)] for n in range(20))])
    writer.paragraph("The office pays them.")
    writer.code("\n".join(f"pay --trip {number}" for number in range(20)), "sh", lead="Pay:")
    with writer.block(BlockKind.DEFINITION, "per diem"):
        writer.term("per diem")
        writer.paragraph("The sum for one day. It is 40 crowns.")
    with writer.block(BlockKind.BOX, "Note"), writer.block(BlockKind.FIGURE, "A map"):
        writer.paragraph("A map of the city.")
    with writer.block(BlockKind.TURN, "Ada"):
        writer.paragraph("Ada: Who signs the form?")
    content = writer.content("text/markdown")
    return Document("blocks.md", content.text, "Guide", blocks=content.blocks)


class SplitterContract:
    """The behaviour of splitters that indexing, retrieval and citations rely on.

    Subclass it and define the fixture ``splitter``. Two class attributes describe the splitter::

        class TestMySplitter(SplitterContract):
            chunk_tokens = 60  # its limit of a leaf chunk; None, the default, if it has none
            overlaps = True    # leaves may repeat text of the leaf before; the default is False

            @pytest.fixture
            def splitter(self):
                return MySplitter(chunk_tokens=60, overlap_tokens=10)
    """

    chunk_tokens: int | None = None
    overlaps: bool = False

    def test_the_name_is_a_word(self, splitter: Splitter) -> None:
        assert re.fullmatch(r"[a-z][a-z0-9._-]*", splitter.name)

    @pytest.mark.parametrize("text", [_HANDBOOK, _CHINESE], ids=["English", "Chinese"])
    def test_chunks_and_sections_are_exact(self, splitter: Splitter, text: str) -> None:
        document = sample_document(text)
        check_split(document, *splitter.split(document), overlaps=self.overlaps)

    def test_blocks_are_those_of_the_document(self, splitter: Splitter) -> None:
        document = block_document()
        check_split(document, *splitter.split(document), overlaps=self.overlaps)

    @pytest.mark.parametrize("text", _ODD_TEXTS.values(), ids=_ODD_TEXTS)
    def test_any_text_is_split(self, splitter: Splitter, text: str) -> None:
        document = sample_document(text)
        check_split(document, *splitter.split(document), overlaps=self.overlaps)

    def test_leaves_keep_to_the_limit(self, splitter: Splitter) -> None:
        if self.chunk_tokens is None:
            pytest.skip("The splitter has no limit of tokens.")
        for text in (_HANDBOOK, _CHINESE, *_ODD_TEXTS.values()):
            _, chunks = splitter.split(sample_document(text))
            sizes = [count_tokens(chunk.text) for chunk in chunks if not chunk.is_parent]
            assert all(size <= self.chunk_tokens for size in sizes)

    @pytest.mark.parametrize("character", ["e\u0301", _FAMILY], ids=["accent", "emoji"])
    def test_no_chunk_begins_inside_a_character(self, splitter: Splitter, character: str) -> None:
        _, chunks = splitter.split(sample_document(character * 500))
        assert all(chunk.text.startswith(character) for chunk in chunks)

    @pytest.mark.parametrize("text", ["", " \n\t "], ids=ascii)
    def test_a_blank_document_has_a_root_and_no_chunks(self, splitter: Splitter, text: str) -> None:
        document = sample_document(text)
        sections, chunks = splitter.split(document)
        check_split(document, sections, chunks)
        assert chunks == []

    def test_equal_documents_are_split_alike(self, splitter: Splitter) -> None:
        document = sample_document(_HANDBOOK)
        first = splitter.split(document)
        splitter.split(sample_document(_CHINESE, uri="other.md"))
        assert splitter.split(document) == first

    def test_ids_differ_between_documents(self, splitter: Splitter) -> None:
        sections, chunks = splitter.split(sample_document(_HANDBOOK))
        others, copies = splitter.split(sample_document(_HANDBOOK, uri="copy.md"))
        assert not {chunk.id for chunk in chunks} & {chunk.id for chunk in copies}
        assert not {section.id for section in sections} & {section.id for section in others}

    def test_a_worker_process_gets_the_same(self, splitter: Splitter) -> None:
        document = sample_document(_HANDBOOK)
        sent = worker_copy(splitter)
        assert sent.name == splitter.name
        assert sent.split(document) == splitter.split(document)


def check_split(
    document: Document,
    sections: Sequence[Section],
    chunks: Sequence[Chunk],
    *,
    overlaps: bool = False,
) -> None:
    """Assert that these are a section tree and exact chunks that lose no text.

    With ``overlaps``, leaves may repeat text of the leaf before.
    """
    tree = _check_sections(document, sections)
    blocks = [block for block in document.blocks if block.kind is not BlockKind.SECTION]
    leaves = [chunk for chunk in chunks if not chunk.is_parent]
    parents = {chunk.id: chunk for chunk in chunks if chunk.is_parent}
    assert list(chunks) == leaves + list(parents.values())
    assert [leaf.ordinal for leaf in leaves] == list(range(len(leaves)))
    assert len({chunk.id for chunk in chunks}) == len(chunks)
    for chunk in chunks:
        _check_chunk(document, chunk, tree)
        inside = [block for block in blocks if block.span.overlaps(chunk.span)]
        _check_blocks(chunk, inside)
    for leaf in leaves:
        if leaf.parent_id is not None:
            assert leaf.parent_id in parents
            outer = parents[leaf.parent_id].span
            assert outer.start <= leaf.span.start
            assert leaf.span.end <= outer.end
    position = 0
    for leaf in leaves:
        assert overlaps or leaf.span.start >= position
        assert not document.text[position : leaf.span.start].strip()
        assert leaf.span.end > position
        position = leaf.span.end
    assert not document.text[position:].strip()


def _check_sections(document: Document, sections: Sequence[Section]) -> dict[str, Section]:
    """Assert that sections are a tree in reading order; return them by id."""
    root = sections[0]
    assert (root.level, root.parent_id, root.title) == (0, None, document.title)
    assert root.span == (0, len(document.text))
    tree: dict[str, Section] = {}
    ends: dict[str | None, int] = {}
    for ordinal, section in enumerate(sections):
        assert _ID.fullmatch(section.id)
        assert section.id not in tree
        assert section.document_id == document.id
        assert section.ordinal == ordinal
        if ordinal:
            assert section.parent_id in tree  # a parent precedes its children
            parent = tree[section.parent_id]
            assert parent.level < section.level
            assert parent.span.start <= section.span.start < section.span.end <= parent.span.end
            assert section.span.start >= ends.get(section.parent_id, 0)
            ends[section.parent_id] = section.span.end
        tree[section.id] = section
    return tree


def _check_chunk(document: Document, chunk: Chunk, tree: Mapping[str, Section]) -> None:
    assert _ID.fullmatch(chunk.id)
    assert chunk.document_id == document.id
    assert chunk.document_title == document.title
    start, end = chunk.span
    assert 0 <= start < end <= len(document.text)
    assert chunk.text == document.text[start:end]
    assert chunk.section_id in tree
    section = tree[chunk.section_id]
    titles: list[str] = []
    while section.parent_id is not None:
        titles.append(section.title)
        section = tree[section.parent_id]
    assert list(chunk.headings) == [title for title in reversed(titles) if title]
    # Only the marks of blocks are in no sentence.
    between = _MARKS if document.blocks else re.compile(r"\s*")
    position = start
    for sentence in chunk.sentences:
        assert position <= sentence.start < sentence.end
        assert between.fullmatch(document.text, position, sentence.start)
        assert not document.text[sentence.start].isspace()
        assert not document.text[sentence.end - 1].isspace()
        position = sentence.end
    assert between.fullmatch(document.text, position, end)


def _check_blocks(chunk: Chunk, wanted: Sequence[Block]) -> None:
    """Assert that a chunk has these blocks, and sections only for parts of it."""
    assert list(chunk.blocks) == sorted(chunk.blocks, key=block_order)
    assert [block for block in chunk.blocks if block.kind is not BlockKind.SECTION] == wanted
    assert all(
        chunk.span.contains(block.span) and block.label
        for block in chunk.blocks
        if block.kind is BlockKind.SECTION
    )
