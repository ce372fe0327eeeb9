"""Whether evidence is enough: its confidence, and what of the question nothing in it speaks of."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from knotwork.records import Evidence
from knotwork.retrieval.question import Question, read_question
from knotwork.retrieval.weights import DEFAULT_WEIGHTS
from knotwork.stores.base import Store
from knotwork.text.terms import terms

READ_HITS = 5
GOOD_CONFIDENCE = 0.8
POOR_CONFIDENCE = 0.3
GOOD_COVERAGE = 0.9


class Verdict(StrEnum):
    """What to do with evidence: use it, look further, or look elsewhere."""

    GOOD = "good"
    UNSURE = "unsure"
    POOR = "poor"


@dataclass(frozen=True, slots=True)
class Judgement:
    """``coverage`` is the share of the question's information that the best hits hold together.

    ``missing`` are the terms that none of them has, ``verdict`` follows from both and from the
    confidence of the retriever.
    """

    verdict: Verdict
    confidence: float
    coverage: float
    missing: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The judgement as a line of a trace."""
        told = f"{self.verdict}: confidence {self.confidence:.2f}, covers {self.coverage:.0%}"
        return f"{told}, nothing on {', '.join(self.missing[:5])}" if self.missing else told


def judge_evidence(evidence: Evidence, store: Store, *, read_hits: int = READ_HITS) -> Judgement:
    """Return how good evidence is for its own question."""
    question = read_question(
        evidence.query.text, store=store, embedder=None, weights=DEFAULT_WEIGHTS, link=False
    )
    mask = covered_terms(question, evidence, read_hits=read_hits)
    coverage = float(question.weights[mask].sum()) if len(mask) else 0.0
    missing = tuple(t for t, has in zip(question.terms, mask, strict=True) if not has)
    confidence = evidence.confidence
    if not evidence.hits or confidence < POOR_CONFIDENCE:
        verdict = Verdict.POOR
    elif confidence >= GOOD_CONFIDENCE and coverage >= GOOD_COVERAGE:
        verdict = Verdict.GOOD
    else:
        verdict = Verdict.UNSURE
    return Judgement(verdict, confidence, coverage, missing)


def covered_terms(
    question: Question, evidence: Evidence, *, read_hits: int = READ_HITS
) -> NDArray[np.bool_]:
    """Return which terms of a question the best hits hold together, titles included."""
    found: set[str] = set()
    for hit in evidence.hits[:read_hits]:
        found.update(terms(hit.chunk.context))
        found.update(terms(hit.chunk.text))
    return np.array([term in found for term in question.terms], dtype=np.bool_)
