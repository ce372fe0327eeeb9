"""Turning ranked chunk ids into hits that explain themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from knotwork.records import Evidence, Hit, Query, Step
from knotwork.retrieval.confidence import estimate_confidence
from knotwork.retrieval.features import ChunkFeatures, Features
from knotwork.retrieval.sentences import rank_sentences
from knotwork.stores.base import Scored, Store

CORRECTED = "No document has “{written}”: searched for “{meant}”."


def parts_of_base(features: Features) -> dict[str, float]:
    """Return the parts of a base score that a person can read."""
    best = float(features.sentences.max()) if features.sentences.size else 0.0
    return {
        "cosine": features.cosine,
        "best_sentence": best,
        "coverage": features.coverage,
        "bm25": features.bm25,
    }


def make_evidence(
    query: Query,
    retriever: str,
    ranked: Sequence[Scored],
    parts: Mapping[str, dict[str, float]],
    features: ChunkFeatures,
    store: Store,
    *,
    seeds: Mapping[str, tuple[str, ...]] | None = None,
    paths: Mapping[str, tuple[Step, ...]] | None = None,
) -> Evidence:
    """Read the chunks of ``ranked`` and attach scores, seeds, paths and ranked sentences."""
    question = features.question
    ids = [item.id for item in ranked]
    features.fetch(ids)
    chunks = store.documents.chunks(ids)
    hits = tuple(
        Hit(
            chunk=chunks[item.id],
            score=float(item.score),
            scores=parts.get(item.id, {}),
            seeds=(seeds or {}).get(item.id, ()),
            path=(paths or {}).get(item.id, ()),
            sentences=rank_sentences(question, chunks[item.id], features[item.id]),
        )
        for item in ranked
        if item.id in chunks
    )
    confidence = estimate_confidence(question, ids, features, store)
    notes = tuple(
        CORRECTED.format(written=written, meant=meant)
        for written, meant in question.corrections.items()
    )
    return Evidence(query, retriever, hits, confidence, notes, embedder=question.embedder)
