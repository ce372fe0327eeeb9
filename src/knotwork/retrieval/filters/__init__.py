"""Filters in the forms in which people and programs write them."""

from knotwork.retrieval.filters.reading import FilterSpec, read_filter

__all__ = ["FilterSpec", "read_filter"]
