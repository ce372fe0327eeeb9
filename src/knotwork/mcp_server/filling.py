"""The tool that indexes what was allowed at start."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, Annotated

from mcp.server.mcpserver import Context, MCPServer
from mcp.types import CallToolResult, ToolAnnotations
from pydantic import Field

from knotwork.indexing.report import OUTCOMES, EventKind
from knotwork.mcp_server import describing, shapes, wording
from knotwork.mcp_server.errors import as_tool
from knotwork.mcp_server.results import result

if TYPE_CHECKING:
    from knotwork.knowledge_base.asynchronous import AsyncKnowledgeBase
    from knotwork.mcp_server.permissions import Permissions

WRITES = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
_TOLD = OUTCOMES | {EventKind.DISCOVERED, EventKind.ENRICHING}


def add_filling(
    server: MCPServer, knowledge_base: AsyncKnowledgeBase, permissions: Permissions
) -> None:
    """Give a server the tool `index`."""

    @server.tool(title="Index files", annotations=WRITES)
    @as_tool
    async def index(
        ctx: Context,
        paths: Annotated[
            list[str], Field(max_length=100, description="Files or folders; none: all allowed")
        ] = [],  # noqa: B006 - the schema tells the default; nothing changes it
    ) -> Annotated[CallToolResult, shapes.Indexed]:
        """Bring the index up to date with files and folders: what did not change is left alone,
        what is gone from a folder is removed. Only folders that were allowed at start can be read.
        It may be cancelled at any time; what is finished is kept.
        """
        places = permissions.admit(paths)
        report = None
        step = -1
        async with aclosing(knowledge_base.index_events(places)) as events:
            async for event in events:
                report = event.report or report
                if event.kind in _TOLD:
                    # Progress must grow with every message, and the count of documents may stand.
                    step = max(step + 1, event.done if event.kind in OUTCOMES else 0)
                    message = event.uri or event.message or f"{event.total} documents"
                    total = None if event.kind is EventKind.ENRICHING else max(event.total, step)
                    await ctx.report_progress(step, total, f"{event.kind}: {message}")
        assert report is not None, "a run ends with its report"
        done = describing.describe_report(report)
        await ctx.notify_resources_changed()
        return result(done, wording.word_indexed(done))
