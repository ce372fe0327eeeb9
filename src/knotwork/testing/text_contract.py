"""What every `TextIndex` does: BM25 with known numbers, ties, filters, removal."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from knotwork.records import content_id
from knotwork.stores.base import Scored, Store
from knotwork.text.terms import content_terms, terms

_IDS = sorted(content_id("item", n) for n in range(9))
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
    """Score texts by the published formula (Robertson and Zaragoza 2009, k1 = 1.2, b = 0.75)."""
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
    """Behaviour of a `TextIndex`. Subclass it and supply the fixture ``store``."""

    @pytest.mark.parametrize(
        "query", ["fox", "Which dog dreams?", "首都", "动物园", "3.5%", "1000"]
    )
    def test_scores_are_those_of_the_formula(self, store: Store, query: str) -> None:
        texts = dict(zip(_IDS, _TEXTS, strict=True))
        index = store.texts("chunk")
        index.add(texts.items())
        expected = bm25(texts, query)
        found = index.search(query, k=99)
        assert found
        assert {i: pytest.approx(score, abs=1e-9) for i, score in found} == expected
        assert found == sorted(found, key=lambda s: (-s.score, s.id))
        assert index.search(query, k=1) == found[:1]

    def test_equal_scores_come_by_id(self, store: Store) -> None:
        store.texts("chunk").add([(i, "same words") for i in reversed(_IDS)])
        found = store.texts("chunk").search("words", k=4)
        assert [scored.id for scored in found] == _IDS[:4]
        assert len({scored.score for scored in found}) == 1

    def test_stop_words_count_only_alone(self, store: Store) -> None:
        index = store.texts("chunk")
        index.add([(_IDS[0], "the cat"), (_IDS[1], "the hat"), (_IDS[2], "x"), (_IDS[3], "y")])
        assert [s.id for s in index.search("the cat", k=9)] == [_IDS[0]]
        assert [s.id for s in index.search("the", k=9)] == _IDS[:2]

    def test_where_filters_before_the_cut(self, store: Store) -> None:
        index = store.texts("chunk")
        index.add([(i, "dog " * (9 - n)) for n, i in enumerate(_IDS)])
        found = index.search("dog", k=2, where=[_IDS[7], _IDS[5], _IDS[8], _ABSENT, "no id"])
        everywhere = index.search("dog", k=99)
        assert found == [s for s in everywhere if s.id in {_IDS[5], _IDS[7], _IDS[8]}][:2]
        assert index.search("dog", k=2, where=[]) == []

    def test_adding_again_replaces(self, store: Store) -> None:
        index = store.texts("chunk")
        index.add([(_IDS[0], "old text"), (_IDS[1], "other")])
        index.add([(_IDS[0], "new text")])
        assert index.search("old", k=9) == []
        assert [s.id for s in index.search("new", k=9)] == [_IDS[0]]
        assert index.count() == 2

    def test_removal_leaves_the_scores_of_a_fresh_index(self, store: Store) -> None:
        texts = dict(zip(_IDS, _TEXTS, strict=True))
        index = store.texts("chunk")
        index.add(texts.items())
        for gone in (_IDS[4], _IDS[0]):
            index.remove([gone, _ABSENT])
            del texts[gone]
            for query in ("dog", "首都", "unrelated sentence"):
                found = {i: pytest.approx(score, abs=1e-9) for i, score in index.search(query, k=9)}
                assert found == bm25(texts, query)
        assert index.count() == len(texts)
        assert index.document_frequencies(["fox", "dog", "quick"]) == {"fox": 1, "dog": 1}

    def test_document_frequencies_count_items(self, store: Store) -> None:
        index = store.texts("chunk")
        index.add(zip(_IDS, _TEXTS, strict=True))
        assert index.document_frequencies(["fox", "dog", "3.5", "fox", "absent"]) == {
            "fox": 3,
            "dog": 2,
            "3.5": 1,
        }

    def test_occurrences_count_terms_in_items(self, store: Store) -> None:
        index = store.texts("chunk")
        assert index.occurrences(_IDS[:2], ["fox"]).tolist() == [[0], [0]]
        index.add(zip(_IDS, _TEXTS, strict=True))
        index.add([(_IDS[3], "fox fox dog"), (_IDS[4], "gone")])
        index.remove([_IDS[4]])
        ids = [_IDS[3], _ABSENT, _IDS[1], "no id", _IDS[4], _IDS[3]]
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
        index.add([(_IDS[0], "near col d and more"), (_IDS[1], "x"), (_IDS[2], "y")])
        assert all(isinstance(scored, Scored) for scored in index.search(query, k=3))

    def test_no_item_shares_no_term(self, store: Store) -> None:
        store.texts("chunk").add([(_IDS[0], "words")])
        assert store.texts("chunk").search("other", k=3) == []
        assert store.texts("chunk").search("words", k=0) == []

    def test_indexes_are_apart(self, store: Store) -> None:
        store.texts("chunk").add([(_IDS[0], "words")])
        assert store.texts("entity").search("words", k=3) == []
        assert store.texts("entity").count() == 0
        store.texts("entity").remove(_IDS)
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
