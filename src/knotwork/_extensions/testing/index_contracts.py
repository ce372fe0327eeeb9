"""Contract suites for the full-text and vector indexes of a store, exact and approximate.

An exact index equals the oracle: BM25 by its formula over the terms of `knotwork._text.terms`, or
the largest dot products. An approximate one keeps the same rules (writes are visible, filters,
limits, ties, content keys, errors); its rankings need only be close to BM25, or its scores are true
but it may miss some of the nearest vectors. Its test class declares how close and how many.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from scipy.stats import rankdata

from knotwork._extensions.testing.store_contract import undone
from knotwork._stores.base import FloatMatrix, Scored, Store, require_vector_replacement
from knotwork._stores.indexes import staged_name
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


class _TextIndexRules:
    """Tests that every `TextIndex` passes."""

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

    def test_removed_items_are_not_found(self, store: Store) -> None:
        index = store.texts("chunk")
        index.add(zip(_TEXT_IDS, _TEXTS, strict=True))
        assert {s.id for s in index.search("unrelated", k=9)} == {_TEXT_IDS[6], _TEXT_IDS[7]}
        index.remove([_TEXT_IDS[6], _ABSENT])
        assert [s.id for s in index.search("unrelated", k=9)] == [_TEXT_IDS[7]]
        assert index.count() == len(_TEXTS) - 1
        index.remove(_TEXT_IDS)
        assert (index.search("unrelated", k=9), index.count()) == ([], 0)

    def test_results_are_ranked_and_repeatable(self, store: Store) -> None:
        index = store.texts("chunk")
        index.add(zip(_TEXT_IDS, _TEXTS, strict=True))
        for query in ("unrelated dog fox", "首都 动物园"):
            found = index.search(query, k=9)
            assert found == sorted(found, key=lambda s: (-s.score, s.id))
            assert index.search(query, k=9) == found
            assert index.search(query, k=1) == found[:1]

    def test_document_frequencies_count_items_with_a_word(self, store: Store) -> None:
        index = store.texts("chunk")
        index.add([(_TEXT_IDS[0], "river bridge"), (_TEXT_IDS[1], "river river")])
        frequencies = index.document_frequencies(["river", "boat", "river"])
        assert frequencies == {"river": 2}
        index.remove([_TEXT_IDS[1]])
        assert index.document_frequencies(["river"]) == {"river": 1}

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


class TextIndexContract(_TextIndexRules):
    """Tests of an exact `TextIndex`. Subclass it and define the fixture ``store``."""

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


_ENGLISH = (
    "river bridge engine council budget teacher window harbour winter letter station market garden "
    "doctor village signal mountain library factory museum painter captain forest railway island "
    "contract report history weather kitchen picture soldier student journal theatre"
)
_CHINESE = (
    "城市 河流 大桥 学校 老师 医院 火车 博物馆 图书馆 工厂 森林 冬天 市场 花园 历史 报告 "
    "船长 画家 岛屿 合同 天气 厨房 学生 士兵 剧院 村庄 山脉 信号 预算 委员会"
)
_CORPUS_SEED = 11


def sample_corpus() -> dict[str, str]:
    """Return 240 texts by id, half of them Chinese, whose words follow Zipf's law."""
    rng = np.random.default_rng(_CORPUS_SEED)
    english, chinese = _ENGLISH.split(), _CHINESE.split()
    texts = {}
    for number in range(240):
        words, glue = (english, " ") if number % 2 else (chinese, "的")
        shares = 1.0 / np.arange(1, len(words) + 1)
        chosen = rng.choice(words, size=rng.integers(5, 60), p=shares / shares.sum())
        texts[content_id("text", number)] = glue.join(chosen)
    return texts


def sample_queries() -> list[str]:
    """Return 40 queries of one to three words of `sample_corpus`, half of them Chinese."""
    rng = np.random.default_rng(_CORPUS_SEED + 1)
    lists = [(_ENGLISH if number % 2 else _CHINESE).split() for number in range(40)]
    return [" ".join(rng.choice(words, size=1 + n % 3)) for n, words in enumerate(lists)]


def rank_correlation(one: Sequence[float], other: Sequence[float]) -> float:
    """Return Spearman's rho: the correlation of the ranks, ties having their mean rank.

    It is 1 for two constant sequences and 0 if only one of them is constant.
    """
    ranks = np.array([rankdata(one), rankdata(other)])
    spreads = ranks.std(axis=1)
    if not spreads.all():
        return float(not spreads.any())
    return float(np.corrcoef(ranks)[0, 1])


