"""The relations at entities, read from a store once for a question."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from knotwork.records import ALIAS_RELATION, CO_OCCURRENCE_RELATION, ENTITY_EDGES, Edge
from knotwork.stores.base import Store
from knotwork.stores.relations import LinksRelations, RelationLink

UNSTATED = frozenset({ALIAS_RELATION, CO_OCCURRENCE_RELATION, ""})
"""Relations that state nothing: a path does not go over them."""


class LinkReader:
    """Reads the links of entities, at most ``limit`` a direction, and keeps them."""

    def __init__(self, store: Store, *, limit: int) -> None:
        self._graph = store.graph
        self._limit = limit
        self._known: dict[str, list[RelationLink]] = {}

    @property
    def count(self) -> int:
        """How many entities were read."""
        return len(self._known)

    def read(self, ids: Iterable[str]) -> None:
        """Make sure that the links of these entities are there."""
        missing = [key for key in dict.fromkeys(ids) if key not in self._known]
        if not missing:
            return
        graph = self._graph
        if isinstance(graph, LinksRelations):
            found = graph.relation_links(missing, limit=self._limit)
        else:
            found = self._from_neighbours(missing)
        for key in missing:
            links = [link for link in found.get(key, ()) if link.relation not in UNSTATED]
            links.sort(key=lambda link: (-link.weight, link.other, link.relation, link.forward))
            self._known[key] = links

    def of(self, entity_id: str) -> Sequence[RelationLink]:
        """Return the links of an entity that was read; none for another."""
        return self._known.get(entity_id, ())

    def _from_neighbours(self, ids: Sequence[str]) -> dict[str, list[RelationLink]]:
        found: dict[str, list[RelationLink]] = {key: [] for key in ids}
        types = ENTITY_EDGES
        limit = self._limit
        leaving = self._graph.neighbours(ids, direction="out", types=types, fan=limit)
        reaching = self._graph.neighbours(ids, direction="in", types=types, fan=limit)
        for key in ids:
            found[key] += [_seen(edge, forward=True) for edge in leaving.get(key, ())[:limit]]
            found[key] += [_seen(edge, forward=False) for edge in reaching.get(key, ())[:limit]]
        return found


def _seen(edge: Edge, *, forward: bool) -> RelationLink:
    other = edge.target if forward else edge.source
    return RelationLink(edge.relation, forward, other, edge.weight)
