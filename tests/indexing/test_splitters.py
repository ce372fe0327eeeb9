import dataclasses
import itertools
import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork._extensions.testing.splitter_contract import check_split, sample_document
from knotwork._indexing.loaders.blocks import BlockWriter
from knotwork._indexing.loaders.loader import Source
from knotwork._indexing.splitters import SPLITTERS, make_splitter
from knotwork._text.token_counts import count_tokens
from knotwork.errors import ConfigError, UnknownName
from knotwork.records import Block, BlockKind, Document, Span
from knotwork.testing import SplitterContract

pytestmark = pytest.mark.slow


NAMES = SPLITTERS.names(plugins=False)


def markdown(text):
    """Make a document of which each line that starts with # is a heading."""
    return sample_document(text, uri="a.md")


def written(write):
    """Make a document of the blocks that a function writes."""
    writer = BlockWriter(Source("a.md", b""))
    write(writer)
    content = writer.content("text/markdown")
    return Document("a.md", content.text, "Guide", blocks=content.blocks)


def split(document, chunk_tokens, **options):
    """Return the leaf chunks of a document."""
    sections, chunks = make_splitter(chunk_tokens=chunk_tokens, **options).split(document)
    check_split(document, sections, chunks, overlaps="overlap_tokens" in options)
    return chunks


def sentences(chunk):
    return [chunk.text_at(span) for span in chunk.sentences]


class TestSplitters(SplitterContract):
    chunk_tokens = 40

    @pytest.fixture(params=[name for name in NAMES if name != "whole"])
    def splitter(self, request):
        return make_splitter(request.param, chunk_tokens=40, parent_tokens=160)


class TestOverlap(SplitterContract):
    chunk_tokens = 40
    overlaps = True

    @pytest.fixture
    def splitter(self):
        return make_splitter(chunk_tokens=40, overlap_tokens=12)


class TestWhole(SplitterContract):
    @pytest.fixture
    def splitter(self):
        return make_splitter("whole")


HANDBOOK = """Preamble of the whole handbook that says what it is about in one sentence.

# Travel

## Booking

Trips are booked by the travel office. Each trip needs an approval. Ask early.

## Approval

""" + " ".join(f"Rule {n} says that trip number {n} is approved by office {n}." for n in range(40))


def test_chunks_follow_the_headings():
    document = markdown(HANDBOOK)
    sections, chunks = make_splitter("structure", chunk_tokens=100).split(document)
    check_split(document, sections, chunks)
    assert [(s.level, s.title) for s in sections] == [
        (0, "Guide"),
        (1, "Travel"),
        (2, "Booking"),
        (2, "Approval"),
    ]
    # The bare heading "Travel" is kept with the first section below it.
    booking = next(chunk for chunk in chunks if "Ask early" in chunk.text)
    assert booking.headings == ("Travel", "Booking")
    assert booking.text.startswith("# Travel")
    assert booking.context == "Guide. Travel. Booking"
    approvals = [chunk for chunk in chunks if chunk.headings == ("Travel", "Approval")]
    assert len(approvals) >= 4
    assert approvals[0].text.startswith("## Approval")
    assert all(60 <= count_tokens(chunk.text) <= 100 for chunk in approvals)


def test_tiny_sections_are_joined_with_the_next_under_one_parent():
    text = (
        "# A\n\nOne.\n\n# B\n\nTwo.\n\n# C\n\n" + "A long sentence of ten words stands here. " * 10
    )
    document = markdown(text)
    sections, chunks = make_splitter("structure", chunk_tokens=200).split(document)
    check_split(document, sections, chunks)
    assert len(chunks) == 1
    assert chunks[0].section_id == sections[0].id
    assert chunks[0].headings == ()


def test_sections_that_are_large_enough_are_never_joined():
    sentence = "This section has a sentence with quite a number of words in it. "
    text = "\n\n".join(f"## Part {n}\n\n{sentence * 3}" for n in range(5))
    document = markdown(text)
    _, chunks = make_splitter("structure", chunk_tokens=200).split(document)
    assert [chunk.headings for chunk in chunks] == [(f"Part {n}",) for n in range(5)]


