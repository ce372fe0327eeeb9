"""Questions about imported graphs are answered by rows if each of their words is accounted for."""

import csv

import pytest

import knotwork
from knotwork.records import Document

PEOPLE = [
    ("ada", "Person", "Ada Lund", "1961", ""),
    ("ben", "Person", "Ben Roe", "1970", ""),
    ("cy", "Person", "Cy Poe", "1982", ""),
    ("acme", "Company", "Acme Works", "", ""),
    ("glob", "Company", "Globex", "", ""),
    ("lamp", "Product", "Desk Lamp", "", "49.5"),
    ("mon", "Product", "Monitor", "", "300"),
    ("key", "Product", "Keyboard", "", "25"),
]
LINKS = [
    ("ada", "acme", "WORKS_FOR", "2001"),
    ("ben", "acme", "WORKS_FOR", "2010"),
    ("cy", "glob", "WORKS_FOR", "2015"),
    ("ben", "ada", "REPORTS_TO", ""),
    ("ada", "ben", "FOLLOWS", ""),
    ("cy", "ben", "FOLLOWS", ""),
    ("ben", "cy", "FOLLOWS", ""),
    ("ada", "cy", "OUTRANKS", ""),
    ("acme", "lamp", "SUPPLIES", ""),
    ("acme", "key", "SUPPLIES", ""),
    ("glob", "mon", "SUPPLIES", ""),
]
FAMILY = [
    ("权德舆", "儿子", "权璩"),
    ("权德舆", "儿子", "权珏"),
    ("权德舆", "女儿", "权婉"),
    ("权德舆", "妻子", "崔氏夫人"),
    ("权璩", "儿子", "权宗"),
]


def write_table(file, header, rows):
    with file.open("w", encoding="utf-8", newline="") as opened:
        csv.writer(opened).writerows([header, *rows])


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    """Return an index of two graphs, one with labels and one of triples, and a document."""
    folder = tmp_path_factory.mktemp("graphs")
    (folder / "trade").mkdir()
    header = ("id:ID", ":LABEL", "name", "born:int", "unitPrice:float")
    write_table(folder / "trade" / "nodes.csv", header, PEOPLE)
    header = (":START_ID", ":END_ID", ":TYPE", "since:int")
    write_table(folder / "trade" / "links.csv", header, LINKS)
    lines = ["\t".join(triple) for triple in FAMILY]
    (folder / "family.tsv").write_text("\n".join(lines), "utf-8")
    with knotwork.open("memory:", embedding_model="none") as opened:
        opened.graph.import_files(folder / "trade")
        opened.graph.import_files(folder / "family.tsv")
        text = "The harbour of Narva was built by Ada Lund in 1842. It is of stone."
        opened.index_documents([Document("harbour.md", text)])
        yield opened


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("Who works for Acme Works?", {"Ada Lund", "Ben Roe"}),
        ("Who is the boss of Ben Roe?", {"Ada Lund"}),
        ("Ada Lund的下属有哪些人？", {"Ben Roe"}),
        ("Which products does Acme Works supply?", {"Desk Lamp", "Keyboard"}),
        ("Who works for the supplier of Monitor?", {"Cy Poe"}),
        ("Which products cost more than 40?", {"Desk Lamp", "Monitor"}),
        ("最贵的产品是什么？", {"Monitor"}),
        ("Who was born before 1975?", {"Ada Lund", "Ben Roe"}),
        ("权德舆的儿子有哪些人？", {"权璩", "权珏"}),
        ("权德舆的孩子有哪些人？", {"权璩", "权珏", "权婉"}),
        ("权德舆的儿子的儿子是谁？", {"权宗"}),
    ],
)
def test_rows_are_the_answer(kb, question, names):
    answer = kb.ask(question)
    assert answer.answered
    (result,) = answer.results
    assert {row[0] for row in result.rows} == names
    assert all(name in answer.text for name in names)


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("Who follows Ben Roe?", {"Ada Lund", "Cy Poe"}),
        ("Who does Ben Roe follow?", {"Cy Poe"}),
        ("Who is followed by Ada Lund?", {"Ben Roe"}),
        ("Who are the followers of Ben Roe?", {"Ada Lund", "Cy Poe"}),
        ("谁关注了Ben Roe?", {"Ada Lund", "Cy Poe"}),
        ("Ben Roe关注了谁?", {"Cy Poe"}),
        ("Who outranks Cy Poe?", {"Ada Lund"}),  # no word list has it
        ("Who does Ada Lund outrank?", {"Cy Poe"}),
    ],
)
def test_links_between_nodes_of_one_kind_lead_the_way_that_is_asked(kb, question, names):
    (result,) = kb.ask(question).results
    assert {row[0] for row in result.rows} == names


def test_a_direction_that_no_word_tells_is_not_guessed(kb):
    assert not kb.ask("Who follows the most people?").answered


def test_rows_cite_the_lines_that_state_them(kb):
    answer = kb.ask("Who works for the supplier of Monitor?")
    quotes = {citation.quote for citation in answer.citations}
    assert any("Globex" in quote and "Monitor" in quote for quote in quotes)
    assert any("Cy Poe" in quote and "Globex" in quote for quote in quotes)


@pytest.mark.parametrize(
    ("question", "start"),
    [
        ("How many products does Acme Works supply?", "2"),
        ("权德舆有几个儿子？", "2"),
        ("Does Acme Works supply Desk Lamp?", "Yes"),
        ("Does Acme Works supply Monitor?", "No"),
        ("Does Ben Roe report to Ada Lund?", "Yes"),
    ],
)
def test_counts_and_tests_begin_with_their_result(kb, question, start):
    assert kb.ask(question).text.startswith(start)


@pytest.mark.parametrize(
    "question",
    [
        "What is the budget of Acme Works?",
        "Who is the wife of Ben Roe?",
        "Who works for Initech Holding?",
        "Which products does Acme Works repair?",
        "权德舆的身高是多少？",
        "权璩的妻子是谁？",
        "How many sons does Ben Roe have?",
        "Which products cost more than Desk Lamp?",
    ],
)
def test_other_relations_are_refused(kb, question):
    assert not kb.ask(question).answered


def test_a_refusal_names_the_word_that_the_graph_lacks(kb):
    notes = " ".join(kb.ask("What is the budget of Acme Works?").notes)
    assert "“budget”" in notes


def test_documents_beside_a_graph_answer_as_before(kb):
    answer = kb.ask("Who built the harbour of Narva?")
    assert answer.answered
    assert answer.citations[0].document == "harbour.md"


def test_paths_can_be_imported_like_graphs_in_memory(tmp_path):
    file = tmp_path / "family.tsv"
    file.write_text("权德舆\t儿子\t权璩", "utf-8")
    with knotwork.open("memory:", embedding_model="none") as opened:
        opened.graph.import_graph(file)
        opened.graph.import_graph([str(file)], name="again")
        assert len(opened.graph.cypher("MATCH (n) RETURN n", graph="again").rows) == 2
