"""An index with graphs on servers is the same store in everything else."""

from __future__ import annotations

import pytest
from tests.stores.minimal_store import MinimalStore

from knotwork._config import GraphSettings
from knotwork._extensions.graphs.servers.served_graphs import ServedGraphs, ServedStore
from knotwork._extensions.testing.cypher_contract import CypherContract, PropertyGraphContract
from knotwork._extensions.testing.store_contract import add_document
from knotwork._stores.base import Store
from knotwork._stores.urls import open_store
from knotwork.errors import UnknownName
from knotwork.testing import GraphStoreContract, StoreContract


def _serve(store: Store) -> ServedStore:
    return ServedStore(store, ServedGraphs(store, GraphSettings()))


@pytest.fixture
def store() -> Store:
    return _serve(open_store("memory:"))


@pytest.fixture
def other_store() -> Store:
    return _serve(open_store("memory:"))


class TestStore(StoreContract):
    pass


class TestGraph(GraphStoreContract):
    pass


class TestCypher(CypherContract):
    pass


class TestPropertyGraphs(PropertyGraphContract):
    pass


def test_statements_without_a_connection_run_on_the_index(store):
    add_document(store, "a.md", ["Ada", "Bob"])
    assert isinstance(store, Store)
    assert store.capabilities.cypher("MATCH (d:Document) RETURN count(d)").rows == ((1,),)
    assert store.capabilities.live_graphs.names() == []
    with pytest.raises(UnknownName, match="Unknown graph `films`"):
        store.capabilities.cypher("RETURN 1", graph="films")


def test_a_store_without_cypher_stays_without_it():
    assert _serve(MinimalStore(open_store("memory:"))).capabilities.cypher is None
    assert _serve(MinimalStore(open_store("memory:"))).capabilities.live_graphs is None
