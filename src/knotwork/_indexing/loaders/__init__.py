"""Load files of many formats as documents: text, title, headings, pages, tables and metadata."""

from knotwork._indexing.loaders.loader import Content, Loader, Source, TextBuilder
from knotwork._indexing.loaders.loader_registry import (
    find_plugin_loader,
    load_document,
    load_edge_keys,
    load_file,
    supported_suffixes,
)

__all__ = [
    "Content",
    "Loader",
    "Source",
    "TextBuilder",
    "find_plugin_loader",
    "load_document",
    "load_edge_keys",
    "load_file",
    "supported_suffixes",
]
