"""The MCP endpoint: `/mcp` and `/mcp/WORKSPACE`, over stateless streamable HTTP.

Every request is authenticated by its own key, and no session is stored, so any of several servers
behind a load balancer can answer it.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from knotwork._extensions.mcp import check_sdk
from knotwork._extensions.mcp.permissions import Permissions
from knotwork._extensions.server.access import key_of, lease, service_of
from knotwork._extensions.server.keys import AccessKey, KeyRole
from knotwork._extensions.server.mcp_sessions import (
    McpSession,
    SessionKnowledgeBase,
    current_session,
)
from knotwork._extensions.server.server import Service
from knotwork._extensions.server.workspaces import DEFAULT_WORKSPACE
from knotwork._indexing.loaders.loader import MEGABYTE
from knotwork.errors import InvalidRequest, Overloaded

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

MCP_PATH = "/mcp"
_MOST_BODY_BYTES = 1 * MEGABYTE


class McpEndpoint:
    """An ASGI application that serves MCP for all workspaces.

    It has one MCP server for keys that may read and one for keys that may write. Each is built on
    the first request that needs it. Requests raise MissingExtra if the SDK is not installed.
    """

    def __init__(self) -> None:
        self._managers: dict[bool, StreamableHTTPSessionManager] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._building = asyncio.Lock()
        self._closing = asyncio.Event()

    def routes(self) -> list[Route]:
        """Return the routes of the endpoint."""
        return [
            Route(path, endpoint=self, methods=["POST"], name="mcp", include_in_schema=False)
            for path in (MCP_PATH, f"{MCP_PATH}/{{workspace}}")
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request. Errors are raised before the response begins."""
        scope["route"] = self  # metrics count the request under its route
        request = Request(scope, receive)
        server = service_of(request)
        key = key_of(request)
        name = scope.get("path_params", {}).get("workspace") or _default_workspace(server, key)
        with lease(server, name, key):
            pass  # raises NotFound for an unknown workspace
        if server.closing:
            raise Overloaded("The server is stopping.", fix="Try again later.")
        writes = key.role.covers(KeyRole.WRITE) and not server.config.read_only
        manager = await self._get_manager(writes=writes)
        current_session.set(McpSession(server, key, name))
        await manager.handle_request(scope, receive, send)

    async def close(self) -> None:
        """Stop the MCP servers."""
        self._closing.set()
        for task in self._tasks:
            await task

    async def _get_manager(self, *, writes: bool) -> StreamableHTTPSessionManager:
        async with self._building:
            if writes not in self._managers:
                manager = await asyncio.to_thread(_build_manager, writes=writes)
                started = asyncio.Event()
                self._tasks.append(asyncio.create_task(self._run(manager, started)))
                await started.wait()
                self._managers[writes] = manager
            return self._managers[writes]

    async def _run(self, manager: StreamableHTTPSessionManager, started: asyncio.Event) -> None:
        """Run a manager until the endpoint closes; the same task must enter and leave it."""
        async with manager.run():
            started.set()
            await self._closing.wait()


def _build_manager(*, writes: bool) -> StreamableHTTPSessionManager:
    """Build the request manager of an MCP server. Slow, because importing the SDK is.

    Raises MissingExtra.
    """
    check_sdk()
    from mcp.server.transport_security import TransportSecuritySettings

    from knotwork._extensions.mcp.server import IndexServer

    knowledge_base = SessionKnowledgeBase()
    server = IndexServer(knowledge_base, Permissions())
    if writes:
        from knotwork._extensions.server.mcp_document_tool import add_document_tool

        add_document_tool(server, knowledge_base)
    server.streamable_http_app(
        stateless_http=True,
        max_request_body_size=_MOST_BODY_BYTES,
        # `AccessMiddleware` has checked host and origin already.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    return server.session_manager


def _default_workspace(server: Service, key: AccessKey) -> str:
    """Return the workspace of a path without one: the only one of the key, or `DEFAULT_WORKSPACE`.

    Raises InvalidRequest.
    """
    names = [name for name in server.workspaces.names() if key.may_see(name)]
    if len(names) == 1:
        return names[0]
    if DEFAULT_WORKSPACE in names:
        return DEFAULT_WORKSPACE
    raise InvalidRequest(
        "The request names no workspace, and the key has several.",
        fix=f"Use {MCP_PATH}/WORKSPACE.",
    )
