"""The MCP tool `add_document`, for keys that may write."""

from __future__ import annotations

import asyncio
from io import BytesIO
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Annotated

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult
from pydantic import BaseModel, Field

from knotwork.mcp_server.tools import WRITES_INDEX, as_tool, tool_result
from knotwork.service.mcp_sessions import SessionKnowledgeBase, current_session, current_workspace
from knotwork.service.uploads import SpooledFile, check_content, parse_upload_name, store_file

if TYPE_CHECKING:
    from knotwork.service.job_store import Job


MOST_CHARACTERS = 200_000
_SUFFIX = ".md"
_LOOK_S = 0.1


class AddedDocument(BaseModel):
    """A document that was added; ``chunks`` it has in the index."""

    document: str = Field(description="Its uri, as passages and citations name it")
    chunks: int


def add_document_tool(server: MCPServer, knowledge_base: SessionKnowledgeBase) -> None:
    """Give a server the tool `add_document`."""

    @server.tool(title="Add a document", annotations=WRITES_INDEX)
    @as_tool
    async def add_document(
        ctx: Context,
        name: Annotated[str, Field(min_length=1, max_length=500, description="As notes/travel.md")],
        text: Annotated[str, Field(min_length=1, max_length=MOST_CHARACTERS)],
    ) -> Annotated[CallToolResult, AddedDocument]:
        """Add a text to the documents, in the place of one of the same name, and index it. Without
        an ending the name gets .md, and the text is read as Markdown.
        """
        here = current_session.get()
        here.server.jobs.check()
        uri = await knowledge_base.call(_store_text, name, text)
        job = here.server.jobs.submit(
            here.workspace, "index", {"tier": None, "budget": "", "retry": False}
        )
        done = await _follow_job(ctx, job)
        if done.state != "finished":
            told = done.error.get("message") or f"The job was {done.state}."
            raise ToolError(f"`{uri}` was kept and not indexed. {told}")
        added = await knowledge_base.call(_describe_added, uri)
        await ctx.notify_resources_changed()
        return tool_result(added, f"{added.document} is in the index, as {added.chunks} chunks.")


def _store_text(name: str, text: str) -> str:
    """Keep a text as a file of the workspace, as an upload is kept. Raises LoadError."""
    workspace = current_workspace()
    place = parse_upload_name(name)
    if not place.suffix:
        place = PurePosixPath(f"{place}{_SUFFIX}")
    file = SpooledFile(str(place), BytesIO(text.encode()))
    check_content(file, max_file_mb=workspace.base.settings.index.max_file_mb)
    return store_file(file, place, workspace)


def _describe_added(uri: str) -> AddedDocument:
    entry = current_workspace().base.store.ledger.get([uri]).get(uri)
    if entry is None or entry.error:
        why = f": {entry.error}" if entry else ""
        raise ToolError(f"`{uri}` could not be read{why}.")
    return AddedDocument(document=uri, chunks=entry.chunks)


async def _follow_job(ctx: Context, job: Job) -> Job:
    """Tell the progress of a job, and return it when it is over."""
    here = current_session.get()
    step, told = 0, ""
    while True:
        found = here.server.jobs.find(here.workspace, job.id)
        stage = str(found.progress.get("stage", ""))
        if stage and stage != told:
            step, told = step + 1, stage
            await ctx.report_progress(step, None, stage)
        if found.state.is_final or here.server.closing:
            return found
        await asyncio.sleep(_LOOK_S)
