"""Write plugins: the protocols of all parts, and what helps to implement them.

A plugin is a class, or a function that returns a part, named by an entry point of its distribution;
`register` adds one to the running program without an installation. Every name here is imported on
first use. See "Write a plugin" in the documentation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from knotwork._lazy_imports import import_on_use

if TYPE_CHECKING:
    from knotwork._config import EmbeddingSettings, LlmSettings, RerankSettings
    from knotwork._extensions.queries.query_plans import (
        Attempt,
        LinkedQuestion,
        QueryTarget,
        Statement,
        Translator,
    )
    from knotwork._indexing.loaders.blocks import BlockWriter
    from knotwork._indexing.loaders.decoding import decode_text
    from knotwork._indexing.loaders.loader import Content, Loader, Source
    from knotwork._indexing.loaders.text_blocks import add_text
    from knotwork._indexing.splitters import ChunkSizes, Splitter, make_splitter
    from knotwork._inference.chat import ChatModel, ChatReply, ChatRequest, Message, TokenUsage
    from knotwork._inference.cross_encoders import Reranker
    from knotwork._inference.embedder import Embedder, PassageText, PassageVectors
    from knotwork._knowledge_base.registries import register
    from knotwork._retrieval.base import Retriever, RetrieverStep
    from knotwork._retrieval.evidence_builder import rank_evidence
    from knotwork._retrieval.retriever_registry import build_retriever
    from knotwork._stores.base import Store
    from knotwork._stores.capabilities import Capabilities
    from knotwork._text.languages import detect_language
    from knotwork._text.names import normal_form
    from knotwork._text.sentences import split_sentences
    from knotwork._transform.extractor import Extractor, make_extractor

_HOMES = {
    "_config": "EmbeddingSettings LlmSettings RerankSettings",
    "_indexing.loaders.blocks": "BlockWriter",
    "_indexing.loaders.decoding": "decode_text",
    "_indexing.loaders.loader": "Content Loader Source",
    "_indexing.loaders.text_blocks": "add_text",
    "_indexing.splitters": "ChunkSizes Splitter make_splitter",
    "_inference.chat": "ChatModel ChatReply ChatRequest Message TokenUsage",
    "_inference.cross_encoders": "Reranker",
    "_inference.embedder": "Embedder PassageText PassageVectors",
    "_knowledge_base.registries": "register",
    "_retrieval.base": "Retriever RetrieverStep",
    "_retrieval.evidence_builder": "rank_evidence",
    "_extensions.queries.query_plans": "Attempt LinkedQuestion QueryTarget Statement Translator",
    "_retrieval.retriever_registry": "build_retriever",
    "_stores.base": "Store",
    "_stores.capabilities": "Capabilities",
    "_text.languages": "detect_language",
    "_text.names": "normal_form",
    "_text.sentences": "split_sentences",
    "_transform.extractor": "Extractor make_extractor",
}

__all__ = [
    "Attempt",
    "BlockWriter",
    "Capabilities",
    "ChatModel",
    "ChatReply",
    "ChatRequest",
    "ChunkSizes",
    "Content",
    "Embedder",
    "EmbeddingSettings",
    "Extractor",
    "LinkedQuestion",
    "LlmSettings",
    "Loader",
    "Message",
    "PassageText",
    "PassageVectors",
    "QueryTarget",
    "RerankSettings",
    "Reranker",
    "Retriever",
    "RetrieverStep",
    "Source",
    "Splitter",
    "Statement",
    "Store",
    "TokenUsage",
    "Translator",
    "add_text",
    "build_retriever",
    "decode_text",
    "detect_language",
    "make_extractor",
    "make_splitter",
    "normal_form",
    "rank_evidence",
    "register",
    "split_sentences",
]

__getattr__, __dir__ = import_on_use(__name__, _HOMES)
