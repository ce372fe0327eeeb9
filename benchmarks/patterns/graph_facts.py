"""What the shape of the graph says around entities, in lines; measured, not part of the package."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import combinations, pairwise

import numpy as np
from graph_features import pair_features, shortest_paths
from local_graph import LocalGraph, read_local_graph

from knotwork._retrieval.entity_lookup import GraphFact
from knotwork._stores.base import Store
from knotwork.records import CO_OCCURRENCE_RELATION, Edge, Entity, Support

KINDS = ("paths", "common", "important")
_LEADING = 5
"""Entities between which paths and common neighbours are told."""
_MOST_HOPS = 3
_SHOWN = 6
_FEW = 3


def read_graph_facts(
    entities: Sequence[Entity], store: Store, *, kinds: Collection[str] = KINDS
) -> tuple[GraphFact, ...]:
    """Return lines about the graph around entities, the most useful first.

    ``kinds`` are "paths" (the shortest between two of them), "common" (the neighbours that two
    share, by Adamic and Adar) and "important" (what a walk around one reaches most, in two hops).
    """
    leading = entities[:_LEADING]
    graph = read_local_graph(store, [entity.id for entity in leading])
    inside = [entity for entity in leading if entity.id in graph.places]
    lines: list[tuple[str, list[Edge], float]] = []
    if "paths" in kinds:
        lines += _paths(inside, graph)
    if "common" in kinds:
        lines += _common(inside, graph)
    if "important" in kinds:
        lines += _important(inside, graph)
    supports = _Supports(store, (edge for _, edges, _ in lines for edge in edges))
    facts = [GraphFact(text, supports.of(edges), worth) for text, edges, worth in lines]
    return tuple(sorted((f for f in facts if f.supports), key=lambda f: (-f.worth, f.text)))


def _paths(inside: Sequence[Entity], graph: LocalGraph) -> Iterator[tuple[str, list[Edge], float]]:
    for first, second in combinations(inside, 2):
        ends = graph.places[first.id], graph.places[second.id]
        for path in shortest_paths(graph.adjacency, *ends, limit=_MOST_HOPS, most=2):
            ids = [graph.ids[place] for place in path]
            edges = [
                edge
                for near, far in pairwise(ids)
                if (edge := graph.edge_between(near, far)) is not None
            ]
            yield _path_text(ids, edges, graph), edges, 2.0 - 0.1 * len(edges)


def _path_text(ids: Sequence[str], edges: Sequence[Edge], graph: LocalGraph) -> str:
    parts = [graph.names[ids[0]]]
    for edge, reached in zip(edges, ids[1:], strict=True):
        arrow = f"— {edge.relation} →" if edge.target == reached else f"← {edge.relation} —"
        parts += [arrow, graph.names[reached]]
    return " ".join(parts)


def _common(inside: Sequence[Entity], graph: LocalGraph) -> Iterator[tuple[str, list[Edge], float]]:
    for first, second in combinations(inside, 2):
        one, other = graph.places[first.id], graph.places[second.id]
        rows = graph.adjacency[np.array([one, other])]
        shared = np.intersect1d(rows[[0]].indices, rows[[1]].indices)
        shared = shared[(shared != one) & (shared != other)]
        if not len(shared):
            continue
        degrees = np.diff(graph.adjacency.indptr)[shared]
        order = np.lexsort((shared, degrees))  # of few neighbours, so that being shared says much
        best = [graph.ids[place] for place in shared[order][:_SHOWN].tolist()]
        strength = pair_features(graph.adjacency, np.array([(one, other)])).adamic_adar[0]
        edges = [e for i in best for end in (first, second) if (e := graph.edge_between(i, end.id))]
        names = ", ".join(graph.names[i] for i in best)
        text = f"{first.name} and {second.name} are both linked to: {names}"
        yield text, edges, 1.0 + 0.5 * float(strength) / (1.0 + float(strength))


def _important(
    inside: Sequence[Entity], graph: LocalGraph
) -> Iterator[tuple[str, list[Edge], float]]:
    for rank, entity in enumerate(inside[:_FEW]):
        values = graph.importance([entity.id])
        values[graph.place([other.id for other in inside])] = 0.0
        order = np.lexsort((np.arange(len(values)), -values))[:_SHOWN]
        best = [graph.ids[place] for place in order.tolist() if values[place] > 0]
        edges = [edge for i in best if (edge := graph.edge_between(i, entity.id)) is not None]
        if edges:
            names = ", ".join(graph.names[i] for i in best)
            yield f"Around {entity.name}: {names}", edges, 0.9 - 0.1 * rank


class _Supports:
    """Finds where edges stand: the span of a relation, else the first sentence of its passage."""

    def __init__(self, store: Store, edges: Iterable[Edge]) -> None:
        chunk_ids = sorted({chunk for edge in edges for chunk in edge.chunks[:1]})
        self._chunks = store.documents.chunks(chunk_ids)
        found = store.graph.relations(chunk_ids)
        self._spans = {
            (chunk, r.source, r.relation, r.target): r.span
            for chunk, relations in found.items()
            for r in relations
            if r.span is not None
        }

    def of(self, edges: Sequence[Edge]) -> tuple[Support, ...]:
        """Return a support for each edge, those that say a relation first, each passage once."""
        told: dict[str, Support] = {}
        for edge in sorted(edges, key=lambda e: e.relation == CO_OCCURRENCE_RELATION):
            for chunk_id in edge.chunks[:1]:
                chunk = self._chunks.get(chunk_id)
                if chunk is None:
                    continue
                span = self._spans.get((chunk_id, edge.source, edge.relation, edge.target))
                told.setdefault(
                    chunk_id, Support(chunk_id, span or (*chunk.sentences, chunk.span)[0])
                )
        return tuple(told.values())
