"""The index as tools and resources of the Model Context Protocol. See `knotwork.mcp_server`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knotwork._extensions.mcp.permissions import Permissions
from knotwork.errors import required

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

    from knotwork._extensions.asynchronous import AsyncKnowledgeBase


def build_server(
    knowledge_base: AsyncKnowledgeBase, permissions: Permissions | None = None
) -> MCPServer:
    """Build an MCP server for one knowledge base. The caller closes the knowledge base.

    The server is read-only without ``permissions``. Raises MissingExtra if the SDK is not
    installed.
    """
    check_sdk()
    from knotwork._extensions.mcp.server import build_index_server

    return build_index_server(knowledge_base, permissions or Permissions())


def check_sdk() -> None:
    """Raise MissingExtra if the MCP SDK is not installed."""
    with required("The MCP server", "mcp"):
        import mcp.server.mcpserver  # noqa: F401
