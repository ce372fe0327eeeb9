"""Resources of the MCP server: document texts and community reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError
from mcp.server.mcpserver.resources import ResourceSecurity
from mcp.types import Resource

from knotwork._extensions.mcp.schemas import SCHEME, document_resource_uri, report_resource_uri
from knotwork._extensions.mcp.tools import as_resource
from knotwork._knowledge_base.base import KnowledgeBase
from knotwork.records import Document
from knotwork.records._documents import Span

if TYPE_CHECKING:
    from knotwork._extensions.mcp.tools import ToolBackend


MOST_RESOURCES = 500
_NAME_IN_INDEX = ResourceSecurity(exempt_params={"uri"})
"""A document URI is looked up in the index and never opened as a path."""


def add_resources(server: MCPServer, knowledge_base: ToolBackend) -> None:
    """Add the texts of documents and the community reports to a server."""

    @server.resource(
        f"{SCHEME}://documents/{{+uri}}{{?start,end}}",
        name="document",
        title="Document text",
        description="A document as indexed, in Markdown, or its characters from start to end.",
        mime_type="text/markdown",
        security=_NAME_IN_INDEX,
    )
    @as_resource
    async def document(uri: str, start: int = 0, end: int | None = None) -> str:
        return await knowledge_base.call(
            lambda: read_document_text(knowledge_base.knowledge_base, uri, start, end)
        )

    @server.resource(
        f"{SCHEME}://reports/{{community}}",
        name="report",
        title="Community report",
        description="A report about a group of closely related entities, with its sources.",
        mime_type="text/markdown",
    )
    @as_resource
    async def report(community: str) -> str:
        return await knowledge_base.call(
            lambda: read_report(knowledge_base.knowledge_base, community)
        )


def list_resources(base: KnowledgeBase) -> list[Resource]:
    """Return a resource for the report of each top-level community, and for each document by URI.

    There are at most `MOST_RESOURCES` of each.
    """
    documents = [
        Resource(
            uri=document_resource_uri(entry.uri),
            name=entry.uri,
            description=f"{entry.chunks} chunks",
            mime_type="text/markdown",
        )
        for entry in base.documents()
        if entry.chunks
    ][:MOST_RESOURCES]
    if base.store.capabilities.communities is None or not base.communities.is_current():
        return documents
    reports = [
        Resource(
            uri=report_resource_uri(topic.community.id),
            name=topic.report.title,
            description=topic.report.summary,
            mime_type="text/markdown",
        )
        for topic in base.communities.stored(limit=MOST_RESOURCES)
    ]
    return reports + documents


def read_document_text(base: KnowledgeBase, uri: str, start: int, end: int | None) -> str:
    """Return the text of a document, or its characters from ``start`` to ``end``.

    Raises ResourceNotFoundError.
    """
    key = Document(uri, "").id
    found = base.store.documents.documents([key])
    if key not in found:
        raise ResourceNotFoundError(f"Unknown document `{uri}`.")
    text = found[key].text
    if not 0 <= start <= (len(text) if end is None else end) <= len(text):
        raise ResourceNotFoundError(
            f"Characters {start} to {'the end' if end is None else end} are out of range: the "
            f"text of `{uri}` has {len(text)} characters."
        )
    return text[start:end]


def read_report(base: KnowledgeBase, community: str) -> str:
    """Return the report of a community as Markdown. Raises ResourceNotFoundError."""
    held = base.store.capabilities.communities
    report = held.reports([community]).get(community) if held is not None else None
    if report is None:
        raise ResourceNotFoundError(f"Unknown community report `{community}`.")
    chunks = base.store.documents.chunks(report.chunk_ids)
    documents = base.store.documents.documents({chunk.document_id for chunk in chunks.values()})

    def passage_uri(chunk_id: str, span: Span) -> str:
        return document_resource_uri(documents[chunks[chunk_id].document_id].uri, span)

    lines = [f"# {report.title}", "", report.summary, ""]
    for finding in report.findings:
        uris = [passage_uri(s.chunk_id, s.span) for s in finding.supports if s.chunk_id in chunks]
        lines.append(f"- {finding.text} {' '.join(f'<{uri}>' for uri in uris)}".rstrip())
    return "\n".join(lines)
