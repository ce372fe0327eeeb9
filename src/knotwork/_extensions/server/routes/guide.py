"""Routes for the guide of a workspace, and for questions near an answer."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Annotated

from fastapi import Query
from pydantic import Field, TypeAdapter

import knotwork
from knotwork._extensions.guide.guide import Guide, turn_page
from knotwork._extensions.guide.offers import OfferedQuestion
from knotwork._extensions.guide.shapes import GUIDE, OFFERED_QUESTION
from knotwork._extensions.server.access import ReadWorkspace, Routes, Server
from knotwork._extensions.server.private_files import PrivateJson
from knotwork._extensions.server.schemas import RequestModel, Text
from knotwork._stores.base import Store
from knotwork._stores.corrections import listed_entries
from knotwork.records import Span, content_id

MOST_DOCUMENTS = 200
MOST_RELATED = 6
MOST_CITED = 20
GUIDE_FILE = "guide.json"
_MOST_PAGES = 20
"""Pages of documents that are kept with the guide."""
router = Routes("guide")
SHAPES = GUIDE, OFFERED_QUESTION


class CitedPlace(RequestModel):
    """What an answer cites: a passage, and the cited characters of its document."""

    chunk_id: str = Field(max_length=40)
    span: tuple[Annotated[int, Field(ge=0)], Annotated[int, Field(ge=0)]] = Field(strict=False)


class RelatedRequest(RequestModel):
    """Ask for questions near an answer."""

    question: Text
    citations: list[CitedPlace] = Field(
        max_length=MOST_CITED, description="`chunk_id` and `span` of the answer's citations."
    )
    most: int = Field(3, ge=1, le=MOST_RELATED)


@router.get("/workspaces/{workspace}/guide")
def show_guide(
    server: Server,
    workspace: ReadWorkspace,
    limit: Annotated[int, Query(ge=0, le=MOST_DOCUMENTS, description="Documents to list.")] = 50,
    offset: Annotated[int, Query(ge=0)] = 0,
) -> Guide:
    """Describe the documents, and offer questions that were tried and have an answer.

    No model is called. The guide is kept until the index changes.
    """
    base, file, page = workspace.base, workspace.files / GUIDE_FILE, f"{limit} {offset}"
    if workspace.is_part:
        return base.guide(limit=limit, offset=offset)
    version = _version(base.store)
    pages = _read_pages(file, version)
    if page in pages:
        return pages[page]
    whole = next(iter(pages.values()), None)
    guide = (
        turn_page(whole, base.store, limit=limit, offset=offset)
        if whole
        else base.guide(limit=limit, offset=offset)
    )
    if not server.config.read_only:
        newest = dict([*pages.items(), (page, guide)][-_MOST_PAGES:])
        kept = {"version": version, "pages": _pages_type().dump_python(newest, mode="json")}
        with suppress(OSError):  # on a full disk, it is found again
            PrivateJson(file).write(kept)
    return guide


@cache
def _pages_type() -> TypeAdapter[dict[str, Guide]]:
    return TypeAdapter(dict[str, Guide])


def _read_pages(file: Path, version: str) -> dict[str, Guide]:
    """Return the guides of a file by page; none if they are of another state of the index."""
    held = PrivateJson(file).read()
    with suppress(ValueError):
        if held.get("version") == version:
            return _pages_type().validate_python(held["pages"])
    return {}


def _version(store: Store) -> str:
    """Return a text that changes with an index, also if another one takes its place."""
    revisions = (entry.revision for entry in listed_entries(store))
    return content_id("guide", knotwork.__version__, store.generation(), *revisions)


@router.post("/workspaces/{workspace}/related")
def list_related(workspace: ReadWorkspace, asked: RelatedRequest) -> list[OfferedQuestion]:
    """Return questions that passages near an answer answer; each was tried, which takes seconds.

    No model is called.
    """
    cited = [(place.chunk_id, Span(*place.span)) for place in asked.citations]
    return list(workspace.base.related(asked.question, cited, most=asked.most))
