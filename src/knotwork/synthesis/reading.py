"""Reading the best passages with the question: which of their sentences answer it."""

from __future__ import annotations

from dataclasses import replace

from knotwork.inference.base import Passage
from knotwork.inference.reading import Reader
from knotwork.records import Evidence
from knotwork.synthesis.selection import PREDICTION_GAIN, rank_candidates

MOST_READ = 6
"""Passages that are read, at most; one of 250 tokens takes about 0.08 seconds of a processor."""


def read_hits(evidence: Evidence, reader: Reader | None, *, most: int) -> Evidence:
    """Return evidence whose best hits have a prediction; ``most`` sentences will be quoted.

    A hit is left out if no prediction can bring one of its sentences among these. Nothing is read
    where there is no reader, or the index has vectors of another model than the one that the reader
    is built on, which may not be at hand.
    """
    if reader is None or evidence.embedder != reader.embedder:
        return evidence
    ranked = rank_candidates(evidence)
    if not ranked:
        return evidence
    least = ranked[min(most, len(ranked)) - 1].worth / (1 + PREDICTION_GAIN)
    ranks = sorted({item.rank for item in ranked if item.rank < MOST_READ and item.worth >= least})
    passages = [Passage.of(evidence.hits[rank].chunk) for rank in ranks]
    hits = list(evidence.hits)
    for rank, found in zip(ranks, reader.read(evidence.query.text, passages), strict=True):
        hits[rank] = replace(hits[rank], prediction=found)
    return replace(evidence, hits=tuple(hits))
