"""The embedder for tests: no model, no chance, no download."""

from knotwork.inference.embedder import HashingEmbedder

__all__ = ["HashingEmbedder"]