def test_a_chunk_has_the_blocks_around_its_sentences_and_the_titles_of_its_parts():
    document = markdown("# A\nOne.\n\n## B\nTwo.\n\n## C\nThree.")
    start = document.text.index("Two")
    term = Block(BlockKind.DEFINITION, Span(start, start + 4), "two")
    document = dataclasses.replace(document, blocks=(*document.blocks, term))
    (chunk,) = split(document, 1_000)
    told = {
        chunk.text_at(span): [block.label for block in chunk.blocks_around(span)]
        for span in chunk.sentences
    }
    assert told["One."] == []
    assert told["Two."] == ["B", "two"]
    assert told["Three."] == ["C"]
    assert [block.level for block in chunk.blocks if block.kind is BlockKind.SECTION] == [2, 2]


def test_a_chunk_that_begins_inside_a_block_knows_its_label():
    text = "port\n\nThe number of a port. It is often five digits long. Its default is 5432."
    block = Block(BlockKind.DEFINITION, Span(text.index("The"), len(text)), "port (integer)")
    document = Document(uri="a.txt", text=text, title="Settings", blocks=(block,))
    chunks = split(document, 8)
    assert len(chunks) > 2
    contexts = [chunk.context for chunk in chunks]
    assert contexts[0] == "Settings"
    assert contexts[-1] == "Settings. port (integer)"


SPANS = st.tuples(st.integers(0, 70), st.integers(0, 20), st.sampled_from(BlockKind))


@given(st.lists(SPANS, max_size=8), st.integers(1, 12))
def test_blocks_with_any_spans_are_split(spans, chunk_tokens):
    text = "One two. Three four.\n\nFive six seven. Eight nine ten eleven. Twelve."
    blocks = tuple(Block(kind, Span(a, a + n), f"{a} {n}") for a, n, kind in spans)
    document = Document(uri="a.txt", text=text, blocks=blocks)
    _, chunks = make_splitter(chunk_tokens=chunk_tokens).split(document)
    position = 0
    for chunk in chunks:
        assert not text[position : chunk.span.start].strip()
        position = chunk.span.end
        held = {block for block in chunk.blocks if block.kind is not BlockKind.SECTION}
        assert held == {
            block
            for block in blocks
            if block.kind is not BlockKind.SECTION
            and max(block.span.start, chunk.span.start) < min(block.span.end, chunk.span.end)
        }
    assert position == len(text)


def test_sentences_have_no_marks():
    def write(writer):
        writer.heading(2, "Forms")
        with writer.block(BlockKind.QUOTE):
            writer.paragraph("Ask early, as we said.\nThe office is small.")
            writer.code("sign\n  form\n>>> sent", "sh")
        writer.item("One form. It is signed.", mark="1.")
        with writer.block(BlockKind.ITEM, mark="2."):
            writer.paragraph("Another form:")
            writer.item("a copy")
        with writer.block(BlockKind.DEFINITION, "per diem"):
            writer.term("per diem")
            writer.paragraph("The sum for one day.")
        writer.table([["city", "sum"], ["Tartu", "40"]], header=True)
        writer.table([["- 1", "2"], ["3", "4"]], header=False)
        writer.code("```\npay", "python")

    document = written(write)
    (chunk,) = split(document, 1_000)
    assert chunk.text == document.text
    assert sentences(chunk) == [
        *("Forms", "Ask early, as we said.", "The office is small.", "sign", "form", ">>> sent"),
        *("One form.", "It is signed.", "Another form:", "a copy"),
        *("per diem", "The sum for one day.", "| city | sum |", "| Tartu | 40 |"),
        *("| - 1 | 2 |", "| 3 | 4 |", "```", "pay"),
    ]


def test_marks_of_text_without_blocks_are_read():
    text = "# Not a heading\n\n- one\n- two\n\n> said\n\n**bold**\n\n```\ncode\n```"
    (chunk,) = split(Document("a.txt", text), 1_000)
    assert sentences(chunk) == [line for line in text.split("\n") if line]


def test_code_without_a_fence_and_tables_without_rows_are_read_by_lines():
    text = "The code.\n\nx = 1. And\n  y = 2\n\n| a | b |\n|---|---|\n| 1 | 2 |"
    code, table = text.index("x ="), text.index("| a")
    blocks = (
        Block(BlockKind.CODE, Span(code, table - 2)),
        Block(BlockKind.TABLE, Span(table, len(text))),
    )
    (chunk,) = split(Document("a.txt", text, blocks=blocks), 1_000)
    assert sentences(chunk) == ["The code.", "x = 1. And", "y = 2", "| a | b |", "| 1 | 2 |"]


