"""The tools that find passages and answer questions."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, Annotated, Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.types import CallToolResult, ToolAnnotations
from pydantic import Field

from knotwork.mcp_server import describing, shapes, wording
from knotwork.mcp_server.errors import as_tool
from knotwork.mcp_server.results import result
from knotwork.records import Evidence
from knotwork.synthesis.asking import AskOptions
from knotwork.synthesis.events import AskEvent, AskEventKind

if TYPE_CHECKING:
    from knotwork.mcp_server.backing import Backing
    from knotwork.mcp_server.permissions import Permissions

READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
MOST_PASSAGES = 50

Question = Annotated[str, Field(min_length=1, max_length=4_000, description="In any language")]
Retriever = Annotated[
    str, Field(description="How passages are found, as auto, bm25 or graph; empty: by the settings")
]
Where = Annotated[
    str,
    Field(
        max_length=10_000,
        description="Only documents and pages that fulfil it, as: author = 'Ann' and date >= 2023. "
        "Fields: title, author, date, tags, language, format, path, page, file_date and those of "
        "the documents' front matter; an unknown one is answered with those that there are",
    ),
]
RetrievalQuery = Annotated[
    str,
    Field(
        max_length=20_000,
        description="Read-only Cypher over the passages found: it starts from `node`, a Chunk, and "
        "`score`, as MATCH (node)-[:MENTIONS]->(e:Entity) RETURN e.name, score. Its rows come in "
        "`results`; chunks in its rows become passages",
    ),
]
QueryParams = Annotated[dict[str, Any], Field(description="Parameters of retrieval_query")]
Count = Annotated[int, Field(ge=1, le=MOST_PASSAGES, description="Passages, at most")]


def add_asking(server: MCPServer, knowledge_base: Backing, permissions: Permissions) -> None:
    """Give a server the tools `search`, `paths` and `ask`."""

    def describe(evidence: Evidence) -> shapes.Passages:
        return describing.describe_evidence(evidence, knowledge_base.knowledge_base.store)

    @server.tool(title="Find passages", annotations=READS)
    @as_tool
    async def search(
        question: Question,
        k: Count = 8,
        retriever: Retriever = "",
        where: Where = "",
        min_score: Annotated[
            float | None, Field(description="Only passages that score at least this")
        ] = None,
        retrieval_query: RetrievalQuery = "",
        query_params: QueryParams = {},  # noqa: B006 - the schema tells the default; nothing changes it
    ) -> Annotated[CallToolResult, shapes.Passages]:
        """Find the passages of the documents that bear on a question, best first."""
        evidence = await knowledge_base.search(
            question,
            retriever=retriever or None,
            k=k,
            filters=where,
            min_score=min_score,
            retrieval_query=retrieval_query,
            query_params=query_params,
        )
        found = await knowledge_base.call(describe, evidence)
        return result(found, wording.word_passages(found))

    @server.tool(title="Find paths", annotations=READS)
    @as_tool
    async def paths(
        question: Question, k: Count = 8, where: Where = ""
    ) -> Annotated[CallToolResult, shapes.Passages]:
        """Find the paths in the knowledge graph that lead from what a question names to what it
        asks for, as between two names, each relation with the passage that states it.
        """
        evidence = await knowledge_base.search(question, retriever="paths", k=k, filters=where)
        found = await knowledge_base.call(describe, evidence)
        return result(found, wording.word_passages(found))

    @server.tool(title="Answer a question", annotations=READS)
    @as_tool
    async def ask(
        question: Question,
        ctx: Context,
        retriever: Retriever = "",
        mode: Annotated[
            str, Field(description="auto, basic, local, global, map-reduce, hybrid or drift")
        ] = "auto",
        where: Where = "",
        retrieval_query: RetrievalQuery = "",
        query_params: QueryParams = {},  # noqa: B006
    ) -> Annotated[CallToolResult, shapes.Reply]:
        """Answer a question from the documents. The text marks its sources as [1], [2], …, and each
        source gives the exact characters of its document. It says so when the documents hold no
        answer.
        """
        options = AskOptions(mode=mode, use_llm=permissions.use_llm)
        answer = None
        run = knowledge_base.ask_events(
            question,
            retriever=retriever or None,
            filters=where,
            retrieval_query=retrieval_query,
            query_params=query_params,
            **options,
        )
        async with aclosing(run) as events:
            step = 0
            async for event in events:
                answer = event.answer or answer
                if event.kind is not AskEventKind.TEXT:
                    step += 1
                    await ctx.report_progress(step, None, _tell(event))
        assert answer is not None, "the last event has the answer"
        reply = describing.describe_answer(answer)
        return result(reply, wording.word_reply(reply))


def _tell(event: AskEvent) -> str:
    """Return what a step is, in words."""
    if event.evidence is not None:
        found = len(event.evidence.hits)
        return f"{found} {'passage' if found == 1 else 'passages'} found"
    if event.kind is AskEventKind.ASKED:
        return f"{event.text} is writing"
    if event.kind is AskEventKind.STEP:
        return f"{event.text}: {event.done} of {event.total}"
    return event.text or str(event.kind)
