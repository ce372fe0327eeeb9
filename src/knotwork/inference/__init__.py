"""Models: embedders, local and served."""

from knotwork.inference.base import Embedder, FloatMatrix, Passage, PassageVectors
from knotwork.inference.keys import embedding_key
from knotwork.inference.registry import open_embedder

__all__ = [
    "Embedder",
    "FloatMatrix",
    "Passage",
    "PassageVectors",
    "embedding_key",
    "open_embedder",
]