def test_a_lead_in_stays_with_the_start_of_what_it_introduces():
    def write(writer):
        for number in range(9):
            writer.paragraph(f"Sentence {number} stands here and has a few words. The trip needs:")
            writer.item(f"a form with number {number}, which is signed by the office")
            writer.item(f"a copy of it for the office number {number}")
            writer.paragraph("The cities pay these sums:")
            writer.table([["city", "sum"], ["Tartu", "40"], ["Narva", "50"]], header=True)

    for chunk_tokens in range(20, 90):
        for chunk in split(written(write), chunk_tokens):
            assert not chunk.text.endswith(":")
            assert not chunk.text.endswith("--- |")


def test_a_section_above_goes_on_behind_a_section_in_it():
    def write(writer):
        writer.heading(1, "Letter")
        writer.paragraph("A letter about the weather in Tartu, which is rainy.")
        with writer.subsections():
            writer.heading(1, "Part")
            writer.paragraph("The part says more about the rain in the town.")
            writer.heading(2, "Detail")
            writer.paragraph("The detail says more about the roofs in the town.")
        writer.paragraph("The letter ends with greetings to all who live in the town.")
        writer.heading(1, "Other")
        writer.paragraph("Something else is told here, about the sea and the ships.")

    document = written(write)
    sections, chunks = make_splitter(chunk_tokens=16).split(document)
    check_split(document, sections, chunks)
    headings = {sentence: chunk.headings for chunk in chunks for sentence in sentences(chunk)}
    assert [headings[key] for key in headings if key.startswith(("The", "A", "Some"))] == [
        *(("Letter",), ("Letter", "Part"), ("Letter", "Part", "Detail"), ("Letter",), ("Other",)),
    ]
    texts = {section.title: document.text[slice(*section.span)] for section in sections}
    assert texts["Letter"].rstrip().endswith("in the town.")
    assert texts["Part"].rstrip().endswith("roofs in the town.")


WORDS = st.sampled_from(
    [
        *("form", "office", "Tartu", "a", "signs", "40", "**", "| x", "# 1", "> y", "- z", "* w"),
        *("```", "long" * 30, "差旅由部门批准", "e\u0301", "1. one", "Ends.", "Is it?", "next:"),
    ]
)
TEXTS = st.lists(WORDS, min_size=1, max_size=9).map(" ".join)
PARAGRAPHS = st.lists(TEXTS, min_size=1, max_size=3).map("\n".join)
ROWS = st.lists(st.lists(TEXTS, min_size=2, max_size=3), min_size=1, max_size=6)
INNER = st.deferred(
    lambda: st.one_of(
        st.tuples(st.just("paragraph"), PARAGRAPHS),
        st.tuples(st.just("item"), TEXTS, st.integers(0, 2)),
        st.tuples(st.just("table"), ROWS, st.booleans()),
        st.tuples(st.just("code"), PARAGRAPHS),
        st.tuples(st.just("term"), TEXTS),
        st.tuples(st.just("block"), KINDS, TEXTS, st.lists(INNER, max_size=3)),
    )
)
KINDS = st.sampled_from(
    [
        *(BlockKind.ITEM, BlockKind.QUOTE, BlockKind.BOX, BlockKind.FIGURE, BlockKind.TURN),
        BlockKind.DEFINITION,
    ]
)
OUTER = st.one_of(INNER, st.tuples(st.just("heading"), st.integers(1, 3), TEXTS))


def write_parts(writer, parts):
    for name, *values in parts:
        if name == "block":
            kind, label, inner = values
            with writer.block(kind, label):
                write_parts(writer, inner)
        elif name == "item":
            writer.item(values[0], level=values[1])
        elif name == "table":
            writer.table(values[0], header=values[1])
        elif name == "code":
            writer.code(values[0], "sh")
        elif name == "term":
            with writer.block(BlockKind.DEFINITION, values[0]):
                writer.term(values[0])
                writer.paragraph("What it means. It is short.")
        else:
            getattr(writer, name)(*values)


DOCUMENTS = st.lists(OUTER, min_size=1, max_size=10).map(
    lambda parts: written(lambda writer: write_parts(writer, parts))
)
_MARK_LINE = re.compile(r"[\s>|-]*|\s*[>\s]*`{3,}(?:sh)?\s*")


def size_of(text):
    """Return the number of tokens of a text outside of lines that have marks alone."""
    return sum(count_tokens(line) for line in text.split("\n") if not _MARK_LINE.fullmatch(line))


