"""The store on a PostgreSQL server keeps every contract."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from knotwork._extensions.postgres.store import PostgresStore
from knotwork._stores.base import Store
from knotwork.testing._collision_contract import IdCollisionContract
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

pytestmark = pytest.mark.slow


@pytest.fixture
def store(new_index) -> Iterator[Store]:
    opened = PostgresStore.open(new_index(), create=True)
    yield opened
    opened.close()


@pytest.fixture
def other_store(new_index) -> Iterator[Store]:
    opened = PostgresStore.open(new_index(), create=True)
    yield opened
    opened.close()


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


class TestIdCollisions(IdCollisionContract):
    pass
