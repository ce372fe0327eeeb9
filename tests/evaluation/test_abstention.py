"""The curve of right against wrong abstention."""

import math
from itertools import pairwise

from benchmarks.retrieval.abstention import abstention_curve
from hypothesis import given
from hypothesis import strategies as st

from knotwork._extensions.evaluation.metrics import separation

confidences = st.lists(st.floats(0, 1), min_size=1, max_size=20)


def test_shares_are_counted_below_the_threshold():
    (point,) = abstention_curve([0.4, 0.5, 0.9, 0.9], [0.1, 0.5], thresholds=[0.5])
    assert (point.unanswerable, point.answerable) == (0.5, 0.25)


@given(confidences, confidences)
def test_a_higher_threshold_never_abstains_less(answerable, unanswerable):
    curve = abstention_curve(answerable, unanswerable)
    assert curve[0].unanswerable == curve[0].answerable == 0
    for lower, higher in pairwise(curve):
        assert lower.unanswerable <= higher.unanswerable
        assert lower.answerable <= higher.answerable


@given(confidences, confidences)
def test_separation_is_the_share_of_pairs_in_order(answerable, unanswerable):
    pairs = [(a > u) + 0.5 * (a == u) for a in answerable for u in unanswerable]
    assert math.isclose(separation(answerable, unanswerable), sum(pairs) / len(pairs))
    assert math.isclose(
        separation(answerable, unanswerable) + separation(unanswerable, answerable), 1
    )


def test_separation_of_nothing_is_not_a_number():
    assert math.isnan(separation([], [0.5]))
