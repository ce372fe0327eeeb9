"""Routes for the folders of the server that a workspace follows."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Path
from pydantic import Field

from knotwork._extensions.server.access import Caller, ReadWhole, Routes, Server, WriteWorkspace
from knotwork._extensions.server.folders import ServerFolder
from knotwork._extensions.server.job_store import Job
from knotwork._extensions.server.keys import KeyRole
from knotwork._extensions.server.schemas import RequestModel
from knotwork._shapes.base import Json, Shape

FOLDER = Shape(
    "ServerFolderShape",
    ServerFolder,
    "A folder of the server. ``followed``: its changes are indexed. ``fixed``: by `serve --watch`. "
    "``problem``: why it is not read now.",
    problem=Literal["", "missing", "unreadable", "not_allowed"],
)
LONGEST_NAME = 255


class ChosenFolder(RequestModel):
    """A folder to follow."""

    name: str = Field(max_length=LONGEST_NAME, description="As listed by GET …/folders.")


router = Routes("folders")


@router.get("/workspaces/{workspace}/folders")
def list_folders(key: Caller, workspace: ReadWhole) -> list[Annotated[Json, FOLDER]]:
    """List the folders that are followed; with the role `write`, those that may be, too."""
    may_write = key.role.covers(KeyRole.WRITE)
    return [FOLDER(found) for found in workspace.folders.listed() if found.followed or may_write]


@router.post("/workspaces/{workspace}/folders", status_code=202)
def follow_folder(server: Server, workspace: WriteWorkspace, asked: ChosenFolder) -> Job:
    """Follow a folder that `serve --allow` names: start a job that indexes it, and one whenever
    its files change.
    """
    server.jobs.check()
    path = workspace.folders.add(asked.name)
    job = server.jobs.submit(workspace.name, "watch", {"path": path, "filled_as": None})
    server.watch_folders(workspace.name)
    return job


@router.delete("/workspaces/{workspace}/folders/{name}", status_code=202)
def unfollow_folder(
    server: Server,
    workspace: WriteWorkspace,
    name: Annotated[str, Path(max_length=LONGEST_NAME)],
) -> Job:
    """Follow a folder no more: start a job that removes its documents from the workspace.

    Its files stay.
    """
    server.jobs.check()
    path = workspace.folders.remove(name)
    server.watch_folders(workspace.name)
    return server.jobs.submit(workspace.name, "unfollow", {"path": path})
