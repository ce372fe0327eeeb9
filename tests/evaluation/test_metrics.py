"""Metrics on rankings worked out by hand, significance against scipy."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from knotwork._extensions.evaluation.metrics import (
    METRICS,
    all_gold,
    compare_paired,
    estimate_mean,
    hits,
    recall,
    reciprocal_rank,
)


def test_recall_counts_facts_not_passages():
    gold = [{"a", "b"}, {"c"}]
    assert recall(["b", "a", "x"], gold, k=2) == 0.5
    assert recall(["b", "c"], gold, k=2) == 1.0
    assert recall(["x", "y", "c"], gold, k=2) == 0.0
    assert recall([], gold, k=5) == 0.0


def test_all_gold_needs_every_fact():
    gold = [{"a"}, {"c"}]
    assert all_gold(["a", "x", "c"], gold, k=3) == 1.0
    assert all_gold(["a", "x", "c"], gold, k=2) == 0.0
    assert all_gold(["a"], [], k=2) == 0.0


def test_one_fact_is_a_hit():
    gold = [{"a", "b"}, {"c"}]
    assert hits(["x", "b"], gold, k=2) == 1.0
    assert hits(["x", "b"], gold, k=1) == 0.0
    assert hits(["a"], [], k=1) == 0.0


def test_reciprocal_rank_is_of_the_first_gold_passage():
    assert reciprocal_rank(["x", "c", "a"], [{"a"}, {"c"}]) == 0.5
    assert reciprocal_rank(["x"], [{"a"}]) == 0.0


def test_every_metric_is_a_fraction():
    for measure in METRICS.values():
        assert 0.0 <= measure(["a", "b"], [{"b"}]) <= 1.0


def test_comparison_agrees_with_scipy():
    rng = np.random.default_rng(3)
    first = rng.choice([0, 0.5, 1], size=40, p=[0.2, 0.3, 0.5])
    second = rng.choice([0, 0.5, 1], size=40, p=[0.4, 0.3, 0.3])
    ours = compare_paired(first.tolist(), second.tolist())
    theirs = stats.permutation_test(
        (first, second),
        lambda a, b: np.mean(a - b),
        permutation_type="samples",
        n_resamples=10_000,
        rng=np.random.default_rng(4),
    )
    assert ours.difference == pytest.approx(float(np.mean(first - second)))
    assert ours.p_value == pytest.approx(theirs.pvalue, abs=0.02)
    assert ours.wins == int((first > second).sum())
    assert ours.losses == int((first < second).sum())


def test_equal_runs_do_not_differ():
    comparison = compare_paired([1, 0.5], [1, 0.5])
    assert (comparison.difference, comparison.p_value) == (0.0, 1.0)
    with pytest.raises(ValueError, match="differ in length: 1 and 2"):
        compare_paired([1], [1, 0])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_the_interval_of_a_mean_holds_it_and_narrows_with_more_values(values):
    found = estimate_mean(values)
    assert 0 <= found.low <= found.mean <= found.high <= 1
    assert found.low < found.high
    more = estimate_mean(values * 4)
    assert more.high - more.low < found.high - found.low


def test_the_interval_of_a_share_matches_scipy():
    for found_in, number in ((0, 5), (3, 10), (10, 10), (90, 400)):
        found = estimate_mean([1.0] * found_in + [0.0] * (number - found_in))
        expected = stats.binomtest(found_in, number).proportion_ci(method="wilson")
        assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-6)
    assert estimate_mean([]) is None


def test_many_questions_are_compared_without_much_memory():
    chance = np.random.default_rng(3)
    first = chance.random(9_000)
    second = np.clip(first + chance.normal(0.002, 0.1, 9_000), 0, 1)
    tracemalloc.start()
    compared = compare_paired(first, second)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    expected = stats.ttest_rel(first, second).pvalue
    assert most < 200_000_000
    assert compared.p_value == pytest.approx(expected, abs=0.03)
