"""Answers that are known, found in the words of a text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork._extensions.evaluation.metrics import contains_answer, is_verdict, normalize_as_squad


@pytest.mark.parametrize(
    ("text", "answer", "found"),
    [
        ("She was born in the U.S. in 1902.", "U.S.", True),
        ("He led The New York Times.", "new york times", True),
        ("He led the newest paper.", "new", False),
        ("It cost 1350 francs.", "35", False),
        ("It ran from 1990–1995.", "1995", True),
        ("全市共有35個行政區。", "35", True),
        ("全市共有135個行政區。", "35", False),
        ("是由韓國Nexon開發的遊戲，", "Nexon", True),
        ("首位總教練是約翰‧庫達爾。", "約翰·庫達爾", True),
        ("首位总教练是约翰。", "约翰逊", False),
        ("Ｐ２Ｐ 网络", "P2P", True),
    ],
)
def test_an_answer_is_found_as_whole_words(text, answer, found):
    assert contains_answer(text, [answer]) is found


def test_any_form_of_the_answer_will_do():
    assert contains_answer("He was a disc jockey.", ["DJ", "disc jockey"])


def test_an_answer_without_words_is_nowhere():
    assert not contains_answer("the cat", ["the", "…", ""])


@pytest.mark.parametrize(
    ("answers", "verdict"), [(["Yes"], True), (["no."], True), (["Norway"], False), ([], False)]
)
def test_yes_and_no_are_verdicts(answers, verdict):
    assert is_verdict(answers) is verdict


@given(st.text(max_size=40), st.text(max_size=10), st.text(max_size=40))
def test_a_text_with_the_answer_between_spaces_holds_it(before, answer, after):
    held = contains_answer(f"{before} {answer} {after}", [answer])
    # Letters may join over a space when they are composed: only then is it hidden.
    assert held or not normalize_as_squad(answer) or not f"{before}{answer}{after}".isascii()
