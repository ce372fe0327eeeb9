"""Haystack adapter: a retriever component. Needs the extra `haystack`."""

from __future__ import annotations

from typing import Any

from knotwork._extensions.adapters.metadata import hits_with_metadata, to_rows_metadata
from knotwork._knowledge_base import KnowledgeBase
from knotwork._knowledge_base import open as open_knowledge_base
from knotwork.errors import FilterError, required

with required("The adapter for Haystack", "haystack"):
    from haystack import Document, component, default_from_dict, default_to_dict

__all__ = ["KnotworkRetriever"]


@component
class KnotworkRetriever:
    """A Haystack component that returns the passages of an index as documents, best first.

    The id of a document is that of its chunk, and its meta is a `PassageMetadata`. ``index`` is an
    index file. It is opened read-only on first use, so a pipeline can be saved and loaded.
    ``filters`` are Haystack filters or those of `KnowledgeBase.search`; the other arguments, and
    the errors, are those of `KnowledgeBase.search`.
    """

    __module__ = "knotwork.adapters.haystack"
    """Pipelines are saved with the name of this module, and it is the one that users allow."""

    def __init__(
        self,
        index: str,
        retriever: str | None = None,
        top_k: int | None = None,
        filters: dict[str, Any] | None = None,
        min_score: float | None = None,
        retrieval_query: str | None = None,
        query_params: dict[str, Any] | None = None,
    ) -> None:
        self.index = index
        self.retriever = retriever
        self.top_k = top_k
        self.filters = filters
        self.min_score = min_score
        self.retrieval_query = retrieval_query
        self.query_params = query_params
        self._opened: KnowledgeBase | None = None

    def warm_up(self) -> None:
        """Open the index, unless it is open already."""
        if self._opened is None:
            self._opened = open_knowledge_base(self.index, read_only=True)

    def close(self) -> None:
        """Close the index; the next run opens it again."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    @component.output_types(
        documents=list[Document], confidence=float, results=list[dict[str, Any]]
    )
    def run(
        self,
        query: str,
        top_k: int | None = None,
        filters: dict[str, Any] | None = None,
        query_params: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Return the passages relevant to a question, and the confidence that they answer it.

        ``results`` are the rows of queries as `RowsMetadata`, those of the retrieval query last.
        ``filters`` and ``query_params`` replace those of the component.
        """
        self.warm_up()
        assert self._opened is not None, "opened above"
        found = self._opened.search(
            query,
            retriever=self.retriever,
            k=top_k or self.top_k,
            filters=_read_filters(self.filters if filters is None else filters),
            min_score=self.min_score,
            retrieval_query=self.retrieval_query,
            query_params=self.query_params if query_params is None else query_params,
        )
        documents = [
            Document(id=hit.chunk.id, content=hit.chunk.text, meta=dict(meta), score=meta["score"])
            for hit, meta in hits_with_metadata(found, self._opened)
        ]
        results = [dict(to_rows_metadata(result)) for result in found.results]
        return {"documents": documents, "confidence": found.confidence, "results": results}

    def to_dict(self) -> dict[str, Any]:
        """Serialize the component for a saved pipeline."""
        return default_to_dict(
            self,
            index=self.index,
            retriever=self.retriever,
            top_k=self.top_k,
            filters=self.filters,
            min_score=self.min_score,
            retrieval_query=self.retrieval_query,
            query_params=self.query_params,
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> KnotworkRetriever:
        """Restore a component from a saved pipeline."""
        restored: KnotworkRetriever = default_from_dict(cls, data)
        return restored


_OPERATORS = {
    "==": "eq",
    "!=": "ne",
    ">": "gt",
    ">=": "gte",
    "<": "lt",
    "<=": "lte",
    "in": "in",
    "not in": "nin",
}


def _read_filters(filters: dict[str, Any] | None) -> dict[str, Any] | None:
    """Convert Haystack filters to Knotwork filters; those without an operator are returned as is.

    Raises FilterError for an unsupported operator.
    """
    if not filters or "operator" not in filters:
        return filters
    operator = str(filters["operator"])
    if operator in {"AND", "OR", "NOT"}:
        parts = [_read_filters(part) for part in filters.get("conditions", ())]
        return {"$not": {"$and": parts}} if operator == "NOT" else {f"${operator.lower()}": parts}
    if operator not in _OPERATORS:
        raise FilterError(
            f"The Haystack operator `{operator}` is not supported.",
            fix=f"Use AND, OR, NOT, {', '.join(_OPERATORS)}.",
        )
    field = str(filters.get("field", "")).removeprefix("meta.")
    return {field: {_OPERATORS[operator]: filters.get("value")}}
