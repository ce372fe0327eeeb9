"""Serve an index over the Model Context Protocol (MCP): tools and resources for assistants.

    from knotwork.mcp_server import Permissions, build_server

`build_server` returns a server of the official SDK for a knowledge base. Needs the extra `mcp`.
"""

from __future__ import annotations

from knotwork._extensions.mcp import build_server, check_sdk
from knotwork._extensions.mcp.permissions import Permissions

__all__ = ["Permissions", "build_server", "check_sdk"]
