"""Cosines of all embedders on one scale: 0 for unrelated texts, 1 for equal ones."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork._inference.embedder import baseline_cosine, to_similarity

pytestmark = pytest.mark.slow


NARROW = [
    "local:multilingual-e5-small",
    "local:multilingual-e5-large",
    "local:intfloat/e5-base-v2",
    "openai:text-embedding-ada-002",
]
PLAIN = ["local:all-MiniLM-L6-v2", "hashing:256", "openai:text-embedding-3-small", "", "mine:e5"]
cosines = st.floats(-1.0, 1.0)


@pytest.mark.parametrize("name", NARROW)
def test_the_baseline_becomes_0_and_1_stays(name):
    baseline = baseline_cosine(name)
    assert 0.5 < baseline < 1
    assert to_similarity(baseline, name) == 0
    assert to_similarity(1.0, name) == 1
    assert to_similarity(baseline - 0.1, name) < 0
    assert to_similarity((1 + baseline) / 2, name) == pytest.approx(0.5)


@pytest.mark.parametrize("name", PLAIN)
@given(cosine=cosines)
def test_embedders_without_a_known_baseline_are_left_alone(name, cosine):
    assert baseline_cosine(name) == 0
    assert to_similarity(cosine, name) == cosine


@pytest.mark.parametrize("name", NARROW + PLAIN)
@given(values=st.lists(cosines.map(lambda value: round(value, 6)), min_size=2, max_size=20))
def test_the_order_stays(name, values):
    before = np.array(values)
    after = to_similarity(before, name)
    assert np.array_equal(np.argsort(before, kind="stable"), np.argsort(after, kind="stable"))
    assert [to_similarity(value, name) for value in values] == pytest.approx(after.tolist())


@pytest.mark.parametrize("name", NARROW + PLAIN)
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_arrays_keep_their_shape_and_type_and_are_not_changed(name, kind):
    rows = np.linspace(-1, 1, 12, dtype=kind).reshape(3, 4)
    before = rows.copy()
    moved = to_similarity(rows, name)
    assert (moved.shape, moved.dtype) == (rows.shape, rows.dtype)
    assert np.array_equal(rows, before)
