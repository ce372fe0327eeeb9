"""The contract of retrievers catches retrievers that break it."""

import threading
from dataclasses import replace
from functools import partial

import pytest
from tests.testing.broken_parts import broken, caught

from knotwork._extensions.testing.retriever_contract import sample_store
from knotwork._retrieval.retriever_registry import build_retriever
from knotwork.records import (
    GraphPath,
    Hop,
    Query,
    Span,
    Step,
    content_id,
)
from knotwork.testing import (
    RetrieverContract,
)

pytestmark = pytest.mark.slow

RETRIEVERS = RetrieverContract()
STORE = sample_store()
QUESTION = "Which river flows through Tartu?"


class EditedRetriever:
    """A sound retriever whose evidence is edited."""

    name = "edited"

    def __init__(self, *, store=STORE, embedder=None, edit=lambda evidence: evidence):
        self._store = store
        self._inner = build_retriever("bm25", store=store, embedder=embedder)
        self._edit = edit

    def retrieve(self, query):
        return replace(self._edit(self._inner.retrieve(query)), retriever=self.name)


def each_hit(edit):
    return lambda evidence: replace(evidence, hits=tuple(edit(hit) for hit in evidence.hits))


def each_passage(**fields):
    return each_hit(lambda hit: replace(hit, chunk=replace(hit.chunk, **fields)))


def by_reversed_id(evidence):
    """Return the evidence with hits of equal scores in descending order of ids."""
    hits = sorted(evidence.hits, key=lambda hit: hit.chunk.id, reverse=True)
    return replace(evidence, hits=tuple(sorted(hits, key=lambda hit: -hit.score)))


def path(score, chunk_id):
    hop = Hop(content_id("a"), "A", "knows", content_id("b"), "B", True, chunk_id)
    return GraphPath((hop,), score)


def check_hits(retriever):
    RETRIEVERS.test_at_most_k_hits_are_in_order(retriever, STORE, 3)


ABSENT = content_id("absent")
STEP = Step(ABSENT, Span(0, 3), "The", content_id("a"), "A", 1.0)


@broken(
    {
        "the query is another": lambda e: replace(e, query=Query("Who?")),
        "the confidence is above 1": lambda e: replace(e, confidence=1.5),
        "the confidence is not a number": lambda e: replace(e, confidence=float("nan")),
        "a note is not a text": lambda e: replace(e, notes=(None,)),
        "a note is blank": lambda e: replace(e, notes=(" ",)),
        "the trace can be changed": lambda e: replace(e, trace=["Searched."]),
        "the hits can be changed": lambda e: replace(e, hits=list(e.hits)),
        "the worst is first": lambda e: replace(e, hits=e.hits[::-1]),
        "ties are in no order": by_reversed_id,
        "a hit repeats": lambda e: replace(e, hits=e.hits[:1] * 2),
        "a score is not a number": each_hit(lambda h: replace(h, score=float("nan"))),
        "a score is endless": each_hit(lambda h: replace(h, score=float("inf"))),
        "a part is not a number": each_hit(lambda h: replace(h, scores={"bm25": float("nan")})),
        "a passage is unknown": each_passage(id=ABSENT),
        "a passage is changed": each_passage(text="The Narva flows through it."),
        "a match is unknown": each_hit(lambda h: replace(h, matched=(ABSENT,))),
        "a wider passage is changed": each_hit(
            lambda h: replace(h, matched=(h.chunk.id,), chunk=replace(h.chunk, text="Narva."))
        ),
        "a sentence is elsewhere": each_hit(lambda h: replace(h, sentences=((Span(0, 1), 1.0),))),
        "a relevance is above 1": each_hit(
            lambda h: replace(h, sentences=((h.chunk.sentences[0], 2.0),))
        ),
        "a step is unknown": each_hit(lambda h: replace(h, path=(STEP,))),
        "a path is unknown": lambda e: replace(e, paths=(path(1.0, ABSENT),)),
        "a path has no score": lambda e: replace(e, paths=(path(float("nan"), ABSENT),)),
        "the worst path is first": lambda e: replace(
            e, paths=tuple(path(n, hit.chunk.id) for n, hit in enumerate(e.hits))
        ),
    }
)
def test_unsound_evidence_is_caught(edit):
    check_hits(EditedRetriever())
    with caught():
        check_hits(EditedRetriever(edit=edit))


class ReturnsTooMany(EditedRetriever):
    def retrieve(self, query):
        return replace(super().retrieve(replace(query, k=query.k + 1)), query=query)


