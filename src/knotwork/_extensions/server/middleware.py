"""ASGI middleware: request ids, metrics, headers and the log; keys; and unread bodies."""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
import time
from contextlib import suppress
from http import HTTPStatus
from urllib.parse import unquote_to_bytes

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from knotwork._extensions.server.access import HELD_BODY, admit, caller_of, service_of
from knotwork._extensions.server.limits import HeldBytes, QuietLog, calling
from knotwork._extensions.server.observability import Metrics
from knotwork._extensions.server.responses import (
    HALF_A_PAIR,
    OPENAI_PREFIX,
    describe_error,
    describe_openai_error,
    error_response,
    format_event,
    is_page,
    request_id,
    security_headers,
)
from knotwork._indexing.loaders.loader import MEGABYTE
from knotwork.errors import InvalidRequest, KnotworkError, NotAuthenticated, RequestTooLarge

REQUEST_ID_HEADER = "X-Request-ID"
_TOO_LARGE = RequestTooLarge(
    "The request body is too large.",
    fix="Send less at a time, or raise service.max_upload_mb for uploads.",
)
_SERVER_ERROR = KnotworkError(
    "Internal server error.", fix="Look for the request id in the server log."
)
_UNKNOWN_ROUTE = "(none)"
_EXCHANGE = "knotwork.exchange"


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
        exchange = scope[_EXCHANGE] = _Exchange(scope, receive, send)
        identifier = secrets.token_hex(8)
        request_id.set(identifier)
        start = time.perf_counter()
        status = HTTPStatus.INTERNAL_SERVER_ERROR.value
        is_too_large = False

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._start_response(scope, message, identifier, time.perf_counter() - start)
            await exchange.send(message)

        async def send_checked(message: Message) -> None:
            nonlocal status, is_too_large
            if is_too_large:
                return
            if message["type"] == "http.response.start":
                status = message["status"]
                is_too_large = _is_plain_413(message)
                if is_too_large:
                    response = error_response(Request(scope), _TOO_LARGE)
                    await response(scope, exchange.receive, send_with_headers)
                    return
            await send_with_headers(message)

        self._metrics.in_flight.inc()
        try:
            await self._app(scope, exchange.receive, send_checked)
        except Exception as error:
            failure = self._describe_failure(identifier, error)
            if exchange.has_started:
                raise  # too late for an error response: the connection is closed
            response = error_response(Request(scope), failure)
            await response(scope, exchange.receive, send_checked)
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


_REVOKED = NotAuthenticated(
    "The key of this request was removed or changed.", fix="Send the request with a valid key."
)


class HeadMiddleware:
    """Answer HEAD as GET, without the body."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return
        asked = {**scope, "method": "GET"}

        async def send_head(message: Message) -> None:
            if message["type"] == "http.response.start":
                scope.update(asked, method="HEAD")  # metrics count the request under its route
                await send(message)
            elif message.get("more_body"):
                raise _HeadSent  # a stream may have no end
            else:
                await send({"type": "http.response.body"})

        try:
            await self._app(asked, receive, send_head)
        except _HeadSent:
            await send({"type": "http.response.body"})


class _HeadSent(Exception):
    """The response to HEAD is complete."""


class AccessMiddleware:
    """Check the key of a request before anything of its body is read.

    Only the web pages and the health checks need no key. If a key is removed while one of its
    requests is in progress, the request ends. Bodies count towards ``Service.bodies``.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        if scope["type"] != "http" or is_page(path) or path.startswith("/health/"):
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        try:
            _check_text(scope)
            key = await admit(request)
        except KnotworkError as error:
            await error_response(request, error)(scope, receive, send)
            return
        service = service_of(request)
        caller = caller_of(request)
        calling.set(caller)
        with service.requests.track(key) as tracked, service.bodies.hold(caller) as held:
            scope[HELD_BODY] = held
            try:
                await self._app(scope, _counting(receive, held), send)
            except asyncio.CancelledError:
                if not tracked.is_revoked:
                    raise
                tracked.task.uncancel()
                await _revoke(scope, receive, send)


_HALF_A_PAIR = re.compile(rb"\xed[\xa0-\xbf]")
"""The first bytes of half of a surrogate pair, if it is written as UTF-8."""


def _check_text(scope: Scope) -> None:
    """Raise InvalidRequest if the URL or a header contains half of a surrogate pair."""
    url = unquote_to_bytes(b"%s?%s" % (scope.get("raw_path", b""), scope["query_string"]))
    if any(map(_HALF_A_PAIR.search, [url, *(value for _, value in scope["headers"])])):
        raise InvalidRequest(f"{HALF_A_PAIR}.", fix="Send the URL and headers as UTF-8.")


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


async def _revoke(scope: Scope, receive: Receive, send: Send) -> None:
    """Send an error, as a response or as the last event of a stream."""
    exchange: _Exchange = scope[_EXCHANGE]
    if not exchange.has_started:
        await error_response(Request(scope), _REVOKED)(scope, receive, send)
    elif not exchange.is_complete:
        last, path = b"", scope["path"]
        if exchange.is_event_stream and path.startswith(OPENAI_PREFIX):
            last = format_event({"error": describe_openai_error(_REVOKED)})
        elif exchange.is_event_stream and path.startswith("/api/"):
            last = format_event(describe_error(_REVOKED), event="error")
        await send({"type": "http.response.body", "body": last})


_LINGER_S = 1.0
_LINGER_BYTES = MEGABYTE


class _Exchange:
    """A request with what was sent of its response, which may come before its body was read.

    The connection is then closed. Otherwise uvicorn would receive the rest of a refused upload, to
    find the next request.
    """

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        self._is_read = (
            "transfer-encoding" not in headers and headers.get("content-length", "0") == "0"
        )
        self._receive = receive
        self._send = send
        self.has_started = False
        self.is_complete = False
        self.is_event_stream = False

    async def receive(self) -> Message:
        message = await self._receive()
        if message["type"] != "http.request" or not message.get("more_body"):
            self._is_read = True
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            self.has_started = True
            self.is_event_stream = headers.get("content-type", "").startswith("text/event-stream")
            if not self._is_read:
                headers["Connection"] = "close"
        else:
            self.is_complete = not message.get("more_body")
        if self._is_read or not self.is_complete:
            await self._send(message)
            return
        await self._send({**message, "more_body": True})
        await self._linger()
        await self._send({**message, "body": b""})

    async def _linger(self) -> None:
        """Discard a little of the body that nobody reads, so that the client sees the response.

        Closing a connection with unread data resets it, and many clients then report the reset in
        place of the response.
        """
        left = _LINGER_BYTES
        with suppress(TimeoutError):
            async with asyncio.timeout(_LINGER_S):
                while left > 0 and not self._is_read:
                    left -= len((await self.receive()).get("body", b""))
