"""The tools that look at the knowledge graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from mcp.server.mcpserver import MCPServer
from mcp.types import CallToolResult, ToolAnnotations
from pydantic import Field

from knotwork.mcp_server import describing, shapes, wording
from knotwork.mcp_server.asking import READS
from knotwork.mcp_server.errors import as_tool
from knotwork.mcp_server.results import result
from knotwork.records import Direction, QueryResult
from knotwork.stores.queries import OWN_GRAPH

if TYPE_CHECKING:
    from knotwork.mcp_server.backing import Backing
    from knotwork.mcp_server.permissions import Permissions

REFRESHES = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
"""It only brings up to date what follows from the documents."""
MOST_RELATIONS = 500
MOST_PATHS = 50
MOST_COMMUNITIES = 100
MOST_ROWS = 1_000

Name = Annotated[str, Field(min_length=1, max_length=1_000, description="As in the documents")]
Names = Annotated[list[str], Field(min_length=1, max_length=20, description="As in the documents")]


def add_graph(server: MCPServer, knowledge_base: Backing, permissions: Permissions) -> None:
    """Give a server the tools `explore`, `connect`, `communities` and `names`."""

    @server.tool(title="Walk the knowledge graph", annotations=READS)
    @as_tool
    async def explore(
        names: Names,
        depth: Annotated[int, Field(ge=1, le=5, description="Steps from the names")] = 2,
        limit: Annotated[int, Field(ge=1, le=MOST_RELATIONS, description="Relations")] = 50,
        direction: Direction = "both",
    ) -> Annotated[CallToolResult, shapes.Neighbourhood]:
        """Show what is related to one or more names, strongest relations first, each with the ids
        of the chunks that state it.
        """
        walked = await knowledge_base.explore(names, direction=direction, depth=depth, limit=limit)
        found = describing.describe_subgraph(walked)
        return result(found, wording.word_neighbourhood(found))

    @server.tool(title="Connect two names", annotations=READS)
    @as_tool
    async def connect(
        one: Name,
        other: Name,
        limit: Annotated[int, Field(ge=1, le=MOST_PATHS, description="Paths")] = 5,
    ) -> Annotated[CallToolResult, shapes.Connections]:
        """Show the shortest paths in the graph between two names, those over stated relations
        first, each relation with the id of the chunk that states it.
        """
        walked = await knowledge_base.paths(one, other, limit=limit)
        found = describing.describe_paths(walked)
        return result(found, wording.word_connections(found))

    @server.tool(
        title="What the documents are about",
        annotations=REFRESHES if permissions.write else READS,
    )
    @as_tool
    async def communities(
        about: Annotated[str, Field(max_length=1_000, description="A topic; empty: all")] = "",
        level: Annotated[int | None, Field(ge=0, description="0 is the topmost")] = None,
        limit: Annotated[int, Field(ge=1, le=MOST_COMMUNITIES)] = 10,
    ) -> Annotated[CallToolResult, shapes.Reports]:
        """Show groups of names that belong together, each with a report whose statements lead back
        to the documents: those about a topic, or the topmost ones.
        """
        topics = await knowledge_base.communities(about, level=level, limit=limit)

        def describe() -> shapes.Reports:
            return describing.describe_topics(topics, knowledge_base.knowledge_base.store)

        found = await knowledge_base.call(describe)
        return result(found, wording.word_reports(found))

    @server.tool(title="Which names mean one thing", annotations=READS)
    @as_tool
    async def names(
        about: Annotated[list[str], Field(max_length=20, description="Names; none: all")] = [],  # noqa: B006 - the schema tells the default; nothing changes it
    ) -> Annotated[CallToolResult, shapes.Names]:
        """Show which names are one thing, which are held apart, and which mean several things."""

        def find() -> shapes.Names:
            base = knowledge_base.knowledge_base
            return describing.describe_names(base.same_names(about), base.homonyms(about))

        found = await knowledge_base.call(find)
        return result(found, wording.word_names(found))


def add_cypher(server: MCPServer, knowledge_base: Backing) -> None:
    """Give a server the tool `cypher`."""

    @server.tool(title="Query the knowledge graph", annotations=READS)
    @as_tool
    async def cypher(
        statement: Annotated[str, Field(min_length=1, max_length=20_000)],
        parameters: dict[str, Any] = {},  # noqa: B006 - the schema tells the default; nothing changes it
        graph: Annotated[str, Field(description="An imported graph")] = OWN_GRAPH,
        limit: Annotated[int, Field(ge=1, le=MOST_ROWS, description="Rows")] = 100,
    ) -> Annotated[CallToolResult, shapes.Rows]:
        """Run a read-only openCypher statement on the graph of the index. Its nodes are Document,
        Section, Chunk, Entity, Keyword, Community (with title, summary and level) and Question, all
        with name; its relationships HAS_SECTION, HAS_CHUNK, NEXT, HAS_CHILD, MENTIONS, ABOUT,
        RELATES and CO_OCCURS (with relation and weight), IN_COMMUNITY (with importance), ANSWERS.
        """

        def run() -> QueryResult:
            base = knowledge_base.knowledge_base
            return base.cypher(statement, parameters, graph=graph, row_limit=limit)

        rows = await knowledge_base.call(run)
        found = describing.describe_rows(rows)
        return result(found, wording.word_rows(found))
