"""The PageRank retriever: personalized PageRank over the question's chunks and entities.

The walk starts at the entities that the question names and at the chunks with the best text scores.
It covers the part of the graph within two hops of them (chunk, entity, chunk), weighted by
aboutness and rarity. After HippoRAG 2 (arXiv 2502.14802), with entities found by rules in place of
a model's triples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from knotwork._graph.communities import undirected_adjacency
from knotwork._graph.pagerank import personalized_pagerank
from knotwork._inference.embedder import Embedder
from knotwork._retrieval.base import QuestionRetriever
from knotwork._retrieval.evidence_builder import first_stage, make_evidence, rank
from knotwork._retrieval.question import Question
from knotwork._retrieval.weights import DEFAULT_WEIGHTS, Weights
from knotwork._stores.base import Scored, Store
from knotwork.records import Evidence, Query


@dataclass(frozen=True, slots=True)
class PageRankSettings:
    """Constants of the walk."""

    damping: float = 0.5
    seed_chunks: int = 20
    walked_entities: int = 200
    fan: int = 20
    mention_weight: float = 0.1
    """Weight of an edge to an entity that the chunk only mentions, on the scale of aboutness."""


class PageRankRetriever(QuestionRetriever):
    """Ranks chunks by personalized PageRank from the question's entities and best chunks."""

    name = "pagerank"

    def __init__(
        self,
        *,
        store: Store,
        embedder: Embedder | None = None,
        weights: Weights = DEFAULT_WEIGHTS,
        walk: PageRankSettings | None = None,
    ) -> None:
        super().__init__(store=store, embedder=embedder, weights=weights)
        self._walk = walk or PageRankSettings()

    def _rank(self, query: Query, question: Question) -> Evidence:
        pool, features = first_stage(question, self._store, self.weights)
        bases = rank({i: features[i].base for i in pool}, self._walk.seed_chunks)
        scores = self._walk_from(question, bases)
        if not scores:
            return Evidence(query, self.name, notes=("Nothing in the index matches.",))
        ranked = rank(scores, query.k)
        features.fetch([item.id for item in ranked])
        parts = {i.id: {"pagerank": i.score, "text": features[i.id].base} for i in ranked}
        names = {item.id: (link.entity.name,) for link in question.links for item in link.about}
        return make_evidence(query, self.name, ranked, parts, features, seeds=names)

    def _walk_from(self, question: Question, bases: Sequence[Scored]) -> dict[str, float]:
        links = {link.entity.id: link.weight for link in question.links if link.weight > 0}
        edges = self._edges([item.id for item in bases], links, question)
        ids = sorted({end for pair in edges for end in pair} | {i.id for i in bases})
        if not ids:
            return {}
        place = {identifier: index for index, identifier in enumerate(ids)}
        chunk_ids = {chunk for chunk, _ in edges} | {i.id for i in bases}
        restart = np.zeros(len(ids))
        for item in bases:
            restart[place[item.id]] += max(item.score, 0.0) ** 2
        restart /= restart.sum() or 1.0
        for identifier, weight in links.items():
            if identifier in place:
                restart[place[identifier]] += weight / sum(links.values())
        if restart.sum() <= 0:
            return {}
        adjacency = undirected_adjacency(
            [place[chunk] for chunk, _ in edges],
            [place[entity] for _, entity in edges],
            list(edges.values()),
            nodes=len(ids),
        )
        walked = personalized_pagerank(adjacency, restart, damping=self._walk.damping)
        return {i: float(walked[place[i]]) for i in chunk_ids}

    def _edges(
        self, chunk_ids: Sequence[str], links: Mapping[str, float], question: Question
    ) -> dict[tuple[str, str], float]:
        """Return the weights of the edges between chunks and entities near the seeds."""
        mentions = self._store.graph.mentions(chunk_ids)
        near = {m.entity_id: m.about for found in mentions.values() for m in found}
        entities = self._store.graph.entities([*near, *links])
        rarities = {i: question.rarity(e.chunk_count) for i, e in entities.items()}
        kept = sorted(rarities, key=lambda i: (i not in links, -rarities[i] * near.get(i, 1.0), i))
        kept = kept[: self._walk.walked_entities]
        edges: dict[tuple[str, str], float] = {}
        for identifier, found in self._store.graph.about(kept, fan=self._walk.fan).items():
            for item in found:
                weight = self._walk.mention_weight + item.score
                edges[item.id, identifier] = weight * rarities[identifier]
        for chunk_id, found_mentions in mentions.items():
            for mention in found_mentions:
                if mention.entity_id in rarities:
                    weight = self._walk.mention_weight + mention.about
                    edges[chunk_id, mention.entity_id] = weight * rarities[mention.entity_id]
        return edges
