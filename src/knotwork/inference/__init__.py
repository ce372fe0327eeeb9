"""Models: embedders, rerankers and answer readers, local or served, and chat models on a server."""

from knotwork.inference.chat import ChatModel, ChatReply, ChatRequest, Message, TokenUsage
from knotwork.inference.concurrency import Halt
from knotwork.inference.embedder import (
    Embedder,
    FloatMatrix,
    PassageText,
    PassageVectors,
    embedding_key,
)
from knotwork.inference.model_registry import ChatModels, ModelRole, open_chat_model, open_embedder

__all__ = [
    "ChatModel",
    "ChatModels",
    "ChatReply",
    "ChatRequest",
    "Embedder",
    "FloatMatrix",
    "Halt",
    "Message",
    "ModelRole",
    "PassageText",
    "PassageVectors",
    "TokenUsage",
    "embedding_key",
    "open_chat_model",
    "open_embedder",
]
