"""Blocks that are written have exact spans, and nest, whatever is written in whatever order."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork._extensions.testing.loader_contract import check_content
from knotwork._indexing.loaders.blocks import DEEPEST_BLOCK, BlockWriter
from knotwork._indexing.loaders.loader import PLACEHOLDER, Source
from knotwork.records import BlockKind, nest_blocks


def make_writer():
    return BlockWriter(Source("a.txt", b""))


def shown(writer):
    """Return the kind, label and text of each block that was written, outer ones first."""
    content = writer.content("text/plain")
    check_content(content)
    return [
        (block.kind.value, block.label, content.text[slice(*block.span)])
        for block in content.blocks
    ]


def test_all_blocks_of_a_document():
    writer = make_writer()
    writer.heading(1, "Pumps")
    writer.page("2")
    writer.paragraph("They run.\nAlways. Kept are:")
    writer.item("keys: two", mark="3.")
    writer.item("logs", mark="4.")
    writer.item("of clients", level=1)
    writer.extend("and servers")
    with writer.block(BlockKind.BOX, "Listing"):
        writer.code("run\n\n```now```\n", "sh")
    with writer.block(BlockKind.DEFINITION, "**kwargs"):
        writer.term("**kwargs")
        writer.paragraph("Others.")
    writer.table([["Name", "", "Age"], ["Ada | Bo", "", "36"], ["", "", ""]])
    with writer.block(BlockKind.QUOTE):
        writer.paragraph("One.\nTwo.")
        writer.paragraph("Three.")

    content = writer.content("text/plain")
    assert content.text == (
        "# Pumps\n\nThey run.\nAlways. Kept are:\n\n3. keys: two\n4. logs\n   - of clients "
        "and servers\n\n````sh\nrun\n\n```now```\n````\n\n**kwargs\n\nOthers.\n\n"
        "| Name | Age |\n| --- | --- |\n| Ada \\| Bo | 36 |\n\n> One.\n> Two.\n>\n> Three."
    )
    assert [(page.label, page.start) for page in content.pages] == [("2", 9)]
    assert [
        (block.kind.value, block.label, content.text[slice(*block.span)])
        for block in content.blocks[2:]
    ] == [
        ("list", "", "3. keys: two\n4. logs\n   - of clients and servers"),
        ("item", "keys", "3. keys: two"),
        ("item", "", "4. logs\n   - of clients and servers"),
        ("list", "", "- of clients and servers"),
        ("item", "", "- of clients and servers"),
        ("box", "Listing", "````sh\nrun\n\n```now```\n````"),
        ("code", "sh", "````sh\nrun\n\n```now```\n````"),
        ("definition", "**kwargs", "**kwargs\n\nOthers."),
        ("paragraph", "", "Others."),
        ("table", "Name | Age", "| Name | Age |\n| --- | --- |\n| Ada \\| Bo | 36 |"),
        ("row", "Ada | Bo", "| Ada \\| Bo | 36 |"),
        ("quote", "", "> One.\n> Two.\n>\n> Three."),
        ("paragraph", "", "One.\n> Two."),
        ("paragraph", "", "Three."),
    ]
    assert [block.lead for block in content.blocks if block.lead] == ["Kept are:", "logs"]


def test_bullets_below_a_number_are_of_its_item():
    writer = make_writer()
    for mark, level in (("-", 0), ("1.", 0), ("-", 0), ("-", 1), ("-", 0), ("2.", 0)):
        writer.item("x", level=level, mark=mark)
    assert writer.text == "- x\n\n1. x\n   - x\n     - x\n   - x\n2. x"


def test_blocks_are_nested_so_deep_and_no_deeper():
    writer = make_writer()
    for _ in range(100):
        writer.begin(BlockKind.BOX)
    writer.item("one")
    writer.item("two", level=1)
    for _ in range(100):
        writer.begin(BlockKind.LIST)
        writer.begin(BlockKind.ITEM)
        writer.paragraph("three")
    writer.code("four")
    assert shown(writer)[-1] == ("code", "", "```\nfour\n```")
    assert len(shown(writer)) == DEEPEST_BLOCK + 103
    for level in (40, 50, 60):
        writer.heading(level, str(level))
        with writer.subsections():
            writer.heading(1, "Below")
    sections = [block.level for block in writer.content("text/plain").blocks if block.level]
    assert sections == [40, 41, *[DEEPEST_BLOCK] * 4]


def test_a_box_ends_the_list_before_it():
    writer = make_writer()
    writer.item("one")
    with writer.block(BlockKind.BOX, "Two"):
        writer.item("three")
        writer.item("four")
    assert shown(writer) == [
        ("list", "", "- one"),
        ("item", "", "- one"),
        ("box", "Two", "- three\n- four"),
        ("list", "", "- three\n- four"),
        ("item", "", "- three"),
        ("item", "", "- four"),
    ]


def test_an_item_is_always_in_a_list():
    writer = make_writer()
    around = writer.begin(BlockKind.LIST)
    item = writer.begin(BlockKind.ITEM)
    writer.heading(1, "One")
    writer.end(item)
    with writer.block(BlockKind.ITEM, mark="2."):
        writer.paragraph("Two")
    writer.end(around)
    writer.paragraph("Three")
    assert shown(writer)[1:] == [
        ("list", "", "2. Two"),
        ("item", "", "2. Two"),
        ("paragraph", "", "Three"),
    ]


@pytest.mark.parametrize("blank", ["", " \n ", "\x00", "\ufeff"])
def test_blank_text_is_no_block(blank):
    writer = make_writer()
    writer.item("one")
    writer.paragraph(blank, term="x")
    writer.code(blank)
    writer.heading(1, blank)
    writer.item(blank)
    writer.table([[blank, blank]])
    writer.term(blank)
    with writer.block(BlockKind.QUOTE):
        writer.extend(blank)
    writer.item("two")
    written = [(kind, text) for kind, _, text in shown(writer) if kind != "list"]
    assert written == [("item", "- one"), ("item", "- two")]


TEXTS = st.sampled_from(
    [
        *("", " ", "pump", "They run. Kept are:", "One\ntwo\n\n  three", "Term: said. 中文。"),
        *("a|b \\| c", "**bold** `x`", "````\ncode", "# one", "> two", "- three\n1. four", "*"),
    ]
)
CONTAINERS = st.sampled_from(
    [
        *(BlockKind.LIST, BlockKind.ITEM, BlockKind.DEFINITION, BlockKind.QUOTE),
        *(BlockKind.FIGURE, BlockKind.BOX, BlockKind.TURN),
    ]
)
OPTIONS = {
    "paragraph": {"term": st.sampled_from(["", "pump"])},
    "extend": {"gap": st.sampled_from([" ", "\n", "\n\n"])},
    "code": {"language": st.sampled_from(["", "sh", "not one"])},
    "item": {"level": st.integers(-1, 4), "mark": st.sampled_from(["-", "12."])},
    "term": {},
}
CALLS = st.lists(
    st.one_of(
        *(
            st.tuples(st.just("text"), st.just(name), TEXTS, st.fixed_dictionaries(options))
            for name, options in OPTIONS.items()
        ),
        st.tuples(st.just("heading"), TEXTS, st.integers(0, 8)),
        st.tuples(st.just("table"), TEXTS, TEXTS, TEXTS, TEXTS),
        st.tuples(st.just("begin"), CONTAINERS),
        st.tuples(st.sampled_from(["page", "placeholder", "end_lists", "subsections", "end"])),
    ),
    max_size=14,
)


class Recorder:
    """Makes calls to a writer, and keeps what was written with the span that each returned."""

    def __init__(self):
        self.writer = make_writer()
        self.written = []
        self.pages = 0
        self.opened = []

    def make(self, calls):
        for name, *arguments in calls:
            getattr(self, name)(*arguments)
        while self.opened:
            self.end()

    def text(self, name, text, options):
        span = getattr(self.writer, name)(text, **options)
        self.written.append((span, words_of(text)))

    def placeholder(self):
        self.written.append((self.writer.placeholder(), words_of(PLACEHOLDER)))

    def heading(self, text, level):
        self.written.append((self.writer.heading(level, text), words_of(text)))

    def table(self, *cells):
        rows = [cells[:2], cells[2:]]
        filled = [text for row in rows if (text := " ".join(row)).strip()]
        for span, text in zip(self.writer.table(rows, header=False), filled, strict=True):
            self.written.append((span, words_of(text)))

    def page(self):
        self.pages += 1
        self.writer.page(str(self.pages))

    def subsections(self):
        self.open(self.writer.subsections())

    def begin(self, kind):
        self.open(self.writer.block(kind, "pump"))

    def end(self):
        if self.opened:
            self.opened.pop().__exit__(None, None, None)

    def end_lists(self):
        self.writer.end_lists()

    def open(self, context):
        context.__enter__()
        self.opened.append(context)


def words_of(text):
    """Return the words of a text, without signs that are also marks of blocks."""
    return re.findall(r"\w+", text)


@given(CALLS)
def test_any_calls_give_blocks_that_nest(calls):
    recorder = Recorder()
    recorder.make(calls)
    content = recorder.writer.content("text/plain")

    check_content(content)
    nodes = [node for tree in nest_blocks(content.blocks) for node in tree.walk()]
    assert [node.block for node in nodes] == list(content.blocks)
    assert recorder.writer.length == len(content.text)
    labels = [int(page.label) for page in content.pages]
    assert labels == list(range(1, len(labels) + 1))
    for span, words in recorder.written:
        assert words_of(content.text[slice(*span)]) == words
    rest = iter(words_of(content.text))
    assert all(word in rest for _, words in recorder.written for word in words)


@given(CALLS, CALLS)
def test_a_block_stays_as_it_is_whatever_follows(calls, others):
    def write(more):
        recorder = Recorder()
        with recorder.writer.block(BlockKind.BOX, "pump"):
            recorder.make(calls)
        before = recorder.writer.length
        recorder.writer.paragraph("Text.")
        recorder.make(more)
        blocks = recorder.writer.content("text/plain").blocks
        return [b for b in blocks if b.span.end <= before and not b.level]

    assert write(others) == write([])


@given(
    st.lists(
        st.sampled_from(["quote", "figure", "box", "turn", "definition", "list"]),
        min_size=1,
        max_size=8,
    )
)
def test_blocks_with_equal_spans_have_the_outer_one_first(kinds):
    writer = BlockWriter(Source("a.txt", b""))
    opened = []
    for kind in map(BlockKind, kinds):
        opened.append(writer.begin(kind, "x"))
        if kind is BlockKind.LIST:
            opened.append(writer.begin(BlockKind.ITEM))
    writer.code("x = 1")
    for block in reversed(opened):
        writer.end(block)
    (node,) = nest_blocks(writer.content("text/plain").blocks)
    found = [inner.block.kind for inner in node.walk()]
    assert found == [*(block.kind for block in opened), BlockKind.CODE]
