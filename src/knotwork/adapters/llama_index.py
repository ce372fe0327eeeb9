"""LlamaIndex adapter: a retriever and a query engine. Needs the extra `llama-index`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from knotwork.adapters.metadata import (
    PassageMetadata,
    citation_metadata,
    hits_with_metadata,
    rows_over_hits,
    to_rows_metadata,
)
from knotwork.errors import FilterError, MissingExtra
from knotwork.knowledge_base import KnowledgeBase
from knotwork.records import Answer, PropertyValue
from knotwork.retrieval.filter_parser import FilterSpec

try:
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
except ImportError as error:
    raise MissingExtra("The adapter for LlamaIndex", "llama-index") from error

_NOT_FOR_MODELS = ["start", "end", "score", "chunk_id"]
_ROWS_AS_DATA = ["section", "source", "statement", "columns", "rows", "truncated"]


class KnotworkRetriever(BaseRetriever):
    """Passages of a knowledge base as LlamaIndex nodes, best first.

    Their metadata is a `Place`, and their id that of the chunk. ``retriever``, ``k``,
    ``min_score``, ``retrieval_query`` and ``query_params`` are as in `KnowledgeBase.search`, whose
    errors it raises; ``filters`` are too, or LlamaIndex's own `MetadataFilters`. The rows of a
    retrieval query, if there are any, are the last node, with the score of the last passage; its
    metadata are `Rows`.
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
            _node(hit.chunk.id, hit.chunk.text, place)
            for hit, place in hits_with_metadata(found, self.knowledge_base)
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
    """Answers of a knowledge base as LlamaIndex responses.

    The text marks its sources as [1], [2], …, in the order of the source nodes, each of which is a
    sentence with its `Place`. The metadata says whether it is an answer, why not, and how sure it
    is; ``results`` there are the `Rows` of queries. ``retriever``, ``mode``, ``use_llm``,
    ``min_score``, ``retrieval_query`` and ``query_params`` are as in `KnowledgeBase.ask`, whose
    errors it raises; ``filters`` are too, or LlamaIndex's own `MetadataFilters`.
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
        return _respond(
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
        """Answer a question, in a thread beside the event loop."""
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
    FilterOperator.CONTAINS: "eq",  # of a list: it has the value
    FilterOperator.TEXT_MATCH: "contains",
    FilterOperator.TEXT_MATCH_INSENSITIVE: "contains",
}


def _read_filters(filters: MetadataFilters | FilterSpec | None) -> FilterSpec | None:
    """Return filters as ours. Raises FilterError for an operator that has no counterpart."""
    if not isinstance(filters, MetadataFilters):
        return filters
    parts = [_read_part(part) for part in filters.filters]
    joined = filters.condition or FilterCondition.AND
    if joined is FilterCondition.NOT:
        return {"$not": {"$or": parts}} if parts else None
    return {f"${joined.value}": parts} if parts else None


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
            f"The operator `{part.operator.value}` of LlamaIndex is not supported.",
            fix="Use ==, !=, <, <=, >, >=, in, nin, any, all, contains, text_match or is_empty.",
        )
    return {part.key: {_OPERATORS[part.operator]: part.value}}


def _respond(answer: Answer) -> Response:
    return Response(
        response=answer.lead + answer.text,
        source_nodes=[
            _node(f"{c.chunk_id}:{c.span.start}-{c.span.end}", c.quote, citation_metadata(c))
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
            "results": [dict(to_rows_metadata(result)) for result in answer.results],
        },
    )


def _node(key: str, text: str, place: PassageMetadata) -> NodeWithScore:
    node = TextNode(
        id_=key,
        text=text,
        metadata=dict(place),
        start_char_idx=place["start"],
        end_char_idx=place["end"],
        excluded_embed_metadata_keys=list(PassageMetadata.__annotations__),
        excluded_llm_metadata_keys=_NOT_FOR_MODELS,
    )
    return NodeWithScore(node=node, score=place["score"])
