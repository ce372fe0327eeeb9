"""The contracts of approximate indexes accept real ones and reject faulty ones."""

from __future__ import annotations

import pytest
from tests.testing.approximate_indexes import FtsStore, FtsTexts, IvfStore, IvfVectors

from knotwork._extensions.testing.text_index_contract import rank_correlation
from knotwork._stores.base import Scored
from knotwork._stores.urls import open_store
from knotwork.testing import (
    ApproximateTextIndexContract,
    ApproximateVectorIndexContract,
    ApproximateVectorReplacementContract,
    TextIndexContract,
    VectorIndexContract,
)

pytestmark = pytest.mark.slow


class TestInvertedLists(ApproximateVectorIndexContract):
    @pytest.fixture
    def store(self):
        return IvfStore()


class TestReplacedInvertedLists(ApproximateVectorReplacementContract):
    @pytest.fixture
    def store(self):
        return IvfStore()


class TestFts(ApproximateTextIndexContract):
    @pytest.fixture
    def store(self):
        return FtsStore()


class TestExactVectors(ApproximateVectorIndexContract):
    """An exact index is the best approximate one."""

    least_recall = 1.0

    @pytest.fixture
    def store(self):
        return open_store("memory:")


class TestExactTexts(ApproximateTextIndexContract):
    least_overlap = 1.0
    least_correlation = 1.0 - 1e-9

    @pytest.fixture
    def store(self):
        return open_store("memory:")


class OneProbe(IvfStore):
    probes = 1


class FaultyVectors(IvfStore):
    """Inverted lists with a search that has one fault."""

    def vectors(self, name):
        index = IvfVectors(self, name)
        found = index.search
        index.search = lambda vector, *, k, where=None: self.spoil(found, vector, k, where)
        return index


class FiltersAfterTheCut(FaultyVectors):
    def spoil(self, search, vector, k, where):
        found = search(vector, k=k)
        return found if where is None else [scored for scored in found if scored.id in where]


class ScoresDistances(FaultyVectors):
    def spoil(self, search, vector, k, where):
        return [Scored(i, 2 * score) for i, score in search(vector, k=k, where=where)]


class IgnoresTheOrder(FaultyVectors):
    def spoil(self, search, vector, k, where):
        return sorted(search(vector, k=k, where=where))


class KeepsTheFirstLists(IvfStore):
    def generation(self):
        return 1

    @property
    def writing(self):
        return False


VECTORS = ApproximateVectorIndexContract()


@pytest.mark.parametrize(
    ("kind", "check"),
    [
        (OneProbe, VECTORS.test_most_of_the_nearest_vectors_are_found),
        (FiltersAfterTheCut, VECTORS.test_limits_and_filters_are_kept),
        (ScoresDistances, VECTORS.test_most_of_the_nearest_vectors_are_found),
        (IgnoresTheOrder, VECTORS.test_most_of_the_nearest_vectors_are_found),
        (KeepsTheFirstLists, VECTORS.test_search_follows_changes),
    ],
)
def test_faulty_vectors_are_caught(kind, check):
    check(IvfStore())
    with pytest.raises(AssertionError):
        check(kind())


class FaultyTexts(FtsStore):
    """FTS5 tables with a search that has one fault."""

    def texts(self, name):
        index = super().texts(name)
        found = FtsTexts.search.__get__(index)
        index.search = lambda query, *, k, where=None: self.spoil(found, query, k, where)
        return index


class Unranked(FaultyTexts):
    def spoil(self, search, query, k, where):
        return [Scored(i, 1.0) for i, _ in sorted(search(query, k=999, where=where))][:k]


class RanksBackwards(FaultyTexts):
    def spoil(self, search, query, k, where):
        found = [Scored(i, -score) for i, score in search(query, k=999, where=where)]
        return sorted(found, key=lambda s: (-s.score, s.id))[:k]


class SuggestsSomething(FaultyTexts):
    def spoil(self, search, query, k, where):
        return search(query, k=k, where=where) or search("river 城市", k=k, where=where)


class WholeRunsOfHan(FtsTexts):
    tokenizer = "unicode61"


class ReadsNoChinese(FtsStore):
    def texts(self, name):
        return self._tables.setdefault(name, WholeRunsOfHan())


TEXTS = ApproximateTextIndexContract()


@pytest.mark.parametrize(
    ("kind", "check"),
    [
        (Unranked, TEXTS.test_rankings_are_those_of_bm25),
        (RanksBackwards, TEXTS.test_rankings_are_those_of_bm25),
        (ReadsNoChinese, TEXTS.test_rankings_are_those_of_bm25),
        (SuggestsSomething, TEXTS.test_words_that_no_item_has_find_nothing),
    ],
)
def test_faulty_texts_are_caught(kind, check):
    check(FtsStore())
    with pytest.raises(AssertionError):
        check(kind())


def test_an_approximate_index_is_not_an_exact_one():
    with pytest.raises(AssertionError):
        VectorIndexContract().test_search_is_exact(IvfStore())
    with pytest.raises(AssertionError):
        TextIndexContract().test_scores_are_those_of_the_formula(FtsStore(), "Which dog dreams?")


def test_a_declared_threshold_counts():
    class Demanding(ApproximateVectorIndexContract):
        least_recall = 1.0

    with pytest.raises(AssertionError):
        Demanding().test_most_of_the_nearest_vectors_are_found(IvfStore())


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ([1, 2, 3], [10, 20, 30], 1.0),
        ([1, 2, 3], [3, 2, 1], -1.0),
        ([1, 1, 1], [2, 2, 2], 1.0),
        ([1, 1, 1], [1, 2, 3], 0.0),
        ([1, 2, 2, 3], [1, 2, 3, 4], 0.9486832980505138),
    ],
)
def test_ranks_with_ties_are_correlated(one, other, expected):
    assert rank_correlation(one, other) == pytest.approx(expected)
