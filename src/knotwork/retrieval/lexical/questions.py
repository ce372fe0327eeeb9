"""Hypothetical questions: search what chunks answer, beside what they say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from knotwork.errors import ConfigError
from knotwork.inference.base import Embedder
from knotwork.inference.similarity import to_similarity
from knotwork.records import Evidence, Query
from knotwork.retrieval.basic import rank
from knotwork.retrieval.candidates import first_stage
from knotwork.retrieval.features import ChunkFeatures
from knotwork.retrieval.hits import make_evidence, parts_of_base
from knotwork.retrieval.question import read_question
from knotwork.retrieval.weights import DEFAULT_WEIGHTS, Weights
from knotwork.stores.base import Capability, Store

QUESTIONS = "question"
"""The text index, and the vector index, of the questions that chunks answer, by their ids."""

CANDIDATES = 50

NO_QUESTIONS_NOTE = (
    "This index holds no questions, so that passages alone were searched: set index.questions to "
    '"rules", or "model", and index again.'
)


class QuestionsRetriever:
    """Chunks by their own text and by the best of the questions that they answer.

    A score is that of `hybrid` and ``weight`` times the cosine of the question with the nearest of
    the chunk's questions; without vectors, times the BM25 of its questions, of the best one.
    """

    name = "questions"
    requires = frozenset({Capability.TEXT})

    def __init__(
        self,
        *,
        store: Store,
        embedder: Embedder | None = None,
        weight: float = 0.3,
        weights: Weights = DEFAULT_WEIGHTS,
    ) -> None:
        if weight < 0:
            raise ConfigError(f"`weight` is `{weight}`, but must be at least 0.")
        self._store = store
        self._embedder = embedder
        self._weight = weight
        self._weights = weights

    def retrieve(self, query: Query) -> Evidence:
        """Return the chunks that answer best by text and by questions."""
        question = read_question(
            query.text,
            store=self._store,
            embedder=self._embedder,
            weights=self._weights,
            link=False,
        )
        pool, text = first_stage(question, self._store, self._weights)
        matched = {
            item.id: item.score
            for item in self._store.texts(QUESTIONS).search(query.text, k=CANDIDATES)
        }
        pool = list(dict.fromkeys([*pool, *matched]))
        features = ChunkFeatures(question, self._store, self._weights, text)
        features.fetch(pool)
        best = max(matched.values(), default=0.0) or 1.0
        asked = {key: score / best for key, score in matched.items()}
        if question.vector is not None:
            found = self._store.vectors(QUESTIONS).get(pool)
            asked = {
                key: float(
                    np.clip(to_similarity((rows @ question.vector).max(), question.embedder), 0, 1)
                )
                for key, rows in found.items()
                if len(rows)
            } or asked
        gains = {key: self._weight * asked.get(key, 0.0) for key in pool}
        ranked = rank({key: features[key].base + gains[key] for key in pool}, query.k)
        parts = {
            item.id: parts_of_base(features[item.id]) | {"question": gains[item.id]}
            for item in ranked
        }
        evidence = make_evidence(query, self.name, ranked, parts, features, self._store)
        if asked or self._store.texts(QUESTIONS).count():
            return evidence
        return replace(evidence, notes=(*evidence.notes, NO_QUESTIONS_NOTE))
