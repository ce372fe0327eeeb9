import dataclasses
import itertools
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knotwork._indexing.splitters import SPLITTERS, make_splitter
from knotwork._text.token_counts import count_tokens
from knotwork.errors import ConfigError, UnknownName
from knotwork.records import Document, Frame, FrameKind, Heading, Span
from knotwork.testing import SplitterContract
from knotwork.testing._splitter_contract import check_split

pytestmark = pytest.mark.slow


NAMES = SPLITTERS.names(plugins=False)


def markdown(text, *, uri="a.md", title="Guide"):
    """Make a document of which each line that starts with # is a heading."""
    headings, position = [], 0
    for line in text.split("\n"):
        marks = len(line) - len(line.lstrip("#"))
        if marks and line[marks:].strip():
            span = Span(position, position + len(line))
            headings.append(Heading(marks, line[marks:].strip(), span))
        position += len(line) + 1
    return Document(uri=uri, text=text, title=title, headings=tuple(headings))


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


def test_a_chunk_has_the_frames_around_its_sentences_and_the_titles_of_its_parts():
    document = markdown("# A\nOne.\n\n## B\nTwo.\n\n## C\nThree.")
    start = document.text.index("Two")
    term = Frame(FrameKind.TERM, Span(start, start + 4), "two")
    beside = Frame(FrameKind.TERM, Span(0, 1), "")
    document = dataclasses.replace(document, frames=(term, beside))
    _, (chunk,) = make_splitter("structure", chunk_tokens=1_000).split(document)
    told = {
        chunk.sentence_text(number): [frame.label for frame in chunk.frames_around(span)]
        for number, span in enumerate(chunk.sentences)
    }
    assert told["One."] == []
    assert told["Two."] == ["B", "two"]
    assert told["Three."] == ["C"]


def test_a_chunk_that_begins_inside_a_frame_knows_its_label():
    text = "port\n\nThe number of a port. It is often five digits long. Its default is 5432."
    frame = Frame(FrameKind.TERM, Span(text.index("The"), len(text)), "port (integer)")
    document = Document(uri="a.txt", text=text, title="Settings", frames=(frame,))
    _, chunks = make_splitter("structure", chunk_tokens=8).split(document)
    assert len(chunks) > 2
    contexts = [chunk.context for chunk in chunks]
    assert contexts[0] == "Settings"
    assert contexts[-1] == "Settings. port (integer)"


SPANS = st.tuples(st.integers(0, 60), st.integers(0, 20))


@given(st.lists(SPANS, max_size=8), st.integers(1, 12))
def test_no_frame_around_a_sentence_is_missing_from_its_chunk(spans, chunk_tokens):
    text = "One two. Three four.\n\nFive six seven. Eight nine ten eleven. Twelve."
    frames = tuple(Frame(FrameKind.TERM, Span(a, a + n), f"{a} {n}") for a, n in spans)
    document = Document(uri="a.txt", text=text, frames=frames)
    _, chunks = make_splitter("structure", chunk_tokens=chunk_tokens).split(document)
    for chunk in chunks:
        for span in chunk.sentences:
            wanted = {f for f in frames if f.span.start <= span.start and span.end <= f.span.end}
            assert set(chunk.frames_around(span)) == wanted


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
    headings = (
        Heading(1, "late", Span(50, 60)),
        Heading(1, "b", Span(4, 7)),
        Heading(2, "inside b", Span(5, 6)),
        Heading(1, "a", Span(0, 3)),
        Heading(1, "empty", Span(8, 8)),
    )
    document = Document(uri="a", text="aaa bbb ccc", headings=headings)
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


@settings(max_examples=120, deadline=None)
@given(st.lists(LINES, max_size=30), st.sampled_from(NAMES), st.integers(2, 60), st.integers(0, 30))
def test_every_character_is_in_a_chunk(lines, name, chunk_tokens, overlap_tokens):
    document = markdown("\n".join(lines))
    overlap = min(overlap_tokens, chunk_tokens - 1)
    splitter = make_splitter(
        name, chunk_tokens=chunk_tokens, overlap_tokens=overlap, parent_tokens=4 * chunk_tokens
    )
    check_split(document, *splitter.split(document), overlaps=overlap > 0)


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=800), st.sampled_from(NAMES), st.integers(1, 20))
def test_any_text_is_split(text, name, chunk_tokens):
    document = Document(uri="a", text=text)
    splitter = make_splitter(name, chunk_tokens=chunk_tokens, parent_tokens=4 * chunk_tokens)
    check_split(document, *splitter.split(document))


@pytest.mark.parametrize("name", NAMES)
def test_large_flat_and_headed_documents(name):
    line = "The office approves trips abroad, and it is asked for each of them. "
    for text in (
        (line * 8_000),
        "\n\n".join(f"# H{n}\n\n{line}" for n in range(3_000)),
        "# A\n" * 5_000,
    ):
        document = markdown(text)
        sections, chunks = make_splitter(name).split(document)
        assert len(sections) == 1 + text.count("#")
        check_split(document, sections, chunks)
