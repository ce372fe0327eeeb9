"""Routes for documents: upload, list, show, reindex and delete."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from fastapi import File, Form, Path, Query, UploadFile

from knotwork._extensions.server.access import ReadWorkspace, Routes, Server, WriteWorkspace
from knotwork._extensions.server.job_runner import is_upload, known_entries, uploaded_files
from knotwork._extensions.server.schemas import (
    BlockShape,
    ChunkShape,
    DeleteRequest,
    DocumentContents,
    DocumentDetails,
    DocumentList,
    DocumentShape,
    JobShape,
    LinkHere,
    LinkShape,
    ReindexRequest,
    RelationHere,
    SectionShape,
    ThingHere,
    TierName,
    Upload,
    UploadedFile,
)
from knotwork._extensions.server.uploads import (
    ReceivedFile,
    UploadRoute,
    check_document,
    parse_upload_name,
    store_file,
    store_files,
)
from knotwork._extensions.server.workspaces import Workspace
from knotwork._shapes.base import fields_of
from knotwork._stores.base import LedgerEntry, Store
from knotwork._stores.fields import FieldInfo
from knotwork._stores.links import links_to, resolve_links
from knotwork.errors import NotFound
from knotwork.records import Document, Edge, EdgeType, Entity, Mention, content_id

MOST_NEIGHBOURS = 200
"""Most neighbours of an entity among which relations of a document are searched."""

_SHOWN_CHUNKS = 16
"""A store returns at most this many chunks of an edge. An edge with fewer has no others."""


def read_document_graph(store: Store, document: Document) -> DocumentContents:
    """Return what a document contributes to the graph, and the documents that link to it.

    Entities are sorted by the number of their mentions, relations by their strength.
    """
    chunk_ids = set(store.documents.chunk_ids_of([document.id]).get(document.id, []))
    by_entity: dict[str, list[Mention]] = {}
    for mentions in store.graph.mentions(chunk_ids).values():
        for mention in mentions:
            by_entity.setdefault(mention.entity_id, []).append(mention)
    entities = store.graph.entities(by_entity)
    mentioned = [
        ThingHere(
            **fields_of(entity, "id", "name", "type"),
            spans=tuple(sorted({span for m in by_entity[entity.id] for span in m.spans})),
            only_here=entity.chunk_count <= len(by_entity[entity.id]),
        )
        for entity in entities.values()
        if not entity.is_keyword
    ]
    first = {content_id("document", x.source): x for x in reversed(links_to(store, document))}
    linking = sorted(store.documents.documents(first).values(), key=lambda other: other.uri)
    return DocumentContents(
        things=sorted(mentioned, key=lambda thing: (-len(thing.spans), thing.name, thing.id)),
        relations=_read_relations(store, entities, chunk_ids),
        linked_from=[LinkHere.of(first[x.id], id=x.id, title=x.title or x.uri) for x in linking],
    )


def _read_relations(
    store: Store, entities: dict[str, Entity], chunk_ids: set[str]
) -> list[RelationHere]:
    """Return the relations that any of the chunks states, strongest first."""
    outgoing = store.graph.neighbours(
        entities, direction="out", types=[EdgeType.RELATES], fan=MOST_NEIGHBOURS
    )
    found: list[tuple[Edge, list[str]]] = []
    for edge in (edge for edges in outgoing.values() for edge in edges):
        here = [chunk for chunk in edge.chunks if chunk in chunk_ids]
        if here:
            found.append((edge, here))
    found.sort(key=lambda item: (-item[0].weight, item[0].source, item[0].relation, item[0].target))
    ends = store.graph.entities({end for edge, _ in found for end in (edge.source, edge.target)})
    names = {entity.id: entity.name for entity in ends.values()}
    return [
        RelationHere(
            **fields_of(edge, "source", "relation", "target", "weight"),
            source_name=names.get(edge.source, ""),
            target_name=names.get(edge.target, ""),
            chunks=here,
            only_here=len(here) == len(edge.chunks) < _SHOWN_CHUNKS,
        )
        for edge, here in found
    ]


router = Routes("documents")
uploads = Routes("documents", route_class=UploadRoute)
"""Routes with a larger limit for the request body."""

_MOST_LINKS = 500
"""Links of a document that are shown: what each leads to is read."""
DocumentId = Annotated[str, Path(description="The id of a document.", max_length=40)]


@uploads.post("/workspaces/{workspace}/documents", status_code=202)
def upload_documents(
    server: Server,
    workspace: WriteWorkspace,
    files: Annotated[list[UploadFile], File(description="Files; names may include folders.")],
    tier: Annotated[TierName | None, Form()] = None,
    budget: Annotated[str, Form(max_length=40)] = "",
    index: Annotated[
        bool, Form(description="False stores the files for `estimate` and a later `index`.")
    ] = True,
) -> Upload:
    """Upload files, and start a job that indexes them. A file replaces one of the same name."""
    settings = workspace.base.settings.index

    def store(file: ReceivedFile) -> UploadedFile:
        path = parse_upload_name(file.name)
        check_document(file, settings)
        size = file.size
        uri = store_file(file, path, workspace)
        document_id = Document(uri, "").id
        return UploadedFile(name=file.name, uri=uri, document_id=document_id, size=size)

    stored, refused = store_files(files, store)
    job = None
    if index:
        options = {"tier": tier, "budget": budget, "retry": False}
        job = JobShape.of(server.jobs.submit(workspace.name, "index", options))
    return Upload(files=stored, refused=refused, job=job)


@router.get("/workspaces/{workspace}/fields")
def list_fields(workspace: ReadWorkspace) -> list[FieldInfo]:
    """List the document fields that filters can use, with their most frequent values."""
    return workspace.base.fields()


@router.get("/workspaces/{workspace}/documents")
def list_documents(
    workspace: ReadWorkspace,
    start: Annotated[int, Query(ge=0, le=10**9)] = 0,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    failed: Annotated[bool | None, Query(description="Only failed ones, or only others.")] = None,
    prefix: Annotated[str, Query(max_length=1_000, description="Prefix of URIs.")] = "",
    name: Annotated[str, Query(max_length=1_000, description="Part of URIs, ignoring case.")] = "",
) -> DocumentList:
    """List documents by URI, including files that could not be read, with the reason."""
    wanted = name.casefold()
    entries = [
        entry
        for entry in workspace.base.documents()
        if entry.uri.startswith(prefix)
        and wanted in entry.uri.casefold()
        and (failed is None or failed == bool(entry.error))
    ]
    page = entries[start : start + limit]
    end = start + len(page)
    return DocumentList(
        documents=_describe(workspace, page),
        total=len(entries),
        next=end if end < len(entries) else None,
    )


@router.get("/workspaces/{workspace}/documents/{document}")
def show_document(workspace: ReadWorkspace, document: DocumentId) -> DocumentDetails:
    """Return a document with its text, the tree of its blocks, its sections, chunks and links."""
    store = workspace.base.store.documents
    found = store.documents([document])
    if document not in found:
        raise _unknown_document(document)
    linking = replace(found[document], links=found[document].links[:_MOST_LINKS])
    resolved = resolve_links(workspace.base.store, [linking])
    chunks = store.chunks(store.chunk_ids_of([document]).get(document, []))
    sections = store.sections_of([document]).get(document, [])
    ordered = sorted(chunks.values(), key=lambda c: (c.is_parent, c.ordinal, c.id))
    return DocumentDetails.of(
        found[document],
        id=document,
        blocks=tuple(map(BlockShape.of, found[document].tree)),
        sections=[SectionShape.of(s, parent=s.parent_id) for s in sections],
        chunks=[ChunkShape.of(c, section=c.section_id, parent=c.parent_id) for c in ordered],
        links=[
            LinkShape.of(x, document=content_id("document", uri), title=x.title or uri)
            for x in resolved
            if (uri := x.document)
        ],
    )


@router.get("/workspaces/{workspace}/documents/{document}/contents")
def list_contents(workspace: ReadWorkspace, document: DocumentId) -> DocumentContents:
    """Return what a document contributes to the graph, and which documents link to it."""
    store = workspace.base.store
    found = store.documents.documents([document])
    if document not in found:
        raise _unknown_document(document)
    return read_document_graph(store, found[document])


@router.delete("/workspaces/{workspace}/documents/{document}", status_code=202)
def delete_document(server: Server, workspace: WriteWorkspace, document: DocumentId) -> JobShape:
    """Start a job that removes a document, and its file if it was uploaded."""
    for entry in workspace.base.documents():
        if Document(entry.uri, "").id == document:
            uploaded_files(workspace, [entry])
            arguments = {"documents": [entry.uri]}
            return JobShape.of(server.jobs.submit(workspace.name, "delete", arguments))
    raise _unknown_document(document)


@router.post("/workspaces/{workspace}/documents/delete", status_code=202)
def delete_documents(server: Server, workspace: WriteWorkspace, asked: DeleteRequest) -> JobShape:
    """Start a job that removes several documents."""
    entries = known_entries(workspace, asked.documents)
    uploaded_files(workspace, entries)
    uris = [entry.uri for entry in entries]
    return JobShape.of(server.jobs.submit(workspace.name, "delete", {"documents": uris}))


@router.post("/workspaces/{workspace}/documents/reindex", status_code=202)
def reindex_documents(server: Server, workspace: WriteWorkspace, asked: ReindexRequest) -> JobShape:
    """Start a job that updates documents, or all folders and files of the index."""
    known_entries(workspace, asked.documents)
    return JobShape.of(server.jobs.submit(workspace.name, "reindex", asked.model_dump()))


def _describe(workspace: Workspace, entries: list[LedgerEntry]) -> list[DocumentShape]:
    ids = {entry.document_id for entry in entries if entry.document_id}
    found = workspace.base.store.documents.documents(ids)
    titles = {identifier: document.title for identifier, document in found.items()}
    return [
        DocumentShape.of(
            entry,
            id=Document(entry.uri, "").id,
            title=titles.get(entry.document_id, ""),
            size=max(entry.size, 0),
            uploaded=is_upload(workspace, entry),
        )
        for entry in entries
    ]


def _unknown_document(identifier: str) -> NotFound:
    return NotFound(f"Unknown document `{identifier}`.", fix="List documents: GET …/documents")
