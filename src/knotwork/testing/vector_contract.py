"""What every `VectorIndex` does: exact search, ties, filters, content keys, removal."""

from __future__ import annotations

import numpy as np
import pytest

from knotwork.errors import DimensionMismatch, StoreError
from knotwork.records import content_id
from knotwork.stores.base import FloatMatrix, ReplacesVectors, Scored, Store
from knotwork.stores.staging import staged_name

_IDS = sorted(content_id("vector", n) for n in range(60))
_ABSENT = content_id("absent")


def unit_rows(count: int, dimension: int = 16, *, seed: int = 7) -> FloatMatrix:
    """Return random unit rows."""
    rows = np.random.default_rng(seed).normal(size=(count, dimension))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows.astype(np.float32)


class VectorIndexContract:
    """Behaviour of a `VectorIndex`. Subclass it and supply the fixture ``store``."""

    def test_search_is_exact(self, store: Store) -> None:
        rows, query = unit_rows(60), unit_rows(1, seed=1)[0]
        index = store.vectors("chunk")
        index.put((i, i, row[None]) for i, row in zip(_IDS, rows, strict=True))
        scores = rows.astype(np.float64) @ query.astype(np.float64)
        order = np.argsort(-scores)[:10]
        found = index.search(query, k=10)
        assert [scored.id for scored in found] == [_IDS[n] for n in order]
        assert [scored.score for scored in found] == pytest.approx(
            scores[order].tolist(), abs=1e-12
        )
        assert len(index.search(query, k=999)) == 60
        assert index.search(query, k=0) == []

    def test_equal_rows_score_equally_and_come_by_id(self, store: Store) -> None:
        row, query = unit_rows(1, 384), unit_rows(1, 384, seed=1)[0]
        index = store.vectors("chunk")
        index.put((i, i, row) for i in reversed(_IDS))
        found = index.search(query, k=5)
        assert [scored.id for scored in found] == _IDS[:5]
        assert len({scored.score for scored in found}) == 1

    def test_where_filters_before_the_cut(self, store: Store) -> None:
        rows, query = unit_rows(60), unit_rows(1, seed=2)[0]
        index = store.vectors("chunk")
        index.put((i, i, row) for i, row in zip(_IDS, rows, strict=True))
        among = [*_IDS[5:25], _ABSENT, "no id"]
        expected = [s for s in index.search(query, k=99) if s.id in among]
        assert index.search(query, k=3, where=among) == expected[:3]
        assert index.search(query, k=99, where=among) == expected
        assert index.search(query, k=3, where=[]) == []

    def test_matrices_come_back(self, store: Store) -> None:
        half = unit_rows(5).astype(np.float16).astype(np.float32)
        index = store.vectors("sentence")
        index.put([(_IDS[0], "k", half[:3]), (_IDS[1], "k", half[3:]), (_IDS[2], "l", half[:0])])
        found = index.get([_IDS[1], _ABSENT, _IDS[0], _IDS[2]])
        assert list(found) == [_IDS[1], _IDS[0], _IDS[2]]
        assert all(matrix.dtype == np.float32 for matrix in found.values())
        np.testing.assert_array_equal(found[_IDS[0]], half[:3])
        np.testing.assert_array_equal(found[_IDS[1]], half[3:])
        assert found[_IDS[2]].shape == (0, 16)
        assert index.count() == 3

    def test_sentences_keep_three_digits(self, store: Store) -> None:
        rows = unit_rows(4)
        store.vectors("sentence").put([(_IDS[0], "k", rows)])
        np.testing.assert_allclose(store.vectors("sentence").get(_IDS)[_IDS[0]], rows, atol=5e-4)

    def test_matrices_of_many_rows_are_not_searched(self, store: Store) -> None:
        index = store.vectors("sentence")
        index.put([(_IDS[0], "k", unit_rows(3)), (_IDS[1], "k", unit_rows(1))])
        with pytest.raises(StoreError, match="matrices"):
            index.search(unit_rows(1)[0], k=1)
        index.put([(_IDS[0], "k", unit_rows(1))])
        assert len(index.search(unit_rows(1)[0], k=5)) == 2

    def test_content_keys_find_matrices(self, store: Store) -> None:
        rows = unit_rows(3)
        index = store.vectors("chunk")
        index.put((i, key, row) for i, key, row in zip(_IDS, ["a", "b", "b"], rows, strict=False))
        found = index.by_key(["b", "absent", "a"])
        assert sorted(found) == ["a", "b"]
        np.testing.assert_array_equal(found["b"], rows[1:2])
        index.remove([_IDS[1]])
        np.testing.assert_array_equal(index.by_key(["b"])["b"], rows[2:])

    def test_putting_again_replaces(self, store: Store) -> None:
        rows = unit_rows(3)
        index = store.vectors("chunk")
        index.put([(_IDS[0], "a", rows[0]), (_IDS[1], "b", rows[1])])
        index.search(rows[2], k=1)
        index.put([(_IDS[0], "c", rows[2])])
        assert index.search(rows[2], k=1)[0].id == _IDS[0]
        assert sorted(index.by_key(["a", "b", "c"])) == ["b", "c"]
        assert index.count() == 2

    def test_search_follows_changes(self, store: Store) -> None:
        rows, query = unit_rows(60), unit_rows(1, seed=3)[0]
        index = store.vectors("chunk")
        held: dict[str, FloatMatrix] = {}
        for start in range(0, 60, 12):
            new = dict(zip(_IDS[start : start + 12], rows[start : start + 12], strict=True))
            index.put((i, i, row) for i, row in new.items())
            held |= new
            assert index.search(query, k=99) == _ranked(held, query)
            moved = dict.fromkeys(list(held)[1::9], rows[(start + 30) % 60])
            index.put((i, i, row) for i, row in moved.items())
            held |= moved
            assert index.search(query, k=99) == _ranked(held, query)
            gone = list(held)[::5]
            index.remove([*gone, _ABSENT])
            for identifier in gone:
                del held[identifier]
            assert index.search(query, k=99) == _ranked(held, query)
            assert index.count() == len(held)

    def test_another_length_is_refused(self, store: Store) -> None:
        index = store.vectors("chunk")
        index.put([(_IDS[0], "a", unit_rows(1, 8))])
        with pytest.raises(DimensionMismatch, match="8"):
            index.put([(_IDS[1], "b", unit_rows(1, 8)), (_IDS[2], "c", unit_rows(1, 9))])
        with pytest.raises(DimensionMismatch, match="9"):
            index.search(unit_rows(1, 9)[0], k=1)
        assert index.count() == 1

    def test_an_empty_index_answers(self, store: Store) -> None:
        index = store.vectors("chunk")
        assert index.search(unit_rows(1)[0], k=3) == []
        assert (index.get(_IDS), index.by_key(["a"]), index.count()) == ({}, {}, 0)
        index.remove(_IDS)
        index.put([])
        assert index.count() == 0

    def test_indexes_are_apart(self, store: Store) -> None:
        store.vectors("chunk").put([(_IDS[0], "a", unit_rows(1, 8))])
        store.vectors("entity").put([(_IDS[1], "a", unit_rows(1, 9))])
        assert list(store.vectors("chunk").get(_IDS)) == [_IDS[0]]
        assert list(store.vectors("entity").get(_IDS)) == [_IDS[1]]


