"""The knowledge base: where store, loaders, extractor, models and retrievers come together."""

from knotwork.knowledge_base.asking import NO_VECTORS_NOTE
from knotwork.knowledge_base.base import KnowledgeBase
from knotwork.knowledge_base.opening import open  # noqa: A004 - `knotwork.open` is how it is called
from knotwork.knowledge_base.statistics import Statistics

__all__ = ["NO_VECTORS_NOTE", "KnowledgeBase", "Statistics", "open"]
