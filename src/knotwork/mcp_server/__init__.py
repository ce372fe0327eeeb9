"""Serve an index over the Model Context Protocol (MCP): tools and resources for assistants.

    from knotwork.mcp_server import Permissions, build_server

`build_server` returns a server of the official SDK for a knowledge base. The module `server` runs
one on standard input and output, or over HTTP on the loopback address. Needs the extra `mcp`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from knotwork.errors import required
from knotwork.mcp_server._permissions import Permissions

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

    from knotwork._knowledge_base.asynchronous import AsyncKnowledgeBase

__all__ = ["Permissions", "build_server", "check_sdk"]


def build_server(
    knowledge_base: AsyncKnowledgeBase, permissions: Permissions | None = None
) -> MCPServer:
    """Build an MCP server for one knowledge base. The caller closes the knowledge base.

    The server is read-only without ``permissions``. Raises MissingExtra if the SDK is not
    installed.
    """
    check_sdk()
    from knotwork.mcp_server._server import build_index_server

    return build_index_server(knowledge_base, permissions or Permissions())


def check_sdk() -> None:
    """Raise MissingExtra if the MCP SDK is not installed."""
    with required("The MCP server", "mcp"):
        import mcp.server.mcpserver  # noqa: F401
