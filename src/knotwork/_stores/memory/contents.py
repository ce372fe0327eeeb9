"""Everything in the memory store, in pages."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from knotwork._stores.contents import TextItem, VectorItem
from knotwork._stores.memory.state import ImportedGraph, StateAccess
from knotwork.records import (
    Community,
    EntitySummary,
    Homonym,
    PropertyNode,
    Relationship,
    SameAs,
)

Key = TypeVar("Key", str, tuple[str, str])

_NO_GRAPH = ImportedGraph((), ())


class MemoryContents:
    """The `Contents` of the memory store."""

    def __init__(self, access: StateAccess) -> None:
        self._state, self._transaction = access

    def document_ids(self, after: str, *, limit: int) -> list[str]:
        return _page(self._state().documents, after, limit)

    def entity_ids(self, after: str, *, limit: int) -> list[str]:
        return _page({entity for _, entity in self._state().mentions}, after, limit)

    def text_items(self, name: str, after: str, *, limit: int) -> list[TextItem]:
        stored = self._state().texts.get(name, {})
        return [TextItem(key, stored[key].total()) for key in _page(stored, after, limit)]

    def vector_items(self, name: str, after: str, *, limit: int) -> list[VectorItem]:
        stored = self._state().vectors.get(name, {})
        return [
            VectorItem(key, stored[key].key, stored[key].rows.astype(np.float32))
            for key in _page(stored, after, limit)
        ]

    def community_ids(self, after: str, *, limit: int) -> list[str]:
        return _page(self._state().communities, after, limit)

    def summaries(self, after: str, *, limit: int) -> list[EntitySummary]:
        stored = self._state().summaries
        return [stored[key] for key in _page(stored, after, limit)]

    def decisions(self, after: tuple[str, str], *, limit: int) -> list[SameAs]:
        stored = self._state().same_as
        return [stored[pair] for pair in _page(stored, after, limit)]

    def touched(self, after: str, *, limit: int) -> list[str]:
        return _page(self._state().touched, after, limit)

    def homonyms(self, after: str, *, limit: int) -> list[Homonym]:
        stored = self._state().homonyms
        return [
            replace(stored[key], senses=tuple(tuple(sorted(s)) for s in stored[key].senses if s))
            for key in _page(stored, after, limit)
        ]

    def graph_nodes(self, name: str, start: int, *, limit: int) -> list[PropertyNode]:
        stored = self._state().graphs.get(name, _NO_GRAPH)
        return list(stored.nodes[start : start + limit])

    def graph_relationships(self, name: str, start: int, *, limit: int) -> list[Relationship]:
        stored = self._state().graphs.get(name, _NO_GRAPH)
        return list(stored.relationships[start : start + limit])

    def put_communities(
        self, communities: Iterable[Community], *, stale: Collection[str] = ()
    ) -> None:
        new = {community.id: community for community in communities}
        with self._transaction():
            state = self._state()
            state.communities |= new
            state.stale = (state.stale - new.keys()) | (new.keys() & set(stale))


def _page(keys: Iterable[Any], after: Key, limit: int) -> list[Key]:
    return sorted(key for key in keys if key > after)[:limit]
