"""Routes of jobs: start, list, follow, cancel and retry."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Query
from fastapi.responses import StreamingResponse

from knotwork.errors import InvalidRequest
from knotwork.service.access import ReadWorkspace, Server, WriteWorkspace
from knotwork.service.job_store import Job
from knotwork.service.responses import (
    EVENT_RESPONSES,
    Envelope,
    EventStream,
    format_event,
    keep_alive,
    wrap,
)
from knotwork.service.schemas.workspaces import CommunitiesRequest, IndexRequest, JobShape
from knotwork.service.server import Service

router = APIRouter(tags=["jobs"])

JobId = Annotated[str, Path(description="The id of a job.", max_length=40)]
_POLL_INTERVAL_S = 0.1
_END = "end"


@router.get("/workspaces/{workspace}/jobs")
async def list_jobs(
    server: Server,
    workspace: ReadWorkspace,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
) -> Envelope[list[JobShape]]:
    """List the jobs of a workspace, the newest first."""
    jobs = await server.threads.run(server.records.jobs, workspace.name, limit=limit)
    return wrap([JobShape.of(job) for job in jobs])


@router.post("/workspaces/{workspace}/index", status_code=202)
async def start_indexing(
    server: Server, workspace: WriteWorkspace, asked: IndexRequest
) -> Envelope[JobShape]:
    """Have a job bring the index up to date with the uploaded files."""
    job = await server.threads.run(server.jobs.submit, workspace.name, "index", asked.model_dump())
    return wrap(JobShape.of(job))


@router.post("/workspaces/{workspace}/estimate")
async def estimate_indexing(
    server: Server, workspace: WriteWorkspace, asked: IndexRequest
) -> Envelope[dict[str, Any]]:
    """Tell what a language model would read of the uploads, and at what cost.

    A few chunks are asked to find out; their replies are kept for the job.
    """

    def estimate() -> dict[str, Any]:
        if not workspace.uploads.is_dir():
            raise InvalidRequest("Nothing was uploaded.", fix="Send files: POST …/documents")
        options = asked.model_dump()
        found = workspace.base.estimate([str(workspace.uploads)], **options)
        described, money = asdict(found), found.run.money
        # As text: a float would not be the sum to the last digit.
        told = None if money is None else {key: str(v) for key, v in asdict(money).items()}
        described["run"] = {**described["run"], "money": told}
        return described

    return wrap(await server.threads.run(estimate))


@router.post("/workspaces/{workspace}/communities/refresh", status_code=202)
async def refresh_communities(
    server: Server, workspace: WriteWorkspace, asked: CommunitiesRequest
) -> Envelope[JobShape]:
    """Have a job bring communities and their reports up to date; no model is asked."""
    job = await server.threads.run(
        server.jobs.submit, workspace.name, "communities", asked.model_dump()
    )
    return wrap(JobShape.of(job))


@router.get("/workspaces/{workspace}/jobs/{job}")
async def show_job(server: Server, workspace: ReadWorkspace, job: JobId) -> Envelope[JobShape]:
    """Tell where a job stands."""
    found = await server.threads.run(server.jobs.find, workspace.name, job)
    return wrap(JobShape.of(found))


@router.post("/workspaces/{workspace}/jobs/{job}/cancel")
async def cancel_job(server: Server, workspace: WriteWorkspace, job: JobId) -> Envelope[JobShape]:
    """Stop a job after the step it is at; what it has done stays."""
    found = await server.threads.run(server.jobs.cancel, workspace.name, job)
    return wrap(JobShape.of(found))


@router.post("/workspaces/{workspace}/jobs/{job}/retry", status_code=202)
async def retry_job(server: Server, workspace: WriteWorkspace, job: JobId) -> Envelope[JobShape]:
    """Start a job anew that failed or was cancelled; what could not be read is read again."""

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
    """Follow a job as server-sent events: state, progress, failure, and `end` when it is over.

    A client that was cut off sends the id of its last event, and misses none.
    """
    await server.threads.run(server.jobs.find, workspace.name, job)
    after = int(last_event_id) if last_event_id and last_event_id.isdecimal() else 0
    return EventStream(keep_alive(_events(server, workspace.name, job, after)))


async def _events(server: Service, workspace: str, job: str, after: int) -> AsyncGenerator[bytes]:
    while True:
        # Looked at before the events: none that it tells of can come later.
        found = server.jobs.find(workspace, job)
        for event in server.records.events(job, after=after):
            after = event.number
            yield format_event(event.body, event=event.kind, number=after)
        if found.state.is_final and not server.records.events(job, after=after, limit=1):
            yield format_event({"state": found.state}, event=_END)
            return
        if server.closing:
            return
        await asyncio.sleep(_POLL_INTERVAL_S)
