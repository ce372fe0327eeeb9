"""Ways to walk by PageRank that are measured and not part of the package.

    python benchmarks/patterns/walking.py --data data/bench/qa --cache DIR

Edges weighed by how well their passage answers, a start at the entities whose vectors are nearest,
and the walk as one part of a score beside the text of a passage, by what this covers of the
question. Differences in recall@5 are from `pagerank`, paired by question.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "retrieval"))

import numpy as np
from indexes import open_index
from known_vectors import EMBEDDER, KnownVectors
from sets import SETS  # type: ignore[import-not-found]

from knotwork._extensions.evaluation.metrics import METRICS, compare_paired
from knotwork._extensions.evaluation.questions import load_dataset
from knotwork._extensions.patterns.pagerank_retriever import PageRankRetriever, PageRankSettings
from knotwork._extensions.patterns.walk_retrievers import near_seeds
from knotwork._graph.communities import undirected_adjacency
from knotwork._graph.pagerank import personalized_pagerank
from knotwork._inference.embedder import Embedder
from knotwork._inference.model_registry import open_embedder
from knotwork._retrieval.evidence_builder import ChunkFeatures, first_stage, rank
from knotwork._retrieval.graph_retriever import link_factor
from knotwork._retrieval.question import Question, read_question
from knotwork._retrieval.weights import DEFAULT_WEIGHTS
from knotwork._stores.base import Store

MEASURES = {name: METRICS[name] for name in ("recall@2", "recall@5", "recall@10", "all_gold@5")}
DEPTH = 50
MIXED = 200


@dataclass(frozen=True, slots=True)
class Variant:
    """``query`` is the share of an edge's weight that its passage decides, ``near`` the worth of
    entities near the question as starts, ``mix`` the weight of the walk beside the text (0: the
    walk alone), ``covered`` whether that counts by what the passage covers of the question.
    """

    query: float = 0.0
    near: float = 0.0
    mix: float = 0.0
    covered: bool = True
    walk: PageRankSettings = PageRankSettings()  # noqa: RUF009  it is frozen


VARIANTS: dict[str, Variant] = {
    "pagerank": Variant(),
    "query-weighted edges": Variant(query=1.0),
    "start at near entities": Variant(near=0.5),
    "beside the text": Variant(mix=1.0, covered=False),
    "beside the text, by coverage": Variant(mix=1.0),
    "query-weighted, beside the text, by coverage": Variant(query=1.0, mix=2.0),
    "query-weighted, half the mix, damping 0.7": Variant(
        query=1.0, mix=1.0, walk=PageRankSettings(damping=0.7)
    ),
    "query-weighted, half the mix, 5 passages to start": Variant(
        query=1.0, mix=1.0, walk=PageRankSettings(seed_chunks=5)
    ),
}


class VariantWalk:
    """One way to walk; the edges are those of `PageRankRetriever`."""

    def __init__(self, variant: Variant, store: Store, embedder: Embedder) -> None:
        self._variant, self._store, self._embedder = variant, store, embedder
        self._plain = PageRankRetriever(store=store, embedder=embedder, walk=variant.walk)

    def ranked(self, text: str) -> list[str]:
        """Return the ids of chunks, best first."""
        question = read_question(text, store=self._store, embedder=self._embedder)
        pool, features = first_stage(question, self._store)
        walked = self._walk(question, pool, features)
        if not self._variant.mix or not walked:
            return [item.id for item in rank(walked, DEPTH)]
        best = rank(walked, MIXED)
        candidates = list(dict.fromkeys([*pool, *(item.id for item in best)]))
        features.fetch(candidates)
        factor = self._variant.mix * link_factor(question, DEFAULT_WEIGHTS)
        scores = {}
        for chunk_id in candidates:
            own = features[chunk_id]
            relevance = own.coverage + max(own.rest, 0.0) if self._variant.covered else 0.7
            share = (walked.get(chunk_id, 0.0) / best[0].score) ** 0.5
            scores[chunk_id] = own.base + factor * share * relevance
        return [item.id for item in rank(scores, DEPTH)]

    def _walk(
        self, question: Question, pool: list[str], features: ChunkFeatures
    ) -> dict[str, float]:
        bases = rank({i: features[i].base for i in pool}, self._variant.walk.seed_chunks)
        links = {link.entity.id: link.weight for link in question.links if link.weight > 0}
        if self._variant.near:
            for seed in near_seeds(question, self._store, most=10, least=0.3):
                links.setdefault(seed.entity.id, self._variant.near * seed.score)
        edges = self._plain._edges([item.id for item in bases], links, question)  # noqa: SLF001
        edges = self._weigh(edges, features) if self._variant.query else edges
        ids = sorted({end for pair in edges for end in pair} | {item.id for item in bases})
        place = {identifier: index for index, identifier in enumerate(ids)}
        restart = np.zeros(len(ids))
        for item in bases:
            restart[place[item.id]] += max(item.score, 0.0) ** 2
        restart /= restart.sum() or 1.0
        for identifier, weight in links.items():
            if identifier in place:
                restart[place[identifier]] += weight / sum(links.values())
        if restart.sum() <= 0:
            return {}
        damping = self._variant.walk.damping
        adjacency = undirected_adjacency(
            [place[chunk] for chunk, _ in edges],
            [place[entity] for _, entity in edges],
            list(edges.values()),
            nodes=len(place),
        )
        values = personalized_pagerank(adjacency, restart, damping=damping)
        chunks = {chunk for chunk, _ in edges} | {item.id for item in bases}
        return {i: float(values[place[i]]) for i in chunks}

    def _weigh(
        self, edges: Mapping[tuple[str, str], float], features: ChunkFeatures
    ) -> dict[tuple[str, str], float]:
        """Return the edges by how well the passage at their one end answers the question."""
        chunks = list(dict.fromkeys(chunk for chunk, _ in edges))
        features.fetch(chunks)
        top = max((features[i].base for i in chunks), default=0.0) or 1.0
        share = self._variant.query
        return {
            key: weight * (1 - share + share * max(features[key[0]].base, 0.0) / top)
            for key, weight in edges.items()
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True, help="where indexes are kept")
    parser.add_argument("--sets", default="musique_train100,twowiki_fg101")
    parser.add_argument("--limit", type=int, help="only the first questions of each set")
    options = parser.parse_args()
    embedder = open_embedder(EMBEDDER)
    assert embedder is not None
    known = KnownVectors(embedder)
    print("| set | variant | R@2 | R@5 | R@10 | all@5 | R@5 − pagerank (won/lost) | p |")
    for name in options.sets.split(","):
        dataset = load_dataset(options.data / SETS[name].folder, limit=options.limit)
        store = open_index(dataset, known, options.cache)
        uris = {
            chunk: document.uri
            for document in dataset.documents
            for chunk in store.documents.chunk_ids_of([document.id])[document.id]
        }
        plain: list[float] = []
        for row, variant in VARIANTS.items():
            walk = VariantWalk(variant, store, known)
            values: dict[str, list[float]] = {metric: [] for metric in MEASURES}
            for case in dataset.cases:
                ranked = list(dict.fromkeys(uris[i] for i in walk.ranked(case.question)))
                for metric, measure in MEASURES.items():
                    values[metric].append(measure(ranked, case.gold))
            plain = plain or values["recall@5"]
            compared = compare_paired(values["recall@5"], plain)
            means = " | ".join(f"{100 * fmean(found):.1f}" for found in values.values())
            print(
                f"| {name} | {row} | {means} | {100 * compared.difference:+.1f} "
                f"({compared.wins}/{compared.losses}) | {compared.p_value:.3f} |",
                flush=True,
            )
        store.close()


if __name__ == "__main__":
    main()
