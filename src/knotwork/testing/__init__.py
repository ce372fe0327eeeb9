"""Fakes for tests of applications, and contract suites for stores, models and other parts.

Every name here is imported on first use: contract suites need pytest, the test server does not.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from knotwork._lazy_imports import import_on_use

_SUITES = "knotwork._extensions.testing"
if "pytest" in sys.modules and _SUITES not in sys.modules:
    sys.modules["pytest"].register_assert_rewrite(_SUITES)  # failures then show values

if TYPE_CHECKING:
    from knotwork._extensions.testing.chat_models import (
        BrokenStream,
        ScriptedChatModel,
        ScriptMismatch,
    )
    from knotwork._extensions.testing.contents_contract import ContentsContract
    from knotwork._extensions.testing.cypher_contract import CypherContract, PropertyGraphContract
    from knotwork._extensions.testing.embedders import HashingEmbedder
    from knotwork._extensions.testing.enrichment_contract import (
        CommunityStoreContract,
        CorrectionStoreContract,
        HomonymStoreContract,
        QuestionStoreContract,
        ReadingStoreContract,
        ResolutionStoreContract,
    )
    from knotwork._extensions.testing.extractor_contract import ExtractorContract
    from knotwork._extensions.testing.field_contract import FieldStoreContract
    from knotwork._extensions.testing.graph_contract import ExplorationContract, GraphStoreContract
    from knotwork._extensions.testing.index_contracts import (
        ApproximateTextIndexContract,
        ApproximateVectorIndexContract,
        ApproximateVectorReplacementContract,
        TextIndexContract,
        VectorIndexContract,
        VectorReplacementContract,
    )
    from knotwork._extensions.testing.loader_contract import LoaderContract
    from knotwork._extensions.testing.model_contracts import ChatModelContract, EmbedderContract
    from knotwork._extensions.testing.retriever_contract import RetrieverContract
    from knotwork._extensions.testing.splitter_contract import SplitterContract
    from knotwork._extensions.testing.store_contract import IdCollisionContract, StoreContract
    from knotwork.testing.model_server import Fault, FaultPlan, ModelTestServer

_HOMES = {
    "_extensions.testing.chat_models": "BrokenStream ScriptMismatch ScriptedChatModel",
    "_extensions.testing.contents_contract": "ContentsContract",
    "_extensions.testing.cypher_contract": "CypherContract PropertyGraphContract",
    "_extensions.testing.embedders": "HashingEmbedder",
    "_extensions.testing.enrichment_contract": "CommunityStoreContract CorrectionStoreContract "
    "HomonymStoreContract QuestionStoreContract ReadingStoreContract ResolutionStoreContract",
    "_extensions.testing.extractor_contract": "ExtractorContract",
    "_extensions.testing.field_contract": "FieldStoreContract",
    "_extensions.testing.graph_contract": "ExplorationContract GraphStoreContract",
    "_extensions.testing.index_contracts": "ApproximateTextIndexContract TextIndexContract "
    "ApproximateVectorIndexContract ApproximateVectorReplacementContract VectorIndexContract "
    "VectorReplacementContract",
    "_extensions.testing.loader_contract": "LoaderContract",
    "_extensions.testing.model_contracts": "ChatModelContract EmbedderContract",
    "_extensions.testing.retriever_contract": "RetrieverContract",
    "_extensions.testing.splitter_contract": "SplitterContract",
    "_extensions.testing.store_contract": "IdCollisionContract StoreContract",
    "_extensions.testing.model_server": "Fault FaultPlan ModelTestServer",
}

__all__ = [
    "ApproximateTextIndexContract",
    "ApproximateVectorIndexContract",
    "ApproximateVectorReplacementContract",
    "BrokenStream",
    "ChatModelContract",
    "CommunityStoreContract",
    "ContentsContract",
    "CorrectionStoreContract",
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
