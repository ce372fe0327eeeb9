"""Routes for jobs: start, list, follow, cancel and retry."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Annotated, Any

from fastapi import Header, Path, Query
from fastapi.responses import StreamingResponse
from pydantic import Field

from knotwork._extensions.server.access import ReadWhole, Routes, Server, WriteWorkspace
from knotwork._extensions.server.job_store import Job
from knotwork._extensions.server.responses import (
    EVENT_RESPONSES,
    EventStream,
    format_event,
    hide_paths_within,
    keep_alive,
)
from knotwork._extensions.server.schemas import BUDGET_FIELD, RequestModel, TierName
from knotwork._extensions.server.server import Service
from knotwork._shapes.indexing import describe_estimate
from knotwork.errors import InvalidRequest


class IndexRequest(RequestModel):
    """Index new and changed uploads."""

    tier: TierName | None = None
    budget: str = BUDGET_FIELD
    retry: bool = Field(default=False, description="Retry files that could not be read before.")


class CommunitiesRequest(RequestModel):
    """Update communities."""

    rebuild: bool = Field(default=False, description="Rebuild all communities from scratch.")


router = Routes("jobs")

JobId = Annotated[str, Path(description="The id of a job.", max_length=40)]
_POLL_INTERVAL_S = 0.1
_END = "end"


@router.get("/workspaces/{workspace}/jobs")
def list_jobs(
    server: Server,
    workspace: ReadWhole,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
) -> list[Job]:
    """List the jobs of a workspace, newest first."""
    return server.records.jobs(workspace.name, limit=limit)


@router.post("/workspaces/{workspace}/index", status_code=202)
def start_indexing(server: Server, workspace: WriteWorkspace, asked: IndexRequest) -> Job:
    """Start a job that updates the index from the uploaded files."""
    return server.jobs.submit(workspace.name, "index", asked.model_dump())


@router.post("/workspaces/{workspace}/estimate")
def estimate_indexing(workspace: WriteWorkspace, asked: IndexRequest) -> dict[str, Any]:
    """Estimate how much a language model would read of the uploads, and at what cost.

    A few chunks are sent to the model as a sample; their replies are cached for the job.
    """
    if not workspace.uploads.is_dir():
        raise InvalidRequest("The workspace has no uploads.", fix="Upload files: POST …/documents")
    options = asked.model_dump()
    return describe_estimate(workspace.base.estimate([str(workspace.uploads)], **options))


@router.post("/workspaces/{workspace}/communities/refresh", status_code=202)
def refresh_communities(
    server: Server, workspace: WriteWorkspace, asked: CommunitiesRequest
) -> Job:
    """Start a job that updates communities and their reports, without a language model."""
    return server.jobs.submit(workspace.name, "communities", asked.model_dump())


@router.get("/workspaces/{workspace}/jobs/{job}")
def show_job(server: Server, workspace: ReadWhole, job: JobId) -> Job:
    """Return a job with its progress."""
    return server.jobs.find(workspace.name, job)


@router.post("/workspaces/{workspace}/jobs/{job}/cancel")
def cancel_job(server: Server, workspace: WriteWorkspace, job: JobId) -> Job:
    """Stop a job, within about two seconds. Its results so far are kept.

    Until it has ended, its state is "stopping".
    """
    return server.jobs.cancel(workspace.name, job)


@router.post("/workspaces/{workspace}/jobs/{job}/retry", status_code=202)
def retry_job(server: Server, workspace: WriteWorkspace, job: JobId) -> Job:
    """Run a failed or cancelled job again; files that could not be read are retried."""
    found = server.jobs.find(workspace.name, job)
    again = {"retry": True} if "retry" in found.arguments else {}
    arguments = {**found.arguments, **again}
    return server.jobs.submit(workspace.name, found.kind, arguments)


@router.get(
    "/workspaces/{workspace}/jobs/{job}/events",
    response_class=StreamingResponse,
    responses=EVENT_RESPONSES,
)
async def follow_job(
    server: Server,
    workspace: ReadWhole,
    job: JobId,
    last_event_id: Annotated[str | None, Header(max_length=30)] = None,
) -> EventStream:
    """Follow a job as server-sent events: `state`, `progress`, `failure`, and finally `end`.

    A client that reconnects with the id of its last event misses none.
    """
    await server.threads.run(server.jobs.find, workspace.name, job)
    after = int(last_event_id) if last_event_id and last_event_id.isdecimal() else 0
    return EventStream(keep_alive(_events(server, workspace.name, job, after)))


async def _events(server: Service, workspace: str, job: str, after: int) -> AsyncGenerator[bytes]:
    with server.workspaces.lease(workspace):
        while True:
            # Read before the events: a job in a final state adds no more of them.
            found = server.jobs.find(workspace, job)
            for event in server.records.events(job, after=after):
                after = event.number
                yield format_event(hide_paths_within(event.body), event=event.kind, number=after)
            if found.state.is_final and not server.records.events(job, after=after, limit=1):
                yield format_event({"state": found.state}, event=_END)
                return
            if server.closing:
                return
            await asyncio.sleep(_POLL_INTERVAL_S)
