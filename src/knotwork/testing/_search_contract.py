"""Contract suites for the full-text and vector indexes of a store.

Full text: BM25 with known numbers. Vectors: exact search, content keys, replacement. Both: ties,
filters, removal.
"""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from knotwork._stores.base import FloatMatrix, Scored, Store
from knotwork._stores.parts import require_vector_replacement
from knotwork._stores.vectors import staged_name
from knotwork._text.terms import content_terms, terms
from knotwork.errors import DimensionMismatch, StoreError
from knotwork.records import content_id

_TEXT_IDS = sorted(content_id("item", n) for n in range(9))
_ABSENT = content_id("absent")
_TEXTS = [
    "The quick brown fox",
    "A lazy dog sleeps; the dog dreams of foxes",
    "北京是中华人民共和国的首都",
    "臺北市立動物園",
    "Foxes and dogs and cats",
    "3.5 percent of 1,000",
    "an unrelated sentence about nothing",
    "another unrelated sentence about nothing",
    "",
]


def bm25(texts: dict[str, str], query: str) -> dict[str, float]:
    """Return BM25 scores by the published formula (Robertson and Zaragoza, 2009)."""
    counts = {key: Counter(terms(text)) for key, text in texts.items()}
    mean = sum(c.total() for c in counts.values()) / len(counts)
    scores: dict[str, float] = {}
    for term in set(content_terms(query)):
        holders = [key for key, count in counts.items() if term in count]
        odds = (len(texts) - len(holders) + 0.5) / (len(holders) + 0.5)
        idf = math.log(odds) if odds > 1 else 1e-6
        for key in holders:
            times = counts[key][term]
            norm = 1.2 * (0.25 + 0.75 * counts[key].total() / mean)
            scores[key] = scores.get(key, 0.0) + idf * times * 2.2 / (times + norm)
    return scores


