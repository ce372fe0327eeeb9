"""Contract suite for retrievers: ranked evidence of the store that keeps to its filter."""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from typing import Protocol

import pytest

from knotwork._config import Settings
from knotwork._config.settings import IndexSettings
from knotwork._extensions.filters.filtered_store import FilteredStore
from knotwork._indexing.communities.index_reports import bring_up_to_date
from knotwork._inference.embedder import Embedder, HashingEmbedder
from knotwork._knowledge_base import KnowledgeBase
from knotwork._retrieval.base import Retriever
from knotwork._stores.base import Store, require_fields
from knotwork._stores.urls import open_store
from knotwork.records import (
    Block,
    BlockKind,
    Comparison,
    Condition,
    Document,
    Evidence,
    Hit,
    Not,
    Query,
    Span,
)

_QUESTION = "Where did the director of Silver Lantern grow up?"
_QUESTIONS = (
    _QUESTION,
    "Which river flows through Tartu?",
    "长江发源于哪里？",
    "When does the ferry to Narva leave?",
    "What are the main themes?",
)
_ODD_QUESTIONS = {
    "empty": "",
    "blank": " \n\t ",
    "no words": "???",
    "stop words": "of the and",
    "one Chinese character": "的",
    "unknown words": "xyzzy plugh",
    "syntax of queries": "\" OR 1=1; -- NEAR( * ^ ) AND {a: b} MATCH (n) DETACH DELETE n 'x",
    "control characters": "\x00\x1b[31m Tartu \u202e\ufeff",
    "lone surrogate": "Tartu \ud800",
    "long word": "a" * 20_000,
    "long question": "Where did the director of Silver Lantern grow up, and why? " * 100,
    "long Chinese question": "长江发源于哪里？" * 300,
}
_PASSAGES = {
    "Silver Lantern": "Silver Lantern is a 1954 film directed by Marta Ilves. "
    "It was shot in black and white on a small budget.",
    "Marta Ilves": "Marta Ilves was an Estonian artist. She grew up in Tartu and died in 1988.",
    "Silver Birch": "The silver birch is a tree. Its bark peels and its wood burns well.",
    "Tartu": "Tartu is a city in Estonia. It lies on the river Emajogi.",
    "Olev Raud": "Olev Raud was a theatre critic. He was born in Narva.",
    "Emajogi": "The Emajogi is a river that flows through Tartu into a lake.",
    "长江": "长江是中国最长的河流。它发源于青藏高原，流入东海。",
    "武汉": "武汉是湖北省的省会，位于长江中游。黄鹤楼在武汉。",
}
_FERRY = "The ferry to Narva leaves at noon. It carries cars and people over the river."
_GUIDE = "\n\n".join(
    f"Room {n}\n\nRoom {n} shows the {film} of Marta Ilves. It opens at {n + 8} on Sundays. "
    f"Its guard is called Guard{n} and comes from Tartu."
    for n, film in enumerate(("first film", "Silver Lantern", "last film", "letters"), start=1)
)
_HIDDEN_URI = "hidden.txt"
_HIDDEN_NAME = "Zanzivar"
"""A name that occurs in the hidden document alone."""
_HIDDEN = Document(
    _HIDDEN_URI,
    f"{_HIDDEN_NAME} grew up in Tartu. {_HIDDEN_NAME} helped Marta Ilves to direct Silver Lantern, "
    f"as {_HIDDEN_NAME} owned the ferry to Narva. 长江的{_HIDDEN_NAME}发源于武汉。",
    f"{_HIDDEN_NAME} and Silver Lantern",
)
_THREADS = 4


def _public_documents() -> list[Document]:
    documents = [Document(f"{title}.txt", text, title) for title, text in _PASSAGES.items()]
    # Two documents of one text have equal scores.
    documents += [Document(f"ferry-{n}.txt", _FERRY, "Ferry") for n in (1, 2)]
    starts = [*(_GUIDE.index(f"Room {n}\n") for n in range(1, 5)), len(_GUIDE)]
    rooms = tuple(
        Block(BlockKind.SECTION, Span(start, end), f"Room {n}", level=1)
        for n, (start, end) in enumerate(pairwise(starts), start=1)
    )
    return [*documents, Document("museum.md", _GUIDE, "Museum", blocks=rooms)]


