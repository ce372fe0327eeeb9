"""The embedder for tests: no model, no chance, no download."""

from knotwork.inference.hashing import HashingEmbedder

__all__ = ["HashingEmbedder"]
