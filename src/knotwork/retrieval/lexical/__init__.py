"""Patterns over the lexical graph: documents, their sections, their chunks and sentences."""