@cache
def _open_base(*, with_hidden: bool) -> KnowledgeBase:
    """Return an index of small chunks with parents; that of all documents has communities."""
    index = IndexSettings(splitter="parent-child", chunk_tokens=30, parent_tokens=120)
    base = KnowledgeBase(
        open_store("memory:", create=True), Settings(index=index), embedder=HashingEmbedder()
    )
    base.index_documents(_public_documents())
    if with_hidden:
        base.index_documents([_HIDDEN])
        bring_up_to_date(base.store)
    return base


def sample_store() -> Store:
    """Return an index of all documents, with communities; retrievers only read it."""
    return _open_base(with_hidden=True).store


class BuildsRetriever(Protocol):
    """The type of the fixture ``build``."""

    def __call__(self, *, store: Store, embedder: Embedder) -> Retriever: ...


class RetrieverContract:
    """The behaviour of retrievers that answers, steps and filters rely on.

    Subclass it and define the fixture ``build``, a function that is called with the keywords
    ``store`` and ``embedder``. The suite supplies a small index in English and Chinese, with
    communities. A retriever that finds nothing for the question of the suite supplies another::

        class TestMyRetriever(RetrieverContract):
            @pytest.fixture
            def build(self):
                return lambda store, embedder: MyRetriever(store=store)

            @pytest.fixture
            def question(self):
                return "Which river flows through Tartu?"
    """

    @pytest.fixture
    def question(self) -> str:
        """A question for which the retriever finds passages of the sample."""
        return _QUESTION

    @pytest.fixture
    def store(self) -> Store:
        return sample_store()

    @pytest.fixture
    def retriever(self, build: BuildsRetriever, store: Store) -> Retriever:
        return build(store=store, embedder=HashingEmbedder())

    def test_a_question_finds_passages(
        self, retriever: Retriever, store: Store, question: str
    ) -> None:
        query = Query(question, k=4)
        evidence = retriever.retrieve(query)
        check_evidence(evidence, query, store)
        assert evidence.hits

    @pytest.mark.parametrize("k", [0, 1, 3, 100])
    def test_at_most_k_hits_are_in_order(self, retriever: Retriever, store: Store, k: int) -> None:
        for question in _QUESTIONS:
            query = Query(question, k=k)
            check_evidence(retriever.retrieve(query), query, store)

    @pytest.mark.parametrize("question", _ODD_QUESTIONS.values(), ids=_ODD_QUESTIONS)
    def test_any_question_may_be_asked(
        self, retriever: Retriever, store: Store, question: str
    ) -> None:
        query = Query(question, k=3)
        check_evidence(retriever.retrieve(query), query, store)

    def test_the_same_question_finds_the_same(
        self, build: BuildsRetriever, retriever: Retriever, store: Store, question: str
    ) -> None:
        query = Query(question)
        first = retriever.retrieve(query)
        for other in _QUESTIONS:
            retriever.retrieve(Query(other))
        assert retriever.retrieve(query) == first
        assert build(store=store, embedder=HashingEmbedder()).retrieve(query) == first

    def test_threads_find_the_same(self, retriever: Retriever) -> None:
        queries = [Query(question, k=5) for question in _QUESTIONS * 2]
        expected = [retriever.retrieve(query) for query in queries]
        with ThreadPoolExecutor(_THREADS) as pool:
            assert list(pool.map(retriever.retrieve, queries)) == expected

    def test_an_empty_index_has_no_evidence(self, build: BuildsRetriever, question: str) -> None:
        store = open_store("memory:", create=True)
        query = Query(question)
        evidence = build(store=store, embedder=HashingEmbedder()).retrieve(query)
        check_evidence(evidence, query, store)
        assert evidence.hits == ()

    def test_excluded_documents_do_not_leak(
        self, build: BuildsRetriever, store: Store, question: str
    ) -> None:
        fields = require_fields(store)
        allowed = Not(Condition("uri", Comparison.EQUAL, (_HIDDEN_URI,)))
        part = FilteredStore(store, fields, fields.select(allowed))
        retriever = build(store=part, embedder=HashingEmbedder())
        for text in (question, *_QUESTIONS):
            query = Query(text, k=100, filter=allowed)
            evidence = retriever.retrieve(query)
            check_evidence(evidence, query, part)
            check_nothing_hidden(evidence)

    def test_the_retriever_follows_the_index(self, build: BuildsRetriever, question: str) -> None:
        base = _open_base(with_hidden=False)
        query = Query(question, k=100)
        retriever = build(store=base.store, embedder=HashingEmbedder())
        retriever.retrieve(query)
        try:
            base.index_documents([_HIDDEN])
            rebuilt = build(store=base.store, embedder=HashingEmbedder())
            assert retriever.retrieve(query) == rebuilt.retrieve(query)
        finally:
            base.delete(_HIDDEN_URI)
        evidence = retriever.retrieve(query)
        check_evidence(evidence, query, base.store)
        check_nothing_hidden(evidence)

    def test_the_index_is_only_read(self, retriever: Retriever, store: Store) -> None:
        before = store.generation()
        for question in _QUESTIONS:
            retriever.retrieve(Query(question))
        assert store.generation() == before

    def test_the_evidence_has_the_name(self, retriever: Retriever, question: str) -> None:
        assert retriever.name.strip() == retriever.name != ""
        assert retriever.retrieve(Query(question)).retriever == retriever.name


