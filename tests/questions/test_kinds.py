"""The kind of answer that a question expects is read from its words, in English and Chinese."""

import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork._questions.reading import KINDS, QuestionKind, read_kinds

ASKED = [
    tuple(line.split("\t"))
    for line in Path(__file__).with_name("asked_kinds.tsv").read_text("utf-8").splitlines()
]


def read_kind(question):
    """The most probable kind."""
    return next(iter(read_kinds(question)))


def share_right(rows):
    return sum(read_kind(question) == kind for kind, _, question in rows) / len(rows)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_most_questions_are_read_rightly(language):
    assert share_right([row for row in ASKED if row[1] == language]) >= 0.85


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_read_in_both_languages(kind):
    for language in ("en", "zh"):
        assert share_right([row for row in ASKED if row[:2] == (kind, language)]) > 0.5


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("How many wheels does the cart have?", QuestionKind.VALUE),
        ("How many documents mention the cart?", QuestionKind.COUNT),
        ("What is the price of the cart?", QuestionKind.VALUE),
        ("What is a cart?", QuestionKind.DEFINITION),
        ("Is the cart heavy?", QuestionKind.YES_NO),
        ("Is the cart heavier than the wagon?", QuestionKind.COMPARISON),
        ("How do I repair the cart?", QuestionKind.STEPS),
        ("How is the Cart interface implemented?", QuestionKind.CODE),
        ("Summarize the document about the cart.", QuestionKind.SUMMARY_ONE),
        ("Summarize all documents.", QuestionKind.SUMMARY_ALL),
    ],
)
def test_like_questions_of_other_kinds_are_distinguished(question, kind):
    assert read_kind(question) == kind


@pytest.mark.parametrize(
    "question", ["", " \n\t", "?", "？！。", "-- // ++", "🙂🎉", "\u200b", "…"]
)
def test_a_question_without_words_asks_for_a_value(question):
    assert read_kinds(question)[QuestionKind.VALUE] == 1
    assert read_kind(question) == QuestionKind.VALUE


@pytest.mark.parametrize(
    ("question", "other"),
    [
        ("Why does the lamp flicker?", "WHY DOES THE LAMP FLICKER"),
        ("What is the boiling point?", "Ｗｈａｔ　ｉｓ　ｔｈｅ　ｂｏｉｌｉｎｇ　ｐｏｉｎｔ？"),
        ("灯为什么会闪？", "燈為什麼會閃"),
        ("有哪些签证？", "有哪些簽證"),
    ],
)
def test_case_width_signs_and_traditional_characters_change_nothing(question, other):
    assert read_kinds(question) == read_kinds(other)


def test_a_long_question_is_read_by_its_start_and_end():
    story = "We bought the lamp last year and put it in the hall. " * 4000
    assert read_kind(f"{story} Why does the lamp flicker?") == QuestionKind.REASON


def test_an_emoji_changes_no_kind():
    assert read_kind("Why does the lamp flicker? 🙂") == QuestionKind.REASON


@given(st.text())
def test_any_text_has_a_probability_of_each_kind(text):
    found = read_kinds(text)
    assert set(found) == set(QuestionKind)
    assert sum(found.values()) == pytest.approx(1)
    assert list(found.values()) == sorted(found.values(), reverse=True)
    assert all(0 <= value <= 1 for value in found.values())
    assert next(iter(found)) == read_kind(text)


@given(st.sampled_from(ASKED))
def test_no_question_depends_on_how_its_characters_are_composed(row):
    assert read_kinds(unicodedata.normalize("NFD", row[2])) == read_kinds(row[2])


@pytest.mark.slow
def test_other_processes_read_the_same():
    code = (
        "import sys; from knotwork._questions.reading import read_kinds;"
        "print({str(k): v for q in sys.argv[1:] for k, v in read_kinds(q).items()})"
    )
    questions = ["Why does the lamp flicker?", "列出评委会的成员"]
    seen = {
        subprocess.run(
            [sys.executable, "-c", code, *questions],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            check=True,
            capture_output=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(seen) == 1
