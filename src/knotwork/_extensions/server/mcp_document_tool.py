"""The MCP tool `add_document`, for keys with write access."""

from __future__ import annotations

import asyncio
import secrets
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Annotated

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from knotwork._extensions.mcp.server import WRITES, add_tool
from knotwork._extensions.server.mcp_sessions import (
    SessionKnowledgeBase,
    current_session,
    current_workspace,
)
from knotwork._extensions.server.private_files import make_private_folder, open_private
from knotwork._extensions.server.uploads import (
    ReceivedFile,
    check_content,
    parse_upload_name,
    store_file,
)
from knotwork._extensions.server.workspaces import INCOMPLETE_PREFIX
from knotwork._shapes.base import Json, View

if TYPE_CHECKING:
    from knotwork._extensions.server.job_store import Job


MOST_CHARACTERS = 200_000
_SUFFIX = ".md"
_POLL_INTERVAL_S = 0.1


ADDED = View(
    "AddedDocument",
    None,
    "An added document, with the number of its chunks in the index.",
    document=Annotated[str, "URI of the document, as in passages and citations"],
    chunks=int,
)


def add_document_tool(server: MCPServer, knowledge_base: SessionKnowledgeBase) -> None:
    """Add the tool `add_document` to a server."""

    def show(added: Json) -> str:
        return f"Indexed {added['document']} in {added['chunks']} chunks."

    @add_tool(server, "Add a document", ADDED, show, WRITES)
    async def add_document(
        ctx: Context,
        name: Annotated[
            str, Field(min_length=1, max_length=500, description="For example notes/travel.md")
        ],
        text: Annotated[str, Field(min_length=1, max_length=MOST_CHARACTERS)],
    ) -> Json:
        """Add a text as a document, or replace the document of the same name, and index it. A name
        without a suffix gets .md, and its text is read as Markdown.
        """
        session = current_session.get()
        session.server.jobs.check()
        uri = await knowledge_base.call(_store_text, name, text)
        job = session.server.jobs.submit(
            session.workspace, "index", {"tier": None, "budget": "", "retry": False}
        )
        done = await _follow_job(ctx, job)
        if done.state != "finished":
            reason = done.error.get("message") or f"The job is {done.state}."
            raise ToolError(f"`{uri}` was stored but not indexed. {reason}")
        added = await knowledge_base.call(_describe_added, uri)
        await ctx.notify_resources_changed()
        return added


def _store_text(name: str, text: str) -> str:
    """Store a text as an uploaded file of the workspace, and return its URI. Raises LoadError."""
    workspace = current_workspace()
    path = parse_upload_name(name)
    if not path.suffix:
        path = PurePosixPath(f"{path}{_SUFFIX}")
    make_private_folder(workspace.files)
    incomplete = workspace.files / f"{INCOMPLETE_PREFIX}{secrets.token_hex(8)}"
    try:
        with open_private(incomplete) as stream:
            stream.write(text.encode())
        file = ReceivedFile(str(path), incomplete)
        check_content(file, max_file_mb=workspace.base.settings.index.max_file_mb)
        return store_file(file, path, workspace)
    finally:
        incomplete.unlink(missing_ok=True)


def _describe_added(uri: str) -> Json:
    entry = current_workspace().base.store.ledger.get([uri]).get(uri)
    if entry is None or entry.error:
        reason = f": {entry.error}" if entry else ""
        raise ToolError(f"`{uri}` could not be read{reason}.")
    return ADDED(document=uri, chunks=entry.chunks)


async def _follow_job(ctx: Context, job: Job) -> Job:
    """Report the stages of a job until it ends or the server stops, and return the job."""
    session = current_session.get()
    step, reported = 0, ""
    while True:
        current = session.server.jobs.find(session.workspace, job.id)
        stage = str(current.progress.get("stage", ""))
        if stage and stage != reported:
            step, reported = step + 1, stage
            await ctx.report_progress(step, None, stage)
        if current.state.is_final or session.server.closing:
            return current
        await asyncio.sleep(_POLL_INTERVAL_S)
