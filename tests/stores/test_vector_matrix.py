"""The matrix in memory follows its table through any changes, and old ones stay as they were."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork._stores.embedded.vector_index import VectorMatrix
from knotwork._stores.indexes import exact_scores

pytestmark = pytest.mark.slow


STORED = np.dtype("<f4")
steps = st.lists(
    st.tuples(
        st.sets(st.integers(0, 700), max_size=300), st.sets(st.integers(0, 700), max_size=200)
    ),
    max_size=8,
)


def row(key: int, version: int) -> np.ndarray:
    return np.array([key % 7, version, (key * version) % 11, 1], dtype=np.float32)


def all_of(matrix: VectorMatrix, query: np.ndarray) -> list[tuple[int, float]]:
    return matrix.search(query, k=10_000, where=None)


def expected(held: dict[int, np.ndarray], query: np.ndarray) -> list[tuple[int, float]]:
    scores = [(key, float(np.dot(value.astype(float), query))) for key, value in held.items()]
    return sorted(scores, key=lambda pair: (-pair[1], pair[0]))


@given(steps)
def test_changes_and_removals(changes) -> None:
    query = np.array([1, 2, 3, 4], dtype=np.float32)
    held: dict[int, np.ndarray] = {}
    matrix = VectorMatrix.load([], items=0, dimension=4, stored=STORED, version=0)
    history = []
    for version, (put, removed) in enumerate(changes, start=1):
        new = {key: row(key, version) for key in put}
        matrix = matrix.changed(
            [(key, value.tobytes()) for key, value in new.items()], stored=STORED, version=version
        )
        held = {key: value for key, value in (held | new).items() if key not in removed}
        matrix = matrix.restricted(np.array(sorted(held), dtype=np.int64))
        assert matrix.items == len(held)
        assert all_of(matrix, query) == expected(held, query)
        history.append((matrix, expected(held, query)))
    for old, found in history:
        assert all_of(old, query) == found


def test_a_crowd_of_near_ties_is_ordered_exactly() -> None:
    generator = np.random.default_rng(11)
    base = generator.normal(size=384)
    rows = (base + generator.normal(size=(5_000, 384)) * 1e-7).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    query = rows[17]
    keys = generator.permutation(5_000)
    pairs = [(int(key), value.tobytes()) for key, value in zip(keys, rows, strict=True)]
    matrix = VectorMatrix.load(pairs, items=5_000, dimension=384, stored=STORED, version=1)
    scores = exact_scores(rows, query)
    ranked = sorted(zip(keys.tolist(), scores.tolist(), strict=True), key=lambda p: (-p[1], p[0]))
    assert matrix.search(query, k=10, where=None) == ranked[:10]
    some = keys[:300].tolist()
    assert matrix.search(query, k=5, where=some) == [p for p in ranked if p[0] in set(some)][:5]


def test_equal_rows_score_equally_wherever_they_lie() -> None:
    generator = np.random.default_rng(3)
    rows = generator.normal(size=(9_000, 384)).astype(np.float32)
    rows[[0, 17, 4_095, 4_096, 8_999]] = rows[5]
    scores = exact_scores(rows, rows[6])
    assert len(set(scores[[0, 5, 17, 4_095, 4_096, 8_999]].tolist())) == 1
    alone = exact_scores(rows[5:6], rows[6])
    assert alone[0] == scores[5]
