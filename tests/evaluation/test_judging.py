"""Printed answers are judged: right, right first, cited, short, without noise."""

from dataclasses import replace

import pytest

from knotwork._extensions.evaluation.answer_runs import (
    count_words,
    is_named,
    judge_answer,
    printed_sentences,
)
from knotwork._extensions.evaluation.questions import AnswerQuestion
from knotwork.records import Answer, Citation, Span

QUESTION = AnswerQuestion(
    "What is the default of deadlock_timeout?",
    answers=(("one second", "1s"),),
    documents=("manual/locks.html",),
    quotes=("Waiting is cheap on a machine that has little else to do.",),
)


def citation(number, document="docs/manual/locks.html"):
    return Citation(number, document, "", "", "", Span(0, 1), "x", "c", 1.0)


def answer(text, *, citations=2, **changes):
    cited = tuple(citation(number) for number in range(1, citations + 1))
    return replace(Answer("q", text, answered=True, citations=cited), **changes)


def test_a_right_answer_in_the_first_sentence():
    found = judge_answer(QUESTION, answer("The default is 1s. [1] Locks are fine. [2]"))
    assert found.answered
    assert found.right
    assert found.right_first
    assert found.cites_gold
    assert found.noise == (False, True)
    assert found.words == 9  # the marks are printed, too


def test_the_term_in_front_of_a_quoted_sentence_is_printed():
    question = replace(QUESTION, answers=(("deadlock_timeout",), ("one second",)))
    assert judge_answer(question, answer("deadlock_timeout: It is one second. [1]")).right_first


def test_an_answer_further_down_is_right_but_not_first():
    found = judge_answer(QUESTION, answer("Locks are fine. [1] The default is one second. [2]"))
    assert (found.right, found.right_first, found.noise) == (True, False, (True, False))


def test_parts_may_be_spread_over_sentences():
    question = replace(QUESTION, answers=(("red",), ("blue",)))
    found = judge_answer(question, answer("One is red. [1] Another is blue. [2]"))
    assert (found.right, found.right_first, found.noise) == (True, False, (False, False))


def test_a_sentence_that_overlaps_a_gold_quote_is_no_noise():
    # 7 of its 10 words are in the quote; the quote has 12.
    near = "Waiting is cheap on a machine that nobody uses today."
    far = "Waiting is cheap, they say, when others pay the bill."
    found = judge_answer(QUESTION, answer(f"{near} [1] {far} [2]"))
    assert found.noise == (False, True)


def test_a_refusal_prints_nothing_that_counts():
    refused = answer("They do not seem to say. 1s", answered=False)
    found = judge_answer(QUESTION, refused, ["… the default is 1s …"])
    assert (found.answered, found.right, found.right_first) == (False, False, False)
    assert (found.cites_gold, found.noise, found.words) == (False, (), 0.0)
    assert found.found


def test_passages_with_the_answer_are_distinguished_from_others():
    wrong = answer("Locks are fine. [1]", citations=1)
    assert judge_answer(QUESTION, wrong, ["nothing here", "one second"]).found
    assert not judge_answer(QUESTION, wrong, ["nothing here"]).found
    assert not judge_answer(QUESTION, wrong).found


def test_of_a_question_without_an_answer_only_the_refusal_counts():
    question = replace(QUESTION, answers=())
    assert judge_answer(question, answer("Locks are fine. [1]")).answered
    assert not judge_answer(question, answer("", answered=False)).answered
    assert judge_answer(question, answer("Locks are fine. [1]")).noise == ()


def test_without_gold_documents_no_citation_is_judged():
    assert judge_answer(replace(QUESTION, documents=()), answer("1s [1]")).cites_gold is None


@pytest.mark.parametrize(
    ("uri", "name", "named"),
    [
        ("docs/manual/locks.html", "locks.html", True),
        ("docs/manual/locks.html", "manual/locks.html", True),
        ("docs/manual/locks.html", "docs/manual/locks.html", True),
        ("docs/manual/locks.html", "ocks.html", False),
        ("docs/manual/locks.html", "other/locks.html", False),
    ],
)
def test_a_document_is_named_by_the_end_of_its_uri(uri, name, named):
    assert is_named(uri, name) is named


def test_quoted_sentences_end_with_their_marks():
    text = "argv[0] is the name. It ends here. [1] 第二句。[2][3] - a [4]"
    expected = ["argv[0] is the name. It ends here.", "第二句。", "- a"]
    assert printed_sentences(answer(text, citations=4)) == expected


def test_a_text_by_a_model_is_split_into_sentences():
    written = answer("It is 1s [1]. Do not\nchange it. [2]", model="openai:x")
    assert printed_sentences(written) == ["It is 1s.", "Do not\nchange it."]


def test_a_wide_character_counts_half_a_word():
    assert count_words("The default is 1s.") == 4
    assert count_words("默认值 1s") == 2.5


@pytest.mark.parametrize(("short", "right"), [("30 m", True), ("high", False), ("", None)])
def test_a_short_answer_is_judged_by_itself(short, right):
    question = AnswerQuestion("How high is it?", (("30 m", "30 metres"),))
    answer = Answer("How high is it?", "It is 30 m high.", answered=True, short=short)
    assert judge_answer(question, answer).short_right is right


def test_no_short_answer_is_right_if_none_exists():
    answer = Answer("What price?", "It is 3 EUR.", answered=True, short="3 EUR")
    assert judge_answer(AnswerQuestion("What price?", ()), answer).short_right is False