class TextIndexContract:
    """Tests of a `TextIndex`. Subclass it and define the fixture ``store``."""

    @pytest.mark.parametrize(
        "query", ["fox", "Which dog dreams?", "首都", "动物园", "3.5%", "1000"]
    )
    def test_scores_are_those_of_the_formula(self, store: Store, query: str) -> None:
        texts = dict(zip(_TEXT_IDS, _TEXTS, strict=True))
        index = store.texts("chunk")
        index.add(texts.items())
        expected = bm25(texts, query)
        found = index.search(query, k=99)
        assert found
        assert {i: pytest.approx(score, abs=1e-9) for i, score in found} == expected
        assert found == sorted(found, key=lambda s: (-s.score, s.id))
        assert index.search(query, k=1) == found[:1]

    def test_equal_scores_come_by_id(self, store: Store) -> None:
        store.texts("chunk").add([(i, "same words") for i in reversed(_TEXT_IDS)])
        found = store.texts("chunk").search("words", k=4)
        assert [scored.id for scored in found] == _TEXT_IDS[:4]
        assert len({scored.score for scored in found}) == 1

    def test_stop_words_count_only_alone(self, store: Store) -> None:
        index = store.texts("chunk")
        index.add(
            [
                (_TEXT_IDS[0], "the cat"),
                (_TEXT_IDS[1], "the hat"),
                (_TEXT_IDS[2], "x"),
                (_TEXT_IDS[3], "y"),
            ]
        )
        assert [s.id for s in index.search("the cat", k=9)] == [_TEXT_IDS[0]]
        assert [s.id for s in index.search("the", k=9)] == _TEXT_IDS[:2]

    def test_where_filters_before_the_cut(self, store: Store) -> None:
        index = store.texts("chunk")
        index.add([(i, "dog " * (9 - n)) for n, i in enumerate(_TEXT_IDS)])
        found = index.search(
            "dog", k=2, where=[_TEXT_IDS[7], _TEXT_IDS[5], _TEXT_IDS[8], _ABSENT, "no id"]
        )
        everywhere = index.search("dog", k=99)
        assert (
            found
            == [s for s in everywhere if s.id in {_TEXT_IDS[5], _TEXT_IDS[7], _TEXT_IDS[8]}][:2]
        )
        assert index.search("dog", k=2, where=[]) == []

    def test_adding_again_replaces(self, store: Store) -> None:
        index = store.texts("chunk")
        index.add([(_TEXT_IDS[0], "old text"), (_TEXT_IDS[1], "other")])
        index.add([(_TEXT_IDS[0], "new text")])
        assert index.search("old", k=9) == []
        assert [s.id for s in index.search("new", k=9)] == [_TEXT_IDS[0]]
        assert index.count() == 2

    def test_removal_leaves_the_scores_of_a_fresh_index(self, store: Store) -> None:
        texts = dict(zip(_TEXT_IDS, _TEXTS, strict=True))
        index = store.texts("chunk")
        index.add(texts.items())
        for gone in (_TEXT_IDS[4], _TEXT_IDS[0]):
            index.remove([gone, _ABSENT])
            del texts[gone]
            for query in ("dog", "首都", "unrelated sentence"):
                found = {i: pytest.approx(score, abs=1e-9) for i, score in index.search(query, k=9)}
                assert found == bm25(texts, query)
        assert index.count() == len(texts)
        assert index.document_frequencies(["fox", "dog", "quick"]) == {"fox": 1, "dog": 1}

    def test_document_frequencies_count_items(self, store: Store) -> None:
        index = store.texts("chunk")
        index.add(zip(_TEXT_IDS, _TEXTS, strict=True))
        assert index.document_frequencies(["fox", "dog", "3.5", "fox", "absent"]) == {
            "fox": 3,
            "dog": 2,
            "3.5": 1,
        }

    def test_occurrences_count_terms_in_items(self, store: Store) -> None:
        index = store.texts("chunk")
        assert index.occurrences(_TEXT_IDS[:2], ["fox"]).tolist() == [[0], [0]]
        index.add(zip(_TEXT_IDS, _TEXTS, strict=True))
        index.add([(_TEXT_IDS[3], "fox fox dog"), (_TEXT_IDS[4], "gone")])
        index.remove([_TEXT_IDS[4]])
        ids = [_TEXT_IDS[3], _ABSENT, _TEXT_IDS[1], "no id", _TEXT_IDS[4], _TEXT_IDS[3]]
        counts = index.occurrences(ids, ["dog", "首都", "fox", "absent"])
        assert counts.dtype == np.int32
        assert counts.tolist() == [
            [1, 0, 2, 0],
            [0] * 4,
            [2, 0, 1, 0],
            [0] * 4,
            [0] * 4,
            [1, 0, 2, 0],
        ]
        assert index.occurrences([], ["dog"]).shape == (0, 1)
        assert index.occurrences(ids, []).shape == (6, 0)

    @pytest.mark.parametrize("query", ["", "?!", '"', "NOT AND OR", "a* ^b col:c {d}", "NEAR(a b)"])
    def test_any_text_is_a_query(self, store: Store, query: str) -> None:
        index = store.texts("chunk")
        assert index.search(query, k=3) == []
        index.add([(_TEXT_IDS[0], "near col d and more"), (_TEXT_IDS[1], "x"), (_TEXT_IDS[2], "y")])
        assert all(isinstance(scored, Scored) for scored in index.search(query, k=3))

    def test_no_item_shares_no_term(self, store: Store) -> None:
        store.texts("chunk").add([(_TEXT_IDS[0], "words")])
        assert store.texts("chunk").search("other", k=3) == []
        assert store.texts("chunk").search("words", k=0) == []

    def test_indexes_are_apart(self, store: Store) -> None:
        store.texts("chunk").add([(_TEXT_IDS[0], "words")])
        assert store.texts("entity").search("words", k=3) == []
        assert store.texts("entity").count() == 0
        store.texts("entity").remove(_TEXT_IDS)
        assert store.texts("chunk").count() == 1

    def test_occurrences_count_terms_by_item(self, store: Store) -> None:
        index = store.texts("chunk")
        first, second, absent = (content_id("item", n) for n in range(3))
        index.add([(first, "A river, another river and a bridge."), (second, "长江大桥")])
        counts = index.occurrences([second, absent, first], ["river", "bridg", "长江", "boat"])
        assert counts.tolist() == [[0, 0, 1, 0], [0, 0, 0, 0], [2, 1, 0, 0]]
        index.add([(first, "A boat.")])
        index.remove([second])
        counts = index.occurrences([first, second], ["river", "boat", "长江"])
        assert counts.tolist() == [[0, 1, 0], [0, 0, 0]]
        assert index.occurrences([], ["river"]).shape == (0, 1)
        assert index.occurrences([first], []).shape == (1, 0)


_VECTOR_IDS = sorted(content_id("vector", n) for n in range(60))


