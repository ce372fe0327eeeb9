"""A question finds the same on a server as in an index file, in English and Chinese."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import knotwork
from knotwork.demo import QUESTIONS, open_sample
from knotwork.records import Evidence

pytestmark = pytest.mark.slow

_RETRIEVERS = ("bm25", "dense", "hybrid", "graph", "auto", "paths")
_ASKED = (
    *(question.text for question in QUESTIONS),
    "Which buoy measured the storm Ondine?",
    "How do tides and seiches differ?",
    "Who approves travel expenses, and until which amount?",
    "When was the salt layer of Ashmere found, and by whom?",
    "What links Oriane Keld and Bram Ostrand?",
    "温青岚和苍鹭浮标有什么关系？",
    "望汐办事处在哪里，谁负责？",
    "海雾观测计划用了哪些仪器？",
)
_ROUNDING = 1e-5


@pytest.fixture(scope="module")
def both(tmp_path_factory, postgres_server) -> Iterator[tuple[knotwork.KnowledgeBase, ...]]:
    from tests.postgres_server import drop_index

    path = tmp_path_factory.mktemp("index") / "index.knot"
    opened = [
        knotwork.open(place, embedder="hashing:256")
        for place in (path, f"{postgres_server}&index=hits")
    ]
    with open_sample() as folder:
        for base in opened:
            base.index(folder)
    yield tuple(opened)
    for base in opened:
        base.close()
    drop_index(postgres_server, "hits")


def check_same(found: Evidence, expected: Evidence) -> None:
    """Check scores up to the rounding of float32, and the order except among equal scores."""
    hits = [(hit.chunk.id, hit.score) for hit in expected.hits]
    scores = dict(hits)
    assert [hit.score for hit in found.hits] == pytest.approx([s for _, s in hits], abs=_ROUNDING)
    for (identifier, score), hit in zip(hits, found.hits, strict=True):
        if hit.chunk.id != identifier:
            assert scores.get(hit.chunk.id, hits[-1][1]) == pytest.approx(score, abs=_ROUNDING)


@pytest.mark.parametrize("retriever", _RETRIEVERS)
def test_hits_match_an_index_file(both, retriever: str) -> None:
    file, server = both
    found = 0
    for question in _ASKED:
        expected = file.search(question, retriever=retriever, k=10)
        check_same(server.search(question, retriever=retriever, k=10), expected)
        found += len(expected.hits)
    assert found > len(_ASKED)
