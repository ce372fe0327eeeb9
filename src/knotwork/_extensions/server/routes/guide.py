"""Routes for the guide of a workspace, and for questions near an answer."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from pydantic import Field

from knotwork._extensions.guide.guide import Guide
from knotwork._extensions.guide.offers import OfferedQuestion
from knotwork._extensions.guide.shapes import GUIDE, OFFERED_QUESTION
from knotwork._extensions.server.access import ReadWorkspace, Routes
from knotwork._extensions.server.schemas import RequestModel, Text
from knotwork.records import Span

MOST_DOCUMENTS = 200
MOST_RELATED = 6
MOST_CITED = 20

router = Routes("guide")
SHAPES = GUIDE, OFFERED_QUESTION


class CitedPlace(RequestModel):
    """What an answer cites: a passage, and the cited characters of its document."""

    chunk_id: str = Field(max_length=40)
    span: tuple[Annotated[int, Field(ge=0)], Annotated[int, Field(ge=0)]]


class RelatedRequest(RequestModel):
    """Ask for questions near an answer."""

    question: Text
    citations: list[CitedPlace] = Field(
        max_length=MOST_CITED, description="`chunk_id` and `span` of the answer's citations."
    )
    most: int = Field(3, ge=1, le=MOST_RELATED)


@router.get("/workspaces/{workspace}/guide")
def show_guide(
    workspace: ReadWorkspace,
    limit: Annotated[int, Query(ge=0, le=MOST_DOCUMENTS, description="Documents to list.")] = 50,
    offset: Annotated[int, Query(ge=0)] = 0,
) -> Guide:
    """Describe the documents, and offer questions that were tried and have an answer.

    No model is called. The guide is kept until the index changes.
    """
    return workspace.base.guide(limit=limit, offset=offset)


@router.post("/workspaces/{workspace}/related")
def list_related(workspace: ReadWorkspace, asked: RelatedRequest) -> list[OfferedQuestion]:
    """Return questions that passages near an answer answer; each was tried, which takes seconds.

    No model is called.
    """
    cited = [(place.chunk_id, Span(*place.span)) for place in asked.citations]
    return list(workspace.base.related(asked.question, cited, most=asked.most))
