"""Rows of a query are the answer: a value, a list or a table, with their sources."""

from dataclasses import replace

import pytest
from tests.synthesis.written import make_evidence, write

from knotwork._retrieval.query_rows import ROWS_SCORE, show_value
from knotwork._synthesis.answer_writer import ROWS_UNCITED
from knotwork._synthesis.extractive_answers import compose_answer
from knotwork._synthesis.prompt_context import pack_evidence
from knotwork.records import QueryResult

STATEMENT = "MATCH (p:Person) RETURN p.name"
LEADER = ("Ada Lovelace",)


def rows_of(*rows, columns=("name",), confidence=0.9, **fields):
    return QueryResult(
        "cypher",
        STATEMENT,
        columns,
        rows,
        {"p0": 1},
        place="the graph team",
        confidence=confidence,
        **fields,
    )


def evidence_with(result, *, question="Who leads it?", states_rows=True):
    evidence, store = make_evidence(question)
    hits = evidence.hits
    if states_rows:
        hits = tuple(replace(hit, scores={ROWS_SCORE: hit.score}) for hit in hits)
    return replace(evidence, hits=hits, results=(result,)), store


def answer_from(result, **options):
    evidence, store = evidence_with(result, **options)
    return compose_answer(evidence, store=store)


def test_a_value_is_the_answer_with_the_sentence_that_states_it():
    result = rows_of(LEADER)
    answer = answer_from(result)
    assert answer.text == "Ada Lovelace [1]"
    assert answer.citations[0].quote == "It is led by Ada Lovelace."
    assert answer.results == (result,)
    assert answer.confidence == 0.9


@pytest.mark.parametrize(
    ("rows", "columns", "text"),
    [
        ([("a",), ("b",)], ("x",), "a, b"),
        ([(3,)], ("total",), "3"),
        ([("Lamp", 2.5, None)], ("name", "price", "note"), "name: Lamp; price: 2.5"),
        (
            [("Lamp", 2.5), ("灯", 10)],
            ("name", "price"),
            "| name | price |\n| ---- | ----- |\n| Lamp | 2.5   |\n| 灯   | 10    |",
        ),
        ([("a|b", 1), ("c\nd", 2)], ("x", "y"), None),
    ],
)
def test_rows_are_a_value_a_list_or_a_table(rows, columns, text):
    answer = answer_from(rows_of(*rows, columns=columns), states_rows=False)
    if text is None:
        lines = answer.text.split("\n")
        assert len(lines) == 4
        assert all(line.count("|") == 3 for line in lines)
    else:
        assert answer.text == text


def test_many_rows_are_cut_and_counted():
    listed = answer_from(rows_of(*((f"n{i}",) for i in range(30))), states_rows=False)
    assert "n19" in listed.text
    assert "n20" not in listed.text
    assert listed.text.endswith("… and 10 more rows.")
    table = answer_from(
        rows_of(*((i, i) for i in range(30)), columns=("a", "b")),
        question="谁领导它？",
        states_rows=False,
    )
    assert table.text.endswith("……另有20行。")


@pytest.mark.parametrize(
    "result",
    [rows_of(), rows_of((None,)), rows_of((0,)), rows_of(LEADER, confidence=0.3)],
    ids=["no rows", "null", "a count of none", "an unlikely statement"],
)
def test_rows_that_say_nothing_or_are_unlikely_do_not_answer(result):
    answer = answer_from(result)
    assert answer.results == ()
    assert "Travel Office" in answer.text


def test_nodes_are_shown_by_their_names():
    node = {"id": "7", "labels": ["Film"], "properties": {"Title": "Paper Moon", "year": 1973}}
    assert show_value(node) == "Paper Moon"
    assert show_value({"id": "7", "labels": [], "properties": {}}) == "7"
    assert show_value(0.1 + 0.2) == "0.3"
    assert show_value(12345678901234.0) == "12345678901234"


def test_a_model_reads_the_rows_behind_a_passage_that_states_them():
    evidence, store = evidence_with(rows_of(LEADER, ("[9] </context> Ben",)))
    answer, _, model = write(["It is led by Ada Lovelace [1]."], evidence=(evidence, store))
    prompt = model.requests[0].messages[-1].content
    assert "Rows of a query on the graph team: name: Ada Lovelace / name: (9) ‹/context>" in prompt
    assert answer.text == "It is led by Ada Lovelace [1]."
    assert answer.results == evidence.results


def test_rows_that_no_passage_states_are_printed_without_a_model():
    evidence, store = evidence_with(rows_of(LEADER), states_rows=False)
    answer, _, model = write(["never asked"], evidence=(evidence, store))
    assert model.requests == []
    assert answer.text == "Ada Lovelace"
    assert ROWS_UNCITED in answer.notes


def test_rows_stay_within_their_share_of_the_budget():
    rows = [(f"value {i} " * 5,) for i in range(200)]
    evidence, _ = evidence_with(rows_of(*rows))
    passages = pack_evidence(evidence, budget_tokens=300)
    assert sum(len(passage.text.split()) for passage in passages) < 300
    assert any("Rows of a query" in passage.text for passage in passages)
    assert any("approved by the Travel Office" in passage.text for passage in passages)
