"""The index as a server of the Model Context Protocol: tools and resources for assistants.

    from knotwork.mcp_server import Permissions, build_server

`build_server` makes the server of the official SDK over a knowledge base; `serving` runs it on the
standard streams or on the loopback address. Needs the extra `mcp`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from knotwork.errors import MissingExtra
from knotwork.mcp_server.permissions import Permissions

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

    from knotwork.knowledge_base.asynchronous import AsyncKnowledgeBase

__all__ = ["Permissions", "build_server", "check_sdk"]


def build_server(
    knowledge_base: AsyncKnowledgeBase, permissions: Permissions | None = None
) -> MCPServer:
    """Return a server for one knowledge base; whoever runs it closes the knowledge base.

    Without ``permissions`` it only reads. Raises MissingExtra without the SDK.
    """
    check_sdk()
    from knotwork.mcp_server.server import build_index_server

    return build_index_server(knowledge_base, permissions or Permissions())


def check_sdk() -> None:
    """Raise MissingExtra where the SDK is not installed."""
    try:
        import mcp.server.mcpserver  # noqa: F401
    except ImportError as error:
        raise MissingExtra("The MCP server", "mcp") from error
