"""Points, ratings, questions and keywords are read from the lines that models really write."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.transform.model.mutations import HARMFUL, HARMLESS

from knotwork._inference.chat import ChatReply
from knotwork._retrieval.steps.query_transformation import parse_ratings
from knotwork._synthesis.engine import add_found
from knotwork._synthesis.mode_answers import (
    MOST_POINTS,
    ReportPoint,
    pack_points,
    parse_points,
    parse_questions,
)
from knotwork._text.token_counts import count_tokens
from knotwork.errors import Unparsable
from knotwork.records import Evidence, Hit, Query

LINES = (
    "90 | The mine was closed after the flood. [1][7]",
    "75 | The weir was built by the Keld family. [2]",
    "40 | 海外出差由主任审批。[3]",
    "5 | Shackles came from Tarnby, [4] and later from Corvane. [5]",
)
NUMBERS = frozenset(range(1, 8))


def points_of(text, finish="stop"):
    return parse_points(ChatReply(text, finish), NUMBERS)


def test_points_have_a_score_a_text_and_their_numbers():
    assert points_of("\n".join(LINES)).points == (
        ReportPoint(90, "The mine was closed after the flood.", (1, 7)),
        ReportPoint(75, "The weir was built by the Keld family.", (2,)),
        ReportPoint(40, "海外出差由主任审批。", (3,)),
        ReportPoint(5, "Shackles came from Tarnby, and later from Corvane.", (4, 5)),
    )


def around_a_score(harm):
    """Return True if a model might do this to a line that begins with a number."""
    harmed = harm(LINES[0])
    return harmed.lstrip("-|`1234567890. ").startswith(("0", "|", "｜", "\t", "The")) and not any(
        mark in harmed for mark in ("“", '"', "**")
    )


@pytest.mark.parametrize("harm", [harm for harm in HARMLESS if around_a_score(harm)])
def test_decoration_costs_no_point(harm):
    found = points_of("\n".join(harm(line) for line in LINES))
    assert [p.numbers for p in found.points] == [(1, 7), (2,), (3,), (4, 5)]


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("80 | It cites nothing.", False),
        ("80 | It cites what is not there. [99]", False),
        ("It has no score. [1]", False),
        ("0 | It does not help. [1]", False),
        ("80/100 | It is of a hundred. [1]", True),
        ("250 | It is beyond all measure. [1]", True),
        ("80 ｜ 宽的竖线。[1]", True),
        ("80 | [1]", False),
    ],
)
def test_a_line_without_a_source_is_dropped_and_counted(line, kept):
    found = points_of(f"{LINES[0]}\n{line}")
    assert len(found.points) == 1 + kept
    assert found.dropped == (not kept)
    assert all(1 <= p.score <= 100 for p in found.points)


@pytest.mark.parametrize("text", ["none", "None.", " none \n", "无", "没有。"])
def test_nothing_is_an_answer(text):
    assert points_of(text).points == ()
    assert points_of(text).dropped == 0


@pytest.mark.parametrize("text", ["", "\n", "I cannot help with that.", "80 | No source."])
def test_a_reply_without_a_usable_line_is_refused(text):
    with pytest.raises(Unparsable):
        points_of(text)


def test_cut_off_replies_are_not_used():
    assert len(points_of("\n".join(LINES[:2]), "length").points) == 1
    with pytest.raises(Unparsable):
        points_of(LINES[0], "filter")


@given(seed=st.integers(0, 10**9), count=st.integers(1, 4))
def test_a_harmed_line_costs_no_other(seed, count):
    chance = random.Random(seed)
    lines = list(LINES)
    for place in chance.sample(range(len(lines)), count):
        lines[place] = chance.choice(HARMFUL)(lines[place], chance)
    whole = [line for line in lines if line in LINES]
    try:
        found = points_of("\n".join(lines))
    except Unparsable:
        assert not whole
        return
    kept = {point.text for point in found.points}
    expected = [p.text for line in whole for p in points_of(line).points]
    assert set(expected) <= kept
    assert len(found.points) <= MOST_POINTS
    assert all(point.numbers and set(point.numbers) <= NUMBERS for point in found.points)


@given(st.text(max_size=300))
def test_any_reply_is_read_or_refused(text):
    for parse in (
        points_of,
        lambda t: parse_ratings(ChatReply(t), NUMBERS),
        lambda t: parse_questions(ChatReply(t), known=("Who?",), most=3),
    ):
        try:
            parse(text)
        except Unparsable:
            continue


@given(st.lists(st.integers(1, 100), max_size=12), st.integers(0, 200))
def test_points_are_packed_best_first_under_a_budget(scores, budget):
    points = [ReportPoint(s, f"Point number {i} of many.", (i + 1,)) for i, s in enumerate(scores)]
    kept = pack_points(points, budget_tokens=budget)
    assert sum(count_tokens(point.line) for point in kept) <= budget
    assert [p.score for p in kept] == sorted((p.score for p in kept), reverse=True)
    if scores and budget > 40:
        assert kept[0].score == max(scores)


def test_ratings_are_read_by_number_and_held_to_the_scale():
    reply = ChatReply("1 | 4\n- 2: 9\n3 | relevant\n44 | 5\n**5** | 0\n5 | 3")
    assert parse_ratings(reply, NUMBERS) == {1: 4, 2: 5, 5: 0}
    with pytest.raises(Unparsable):
        parse_ratings(ChatReply("All of them are relevant."), NUMBERS)


def test_further_questions_are_new_and_few():
    reply = ChatReply(
        "1. Who built the weir?\n- who built the weir\n* What was said?\nnone\n???\n"
        "2) Where is Corvane?\n谁审批出差？"
    )
    known = ("What was said?",)
    assert parse_questions(reply, known=known, most=9) == [
        "Who built the weir?",
        "Where is Corvane?",
        "谁审批出差？",
    ]
    assert len(parse_questions(reply, known=known, most=2)) == 2
    assert parse_questions(ChatReply("none"), known=(), most=3) == []
    long = parse_questions(ChatReply("What of the weir and the mill " * 40), known=(), most=3)
    assert count_tokens(long[0]) <= 61


def test_passages_found_by_keywords_follow_those_of_the_question():
    from tests.synthesis.written import make_evidence

    evidence, _ = make_evidence()
    first, *others = evidence.hits
    own = Evidence(Query("q", 3), "auto", (first,), 0.3)
    more = Evidence(Query("k", 3), "auto", tuple(Hit(h.chunk, 9.0) for h in others), 0.6)
    joined = add_found(own, more, keywords=("a", "b"))
    assert joined.hits[0].chunk.id == first.chunk.id
    assert {h.chunk.id for h in joined.hits} == {h.chunk.id for h in evidence.hits}
    assert all(h.score <= first.score / 2 for h in joined.hits[1:])
    assert joined.confidence == 0.6
    assert joined.notes == ("Also searched by: a, b.",)
