"""The best items of full text are those of the oracle, however they are looked up."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.stores.plain_store import PlainTexts

from knotwork._stores.base import TextIndex
from knotwork._stores.embedded import EmbeddedStore
from knotwork._stores.indexes import QueryTermWeights
from knotwork.records import content_id

pytestmark = pytest.mark.slow


_ITEMS = 1_500
_WORDS = [f"word{n}" for n in range(400)]


@pytest.fixture(scope="module")
def indexes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[TextIndex, PlainTexts]]:
    chance = random.Random(2)
    weights = [1 / (rank + 2) for rank in range(len(_WORDS))]
    texts = [
        (content_id(n), " ".join(chance.choices(_WORDS, weights, k=chance.randint(0, 40))))
        for n in range(_ITEMS)
    ]
    plain = PlainTexts()
    path: Path = tmp_path_factory.mktemp("ranking") / "index.knot"
    embedded = EmbeddedStore.open(path, create=True)
    index = embedded.texts("chunk")
    for changed in (plain, index):
        changed.add(texts)
        changed.remove([identifier for identifier, _ in texts[::7]])
        changed.add((identifier, text + " word1") for identifier, text in texts[::5])
    yield index, plain
    embedded.close()


def questions() -> list[str]:
    chance = random.Random(3)
    weights = [1 / (rank + 8) for rank in range(len(_WORDS))]
    return [
        " ".join(chance.choices(_WORDS, weights, k=chance.choice([1, 2, 4, 7, 12])))
        for _ in range(60)
    ]


@pytest.mark.parametrize("k", [1, 10, 300])
def test_the_best_match_the_oracle(indexes, k: int) -> None:
    embedded, plain = indexes
    for question in questions():
        found, expected = embedded.search(question, k=k), plain.search(question, k=k)
        assert [scored.id for scored in found] == [scored.id for scored in expected]
        assert [s.score for s in found] == pytest.approx([s.score for s in expected], abs=1e-9)


def test_few_postings_are_held(indexes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("knotwork._stores.embedded.text_index._MOST_KEPT", 100)
    embedded, plain = indexes
    for question in questions():
        found, expected = embedded.search(question, k=10), plain.search(question, k=10)
        assert [scored.id for scored in found] == [scored.id for scored in expected]


def test_postings_follow_what_is_written(tmp_path: Path) -> None:
    path = tmp_path / "index.knot"
    with_changes = [
        [("a", "cat"), ("b", "cat and dog")],
        [("c", "cat cat"), ("a", "bird")],
        [("d", "dog"), ("b", "cat and dog and bird")],
    ]
    writer, plain = EmbeddedStore.open(path, create=True), PlainTexts()
    reader = EmbeddedStore.open(path, read_only=True)
    for changes in with_changes:
        items = [(content_id(name), text) for name, text in changes]
        writer.texts("chunk").add(items)
        plain.add(items)
        expected = plain.search("cat dog bird", k=5)
        for store in (writer, reader, writer, reader):
            found = store.texts("chunk").search("cat dog bird", k=5)
            assert [scored.id for scored in found] == [scored.id for scored in expected]
            assert [s.score for s in found] == pytest.approx([s.score for s in expected], abs=1e-9)
        with writer.transaction():  # what is not committed is found by its own thread alone
            writer.texts("chunk").add([(content_id("z"), "fox")])
            assert [s.id for s in writer.texts("chunk").search("fox", k=5)] == [content_id("z")]
            writer.texts("chunk").remove([content_id("z")])
    writer.close()
    reader.close()


@pytest.mark.parametrize("among", [3, 200, 1_400])
def test_among_some_items(indexes, among: int) -> None:
    embedded, plain = indexes
    some = [content_id(n) for n in random.Random(4).sample(range(_ITEMS), among)]
    for question in questions()[::4]:
        found = embedded.search(question, k=20, where=some)
        expected = plain.search(question, k=20, where=some)
        assert [scored.id for scored in found] == [scored.id for scored in expected]
        assert [s.score for s in found] == pytest.approx([s.score for s in expected], abs=1e-9)


def test_pruned_candidates_cannot_reach_the_best() -> None:
    frequencies = {"a": 400, "b": 2, "c": 50, "d": 900}
    weights = QueryTermWeights.of(frequencies, items=1_000, tokens=10_000)
    ordered = weights.rarest_first()
    assert ordered == ["b", "c", "a", "d"]
    assert [weights.first_terms(k) for k in (1, 53, 999)] == [2, 3, 4]
    for least in (0.0, 0.001, 0.5, 2.0, 9.0, 99.0):
        number = weights.sufficient_terms(least, at_least=1, max_near=100)
        assert number == 4 or weights.bound(ordered[number:]) < least
    assert weights.sufficient_terms(9.0, at_least=1, max_near=100) == 1
    assert weights.sufficient_terms(4.0, at_least=1, max_near=10) == 2
    assert weights.sufficient_terms(4.0, at_least=1, max_near=1) == 4


@pytest.mark.parametrize("length", [1, 5, 400])
@pytest.mark.parametrize("times", [1, 3, 400])
def test_no_score_exceeds_its_bound(length: int, times: int) -> None:
    weights = QueryTermWeights.of({"a": 3, "b": 300}, items=1_000, tokens=10_000)
    counts = np.array([[times, times], [0, times]], dtype=np.int32)
    both, second = weights.scores(counts, np.array([length, length]))
    assert both < weights.bound(["a", "b"])
    assert second < weights.bound(["b"])
