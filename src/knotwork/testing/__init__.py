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
    "ApproximateTextIndexContract": "testing._text_index_contract",
    "ApproximateVectorIndexContract": "testing._vector_index_contract",
    "ApproximateVectorReplacementContract": "testing._vector_index_contract",
    "BrokenStream": "testing._chat_models",
    "ChatModelContract": "testing._chat_contract",
    "CommunityStoreContract": "testing._enrichment_contract",
    "ContentsContract": "testing._contents_contract",
    "CypherContract": "testing._cypher_contract",
    "EmbedderContract": "testing._embedder_contract",
    "ExplorationContract": "testing._graph_contract",
    "ExtractorContract": "testing._extractor_contract",
    "Fault": "testing.model_server",
    "FaultPlan": "testing.model_server",
    "FieldStoreContract": "testing._field_contract",
    "GraphStoreContract": "testing._graph_contract",
    "HashingEmbedder": "testing._embedders",
    "HomonymStoreContract": "testing._resolution_contract",
    "IdCollisionContract": "testing._collision_contract",
    "LoaderContract": "testing._loader_contract",
    "ModelTestServer": "testing.model_server",
    "PropertyGraphContract": "testing._cypher_contract",
    "QuestionStoreContract": "testing._enrichment_contract",
    "ReadingStoreContract": "testing._enrichment_contract",
    "ResolutionStoreContract": "testing._resolution_contract",
    "RetrieverContract": "testing._retriever_contract",
    "ScriptMismatch": "testing._chat_models",
    "ScriptedChatModel": "testing._chat_models",
    "SplitterContract": "testing._splitter_contract",
    "StoreContract": "testing._store_contract",
    "TextIndexContract": "testing._text_index_contract",
    "VectorIndexContract": "testing._vector_index_contract",
    "VectorReplacementContract": "testing._vector_index_contract",
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
