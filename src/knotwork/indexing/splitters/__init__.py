"""From a document to its section tree and chunks, all of them exact spans of its text."""

from knotwork.indexing.splitters.base import Sizes, Splitter
from knotwork.indexing.splitters.registry import SPLITTERS, make_splitter

__all__ = ["SPLITTERS", "Sizes", "Splitter", "make_splitter"]
