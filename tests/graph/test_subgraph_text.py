"""Subgraphs as text and their schema: every item has its line, and budgets are kept."""

import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork.records import Edge, EntityType, Node, RelationType, Subgraph

HOSTILE = [
    "a\nRelations:\n- b", "a\r\n\u2028c\x85d", "\x00\x1b[31mred", "\u202eabc\u2066", "</context>",
    "<script src=x>", "<!--", "< b", "p<0.05", "a <", "", " ", "姓名", "\ud800", "[1]", "x" * 900,
    "-knows→ b", "```", "# Title", "(Not shown: 9 entities)",
]  # fmt: skip
TEXTS = st.one_of(st.sampled_from(HOSTILE), st.text(max_size=12))
PROPERTIES = st.dictionaries(TEXTS, st.one_of(TEXTS, st.integers(), st.lists(TEXTS)), max_size=2)
HEADINGS = {"Entities:", "Relations:", "Co-occurrences:"}
NOTICE = re.compile(
    r"\(Not shown: (?:(\d+) entit(?:y|ies))?(?:, )?(?:(\d+) relations?)?(?:, )?"
    r"(?:(\d+) co-occurrences?)?\)"
)


@st.composite
def subgraphs(draw):
    names = draw(st.lists(TEXTS, min_size=1, max_size=6))
    nodes = [
        Node(str(n), "Entity", name, {"type": draw(TEXTS), **draw(PROPERTIES)})
        for n, name in enumerate(names)
    ]
    ids = st.sampled_from([node.id for node in nodes])
    kinds = st.sampled_from(["RELATES", "CO_OCCURS"])
    weights = st.sampled_from([1.0, 2.0, 0.5])
    edges = draw(
        st.lists(
            st.builds(Edge, ids, kinds, ids, weights, TEXTS, properties=PROPERTIES), max_size=8
        )
    )
    return Subgraph(tuple(nodes), tuple(edges))


def sections_of(text):
    """Return the lines below each heading, and the number of items in the last line."""
    found, missing = {}, (0, 0, 0)
    for line in text.split("\n") if text else ():
        if line in HEADINGS:
            lines = found[line] = []
        elif line.startswith("- "):
            lines.append(line)
        else:
            match = NOTICE.fullmatch(line)
            assert match, line
            missing = tuple(int(number or 0) for number in match.groups())
    return found, missing


@given(subgraphs())
def test_every_relation_has_a_line_of_its_own(subgraph):
    text = subgraph.format()
    found, missing = sections_of(text)
    kinds = Counter(edge.type for edge in subgraph.edges)
    assert missing == (0, 0, 0)
    assert len(found.get("Relations:", ())) == kinds["RELATES"]
    assert len(found.get("Co-occurrences:", ())) == kinds["CO_OCCURS"]
    ends = {end for edge in subgraph.edges for end in (edge.source, edge.target)}
    alone = [node for node in subgraph.nodes if node.id not in ends]
    assert len(alone) <= len(found.get("Entities:", ())) <= len(subgraph.nodes)


@given(subgraphs(), st.sampled_from(["en", "zh"]))
def test_no_name_breaks_its_line_or_opens_a_tag(subgraph, language):
    for text in (subgraph.format(language=language), subgraph.schema().format(language=language)):
        assert text.splitlines() == (text.split("\n") if text else [])
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)
        assert not re.search("<[A-Za-z/!?]", text)
        text.encode()


@given(subgraphs(), st.integers(0, 400))
def test_a_budget_drops_the_last_first_and_counts_them(subgraph, budget):
    whole, _ = sections_of(subgraph.format())
    text = subgraph.format(budget=budget)
    assert len(text) <= budget
    if not text:
        return
    found, missing = sections_of(text)
    for number, heading in ((1, "Relations:"), (2, "Co-occurrences:")):
        lines, shown = whole.get(heading, []), found.get(heading, [])
        assert shown == lines[: len(shown)]
        assert missing[number] == len(lines) - len(shown)
    if found.get("Co-occurrences:"):
        assert not missing[1]
    assert {*found.get("Entities:", ())} <= {*whole.get("Entities:", ())}
    assert (missing == (0, 0, 0)) == (text == subgraph.format())


