"""The embedder for tests, which is deterministic and needs no model."""

from knotwork._inference.embedder import HashingEmbedder

__all__ = ["HashingEmbedder"]
