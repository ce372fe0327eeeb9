"""Detect communities of entities and write reports about them, with or without a model."""
