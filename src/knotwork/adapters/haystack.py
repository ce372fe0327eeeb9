"""Use an index from Haystack: a retriever component. Needs the extra `haystack`."""

from knotwork._extensions.adapters.haystack import KnotworkRetriever

__all__ = ["KnotworkRetriever"]