class ApproximateTextIndexContract(_TextIndexRules):
    """Tests of a `TextIndex` that splits or ranks by its own rules, as a server does.

    Its rankings are compared with BM25 over English and Chinese texts. Subclass it, define the
    fixture ``store``, and set what it must reach if that is not the default.
    """

    least_overlap = 0.7
    """The least mean share of the oracle's 10 best items among the 10 best of the index."""

    least_correlation = 0.7
    """The least mean rank correlation (Spearman's rho) with the oracle's scores."""

    def test_rankings_are_those_of_bm25(self, store: Store) -> None:
        texts = sample_corpus()
        index = store.texts("chunk")
        index.add(texts.items())
        overlaps: list[float] = []
        correlations: list[float] = []
        for query in sample_queries():
            expected = bm25(texts, query)
            best = sorted(expected, key=lambda i: (-expected[i], i))[:10]
            found = dict(index.search(query, k=len(texts)))
            top = [scored.id for scored in index.search(query, k=len(best))]
            overlaps.append(len(set(best).intersection(top)) / len(best))
            ids = sorted(expected.keys() | found.keys())
            correlations.append(
                rank_correlation(
                    [expected.get(i, 0.0) for i in ids], [found.get(i, 0.0) for i in ids]
                )
            )
        assert np.mean(overlaps) >= self.least_overlap
        assert np.mean(correlations) >= self.least_correlation

    def test_words_that_no_item_has_find_nothing(self, store: Store) -> None:
        index = store.texts("chunk")
        index.add(sample_corpus().items())
        for query in ("zeppelin", "望远镜", "zeppelin 望远镜"):
            assert index.search(query, k=9) == []


_VECTOR_IDS = sorted(content_id("vector", n) for n in range(60))


def unit_rows(count: int, dimension: int = 16, *, seed: int = 7) -> FloatMatrix:
    """Return random unit rows."""
    rows = np.random.default_rng(seed).normal(size=(count, dimension))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows.astype(np.float32)


class _ExactVectors:
    """How the results of an exact index are checked."""

    def check_found(
        self, found: Sequence[Scored], held: Mapping[str, FloatMatrix], query: FloatMatrix
    ) -> None:
        """Check what an unlimited search found among the vectors ``held``: the same as we do."""
        assert found == _rank_exactly(held, query)


class _ApproximateVectors(_ExactVectors):
    """How the results of an approximate index are checked."""

    least_recall = 0.9
    """The least mean share of the 10 nearest vectors among the 10 that the index finds."""

    score_tolerance = 1e-3
    """The largest difference between a score and the dot product."""

    def check_found(
        self, found: Sequence[Scored], held: Mapping[str, FloatMatrix], query: FloatMatrix
    ) -> None:
        """Check a search: items that are held, with their scores, in the order of their scores."""
        assert bool(found) == bool(held)
        assert len({scored.id for scored in found}) == len(found)
        assert list(found) == sorted(found, key=lambda s: (-s.score, s.id))
        assert held.keys() >= {scored.id for scored in found}
        exact = dict(_rank_exactly({s.id: held[s.id] for s in found}, query))
        assert all(abs(exact[s.id] - s.score) <= self.score_tolerance for s in found)


class _VectorIndexRules(_ExactVectors):
    """Tests that every `VectorIndex` passes; `check_found` says how close results must be."""

    def test_each_vector_is_nearest_to_itself(self, store: Store) -> None:
        rows = unit_rows(60)
        index = store.vectors("chunk")
        index.put((i, i, row) for i, row in zip(_VECTOR_IDS, rows, strict=True))
        for identifier, row in zip(_VECTOR_IDS, rows, strict=True):
            assert [scored.id for scored in index.search(row, k=1)] == [identifier]
        index.remove(_VECTOR_IDS[:30])
        assert not {s.id for s in index.search(rows[0], k=99)}.intersection(_VECTOR_IDS[:30])

    def test_limits_and_filters_are_kept(self, store: Store) -> None:
        rows, query = unit_rows(60), unit_rows(1, seed=2)[0]
        held = dict(zip(_VECTOR_IDS, rows, strict=True))
        index = store.vectors("chunk")
        index.put((i, i, row) for i, row in held.items())
        for k in (1, 7, 60, 99):
            found = index.search(query, k=k)
            assert 0 < len(found) <= k
            assert index.search(query, k=k) == found
        among = [*_VECTOR_IDS[5:25], _ABSENT, "no id"]
        allowed = {i: held[i] for i in _VECTOR_IDS[5:25]}
        self.check_found(index.search(query, k=99, where=among), allowed, query)
        assert len(index.search(query, k=3, where=among)) == 3
        assert index.search(query, k=3, where=[]) == []
        assert index.search(query, k=0) == []

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

    def test_products_are_those_of_each_row_with_each_vector(self, store: Store) -> None:
        rows = unit_rows(6).astype(np.float16).astype(np.float32)
        index = store.vectors("sentence")
        assert index.products(_VECTOR_IDS, unit_rows(1)) == {}
        index.put(
            [
                (_VECTOR_IDS[0], "k", rows[:4]),
                (_VECTOR_IDS[1], "k", rows[4:]),
                (_VECTOR_IDS[2], "l", rows[:0]),
            ]
        )
        vectors = unit_rows(2, seed=3)
        found = index.products([_VECTOR_IDS[1], _ABSENT, "no id", *_VECTOR_IDS[:3]], vectors)
        assert list(found) == [_VECTOR_IDS[1], _VECTOR_IDS[0], _VECTOR_IDS[2]]
        assert found[_VECTOR_IDS[2]].shape == (0, 2)
        np.testing.assert_allclose(found[_VECTOR_IDS[0]], rows[:4] @ vectors.T, atol=1e-5)
        np.testing.assert_allclose(found[_VECTOR_IDS[1]], rows[4:] @ vectors.T, atol=1e-5)
        assert index.products([], vectors) == {}
        with pytest.raises(DimensionMismatch):
            index.products(_VECTOR_IDS, unit_rows(1, 8))

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
            self.check_found(index.search(query, k=99), held, query)
            moved = dict.fromkeys(list(held)[1::9], rows[(start + 30) % 60])
            index.put((i, i, row) for i, row in moved.items())
            held |= moved
            self.check_found(index.search(query, k=99), held, query)
            gone = list(held)[::5]
            index.remove([*gone, _ABSENT])
            for identifier in gone:
                del held[identifier]
            self.check_found(index.search(query, k=99), held, query)
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


