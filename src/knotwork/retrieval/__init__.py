"""Retrievers, one file a pattern."""
