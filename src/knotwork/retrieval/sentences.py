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

    The relevance is the cosine with the question, or, in a chunk ``reached`` over an entity, the
    one with the question's rest if that is larger; without vectors the covered share of the
    question.
    """
    if not chunk.sentences:
        return ()
    if len(features.sentences) == len(chunk.sentences):
        values = features.sentences
        if reached:
            values = np.maximum(values, features.sentences_rest)
    else:
        masks = sentence_coverage(question, {chunk.id: chunk})[chunk.id]
        values = np.array([mask @ question.weights for mask in masks])
    values = np.clip(values, 0.0, 1.0)
    order = np.argsort(-values, kind="stable")[:SHOWN_SENTENCES]
    return tuple((chunk.sentences[i], float(values[i])) for i in order)
