"""The questions about graphs are whole, and their judge reads what an answer prints."""

import json
from collections import Counter

import pytest
from benchmarks.graph_answers.graphs import HERE, PREPARED, VALUES
from benchmarks.graph_answers.run import PARTS, is_right

from knotwork import Answer

QUESTIONS = [
    json.loads(line)
    for part in PARTS
    for line in (HERE / f"{part}.jsonl").read_text("utf-8").split("\n")[:-1]
]
PEOPLE = {"person": {"ann lee", "ann", "bo chen"}, "film": {"apollo 13"}}


def judge(answers, text, *, of="person", short="", question="Who directed it?", answered=True):
    row = {"question": question, "answers": answers, "of": of}
    answer = Answer(question=question, text=text, answered=answered, short=short)
    return is_right(row, answer, PEOPLE)


def test_a_quarter_of_the_questions_has_no_answer():
    kinds = Counter(row["kind"] for row in QUESTIONS)
    assert len({row["qid"] for row in QUESTIONS}) == len(QUESTIONS) == 120 + 91
    assert kinds["unanswerable"] == 30 + 23
    assert {row["graph"] for row in QUESTIONS} == PREPARED.keys() == VALUES.keys()
    assert all(bool(row["answers"]) == (row["kind"] != "unanswerable") for row in QUESTIONS)


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("Ann Lee [1], Bo Chen [2]", True),
        ("ANN LEE, Bo Chen and Apollo 13", True),
        ("Ann Lee [1]", False),
        ("Ann Lee, Bo Chen, Ann", False),
    ],
)
def test_all_values_and_no_other_of_their_kind_are_printed(text, right):
    assert judge([["Ann Lee"], ["Bo Chen"]], text) is right


def test_a_name_of_the_question_may_be_printed_and_a_headline_is_read_alone():
    assert judge([["Ann Lee"]], "Ann Lee with Bo Chen", question="Who knows Bo Chen?")
    assert judge([["Ann Lee"]], "**Ann Lee** met Bo Chen.")
    assert judge([["Ann Lee"]], "Ann Lee met Bo Chen.", short="Ann Lee")
    assert not judge([["Ann Lee"]], "**Bo Chen** met Ann Lee.")


def test_of_a_table_only_the_columns_with_the_values_are_read_for_others():
    table = "| who | with |\n| --- | --- |\n| Ann Lee [1] | Ann |\n| Bo Chen [2] | Ann |"
    assert judge([["Ann Lee"], ["Bo Chen"]], table)
    assert not judge([["Ann Lee"]], table)
    assert not judge([["Ann Lee"], ["Bo Chen"], ["Apollo 13"]], table)


def test_the_first_number_counts_and_those_in_names_do_not():
    assert judge([["2"]], "Apollo 13 has 2 [1]", of="number")
    assert not judge([["2"]], "Of 13, there are 2", of="number")


@pytest.mark.parametrize(
    ("wanted", "text", "right"),
    [
        ("yes", "Yes", True),
        ("yes", "Ann Lee directed Apollo 13.", True),
        ("yes", "Ann Lee", False),
        ("yes", "No, Ann Lee did not direct Apollo 13.", False),
        ("no", "不是", True),
        ("no", "Ann Lee directed Apollo 13.", False),
    ],
)
def test_yes_or_no_is_said_or_the_fact_is(wanted, text, right):
    question = "Did Ann Lee direct Apollo 13?"
    assert judge([[wanted]], text, of="yes/no", question=question) is right


def test_only_a_question_without_an_answer_may_be_refused():
    assert judge([], "Nothing was found.", answered=False)
    assert not judge([], "Ann Lee")
    assert not judge([["Ann Lee"]], "Ann Lee", answered=False)
