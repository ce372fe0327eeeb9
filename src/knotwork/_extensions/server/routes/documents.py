"""Routes for documents: upload, list, show, reindex and delete."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from operator import attrgetter
from pathlib import PurePosixPath
from typing import Annotated, Literal

from fastapi import File, Form, Path, Query, UploadFile
from pydantic import Field

from knotwork._extensions.server.access import ReadWorkspace, Routes, Server, WriteWorkspace
from knotwork._extensions.server.job_runner import known_entries, uploaded_files, waiting_upload
from knotwork._extensions.server.job_store import Job
from knotwork._extensions.server.library import (
    ATTENTION,
    FAILED,
    REFUSED_STATE,
    SORTS,
    LibraryFile,
    list_files,
    sort_files,
    with_pages,
)
from knotwork._extensions.server.originals import find_kind
from knotwork._extensions.server.schemas import (
    BUDGET_FIELD,
    MOST_FILTER_CHARACTERS,
    MOST_NAMED,
    REFUSED,
    PublicText,
    RequestModel,
    TierName,
)
from knotwork._extensions.server.uploads import (
    ReceivedFile,
    UploadRoute,
    check_document,
    parse_upload_name,
    store_file,
    store_files,
)
from knotwork._extensions.server.workspaces import UPLOADS, Workspace
from knotwork._retrieval.filters import read_filter
from knotwork._shapes.base import Json, Shape, View, typed
from knotwork._stores.base import Store, require_fields
from knotwork._stores.fields import FieldInfo
from knotwork._stores.links import links_to, resolve_links
from knotwork.errors import LoadError, NotFound, UnknownName
from knotwork.records import (
    BlockTree,
    Chunk,
    Document,
    DocumentLink,
    Edge,
    EdgeType,
    Entity,
    Mention,
    Section,
    Span,
    TimedSpan,
    content_id,
)

DOCUMENT = Shape(
    "DocumentShape",
    LibraryFile,
    "A file of a workspace. ``state`` is ready, waiting (uploaded, not read yet), failed (earlier "
    "content may be left), or refused (not stored). ``changed`` is the time of the file. "
    "``retry``: reading the file again may help while it stays the same.",
    state=Literal["ready", "waiting", "failed", "refused"],
    tags=(list[str], lambda file: list(file.tags)),
    **typed(PublicText, "error fix"),
)
DOCUMENT_LIST = Shape(
    "DocumentList",
    None,
    "A page of documents; ``next`` is the start of the next page, null at the end. ``counts`` are "
    "all files of the workspace by state, and those that need ``attention``.",
    documents=DOCUMENT.many,
    total=int,
    next=int | None,
    counts=dict[str, int],
)
BLOCK = Shape(
    "BlockShape",
    BlockTree,
    "A block of a document, with the blocks inside it in reading order.",
    "kind=block.kind span=block.span label=block.label lead=block.lead level=block.level children",
    label=Annotated[str, "The title of a section, the term of a definition …"],
    lead=Annotated[str, "The sentence before it that introduces it; may be empty."],
    level=Annotated[int, "The level of a section, from 1; 0 for other blocks."],
)
SECTION = Shape(
    "SectionShape",
    Section,
    "A part of a document under a heading; the root has level 0.",
    "id parent=parent_id level title span",
)
CHUNK = Shape(
    "ChunkShape",
    Chunk,
    "The positions of a chunk and its sentences.",
    "id section=section_id ordinal span is_parent parent=parent_id sentences",
)
LINK = Shape(
    "LinkShape",
    DocumentLink,
    "Words that lead to a document of the index, and where the linked part begins in its text.",
    "span document title start",
    document=(str, lambda link: content_id("document", link.document)),
    title=(str, lambda link: link.title or link.document),
)
TIME = Shape(
    "TimedSpanShape",
    TimedSpan,
    "A part of a recording, in seconds from its start.",
    "span start_s end_s",
)


def _spans_by_style(document: Document) -> dict[str, list[Span]]:
    spans: dict[str, list[Span]] = {}
    for span, style in document.styles:
        spans.setdefault(style, []).append(span)
    return spans


DETAILS = Shape(
    "DocumentDetails",
    Document,
    "A document with its text, which is Markdown written from its ``blocks``, and with its "
    "sections, chunks and links. All spans are offsets in ``text``. ``styles`` has the words that "
    "are set apart: `strong`, `emphasis` and `code`. ``original`` says what is there of the file: "
    "`pages` that can be drawn, `audio`, `video`, another `file`, or nothing.",
    "id uri title media_type language metadata text pages blocks=tree times styles original "
    "sections chunks links",
    metadata=dict[str, str],
    styles=(dict[str, list[Span]], _spans_by_style),
    original=str,
    sections=list[Section],
    chunks=list[Chunk],
    links=list[DocumentLink],
)
ENTITY_HERE = View(
    "ThingHere",
    Entity,
    "An entity that a document mentions; ``only_here``: no other document mentions it.",
    "id name type",
    spans=list[Span],
    only_here=bool,
)
RELATION_HERE = View(
    "RelationHere",
    Edge,
    "A relation that a document states; ``only_here``: no other document states it.",
    "source source_name relation target target_name weight chunks only_here",
    **typed(str, "source_name target_name"),
    chunks=list[str],
    only_here=bool,
)
LINK_HERE = View(
    "LinkHere",
    DocumentLink,
    "A document that links to this one: the ``words`` of its first link, and where they are.",
    "id title words span",
    **typed(str, "id title"),
)
CONTENTS = Shape(
    "DocumentContents",
    None,
    "What a document contributes to the graph: entities by number of mentions, relations by "
    "weight. Those with ``only_here`` are removed with the document. ``linked_from`` are by uri.",
    things=ENTITY_HERE.many,
    relations=RELATION_HERE.many,
    linked_from=LINK_HERE.many,
)
UPLOADED = Shape(
    "UploadedFile",
    None,
    "An accepted file of an upload; ``uri`` is that of its document.",
    **typed(str, "name uri document_id"),
    size=int,
)
UPLOAD = Shape(
    "Upload",
    None,
    "The result of an upload; ``job`` indexes the files, null if not requested.",
    files=UPLOADED.many,
    refused=REFUSED.many,
    job=Job | None,
)


class ReindexRequest(RequestModel):
    """Update documents, or all of them: changed files are indexed again, failures are retried."""

    documents: list[str] = Field(default=[], max_length=MOST_NAMED, description="URIs; empty: all.")
    tier: TierName | None = None
    budget: str = BUDGET_FIELD


class NamedDocuments(RequestModel):
    """Some documents."""

    documents: list[str] = Field(min_length=1, max_length=MOST_NAMED, description="URIs.")


class MetadataRequest(RequestModel):
    """Values that a document gets; null restores what its file states."""

    title: str | None = None
    author: str | None = None
    date: str | None = Field(default=None, description="Such as 2024-05-31, 2024-05 or 2024.")
    tags: list[str] | None = Field(default=None, max_length=100)


MOST_NEIGHBOURS = 200
"""Most neighbours of an entity among which relations of a document are searched."""

_SHOWN_CHUNKS = 16
"""A store returns at most this many chunks of an edge. An edge with fewer has no others."""


def read_document_graph(store: Store, document: Document) -> Json:
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
        ENTITY_HERE(
            entity,
            spans=sorted({span for m in by_entity[entity.id] for span in m.spans}),
            only_here=entity.chunk_count <= len(by_entity[entity.id]),
        )
        for entity in entities.values()
        if not entity.is_keyword
    ]
    first = {content_id("document", x.source): x for x in reversed(links_to(store, document))}
    linking = sorted(store.documents.documents(first).values(), key=lambda other: other.uri)
    mentioned.sort(key=lambda thing: (-len(thing["spans"]), thing["name"], thing["id"]))
    return {
        "things": mentioned,
        "relations": _read_relations(store, entities, chunk_ids),
        "linked_from": [LINK_HERE(first[x.id], id=x.id, title=x.title or x.uri) for x in linking],
    }


def _read_relations(store: Store, entities: dict[str, Entity], chunk_ids: set[str]) -> list[Json]:
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
        RELATION_HERE(
            edge,
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
) -> Annotated[Json, UPLOAD]:
    """Upload files, and start a job that indexes them. A file replaces one of the same name."""
    settings = workspace.base.settings.index
    taken: set[PurePosixPath] = set()

    def store(file: ReceivedFile) -> Json:
        path = parse_upload_name(file.name)
        check_document(file, settings)
        if path in taken:
            raise LoadError(
                "name", f"The upload has two files named `{path}`.", fix="Rename one of them."
            )
        taken.add(path)
        size = file.size
        uri = store_file(file, path, workspace)
        return UPLOADED(name=file.name, uri=uri, document_id=Document(uri, "").id, size=size)

    def note(stored: list[Json], refused: list[Json]) -> None:
        uris = [file["uri"] for file in stored]
        named = {f"{UPLOADS}/{file['name']}": file for file in refused}
        others = {uri: file for uri, file in named.items() if uri not in uris}
        workspace.attention.note(uris, others)

    stored, refused = store_files(files, store, note)
    job = None
    if index:
        options = {"tier": tier, "budget": budget, "retry": False}
        job = server.jobs.submit(workspace.name, "index", options)
    return UPLOAD(files=stored, refused=refused, job=job)


@router.get("/workspaces/{workspace}/fields")
def list_fields(workspace: ReadWorkspace) -> list[FieldInfo]:
    """List the document fields that filters can use, with their most frequent values."""
    return workspace.base.fields()


@router.get("/workspaces/{workspace}/documents")
def list_documents(
    workspace: ReadWorkspace,
    start: Annotated[int, Query(ge=0, le=10**9)] = 0,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    name: Annotated[
        str, Query(max_length=1_000, description="Part of titles or URIs, ignoring case.")
    ] = "",
    tag: Annotated[str, Query(max_length=500)] = "",
    where: Annotated[str, Query(max_length=MOST_FILTER_CHARACTERS, description="A filter.")] = "",
    state: Annotated[
        Literal["any", "ready", "waiting", "failed", "refused", "attention"],
        Query(description="Only these: ready, not read yet, not readable, not stored …"),
    ] = "any",
    sort: Annotated[
        str, Query(max_length=20, description="Such as title, or -size for the largest first.")
    ] = "uri",
) -> Annotated[Json, DOCUMENT_LIST]:
    """List documents and files that wait or could not be read, the latter with the reason."""
    store = workspace.base.store
    files = list_files(workspace)
    counts = Counter(map(attrgetter("state"), files))
    counts[ATTENTION] = sum(f.needs_attention for f in files if f.state in (FAILED, REFUSED_STATE))
    wanted = name.casefold()
    found = [
        file
        for file in files
        if (wanted in file.uri.casefold() or wanted in file.title.casefold())
        and (state == "any" or file.is_in(state))
        and (not tag or tag in file.tags)
    ]
    if (condition := read_filter(where)) is not None:
        among = require_fields(store).select(condition).documents
        found = [file for file in found if file.id in among]
    column = sort.removeprefix("-")
    if column not in SORTS:
        raise UnknownName("column", column, SORTS)
    if column == "pages":
        found = with_pages(store, found)
    if sort != "uri":  # as they are
        found = sort_files(found, column, reverse=sort.startswith("-"))
    page = found[start : start + limit]
    end = start + len(page)
    return DOCUMENT_LIST(
        documents=[*map(DOCUMENT, with_pages(store, page))],
        total=len(found),
        next=end if end < len(found) else None,
        counts=counts,
    )


@router.patch("/workspaces/{workspace}/documents/{document}")
def edit_document(
    workspace: WriteWorkspace, document: DocumentId, asked: MetadataRequest
) -> Annotated[Json, DETAILS]:
    """Give a document another title, author, date or tags than its file states.

    They last while the file is indexed again.
    """
    values = {field: getattr(asked, field) for field in asked.model_fields_set}
    if asked.tags is not None:
        values["tags"] = ", ".join(asked.tags)
    workspace.base.edit_metadata(find_document(workspace, document).uri, values)
    return show_document(workspace, document)


@router.post("/workspaces/{workspace}/documents/dismiss")
def dismiss_files(workspace: WriteWorkspace, asked: NamedDocuments) -> list[str]:
    """Take files out of those that need attention, and return their URIs.

    Refused files are forgotten. Failed ones come back when they change, or fail otherwise.
    """
    failed = workspace.base.store.ledger.get(asked.documents)
    workspace.attention.dismiss(asked.documents, [e for e in failed.values() if e.error])
    return asked.documents


@router.get("/workspaces/{workspace}/documents/{document}")
def show_document(workspace: ReadWorkspace, document: DocumentId) -> Annotated[Json, DETAILS]:
    """Return a document with its text, the tree of its blocks, its sections, chunks and links."""
    store = workspace.base.store.documents
    found = find_document(workspace, document)
    linking = replace(found, links=found.links[:_MOST_LINKS])
    resolved = resolve_links(workspace.base.store, [linking])
    chunks = store.chunks(store.chunk_ids_of([document]).get(document, []))
    sections = store.sections_of([document]).get(document, [])
    ordered = sorted(chunks.values(), key=lambda c: (c.is_parent, c.ordinal, c.id))
    links = [link for link in resolved if link.document]
    kind = find_kind(workspace, found)
    return DETAILS(found, original=kind, sections=sections, chunks=ordered, links=links)


def find_document(workspace: Workspace, identifier: str) -> Document:
    """Return a document by its id. Raises NotFound."""
    found = workspace.base.store.documents.documents([identifier])
    if identifier not in found:
        raise _unknown_document(identifier)
    return found[identifier]


@router.get("/workspaces/{workspace}/documents/{document}/contents")
def list_contents(workspace: ReadWorkspace, document: DocumentId) -> Annotated[Json, CONTENTS]:
    """Return what a document contributes to the graph, and which documents link to it."""
    return read_document_graph(workspace.base.store, find_document(workspace, document))


@router.delete("/workspaces/{workspace}/documents/{document}", status_code=202)
def delete_document(server: Server, workspace: WriteWorkspace, document: DocumentId) -> Job:
    """Start a job that removes a document, and its file if it was uploaded."""
    uris = [e.uri for e in workspace.base.documents() if Document(e.uri, "").id == document]
    if not uris:
        raise _unknown_document(document)
    return delete_documents(server, workspace, NamedDocuments(documents=uris))


@router.post("/workspaces/{workspace}/documents/delete", status_code=202)
def delete_documents(server: Server, workspace: WriteWorkspace, asked: NamedDocuments) -> Job:
    """Start a job that removes several documents."""
    waiting = [uri for uri in asked.documents if waiting_upload(workspace, uri)]
    entries = known_entries(workspace, [uri for uri in asked.documents if uri not in waiting])
    uploaded_files(workspace, entries)
    uris = [*(entry.uri for entry in entries), *waiting]
    return server.jobs.submit(workspace.name, "delete", {"documents": uris})


@router.post("/workspaces/{workspace}/documents/reindex", status_code=202)
def reindex_documents(server: Server, workspace: WriteWorkspace, asked: ReindexRequest) -> Job:
    """Start a job that updates documents, or all folders and files of the index."""
    known_entries(workspace, asked.documents)
    return server.jobs.submit(workspace.name, "reindex", asked.model_dump())


def _unknown_document(identifier: str) -> NotFound:
    return NotFound(f"Unknown document `{identifier}`.", fix="List documents: GET …/documents")
