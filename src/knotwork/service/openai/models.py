"""Models: what a client may name, and which workspace and retriever that is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from fastapi import APIRouter

from knotwork.errors import NotFound
from knotwork.retrieval.registry import retriever_names
from knotwork.service.access import Caller, Server, lease
from knotwork.service.keys import AccessKey
from knotwork.service.openai.shapes import ModelList, ModelShape
from knotwork.service.serving import Service
from knotwork.service.workspaces import Workspace

router = APIRouter(tags=["openai"])

PARTING = ":"


@router.get("/models")
async def list_models(key: Caller, server: Server) -> ModelList:
    """List the workspaces that the key may see, each by itself and with each retriever."""
    names = await server.threads.run(server.workspaces.names)
    retrievers = retriever_names(model=False)
    return ModelList(
        data=[
            ModelShape(id=name if not retriever else f"{name}{PARTING}{retriever}")
            for name in names
            if key.may_see(name)
            for retriever in ("", *retrievers)
        ]
    )


@router.get("/models/{model:path}")
async def show_model(key: Caller, server: Server, model: str) -> ModelShape:
    """Tell whether there is such a model."""
    _, retriever = split_model(model)
    with lease_model(server, key, model):
        if retriever and retriever not in retriever_names():
            raise no_model(model)
        return ModelShape(id=model)


def split_model(model: str) -> tuple[str, str | None]:
    """Return the workspace and the retriever that a model's name means."""
    workspace, _, retriever = model.partition(PARTING)
    return workspace, retriever.strip() or None


@contextmanager
def lease_model(server: Service, key: AccessKey, model: str) -> Iterator[Workspace]:
    """Keep the workspace of a model; raises NotFound for one that is not there for this key."""
    name, _ = split_model(model)
    if not key.may_see(name):
        raise no_model(model)
    try:
        leased = lease(server, name)
        workspace = leased.__enter__()
    except NotFound:
        raise no_model(model) from None
    try:
        yield workspace
    finally:
        leased.__exit__(None, None, None)


def no_model(model: str) -> NotFound:
    """Return the error of a model that is not there, or not for this key: the same for both."""
    return NotFound(
        f"There is no model `{model}`, or it is not for this key.",
        fix="List those there are: GET /v1/models",
    )