class NeedsWords(EditedRetriever):
    def retrieve(self, query):
        assert query.text.split()
        return super().retrieve(query)


class CountsItsQuestions(EditedRetriever):
    asked = 0

    def retrieve(self, query):
        self.asked += 1
        return replace(super().retrieve(query), trace=(f"Question {self.asked}.",))


class SharesItsQuery(EditedRetriever):
    """Keeps the query in the retriever; two threads at once search for the same."""

    def __init__(self, **options):
        super().__init__(**options)
        self._barrier = threading.Barrier(2)

    def retrieve(self, query):
        self._query = query
        if threading.current_thread() is not threading.main_thread():
            self._barrier.wait()
        return super().retrieve(self._query)


class WritesToTheIndex(EditedRetriever):
    def retrieve(self, query):
        with self._store.transaction():
            self._store.set_meta({"asked": query.text})
        return super().retrieve(query)


@pytest.mark.parametrize(
    ("kind", "check"),
    [
        (ReturnsTooMany, check_hits),
        (NeedsWords, lambda r: RETRIEVERS.test_any_question_may_be_asked(r, STORE, " ")),
        (
            CountsItsQuestions,
            lambda r: RETRIEVERS.test_the_same_question_finds_the_same(
                EditedRetriever, r, STORE, QUESTION
            ),
        ),
        (SharesItsQuery, RETRIEVERS.test_threads_find_the_same),
        (WritesToTheIndex, lambda r: RETRIEVERS.test_the_index_is_only_read(r, STORE)),
        (
            partial(EditedRetriever, edit=lambda e: replace(e, hits=())),
            lambda r: RETRIEVERS.test_a_question_finds_passages(r, STORE, QUESTION),
        ),
    ],
)
def test_a_careless_retriever_is_caught(kind, check):
    check(EditedRetriever())
    with caught():
        check(kind())


@pytest.mark.parametrize(("name", "named"), [("", ""), (" ", " "), ("other", "edited")])
def test_evidence_of_another_name_is_caught(name, named):
    class Renamed(EditedRetriever):
        def retrieve(self, query):
            return replace(super().retrieve(query), retriever=named)

    RETRIEVERS.test_the_evidence_has_the_name(EditedRetriever(), QUESTION)
    retriever = Renamed()
    retriever.name = name
    with caught():
        RETRIEVERS.test_the_evidence_has_the_name(retriever, QUESTION)


class SearchesEverything(EditedRetriever):
    """Ignores the filter of the store."""

    def __init__(self, *, store, embedder):
        super().__init__(store=getattr(store, "_store", store), embedder=embedder)


class ListsAllTitles(EditedRetriever):
    """Names every document of the index in its trace, whatever the filter."""

    def retrieve(self, query):
        documents = getattr(self._store, "_store", self._store).documents
        titles = [d.title for d in documents.documents(documents.document_ids()).values()]
        return replace(super().retrieve(query), trace=(f"Searched {', '.join(titles)}.",))


@pytest.mark.parametrize("kind", [SearchesEverything, ListsAllTitles])
def test_a_leak_is_caught(kind):
    RETRIEVERS.test_excluded_documents_do_not_leak(EditedRetriever, STORE, QUESTION)
    with caught():
        RETRIEVERS.test_excluded_documents_do_not_leak(kind, STORE, QUESTION)


class KeepsItsEvidence(EditedRetriever):
    """Keeps the evidence of each question for ever."""

    def __init__(self, *, store, embedder):
        super().__init__(store=store, embedder=embedder)
        self._kept = {}

    def retrieve(self, query):
        if query not in self._kept:
            self._kept[query] = super().retrieve(query)
        return self._kept[query]


def test_evidence_of_an_earlier_index_is_caught():
    RETRIEVERS.test_the_retriever_follows_the_index(EditedRetriever, QUESTION)
    with caught():
        RETRIEVERS.test_the_retriever_follows_the_index(KeepsItsEvidence, QUESTION)


class FindsTheSample(EditedRetriever):
    """Finds passages of the sample in every index."""

    def __init__(self, *, store, embedder):
        super().__init__(store=STORE, embedder=embedder)


def test_evidence_of_another_index_is_caught():
    RETRIEVERS.test_an_empty_index_has_no_evidence(EditedRetriever, QUESTION)
    with caught():
        RETRIEVERS.test_an_empty_index_has_no_evidence(FindsTheSample, QUESTION)
