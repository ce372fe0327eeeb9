"""Fakes for tests of applications, and contract suites for stores, models and other parts.

Every name here is imported on first use: contract suites need pytest, the test server does not.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from knotwork.testing._chat_contract import ChatModelContract
    from knotwork.testing._chat_models import BrokenStream, ScriptedChatModel, ScriptMismatch
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
    "ApproximateTextIndexContract": "_text_index_contract",
    "ApproximateVectorIndexContract": "_vector_index_contract",
    "ApproximateVectorReplacementContract": "_vector_index_contract",
    "BrokenStream": "_chat_models",
    "ChatModelContract": "_chat_contract",
    "CommunityStoreContract": "_enrichment_contract",
    "CypherContract": "_cypher_contract",
    "EmbedderContract": "_embedder_contract",
    "ExplorationContract": "_graph_contract",
    "ExtractorContract": "_extractor_contract",
    "Fault": "model_server",
    "FaultPlan": "model_server",
    "FieldStoreContract": "_field_contract",
    "GraphStoreContract": "_graph_contract",
    "HashingEmbedder": "_embedders",
    "HomonymStoreContract": "_resolution_contract",
    "LoaderContract": "_loader_contract",
    "ModelTestServer": "model_server",
    "PropertyGraphContract": "_cypher_contract",
    "QuestionStoreContract": "_enrichment_contract",
    "ReadingStoreContract": "_enrichment_contract",
    "ResolutionStoreContract": "_resolution_contract",
    "RetrieverContract": "_retriever_contract",
    "ScriptMismatch": "_chat_models",
    "ScriptedChatModel": "_chat_models",
    "SplitterContract": "_splitter_contract",
    "StoreContract": "_store_contract",
    "TextIndexContract": "_text_index_contract",
    "VectorIndexContract": "_vector_index_contract",
    "VectorReplacementContract": "_vector_index_contract",
}

__all__ = [
    "ApproximateTextIndexContract",
    "ApproximateVectorIndexContract",
    "ApproximateVectorReplacementContract",
    "BrokenStream",
    "ChatModelContract",
    "CommunityStoreContract",
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


def __getattr__(name: str) -> Any:  # noqa: ANN401
    """Import a public name on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
