"""The MCP endpoint: `/mcp` and `/mcp/WORKSPACE`, over stateless streamable HTTP.

Every request is authenticated by its own key and no session is stored, so any of several servers
behind one name can answer it.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from knotwork.errors import InvalidRequest, NotAllowed, Overloaded
from knotwork.indexing.loaders.loader import MEGABYTE
from knotwork.mcp_server import Permissions, check_sdk
from knotwork.service.access import authenticate_request, service_of
from knotwork.service.keys import AccessKey, KeyRole
from knotwork.service.mcp_sessions import McpSession, SessionKnowledgeBase, current_session
from knotwork.service.server import Service
from knotwork.service.workspaces import DEFAULT_WORKSPACE, no_workspace

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager


MCP_PATH = "/mcp"
_MOST_BODY_BYTES = 1 * MEGABYTE


class McpEndpoint:
    """The servers of the protocol for all workspaces, made when the first assistant comes: one for
    keys that may read, and one for those that may write.

    An ASGI application for both addresses. Without the SDK it says which extra brings it.
    """

    def __init__(self) -> None:
        self._managers: dict[bool, StreamableHTTPSessionManager] = {}
        self._hosts: list[asyncio.Task[None]] = []
        self._making = asyncio.Lock()
        self._ending = asyncio.Event()

    def routes(self) -> list[Route]:
        """Return where it is reached."""
        return [
            Route(path, endpoint=self, name="mcp", include_in_schema=False)
            for path in (MCP_PATH, f"{MCP_PATH}/{{workspace}}")
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; raises what keeps it from being answered before that begins."""
        scope["route"] = self  # so that its address is counted as a route
        request = Request(scope, receive)
        server = service_of(request)
        key = await authenticate_request(request)
        name = scope.get("path_params", {}).get("workspace") or _default_workspace(server, key)
        if not key.may_see(name):
            raise no_workspace(name)
        with server.workspaces.lease(name):
            pass  # it is there
        if request.method != "POST":
            raise NotAllowed(
                "Only POST is understood here: every request stands by itself.",
                fix="Connect a client of the Model Context Protocol to this address.",
            )
        if server.closing:
            raise Overloaded("The server is stopping.", fix="Try again later.")
        writes = key.role.covers(KeyRole.WRITE) and not server.place.read_only
        manager = await self._started(writes=writes)
        current_session.set(McpSession(server, key, name))
        await manager.handle_request(scope, receive, send)

    async def close(self) -> None:
        """End what is under way."""
        self._ending.set()
        for host in self._hosts:
            await host

    async def _started(self, *, writes: bool) -> StreamableHTTPSessionManager:
        async with self._making:
            if writes not in self._managers:
                manager = await asyncio.to_thread(_build_manager, writes=writes)
                started = asyncio.Event()
                self._hosts.append(asyncio.create_task(self._keep(manager, started)))
                await started.wait()
                self._managers[writes] = manager
            return self._managers[writes]

    async def _keep(self, manager: StreamableHTTPSessionManager, started: asyncio.Event) -> None:
        """Run the manager: it must be ended by the task that began it."""
        async with manager.run():
            started.set()
            await self._ending.wait()


def _build_manager(*, writes: bool) -> StreamableHTTPSessionManager:
    """Return the manager of requests; slow, as the SDK is large. Raises MissingExtra."""
    check_sdk()
    from mcp.server.transport_security import TransportSecuritySettings

    from knotwork.mcp_server.server import build_read_only_server

    seated = SessionKnowledgeBase()
    server = build_read_only_server(seated, Permissions())
    if writes:
        from knotwork.service.mcp_document_tool import add_document_tool

        add_document_tool(server, seated)
    server.streamable_http_app(
        stateless_http=True,
        max_request_body_size=_MOST_BODY_BYTES,
        # Whoever may ask was found out before, by rules that know keys.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    return server.session_manager


def _default_workspace(server: Service, key: AccessKey) -> str:
    """Return the workspace that an address without one means: the only one of a key, or the
    default. Raises InvalidRequest.
    """
    names = [name for name in server.workspaces.names() if key.may_see(name)]
    if len(names) == 1:
        return names[0]
    if DEFAULT_WORKSPACE in names:
        return DEFAULT_WORKSPACE
    raise InvalidRequest(
        "There is no telling which workspace is meant.", fix=f"Name it: {MCP_PATH}/WORKSPACE"
    )
