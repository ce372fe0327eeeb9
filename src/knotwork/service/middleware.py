"""ASGI middleware: request ids, metrics, security headers and the log of requests."""

from __future__ import annotations

import logging
import secrets
import time
from http import HTTPStatus

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from knotwork.errors import KnotworkError, RequestTooLarge
from knotwork.service.observability import Metrics
from knotwork.service.responses import error_response, request_id

SECURITY_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data: blob:; object-src 'none'; base-uri 'none'; "
        "form-action 'self'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
REQUEST_ID_HEADER = "X-Request-ID"
_TOO_LARGE = RequestTooLarge(
    "The body of the request is too large.",
    fix="Send less at a time, or raise service.max_upload_mb for uploads.",
)
_SERVER_ERROR = KnotworkError(
    "The server failed.", fix="Look for the request's id in the log of the server."
)
_UNKNOWN_ROUTE = "(none)"

_log = logging.getLogger("knotwork.service")


class RequestMiddleware:
    """An ASGI layer around an application."""

    def __init__(self, app: ASGIApp, meters: Metrics) -> None:
        self._app = app
        self._meters = meters

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        identifier = secrets.token_hex(8)
        request_id.set(identifier)
        begun = time.perf_counter()
        status = HTTPStatus.INTERNAL_SERVER_ERROR.value
        is_too_large = has_begun = False

        async def send_told(message: Message) -> None:
            nonlocal has_begun
            if message["type"] == "http.response.start":
                has_begun = True
                self._frame(scope, message, identifier, time.perf_counter() - begun)
            await send(message)

        async def send_framed(message: Message) -> None:
            nonlocal status, is_too_large
            if is_too_large:
                return
            if message["type"] == "http.response.start":
                status = message["status"]
                is_too_large = _is_plain_refusal(message)
                if is_too_large:
                    await error_response(Request(scope), _TOO_LARGE)(scope, receive, send_told)
                    return
            await send_told(message)

        self._meters.in_flight.inc()
        try:
            await self._app(scope, receive, send_framed)
        except Exception:  # a fault of ours: the log tells it, and nobody else
            _log.exception("request %s failed", identifier)
            if has_begun:
                raise  # nothing can mend what was sent: the connection is cut
            await error_response(Request(scope), _SERVER_ERROR)(scope, receive, send_framed)
        finally:
            self._meters.in_flight.dec()
            route = _route_template(scope)
            self._meters.requests.labels(_known_method(scope), route, str(status)).inc()
            seconds = time.perf_counter() - begun
            # The route, never the address itself: a query may hold what nobody should read.
            _log.info(
                "%s %s %s %d %.3f s", identifier, _known_method(scope), route, status, seconds
            )

    def _frame(self, scope: Scope, message: Message, identifier: str, seconds: float) -> None:
        """Count a response that begins, and give it its headers."""
        self._meters.seconds.labels(_known_method(scope), _route_template(scope)).observe(seconds)
        headers = MutableHeaders(scope=message)
        for name, value in SECURITY_HEADERS.items():
            headers.setdefault(name, value)
        headers[REQUEST_ID_HEADER] = identifier
        if scope["path"].startswith(("/api/", "/v1/", "/mcp")):
            headers.setdefault("Cache-Control", "no-store")


def _is_plain_refusal(message: Message) -> bool:
    """Tell whether a response is the bare one to a body that is too large."""
    headers = MutableHeaders(scope=message)
    is_plain = headers.get("content-type", "").startswith("text/plain")
    return message["status"] == HTTPStatus.REQUEST_ENTITY_TOO_LARGE and is_plain


def _route_template(scope: Scope) -> str:
    """Return the address with the names of its parameters in the place of their values."""
    if "route" not in scope:
        return _UNKNOWN_ROUTE
    path: str = scope["path"]
    for name, value in scope.get("path_params", {}).items():
        path = path.replace(f"/{value}", f"/{{{name}}}", 1) if value else path
    return path


def _known_method(scope: Scope) -> str:
    """Return the method, of those that mean something: others would be labels without end."""
    known = ("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT")
    return scope["method"] if scope["method"] in known else "OTHER"
