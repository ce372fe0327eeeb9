"""Propose an extraction schema from examples, from texts, or from an index."""
