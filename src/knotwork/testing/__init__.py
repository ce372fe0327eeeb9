"""Fakes for tests of applications, and contract suites for stores, models and embedders.

Every name here is imported on first use: contract suites need pytest, the test server does not.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from knotwork.testing.chat_contract import ChatModelContract
    from knotwork.testing.chat_models import BrokenStream, ScriptedChatModel, ScriptMismatch
    from knotwork.testing.cypher_contract import CypherContract, PropertyGraphContract
    from knotwork.testing.embedder_contract import EmbedderContract
    from knotwork.testing.embedders import HashingEmbedder
    from knotwork.testing.enrichment_contract import (
        CommunityStoreContract,
        QuestionStoreContract,
        ReadingStoreContract,
    )
    from knotwork.testing.field_contract import FieldStoreContract
    from knotwork.testing.graph_contract import ExplorationContract, GraphStoreContract
    from knotwork.testing.model_server import Fault, FaultPlan, ModelTestServer
    from knotwork.testing.resolution_contract import HomonymStoreContract, ResolutionStoreContract
    from knotwork.testing.search_contract import (
        TextIndexContract,
        VectorIndexContract,
        VectorReplacementContract,
    )
    from knotwork.testing.store_contract import StoreContract

_HOMES = {
    "BrokenStream": "chat_models",
    "ChatModelContract": "chat_contract",
    "CommunityStoreContract": "enrichment_contract",
    "CypherContract": "cypher_contract",
    "EmbedderContract": "embedder_contract",
    "ExplorationContract": "graph_contract",
    "Fault": "model_server",
    "FaultPlan": "model_server",
    "FieldStoreContract": "field_contract",
    "GraphStoreContract": "graph_contract",
    "HashingEmbedder": "embedders",
    "HomonymStoreContract": "resolution_contract",
    "ModelTestServer": "model_server",
    "PropertyGraphContract": "cypher_contract",
    "QuestionStoreContract": "enrichment_contract",
    "ReadingStoreContract": "enrichment_contract",
    "ResolutionStoreContract": "resolution_contract",
    "ScriptMismatch": "chat_models",
    "ScriptedChatModel": "chat_models",
    "StoreContract": "store_contract",
    "TextIndexContract": "search_contract",
    "VectorIndexContract": "search_contract",
    "VectorReplacementContract": "search_contract",
}

__all__ = [
    "BrokenStream",
    "ChatModelContract",
    "CommunityStoreContract",
    "CypherContract",
    "EmbedderContract",
    "ExplorationContract",
    "Fault",
    "FaultPlan",
    "FieldStoreContract",
    "GraphStoreContract",
    "HashingEmbedder",
    "HomonymStoreContract",
    "ModelTestServer",
    "PropertyGraphContract",
    "QuestionStoreContract",
    "ReadingStoreContract",
    "ResolutionStoreContract",
    "ScriptMismatch",
    "ScriptedChatModel",
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
