"""For Haystack: a component that finds passages. Needs the extra `haystack`."""

from __future__ import annotations

from typing import Any

from knotwork.adapters.passages import place_hits
from knotwork.errors import MissingExtra
from knotwork.knowledge_base import KnowledgeBase
from knotwork.knowledge_base import open as open_knowledge_base

try:
    from haystack import Document, component, default_from_dict, default_to_dict
except ImportError as error:
    raise MissingExtra("The adapter for Haystack", "haystack") from error


@component
class KnotworkRetriever:
    """Passages of an index as Haystack documents, best first.

    Their meta is a `Place`, and their id that of the chunk. ``index`` is an index file, which is
    opened for reading on first use, so that a pipeline can be saved and loaded. ``retriever`` and
    ``top_k`` are as in `KnowledgeBase.search`, whose errors it raises.
    """

    def __init__(self, index: str, retriever: str | None = None, top_k: int | None = None) -> None:
        self.index = index
        self.retriever = retriever
        self.top_k = top_k
        self._opened: KnowledgeBase | None = None

    def warm_up(self) -> None:
        """Open the index."""
        if self._opened is None:
            self._opened = open_knowledge_base(self.index, read_only=True)

    def close(self) -> None:
        """Close the index; the next run opens it again."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    @component.output_types(documents=list[Document], confidence=float)
    def run(self, query: str, top_k: int | None = None) -> dict[str, Any]:
        """Return the passages that bear on a question, and how sure it is that they answer it."""
        self.warm_up()
        assert self._opened is not None, "opened above"
        found = self._opened.search(query, retriever=self.retriever, k=top_k or self.top_k)
        documents = [
            Document(
                id=hit.chunk.id, content=hit.chunk.text, meta=dict(place), score=place["score"]
            )
            for hit, place in place_hits(found, self._opened)
        ]
        return {"documents": documents, "confidence": found.confidence}

    def to_dict(self) -> dict[str, Any]:
        """Return what a saved pipeline keeps of it."""
        return default_to_dict(self, index=self.index, retriever=self.retriever, top_k=self.top_k)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> KnotworkRetriever:
        """Return what a saved pipeline tells of."""
        made: KnotworkRetriever = default_from_dict(cls, data)
        return made
