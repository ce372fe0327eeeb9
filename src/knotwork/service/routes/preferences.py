"""Routes of preferences: which of several answers a person found the best."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from knotwork.service.access import ReadWorkspace, Server, WriteWorkspace
from knotwork.service.envelopes import Envelope, wrap
from knotwork.service.evaluations.preferences import (
    keep_preference,
    pair_preferences,
    read_preferences,
)
from knotwork.service.evaluations.records import now
from knotwork.service.shapes.preferences import NewPreference, PreferenceList, PreferenceShape

router = APIRouter(tags=["evaluations"])


@router.post("/workspaces/{workspace}/preferences", status_code=201)
async def add_preference(
    server: Server, workspace: WriteWorkspace, asked: NewPreference
) -> Envelope[PreferenceShape]:
    """Keep which retriever's answer to a question was the best, of several side by side."""
    server.jobs.check()
    preference = PreferenceShape(created=now(), **asked.model_dump())
    await server.threads.run(keep_preference, workspace, preference)
    return wrap(preference)


@router.get("/workspaces/{workspace}/preferences")
async def list_preferences(
    server: Server,
    workspace: ReadWorkspace,
    limit: Annotated[int, Query(ge=0, le=1_000, description="Newest ones told.")] = 50,
) -> Envelope[PreferenceList]:
    """Tell how often each retriever was preferred to each other, and the newest preferences."""

    def read() -> PreferenceList:
        known = read_preferences(workspace)
        return PreferenceList(
            pairs=pair_preferences(known),
            latest=known[::-1][:limit],
            total=len(known),
        )

    return wrap(await server.threads.run(read))
