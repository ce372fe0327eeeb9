"""Stores: one index that holds documents, graph, text and vectors."""