def check_evidence(evidence: Evidence, query: Query, store: Store) -> None:
    """Assert that the evidence answers the query with ranked passages of the store."""
    assert evidence.query == query
    assert 0.0 <= evidence.confidence <= 1.0
    for texts in (evidence.notes, evidence.trace):
        assert isinstance(texts, tuple)
        assert all(isinstance(text, str) and text.strip() for text in texts)
    assert isinstance(evidence.hits, tuple)
    assert len(evidence.hits) <= query.k
    assert len({hit.chunk.id for hit in evidence.hits}) == len(evidence.hits)
    for hit in evidence.hits:
        _check_hit(hit, store)
    places = [(-hit.score, hit.chunk.id) for hit in evidence.hits]
    assert places == sorted(places)
    for path in evidence.paths:
        assert math.isfinite(path.score)
        _check_chunks_exist([hop.chunk_id for hop in path.hops], store)
    assert all(one.score >= other.score for one, other in pairwise(evidence.paths))


def _check_hit(hit: Hit, store: Store) -> None:
    assert math.isfinite(hit.score)
    assert all(map(math.isfinite, hit.scores.values()))
    chunk = hit.chunk
    _check_chunks_exist([chunk.id], store)
    stored = store.documents.chunks([chunk.id])[chunk.id]
    if hit.matched:  # a wider or narrower passage of the same document
        document = store.documents.documents([stored.document_id])[stored.document_id]
        assert chunk.document_id == stored.document_id
        assert chunk.text == document.text[slice(*chunk.span)]
        _check_chunks_exist(hit.matched, store)
    else:
        assert chunk == stored
    _check_chunks_exist([step.chunk_id for step in hit.path], store)
    assert {span for span, _ in hit.sentences} <= set(chunk.sentences)
    assert all(0.0 <= relevance <= 1.0 for _, relevance in hit.sentences)


def _check_chunks_exist(ids: Sequence[str], store: Store) -> None:
    assert set(ids) <= store.documents.chunks(ids).keys()


def check_nothing_hidden(evidence: Evidence) -> None:
    """Assert that nothing in the evidence comes from the hidden document."""
    assert _HIDDEN_NAME not in repr(evidence)
    assert _HIDDEN.id not in {hit.chunk.document_id for hit in evidence.hits}
