"""Models: embedders, local and served, and chat models behind a server."""

from knotwork.inference.base import Embedder, FloatMatrix, Passage, PassageVectors
from knotwork.inference.chat import ChatModel, ChatReply, ChatRequest, Message, TokenUsage
from knotwork.inference.chat_registry import ChatModels, ModelRole, open_chat_model
from knotwork.inference.halt import Halt
from knotwork.inference.keys import embedding_key
from knotwork.inference.registry import open_embedder

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
    "Passage",
    "PassageVectors",
    "TokenUsage",
    "embedding_key",
    "open_chat_model",
    "open_embedder",
]
