"""Routes for imported graphs: upload, list and delete."""

from __future__ import annotations

import secrets
import shutil
from collections import defaultdict
from pathlib import Path
from typing import Annotated, Literal

from fastapi import File, Form, UploadFile
from fastapi import Path as InPath
from pydantic import BaseModel

from knotwork._durable_files import move_folder
from knotwork._extensions.server.access import ReadWorkspace, Routes, Server, WriteWorkspace
from knotwork._extensions.server.job_runner import hide_folder
from knotwork._extensions.server.private_files import make_private_folder
from knotwork._extensions.server.schemas import JobShape, RefusedFile
from knotwork._extensions.server.uploads import (
    ReceivedFile,
    UploadRoute,
    check_content,
    parse_upload_name,
    store_files,
)
from knotwork._extensions.server.workspaces import INCOMPLETE_PREFIX, Workspace
from knotwork._indexing.graph_import.formats import list_files
from knotwork._indexing.graph_import.graph_importer import graph_root
from knotwork._stores.base import LedgerEntry
from knotwork.errors import LoadError, NotFound
from knotwork.records._documents import GRAPH_URI

GraphFormatName = Literal["table", "graphml", "turtle", "ntriples", "nquads", "trig"]


class ImportedGraph(BaseModel):
    """An imported graph; ``name`` is its name in queries."""

    name: str
    uri: str
    documents: int
    chunks: int
    property_graph: bool


class GraphUpload(BaseModel):
    """The stored and refused files of a graph, and the job that imports them."""

    name: str
    files: list[str]
    refused: list[RefusedFile]
    job: JobShape


router = Routes("graph")
uploads = Routes("graph", route_class=UploadRoute)
"""Routes with a larger limit for the request body."""

GraphName = Annotated[str, InPath(description="The name of an imported graph.", max_length=200)]


@uploads.post("/workspaces/{workspace}/graphs", status_code=202)
def import_graph(
    server: Server,
    workspace: WriteWorkspace,
    files: Annotated[list[UploadFile], File(description="Triples, tables, GraphML or RDF.")],
    name: Annotated[str, Form(max_length=100, description="Default: that of the first file.")] = "",
    format: Annotated[  # noqa: A002
        GraphFormatName | None, Form(description="Default: by the suffix of the files.")
    ] = None,
    columns: Annotated[
        str, Form(max_length=1_000, description="Columns of tables without a header, by commas.")
    ] = "",
    delimiter: Annotated[str, Form(max_length=4, description="Column separator.")] = "",
    vectors: Annotated[
        bool | None,
        Form(description="Whether to embed passages; default: for graphs up to 2,000 entities."),
    ] = None,
) -> GraphUpload:
    """Upload the files of a graph, and start a job that imports it.

    It replaces a graph of the same name.
    """
    token = secrets.token_hex(8)
    folder = workspace.graphs / f"{INCOMPLETE_PREFIX}{token}"
    make_private_folder(folder)
    max_file_mb = workspace.base.settings.index.max_file_mb

    def store(file: ReceivedFile) -> str:
        stored_name = parse_upload_name(file.name).name  # folders are irrelevant here
        if (folder / stored_name).exists():
            raise LoadError(
                "name", f"`{stored_name}` occurs twice.", fix="Rename one of the files."
            )
        check_content(file, max_file_mb=max_file_mb)
        file.path.rename(folder / stored_name)
        return stored_name

    try:
        stored, refused = store_files(files, store)
        with hide_folder(folder):
            list_files([folder / stored_name for stored_name in stored], format=format or "")
        move_folder(folder, workspace.graphs / token)
    except BaseException:
        shutil.rmtree(folder)
        raise
    name = " ".join(name.replace("/", " ").split()) or Path(stored[0]).stem
    arguments = {
        "name": name,
        "format": format or "",
        "columns": [part.strip() for part in columns.split(",") if part.strip()],
        "delimiter": delimiter,
        "vectors": vectors,
        "folder": token,
        "files": stored,
    }
    job = server.jobs.submit(workspace.name, "import_graph", arguments)
    return GraphUpload(name=name, files=stored, refused=refused, job=JobShape.of(job))


@router.get("/workspaces/{workspace}/graphs")
def list_graphs(workspace: ReadWorkspace) -> list[ImportedGraph]:
    """List the imported graphs by name."""
    store = workspace.base.store
    property_graphs = store.capabilities.property_graphs
    graphs = property_graphs.names() if property_graphs is not None else []
    return [
        ImportedGraph(
            name=name,
            uri=graph_root(name),
            documents=len(entries),
            chunks=sum(entry.chunks for entry in entries),
            property_graph=name in graphs,
        )
        for name, entries in sorted(_imported_graphs(workspace).items())
    ]


@router.delete("/workspaces/{workspace}/graphs/{graph}", status_code=202)
def delete_graph(server: Server, workspace: WriteWorkspace, graph: GraphName) -> JobShape:
    """Start a job that removes an imported graph with all its passages."""
    entries = _imported_graphs(workspace).get(graph)
    if entries is None:
        raise NotFound(f"Unknown graph `{graph}`.", fix="List graphs: GET …/graphs")
    uris = [entry.uri for entry in entries]
    return JobShape.of(server.jobs.submit(workspace.name, "delete", {"documents": uris}))


def _imported_graphs(workspace: Workspace) -> dict[str, list[LedgerEntry]]:
    found = defaultdict(list)
    for entry in workspace.base.documents():
        if entry.root.startswith(GRAPH_URI):
            found[entry.root.removeprefix(GRAPH_URI)].append(entry)
    return found
