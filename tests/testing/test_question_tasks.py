"""The brain rates reports, asks further and sorts questions as the prompts of these ask."""

from __future__ import annotations

import pytest

from knotwork._extensions.testing.brains import RuleBrain
from knotwork._inference.chat import ChatReply, Message
from knotwork._retrieval.steps.query_transformation import parse_ratings
from knotwork._synthesis.messages import fill_prompt
from knotwork._synthesis.mode_answers import parse_points, parse_questions

REPORTS = (
    "<reports>\n# Travel\n[1] The Travel Office approves trips abroad.\n"
    "# Team\n[2][3] Ada Lovelace was born in London.\n</reports>"
)
REPORTS_ZH = "<reports>\n# 差旅\n[1] 海外出差由办事处主任审批。\n</reports>"


def say(task, language="en", **blanks):
    filled = {"question": "", "unknown": "I do not know.", "material": "", "points": "", **blanks}
    return ChatReply(RuleBrain()(fill_prompt(task, language, filled)))


def test_reports_are_rated_by_what_they_share_with_the_question():
    lines = "1 | Travel: trips abroad\n2 | Team: Ada Lovelace"
    rated = parse_ratings(say("rate", material=lines, question="Who approves trips?"), {1, 2})
    assert rated == {1: 3, 2: 0}
    rated = parse_ratings(say("rate", material=lines, question="What are the themes?"), {1, 2})
    assert rated == {1: 3, 2: 3}


@pytest.mark.parametrize(
    ("language", "reports", "question", "expected"),
    [
        ("en", REPORTS, "Who approves trips abroad?", "The Travel Office approves trips abroad."),
        ("zh", REPORTS_ZH, "谁审批海外出差？", "海外出差由办事处主任审批。"),
    ],
)
def test_points_and_answers_come_from_findings(language, reports, question, expected):
    points = parse_points(say("map", language, material=reports, question=question), {1, 2, 3})
    assert [(p.text, p.numbers) for p in points.points] == [(expected, (1,))]
    assert expected in say("global", language, material=reports, question=question).text


def test_a_question_about_the_whole_is_answered_by_first_findings():
    said = say("global", material=REPORTS, question="What are the main themes?").text
    assert said == (
        "The Travel Office approves trips abroad. [1] Ada Lovelace was born in London. [2]"
    )


@pytest.mark.parametrize("most", [1, 3])
def test_further_questions_are_at_most_as_many_as_asked_for(most):
    reply = say("further", material=REPORTS, question="Who approves trips?", most=str(most))
    questions = parse_questions(reply, known=(), most=9)
    assert 1 <= len(questions) <= most


@pytest.mark.parametrize(
    ("question", "mode"),
    [("What are the main themes?", "global"), ("Who approves trips abroad?", "basic")],
)
def test_questions_are_sorted(question, mode):
    assert say("route", question=question).text == mode


def test_lines_of_all_sections_are_read():
    conversation = [
        Message("system", "task: answer"),
        Message(
            "user",
            "<context>\n[1] Ada leads the Travel Office.\n</context>\n"
            "<facts>\n[2] Ada Lovelace — born in → London\n</facts>\n"
            "<question>Where was Ada Lovelace born?</question>",
        ),
    ]
    assert "London [2]" in RuleBrain()(conversation)
