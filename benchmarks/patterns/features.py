"""Measure whether graph features help: in a context for a model, and in ranking passages.

    python benchmarks/patterns/features.py --data data/bench/qa --cache DIR

The first table is a proxy, without a model: the share of questions of which a known answer stands
in what a model would read, under the same budget of tokens, with other parts in it. The second adds
one feature at a time, scaled from 0 to 1 within a question, to the scores of the best passages of
`graph`, with a weight; differences in recall@5 are paired by question, p of a sign-flip test.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "retrieval"))

import numpy as np
from graph_facts import KINDS, read_graph_facts
from graph_features import UNREACHED, hop_distances, pair_features
from indexes import open_index
from known_vectors import EMBEDDER, KnownVectors
from local_graph import read_local_graph
from sets import SETS  # type: ignore[import-not-found]

from knotwork._extensions.evaluation.metrics import (
    compare_paired,
    contains_answer,
    is_verdict,
    recall,
)
from knotwork._extensions.evaluation.questions import Dataset, EvaluationCase, load_dataset
from knotwork._inference.embedder import Embedder
from knotwork._inference.model_registry import open_embedder
from knotwork._retrieval.entity_lookup import GraphFact, read_local_context
from knotwork._retrieval.question import read_question
from knotwork._retrieval.retriever_registry import build_retriever
from knotwork._stores.base import Store
from knotwork._synthesis.prompt_context import ContextShares, pack_context, pack_evidence
from knotwork.records import Evidence, Query

BUDGETS = (150, 300, 1_000)
ALONE = ContextShares(passages=0.75, facts=0.25, reports=0.0)
RERANKED = 30
WEIGHTS = (0.05, 0.2)
FEATURES = ("adamic_adar", "resource_allocation", "distance", "importance", "community")
PARTS: dict[str, tuple[str, ...]] = {
    "passages alone": (),
    "+ relations and descriptions": ("facts",),
    "+ shortest paths": ("paths",),
    "+ common neighbours": ("common",),
    "+ two-hop importance": ("important",),
    "+ all graph features": ("paths", "common", "important"),
    "+ relations and all graph features": ("facts", "paths", "common", "important"),
}


def facts_of(evidence: Evidence, case: EvaluationCase, store: Store) -> dict[str, list[GraphFact]]:
    """Return what could be told beside passages, by kind."""
    around = read_local_context(case.question, evidence, store=store)
    found = {kind: list(read_graph_facts(around.entities, store, kinds=[kind])) for kind in KINDS}
    return found | {"facts": list(around.facts)}


def contexts_of(
    evidence: Evidence, facts: Mapping[str, list[GraphFact]], store: Store, budget: int
) -> dict[str, str]:
    """Return what a model would read, by what is in it."""
    told = {}
    for row, parts in PARTS.items():
        if not parts:
            told[row] = "\n".join(p.text for p in pack_evidence(evidence, budget_tokens=budget))
            continue
        chosen = [fact for part in parts for fact in facts[part]]
        packed = pack_context(
            evidence, facts=chosen, store=store, budget_tokens=budget, shares=ALONE
        )
        told[row] = packed.material
    return told


def measure_contexts(dataset: Dataset, store: Store, embedder: Embedder) -> None:
    """Print a row for each part and budget: the share of contexts that hold an answer."""
    retriever = build_retriever("graph", store=store, embedder=embedder)
    held: dict[tuple[int, str], list[float]] = {}
    for case in dataset.cases:
        if not case.answers or is_verdict(case.answers):
            continue
        evidence = retriever.retrieve(Query(case.question, k=10))
        facts = facts_of(evidence, case, store)
        for budget in BUDGETS:
            for row, text in contexts_of(evidence, facts, store, budget).items():
                found = float(contains_answer(text, case.answers))
                held.setdefault((budget, row), []).append(found)
    for budget in BUDGETS:
        plain = held[budget, "passages alone"]
        for row in PARTS:
            values = held[budget, row]
            compared = compare_paired(values, plain)
            print(
                f"| {dataset.name} ({len(values)}) | {budget} | {row} | {100 * fmean(values):.1f} "
                f"| {100 * compared.difference:+.1f} ({compared.wins}/{compared.losses}) "
                f"| {compared.p_value:.3f} |",
                flush=True,
            )


def features_of(question: str, evidence: Evidence, store: Store) -> dict[str, list[float]]:
    """Return each feature of each hit: the best over the entities that it mentions."""
    read = read_question(question, store=store)
    named = [link.entity.id for link in read.links]
    chunk_ids = [hit.chunk.id for hit in evidence.hits]
    mentions = store.graph.mentions(chunk_ids)
    graph = read_local_graph(store, named, depth=2, fan=32, limit=2_000)
    distances = hop_distances(graph.adjacency, graph.place(named))
    importance = graph.importance(named)
    groups = communities_of(store, [*named, *(m.entity_id for f in mentions.values() for m in f)])
    own = {group for i in named for group in groups.get(i, ())}
    found: dict[str, list[float]] = {name: [] for name in FEATURES}
    for chunk_id in chunk_ids:
        ids = [m.entity_id for m in mentions.get(chunk_id, ()) if m.entity_id not in named]
        places, starts = graph.place(ids), graph.place(named)
        pairs = np.array([(s, p) for s in starts for p in places], dtype=np.int64)
        shared = pair_features(graph.adjacency, pairs)
        hops = distances[places]
        near = hops[hops != UNREACHED]
        found["adamic_adar"].append(float(shared.adamic_adar.max(initial=0.0)))
        found["resource_allocation"].append(float(shared.resource_allocation.max(initial=0.0)))
        found["distance"].append(1.0 / (1.0 + float(near.min())) if len(near) else 0.0)
        found["importance"].append(float(importance[places].max(initial=0.0)))
        together = [bool(own.intersection(groups.get(i, ()))) for i in ids]
        found["community"].append(fmean(together) if together else 0.0)
    return found


def communities_of(store: Store, ids: Sequence[str]) -> dict[str, list[str]]:
    """Return the lowest community of each entity."""
    held = store.capabilities.communities
    if held is None:
        return {}
    return {i: found[-1:] for i, found in held.of_entities(set(ids)).items()}


def measure_ranking(dataset: Dataset, store: Store, embedder: Embedder) -> None:
    """Print a row for each feature and weight: recall@5 of `graph` with it."""
    retriever = build_retriever("graph", store=store, embedder=embedder)
    uris = {document.id: document.uri for document in dataset.documents}
    plain: list[float] = []
    changed: dict[tuple[str, float], list[float]] = {}

    def recall_of(hits: Sequence[Any], case: EvaluationCase) -> float:
        ranked = list(dict.fromkeys(uris[hit.chunk.document_id] for hit in hits))
        return recall(ranked, case.gold, k=5)

    for case in dataset.cases:
        evidence = retriever.retrieve(Query(case.question, k=RERANKED))
        plain.append(recall_of(evidence.hits, case))
        for name, values in features_of(case.question, evidence, store).items():
            top = max(values, default=0.0) or 1.0
            for weight in WEIGHTS:
                scores = [
                    hit.score + weight * value / top
                    for hit, value in zip(evidence.hits, values, strict=True)
                ]
                order = sorted(range(len(scores)), key=lambda n: (-scores[n], n))
                hits = [evidence.hits[n] for n in order]
                changed.setdefault((name, weight), []).append(recall_of(hits, case))
    print(f"| {dataset.name} ({len(plain)}) | none | | {100 * fmean(plain):.1f} | | |")
    for (name, weight), values in changed.items():
        compared = compare_paired(values, plain)
        print(
            f"| | {name} | {weight} | {100 * fmean(values):.1f} "
            f"| {100 * compared.difference:+.1f} ({compared.wins}/{compared.losses}) "
            f"| {compared.p_value:.3f} |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True, help="where indexes are kept")
    parser.add_argument("--sets", default="musique_train100,hotpot_train100,popqa300,drcd300_zh")
    parser.add_argument("--limit", type=int, help="only the first questions of each set")
    parser.add_argument("--only", choices=("contexts", "ranking"))
    options = parser.parse_args()
    embedder = open_embedder(EMBEDDER)
    assert embedder is not None
    known = KnownVectors(embedder)
    tables: dict[str, Callable[[Dataset, Store, Embedder], None]] = {
        "contexts": measure_contexts,
        "ranking": measure_ranking,
    }
    for kind, table in tables.items():
        if options.only not in (None, kind):
            continue
        for name in options.sets.split(","):
            folder = options.data / SETS[name].folder
            dataset = load_dataset(folder, limit=options.limit)
            store = open_index(dataset, known, options.cache)
            table(dataset, store, known)
            store.close()


if __name__ == "__main__":
    main()
