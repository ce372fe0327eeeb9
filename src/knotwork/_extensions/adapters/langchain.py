"""LangChain adapter: a retriever, and two tools for agents. Needs the extra `langchain`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Unpack

from pydantic import Field

from knotwork._extensions.adapters.metadata import hits_with_metadata, rows_over_hits, short_quote
from knotwork._knowledge_base import KnowledgeBase
from knotwork._retrieval.filters import FilterSpec
from knotwork._synthesis.ask_request import AskOptions
from knotwork.errors import required
from knotwork.records import Answer, PropertyValue

with required("The adapter for LangChain", "langchain"):
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.prompts import PromptTemplate
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.tools import BaseTool, StructuredTool, create_retriever_tool

__all__ = ["KnotworkRetriever", "build_ask_tool", "build_search_tool"]

QuestionText = Annotated[str, "A question, in any language"]

_PASSAGE = PromptTemplate.from_template("[{document}, {section}]\n{page_content}")


class KnotworkRetriever(BaseRetriever):
    """A LangChain retriever that returns the passages of a knowledge base, best first.

    The id of a document is that of its chunk, and its metadata is a `PassageMetadata`. The fields
    and the errors are those of `KnowledgeBase.search`. ``filter``, ``min_score``,
    ``retrieval_query`` and ``query_params`` may also be passed with one question:
    ``invoke(question, filter={"author": "Ann"})``. The rows of a retrieval query, if any, are the
    last document, with `RowsMetadata`. The retriever is thread-safe; its asynchronous methods run
    it in a thread.
    """

    knowledge_base: KnowledgeBase
    retriever: str | None = None
    k: int | None = Field(default=None, ge=1)
    filter: Any = None
    min_score: float | None = None
    retrieval_query: str | None = None
    query_params: dict[str, Any] | None = None

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002 - part of the interface
        filter: FilterSpec | None = None,  # noqa: A002 - LangChain's name
        min_score: float | None = None,
        retrieval_query: str | None = None,
        query_params: Mapping[str, PropertyValue] | None = None,
    ) -> list[Document]:
        evidence = self.knowledge_base.search(
            query,
            retriever=self.retriever,
            k=self.k,
            filters=self.filter if filter is None else filter,
            min_score=self.min_score if min_score is None else min_score,
            retrieval_query=self.retrieval_query if retrieval_query is None else retrieval_query,
            query_params=self.query_params if query_params is None else query_params,
        )
        passages = [
            Document(id=hit.chunk.id, page_content=hit.chunk.text, metadata=dict(metadata))
            for hit, metadata in hits_with_metadata(evidence, self.knowledge_base)
        ]
        rows = [
            Document(page_content=text, metadata=dict(rows))
            for text, rows in rows_over_hits(evidence.results)
        ]
        return passages + rows


def build_search_tool(
    knowledge_base: KnowledgeBase,
    *,
    name: str = "search_documents",
    retriever: str | None = None,
    k: int | None = None,
    filters: FilterSpec | None = None,
    retrieval_query: str | None = None,
    query_params: Mapping[str, PropertyValue] | None = None,
) -> BaseTool:
    """Build a tool that finds passages. Its artifact is the list of documents found."""
    return create_retriever_tool(
        KnotworkRetriever(
            knowledge_base=knowledge_base,
            retriever=retriever,
            k=k,
            filter=filters,
            retrieval_query=retrieval_query,
            query_params=None if query_params is None else dict(query_params),
        ),
        name,
        "Find passages of the user's documents that are relevant to a question. Each passage "
        "begins with its document and section.",
        document_prompt=_PASSAGE,
        response_format="content_and_artifact",
    )


def build_ask_tool(
    knowledge_base: KnowledgeBase,
    *,
    name: str = "ask_documents",
    **options: Unpack[AskOptions],
) -> BaseTool:
    """Build a tool that answers questions with citations. Its artifact is the `Answer`.

    The options are those of `KnowledgeBase.ask`.
    """

    def ask(question: QuestionText) -> tuple[str, Answer]:
        answer = knowledge_base.ask(question, **options)
        return _format_answer(answer), answer

    return StructuredTool.from_function(
        ask,
        name=name,
        description="Answer a question from the user's documents. Numbers in the answer refer to "
        "the sources listed below it. If the documents do not contain the answer, it says so.",
        response_format="content_and_artifact",
    )


def _format_answer(answer: Answer) -> str:
    """Return an answer as text, followed by the rows of the retrieval query and the sources."""
    rows = [f"Rows of {rows['document']}:\n{text}" for text, rows in rows_over_hits(answer.results)]
    sources = [
        f"[{c.number}] {c.document}, characters {c.span.start}-{c.span.end}: {short_quote(c)}"
        for c in answer.citations
    ]
    reason = [answer.reason] if answer.reason and not answer.answered else []
    return "\n\n".join([answer.lead + answer.text, "\n".join([*reason, *rows, *sources])]).rstrip()
