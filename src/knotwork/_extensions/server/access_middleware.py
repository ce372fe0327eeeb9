"""ASGI middleware that checks keys before bodies are read, and ends requests of removed keys."""

from __future__ import annotations

import asyncio
import json

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from knotwork._extensions.server.access import HELD_BODY, admit, caller_of, service_of
from knotwork._extensions.server.limits import HeldBytes, calling
from knotwork._extensions.server.responses import (
    OPENAI_PREFIX,
    describe_error,
    describe_openai_error,
    error_response,
    format_event,
)
from knotwork._extensions.server.security_headers import is_page
from knotwork.errors import KnotworkError, NotAuthenticated

_REVOKED = NotAuthenticated(
    "The key of this request was removed or changed.", fix="Send the request with a valid key."
)


class AccessMiddleware:
    """Check the key of a request before anything of its body is read.

    Only the web pages and the health checks need no key. If a key is removed while one of its
    requests is in progress, the request ends. Bodies count towards ``Service.bodies``.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or is_page(scope["path"]) or _is_health_check(scope["path"]):
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        try:
            key = await admit(request)
        except KnotworkError as error:
            await error_response(request, error)(scope, receive, send)
            return
        service = service_of(request)
        response = _Response(scope, send)
        caller = caller_of(request)
        calling.set(caller)
        with service.requests.track(key) as tracked, service.bodies.hold(caller) as held:
            scope[HELD_BODY] = held
            try:
                await self._app(scope, _counting(receive, held), response.send)
            except asyncio.CancelledError:
                if not tracked.is_revoked:
                    raise
                tracked.task.uncancel()
                await response.revoke()


def _is_health_check(path: str) -> bool:
    return path.startswith("/health/")


def _counting(receive: Receive, held: HeldBytes) -> Receive:
    """Return a ``receive`` that counts the body; raises HTTPException if there is no room."""

    async def receive_counted() -> Message:
        message = await receive()
        try:
            held.add(len(message.get("body", b"")))
        except KnotworkError as error:
            # FastAPI passes on no other exception that is raised while it reads a body.
            raise HTTPException(error.http_status, error.message) from error
        return message

    return receive_counted


class _Response:
    """What was sent of a response, to end it well if the key of its request is removed."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self._scope = scope
        self._send = send
        self._has_started = False
        self._is_complete = False
        self._is_event_stream = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._has_started = True
            kind = Headers(raw=message["headers"]).get("content-type", "")
            self._is_event_stream = kind.startswith("text/event-stream")
        elif not message.get("more_body"):
            self._is_complete = True
        await self._send(message)

    async def revoke(self) -> None:
        """Send an error, as a response or as the last event of a stream."""
        if not self._has_started:
            await error_response(Request(self._scope), _REVOKED)(self._scope, _no_body, self._send)
        elif not self._is_complete:
            last = self._last_event() if self._is_event_stream else b""
            await self._send({"type": "http.response.body", "body": last})

    def _last_event(self) -> bytes:
        if self._scope["path"].startswith(OPENAI_PREFIX):
            error = json.dumps({"error": describe_openai_error(_REVOKED)})
            return f"data: {error}\n\n".encode()
        if self._scope["path"].startswith("/api/"):
            return format_event(describe_error(_REVOKED), event="error")
        return b""


async def _no_body() -> Message:
    return {"type": "http.disconnect"}
