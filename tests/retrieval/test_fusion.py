"""Fusion: what each retriever gives is shown, nothing comes twice, and a budget is kept."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork._retrieval.fusion import RANK_OFFSET, FusedRetriever, fuse_hits, keep_within
from knotwork._text.token_counts import count_tokens
from knotwork.records import Chunk, Evidence, Hit, Query, Span

pytestmark = pytest.mark.slow


def chunk(name, start=0, end=10, text=""):
    text = text or ("word " * 10)[: end - start]
    return Chunk(name, "doc", "root", start, Span(start, end), text)


def evidence(*scored):
    hits = tuple(Hit(chunk(n, int(n) * 100, int(n) * 100 + 10), s, {"x": s}) for n, s in scored)
    return Evidence(Query("q", k=9), "r", hits, 0.4)


ranked = st.lists(
    st.tuples(st.sampled_from("123456"), st.floats(0.01, 9)), max_size=6, unique_by=lambda i: i[0]
).map(lambda items: sorted(items, key=lambda item: -item[1]))


@given(st.lists(st.tuples(st.floats(0.1, 3), ranked), min_size=1, max_size=3))
def test_scores_are_weighted_means_of_shares(parts):
    found = [(f"r{n}", w, evidence(*items)) for n, (w, items) in enumerate(parts)]
    total = sum(w for w, _ in parts)
    expected = {}
    for weight, items in parts:
        best = max((s for _, s in items), default=1)
        for name, score in items:
            expected[name] = expected.get(name, 0) + weight * score / best / total
    hits = fuse_hits(found)
    assert {hit.chunk.id for hit in hits} == set(expected)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    for hit in hits:
        assert hit.score == pytest.approx(expected[hit.chunk.id])
        assert sum(hit.scores.values()) == pytest.approx(hit.score)


def test_ranks_are_fused_as_reciprocals():
    found = [("a", 1.0, evidence(("1", 9), ("2", 8))), ("b", 1.0, evidence(("2", 1)))]
    first, second = fuse_hits(found, by="rank")
    assert (first.chunk.id, second.chunk.id) == ("2", "1")
    assert first.scores == {
        "a": pytest.approx(0.5 / (RANK_OFFSET + 2)),
        "b": pytest.approx(0.5 / (RANK_OFFSET + 1)),
    }


def test_a_passage_inside_another_is_merged_with_it():
    wide = Hit(chunk("1", 0, 40), 0.5, {"x": 0.5}, matched=("1",))
    narrow = Hit(chunk("2", 5, 20), 1.0, {"x": 1.0})
    found = [
        ("a", 1.0, Evidence(Query("q"), "a", (wide,))),
        ("b", 1.0, Evidence(Query("q"), "b", (narrow,))),
    ]
    (hit,) = fuse_hits(found)
    assert hit.chunk.span == Span(0, 40)
    assert set(hit.matched) == {"1", "2"}


@given(st.lists(st.integers(1, 40), max_size=8), st.integers(1, 60))
def test_a_budget_is_never_exceeded_and_never_wasted(sizes, tokens):
    hits = [Hit(chunk(str(n), text="a " * size), 1.0) for n, size in enumerate(sizes)]
    kept = keep_within(hits, tokens=tokens)
    used = sum(count_tokens(hit.chunk.text) for hit in kept)
    assert used <= tokens
    for hit in hits:
        assert hit in kept or used + count_tokens(hit.chunk.text) > tokens


class Fixed:
    def __init__(self, name, found):
        self.name = name
        self._found = found

    def retrieve(self, query):
        return self._found


def test_two_of_one_name_are_distinguished():
    one, other = Fixed("graph", evidence(("1", 2))), Fixed("graph", evidence(("1", 4)))
    fused = FusedRetriever(parts=[(1.0, one), (1.0, other)])
    (hit,) = fused.retrieve(Query("q", k=3)).hits
    assert hit.scores == {"graph": 0.5, "graph 2": 0.5}
    assert fused.name == "graph + graph 2"


def test_a_retriever_that_finds_nothing_takes_nothing_away():
    fused = FusedRetriever(
        parts=[(1.0, Fixed("a", evidence(("1", 2)))), (1.0, Fixed("b", evidence()))]
    )
    found = fused.retrieve(Query("q", k=3))
    assert [hit.chunk.id for hit in found.hits] == ["1"]
    assert found.confidence == pytest.approx(0.4)
