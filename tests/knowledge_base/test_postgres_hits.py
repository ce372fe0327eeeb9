"""A question finds the same on a server as in an index file, in English and Chinese."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

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
_ROUNDING = 6


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


def ranked(evidence: Evidence) -> list[tuple[float, list[str]]]:
    """Return the chunks of each score, best first: ties may come in any order."""
    rows = [(round(hit.score, _ROUNDING), hit.chunk.id) for hit in evidence.hits]
    grouped = groupby(rows, key=lambda row: row[0])
    return [(score, sorted(chunk for _, chunk in group)) for score, group in grouped]


@pytest.mark.parametrize("retriever", _RETRIEVERS)
def test_hits_are_those_of_an_index_file(both, retriever: str) -> None:
    file, server = both
    found = 0
    for question in _ASKED:
        expected = ranked(file.search(question, retriever=retriever, k=10))
        assert ranked(server.search(question, retriever=retriever, k=10)) == expected
        found += len(expected)
    assert found > len(_ASKED)
