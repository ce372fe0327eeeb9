"""Running a server: on the standard streams, or on the loopback address."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any

import uvicorn
from mcp.server.mcpserver import MCPServer

from knotwork.errors import ConfigError
from knotwork.knowledge_base.asynchronous import AsyncKnowledgeBase
from knotwork.knowledge_base.base import KnowledgeBase
from knotwork.mcp_server.permissions import Permissions
from knotwork.mcp_server.server import build

LOOPBACK = "127.0.0.1"
PATH = "/mcp"
SHUTDOWN_S = 5
"""How long connections may take to end when the server is stopped."""


def serve_stdio(knowledge_base: KnowledgeBase, permissions: Permissions) -> None:
    """Serve whoever started this process on its standard streams, until it ends them."""
    asyncio.run(_serve(knowledge_base, permissions, lambda server: server.run_stdio_async()))


def serve_http(
    knowledge_base: KnowledgeBase,
    permissions: Permissions,
    *,
    port: int,
    tell: Callable[[str], None],
) -> None:
    """Serve programs on this machine over streamable HTTP, until the process is stopped.

    ``tell`` is called with the address as soon as it answers. Port 0 is any that is free. Only the
    loopback address is served, and requests that name another host or come from a page of another
    origin are refused. Raises ConfigError when the port is taken.
    """

    async def listen(server: MCPServer[Any]) -> None:
        app = server.streamable_http_app(streamable_http_path=PATH, host=LOOPBACK)
        config = uvicorn.Config(
            app, log_level="warning", access_log=False, timeout_graceful_shutdown=SHUTDOWN_S
        )
        with _bind(port) as listening:
            tell(f"http://{LOOPBACK}:{listening.getsockname()[1]}{PATH}")
            await uvicorn.Server(config).serve(sockets=[listening])

    asyncio.run(_serve(knowledge_base, permissions, listen))


async def _serve(
    knowledge_base: KnowledgeBase,
    permissions: Permissions,
    run: Callable[[MCPServer[Any]], Any],
) -> None:
    async with AsyncKnowledgeBase(knowledge_base) as opened:
        await run(build(opened, permissions))


def _bind(port: int) -> socket.socket:
    """Return a socket that listens, so that whoever is told the address can connect at once."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((LOOPBACK, port))
        listening.listen()
    except OSError as error:
        listening.close()
        raise ConfigError(
            f"Port {port} cannot be listened on: {error.strerror}.",
            fix="Give another with --port, or 0 for any that is free.",
        ) from error
    return listening
