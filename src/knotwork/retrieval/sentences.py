"""Sentences of chunks against a question: which of its words each holds, how relevant each is."""

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
"""How many sentences of a chunk stand for it where few are wanted."""
COVERED_SHARE = 0.4
"""How much of a sentence's relevance is the share of the question that it covers; the rest is its
similarity. Vectors pooled late know their neighbours, so that those of a passage are close."""
TITLE_SHARE = 0.25
"""How much a term of the question counts that only the titles above a sentence hold, which are the
same for all sentences of a section. Without vectors it counts in full: nothing else tells what
"she" is."""

Masks = list[NDArray[np.bool_]]


def sentence_coverage(question: Question, chunks: Mapping[str, Chunk]) -> dict[str, Masks]:
    """Mark, for each sentence, the terms of the question that a reader has read at its end.

    These are its own, those of what introduces it (see `Frame`) and those of the titles above it.
    """
    places = _places(question)
    found: dict[str, Masks] = {}
    for chunk_id, chunk in chunks.items():
        titles = _mask(held_terms(chunk.context, places.keys()), places)
        found[chunk_id] = [titles | mask for mask in _introduced(chunk, places)]
    return found


def rank_sentences(
    question: Question, chunk: Chunk, features: Features
) -> tuple[tuple[Span, float], ...]:
    """Return the sentences of a chunk with their relevance in [0, 1], the most relevant first.

    The relevance is the similarity to the question, or to the question's rest if that is larger,
    and the share of the question that the sentence covers in its place; without vectors that share
    alone.
    """
    if not chunk.sentences:
        return ()
    places = _places(question)
    titles = _mask(held_terms(chunk.context, places.keys()), places)
    has_vectors = len(features.sentences) == len(chunk.sentences)
    title_share = TITLE_SHARE if has_vectors else 1.0
    values = np.array(
        [
            (1 - title_share) * (mask @ question.weights)
            + title_share * ((mask | titles) @ question.weights)
            for mask in _introduced(chunk, places)
        ]
    )
    if has_vectors:
        near = np.maximum(features.sentences, features.sentences_rest)
        values = (1 - COVERED_SHARE) * np.clip(near, 0.0, 1.0) + COVERED_SHARE * values
    values = np.clip(values, 0.0, 1.0)
    order = np.argsort(-values, kind="stable")
    return tuple((chunk.sentences[i], float(values[i])) for i in order)


def _places(question: Question) -> dict[str, int]:
    return {term: index for index, term in enumerate(question.terms)}


def _introduced(chunk: Chunk, places: Mapping[str, int]) -> Masks:
    """Mark, for each sentence, the terms that it or what introduces it holds."""
    labels = {
        frame.label: held_terms(frame.label, places.keys()) for frame in chunk.frames if frame.label
    }
    masks: Masks = []
    for number, span in enumerate(chunk.sentences):
        held = set(held_terms(chunk.sentence_text(number), places.keys()))
        if labels:
            held.update(*(labels[f.label] for f in chunk.frames_around(span) if f.label))
        masks.append(_mask(held, places))
    return masks


def _mask(found: AbstractSet[str], places: Mapping[str, int]) -> NDArray[np.bool_]:
    mask = np.zeros(len(places), dtype=np.bool_)
    mask[[places[term] for term in found]] = True
    return mask
