"""Contract suites for the full-text indexes of a store, exact and approximate.

An exact index equals the oracle: BM25 by its formula over the terms of `knotwork._text.terms`. An
approximate one keeps the same rules (writes are visible, filters, limits, ties), and its rankings
need only be close to the oracle's; its test class declares how close.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from knotwork._stores.base import Scored, Store
from knotwork._text.terms import content_terms, terms
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
    ranks = np.array([_mean_ranks(one), _mean_ranks(other)])
    spreads = ranks.std(axis=1)
    if not spreads.all():
        return float(not spreads.any())
    return float(np.corrcoef(ranks)[0, 1])


def _mean_ranks(values: Sequence[float]) -> NDArray[np.float64]:
    _, place, counts = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: NDArray[np.float64] = (last - (counts - 1) / 2)[place]
    return ranks


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
