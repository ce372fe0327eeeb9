"""The short answer consists of whole words, and is given only if it is likely right."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork._synthesis.extractive_answers import (
    LONGEST_SHORT_ANSWER,
    choose_short_answer,
    complete_words,
)
from knotwork._text.statements import SelectedSentence
from knotwork.records import AnswerSpan, Chunk, Span


def complete(sentence, words):
    start = sentence.index(words)
    return complete_words(sentence, Span(start, start + len(words)), Span(0, len(sentence)))


@pytest.mark.parametrize(
    ("sentence", "words", "whole"),
    [
        ("It is kept in /etc/resolv.conf; another is not.", "/etc/resolv", "/etc/resolv.conf"),
        ("Open https://www.example.org/backup in a browser.", "https", "https://www.example.org/backup"),
        ("Use --keep-daily=7 for a week.", "keep-daily", "--keep-daily=7"),
        ("The default is one second (1s).", "one second (1s", "one second (1s)"),
        ("It sends the context (recursively) to it.", "recursively)", "recursively"),
        ("Secrets are in `/run/secrets` there.", "/run/secrets", "/run/secrets"),
        ("Use listen-on { none; }; to stop it.", "listen-on { none", "listen-on"),
        ("The toll is two crowns.", "two crowns.", "two crowns"),
        ("住宿费每晚不超过六百元。", "六百元。", "六百元"),
        ("默认值为10分钟（可改）。", "10分钟（可", "10分钟"),
        ("A file named .bashrc is read.", ".bashrc", ".bashrc"),
        ("It says “never again” twice.", "“never", "never"),
    ],
)  # fmt: skip
def test_words_are_made_whole(sentence, words, whole):
    assert complete(sentence, words) == whole


@given(
    st.text(alphabet="ab -./()[]`“”（）。, 中文", min_size=1, max_size=40),
    st.integers(0, 40),
    st.integers(0, 40),
)
def test_any_words_become_words_of_their_sentence(sentence, start, length):
    start = min(start, len(sentence) - 1)
    end = min(start + 1 + length, len(sentence))
    found = complete_words(sentence, Span(start, end), Span(0, len(sentence)))
    assert found in sentence
    assert found == found.strip()
    for opening, closing in ("()", "[]", "“”", "（）"):
        assert found.count(opening) == found.count(closing)


SENTENCE = "The default of the timeout is ten minutes."
PASSAGE = f"About timeouts. {SENTENCE} Others follow."
QUESTION = "What is the default of the timeout?"


def selected(words="ten minutes", *, probability=0.95):
    start = PASSAGE.index(words)
    chunk = Chunk("c", "d", "s", 0, Span(100, 100 + len(PASSAGE)), PASSAGE, ())
    at = 100 + PASSAGE.index(SENTENCE)
    answer = AnswerSpan(Span(start, start + len(words)), probability)
    return SelectedSentence(chunk, Span(at, at + len(SENTENCE)), SENTENCE, 1.0, 0, answer=answer)


def test_sure_words_are_the_short_answer():
    assert choose_short_answer(selected(), QUESTION, confidence=0.9) == "ten minutes"


def test_it_is_given_less_the_less_sure_each_estimate_is():
    assert choose_short_answer(selected(), QUESTION, confidence=0.25) == ""
    assert choose_short_answer(selected(probability=0.05), QUESTION, confidence=0.9) == ""


@pytest.mark.parametrize("words", ["The default of the timeout", "About timeouts", "the"])
def test_words_of_the_question_or_of_another_sentence_are_no_answer(words):
    assert choose_short_answer(selected(words), QUESTION, confidence=0.9) == ""


@pytest.mark.parametrize("question", ["Which directive limits the size?", "哪个选项限制大小？"])
def test_who_asks_for_a_name_gets_no_number(question):
    text = "A value of 0 means no limit."
    chunk = Chunk("c", "d", "s", 0, Span(0, len(text)), text, ())
    item = SelectedSentence(
        chunk, Span(0, len(text)), text, 1.0, 0, answer=AnswerSpan(Span(11, 12), 1.0)
    )
    assert choose_short_answer(item, question, confidence=0.99) == ""
    assert choose_short_answer(item, "Which value is it?", confidence=0.99) == "0"


@pytest.mark.parametrize("question", ["Is the default ten minutes?", "默认值是十分钟吗？"])
def test_yes_and_no_stand_in_no_sentence(question):
    assert choose_short_answer(selected(), question, confidence=0.99) == ""


def test_a_sentence_that_announces_others_has_no_short_answer():
    text = "The values of the timeout are as follows."
    chunk = Chunk("c", "d", "s", 0, Span(0, len(text)), text, ())
    answer = AnswerSpan(Span(4, 10), 1.0)
    item = SelectedSentence(chunk, Span(0, len(text)), text, 1.0, 0, answer=answer)
    assert choose_short_answer(item, "Which are allowed?", confidence=0.99) == ""


def test_what_was_not_read_has_no_short_answer():
    unread = dataclasses.replace(selected(), answer=None)
    assert choose_short_answer(unread, QUESTION, confidence=0.99) == ""


def test_a_long_clause_is_no_short_answer():
    long = "one of " + "many different " * (LONGEST_SHORT_ANSWER // 14) + "values"
    chunk = Chunk("c", "d", "s", 0, Span(0, len(long)), long, ())
    answer = AnswerSpan(Span(0, len(long)), 1.0)
    item = SelectedSentence(chunk, Span(0, len(long)), long, 1.0, 0, answer=answer)
    assert choose_short_answer(item, QUESTION, confidence=0.99) == ""