@given(DOCUMENTS, st.sampled_from(NAMES), st.integers(8, 80), st.integers(0, 20))
def test_documents_of_blocks_are_split(document, name, chunk_tokens, overlap):
    splitter = make_splitter(
        name,
        chunk_tokens=chunk_tokens,
        overlap_tokens=min(overlap, chunk_tokens - 1),
        parent_tokens=3 * chunk_tokens,
    )
    sections, chunks = splitter.split(document)
    check_split(document, sections, chunks, overlaps=overlap > 0)
    if name != "whole":
        leaves = [chunk for chunk in chunks if not chunk.is_parent]
        # What is read of a chunk fits; the marks around it need no room.
        assert all(
            sum(count_tokens(leaf.text_at(span)) for span in leaf.sentences) <= chunk_tokens
            or len(leaf.sentences) == 1
            for leaf in leaves
        )


@given(DOCUMENTS, st.integers(10, 80))
def test_rows_and_lines_of_code_are_in_one_chunk(document, chunk_tokens):
    text = document.text
    chunks = split(document, chunk_tokens)
    cuts = {chunk.span.start for chunk in chunks[1:]}
    lines = {cut: text.rfind("\n", 0, cut) + 1 for cut in cuts}
    for block in document.blocks:
        inside = [cut for cut in cuts if block.span.start < cut < block.span.end]
        if block.kind is BlockKind.ROW:
            # A row may be cut only if it does not fit.
            assert not inside or size_of(text[slice(*block.span)]) > chunk_tokens
        elif block.kind is BlockKind.CODE:
            for cut in inside:
                line = text[lines[cut] : text.find("\n", cut)]
                assert not text[lines[cut] : cut].strip("> \t") or count_tokens(line) > chunk_tokens


@given(DOCUMENTS, st.integers(10, 80))
def test_related_blocks_share_a_chunk_if_they_fit(document, chunk_tokens):
    chunks = split(document, chunk_tokens)
    whole = (BlockKind.ITEM, BlockKind.DEFINITION, BlockKind.TURN)
    outer = Span(0, 0)
    for block in document.blocks:
        if block.kind not in whole or outer.contains(block.span):
            continue
        outer = block.span
        around = [c.span for c in chunks if c.span.start <= outer.start < c.span.end]
        if around and around[0].end < outer.end and not introduces_next(document, outer.end):
            # What introduces the block takes too much room, or the block does.
            assert count_tokens(document.text[around[0].start : outer.end]) > chunk_tokens
    for chunk, following in itertools.pairwise(chunks):
        if introduces_next(document, chunk.span.end):
            end = following.sentences[0].end
            end += 2 * document.text.startswith("**", end)
            both = document.text[chunk.span.start : end]
            if introduces_next(document, end):
                continue
            assert count_tokens(both) > chunk_tokens


def introduces_next(document, end):
    """Return True if a heading, a lead-in, a term or the header of a table ends here."""
    text = document.text
    if text[end : end + 1] != "\n":
        return False
    for block in document.blocks:
        start, stop = block.span
        is_first_line = start < end < stop and "\n" not in text[start:end]
        if block.kind is BlockKind.SECTION and is_first_line:
            inner = [b.span.start for b in document.blocks if b.level and b.span.start > start]
            return bool(text[end : min([stop, *inner])].strip())
        if block.kind is BlockKind.DEFINITION and is_first_line:
            return text.startswith("**", start)
        if block.kind is BlockKind.TABLE and start < end < stop:
            rows = [b.span.start for b in document.blocks if b.kind is BlockKind.ROW]
            return end < min(row for row in rows if row >= start)
        if block.lead and end <= start and not text[end:start].strip("> \n"):
            return text[:end].endswith(block.lead)
    return False


def test_no_heading_is_left_at_the_end_of_a_chunk():
    text = "\n\n".join(f"## Part {n}\n\nA few words, number {n}." for n in range(60))
    document = markdown(text)
    sections, chunks = make_splitter("structure", chunk_tokens=60).split(document)
    check_split(document, sections, chunks)
    ends = [chunk.text.rsplit("\n", 1)[-1] for chunk in chunks]
    assert not [end for end in ends if end.startswith("#")]


def test_overlap_repeats_whole_sentences():
    text = " ".join(f"Sentence number {n} has exactly these words." for n in range(60))
    document = Document(uri="a.txt", text=text)
    sections, chunks = make_splitter("structure", chunk_tokens=64, overlap_tokens=20).split(
        document
    )
    check_split(document, sections, chunks, overlaps=True)
    for before, after in itertools.pairwise(chunks):
        shared = set(before.sentences) & set(after.sentences)
        assert shared
        assert sum(count_tokens(text[s:e]) for s, e in shared) <= 20
    assert all(count_tokens(chunk.text) <= 64 for chunk in chunks)


