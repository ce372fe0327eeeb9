"""Graphs that were imported, as JSON."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel

from knotwork.service.shapes.library import JobShape, RefusedFile

GraphFormat = Literal["table", "graphml", "turtle", "ntriples", "nquads", "trig"]


class ImportedGraph(BaseModel):
    """A graph, and what it is in the index; ``name`` is what statements call it."""

    name: str
    uri: str
    documents: int
    chunks: int
    property_graph: bool


class GraphUpload(BaseModel):
    """What became of the files of a graph; the job imports them."""

    name: str
    files: list[str]
    refused: list[RefusedFile]
    job: JobShape
