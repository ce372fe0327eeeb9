"""Knotwork: answers with citations from your own documents."""

__version__ = "0.1.0"
