"""The first stage: chunks worth scoring, by vector and by full text."""

from __future__ import annotations

from knotwork.retrieval.question import Question
from knotwork.retrieval.weights import Weights
from knotwork.stores.base import Scored, Store


def dense_candidates(question: Question, store: Store, *, k: int) -> list[Scored]:
    """Return the chunks nearest to the question; none when it has no vector."""
    if question.vector is None or k <= 0:
        return []
    return store.vectors("chunk").search(question.vector, k=k)


def text_candidates(question: Question, store: Store, *, k: int) -> list[Scored]:
    """Return the chunks that BM25 ranks best."""
    return store.texts("chunk").search(question.text, k=k)


def first_stage(
    question: Question, store: Store, weights: Weights
) -> tuple[list[str], list[Scored]]:
    """Return the ids of the pool, and the BM25 scores of all text candidates."""
    text = text_candidates(question, store, k=weights.text.text_candidates)
    dense = dense_candidates(question, store, k=weights.text.dense_candidates)
    pool = [item.id for item in dense] + [item.id for item in text[: weights.text.text_pool]]
    return list(dict.fromkeys(pool)), text
