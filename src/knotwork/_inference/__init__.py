"""Models: embedders, rerankers and answer readers, local or served, and chat models on a server."""

from knotwork._inference.chat import ChatModel, ChatReply, ChatRequest, Message, TokenUsage
from knotwork._inference.embedder import (
    Embedder,
    FloatMatrix,
    PassageText,
    PassageVectors,
    embedding_key,
)
from knotwork._inference.model_registry import ChatModels, ModelRole, open_embedder

__all__ = [
    "ChatModel",
    "ChatModels",
    "ChatReply",
    "ChatRequest",
    "Embedder",
    "FloatMatrix",
    "Message",
    "ModelRole",
    "PassageText",
    "PassageVectors",
    "TokenUsage",
    "embedding_key",
    "open_embedder",
]
