"""Passages within a budget of characters or tokens, and how much of the gold they hold."""

import pytest
from benchmarks.retrieval.budgets import (
    first_characters,
    first_tokens,
    share_found,
    share_of_sentences_found,
    share_of_words_found,
    strip_marks,
)
from hypothesis import given
from hypothesis import strategies as st

from knotwork._text.token_counts import count_tokens


def test_characters_are_counted_without_marks():
    assert first_characters(["# 标题\n甲 乙", "**丙**丁"], 5) == "标题甲乙丙"


@given(st.lists(st.text("ab 中文1,\n", max_size=30), max_size=5), st.integers(1, 40))
def test_tokens_stay_in_the_budget_and_use_it(texts, budget):
    kept = first_tokens(texts, budget)
    joined = "\n".join(texts)
    assert joined.startswith(kept)
    assert count_tokens(kept) == min(budget, count_tokens(joined))


def test_a_passage_cut_by_the_budget_is_not_found_but_its_first_sentence_is():
    passage = "第一句话在这里。第二句话在那里。"
    text = strip_marks("开头 第一句话在这里。第二")
    assert share_found([passage], text) == 0
    assert share_of_sentences_found([passage], text) == 0.5
    assert share_found([passage, "开头"], text) == 0.5


def test_nothing_wanted_is_nothing_found():
    assert share_found([], "text") == share_of_sentences_found([], "text") == 0
    assert share_of_words_found(["the of"], "the of") == 0


def test_words_count_by_stem_once_and_without_function_words():
    reference = ["The colonel carries a derringer; the colonel carried it."]
    assert share_of_words_found(reference, "Derringers were carried") == pytest.approx(2 / 3)
