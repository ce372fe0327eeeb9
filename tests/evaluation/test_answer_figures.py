"""The figures of judged answers against values computed by hand and by brute force."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork._extensions.evaluation.answer_runs import (
    AnswerJudgement,
    JudgedAnswer,
    compare_answers,
    measure_answers,
)
from knotwork._extensions.evaluation.metrics import calibration_error
from knotwork._extensions.evaluation.questions import AnswerQuestion
from knotwork.records import Answer, Usage

HIGH = AnswerQuestion("How high?", (("30 m",),), type="number", id="1")
OLD = AnswerQuestion("How old?", (("9",),), type="number", id="2")
WHO = AnswerQuestion("Who?", (("Ada",),), type="person", id="3")
PRICE = AnswerQuestion("What price?", (), type="none", id="4")
COLOUR = AnswerQuestion("Which colour?", (), type="none", id="5")


def judged(question, confidence, *, seconds=0.1, tokens=0, **truths):
    judgement = AnswerJudgement(**truths)
    answer = Answer(
        question.text,
        "text",
        answered=judgement.answered,
        confidence=confidence,
        usage=Usage(input_tokens=tokens),
    )
    return JudgedAnswer(question, answer, judgement, seconds, seconds / 2)


ANSWERS = [
    judged(
        HIGH,
        0.9,
        answered=True,
        right=True,
        right_first=True,
        found=True,
        cites_gold=True,
        noise=(False, True),
        words=10,
        tokens=200,
        short_right=True,
    ),
    judged(
        OLD, 0.7, answered=True, found=True, cites_gold=False, noise=(True,), words=20, seconds=0.3
    ),
    judged(WHO, 0.1, answered=False, cites_gold=None, found=False),
    judged(PRICE, 0.05, answered=False, seconds=0.2),
    judged(COLOUR, 0.8, answered=True, seconds=0.4, short_right=False),
]


def test_figures_are_means_over_the_questions_that_they_concern():
    measured = measure_answers(ANSWERS)
    assert measured.overall.questions == 5
    assert measured.overall.figures == pytest.approx(
        {
            "right": 1 / 3,
            "right_first": 1 / 3,
            "found": 2 / 3,
            "cited": 1 / 2,
            "noise": 2 / 3,  # of all three sentences
            "words": 15,
            "short": 2 / 3,  # of those that were answered
            "short_right": 1 / 2,
            "refused_rightly": 1 / 2,
            "refused_wrongly": 1 / 3,
            "auroc": 1.0,
            # The only ones of their tenths: |0.9 - 1|, 0.7, 0.8; in the first two: 0.05, and 0.1.
            "ece": (0.1 + 0.7 + 0.8 + 0.05 + 0.1) / 5,
            "median_ms": 200,
            "median_cpu_ms": 100,
            "tokens": 40,
        }
    )
    assert (measured.right.low, measured.right.mean) == pytest.approx((0.0615, 1 / 3), abs=1e-4)


def test_figures_of_a_type_leave_out_what_concerns_none_of_it():
    by_type = measure_answers(ANSWERS).by_type
    assert list(by_type) == ["number", "person", "none"]
    assert by_type["none"].figures == {
        "refused_rightly": 0.5,
        "short": 1.0,
        "short_right": 0.0,
    }
    assert by_type["number"].questions == 2
    assert by_type["number"].figures["right"] == 0.5
    assert set(by_type["person"].figures) == {"right", "right_first", "found", "refused_wrongly"}


def test_questions_without_types_are_not_grouped():
    plain = AnswerQuestion("How?", (("so",),))
    measured = measure_answers([judged(plain, 0.5, answered=True, right=True)])
    assert measured.by_type == {}
    assert "auroc" not in measured.overall.figures  # nothing is wrong


def test_no_answers_have_no_figures():
    with pytest.raises(ValueError, match="at least one"):
        measure_answers([])


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=60))
def test_the_area_and_the_calibration_error_match_their_definitions(pairs):
    answers = [judged(HIGH, c, answered=True, right=right) for c, right in pairs]
    measured = measure_answers(answers)
    good, bad = ([c for c, right in pairs if right is wanted] for wanted in (True, False))
    wins = [(g > b) + (g == b) / 2 for g, b in product(good, bad)]
    assert measured.overall.figures.get("auroc") == (pytest.approx(np.mean(wins)) if wins else None)
    confidences, rights = np.array(pairs, dtype=float).T
    places = np.minimum(np.searchsorted(np.arange(1, 10) / 10, confidences, side="right"), 9)
    gaps = [
        (places == place).mean()
        * abs(confidences[places == place].mean() - rights[places == place].mean())
        for place in set(places)
    ]
    assert measured.overall.figures["ece"] == pytest.approx(sum(gaps), abs=1e-9)


def test_answers_without_a_confidence_do_not_count_for_its_figures():
    counted = judged(HIGH, None, answered=True, right=True)
    both, without = (measure_answers(a).overall.figures for a in ([*ANSWERS, counted], ANSWERS))
    assert (both["ece"], both["auroc"]) == (without["ece"], without["auroc"])
    assert not {"ece", "auroc"} & measure_answers([counted]).overall.figures.keys()


def test_perfect_and_reversed_confidence_have_the_extreme_errors():
    assert calibration_error([1.0, 0.0], [True, False]) == 0
    assert calibration_error([0.0, 1.0], [True, False]) == 1
    with pytest.raises(ValueError, match="at least one"):
        calibration_error([], [])


def test_runs_are_compared_on_the_questions_that_a_figure_concerns_in_both():
    better = [
        *ANSWERS[:1],
        judged(
            OLD, 0.7, answered=True, right=True, found=True, cites_gold=True, noise=(False,),
            words=5,
        ),
        judged(WHO, 0.4, answered=True, words=100, noise=(True, True), found=False),
        *ANSWERS[3:],
    ]  # fmt: skip
    compared = {item.metric: item for item in compare_answers(ANSWERS, better, names=("a", "b"))}
    right = compared["right"]
    assert (right.first, right.second, right.wins, right.losses) == ("a", "b", 0, 1)
    assert right.difference == pytest.approx(-1 / 3)
    assert 0 < right.p_value <= 1
    # Who was refused by the first, so that its words and sentences have nothing to pair with.
    assert compared["words"].difference == pytest.approx((20 - 5) / 2)
    assert compared["noise"].difference == pytest.approx(1 / 2)
    assert compared["refused_wrongly"].difference == pytest.approx(1 / 3)
    assert compared["refused_rightly"].difference == 0


def test_runs_over_other_questions_are_not_compared():
    with pytest.raises(ValueError, match="same questions"):
        compare_answers(ANSWERS, ANSWERS[::-1], names=("a", "b"))
