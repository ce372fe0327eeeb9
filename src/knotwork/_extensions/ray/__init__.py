"""Indexing on a Ray cluster: documents are read and embedded in its tasks and actors."""
