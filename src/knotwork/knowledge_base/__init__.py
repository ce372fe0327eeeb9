"""The knowledge base: where store, loaders, extractor, models and retrievers come together."""

from knotwork.knowledge_base.base import (
    KnowledgeBase,
    Statistics,
    open,  # noqa: A004 - `knotwork.open` is how it is called
)
from knotwork.knowledge_base.searcher import NO_VECTORS_NOTE

__all__ = ["NO_VECTORS_NOTE", "KnowledgeBase", "Statistics", "open"]
