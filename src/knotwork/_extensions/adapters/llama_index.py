"""LlamaIndex adapter: a retriever and a query engine. Needs the extra `llama-index`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from knotwork._extensions.adapters.metadata import (
    PassageMetadata,
    hits_with_metadata,
    passage_metadata,
    rows_over_hits,
    to_rows_metadata,
)
from knotwork._knowledge_base import KnowledgeBase
from knotwork._retrieval.filters import FilterSpec
from knotwork._shapes.base import fields_of
from knotwork.errors import FilterError, required
from knotwork.records import Answer, PropertyValue

with required("The adapter for LlamaIndex", "llama-index"):
    from llama_index.core.base.response.schema import Response
    from llama_index.core.query_engine import CustomQueryEngine
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
    from llama_index.core.vector_stores.types import (
        FilterCondition,
        FilterOperator,
        MetadataFilter,
        MetadataFilters,
    )

__all__ = ["KnotworkQueryEngine", "KnotworkRetriever"]

_PIECE_KEYS = ("kind", "markdown", "citation")
_NOT_FOR_MODELS = ["start", "end", "start_s", "end_s", "score", "chunk_id"]
_ROWS_AS_DATA = ["section", "source", "statement", "columns", "rows", "truncated"]


class KnotworkRetriever(BaseRetriever):
    """A LlamaIndex retriever that returns the passages of a knowledge base as nodes, best first.

    The id of a node is that of its chunk, and its metadata is a `PassageMetadata`. ``filters`` are
    LlamaIndex `MetadataFilters` or those of `KnowledgeBase.search`; the other arguments, and the
    errors, are those of `KnowledgeBase.search`. The rows of a retrieval query, if any, are the last
    node, with `RowsMetadata` and the score of the last passage.
    """

    def __init__(
        self,
        knowledge_base: KnowledgeBase,
        *,
        retriever: str | None = None,
        k: int | None = None,
        filters: MetadataFilters | FilterSpec | None = None,
        min_score: float | None = None,
        retrieval_query: str | None = None,
        query_params: Mapping[str, PropertyValue] | None = None,
    ) -> None:
        self.knowledge_base = knowledge_base
        self.retriever = retriever
        self.k = k
        self.filters = filters
        self.min_score = min_score
        self.retrieval_query = retrieval_query
        self.query_params = query_params
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = self.knowledge_base.search(
            query_bundle.query_str,
            retriever=self.retriever,
            k=self.k,
            filters=_read_filters(self.filters),
            min_score=self.min_score,
            retrieval_query=self.retrieval_query,
            query_params=self.query_params,
        )
        passages = [
            _build_node(hit.chunk.id, hit.chunk.text, metadata)
            for hit, metadata in hits_with_metadata(found, self.knowledge_base)
        ]
        last = passages[-1].score if passages else 0.0
        rows = [
            NodeWithScore(
                node=TextNode(
                    text=text,
                    metadata=dict(rows),
                    excluded_llm_metadata_keys=_ROWS_AS_DATA,
                    excluded_embed_metadata_keys=list(rows),
                ),
                score=last,
            )
            for text, rows in rows_over_hits(found.results)
        ]
        return passages + rows

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


class KnotworkQueryEngine(CustomQueryEngine):
    """A LlamaIndex query engine that answers questions from a knowledge base.

    The text cites its sources as [1], [2], …, in the order of the source nodes. Each node is a
    quoted sentence with a `PassageMetadata`. The metadata of the response says whether the question
    was answered, the reason if not, and the confidence; its ``results`` are rows of queries as
    `RowsMetadata`. ``filters`` are LlamaIndex `MetadataFilters` or those of `KnowledgeBase.ask`;
    the other fields, and the errors, are those of `KnowledgeBase.ask`.
    """

    knowledge_base: KnowledgeBase
    retriever: str | None = None
    mode: str = "auto"
    use_llm: bool = True
    filters: Any = None
    min_score: float | None = None
    retrieval_query: str | None = None
    query_params: dict[str, Any] | None = None

    def custom_query(self, query_str: str) -> Response:
        """Answer a question."""
        return _build_response(
            self.knowledge_base.ask(
                query_str,
                retriever=self.retriever,
                mode=self.mode,
                use_llm=self.use_llm,
                filters=_read_filters(self.filters),
                min_score=self.min_score,
                retrieval_query=self.retrieval_query,
                query_params=self.query_params,
            )
        )

    async def acustom_query(self, query_str: str) -> Response:
        """Answer a question in a worker thread."""
        return await asyncio.to_thread(self.custom_query, query_str)


_OPERATORS = {
    FilterOperator.EQ: "eq",
    FilterOperator.NE: "ne",
    FilterOperator.GT: "gt",
    FilterOperator.GTE: "gte",
    FilterOperator.LT: "lt",
    FilterOperator.LTE: "lte",
    FilterOperator.IN: "in",
    FilterOperator.NIN: "nin",
    FilterOperator.ANY: "in",
    FilterOperator.CONTAINS: "eq",  # on a list field, equality means that it has the value
    FilterOperator.TEXT_MATCH: "contains",
    FilterOperator.TEXT_MATCH_INSENSITIVE: "contains",
}


def _read_filters(filters: MetadataFilters | FilterSpec | None) -> FilterSpec | None:
    """Convert LlamaIndex filters to Knotwork filters. Raises FilterError for an unsupported
    operator.
    """
    if not isinstance(filters, MetadataFilters):
        return filters
    parts = [_read_part(part) for part in filters.filters]
    condition = filters.condition or FilterCondition.AND
    if condition is FilterCondition.NOT:
        return {"$not": {"$or": parts}} if parts else None
    return {f"${condition.value}": parts} if parts else None


def _read_part(part: MetadataFilter | MetadataFilters) -> FilterSpec:
    if isinstance(part, MetadataFilters):
        return _read_filters(part) or {}
    if part.operator is FilterOperator.IS_EMPTY:
        return {part.key: {"exists": False}}
    if part.operator is FilterOperator.ALL:
        values = part.value if isinstance(part.value, list) else [part.value]
        return {"$and": [{part.key: value} for value in values]}
    if part.operator not in _OPERATORS:
        raise FilterError(
            f"The LlamaIndex operator `{part.operator.value}` is not supported.",
            fix="Use ==, !=, <, <=, >, >=, in, nin, any, all, contains, text_match or is_empty.",
        )
    return {part.key: {_OPERATORS[part.operator]: part.value}}


def _build_response(answer: Answer) -> Response:
    return Response(
        response=answer.lead + answer.text,
        source_nodes=[
            _build_node(f"{c.chunk_id}:{c.span.start}-{c.span.end}", c.quote, passage_metadata(c))
            for c in answer.citations
        ],
        metadata={
            "answered": answer.answered,
            "short": answer.short,
            "reason": answer.reason,
            "confidence": answer.confidence,
            "strength": None if answer.strength is None else answer.strength.value,
            "mode": answer.mode,
            "model": answer.model,
            "notes": list(answer.notes),
            "pieces": [fields_of(piece, *_PIECE_KEYS) for piece in answer.pieces],
            "results": [dict(to_rows_metadata(result)) for result in answer.results],
        },
    )


def _build_node(key: str, text: str, metadata: PassageMetadata) -> NodeWithScore:
    node = TextNode(
        id_=key,
        text=text,
        metadata=dict(metadata),
        start_char_idx=metadata["start"],
        end_char_idx=metadata["end"],
        excluded_embed_metadata_keys=list(PassageMetadata.__annotations__),
        excluded_llm_metadata_keys=_NOT_FOR_MODELS,
    )
    return NodeWithScore(node=node, score=metadata["score"])
