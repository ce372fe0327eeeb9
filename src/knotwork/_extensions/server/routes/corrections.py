"""Routes for corrections of the graph: make, list and undo them."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Path
from pydantic import Field

from knotwork._extensions.graphs.shapes import CORRECTION, CORRECTION_LIST
from knotwork._extensions.server.access import Caller, ReadWhole, Routes, WriteWorkspace
from knotwork._extensions.server.schemas import MOST_NAMED, RequestModel, Text
from knotwork._shapes.base import Json
from knotwork.errors import NotFound, UnknownName

Kind = Literal[
    "rename",
    "merge",
    "split",
    "divide",
    "retype",
    "hide",
    "show",
    "pin",
    "add_relation",
    "remove_relation",
]
ShortText = Annotated[str, Field(max_length=500)]


class CorrectionRequest(RequestModel):
    """Correct the graph by hand.

    Entities are given by name or id. A rename needs ``name``, a retype ``type``, a merge and a
    split ``other``, relations ``relation`` and ``other``. A divide gives the ``name`` of what
    ``documents``, by their URIs, mean by the entity.
    """

    kind: Kind
    entity: Annotated[Text, Field(max_length=500)]
    other: ShortText = ""
    relation: ShortText = ""
    name: ShortText = ""
    type: ShortText = ""
    documents: list[str] = Field([], max_length=MOST_NAMED)


router = Routes("graph")


@router.post("/workspaces/{workspace}/corrections", status_code=201)
def correct_graph(
    key: Caller, workspace: WriteWorkspace, asked: CorrectionRequest
) -> Annotated[Json, CORRECTION]:
    """Correct the graph by hand; its author is the name of the key.

    The correction stays in effect whatever is indexed or deleted. One that is in effect is returned
    as it is. "show" undoes the correction that hides an entity.
    """
    return CORRECTION(workspace.base.graph.correct(**asked.model_dump(), author=key.name))


@router.get("/workspaces/{workspace}/corrections")
def list_corrections(workspace: ReadWhole) -> Annotated[Json, CORRECTION_LIST]:
    """List the corrections of the graph, the newest first."""
    return CORRECTION_LIST(
        corrections=[CORRECTION(found) for found in workspace.base.graph.corrections()[::-1]]
    )


@router.delete("/workspaces/{workspace}/corrections/{correction}")
def undo_correction(
    workspace: WriteWorkspace, correction: Annotated[str, Path(max_length=40)]
) -> Annotated[Json, CORRECTION]:
    """Undo a correction: the graph is as without it."""
    try:
        return CORRECTION(workspace.base.graph.undo(correction))
    except UnknownName as error:
        raise NotFound(str(error), fix="List corrections: GET …/corrections") from error
