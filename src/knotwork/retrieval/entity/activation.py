"""The entities that the sentences of the best passages activate, as starts of a walk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from knotwork.records import Chunk, Entity
from knotwork.retrieval.features import ChunkFeatures
from knotwork.retrieval.mentions import mentions_by_sentence
from knotwork.retrieval.question import Question
from knotwork.retrieval.sentences import sentence_coverage
from knotwork.retrieval.weights import Weights
from knotwork.stores.base import Store

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Origin:
    """The sentence that activates an entity.

    ``told`` marks the terms of the question that the sentence holds, ``known`` those of its
    passage: what lies beyond is worth less for what it only repeats of these.
    """

    score: float
    chunk_id: str
    sentence: int
    told: Mask
    known: Mask


@dataclass(frozen=True, slots=True)
class Activated:
    """Origins by entity, the strongest first, with the entities and the passages they are from."""

    origins: Mapping[str, Origin]
    entities: Mapping[str, Entity]
    sources: Mapping[str, Chunk]

    @property
    def scores(self) -> dict[str, float]:
        """The score of each entity."""
        return {i: origin.score for i, origin in self.origins.items()}


def activate_entities(
    question: Question,
    seeds: Mapping[str, float],
    features: ChunkFeatures,
    store: Store,
    weights: Weights,
    *,
    sources: int,
    most: int,
) -> Activated:
    """Return the entities that the best of ``seeds`` (chunk id to score) activate.

    A sentence activates those it mentions by the score of its passage, its likeness to the question
    and their rarity; the entities that the question names itself are left out.
    """
    ranked = sorted(seeds, key=lambda i: (-seeds[i], i))[:sources]
    chunks = store.documents.chunks(ranked)
    found = mentions_by_sentence(chunks, store, known=weights.link.known)
    ids = {i for rows in found.values() for row in rows for i in row} - question.named
    entities = store.graph.entities(ids)
    covered = sentence_coverage(question, chunks)
    top = max((seeds[i] for i in chunks), default=0.0)
    origins: dict[str, Origin] = {}
    for chunk_id in (i for i in ranked if i in chunks and top > 0):
        own = features[chunk_id]
        likeness = _likeness(question, chunks[chunk_id], own.sentences, covered[chunk_id])
        for number, row in enumerate(found[chunk_id]):
            relevance = seeds[chunk_id] / top * max(likeness[number], 0.0)
            for identifier in row & entities.keys():
                rare = question.rarity(entities[identifier].chunk_count)
                score = relevance * rare**weights.bridge.rarity
                if identifier not in origins or score > origins[identifier].score:
                    told = covered[chunk_id][number]
                    origins[identifier] = Origin(score, chunk_id, number, told, own.covered)
    best = sorted(origins, key=lambda i: (-origins[i].score, i))[:most]
    return Activated({i: origins[i] for i in best}, entities, chunks)


def _likeness(
    question: Question, chunk: Chunk, cosines: NDArray[np.float64], covered: list[Mask]
) -> list[float]:
    """Return each sentence's cosine with the question, or the share of it that it covers."""
    if len(cosines) == len(chunk.sentences):
        return [float(value) for value in cosines]
    return [float(mask @ question.weights) for mask in covered]
