"""Ways of a walk as paths whose hops cite the passage that states them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from knotwork.records import GraphPath, Hop, Span
from knotwork.retrieval.entity.walks import Stride, Trail
from knotwork.stores.base import Store
from knotwork.stores.relations import ReadsRelations

MOST_PATHS = 20


def make_paths(
    ways: Iterable[tuple[Sequence[Stride], float]],
    trail: Trail,
    store: Store,
    *,
    preferred: Sequence[str] = (),
    most: int = MOST_PATHS,
) -> tuple[GraphPath, ...]:
    """Return ways with their scores as paths, the best first, each once.

    A hop cites the passage among ``preferred`` that states it, else the first that does.
    """
    chosen: dict[tuple[tuple[str, str, str], ...], tuple[Sequence[Stride], float]] = {}
    for way, score in sorted(ways, key=lambda item: -item[1]):
        key = tuple((s.edge.source, s.edge.relation, s.edge.target) for s in way)
        if way and key not in chosen:
            chosen[key] = way, score
    kept = sorted(chosen.items(), key=lambda item: (-item[1][1], item[0]))[:most]
    cited = {id(stride.edge): _cited(stride, preferred) for _, (way, _) in kept for stride in way}
    spans = _spans({chunk for chunk in cited.values() if chunk}, store)
    return tuple(
        GraphPath(
            tuple(_hop(stride, cited[id(stride.edge)], spans, trail) for stride in way),
            score,
            {"walk": score, "hops": float(len(way))},
        )
        for _, (way, score) in kept
    )


def _cited(stride: Stride, preferred: Sequence[str]) -> str:
    supporting = set(stride.edge.chunks)
    first = next((chunk for chunk in preferred if chunk in supporting), "")
    return first or next(iter(stride.edge.chunks), "")


_Key = tuple[str, str, str, str]


def _spans(chunk_ids: set[str], store: Store) -> dict[_Key, Span]:
    graph = store.graph
    if not isinstance(graph, ReadsRelations):
        return {}
    return {
        (chunk, relation.source, relation.relation, relation.target): relation.span
        for chunk, relations in graph.relations(sorted(chunk_ids)).items()
        for relation in relations
        if relation.span is not None
    }


def _hop(stride: Stride, chunk_id: str, spans: dict[_Key, Span], trail: Trail) -> Hop:
    edge = stride.edge
    return Hop(
        source=stride.source,
        source_name=trail.entities[stride.source].name,
        relation=edge.relation,
        target=stride.target,
        target_name=trail.entities[stride.target].name,
        forward=stride.forward,
        chunk_id=chunk_id,
        span=spans.get((chunk_id, edge.source, edge.relation, edge.target)),
        weight=edge.weight,
    )
