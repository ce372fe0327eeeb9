"""The kind of answer that a question expects, and the sentences that have it."""

import pytest

from knotwork._questions.reading import AnswerKind, reading_of


@pytest.mark.parametrize(
    ("question", "kinds"),
    [
        ("How long does pg_ctl wait?", {AnswerKind.AMOUNT}),
        ("What is the default port?", {AnswerKind.AMOUNT, AnswerKind.DEFAULT}),
        ("Which lock is taken unless told otherwise?", {AnswerKind.DEFAULT}),
        ("When was it founded?", {AnswerKind.DATE}),
        ("When I press a key, what happens?", set()),
        ("口令最长能输入几位？", {AnswerKind.AMOUNT}),
        ("默认的端口是多少？", {AnswerKind.AMOUNT, AnswerKind.DEFAULT}),
        ("公司是哪年成立的？", {AnswerKind.DATE}),
        ("Who founded it?", set()),
        ("", set()),
    ],
)
def test_expected_kinds_of_answers(question, kinds):
    assert reading_of(question).expected.kinds == kinds


@pytest.mark.parametrize(
    ("question", "sentence", "met"),
    [
        ("How long does it wait?", "It waits one second.", 1.0),
        ("How long does it wait?", "It waits.", 0.0),
        ("How many of the 30 files are kept?", "Of 30 files, all are kept.", 0.0),
        ("How many of the 30 files are kept?", "Of 30 files, 12 are kept.", 1.0),
        ("What is the default limit?", "The default is 100.", 1.0),
        ("What is the default limit?", "The default is set at the start.", 0.5),
        ("What is the default limit?", "At most 100 are allowed.", 0.5),
        ("Which mode is the default?", "The default is strict.", 1.0),
        ("When was it founded?", "It was founded in 1993.", 1.0),
        ("When was it founded?", "It was founded in a garage.", 0.0),
        ("默认等多久？", "默认为 60 秒。", 1.0),
        ("最多几个？", "最多三个。", 1.0),
        ("Who founded it?", "In 1993 two people founded it.", 0.0),
    ],
)
def test_how_far_a_sentence_has_it(question, sentence, met):
    assert reading_of(question).expected.met_by(sentence) == met