def unit_rows(count: int, dimension: int = 16, *, seed: int = 7) -> FloatMatrix:
    """Return random unit rows."""
    rows = np.random.default_rng(seed).normal(size=(count, dimension))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows.astype(np.float32)


class VectorIndexContract:
    """Tests of a `VectorIndex`. Subclass it and define the fixture ``store``."""

    def test_search_is_exact(self, store: Store) -> None:
        rows, query = unit_rows(60), unit_rows(1, seed=1)[0]
        index = store.vectors("chunk")
        index.put((i, i, row[None]) for i, row in zip(_VECTOR_IDS, rows, strict=True))
        scores = rows.astype(np.float64) @ query.astype(np.float64)
        order = np.argsort(-scores)[:10]
        found = index.search(query, k=10)
        assert [scored.id for scored in found] == [_VECTOR_IDS[n] for n in order]
        assert [scored.score for scored in found] == pytest.approx(
            scores[order].tolist(), abs=1e-12
        )
        assert len(index.search(query, k=999)) == 60
        assert index.search(query, k=0) == []

    def test_equal_rows_score_equally_and_come_by_id(self, store: Store) -> None:
        row, query = unit_rows(1, 384), unit_rows(1, 384, seed=1)[0]
        index = store.vectors("chunk")
        index.put((i, i, row) for i in reversed(_VECTOR_IDS))
        found = index.search(query, k=5)
        assert [scored.id for scored in found] == _VECTOR_IDS[:5]
        assert len({scored.score for scored in found}) == 1

    def test_where_filters_before_the_cut(self, store: Store) -> None:
        rows, query = unit_rows(60), unit_rows(1, seed=2)[0]
        index = store.vectors("chunk")
        index.put((i, i, row) for i, row in zip(_VECTOR_IDS, rows, strict=True))
        among = [*_VECTOR_IDS[5:25], _ABSENT, "no id"]
        expected = [s for s in index.search(query, k=99) if s.id in among]
        assert index.search(query, k=3, where=among) == expected[:3]
        assert index.search(query, k=99, where=among) == expected
        assert index.search(query, k=3, where=[]) == []

    def test_matrices_come_back(self, store: Store) -> None:
        half = unit_rows(5).astype(np.float16).astype(np.float32)
        index = store.vectors("sentence")
        index.put(
            [
                (_VECTOR_IDS[0], "k", half[:3]),
                (_VECTOR_IDS[1], "k", half[3:]),
                (_VECTOR_IDS[2], "l", half[:0]),
            ]
        )
        found = index.get([_VECTOR_IDS[1], _ABSENT, _VECTOR_IDS[0], _VECTOR_IDS[2]])
        assert list(found) == [_VECTOR_IDS[1], _VECTOR_IDS[0], _VECTOR_IDS[2]]
        assert all(matrix.dtype == np.float32 for matrix in found.values())
        np.testing.assert_array_equal(found[_VECTOR_IDS[0]], half[:3])
        np.testing.assert_array_equal(found[_VECTOR_IDS[1]], half[3:])
        assert found[_VECTOR_IDS[2]].shape == (0, 16)
        assert index.count() == 3

    def test_sentences_keep_three_digits(self, store: Store) -> None:
        rows = unit_rows(4)
        store.vectors("sentence").put([(_VECTOR_IDS[0], "k", rows)])
        np.testing.assert_allclose(
            store.vectors("sentence").get(_VECTOR_IDS)[_VECTOR_IDS[0]], rows, atol=5e-4
        )

    def test_matrices_of_many_rows_are_not_searched(self, store: Store) -> None:
        index = store.vectors("sentence")
        index.put([(_VECTOR_IDS[0], "k", unit_rows(3)), (_VECTOR_IDS[1], "k", unit_rows(1))])
        with pytest.raises(StoreError, match="matrices"):
            index.search(unit_rows(1)[0], k=1)
        index.put([(_VECTOR_IDS[0], "k", unit_rows(1))])
        assert len(index.search(unit_rows(1)[0], k=5)) == 2

    def test_content_keys_find_matrices(self, store: Store) -> None:
        rows = unit_rows(3)
        index = store.vectors("chunk")
        index.put(
            (i, key, row) for i, key, row in zip(_VECTOR_IDS, ["a", "b", "b"], rows, strict=False)
        )
        found = index.by_key(["b", "absent", "a"])
        assert sorted(found) == ["a", "b"]
        np.testing.assert_array_equal(found["b"], rows[1:2])
        index.remove([_VECTOR_IDS[1]])
        np.testing.assert_array_equal(index.by_key(["b"])["b"], rows[2:])

    def test_putting_again_replaces(self, store: Store) -> None:
        rows = unit_rows(3)
        index = store.vectors("chunk")
        index.put([(_VECTOR_IDS[0], "a", rows[0]), (_VECTOR_IDS[1], "b", rows[1])])
        index.search(rows[2], k=1)
        index.put([(_VECTOR_IDS[0], "c", rows[2])])
        assert index.search(rows[2], k=1)[0].id == _VECTOR_IDS[0]
        assert sorted(index.by_key(["a", "b", "c"])) == ["b", "c"]
        assert index.count() == 2

    def test_search_follows_changes(self, store: Store) -> None:
        rows, query = unit_rows(60), unit_rows(1, seed=3)[0]
        index = store.vectors("chunk")
        held: dict[str, FloatMatrix] = {}
        for start in range(0, 60, 12):
            new = dict(zip(_VECTOR_IDS[start : start + 12], rows[start : start + 12], strict=True))
            index.put((i, i, row) for i, row in new.items())
            held |= new
            assert index.search(query, k=99) == _rank_exactly(held, query)
            moved = dict.fromkeys(list(held)[1::9], rows[(start + 30) % 60])
            index.put((i, i, row) for i, row in moved.items())
            held |= moved
            assert index.search(query, k=99) == _rank_exactly(held, query)
            gone = list(held)[::5]
            index.remove([*gone, _ABSENT])
            for identifier in gone:
                del held[identifier]
            assert index.search(query, k=99) == _rank_exactly(held, query)
            assert index.count() == len(held)

    def test_another_length_is_refused(self, store: Store) -> None:
        index = store.vectors("chunk")
        index.put([(_VECTOR_IDS[0], "a", unit_rows(1, 8))])
        with pytest.raises(DimensionMismatch, match="8"):
            index.put(
                [(_VECTOR_IDS[1], "b", unit_rows(1, 8)), (_VECTOR_IDS[2], "c", unit_rows(1, 9))]
            )
        with pytest.raises(DimensionMismatch, match="9"):
            index.search(unit_rows(1, 9)[0], k=1)
        assert index.count() == 1

    def test_an_empty_index_answers(self, store: Store) -> None:
        index = store.vectors("chunk")
        assert index.search(unit_rows(1)[0], k=3) == []
        assert (index.get(_VECTOR_IDS), index.by_key(["a"]), index.count()) == ({}, {}, 0)
        index.remove(_VECTOR_IDS)
        index.put([])
        assert index.count() == 0

    def test_indexes_are_apart(self, store: Store) -> None:
        store.vectors("chunk").put([(_VECTOR_IDS[0], "a", unit_rows(1, 8))])
        store.vectors("entity").put([(_VECTOR_IDS[1], "a", unit_rows(1, 9))])
        assert list(store.vectors("chunk").get(_VECTOR_IDS)) == [_VECTOR_IDS[0]]
        assert list(store.vectors("entity").get(_VECTOR_IDS)) == [_VECTOR_IDS[1]]


