"""The basic retrievers: BM25, dense, hybrid, and hybrid with generated questions.

`WrappingRetriever` is the base of those around another retriever.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from knotwork._inference.embedder import Embedder, to_similarity
from knotwork._retrieval.base import (
    ConfiguredRetriever,
    QuestionRetriever,
    Retriever,
    Weight,
    bounded,
)
from knotwork._retrieval.chunk_features import ChunkFeatures, first_stage
from knotwork._retrieval.evidence_builder import make_evidence, parts_of_base, rank
from knotwork._retrieval.question import Question, can_embed, read_question, require_vectors
from knotwork._stores.base import Store
from knotwork.records import Evidence, Query

UNREAD_QUESTION_NOTE = (
    "`{embedder}` does not support the language of this question, so its vector means little: "
    "use `auto` or `bm25`, or index with a multilingual model."
)


class Bm25Retriever(QuestionRetriever):
    """Ranks chunks by BM25 over stemmed words and Chinese bigrams."""

    name = "bm25"
    uses_vectors = uses_links = False

    def _rank(self, query: Query, question: Question) -> Evidence:
        ranked = self._store.texts("chunk").search(question.text, k=query.k)
        features = ChunkFeatures(question, self._store, ranked)
        parts = {item.id: {"bm25": item.score} for item in ranked}
        return make_evidence(query, self.name, ranked, parts, features)


class DenseRetriever:
    """Ranks chunks by the cosine of their vector with the question's."""

    name = "dense"

    def __init__(self, *, store: Store, embedder: Embedder) -> None:
        self._store = store
        self._embedder = embedder

    def retrieve(self, query: Query) -> Evidence:
        """Return the chunks nearest to the question."""
        question = read_question(query.text, store=self._store, link=False)
        vector = require_vectors(self._embedder.embed([question.text]), self._embedder)[0]
        with self._store.reading():
            ranked = self._store.vectors("chunk").search(vector, k=query.k)
            features = ChunkFeatures(question, self._store)
            parts = {item.id: {"cosine": item.score} for item in ranked}
            evidence = make_evidence(query, self.name, ranked, parts, features)
        if can_embed(self._embedder, query.text):
            return evidence
        note = UNREAD_QUESTION_NOTE.format(embedder=self._embedder.name)
        return replace(evidence, notes=(*evidence.notes, note))


class HybridRetriever(QuestionRetriever):
    """Ranks chunks by a weighted sum of cosine, best sentence, covered terms and BM25."""

    name = "hybrid"
    uses_links = False

    def _rank(self, query: Query, question: Question) -> Evidence:
        pool, features = first_stage(question, self._store)
        ranked = rank({identifier: features[identifier].base for identifier in pool}, query.k)
        parts = {item.id: parts_of_base(features[item.id]) for item in ranked}
        return make_evidence(query, self.name, ranked, parts, features)


class WrappingRetriever(ConfiguredRetriever):
    """A retriever or step around another one, by default the hybrid one; see `RetrieverStep`."""

    precedes: ClassVar[bool] = False
    searches: ClassVar[int] = 1

    def __init__(
        self,
        *,
        store: Store,
        embedder: Embedder | None = None,
        base: Retriever | None = None,
        options: Any = None,  # noqa: ANN401  an instance of `Options`
    ) -> None:
        super().__init__(store=store, embedder=embedder, options=options)
        self.base = base or HybridRetriever(store=store, embedder=embedder)


QUESTION_INDEX = "question"
"""The name of the text index and of the vector index of generated questions, by chunk id."""

QUESTION_CANDIDATES = 50

NO_QUESTIONS_NOTE = (
    "This index has no generated questions, so only passages were searched. Set index.questions to "
    '"rules" or "model", and index again.'
)


class QuestionsRetriever(QuestionRetriever):
    """Ranks chunks by their text and by the best of the questions they answer.

    A score is that of `hybrid` plus ``weight`` times the cosine with the nearest question of the
    chunk; without vectors, plus ``weight`` times the BM25 of its questions, relative to the best.
    """

    name = "questions"
    uses_links = False

    @bounded
    class Options:
        weight: Weight = 0.3

    options: Options

    def _rank(self, query: Query, question: Question) -> Evidence:
        index = self._store.texts(QUESTION_INDEX)
        matched = dict(index.search(query.text, k=QUESTION_CANDIDATES))
        pool, features = first_stage(question, self._store, also=matched)
        best = max(matched.values(), default=0.0) or 1.0
        matches = {key: score / best for key, score in matched.items()}
        if question.vector is not None:
            found = self._store.vectors(QUESTION_INDEX).products(pool, question.vector)
            matches = {
                key: float(np.clip(to_similarity(near.max(), question.embedder), 0, 1))
                for key, near in found.items()
                if len(near)
            } or matches
        gains = {key: self.options.weight * matches.get(key, 0.0) for key in pool}
        ranked = rank({key: features[key].base + gains[key] for key in pool}, query.k)
        parts = {
            item.id: parts_of_base(features[item.id]) | {"question": gains[item.id]}
            for item in ranked
        }
        evidence = make_evidence(query, self.name, ranked, parts, features)
        if matches or index.count():
            return evidence
        return replace(evidence, notes=(*evidence.notes, NO_QUESTIONS_NOTE))
