"""Answers about the whole, a document, a section, a topic or counts, without a model."""