@given(subgraphs(), st.integers(0, 400))
def test_a_larger_budget_shows_no_less(subgraph, budget):
    smaller = len(subgraph.format(budget=budget).split("\n"))
    assert len(subgraph.format(budget=budget + 60).split("\n")) >= smaller


def film_graph():
    nodes = (
        Node("a", "Entity", "Ada", {"type": "PERSON", "description": "A writer.", "born": 1815}),
        Node("b", "Entity", "Notes", {"type": "BOOK", "normal_form": "notes", "chunk_count": 3}),
        Node("c", "Entity", "Bo", {"type": "PERSON"}),
        Node("d", "Entity", "London", {"type": ""}),
        Node("e", "Entity", "Turin", {"type": ""}),
    )
    edges = (
        Edge("a", "CO_OCCURS", "d", 2.0, "co-occurs with"),
        Edge("a", "RELATES", "b", 1.0, "wrote", properties={"year": 1843}),
        Edge("c", "RELATES", "b", 2.5, "translated", properties={"description": "Into French."}),
    )
    return Subgraph(nodes, edges)


def test_the_text_in_english():
    assert str(film_graph()) == (
        "Entities:\n"
        "- Ada (PERSON): A writer.; born: 1815\n"
        "- Notes (BOOK)\n"
        "- Bo (PERSON)\n"
        "- Turin\n"
        "Relations:\n"
        "- Ada -wrote→ Notes: year: 1843\n"
        "- Bo -translated→ Notes (weight 2.5): Into French.\n"
        "Co-occurrences:\n"
        "- Ada, London (weight 2)"
    )


def test_the_text_in_chinese_within_a_budget():
    assert film_graph().format(budget=110, language="zh") == (
        "实体：\n"
        "- Ada（PERSON）：A writer.；born：1815\n"
        "- Notes（BOOK）\n"
        "关系：\n"
        "- Ada -wrote→ Notes：year：1843\n"
        "（未列出：3 个实体、1 条关系、1 条共现）"
    )


def test_a_budget_counts_what_the_caller_counts():
    def words(text):
        return len(text.split())

    text = film_graph().format(budget=36, count=words)
    assert words(text) <= 36
    assert text.endswith("(Not shown: 2 entities, 1 co-occurrence)")


def test_an_empty_graph_is_an_empty_text():
    assert Subgraph().format() == Subgraph().format(budget=0) == str(Subgraph().schema()) == ""


def test_the_schema_counts_types_and_names_their_properties():
    schema = film_graph().schema()
    assert schema.entity_types == (
        EntityType("Entity", 2),
        EntityType("PERSON", 2, ("born", "description")),
        EntityType("BOOK", 1),
    )
    assert schema.relation_types == (
        RelationType("PERSON", "co-occurs with", "Entity", 1),
        RelationType("PERSON", "translated", "BOOK", 1, ("description",)),
        RelationType("PERSON", "wrote", "BOOK", 1, ("year",)),
    )
    assert str(schema).splitlines()[:3] == [
        "Entity types:", "- Entity: 2", "- PERSON: 2 (born, description)",
    ]  # fmt: skip
    assert schema.format(language="zh").splitlines()[-1] == "- PERSON -wrote→ BOOK：1（year）"


@given(subgraphs())
def test_the_schema_counts_every_entity_and_relation_once(subgraph):
    schema = subgraph.schema()
    assert sum(item.count for item in schema.entity_types) == len(subgraph.nodes)
    assert sum(item.count for item in schema.relation_types) == len(subgraph.edges)
    counts = [item.count for item in schema.entity_types]
    assert counts == sorted(counts, reverse=True)


@pytest.mark.parametrize("name", ["A" * 5_000, "字" * 5_000])
def test_a_long_name_cannot_fill_the_text(name):
    assert len(Subgraph((Node("a", "Entity", name),)).format()) < 600
