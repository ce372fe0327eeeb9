"""The memory store keeps every contract."""

from __future__ import annotations

import pytest

from knotwork._stores.base import Store
from knotwork._stores.memory import MemoryStore
from knotwork.testing._contents_contract import ContentsContract
from knotwork.testing._cypher_contract import CypherContract, PropertyGraphContract
from knotwork.testing._enrichment_contract import (
    CommunityStoreContract,
    QuestionStoreContract,
    ReadingStoreContract,
)
from knotwork.testing._field_contract import FieldStoreContract
from knotwork.testing._graph_contract import ExplorationContract, GraphStoreContract
from knotwork.testing._resolution_contract import HomonymStoreContract, ResolutionStoreContract
from knotwork.testing._store_contract import StoreContract
from knotwork.testing._text_index_contract import TextIndexContract
from knotwork.testing._vector_index_contract import (
    VectorIndexContract,
    VectorReplacementContract,
)


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


class TestContents(ContentsContract):
    pass
