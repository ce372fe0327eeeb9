"""The knowledge base: one index with its store, loaders, extractor, models and retrievers."""

from knotwork._knowledge_base.base import (
    KnowledgeBase,
    Statistics,
    open,  # noqa: A004 - `knotwork.open` is how it is called
)
from knotwork._synthesis.ask_request import NO_VECTORS_NOTE

__all__ = ["NO_VECTORS_NOTE", "KnowledgeBase", "Statistics", "open"]
