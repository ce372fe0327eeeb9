"""Load files of many formats as documents: text, title, headings, pages, tables and metadata."""

from knotwork._indexing.loaders.blocks import BlockWriter
from knotwork._indexing.loaders.loader import Content, Loader, Source
from knotwork._indexing.loaders.loader_registry import (
    find_plugin_loader,
    load_document,
    load_edge_keys,
    load_file,
    load_undescribed,
    supported_suffixes,
)

__all__ = [
    "BlockWriter",
    "Content",
    "Loader",
    "Source",
    "find_plugin_loader",
    "load_document",
    "load_edge_keys",
    "load_file",
    "load_undescribed",
    "supported_suffixes",
]
