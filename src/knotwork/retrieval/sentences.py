"""Sentences of chunks against a question."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet

import numpy as np
from numpy.typing import NDArray

from knotwork.records import Chunk, Span
from knotwork.retrieval.features import Features
from knotwork.retrieval.question import Question
from knotwork.text.terms import held_terms

SHOWN_SENTENCES = 3
COVERED_SHARE = 0.2
"""How much of a sentence's relevance is the share of the question that it covers; the rest is its
similarity. Vectors pooled late know their neighbours, so that those of a passage are close."""


def sentence_coverage(
    question: Question, chunks: Mapping[str, Chunk]
) -> dict[str, list[NDArray[np.bool_]]]:
    """Mark, for each sentence, the question's terms that it holds or the titles above it hold."""
    places = {term: index for index, term in enumerate(question.terms)}
    found: dict[str, list[NDArray[np.bool_]]] = {}
    for chunk_id, chunk in chunks.items():
        above = held_terms(chunk.context, places.keys())
        found[chunk_id] = [
            _mask(above | held_terms(chunk.sentence_text(number), places.keys()), places)
            for number in range(len(chunk.sentences))
        ]
    return found


def _mask(found: AbstractSet[str], places: Mapping[str, int]) -> NDArray[np.bool_]:
    mask = np.zeros(len(places), dtype=np.bool_)
    mask[[places[term] for term in found]] = True
    return mask


def best_sentences(
    question: Question, chunk: Chunk, features: Features, *, reached: bool
) -> tuple[tuple[Span, float], ...]:
    """Return the sentences that answer best to the question, with their relevance in [0, 1].

    The relevance is the similarity to the question, or, in a chunk ``reached`` over an entity, to
    the question's rest if that is larger, and the share of the question that the sentence covers;
    without vectors that share alone.
    """
    if not chunk.sentences:
        return ()
    masks = sentence_coverage(question, {chunk.id: chunk})[chunk.id]
    values = np.array([mask @ question.weights for mask in masks])
    if len(features.sentences) == len(chunk.sentences):
        near = features.sentences
        if reached:
            near = np.maximum(near, features.sentences_rest)
        values = (1 - COVERED_SHARE) * np.clip(near, 0.0, 1.0) + COVERED_SHARE * values
    values = np.clip(values, 0.0, 1.0)
    order = np.argsort(-values, kind="stable")[:SHOWN_SENTENCES]
    return tuple((chunk.sentences[i], float(values[i])) for i in order)
