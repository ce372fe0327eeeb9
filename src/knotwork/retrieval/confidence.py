"""Whether the passages found hold an answer at all.

A logistic function of four things that tell answerable questions from others: the best cosine, the
largest share of the question that one passage covers, how much of the question the whole index has
never heard of, and how long the question is (long ones are covered less). Fitted on answerable
questions of six development sets, MultiHop-RAG's questions without an answer, and questions asked
of another set's corpus; see docs/benchmarks.md.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

from knotwork.retrieval.features import ChunkFeatures
from knotwork.retrieval.question import Question
from knotwork.stores.base import Store

READ_HITS = 5


@dataclass(frozen=True, slots=True)
class ConfidenceModel:
    """Coefficients of the logistic function; 0.5 is where to abstain."""

    intercept: float
    cosine: float
    coverage: float
    log_terms: float
    unknown: float


WITH_VECTORS = ConfidenceModel(-16.73, 24.12, 10.79, 0.87, -12.72)
TEXT_ALONE = ConfidenceModel(-10.32, 0.0, 15.59, 2.47, -15.73)


def estimate_confidence(
    question: Question, ids: Collection[str], features: ChunkFeatures, store: Store
) -> float:
    """Return the probability, from 0 to 1, that the first of these chunks hold an answer."""
    read = list(ids)[:READ_HITS]
    if not read or not question.terms:
        return 0.0
    found = [features[identifier] for identifier in read]
    model = TEXT_ALONE if question.vector is None else WITH_VECTORS
    known = store.texts("chunk").document_frequencies(question.terms)
    unknown = sum(
        weight
        for term, weight in zip(question.terms, question.weights, strict=True)
        if term not in known
    )
    value = (
        model.intercept
        + model.cosine * max(item.cosine for item in found)
        + model.coverage * max(item.coverage for item in found)
        + model.log_terms * math.log(len(question.terms))
        + model.unknown * float(unknown)
    )
    return 1.0 / (1.0 + math.exp(-max(min(value, 60.0), -60.0)))
