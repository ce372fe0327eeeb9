"""Vectors read by id are the same whether the matrix in memory gives them or the file."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from knotwork._stores.base import VectorIndex
from knotwork._stores.embedded import EmbeddedStore
from knotwork.records import content_id

_ITEMS = 40
_DIMENSION = 8


def _unit_rows(seed: int) -> np.ndarray:
    rows = np.random.default_rng(seed).normal(size=(_ITEMS, _DIMENSION)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def _put(index: VectorIndex, rows: dict[str, np.ndarray]) -> None:
    index.put((identifier, identifier, row[np.newaxis]) for identifier, row in rows.items())


def _check(index: VectorIndex, rows: dict[str, np.ndarray]) -> None:
    asked = [content_id(n) for n in range(_ITEMS + 5, -1, -2)] + ["unknown", content_id(0)]
    found = index.get(asked)
    assert list(found) == [i for i in dict.fromkeys(asked) if i in rows]
    for identifier, matrix in found.items():
        assert matrix.dtype == np.float32
        np.testing.assert_array_equal(matrix, rows[identifier][np.newaxis])


def test_reads_follow_writes_with_and_without_the_matrix(tmp_path: Path) -> None:
    with_matrix = EmbeddedStore.open(tmp_path / "index.knot", create=True)
    without = EmbeddedStore.open(tmp_path / "index.knot", read_only=True)
    index = with_matrix.vectors("chunk")
    expected: dict[str, np.ndarray] = {}
    for seed, changed in enumerate((range(_ITEMS), range(0, _ITEMS, 3), range(5))):
        rows = _unit_rows(seed)
        new = {content_id(n): rows[n] for n in changed}
        gone = [content_id(n) for n in range(seed, _ITEMS, 11)]
        with with_matrix.transaction():
            _put(index, new)
            index.remove(gone)
            expected = {i: row for i, row in (expected | new).items() if i not in gone}
            _check(index, expected)
        _check(index, expected)
        index.search(rows[0], k=3)
        _check(index, expected)
        _check(without.vectors("chunk"), expected)
    index.remove(list(expected))
    index.search(rows[0], k=3)
    _check(index, {})
    with_matrix.close()
    without.close()
