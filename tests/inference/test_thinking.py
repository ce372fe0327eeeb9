"""Thinking is stripped from replies, in whole or in any pieces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork._inference.thinking import ThinkingHabit, ThinkingStripper, strip_thinking

PARTS = st.sampled_from(
    ["<think>", "</think>", "<THINK>", "<thinking>", "</thinking>", "[THINK]", "[/THINK]", "\n",
     " ", "<", "</", "[", ">", "think", "a", "word ", "答案", "<seed:think>", "</seed:think>"]
)  # fmt: skip


@pytest.mark.parametrize(
    ("raw", "kept"),
    [
        ("Plain.", "Plain."),
        ("<think>a\nb</think>\n\nYes.", "Yes."),
        ("\n\n <think>\n</think>Yes.", "Yes."),
        ("<Thinking>x</THINKING> Yes.", "Yes."),
        ("[THINK]x[/THINK]Yes.", "Yes."),
        ("<seed:think>x</seed:think>Yes.", "Yes."),
        ("<think>x</thinking></think>Yes.", "Yes."),
        ("<think>a</think>One.\n<think>b</think>\nTwo.", "One.\nTwo."),
        ("<think><think>a</think>Yes.", "Yes."),
        ("The tag <think> opens, </think> closes.", "The tag <think> opens, </think> closes."),
        ("so I begin\nin the prompt.\n</think>\n\nYes.", "Yes."),
        ("a </think>\nb\n</think>\nYes.", "Yes."),
        ("<think>never closed", ""),
        ("", ""),
        ("  \n", ""),
        ("<table>x</table>", "<table>x</table>"),
        ("<", "<"),
        ("[1] says so.", "[1] says so."),
        ('{"a": "<think>"}', '{"a": "<think>"}'),
        ("a\n<think", "a\n<think"),
    ],
)
def test_thinking_is_no_part_of_the_reply(raw, kept):
    assert strip_thinking(raw) == kept


def test_a_tag_that_stays_open_is_thinking_only_where_the_text_was_cut_off():
    raw = "Write\n<think>\nbefore it, then go on."
    assert strip_thinking(raw) == raw
    assert strip_thinking(raw, cut_off=True) == "Write\n"


def test_pieces_come_as_soon_as_they_are_certain():
    stripper = ThinkingStripper()
    assert [stripper.feed(p) for p in ("<thi", "nk>mm", "m</th", "ink>\n", "\nYes", ", <i>")] == [
        "", "", "", "", "Yes", ", <i>",
    ]  # fmt: skip
    assert stripper.feed("\n<") == "\n"
    assert stripper.finish() == "<"


@given(st.lists(PARTS, max_size=14), st.data(), st.booleans())
def test_where_pieces_break_makes_no_difference(parts, data, cut_off):
    raw = "".join(parts)
    places = sorted(data.draw(st.sets(st.integers(0, len(raw)), max_size=6)))
    pieces = [raw[a:b] for a, b in zip([0, *places], [*places, len(raw)], strict=True)]
    whole, split = ThinkingStripper(), ThinkingStripper()
    expected = whole.feed(raw) + whole.finish(cut_off=cut_off)
    assert "".join(map(split.feed, pieces)) + split.finish(cut_off=cut_off) == expected


@given(st.text("ab\n >/think", max_size=40), st.text("abc \n", max_size=20))
def test_a_block_before_the_reply_leaves_no_trace(thought, answer):
    assert strip_thinking(f"<think>{thought}</think>{answer}") == answer.lstrip()


def test_long_thinking_in_small_pieces_takes_linear_time():
    stripper = ThinkingStripper()
    fed = [stripper.feed("hmm, well ") for _ in range(20_000)]
    assert stripper.feed("<think>") == "<think>"
    assert len("".join(fed)) == 200_000
    stripper = ThinkingStripper()
    stripper.feed("<think>")
    assert not any(stripper.feed("mm</th ") for _ in range(20_000))
    assert len(stripper._held) < 100
    assert stripper.feed("</think>Yes.") == "Yes."


def read_pieces(habit, text, *, cut_off=False):
    stripper = habit.stripper()
    return "".join(map(stripper.feed, text)) + stripper.finish(cut_off=cut_off)


def test_a_model_that_begins_its_thinking_in_the_prompt_is_known_by_its_replies():
    habit = ThinkingHabit()
    assert habit.take_out("I wonder", cut_off=True) == "I wonder"
    assert habit.take_out("I wonder.\n</think>\n\nYes.") == "Yes."
    assert habit.take_out("I wonder", cut_off=True) == ""
    assert read_pieces(habit, "I wonder", cut_off=True) == ""
    assert read_pieces(habit, "I wonder.\n</think>\n\nYes.\n") == "Yes.\n"
    assert read_pieces(habit, "<think>I wonder.\n</think>\n\nYes.") == "Yes."
    assert read_pieces(habit, "No thought at all.") == "No thought at all."


def test_one_reply_that_quotes_a_tag_makes_no_habit():
    habit = ThinkingHabit()
    for _ in range(3):
        habit.take_out("Plain.")
    habit.take_out("It ends with\n</think>\n")
    assert habit.take_out("A list that is cut", cut_off=True) == "A list that is cut"