def test_whole_makes_one_chunk():
    document = markdown(HANDBOOK)
    sections, chunks = make_splitter("whole").split(document)
    check_split(document, sections, chunks)
    assert [chunk.text for chunk in chunks] == [HANDBOOK]


def test_children_lie_in_parents():
    document = markdown(HANDBOOK)
    splitter = make_splitter("parent-child", chunk_tokens=50, parent_tokens=200)
    sections, chunks = splitter.split(document)
    check_split(document, sections, chunks)
    parents = [chunk for chunk in chunks if chunk.is_parent]
    children = Counter(chunk.parent_id for chunk in chunks if not chunk.is_parent)
    assert set(children) == {parent.id for parent in parents}
    assert max(children.values()) >= 3
    assert max(count_tokens(parent.text) for parent in parents) <= 200


def test_windows_surround_their_sentences():
    document = markdown(HANDBOOK)
    sections, chunks = make_splitter("sentence-window", chunk_tokens=80).split(document)
    check_split(document, sections, chunks)
    windows = {chunk.id: chunk for chunk in chunks if chunk.is_parent}
    leaves = [chunk for chunk in chunks if not chunk.is_parent]
    assert all(len(windows[leaf.parent_id].text) >= len(leaf.text) for leaf in leaves)
    assert all(count_tokens(leaf.text) <= 20 or len(leaf.sentences) == 1 for leaf in leaves)
    wider = [leaf for leaf in leaves if len(windows[leaf.parent_id].text) > 2 * len(leaf.text)]
    assert len(wider) > len(leaves) / 2


def test_headings_outside_the_text_or_inside_each_other_are_left_out():
    spans = {"late": (50, 60), "b": (4, 7), "in b": (5, 6), "a": (0, 3), "empty": (8, 8)}
    blocks = tuple(
        Block(BlockKind.SECTION, Span(*span), title, level=1) for title, span in spans.items()
    )
    document = Document(uri="a", text="aaa bbb ccc", blocks=blocks)
    sections, chunks = make_splitter().split(document)
    check_split(document, sections, chunks)
    assert [section.title for section in sections] == ["", "a", "b"]


def test_wrong_names_and_sizes_are_refused():
    with pytest.raises(UnknownName, match="structure"):
        make_splitter("structur")
    with pytest.raises(ConfigError, match="overlap_tokens"):
        make_splitter(chunk_tokens=10, overlap_tokens=10)
    with pytest.raises(ConfigError, match="chunk_tokens"):
        make_splitter(chunk_tokens=0)


LINES = st.sampled_from(
    [
        *(
            "# One",
            "## Two",
            "### Three",
            "# 标题",
            "",
            "",
            "A sentence. Another one.",
            "第一句。第二句！",
        ),
        *(
            "- item",
            "| a | b |",
            "no stop",
            "x" * 300,
            "字" * 150,
            "\x00\x01",
            "שלום עולם.",
            "e\u0301" * 50,
        ),
        *("👩\u200d👩\u200d👧" * 20, "  ", "\u0301" * 30),
    ]
)


@given(st.lists(LINES, max_size=30), st.sampled_from(NAMES), st.integers(2, 60), st.integers(0, 30))
def test_every_character_is_in_a_chunk(lines, name, chunk_tokens, overlap_tokens):
    document = markdown("\n".join(lines))
    overlap = min(overlap_tokens, chunk_tokens - 1)
    splitter = make_splitter(
        name, chunk_tokens=chunk_tokens, overlap_tokens=overlap, parent_tokens=4 * chunk_tokens
    )
    check_split(document, *splitter.split(document), overlaps=overlap > 0)


@given(st.text(max_size=800), st.sampled_from(NAMES), st.integers(1, 20))
def test_any_text_is_split(text, name, chunk_tokens):
    document = Document(uri="a", text=text)
    splitter = make_splitter(name, chunk_tokens=chunk_tokens, parent_tokens=4 * chunk_tokens)
    check_split(document, *splitter.split(document))


@pytest.mark.parametrize("name", NAMES)
def test_large_flat_and_headed_documents(name):
    line = "The office approves trips abroad, and it is asked for each of them. "
    for text in (
        (line * 3_000),
        "\n\n".join(f"# H{n}\n\n{line}" for n in range(1_000)),
        "# A\n" * 2_000,
    ):
        document = markdown(text)
        sections, chunks = make_splitter(name).split(document)
        assert len(sections) == 1 + text.count("#")
        check_split(document, sections, chunks)