class VectorIndexContract(_VectorIndexRules):
    """Tests of an exact `VectorIndex`. Subclass it and define the fixture ``store``."""

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


_RECALLED_ROWS = 1_000
_RECALL_QUERIES = 50


class ApproximateVectorIndexContract(_ApproximateVectors, _VectorIndexRules):
    """Tests of a `VectorIndex` that may miss some of the nearest vectors, as HNSW and IVF do.

    What it finds has true scores. Subclass it, define the fixture ``store``, and set what it must
    reach if that is not the default.
    """

    def test_most_of_the_nearest_vectors_are_found(self, store: Store) -> None:
        ids = sorted(content_id("many", n) for n in range(_RECALLED_ROWS))
        held = dict(zip(ids, unit_rows(_RECALLED_ROWS, 24), strict=True))
        index = store.vectors("chunk")
        index.put((i, i, row) for i, row in held.items())
        matrix = np.array(list(held.values()))
        among = ids[::4]
        recalls: dict[str, list[float]] = {"all": [], "filtered": []}
        for query in unit_rows(_RECALL_QUERIES, 24, seed=3):
            scores = dict(zip(ids, (matrix @ query).tolist(), strict=True))
            for name, allowed, where in (("all", ids, None), ("filtered", among, among)):
                found = index.search(query, k=10, where=where)
                self.check_found(found, {i: held[i] for i in allowed}, query)
                nearest = sorted(allowed, key=lambda i: -scores[i])[:10]
                recalls[name].append(len({s.id for s in found}.intersection(nearest)) / 10)
        assert np.mean(recalls["all"]) >= self.least_recall
        assert np.mean(recalls["filtered"]) >= self.least_recall


class VectorReplacementContract(_ExactVectors):
    """Tests of `VectorReplacement` in an exact index. Define the fixture ``store``."""

    def test_replaced_vectors_are_those_of_the_source(self, store: Store) -> None:
        old, new = unit_rows(40), unit_rows(50, seed=2)
        query = unit_rows(1, seed=1)[0]
        index, source = store.vectors("chunk"), store.vectors(staged_name("chunk"))
        index.put((i, "old", row[None]) for i, row in zip(_VECTOR_IDS, old, strict=False))
        source.put((i, f"new {i}", row[None]) for i, row in zip(_VECTOR_IDS, new, strict=False))
        # The last write to the index is later than that to the source.
        index.remove(_VECTOR_IDS[30:40])
        held = dict(zip(_VECTOR_IDS, old[:30], strict=False))
        self.check_found(index.search(query, k=99), held, query)
        require_vector_replacement(store).replace_vectors("chunk", staged_name("chunk"))
        held = dict(zip(_VECTOR_IDS, new, strict=False))
        self.check_found(index.search(query, k=99), held, query)
        assert index.count() == 50
        assert source.count() == 0
        assert index.by_key(["old"]) == {}
        np.testing.assert_array_equal(
            index.by_key([f"new {_VECTOR_IDS[3]}"])[f"new {_VECTOR_IDS[3]}"], new[3:4]
        )
        index.put([(_VECTOR_IDS[55], "later", old[:1])])
        held[_VECTOR_IDS[55]] = old[0]
        self.check_found(index.search(query, k=99), held, query)

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
        with undone(store):
            require_vector_replacement(store).replace_vectors("chunk", staged_name("chunk"))
            assert index.get(_VECTOR_IDS)[_VECTOR_IDS[0]].shape == (1, 9)
        assert index.get(_VECTOR_IDS)[_VECTOR_IDS[0]].shape == (1, 8)
        assert source.get(_VECTOR_IDS)[_VECTOR_IDS[0]].shape == (1, 9)


class ApproximateVectorReplacementContract(_ApproximateVectors, VectorReplacementContract):
    """Tests of `VectorReplacement` in an approximate index. Define the fixture ``store``."""


def _rank_exactly(held: Mapping[str, FloatMatrix], query: FloatMatrix) -> list[Scored]:
    wide = query.astype(np.float64)
    scored = [Scored(i, float((row.astype(np.float64) * wide).sum())) for i, row in held.items()]
    return sorted(scored, key=lambda s: (-s.score, s.id))
