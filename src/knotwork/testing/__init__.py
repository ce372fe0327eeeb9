"""Fakes for tests of applications, and contract suites for stores, models and other parts.

Every name here is imported on first use: contract suites need pytest, the test server does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from knotwork._lazy_imports import import_on_use

if TYPE_CHECKING:
    from knotwork.testing._chat_contract import ChatModelContract
    from knotwork.testing._chat_models import BrokenStream, ScriptedChatModel, ScriptMismatch
    from knotwork.testing._collision_contract import IdCollisionContract
    from knotwork.testing._contents_contract import ContentsContract
    from knotwork.testing._cypher_contract import CypherContract, PropertyGraphContract
    from knotwork.testing._embedder_contract import EmbedderContract
    from knotwork.testing._embedders import HashingEmbedder
    from knotwork.testing._enrichment_contract import (
        CommunityStoreContract,
        QuestionStoreContract,
        ReadingStoreContract,
    )
    from knotwork.testing._extractor_contract import ExtractorContract
    from knotwork.testing._field_contract import FieldStoreContract
    from knotwork.testing._graph_contract import ExplorationContract, GraphStoreContract
    from knotwork.testing._loader_contract import LoaderContract
    from knotwork.testing._resolution_contract import HomonymStoreContract, ResolutionStoreContract
    from knotwork.testing._retriever_contract import RetrieverContract
    from knotwork.testing._splitter_contract import SplitterContract
    from knotwork.testing._store_contract import StoreContract
    from knotwork.testing._text_index_contract import (
        ApproximateTextIndexContract,
        TextIndexContract,
    )
    from knotwork.testing._vector_index_contract import (
        ApproximateVectorIndexContract,
        ApproximateVectorReplacementContract,
        VectorIndexContract,
        VectorReplacementContract,
    )
    from knotwork.testing.model_server import Fault, FaultPlan, ModelTestServer

_HOMES = {
    "testing._chat_contract": "ChatModelContract",
    "testing._chat_models": "BrokenStream ScriptMismatch ScriptedChatModel",
    "testing._collision_contract": "IdCollisionContract",
    "testing._contents_contract": "ContentsContract",
    "testing._cypher_contract": "CypherContract PropertyGraphContract",
    "testing._embedder_contract": "EmbedderContract",
    "testing._embedders": "HashingEmbedder",
    "testing._enrichment_contract": "CommunityStoreContract "
    "QuestionStoreContract ReadingStoreContract",
    "testing._extractor_contract": "ExtractorContract",
    "testing._field_contract": "FieldStoreContract",
    "testing._graph_contract": "ExplorationContract GraphStoreContract",
    "testing._loader_contract": "LoaderContract",
    "testing._resolution_contract": "HomonymStoreContract ResolutionStoreContract",
    "testing._retriever_contract": "RetrieverContract",
    "testing._splitter_contract": "SplitterContract",
    "testing._store_contract": "StoreContract",
    "testing._text_index_contract": "ApproximateTextIndexContract TextIndexContract",
    "testing._vector_index_contract": "ApproximateVectorIndexContract "
    "ApproximateVectorReplacementContract VectorIndexContract VectorReplacementContract",
    "testing.model_server": "Fault FaultPlan ModelTestServer",
}

__all__ = [
    "ApproximateTextIndexContract",
    "ApproximateVectorIndexContract",
    "ApproximateVectorReplacementContract",
    "BrokenStream",
    "ChatModelContract",
    "CommunityStoreContract",
    "ContentsContract",
    "CypherContract",
    "EmbedderContract",
    "ExplorationContract",
    "ExtractorContract",
    "Fault",
    "FaultPlan",
    "FieldStoreContract",
    "GraphStoreContract",
    "HashingEmbedder",
    "HomonymStoreContract",
    "IdCollisionContract",
    "LoaderContract",
    "ModelTestServer",
    "PropertyGraphContract",
    "QuestionStoreContract",
    "ReadingStoreContract",
    "ResolutionStoreContract",
    "RetrieverContract",
    "ScriptMismatch",
    "ScriptedChatModel",
    "SplitterContract",
    "StoreContract",
    "TextIndexContract",
    "VectorIndexContract",
    "VectorReplacementContract",
]

__getattr__, __dir__ = import_on_use(__name__, _HOMES)
