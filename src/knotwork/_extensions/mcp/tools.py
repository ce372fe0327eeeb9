"""Tools of the MCP server: search, ask, paths, graph, Cypher, and indexing of allowed folders.

Each tool returns a typed object and the same content as text. Errors of Knotwork reach the client
with their fix.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import aclosing
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, ParamSpec, Protocol, TypeVar

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ToolError
from mcp.types import CallToolResult, TextContent, ToolAnnotations
from pydantic import Field
from pydantic_core import to_jsonable_python

from knotwork._extensions.mcp import results
from knotwork._knowledge_base.base import KnowledgeBase
from knotwork._run import OUTCOMES, Progress, Stage
from knotwork._shapes.base import Json, fields_of
from knotwork._shapes.graph import describe_communities
from knotwork._stores.capabilities import OWN_GRAPH
from knotwork._synthesis.ask_request import AskRequest
from knotwork.errors import KnotworkError
from knotwork.records import Direction, Evidence

if TYPE_CHECKING:
    from knotwork._extensions.mcp.permissions import Permissions
    from knotwork._knowledge_base.asynchronous import AsyncKnowledgeBase


Arguments = ParamSpec("Arguments")
T = TypeVar("T")


class ToolBackend(Protocol):
    """The part of `AsyncKnowledgeBase` that the tools use.

    A server of several indexes implements it with an object that resolves to the index of the
    current request.
    """

    @property
    def knowledge_base(self) -> KnowledgeBase:
        """The knowledge base; use it only in functions that `call` runs."""
        ...

    async def call(
        self, function: Callable[Arguments, T], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> T:
        """Run a function in a worker thread."""
        ...

    async def search(self, question: AskRequest, /) -> Evidence:
        """Return the passages relevant to a question."""
        ...

    @property
    def ask(self) -> Any:  # noqa: ANN401 - an object whose `run` is that of `KnowledgeBase.ask`
        """Answers a question, step by step."""
        ...


READ_ONLY = ToolAnnotations(read_only_hint=True, open_world_hint=False)
MOST_PASSAGES = 50

QuestionText = Annotated[str, Field(min_length=1, max_length=4_000, description="In any language")]
RetrieverName = Annotated[
    str, Field(description="A retriever such as auto, bm25 or graph; empty: the configured one")
]
FilterText = Annotated[
    str,
    Field(
        max_length=10_000,
        description="Filter for documents and pages, for example: author = 'Ann' and date >= 2023. "
        "Fields: title, author, date, tags, language, format, path, page, file_date and those in "
        "the front matter of documents; the error for an unknown field lists the known ones",
    ),
]
RetrievalQueryText = Annotated[
    str,
    Field(
        max_length=20_000,
        description="Read-only Cypher over the passages found. `node` is a Chunk and `score` its "
        "score: MATCH (node)-[:MENTIONS]->(e:Entity) RETURN e.name, score. The rows are in "
        "`results`; chunks in the rows become passages",
    ),
]
QueryParams = Annotated[dict[str, Any], Field(description="Parameters of retrieval_query")]
PassageCount = Annotated[int, Field(ge=1, le=MOST_PASSAGES, description="Maximum of passages")]


def add_question_tools(
    server: MCPServer, knowledge_base: ToolBackend, permissions: Permissions
) -> None:
    """Add the tools `search`, `paths` and `ask` to a server."""

    async def find(request: AskRequest) -> CallToolResult:
        evidence = await knowledge_base.search(request)
        found = await knowledge_base.call(
            lambda: results.to_search_result(evidence, knowledge_base.knowledge_base.store)
        )
        return tool_result(found, results.format_passages(found))

    @server.tool(title="Find passages", annotations=READ_ONLY)
    @as_tool
    async def search(
        question: QuestionText,
        k: PassageCount = 8,
        retriever: RetrieverName = "",
        where: FilterText = "",
        min_score: Annotated[float | None, Field(description="Minimum score of a passage")] = None,
        retrieval_query: RetrievalQueryText = "",
        query_params: QueryParams = {},  # noqa: B006 - a default for the schema; never modified
    ) -> Annotated[CallToolResult, results.SEARCH.model]:
        """Find the passages of the documents that are relevant to a question, best first."""
        return await find(
            AskRequest(
                question,
                retriever or None,
                k,
                filters=where,
                min_score=min_score,
                retrieval_query=retrieval_query,
                query_params=query_params,
            )
        )

    @server.tool(title="Find paths", annotations=READ_ONLY)
    @as_tool
    async def paths(
        question: QuestionText, k: PassageCount = 8, where: FilterText = ""
    ) -> Annotated[CallToolResult, results.SEARCH.model]:
        """Find paths in the knowledge graph from the entities named in a question to those it asks
        for, each relation with the passage that states it.
        """
        return await find(AskRequest(question, "paths", k, filters=where))

    @server.tool(title="Answer a question", annotations=READ_ONLY)
    @as_tool
    async def ask(
        question: QuestionText,
        ctx: Context,
        retriever: RetrieverName = "",
        mode: Annotated[
            str, Field(description="auto, basic, local, global, map-reduce, hybrid or drift")
        ] = "auto",
        where: FilterText = "",
        retrieval_query: RetrievalQueryText = "",
        query_params: QueryParams = {},  # noqa: B006
    ) -> Annotated[CallToolResult, results.REPLY.model]:
        """Answer a question from the documents. The text cites its sources as [1], [2], …, and each
        source gives its exact position in the document. If the documents do not contain the
        answer, the result says so.
        """
        answer = None
        request = AskRequest(
            question,
            retriever or None,
            filters=where,
            retrieval_query=retrieval_query,
            query_params=query_params,
            mode=mode,
            use_llm=permissions.use_llm,
        )
        async with aclosing(knowledge_base.ask.run(request)) as run:
            number = 0
            async for step in run:
                answer = step.value if step.stage == Stage.FINISHED else answer
                if step.stage != Stage.TEXT:
                    number += 1
                    await ctx.report_progress(number, None, _describe_step(step))
        assert answer is not None, "the last step has the answer"
        reply = results.to_answer_result(answer)
        return tool_result(reply, results.format_answer(reply))


def _describe_step(step: Progress) -> str:
    """Return the progress message of a step."""
    if step.stage == Stage.FOUND:
        found = len(step.value.hits)
        return f"{found} {'passage' if found == 1 else 'passages'} found"
    if step.stage == Stage.ASKED:
        return f"{step.note} is writing"
    if step.stage == Stage.STEP:
        return f"{step.note}: {step.done} of {step.total}"
    return step.note or step.stage


UPDATES_COMMUNITIES = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
"""Updating communities writes only data derived from the documents."""
MOST_RELATIONS = 500
MOST_PATHS = 50
MOST_COMMUNITIES = 100
MOST_ROWS = 1_000

EntityName = Annotated[
    str, Field(min_length=1, max_length=1_000, description="An entity, as written in the documents")
]
EntityNames = Annotated[
    list[str],
    Field(min_length=1, max_length=20, description="Entities, as written in the documents"),
]


def add_graph_tools(
    server: MCPServer,
    knowledge_base: ToolBackend,
    permissions: Permissions,
    *,
    update_communities: bool,
) -> None:
    """Add the tools `explore`, `shortest_paths`, `communities` and `names` to a server.

    Without ``update_communities`` the tool returns the communities as they are stored.
    """

    @server.tool(title="Explore the knowledge graph", annotations=READ_ONLY)
    @as_tool
    async def explore(
        names: EntityNames,
        depth: Annotated[int, Field(ge=1, le=5, description="Distance in relations")] = 2,
        limit: Annotated[
            int, Field(ge=1, le=MOST_RELATIONS, description="Maximum of relations")
        ] = 50,
        direction: Direction = "both",
    ) -> Annotated[CallToolResult, results.SUBGRAPH.model]:
        """Show the neighbourhood of one or more entities, strongest relations first, each with the
        ids of the chunks that state it.
        """
        found = await knowledge_base.call(
            lambda: knowledge_base.knowledge_base.graph.explore(
                names, direction=direction, depth=depth, limit=limit
            )
        )
        text = found.format(budget=results.SUBGRAPH_CHARACTERS)
        return tool_result(results.to_subgraph_result(found), text)

    @server.tool(title="Find shortest paths", annotations=READ_ONLY)
    @as_tool
    async def shortest_paths(
        one: EntityName,
        other: EntityName,
        limit: Annotated[int, Field(ge=1, le=MOST_PATHS, description="Maximum of paths")] = 5,
    ) -> Annotated[CallToolResult, results.PATHS.model]:
        """Show the shortest paths in the graph between two entities, those over stated relations
        first, each relation with the id of the chunk that states it.
        """
        paths = await knowledge_base.call(
            lambda: knowledge_base.knowledge_base.graph.shortest_paths(one, other, limit=limit)
        )
        found = results.PATHS(paths=paths)
        return tool_result(found, results.format_paths(found))

    @server.tool(
        title="Show topics",
        annotations=UPDATES_COMMUNITIES if permissions.write else READ_ONLY,
    )
    @as_tool
    async def communities(
        about: Annotated[str, Field(max_length=1_000, description="A topic; empty: all")] = "",
        level: Annotated[int | None, Field(ge=0, description="0 is the top level")] = None,
        limit: Annotated[int, Field(ge=1, le=MOST_COMMUNITIES)] = 10,
    ) -> Annotated[CallToolResult, results.COMMUNITIES.model]:
        """Show communities, groups of closely related entities, each with a report that cites the
        documents: those about a topic, or the top-level ones.
        """

        def find() -> list[Json]:
            base = knowledge_base.knowledge_base
            if update_communities:
                base.communities.update()
            topics = base.communities.stored(about, level=level, limit=limit)
            return list(map(results.to_community_result, describe_communities(base, topics)))

        found = results.COMMUNITIES(communities=await knowledge_base.call(find))
        return tool_result(found, results.format_communities(found))

    @server.tool(title="Show merged names", annotations=READ_ONLY)
    @as_tool
    async def names(
        about: Annotated[list[str], Field(max_length=20, description="Names; empty: all")] = [],  # noqa: B006 - a default for the schema; never modified
    ) -> Annotated[CallToolResult, results.SAME_NAMES.model]:
        """Show which names refer to the same entity, which are kept apart, and which are shared by
        several entities.
        """

        def find() -> Json:
            entities = knowledge_base.knowledge_base.entities
            same = fields_of(entities.aliases(about))
            return results.SAME_NAMES(same, homonyms=entities.homonyms(about))

        found = await knowledge_base.call(find)
        return tool_result(found, results.format_names(found))


def add_cypher_tool(server: MCPServer, knowledge_base: ToolBackend) -> None:
    """Add the tool `cypher` to a server."""

    @server.tool(title="Query the knowledge graph", annotations=READ_ONLY)
    @as_tool
    async def cypher(
        statement: Annotated[str, Field(min_length=1, max_length=20_000)],
        parameters: dict[str, Any] = {},  # noqa: B006 - a default for the schema; never modified
        graph: Annotated[
            str, Field(description="The name of an imported graph; empty: the index")
        ] = OWN_GRAPH,
        limit: Annotated[int, Field(ge=1, le=MOST_ROWS, description="Maximum of rows")] = 100,
    ) -> Annotated[CallToolResult, results.ROWS.model]:
        """Run a read-only openCypher statement on the graph of the index. Nodes: Document, Section,
        Chunk, Entity, Keyword, Community (with title, summary and level) and Question, all with
        name. Relationships: HAS_SECTION, HAS_CHUNK, NEXT, HAS_CHILD, MENTIONS, ABOUT, RELATES and
        CO_OCCURS (with relation and weight), IN_COMMUNITY (with importance), ANSWERS.
        """
        rows = await knowledge_base.call(
            lambda: knowledge_base.knowledge_base.graph.cypher(
                statement, parameters, graph=graph, row_limit=limit
            )
        )
        found = results.ROWS(rows)
        return tool_result(found, results.format_rows(found))


WRITES_INDEX = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
_REPORTED = OUTCOMES | {Stage.DISCOVERED, Stage.ENRICHING}


def add_index_tool(
    server: MCPServer, knowledge_base: AsyncKnowledgeBase, permissions: Permissions
) -> None:
    """Add the tool `index` to a server."""

    @server.tool(title="Index files", annotations=WRITES_INDEX)
    @as_tool
    async def index(
        ctx: Context,
        paths: Annotated[
            list[str],
            Field(max_length=100, description="Files or folders; empty: all allowed folders"),
        ] = [],  # noqa: B006 - a default for the schema; never modified
    ) -> Annotated[CallToolResult, results.INDEXED.model]:
        """Update the index from files and folders: unchanged files are skipped, and documents whose
        file is gone from a folder are removed. Only folders allowed at start can be read. Indexing
        may be cancelled at any time; finished documents are kept.
        """
        admitted = permissions.admit(paths)
        number = -1
        async with aclosing(knowledge_base.index.run(admitted)) as run:
            async for step in run:
                if step.stage in _REPORTED:
                    # Progress must grow with every message, even if no further document is done.
                    number = max(number + 1, step.done if step.stage in OUTCOMES else 0)
                    message = step.subject or step.note or f"{step.total} documents"
                    total = None if step.stage == Stage.ENRICHING else max(step.total, number)
                    await ctx.report_progress(number, total, f"{step.stage}: {message}")
            report = await run.result()
        done = results.INDEXED(report)
        await ctx.notify_resources_changed()
        return tool_result(done, results.format_index_report(done))


def tool_result(value: Json, text: str) -> CallToolResult:
    """Return a tool result with a structured value and its text form."""
    return CallToolResult(
        content=[TextContent(type="text", text=text)],
        structured_content=to_jsonable_python(value),
    )


def as_tool(
    function: Callable[Arguments, Awaitable[T]],
) -> Callable[Arguments, Awaitable[T]]:
    """Convert errors of Knotwork to a ToolError with message and fix, for the model to act on."""
    return _converting(function, lambda error: ToolError(f"{error.code}: {error}"))


def as_resource(
    function: Callable[Arguments, Awaitable[T]],
) -> Callable[Arguments, Awaitable[T]]:
    """Convert errors of Knotwork to a ResourceError with message and fix."""
    return _converting(function, lambda error: ResourceError(str(error)))


def _converting(
    function: Callable[Arguments, Awaitable[T]], convert: Callable[[KnotworkError], Exception]
) -> Callable[Arguments, Awaitable[T]]:
    @wraps(function)
    async def run(*args: Arguments.args, **kwargs: Arguments.kwargs) -> T:
        try:
            return await function(*args, **kwargs)
        except KnotworkError as error:
            raise convert(error) from error

    return run
