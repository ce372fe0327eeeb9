"""Extraction schemas from example records, from a model, and from counts of an index."""
