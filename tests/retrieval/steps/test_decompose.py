"""How rules take questions apart."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork._retrieval.steps.decompose import MOST_HOPS, split_question
from knotwork._retrieval.steps.query_transformation import BLANK
from knotwork.records import Span


def split(text, *names):
    return split_question(text, [Span(text.index(n), text.index(n) + len(n)) for n in names])


@pytest.mark.parametrize(
    ("text", "name", "parts"),
    [
        (
            "Who is the mother of the director of film Silver Lantern?",
            "Silver Lantern",
            ("the director of film Silver Lantern", "the mother of {}"),
        ),
        (
            "When did Olev Raud's father die?",
            "Olev Raud",
            ("Olev Raud's father", "When did {} die?"),
        ),
        (
            "Where was the place of death of Olev Raud's father?",
            "Olev Raud",
            ("Olev Raud's father", "the place of death of {}"),
        ),
        (
            "What county is the city where Marta Ilves was born in?",
            "Marta Ilves",
            ("the city where Marta Ilves was born in", "What county is {}?"),
        ),
        (
            "Who led the band that recorded Copper Kettle?",
            "Copper Kettle",
            ("the band that recorded Copper Kettle", "Who led {}?"),
        ),
        ("《银灯》的导演的母亲是谁？", "银灯", ("银灯》的导演", "{}的母亲")),
        ("《银灯》的导演出生在哪里？", "银灯", ("银灯》的导演", "《{}出生在哪里？")),
    ],
)
def test_nested_questions_begin_at_the_name(text, name, parts):
    plan = split(text, name)
    assert plan is not None
    assert not plan.side_by_side
    assert plan.parts[0] == parts[0]
    if text.isascii():
        assert plan.parts[: len(parts)] == parts


@pytest.mark.parametrize(
    ("text", "names", "parts"),
    [
        (
            "Which film came out first, Silver Lantern or Copper Kettle?",
            ("Silver Lantern", "Copper Kettle"),
            (
                "Which film came out first, Silver Lantern?",
                "Which film came out first, Copper Kettle?",
            ),
        ),
        (
            "Are Marta Ilves and Olev Raud of the same nationality?",
            ("Marta Ilves", "Olev Raud"),
            (
                "Are Marta Ilves of the same nationality?",
                "Are Olev Raud of the same nationality?",
            ),
        ),
        ("长江和黄河哪个更长？", ("长江", "黄河"), ("长江哪个更长？", "黄河哪个更长？")),
    ],
)
def test_comparing_questions_are_asked_of_each(text, names, parts):
    plan = split(text, *names)
    assert plan is not None
    assert plan.side_by_side
    assert plan.parts == parts


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("In what city was Marta Ilves born?", "Marta Ilves"),
        ("What is the capital of France?", "France"),
        ("Who directed Silver Lantern?", "Silver Lantern"),
        ("长江有多长？", "长江"),
        ("What is the silver birch?", "silver birch"),
    ],
)
def test_simple_questions_stay_whole(text, name):
    assert split(text, name) is None


def test_a_question_that_describes_is_left_alone():
    words = " ".join(f"w{n}ord" for n in range(20))
    assert split(f"Who is the mother of the director of Silver Lantern {words}?") is None


@given(st.text(max_size=60), st.integers(0, 60), st.integers(0, 60))
def test_any_text_is_split_or_left(text, one, other):
    start, end = sorted((min(one, len(text)), min(other, len(text))))
    plan = split_question(text, [Span(start, end)] if start < end else [])
    if plan is None:
        return
    assert 2 <= len(plan.parts) <= MOST_HOPS + 1
    if not plan.side_by_side:
        assert BLANK in plan.parts[-1]
