"""Retrieval patterns that start from entities, walk their graph, and end at passages."""
