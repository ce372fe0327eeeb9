"""LangChain adapter: a retriever, and two tools for agents. Needs the extra `langchain`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Unpack

from pydantic import Field

from knotwork.adapters.metadata import hits_with_metadata, rows_over_hits
from knotwork.errors import MissingExtra
from knotwork.knowledge_base import KnowledgeBase
from knotwork.records import Answer, PropertyValue
from knotwork.retrieval.filter_parser import FilterSpec
from knotwork.synthesis.ask_request import AskOptions

try:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.prompts import PromptTemplate
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.tools import BaseTool, StructuredTool, create_retriever_tool
except ImportError as error:
    raise MissingExtra("The adapter for LangChain", "langchain") from error

QuestionText = Annotated[str, "A question, in any language"]

_PASSAGE = PromptTemplate.from_template("[{document}, {section}]\n{page_content}")


class KnotworkRetriever(BaseRetriever):
    """Passages of a knowledge base as LangChain documents, best first.

    Their metadata is a `Place`, and their id that of the chunk. ``retriever`` and ``k`` are as in
    `KnowledgeBase.search`, whose errors it raises; ``filter`` and ``min_score`` are too, and may be
    given for one question: ``invoke(question, filter={"author": "Ann"})``. So are
    ``retrieval_query`` and ``query_params``; the rows, if there are any, are the last document,
    whose metadata are `Rows`. It may be used from several threads, and its asynchronous methods run
    it in one.
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
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002 - the shape asks for it
        filter: FilterSpec | None = None,  # noqa: A002 - as LangChain calls it
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
            Document(id=hit.chunk.id, page_content=hit.chunk.text, metadata=dict(place))
            for hit, place in hits_with_metadata(evidence, self.knowledge_base)
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
    """Return a tool that finds passages; its artifact are the documents of the retriever."""
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
        "Find passages of the user's documents relevant to a question. Each begins with the "
        "document and the section that it stands in.",
        document_prompt=_PASSAGE,
        response_format="content_and_artifact",
    )


def build_ask_tool(
    knowledge_base: KnowledgeBase,
    *,
    name: str = "ask_documents",
    **options: Unpack[AskOptions],
) -> BaseTool:
    """Return a tool that answers questions with citations; its artifact is the `Answer`.

    The options are those of `KnowledgeBase.ask`.
    """

    def ask(question: QuestionText) -> tuple[str, Answer]:
        answer = knowledge_base.ask(question, **options)
        return _word(answer), answer

    return StructuredTool.from_function(
        ask,
        name=name,
        description="Answer a question from the user's documents. The numbers in the answer are "
        "its sources, listed below it. It says so when the documents hold no answer.",
        response_format="content_and_artifact",
    )


def _word(answer: Answer) -> str:
    """Return an answer with the rows of the user's own query and its sources below it."""
    rows = [f"Rows of {rows['document']}:\n{text}" for text, rows in rows_over_hits(answer.results)]
    sources = [
        f"[{c.number}] {c.document}, characters {c.span.start}-{c.span.end}: {c.quote}"
        for c in answer.citations
    ]
    reason = [answer.reason] if answer.reason and not answer.answered else []
    return "\n".join([answer.lead + answer.text, *reason, *rows, *sources])
