"""Answers about the whole, a document, a section, a topic, steps or counts, without a model."""
