"""The graph retriever: text evidence, named entities, and bridges between passages.

The best passages by text are the sources of bridges. A relevant sentence of a source activates the
entities it mentions, except those of which a model that read the source stated no fact. An
activated entity leads to the chunks that are *about* it. The score of a path (source, sentence,
entity, target) depends on the relevance of the sentence, the rarity of the entity, the target's
aboutness, and on how much of the question sentence and target cover *together*, without what the
target only repeats of its source.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from knotwork._retrieval.base import QuestionRetriever
from knotwork._retrieval.chunk_entities import (
    find_linked_chunks,
    mentions_by_sentence,
    stated_entities,
)
from knotwork._retrieval.evidence_builder import (
    ChunkFeatures,
    first_stage,
    make_evidence,
    rank,
    sentence_coverage,
)
from knotwork._retrieval.question import Question
from knotwork._retrieval.weights import Weights
from knotwork._stores.base import Scored
from knotwork._text.terms import content_terms
from knotwork.records import Chunk, Entity, Evidence, Query, Step

_UNNAMED = (0.0, "")


class GraphRetriever(QuestionRetriever):
    """Ranks chunks by their own text, by the entities named in the question, and by bridges.

    A score is ``base + max(named, bridge) + support``; ``Hit.scores`` has all parts. The chunk with
    the best ``base + named`` comes first. If the question names no entity and no bridge is found,
    chunks are ranked by their base alone, as `HybridRetriever` does.
    """

    name = "graph"

    def _rank(self, query: Query, question: Question) -> Evidence:
        named = self._named(question)
        most = self.weights.link.candidates
        own_pages = [item.id for link in question.links for item in link.about[:most]]
        pool, features = first_stage(question, self._store, self.weights, also=own_pages)
        seeds = {i: features[i].base + named.get(i, _UNNAMED)[0] for i in pool}
        bridges = build_bridges(seeds, features)
        scores, parts = self._combine(pool, named, bridges, features)
        ranked = rank(scores, query.k)
        return make_evidence(
            query,
            self.name,
            ranked,
            parts,
            features,
            seeds={i: (name,) for i, (_, name) in named.items()},
            paths={
                i: (bridge.step(bridges.sources[bridge.activation.chunk_id]),)
                for i, bridge in bridges.into.items()
                if parts[i]["bridge"]
            },
        )

    def _named(self, question: Question) -> dict[str, tuple[float, str]]:
        """Return the score of chunks for being about an entity of the question, and its name."""
        best: dict[str, tuple[float, str]] = {}
        factor = self.weights.link.named * link_factor(question, self.weights)
        for link in question.links:
            shares = spread(link.about, self.weights.link.spread)
            for item, share in zip(link.about, shares, strict=True):
                score = factor * link.weight * item.score * share
                if item.id not in best or score > best[item.id][0]:
                    best[item.id] = score, link.entity.name
        return best

    def _combine(
        self,
        pool: list[str],
        named: Mapping[str, tuple[float, str]],
        bridges: Bridges,
        features: ChunkFeatures,
    ) -> tuple[dict[str, float], dict[str, dict[str, float]]]:
        scores: dict[str, float] = {}
        own: dict[str, float] = {}
        parts: dict[str, dict[str, float]] = {}
        for identifier in dict.fromkeys([*pool, *bridges.into]):
            direct = named.get(identifier, _UNNAMED)[0]
            bridge = bridges.into.get(identifier)
            over = bridge.score if bridge else 0.0
            support = self.weights.bridge.support * bridges.support.get(identifier, 0.0)
            parts[identifier] = {
                "text": features[identifier].base,
                "named": direct if direct >= over else 0.0,
                "bridge": over if over > direct else 0.0,
                "support": support,
            }
            scores[identifier] = sum(parts[identifier].values())
            own[identifier] = features[identifier].base + direct
        nearest = max(own, key=own.__getitem__, default="")
        top = max(scores.values(), default=0.0)
        if nearest and scores[nearest] < top:  # bridges help to find what is behind the first
            above = math.nextafter(top, math.inf)
            parts[nearest]["nearest"] = above - scores[nearest]
            scores[nearest] = above
        return scores, parts


class Activation(NamedTuple):
    """A sentence of a source that activates an entity."""

    value: float
    chunk_id: str
    sentence: int


class Bridge(NamedTuple):
    """The best path into a chunk."""

    score: float
    activation: Activation
    entity: Entity

    def step(self, source: Chunk) -> Step:
        """Return the path as evidence from a chunk with the activating sentence."""
        number = self.activation.sentence
        return Step(
            chunk_id=source.id,
            sentence=source.sentences[number],
            sentence_text=source.sentence_text(number),
            entity_id=self.entity.id,
            entity_name=self.entity.name,
            score=self.score,
        )


class Bridges(NamedTuple):
    """The best path into each target, and the support that each source gets from its targets."""

    into: Mapping[str, Bridge]
    support: Mapping[str, float]
    sources: Mapping[str, Chunk]


def spread(about: Sequence[Scored], exponent: float) -> list[float]:
    """Return n ** -exponent for each chunk, where n chunks are about the entity at least as
    much.
    """
    negated = [-item.score for item in about]
    return [bisect_right(negated, value + 1e-9) ** -exponent for value in negated]


def build_bridges(seeds: Mapping[str, float], features: ChunkFeatures) -> Bridges:
    """Find the bridges that start at the best of ``seeds``, which maps chunk ids to scores."""
    question, store, weights = features.question, features.store, features.weights
    bridge = weights.bridge
    ranked = sorted(seeds, key=lambda identifier: (-seeds[identifier], identifier))
    sources = store.documents.chunks(ranked[: bridge.sources])
    covered = sentence_coverage(question, sources)
    if _stands_in_one_sentence(question.terms, sources, covered):
        return Bridges({}, {}, sources)
    activations, entities, linked = find_activations(
        seeds, sources, features, unstated=bridge.unstated, links=bridge.links
    )
    strongest = sorted(activations, key=lambda e: (-activations[e][0].value, e))
    strongest = strongest[: bridge.entities]
    about = {
        **store.graph.about(strongest, fan=bridge.targets),
        **{key: [Scored(chunk_id, 1.0)] for key, chunk_id in linked.items()},
    }
    shares = {}
    for entity in strongest:
        items = about.get(entity, ())
        spreads = zip(items, spread(items, bridge.spread), strict=True)
        shares[entity] = [i.score**bridge.aboutness * share for i, share in spreads]
    targets = _best_targets(strongest, activations, about, shares, weights)
    features.fetch(targets)
    into: dict[str, Bridge] = {}
    support: dict[str, float] = defaultdict(float)
    best_base = max((features[i].base for i in seeds), default=0.0) or 1.0
    factor = link_factor(question, weights)
    reach = np.array([features[target].covered for target in targets], dtype=np.bool_)
    reach = reach.reshape(len(targets), len(question.terms))
    rest = bridge.rest * np.array([max(features[t].rest, 0.0) for t in targets])

    @cache
    def relevances_to(chunk_id: str, sentence: int) -> Mapping[str, float]:
        repeated = reach & features[chunk_id].covered
        together = covered[chunk_id][sentence] | reach
        values = together @ question.weights - repeated @ question.weights + rest
        return dict(zip(targets, np.maximum(values, 0.0).tolist(), strict=True))

    held = store.documents.chunk_ids_of({chunk.document_id for chunk in sources.values()})
    neighbours = {key: frozenset(held[chunk.document_id]) for key, chunk in sources.items()}
    for entity in strongest:
        reached = [
            (item.id, share)
            for item, share in zip(about.get(entity, ()), shares[entity], strict=True)
            if item.id in targets
        ]
        weight = max(factor, bridge.links_at_length) if entity in linked else factor
        weight *= bridge.strength
        for activation in activations[entity][: bridge.sentences]:
            relevances = relevances_to(activation.chunk_id, activation.sentence)
            for target, share in reached:
                if target == activation.chunk_id:
                    continue
                score = weight * activation.value * share * relevances[target]
                if target in neighbours[activation.chunk_id]:
                    score *= bridge.same_document
                if target not in into or score > into[target].score:
                    into[target] = Bridge(score, activation, entities[entity])
                gain = score * max(features[target].base, 0.0) / best_base
                support[activation.chunk_id] = max(support[activation.chunk_id], gain)
    return Bridges(into, dict(support), sources)


def _stands_in_one_sentence(
    terms: Sequence[str],
    chunks: Mapping[str, Chunk],
    covered: Mapping[str, Sequence[NDArray[np.bool_]]],
) -> bool:
    """Return True if a sentence contains all terms of a question in a row.

    "What is a restartpoint?" leaves nothing for another passage to add: passages related to the one
    that says "restartpoint" would only hide it.
    """
    asked = f" {' '.join(terms)} "
    return bool(terms) and any(
        mask.all() and asked in f" {' '.join(content_terms(chunks[key].sentence_text(number)))} "
        for key, masks in covered.items()
        for number, mask in enumerate(masks)
    )


def link_factor(question: Question, weights: Weights) -> float:
    """Return the weight of links for a question of this length, from 0 to 1."""
    length = len(question.terms) / weights.link.half_length
    return float(1.0 / (1.0 + length**weights.link.length_power))


def find_activations(
    seeds: Mapping[str, float],
    sources: Mapping[str, Chunk],
    features: ChunkFeatures,
    *,
    unstated: float = 1.0,
    links: float = 0.0,
) -> tuple[dict[str, list[Activation]], dict[str, Entity], dict[str, str]]:
    """Return the sentences of ``sources`` that activate each entity, strongest first, and all
    entities; what a link leads to is an entity too, and the chunk is in the last of the three.

    ``unstated`` is the worth of entities of which a model that read the source stated no fact,
    ``links`` that of links.
    """
    question, store, weights = features.question, features.store, features.weights
    best_seed, bridge = max(seeds.values(), default=0.0) or 1.0, weights.bridge
    found = mentions_by_sentence(sources, store, known=weights.link.known)
    entities = store.graph.entities(
        {entity for sentences in found.values() for ids in sentences for entity in ids}
        - question.named
    )
    values: dict[str, list[float]] = {}
    masks = None
    for key, chunk in sources.items():
        # The cosine of each sentence with the question, or else the share that it covers.
        relevances: Sequence[float] = features[key].sentences.tolist()
        if len(relevances) != len(chunk.sentences) or not relevances:
            masks = masks or sentence_coverage(question, sources)
            relevances = [float(mask @ question.weights) for mask in masks[key]]
        values[key] = [seeds[key] / best_seed * max(value, 0.0) for value in relevances]
    stated = stated_entities(sources, store) if unstated < 1 else {}
    activations: dict[str, list[Activation]] = defaultdict(list)
    for key in sources:
        for number, ids in enumerate(found[key]):
            for identifier in ids & entities.keys():
                rare = question.rarity(entities[identifier].chunk_count)
                value = values[key][number] * rare**bridge.rarity
                if identifier not in stated.get(key, entities):
                    value *= unstated
                activations[identifier].append(Activation(value, key, number))
    linked: dict[str, str] = {}
    for key, found_links in (find_linked_chunks(sources, store) if links else {}).items():
        for link in found_links:
            name = f"link to {link.chunk_id}"
            linked[name] = link.chunk_id
            entities.setdefault(name, Entity("", link.words, "", "", 1))
            value = values[key][link.sentence] * (bridge.links_onward if link.is_next else 1.0)
            activations[name].append(Activation(links * value, key, link.sentence))
    for each in activations.values():
        each.sort(key=lambda a: (-a.value, a.chunk_id, a.sentence))
    return activations, entities, linked


def _best_targets(
    entities: Sequence[str],
    activations: Mapping[str, list[Activation]],
    about: Mapping[str, Sequence[Scored]],
    shares: Mapping[str, Sequence[float]],
    weights: Weights,
) -> frozenset[str]:
    promise: dict[str, float] = {}
    for entity in entities:
        strongest = activations[entity][0].value
        for item, share in zip(about.get(entity, ()), shares[entity], strict=True):
            promise[item.id] = max(promise.get(item.id, 0.0), strongest * share)
    ranked = sorted(promise, key=lambda identifier: (-promise[identifier], identifier))
    return frozenset(ranked[: weights.bridge.scored_targets])
