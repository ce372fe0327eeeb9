"""Routes for workspaces: list, create, describe, delete, and report model usage."""

from __future__ import annotations

import shutil
from contextlib import closing
from typing import Annotated, Any

from pydantic import Field

from knotwork._companions import open_to_read
from knotwork._extensions.server.access import (
    Caller,
    ReadWhole,
    ReadWorkspace,
    Routes,
    Server,
    WorkspaceName,
    WriteWorkspace,
    require,
)
from knotwork._extensions.server.job_store import Job
from knotwork._extensions.server.keys import AccessKey, KeyRole
from knotwork._extensions.server.private_files import make_private_folder
from knotwork._extensions.server.schemas import RequestModel
from knotwork._extensions.server.server import Service
from knotwork._extensions.server.workspaces import no_workspace
from knotwork._inference.call_cache import CALLS, CallCache, CallTotal
from knotwork._inference.model_registry import NO_CHAT_MODEL, chat_model_spec, price_table
from knotwork._knowledge_base.base import Statistics
from knotwork._shapes.base import Json, Shape, fields_of, typed
from knotwork._stores.base import companions_of
from knotwork.demo import open_sample
from knotwork.errors import NotPermitted

MOST_TITLE = 200


class NewWorkspace(RequestModel):
    """Create a workspace; give at least one of ``name`` and ``title``."""

    name: str = Field("", max_length=64, description="Of its URLs. Default: made from the title.")
    title: str = Field("", max_length=MOST_TITLE, description="Any text. Default: the name.")


class ChangedWorkspace(RequestModel):
    """Change a workspace."""

    title: str = Field(max_length=MOST_TITLE, description="Any text. The name stays as it is.")


WORKSPACE = Shape(
    "WorkspaceShape",
    None,
    "A workspace, and the role of the key in it. ``name`` is for URLs, ``title`` for people.",
    **typed(str, "name title role"),
)
DETAILS = Shape(
    "WorkspaceDetails",
    Statistics,
    "A workspace with its statistics.",
    "name title role documents chunks entities failed embedder model tier labels=graph.labels "
    "edge_types=graph.edge_types relations=graph.relations",
    **typed(str, "name title role"),
    model=Annotated[str, "The language model for indexing; empty for none."],
    tier=Annotated[str, "The default tier: how much the model does."],
)
WorkspaceJson = Annotated[Json, WORKSPACE]

router = Routes("workspaces")


@router.get("/workspaces")
def list_workspaces(key: Caller, server: Server) -> list[WorkspaceJson]:
    """List the workspaces that the key may see."""
    return [_describe(key, server, name) for name in server.workspaces.names() if key.may_see(name)]


@router.post("/workspaces", status_code=201)
def create_workspace(key: Caller, server: Server, asked: NewWorkspace) -> WorkspaceJson:
    """Create an empty workspace. Needs an admin key for this name or for all workspaces."""
    if asked.name and not key.may_see(asked.name):
        raise no_workspace(asked.name)
    require(key, KeyRole.ADMIN)
    if not asked.name and not key.sees_all:
        raise NotPermitted(
            f"The key `{key.name}` is for the workspaces {', '.join(key.workspaces)}.",
            fix="Send one of these as `name`, or use a key for all workspaces.",
        )
    return _describe(key, server, server.workspaces.create(asked.name, title=asked.title).name)


@router.get("/workspaces/{workspace}")
def describe_workspace(
    key: Caller, server: Server, workspace: ReadWorkspace
) -> Annotated[Json, DETAILS]:
    """Return the statistics of a workspace."""
    stats = workspace.base.stats()
    model = chat_model_spec(workspace.base.settings.llm, "extract")
    return DETAILS(
        stats,
        name=workspace.name,
        title=workspace.title,
        role=_role_of(key, server),
        model="" if model == NO_CHAT_MODEL else model,
        tier=workspace.base.settings.llm.tier,
    )


@router.patch("/workspaces/{workspace}")
def change_workspace(
    key: Caller, server: Server, workspace: WriteWorkspace, asked: ChangedWorkspace
) -> WorkspaceJson:
    """Change the title of a workspace."""
    server.jobs.check()
    workspace.rename(asked.title)
    return _describe(key, server, workspace.name)


@router.post("/workspaces/{workspace}/sample", status_code=202)
def add_sample(server: Server, workspace: WriteWorkspace) -> Job:
    """Start a job that indexes the documents of `knotwork demo`, without a language model."""
    server.jobs.check()
    with open_sample() as folder:
        for file in (path for path in folder.glob("[!_]*/*") if path.is_file()):
            target = workspace.uploads / file.relative_to(folder)
            make_private_folder(target.parent)
            shutil.copyfile(file, target)
    options = {"tier": "none", "budget": "", "retry": False}
    return server.jobs.submit(workspace.name, "index", options)


@router.delete("/workspaces/{workspace}")
def delete_workspace(key: Caller, server: Server, workspace: WorkspaceName) -> WorkspaceJson:
    """Delete a workspace with its index, its uploads, its jobs and its facts."""
    if not key.may_see(workspace):
        raise no_workspace(workspace)
    require(key, KeyRole.ADMIN)
    with server.workspaces.lease(workspace):
        removed = _describe(key, server, workspace)
    server.workspaces.remove(workspace)
    server.watch_folders(workspace)
    server.records.forget(workspace)
    server.offers.forget(workspace)
    return removed


@router.get("/workspaces/{workspace}/usage")
def tell_usage(workspace: ReadWhole) -> dict[str, Any]:
    """Return the tokens and costs of language models so far, by stage and by model."""
    prices = price_table(workspace.base.settings.llm)
    calls = CallCache(open_to_read(companions_of(workspace.base.store), CALLS))
    with closing(calls):
        by_stage, by_model = (calls.totals(name, prices=prices) for name in ("stage", "model"))
        return {
            "total": _total(calls.total(prices=prices)),
            "by_stage": {total.group[0]: _total(total) for total in by_stage},
            "by_model": {total.group[0]: _total(total) for total in by_model},
        }


def _describe(key: AccessKey, server: Service, name: str) -> Json:
    title, role = server.workspaces.title(name), _role_of(key, server)
    return WORKSPACE(name=name, title=title, role=role)


def _role_of(key: AccessKey, server: Service) -> KeyRole:
    """Return the effective role of a key: a read-only server allows nothing but reading."""
    return KeyRole.READ if server.config.read_only else key.role


def _total(total: CallTotal) -> dict[str, Any]:
    return {
        **fields_of(total.usage, "calls", "input_tokens", "output_tokens", "cached_tokens"),
        "reused_calls": total.usage.reused,
        "saved_input_tokens": total.saved.input_tokens,
        "saved_output_tokens": total.saved.output_tokens,
        "rejected": total.rejected,
        "money": None if total.money is None else str(total.money),
    }
