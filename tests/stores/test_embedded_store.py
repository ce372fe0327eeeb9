"""The embedded store keeps every contract."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from knotwork._extensions.testing.contents_contract import ContentsContract
from knotwork._extensions.testing.cypher_contract import CypherContract, PropertyGraphContract
from knotwork._extensions.testing.enrichment_contract import (
    CommunityStoreContract,
    CorrectionStoreContract,
    HomonymStoreContract,
    QuestionStoreContract,
    ReadingStoreContract,
    ResolutionStoreContract,
)
from knotwork._extensions.testing.field_contract import FieldStoreContract
from knotwork._extensions.testing.graph_contract import ExplorationContract, GraphStoreContract
from knotwork._extensions.testing.index_contracts import (
    TextIndexContract,
    VectorIndexContract,
    VectorReplacementContract,
)
from knotwork._extensions.testing.store_contract import StoreContract
from knotwork._stores.base import Store
from knotwork._stores.embedded import EmbeddedStore

pytestmark = pytest.mark.slow


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = EmbeddedStore.open(tmp_path / "store.knot", create=True)
    yield opened
    opened.close()


@pytest.fixture
def other_store(tmp_path: Path) -> Iterator[Store]:
    opened = EmbeddedStore.open(tmp_path / "other_store.knot", create=True)
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


class TestCorrections(CorrectionStoreContract):
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
