"""The memory store keeps every contract."""

from __future__ import annotations

import pytest

from knotwork.stores.base import Store
from knotwork.stores.memory import MemoryStore
from knotwork.testing.cypher_contract import CypherContract, PropertyGraphContract
from knotwork.testing.enrichment_contract import (
    CommunityStoreContract,
    QuestionStoreContract,
    ReadingStoreContract,
)
from knotwork.testing.field_contract import FieldStoreContract
from knotwork.testing.graph_contract import ExplorationContract, GraphStoreContract
from knotwork.testing.resolution_contract import HomonymStoreContract, ResolutionStoreContract
from knotwork.testing.search_contract import (
    TextIndexContract,
    VectorIndexContract,
    VectorReplacementContract,
)
from knotwork.testing.store_contract import StoreContract


@pytest.fixture
def store() -> Store:
    return MemoryStore()


@pytest.fixture
def other_store() -> Store:
    return MemoryStore()


class TestStore(StoreContract):
    pass


class TestGraph(GraphStoreContract, ExplorationContract):
    pass


class TestTexts(TextIndexContract):
    pass


class TestVectors(VectorIndexContract):
    pass


class TestVectorReplacement(VectorReplacementContract):
    pass


class TestCommunities(CommunityStoreContract):
    pass


class TestReadings(ReadingStoreContract):
    pass


class TestQuestions(QuestionStoreContract):
    pass


class TestFields(FieldStoreContract):
    pass


class TestResolutions(ResolutionStoreContract):
    pass


class TestHomonyms(HomonymStoreContract):
    pass


class TestPropertyGraphs(PropertyGraphContract):
    pass


class TestCypher(CypherContract):
    pass
