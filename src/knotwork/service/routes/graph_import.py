"""Routes of imported graphs: upload, list and delete."""

from __future__ import annotations

import secrets
import shutil
from collections import defaultdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, File, Form, UploadFile
from fastapi import Path as InPath
from pydantic import BaseModel

from knotwork.errors import InvalidRequest, LoadError, NotFound
from knotwork.indexing.graph_import.formats import list_files
from knotwork.indexing.graph_import.graph_importer import graph_root
from knotwork.records.documents import GRAPH_URI
from knotwork.service.access import Caller, ReadWorkspace, Server, WriteWorkspace
from knotwork.service.idempotency import IdempotencyKey, IdempotentUpload
from knotwork.service.job_runner import graph_files, hide_folder
from knotwork.service.responses import Envelope, wrap
from knotwork.service.schemas.workspaces import JobShape, RefusedFile
from knotwork.service.server import Service
from knotwork.service.uploads import SpooledFile, check_content, parse_upload_name
from knotwork.service.workspaces import INCOMPLETE_PREFIX, Workspace
from knotwork.stores.base import LedgerEntry
from knotwork.stores.property_graphs import StoresPropertyGraphs

GraphFormatName = Literal["table", "graphml", "turtle", "ntriples", "nquads", "trig"]


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


router = APIRouter(tags=["graph"])
uploads = APIRouter(tags=["graph"])
"""Apart, since what is sent may be larger here."""

GraphName = Annotated[str, InPath(description="The name of an imported graph.", max_length=200)]


@uploads.post("/workspaces/{workspace}/graphs", status_code=202)
async def import_graph(  # noqa: PLR0913, PLR0917  one for each field
    key: Caller,
    server: Server,
    workspace: WriteWorkspace,
    files: Annotated[list[UploadFile], File(description="Triples, tables, GraphML or RDF.")],
    name: Annotated[str, Form(max_length=100, description="Else as the first file.")] = "",
    format: Annotated[  # noqa: A002
        GraphFormatName | None, Form(description="Else told by endings.")
    ] = None,
    columns: Annotated[
        str, Form(max_length=1_000, description="Of tables without a header, with commas.")
    ] = "",
    delimiter: Annotated[str, Form(max_length=4, description="Column separator.")] = "",
    vectors: Annotated[
        bool | None, Form(description="Embed passages; by default those of up to 2,000 things.")
    ] = None,
    idempotency_key: IdempotencyKey = None,
) -> Envelope[GraphUpload]:
    """Send the files of a graph, and have a job bring it in. One of that name is replaced."""
    server.jobs.check()
    spooled = [SpooledFile(file.filename or "", file.file) for file in files]
    options = {
        "name": " ".join(name.replace("/", " ").split()),
        "format": format or "",
        "columns": [part.strip() for part in columns.split(",") if part.strip()],
        "delimiter": delimiter,
        "vectors": vectors,
    }
    told = {"to": "graphs", **options}
    repeats = IdempotentUpload(server, key, workspace, idempotency_key, files=spooled, options=told)
    keep = partial(_store_upload, server, workspace, spooled, options)
    return wrap(await repeats.answer(keep, GraphUpload))


@router.get("/workspaces/{workspace}/graphs")
async def list_graphs(server: Server, workspace: ReadWorkspace) -> Envelope[list[ImportedGraph]]:
    """List the graphs that were imported, by name."""

    def read() -> list[ImportedGraph]:
        store = workspace.base.store
        held = store.property_graphs.names() if isinstance(store, StoresPropertyGraphs) else []
        return [
            ImportedGraph(
                name=name,
                uri=graph_root(name),
                documents=len(entries),
                chunks=sum(entry.chunks for entry in entries),
                property_graph=name in held,
            )
            for name, entries in sorted(_imported_graphs(workspace).items())
        ]

    return wrap(await server.threads.run(read))


@router.delete("/workspaces/{workspace}/graphs/{graph}", status_code=202)
async def delete_graph(
    server: Server, workspace: WriteWorkspace, graph: GraphName
) -> Envelope[JobShape]:
    """Have a job remove an imported graph with all its passages."""

    def submit() -> JobShape:
        entries = _imported_graphs(workspace).get(graph)
        if entries is None:
            raise NotFound(f"There is no graph `{graph}`.", fix="List them: GET …/graphs")
        uris = [entry.uri for entry in entries]
        return JobShape.of(server.jobs.submit(workspace.name, "delete", {"documents": uris}))

    return wrap(await server.threads.run(submit))


def _imported_graphs(workspace: Workspace) -> dict[str, list[LedgerEntry]]:
    found = defaultdict(list)
    for entry in workspace.base.documents():
        if entry.root.startswith(GRAPH_URI):
            found[entry.root.removeprefix(GRAPH_URI)].append(entry)
    return found


def _store_upload(
    server: Service, workspace: Workspace, spooled: list[SpooledFile], options: dict[str, Any]
) -> GraphUpload:
    """Keep those files that can be of a graph in a folder of their own, and have it imported."""
    token = secrets.token_hex(8)
    beside = workspace.graphs / f"{INCOMPLETE_PREFIX}{token}"
    beside.mkdir(parents=True)
    try:
        kept, refused = _store_files(workspace, spooled, beside)
        _require_any(kept, refused)
        with hide_folder(beside):
            list_files(graph_files(beside, kept), format=options["format"])
        beside.rename(workspace.graphs / token)
    except BaseException:
        shutil.rmtree(beside)
        raise
    name = options["name"] or Path(kept[0]).stem
    arguments = {**options, "name": name, "folder": token, "files": kept}
    job = server.jobs.submit(workspace.name, "import_graph", arguments)
    return GraphUpload(name=name, files=kept, refused=refused, job=JobShape.of(job))


def _store_files(
    workspace: Workspace, spooled: list[SpooledFile], folder: Path
) -> tuple[list[str], list[RefusedFile]]:
    kept: list[str] = []
    refused: list[RefusedFile] = []
    max_file_mb = workspace.base.settings.index.max_file_mb
    for file in spooled:
        try:
            # Their folders mean nothing here, and two files of one name cannot both be meant.
            name = parse_upload_name(file.name).name
            _refuse_duplicate(name, kept)
            check_content(file, max_file_mb=max_file_mb)
        except LoadError as error:
            shown = file.name.encode("utf-8", "replace").decode()[:500]
            refused.append(
                RefusedFile(name=shown, reason=error.reason, message=error.message, fix=error.fix)
            )
            continue
        file.stream.seek(0)
        with (folder / name).open("wb") as target:
            shutil.copyfileobj(file.stream, target)
        kept.append(name)
    return kept, refused


def _require_any(kept: list[str], refused: list[RefusedFile]) -> None:
    if not kept:
        told = " ".join(file.message for file in refused[:5]) or "There is no file in it."
        raise InvalidRequest(
            f"Nothing of the upload can be kept. {told}", fix=refused[0].fix if refused else ""
        )


def _refuse_duplicate(name: str, kept: list[str]) -> None:
    if name in kept:
        raise LoadError("name", f"`{name}` came twice.", fix="Rename one.")
