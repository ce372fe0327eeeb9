"""Searching by several texts for one question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from knotwork.records import Evidence, Hit, Query
from knotwork.retrieval.base import Retriever
from knotwork.retrieval.fusion import fuse_hits

DEPTH = 30
"""Hits asked for each text, at least."""


def search_also(
    base: Retriever, query: Query, texts: Sequence[tuple[str, float]], *, label: str
) -> Evidence:
    """Return what a retriever finds for a question and for further texts, each with its weight.

    The question itself has the weight 1. A hit has the weighted sum of its scores, each in units of
    the best of its search, on the scale of the question's own scores.
    """
    depth = max(DEPTH, query.k)
    own = base.retrieve(Query(query.text, depth))
    found = [(base.name, 1.0, own)]
    for text, weight in texts:
        evidence = base.retrieve(Query(text, depth))
        found.append((label, weight, evidence))
    if len(found) == 1:
        return cut_evidence(own, query)
    best = max((hit.score for hit in own.hits), default=1.0)
    scale = (best if best > 0 else 1.0) * sum(weight for _, weight, _ in found)
    hits = [_scaled(hit, scale) for hit in fuse_hits(found)]
    return cut_evidence(replace(own, hits=tuple(hits)), query)


def cut_evidence(evidence: Evidence, query: Query) -> Evidence:
    """Return the best hits of evidence as those for a query."""
    return replace(evidence, query=query, hits=evidence.hits[: max(query.k, 0)])


def _scaled(hit: Hit, factor: float) -> Hit:
    parts = {name: value * factor for name, value in hit.scores.items()}
    return replace(hit, score=hit.score * factor, scores=parts)
