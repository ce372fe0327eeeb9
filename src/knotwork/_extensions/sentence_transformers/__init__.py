"""Embedding models and cross-encoders of sentence-transformers, which need PyTorch."""
