"""Retrievers that start from entities, walk the graph around them, and end at passages."""
