"""Retrievers that translate a question into a query language, run it read-only, and cite the
rows.
"""
