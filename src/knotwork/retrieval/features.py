"""What the text of a chunk says for itself: cosine, best sentence, covered terms, BM25."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from knotwork.retrieval.question import Question
from knotwork.retrieval.weights import Weights
from knotwork.stores.base import FloatMatrix, Scored, Store

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Features:
    """One chunk against one question.

    ``sentences`` are the cosines of its sentences with the question, ``sentences_rest`` those with
    what the question asks beside the names it gives; both are empty without vectors. ``covered``
    marks the question's terms that it holds.
    """

    cosine: float
    rest: float
    sentences: NDArray[np.float64]
    sentences_rest: NDArray[np.float64]
    covered: NDArray[np.bool_]
    coverage: float
    bm25: float
    base: float


class ChunkFeatures:
    """The features of chunks, fetched from the store in batches and kept for one question."""

    def __init__(
        self, question: Question, store: Store, weights: Weights, bm25: Iterable[Scored]
    ) -> None:
        self.question = question
        self._store = store
        self._weights = weights
        self._bm25 = dict(bm25)
        self._best_bm25 = max(self._bm25.values(), default=0.0) or 1.0
        self._features: dict[str, Features] = {}
        if question.vector is not None:
            rest = question.vector if question.rest is None else question.rest
            self._directions = np.stack([question.vector, rest])
        self._text_weight = text_weight(len(question.terms), weights)
        self._pages = [
            link
            for link in question.links
            if link.about and link.about[0].score >= weights.link.title
        ]

    def fetch(self, ids: Collection[str]) -> None:
        """Make sure that the features of these chunks are there."""
        missing = [
            identifier for identifier in dict.fromkeys(ids) if identifier not in self._features
        ]
        if not missing:
            return
        counts = self._store.texts("chunk").occurrences(missing, self.question.terms)
        covered = counts > 0
        coverage = covered @ self.question.weights
        vectors, sentences = self._vectors(missing)
        for row, identifier in enumerate(missing):
            self._features[identifier] = self._score(
                covered[row],
                float(coverage[row]),
                self._bm25.get(identifier, 0.0) / self._best_bm25,
                vectors.get(identifier),
                sentences.get(identifier),
            )

    def __getitem__(self, identifier: str) -> Features:
        return self._features[identifier]

    def __contains__(self, identifier: str) -> bool:
        return identifier in self._features

    def _vectors(
        self, ids: Collection[str]
    ) -> tuple[Mapping[str, FloatMatrix], Mapping[str, FloatMatrix]]:
        if self.question.vector is None:
            return {}, {}
        return self._store.vectors("chunk").get(ids), self._store.vectors("sentence").get(ids)

    def _score(
        self,
        covered: Mask,
        coverage: float,
        bm25: float,
        vector: FloatMatrix | None,
        sentences: FloatMatrix | None,
    ) -> Features:
        text = self._weights.text
        own = rests = np.zeros(0)
        cosine = rest = 0.0
        if self.question.vector is None or vector is None:
            base = text.bm25_alone * bm25 + (1 - text.bm25_alone) * coverage
        else:
            cosine, rest = self._cosines(vector.reshape(1, -1))[:, 0]
            if sentences is not None:
                own, rests = self._cosines(sentences)
            best = max(float(own.max()), 0.0) if own.size else max(cosine, 0.0)
            dense = (cosine + text.best_sentence * best) / (1 + text.best_sentence)
            base = dense + text.coverage * coverage + self._text_weight * bm25
        base *= 1 - self._elsewhere(covered)
        return Features(
            float(cosine), float(rest), own, rests, covered, coverage, bm25, float(base)
        )

    def _cosines(self, rows: FloatMatrix) -> NDArray[np.float64]:
        """Return the cosines of rows with the question and with its rest, of shape (2, n)."""
        return np.asarray(self._directions @ rows.T, dtype=np.float64)

    def _elsewhere(self, covered: Mask) -> float:
        """Return the share of its base a chunk loses for not naming what the question names."""
        total = sum(link.weight for link in self._pages)
        if not total:
            return 0.0
        named = sum(link.weight for link in self._pages if covered[link.terms].all())
        strongest = max(link.weight for link in self._pages)
        return float(self._weights.link.elsewhere * (1 - named / total) * strongest)


def text_weight(term_count: int, weights: Weights) -> float:
    """Return the weight of BM25 for a question of so many content terms."""
    text = weights.text
    growth = max(1.0, term_count / text.long_question) ** text.bm25_growth
    return float(min(text.bm25 * growth, text.bm25_most))
