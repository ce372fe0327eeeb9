"""What every store that `StoresPropertyGraphs` does with graphs that were imported."""

from __future__ import annotations

from typing import Protocol

import pytest

from knotwork.errors import StoreError
from knotwork.records import PropertyNode, Relationship
from knotwork.stores.base import Store
from knotwork.stores.queries import OWN_GRAPH, StoresPropertyGraphs

_NODES = [PropertyNode("a", ("Person",), {"name": "Ada"}), PropertyNode("b")]
_EDGES = [Relationship("r", "KNOWS", "a", "b", {"since": 1815})]


class GraphHoldingStore(Store, StoresPropertyGraphs, Protocol):
    """A store with both: what the fixture ``store`` returns."""


def _fail_after_putting(store: GraphHoldingStore) -> None:
    with store.transaction():
        store.property_graphs.put("lost", _NODES, _EDGES)
        store.property_graphs.remove("kept")
        assert store.property_graphs.names() == ["lost"]
        raise KeyError


class PropertyGraphContract:
    """Behaviour of `StoresPropertyGraphs`. Subclass it and supply the fixture ``store``."""

    def test_graphs_are_named_in_order_and_removed(self, store: GraphHoldingStore) -> None:
        assert isinstance(store, StoresPropertyGraphs)
        graphs = store.property_graphs
        assert graphs.names() == []
        for name in ("people", "电影", "an odd one \ud800"):
            graphs.put(name, iter(_NODES), iter(_EDGES))
        graphs.put("people", [], [])
        assert graphs.names() == sorted(["people", "电影", "an odd one \ud800"])
        graphs.remove("people")
        graphs.remove("absent")
        assert graphs.names() == sorted(["电影", "an odd one \ud800"])

    def test_a_graph_is_put_in_the_transaction(self, store: GraphHoldingStore) -> None:
        store.property_graphs.put("kept", _NODES, _EDGES)
        before = store.generation()
        with pytest.raises(KeyError):
            _fail_after_putting(store)
        assert store.property_graphs.names() == ["kept"]
        assert store.generation() == before

    @pytest.mark.parametrize(
        ("nodes", "edges", "words"),
        [
            ([*_NODES, PropertyNode("a")], [], "`a`"),
            (_NODES, [*_EDGES, *_EDGES], "`r`"),
            (_NODES, [Relationship("r", "KNOWS", "a", "absent")], "`absent`"),
            ([PropertyNode("a", (), {"when": object()})], [], "`when` of `a`"),
            ([PropertyNode("a", (), {"map": {1: 2}})], [], "`map` of `a`"),
        ],
    )
    def test_what_is_no_graph_is_not_put(
        self,
        store: GraphHoldingStore,
        nodes: list[PropertyNode],
        edges: list[Relationship],
        words: str,
    ) -> None:
        with pytest.raises(StoreError, match=words):
            store.property_graphs.put("people", nodes, edges)
        assert store.property_graphs.names() == []

    def test_the_own_graph_is_not_put(self, store: GraphHoldingStore) -> None:
        with pytest.raises(StoreError, match="needs a name"):
            store.property_graphs.put(OWN_GRAPH, _NODES, _EDGES)
