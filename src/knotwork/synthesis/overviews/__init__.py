"""Answers about the whole, one document, one topic or how often, at no tokens."""
