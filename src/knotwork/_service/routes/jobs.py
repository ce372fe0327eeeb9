"""Routes for jobs: start, list, follow, cancel and retry."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Query
from fastapi.responses import StreamingResponse

from knotwork._service.access import ReadWorkspace, Server, WorkspaceRoute, WriteWorkspace
from knotwork._service.job_store import Job
from knotwork._service.public_text import hide_paths_within
from knotwork._service.responses import (
    EVENT_RESPONSES,
    Envelope,
    EventStream,
    format_event,
    keep_alive,
    wrap,
)
from knotwork._service.schemas.workspaces import CommunitiesRequest, IndexRequest, JobShape
from knotwork._service.server import Service
from knotwork._shapes.indexing import describe_estimate
from knotwork.errors import InvalidRequest

router = APIRouter(tags=["jobs"], route_class=WorkspaceRoute)

JobId = Annotated[str, Path(description="The id of a job.", max_length=40)]
_POLL_INTERVAL_S = 0.1
_END = "end"


@router.get("/workspaces/{workspace}/jobs")
async def list_jobs(
    server: Server,
    workspace: ReadWorkspace,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
) -> Envelope[list[JobShape]]:
    """List the jobs of a workspace, newest first."""
    jobs = await server.threads.run(server.records.jobs, workspace.name, limit=limit)
    return wrap([JobShape.of(job) for job in jobs])


@router.post("/workspaces/{workspace}/index", status_code=202)
async def start_indexing(
    server: Server, workspace: WriteWorkspace, asked: IndexRequest
) -> Envelope[JobShape]:
    """Start a job that updates the index from the uploaded files."""
    job = await server.threads.run(server.jobs.submit, workspace.name, "index", asked.model_dump())
    return wrap(JobShape.of(job))


@router.post("/workspaces/{workspace}/estimate")
async def estimate_indexing(
    server: Server, workspace: WriteWorkspace, asked: IndexRequest
) -> Envelope[dict[str, Any]]:
    """Estimate how much a language model would read of the uploads, and at what cost.

    A few chunks are sent to the model as a sample; their replies are cached for the job.
    """

    def estimate() -> dict[str, Any]:
        if not workspace.uploads.is_dir():
            raise InvalidRequest(
                "The workspace has no uploads.", fix="Upload files: POST …/documents"
            )
        options = asked.model_dump()
        return describe_estimate(workspace.base.estimate([str(workspace.uploads)], **options))

    return wrap(await server.threads.run(estimate))


@router.post("/workspaces/{workspace}/communities/refresh", status_code=202)
async def refresh_communities(
    server: Server, workspace: WriteWorkspace, asked: CommunitiesRequest
) -> Envelope[JobShape]:
    """Start a job that updates communities and their reports, without a language model."""
    job = await server.threads.run(
        server.jobs.submit, workspace.name, "communities", asked.model_dump()
    )
    return wrap(JobShape.of(job))


@router.get("/workspaces/{workspace}/jobs/{job}")
async def show_job(server: Server, workspace: ReadWorkspace, job: JobId) -> Envelope[JobShape]:
    """Return a job with its progress."""
    found = await server.threads.run(server.jobs.find, workspace.name, job)
    return wrap(JobShape.of(found))


@router.post("/workspaces/{workspace}/jobs/{job}/cancel")
async def cancel_job(server: Server, workspace: WriteWorkspace, job: JobId) -> Envelope[JobShape]:
    """Stop a job, within about two seconds. Its results so far are kept.

    Until it has ended, its state is "stopping".
    """
    found = await server.threads.run(server.jobs.cancel, workspace.name, job)
    return wrap(JobShape.of(found))


@router.post("/workspaces/{workspace}/jobs/{job}/retry", status_code=202)
async def retry_job(server: Server, workspace: WriteWorkspace, job: JobId) -> Envelope[JobShape]:
    """Run a failed or cancelled job again; files that could not be read are retried."""

    def submit() -> Job:
        found = server.jobs.find(workspace.name, job)
        again = {"retry": True} if "retry" in found.arguments else {}
        return server.jobs.submit(workspace.name, found.kind, {**found.arguments, **again})

    return wrap(JobShape.of(await server.threads.run(submit)))


@router.get(
    "/workspaces/{workspace}/jobs/{job}/events",
    response_class=StreamingResponse,
    responses=EVENT_RESPONSES,
)
async def follow_job(
    server: Server,
    workspace: ReadWorkspace,
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
