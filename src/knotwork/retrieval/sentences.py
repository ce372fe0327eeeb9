"""Sentences of chunks against a question."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from knotwork.records import Chunk, Span
from knotwork.retrieval.question import Question
from knotwork.text.terms import terms

SHOWN_SENTENCES = 3


def sentence_coverage(
    question: Question, chunks: Mapping[str, Chunk]
) -> dict[str, list[NDArray[np.bool_]]]:
    """Mark, for each sentence, the question's terms that it holds or the titles above it hold."""
    places = {term: index for index, term in enumerate(question.terms)}
    found: dict[str, list[NDArray[np.bool_]]] = {}
    for chunk_id, chunk in chunks.items():
        above = terms(chunk.context)
        found[chunk_id] = [
            _mask([*above, *terms(chunk.sentence_text(number))], places)
            for number in range(len(chunk.sentences))
        ]
    return found


def _mask(found: list[str], places: Mapping[str, int]) -> NDArray[np.bool_]:
    mask = np.zeros(len(places), dtype=np.bool_)
    mask[[places[term] for term in found if term in places]] = True
    return mask


def best_sentences(
    question: Question, chunk: Chunk, cosines: NDArray[np.float64]
) -> tuple[tuple[Span, float], ...]:
    """Return the sentences that answer best to the question, with their relevance in [0, 1].

    The relevance is the cosine where there is one, else the covered share of the question.
    """
    if not chunk.sentences:
        return ()
    if len(cosines) == len(chunk.sentences):
        values = np.clip(cosines, 0.0, 1.0)
    else:
        masks = sentence_coverage(question, {chunk.id: chunk})[chunk.id]
        values = np.array([mask @ question.weights for mask in masks])
    order = np.argsort(-values, kind="stable")[:SHOWN_SENTENCES]
    return tuple((chunk.sentences[i], float(values[i])) for i in order)
