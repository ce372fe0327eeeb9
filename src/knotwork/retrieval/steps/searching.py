"""Searching by several texts for one question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from knotwork.records import Evidence, Hit, Query
from knotwork.retrieval.base import Retriever
from knotwork.retrieval.fusion import fuse_hits

DEPTH = 30
"""Hits asked for each text, at least."""


def search_deep(base: Retriever, query: Query) -> Evidence:
    """Return what a retriever finds for a question, deep enough to be fused with other searches."""
    return base.retrieve(Query(query.text, max(DEPTH, query.k)))


def search_also(
    base: Retriever, own: Evidence, query: Query, texts: Sequence[tuple[str, float]], *, label: str
) -> Evidence:
    """Return what was found for a question, joined to what is found for further weighted texts.

    ``own`` is from :func:`search_deep`, and has the weight 1. A hit has the weighted sum of its
    scores, each in units of the best of its search, on the scale of the question's own scores.
    """
    found = [(base.name, 1.0, own)]
    for text, weight in texts:
        found.append((label, weight, search_deep(base, replace(query, text=text))))
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
