"""Intervals, agreement and corrected means, against values computed by hand."""

import numpy as np
import pytest

from knotwork._extensions.evaluation.metrics import (
    accuracy,
    bootstrap_mean,
    cohen_kappa,
    estimate_mean,
    prediction_powered_mean,
)


def test_the_bootstrap_interval_is_near_the_normal_one():
    values = [n % 10 / 10 for n in range(400)]
    found = bootstrap_mean(values)
    margin = 1.96 * np.std(values) / 20
    assert found.mean == pytest.approx(0.45)
    assert found.low == pytest.approx(0.45 - margin, abs=0.004)
    assert found.high == pytest.approx(0.45 + margin, abs=0.004)
    assert found == bootstrap_mean(values)
    assert found != bootstrap_mean(values, seed=5)


def test_equal_values_have_an_interval_with_a_width():
    assert bootstrap_mean([1.0] * 5) == estimate_mean([1.0] * 5)
    assert bootstrap_mean([1.0] * 5).low < 0.6
    assert bootstrap_mean([]) is None


def test_a_large_bootstrap_is_drawn_in_blocks():
    values = [n % 2 for n in range(20_001)]
    found = bootstrap_mean(values)
    assert found.low < found.mean < found.high


def test_kappa_of_a_table():
    # 20 both yes, 5 first alone, 10 second alone, 15 both no: the example of Cohen's kappa
    labels = [True] * 25 + [False] * 25
    verdicts = [True] * 20 + [False] * 5 + [True] * 10 + [False] * 15
    assert accuracy(labels, verdicts) == 0.7
    assert cohen_kappa(labels, verdicts) == pytest.approx(0.4)
    assert cohen_kappa(labels, labels) == 1.0
    assert cohen_kappa([True, False], [False, True]) == -1.0
    assert cohen_kappa([True, True], [True, True]) is None
    with pytest.raises(ValueError, match="at least one"):
        accuracy([], [])


def test_a_prediction_powered_mean_by_hand():
    found = prediction_powered_mean([1, 1, 0, 1], [1, 1, 1, 0], [1, 0, 1, 0])
    assert found.shift == -0.25
    assert found.mean == 0.5
    # the variance of (1, 1, 0, 1), and that of the errors (0, -1, 0, 0), are 1/4
    assert found.high - found.mean == pytest.approx(1.959964 * (0.25 / 4 + 0.25 / 4) ** 0.5)
    assert prediction_powered_mean([1], [1, 1], [1, 1]) is None
    assert prediction_powered_mean([1, 1], [1], [1]) is None


def test_a_corrected_mean_covers_the_truth_where_the_judge_is_biased():
    chance, covered = np.random.default_rng(3), 0
    for _ in range(200):
        truth = chance.random(300) < 0.6
        judged = np.where(chance.random(300) < 0.2, True, truth)  # calls too many good
        found = prediction_powered_mean(
            judged[60:].astype(float).tolist(),
            judged[:60].astype(float).tolist(),
            truth[:60].astype(float).tolist(),
        )
        covered += found.low <= 0.6 <= found.high
    assert 180 <= covered <= 200
