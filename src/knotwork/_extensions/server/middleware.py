"""ASGI middleware: request ids, metrics, security headers and the request log."""

from __future__ import annotations

import logging
import secrets
import time
from http import HTTPStatus

from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from knotwork._extensions.server.observability import Metrics
from knotwork._extensions.server.quiet_log import QuietLog
from knotwork._extensions.server.responses import error_response, request_id
from knotwork._extensions.server.security_headers import security_headers
from knotwork.errors import KnotworkError, RequestTooLarge

REQUEST_ID_HEADER = "X-Request-ID"
_TOO_LARGE = RequestTooLarge(
    "The request body is too large.",
    fix="Send less at a time, or raise service.max_upload_mb for uploads.",
)
_SERVER_ERROR = KnotworkError(
    "Internal server error.", fix="Look for the request id in the server log."
)
_UNKNOWN_ROUTE = "(none)"


class _ClientGone(KnotworkError):
    """The client closed the connection; log and metrics have the status that nginx uses."""

    http_status = 499


_CLIENT_GONE = _ClientGone("The client closed the connection.")


_log = logging.getLogger("knotwork.service")


class RequestMiddleware:
    """Give every response an id and headers, count and log it, and hide internal errors."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics
        self._quiet = QuietLog(_log)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        identifier = secrets.token_hex(8)
        request_id.set(identifier)
        start = time.perf_counter()
        status = HTTPStatus.INTERNAL_SERVER_ERROR.value
        is_too_large = has_started = False

        async def send_with_headers(message: Message) -> None:
            nonlocal has_started
            if message["type"] == "http.response.start":
                has_started = True
                self._start_response(scope, message, identifier, time.perf_counter() - start)
            await send(message)

        async def send_checked(message: Message) -> None:
            nonlocal status, is_too_large
            if is_too_large:
                return
            if message["type"] == "http.response.start":
                status = message["status"]
                is_too_large = _is_plain_413(message)
                if is_too_large:
                    response = error_response(Request(scope), _TOO_LARGE)
                    await response(scope, receive, send_with_headers)
                    return
            await send_with_headers(message)

        self._metrics.in_flight.inc()
        try:
            await self._app(scope, receive, send_checked)
        except Exception as error:
            failure = self._describe_failure(identifier, error)
            if has_started:
                raise  # too late for an error response: the connection is closed
            await error_response(Request(scope), failure)(scope, receive, send_checked)
        finally:
            self._metrics.in_flight.dec()
            route = _route_template(scope)
            self._metrics.requests.labels(_known_method(scope), route, str(status)).inc()
            seconds = time.perf_counter() - start
            # The route, never the URL: a query string may contain secrets.
            _log.info(
                "%s %s %s %d %.3f s", identifier, _known_method(scope), route, status, seconds
            )

    def _describe_failure(self, identifier: str, error: Exception) -> KnotworkError:
        """Return the error to report. Details of a bug go to the log only.

        A traceback is logged once in a while for each place: clients may repeat the request.
        """
        if isinstance(error, ClientDisconnect):
            return _CLIENT_GONE
        place, trace = "", error.__traceback__
        while trace is not None:
            place, trace = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}", trace.tb_next
        kind = f"{type(error).__name__} at {place}"
        self._quiet.write(logging.ERROR, kind, f"request {identifier} failed", error=error)
        return _SERVER_ERROR

    def _start_response(
        self, scope: Scope, message: Message, identifier: str, seconds: float
    ) -> None:
        """Count the start of a response, and add its headers."""
        self._metrics.seconds.labels(_known_method(scope), _route_template(scope)).observe(seconds)
        headers = MutableHeaders(scope=message)
        for name, value in security_headers(scope["path"]).items():
            headers.setdefault(name, value)
        if message["status"] >= HTTPStatus.BAD_REQUEST:
            headers["Cache-Control"] = "no-store"
        headers[REQUEST_ID_HEADER] = identifier


def _is_plain_413(message: Message) -> bool:
    """Return True for Starlette's plain-text response to a request body that is too large."""
    headers = MutableHeaders(scope=message)
    is_plain = headers.get("content-type", "").startswith("text/plain")
    return message["status"] == HTTPStatus.REQUEST_ENTITY_TOO_LARGE and is_plain


def _route_template(scope: Scope) -> str:
    """Return the path with parameter names instead of their values."""
    if "route" not in scope:
        return _UNKNOWN_ROUTE
    path: str = scope["path"]
    for name, value in scope.get("path_params", {}).items():
        path = path.replace(f"/{value}", f"/{{{name}}}", 1) if value else path
    return path


def _known_method(scope: Scope) -> str:
    """Return the method, or OTHER: arbitrary methods would create unbounded metric labels."""
    known = ("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT")
    return scope["method"] if scope["method"] in known else "OTHER"
