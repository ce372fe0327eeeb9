"""Seeds of a walk: entities that a question names, describes, or is near to."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from knotwork.inference.similarity import to_similarity
from knotwork.records import Entity
from knotwork.retrieval.question import Question
from knotwork.retrieval.things import read_things_of
from knotwork.stores.base import Scored, Store
from knotwork.text.terms import content_terms

NAMED = "named"
WORDED = "words"
NEAR = "vector"

MOST_KEYWORDS = 8
"""Entities that the words of a question lead to, their other names not counted."""
_WORDED_CANDIDATES = 60
_WORDED_TRUST = 0.5
"""What an entity of which the question holds the words is worth beside one that it names."""


@dataclass(frozen=True, slots=True)
class Seed:
    """An entity to start from; ``score`` in [0, 1], ``how`` it was found."""

    entity: Entity
    score: float
    how: str


def named_seeds(question: Question) -> list[Seed]:
    """Return the entities that the question names."""
    return [Seed(link.entity, link.weight, NAMED) for link in question.links if link.weight > 0]


def worded_seeds(question: Question, store: Store, *, most: int) -> list[Seed]:
    """Return entities whose names share words with the question, by the full text of names.

    A score grows with the share of the name that the question holds, and with what these words
    are of the question's information.
    """
    shares = dict(zip(question.terms, question.weights.tolist(), strict=True))
    hits = store.texts("entity").search(question.text, k=max(_WORDED_CANDIDATES, most))
    found = []
    for identifier, entity in _in_order(hits, store).items():
        words = set(content_terms(entity.name))
        shared = words & shares.keys()
        if not shared or identifier in question.named:
            continue
        information = sum(shares[word] for word in shared)
        share = len(shared) / len(words)
        rare = question.rarity(entity.chunk_count)
        score = _WORDED_TRUST * share * math.sqrt(information) * rare
        found.append(Seed(entity, score, WORDED))
    return _best(found, most)


def keyword_seeds(question: Question, store: Store) -> list[Seed]:
    """Return what the question names or has words of, under all names of each thing."""
    worded = worded_seeds(question, store, most=MOST_KEYWORDS)
    found = merge_seeds(named_seeds(question), worded, most=MOST_KEYWORDS)
    return add_other_names(found, store) if found else []


def near_seeds(question: Question, store: Store, *, most: int, least: float = 0.0) -> list[Seed]:
    """Return the entities whose vectors are nearest to the question's, by cosine and rarity.

    ``least`` is the smallest similarity, from 0 for unrelated texts to 1 for equal ones.
    """
    if question.vector is None:
        return []
    near = store.vectors("entity").search(question.vector, k=most)
    hits = [Scored(hit.id, to_similarity(hit.score, question.embedder)) for hit in near]
    hits = [hit for hit in hits if hit.score > least]
    cosines = dict(hits)
    return [
        Seed(entity, cosines[i] * question.rarity(entity.chunk_count), NEAR)
        for i, entity in _in_order(hits, store).items()
    ]


def _in_order(hits: Sequence[Scored], store: Store) -> dict[str, Entity]:
    entities = store.graph.entities([hit.id for hit in hits])
    return {hit.id: entities[hit.id] for hit in hits if hit.id in entities}


def merge_seeds(*lists: Iterable[Seed], most: int) -> list[Seed]:
    """Return the best seed of each entity, the best first."""
    merged: dict[str, Seed] = {}
    for seed in (seed for seeds in lists for seed in seeds):
        known = merged.get(seed.entity.id)
        if known is None or seed.score > known.score:
            merged[seed.entity.id] = seed
    return _best(merged.values(), most)


def add_other_names(seeds: Sequence[Seed], store: Store) -> list[Seed]:
    """Add the other names of the things that the seeds are, with the score of the seed."""
    things = read_things_of(store, [seed.entity.id for seed in seeds])
    others: dict[str, Seed] = {}
    for seed in seeds:
        for name in things.members(things.of(seed.entity.id)):
            if name not in others or seed.score > others[name].score:
                others[name] = seed
    entities = store.graph.entities([i for i in others if i != others[i].entity.id])
    added = [replace(others[i], entity=entity) for i, entity in entities.items()]
    return merge_seeds(seeds, added, most=len(seeds) + len(added))


def seed_names(seeds: Iterable[Seed]) -> str:
    """Return the seeds as a person reads them, in order."""
    return ", ".join(f"{seed.entity.name} ({seed.how} {seed.score:.2f})" for seed in seeds)


def scores_of(seeds: Iterable[Seed]) -> Mapping[str, float]:
    """Return the score of each seed by the id of its entity."""
    return {seed.entity.id: seed.score for seed in seeds}


def entities_of(seeds: Iterable[Seed]) -> Collection[str]:
    """Return the ids of the entities of the seeds, in order."""
    return [seed.entity.id for seed in seeds]


def _best(seeds: Iterable[Seed], most: int) -> list[Seed]:
    return sorted(seeds, key=lambda seed: (-seed.score, seed.entity.id))[: max(most, 0)]