class VectorReplacementContract:
    """Tests of `VectorReplacement`. Subclass it and define the fixture ``store``."""

    def test_replaced_vectors_are_those_of_the_source(self, store: Store) -> None:
        old, new = unit_rows(40), unit_rows(50, seed=2)
        query = unit_rows(1, seed=1)[0]
        index, source = store.vectors("chunk"), store.vectors(staged_name("chunk"))
        index.put((i, "old", row[None]) for i, row in zip(_VECTOR_IDS, old, strict=False))
        source.put((i, f"new {i}", row[None]) for i, row in zip(_VECTOR_IDS, new, strict=False))
        # The last write to the index is later than that to the source.
        index.remove(_VECTOR_IDS[30:40])
        held = dict(zip(_VECTOR_IDS, old[:30], strict=False))
        assert index.search(query, k=99) == _rank_exactly(held, query)
        require_vector_replacement(store).replace_vectors("chunk", staged_name("chunk"))
        held = dict(zip(_VECTOR_IDS, new, strict=False))
        assert index.search(query, k=99) == _rank_exactly(held, query)
        assert index.count() == 50
        assert source.count() == 0
        assert index.by_key(["old"]) == {}
        np.testing.assert_array_equal(
            index.by_key([f"new {_VECTOR_IDS[3]}"])[f"new {_VECTOR_IDS[3]}"], new[3:4]
        )
        index.put([(_VECTOR_IDS[55], "later", old[:1])])
        held[_VECTOR_IDS[55]] = old[0]
        assert index.search(query, k=99) == _rank_exactly(held, query)

    def test_the_new_vectors_may_be_of_another_length(self, store: Store) -> None:
        for name, rows in (("chunk", 1), ("sentence", 3)):
            index, source = store.vectors(name), store.vectors(staged_name(name))
            index.put(
                [
                    (_VECTOR_IDS[0], "old", unit_rows(rows, 8)),
                    (_VECTOR_IDS[1], "old", unit_rows(rows, 8)),
                ]
            )
            for _ in range(2):  # the source can be filled again under the same name
                source.put([(_VECTOR_IDS[0], "new", unit_rows(rows, 12))])
                direct = source.get(_VECTOR_IDS)[_VECTOR_IDS[0]]
                require_vector_replacement(store).replace_vectors(name, staged_name(name))
                np.testing.assert_array_equal(index.get(_VECTOR_IDS)[_VECTOR_IDS[0]], direct)
                assert list(index.get(_VECTOR_IDS)) == [_VECTOR_IDS[0]]
                np.testing.assert_allclose(direct, unit_rows(rows, 12), atol=5e-4)
        assert store.vectors("chunk").search(unit_rows(1, 12)[0], k=9)[0].id == _VECTOR_IDS[0]

    def test_staged_rows_are_rounded_as_those_in_use(self, store: Store) -> None:
        rows = unit_rows(4)
        for name in ("chunk", "sentence"):
            store.vectors(name).put([(_VECTOR_IDS[0], "k", rows)])
            store.vectors(staged_name(name)).put([(_VECTOR_IDS[0], "k", rows)])
            np.testing.assert_array_equal(
                store.vectors(name).get(_VECTOR_IDS)[_VECTOR_IDS[0]],
                store.vectors(staged_name(name)).get(_VECTOR_IDS)[_VECTOR_IDS[0]],
            )

    def test_an_empty_source_empties_the_index(self, store: Store) -> None:
        store.vectors("entity").put([(_VECTOR_IDS[0], "old", unit_rows(1, 8))])
        require_vector_replacement(store).replace_vectors("entity", staged_name("entity"))
        assert store.vectors("entity").count() == 0
        assert store.vectors("entity").search(unit_rows(1)[0], k=1) == []

    def test_cleared_vectors_are_gone_and_the_index_can_be_used_again(self, store: Store) -> None:
        require_vector_replacement(store).clear_vectors("chunk")
        index = store.vectors("chunk")
        index.put([(_VECTOR_IDS[0], "old", unit_rows(1, 8))])
        assert index.search(unit_rows(1, 8)[0], k=1)
        require_vector_replacement(store).clear_vectors("chunk")
        assert (index.count(), index.get(_VECTOR_IDS)) == (0, {})
        index.put([(_VECTOR_IDS[1], "new", unit_rows(1, 8, seed=3))])
        assert [scored.id for scored in index.search(unit_rows(1, 8)[0], k=9)] == [_VECTOR_IDS[1]]

    def test_a_failed_transaction_replaces_nothing(self, store: Store) -> None:
        index, source = store.vectors("chunk"), store.vectors(staged_name("chunk"))
        index.put([(_VECTOR_IDS[0], "old", unit_rows(1, 8))])
        source.put([(_VECTOR_IDS[0], "new", unit_rows(1, 9))])

        def fail() -> None:
            with store.transaction():
                require_vector_replacement(store).replace_vectors("chunk", staged_name("chunk"))
                assert index.get(_VECTOR_IDS)[_VECTOR_IDS[0]].shape == (1, 9)
                raise KeyError

        with pytest.raises(KeyError):
            fail()
        assert index.get(_VECTOR_IDS)[_VECTOR_IDS[0]].shape == (1, 8)
        assert source.get(_VECTOR_IDS)[_VECTOR_IDS[0]].shape == (1, 9)


def _rank_exactly(held: dict[str, FloatMatrix], query: FloatMatrix) -> list[Scored]:
    wide = query.astype(np.float64)
    scored = [Scored(i, float((row.astype(np.float64) * wide).sum())) for i, row in held.items()]
    return sorted(scored, key=lambda s: (-s.score, s.id))