class VectorReplacementContract:
    """Behaviour of a store that `ReplacesVectors`. Subclass it and supply the fixture ``store``."""

    def test_replaced_vectors_are_those_of_the_source(self, store: Store) -> None:
        assert isinstance(store, ReplacesVectors)
        old, new = unit_rows(40), unit_rows(50, seed=2)
        query = unit_rows(1, seed=1)[0]
        index, source = store.vectors("chunk"), store.vectors(staged_name("chunk"))
        index.put((i, "old", row[None]) for i, row in zip(_IDS, old, strict=False))
        source.put((i, f"new {i}", row[None]) for i, row in zip(_IDS, new, strict=False))
        index.remove(_IDS[30:40])  # the last write to the index is later than that to the source
        held = dict(zip(_IDS, old[:30], strict=False))
        assert index.search(query, k=99) == _ranked(held, query)
        store.replace_vectors("chunk", staged_name("chunk"))
        held = dict(zip(_IDS, new, strict=False))
        assert index.search(query, k=99) == _ranked(held, query)
        assert index.count() == 50
        assert source.count() == 0
        assert index.by_key(["old"]) == {}
        np.testing.assert_array_equal(index.by_key([f"new {_IDS[3]}"])[f"new {_IDS[3]}"], new[3:4])
        index.put([(_IDS[55], "later", old[:1])])
        held[_IDS[55]] = old[0]
        assert index.search(query, k=99) == _ranked(held, query)

    def test_the_new_vectors_may_be_of_another_length(self, store: Store) -> None:
        assert isinstance(store, ReplacesVectors)
        for name, rows in (("chunk", 1), ("sentence", 3)):
            index, source = store.vectors(name), store.vectors(staged_name(name))
            index.put([(_IDS[0], "old", unit_rows(rows, 8)), (_IDS[1], "old", unit_rows(rows, 8))])
            for _ in range(2):  # the name of the source can be used again
                source.put([(_IDS[0], "new", unit_rows(rows, 12))])
                direct = source.get(_IDS)[_IDS[0]]
                store.replace_vectors(name, staged_name(name))
                np.testing.assert_array_equal(index.get(_IDS)[_IDS[0]], direct)
                assert list(index.get(_IDS)) == [_IDS[0]]
                np.testing.assert_allclose(direct, unit_rows(rows, 12), atol=5e-4)
        assert store.vectors("chunk").search(unit_rows(1, 12)[0], k=9)[0].id == _IDS[0]

    def test_staged_rows_are_rounded_as_those_in_use(self, store: Store) -> None:
        rows = unit_rows(4)
        for name in ("chunk", "sentence"):
            store.vectors(name).put([(_IDS[0], "k", rows)])
            store.vectors(staged_name(name)).put([(_IDS[0], "k", rows)])
            np.testing.assert_array_equal(
                store.vectors(name).get(_IDS)[_IDS[0]],
                store.vectors(staged_name(name)).get(_IDS)[_IDS[0]],
            )

    def test_an_empty_source_empties_the_index(self, store: Store) -> None:
        assert isinstance(store, ReplacesVectors)
        store.vectors("entity").put([(_IDS[0], "old", unit_rows(1, 8))])
        store.replace_vectors("entity", staged_name("entity"))
        assert store.vectors("entity").count() == 0
        assert store.vectors("entity").search(unit_rows(1)[0], k=1) == []

    def test_cleared_vectors_are_gone_and_the_index_can_be_used_again(self, store: Store) -> None:
        assert isinstance(store, ReplacesVectors)
        store.clear_vectors("chunk")
        index = store.vectors("chunk")
        index.put([(_IDS[0], "old", unit_rows(1, 8))])
        assert index.search(unit_rows(1, 8)[0], k=1)
        store.clear_vectors("chunk")
        assert (index.count(), index.get(_IDS)) == (0, {})
        index.put([(_IDS[1], "new", unit_rows(1, 8, seed=3))])
        assert [scored.id for scored in index.search(unit_rows(1, 8)[0], k=9)] == [_IDS[1]]

    def test_a_failed_transaction_replaces_nothing(self, store: Store) -> None:
        assert isinstance(store, ReplacesVectors)
        index, source = store.vectors("chunk"), store.vectors(staged_name("chunk"))
        index.put([(_IDS[0], "old", unit_rows(1, 8))])
        source.put([(_IDS[0], "new", unit_rows(1, 9))])

        def fail() -> None:
            assert isinstance(store, ReplacesVectors)
            with store.transaction():
                store.replace_vectors("chunk", staged_name("chunk"))
                assert index.get(_IDS)[_IDS[0]].shape == (1, 9)
                raise KeyError

        with pytest.raises(KeyError):
            fail()
        assert index.get(_IDS)[_IDS[0]].shape == (1, 8)
        assert source.get(_IDS)[_IDS[0]].shape == (1, 9)


def _ranked(held: dict[str, FloatMatrix], query: FloatMatrix) -> list[Scored]:
    wide = query.astype(np.float64)
    scored = [Scored(i, float((row.astype(np.float64) * wide).sum())) for i, row in held.items()]
    return sorted(scored, key=lambda s: (-s.score, s.id))
