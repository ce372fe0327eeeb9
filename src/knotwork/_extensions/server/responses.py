"""Response envelopes, error responses, server-sent events, headers, and texts without paths."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing, suppress
from contextvars import ContextVar
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import Any, Generic, TypeVar, get_args

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.sse import format_sse_event
from pydantic import BaseModel
from pydantic_core import to_jsonable_python
from starlette.exceptions import HTTPException
from starlette.responses import Response, StreamingResponse
from starlette.routing import Match, Mount
from starlette.types import Send

from knotwork.errors import (
    InvalidRequest,
    KnotworkError,
    ModelUnavailable,
    NotAllowed,
    NotFound,
    RequestTooLarge,
    ServiceError,
    UnknownName,
)

_ROUTES = r"(?:api/v1|v1|ui|docs|mcp|health|metrics)\b"


def hide_paths(text: str) -> str:
    """Return a text in which only the last part of each path of this machine is left.

    A path begins with a folder that exists in the root of the file system, so that routes and
    other texts with slashes stay as they are. Document URIs are relative, and stay too.
    """
    return _paths().sub(_last_part, text) if "/" in text or "\\" in text else text


def hide_paths_within(value: Any) -> Any:  # noqa: ANN401
    """Return a JSON value with `hide_paths` applied to all of its strings."""
    if isinstance(value, str):
        return hide_paths(value)
    if isinstance(value, dict):
        return {name: hide_paths_within(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [hide_paths_within(item) for item in value]
    return value


@cache
def _paths() -> re.Pattern[str]:
    root = Path(Path.cwd().anchor)
    names = "|".join(sorted((re.escape(item.name) for item in root.iterdir()), reverse=True))
    start = rf"(?:file://)?/(?!{_ROUTES})(?:{names})(?=[/\W]|$)"
    quoted = rf"(?<=[`'\"]){start}[^`'\"\n]*|(?<=[`'\"])[A-Za-z]:\\[^`'\"\n]*"
    bare = rf"(?<![\w.~/:`'\"-]){start}[^\s`'\",;:()]*|(?<!\w)[A-Za-z]:\\[^\s`'\",;()]*"
    return re.compile(f"{quoted}|{bare}")


def _last_part(found: re.Match[str]) -> str:
    path = found[0]
    end = "." if path.endswith(".") else ""
    return re.split(r"[/\\]", path.rstrip("/\\."))[-1] + end


_PAGE_POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; media-src 'self' blob:; object-src 'none'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
)
_DATA_POLICY = (
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox"
)
_HEADERS = {
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": (
        "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


def is_page(path: str) -> bool:
    """Return True if a path belongs to the web pages."""
    return path in ("/", "/ui", "/docs") or path.startswith(("/ui/", "/docs/"))


def security_headers(path: str = "") -> dict[str, str]:
    """Return the headers of a response to a request of this path; "" means that it has none.

    Everything but the files of the web pages must not be stored by caches.
    """
    if is_page(path):
        return {"Content-Security-Policy": _PAGE_POLICY, **_HEADERS}
    return {
        "Content-Security-Policy": _DATA_POLICY,
        "Cache-Control": "no-store",
        **_HEADERS,
    }


T = TypeVar("T")

OPENAI_PREFIX = "/v1/"
"""Errors of routes below this path have the format of the OpenAI API."""

request_id: ContextVar[str] = ContextVar("request_id", default="")

HALF_A_PAIR = "A text has half of a surrogate pair, which is not Unicode"
_DOCUMENT = "/api/v1/openapi.json"
_UNREAD = ("dict_type", "model_type", "model_attributes_type")
"""Validation errors of a body that was not parsed as JSON."""

_OPENAI_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
}

_log = logging.getLogger("knotwork.service")


class ErrorBody(BaseModel):
    """What went wrong, and how to fix it."""

    code: str
    message: str
    fix: str


class ErrorEnvelope(BaseModel):
    """The response to a failed request."""

    error: ErrorBody
    request_id: str


class Envelope(BaseModel, Generic[T]):
    """The response to a successful request."""

    data: T
    request_id: str


def describe_error(error: KnotworkError) -> dict[str, str]:
    """Return the JSON fields of an error, without paths of the server."""
    message, fix = hide_paths(error.message), hide_paths(error.fix)
    return {"code": error.code, "message": message, "fix": fix}


def describe_openai_error(error: KnotworkError) -> dict[str, str | None]:
    """Return the JSON fields of an error in the format of the OpenAI API."""
    kind = "server_error" if error.http_status >= 500 else "invalid_request_error"
    return {
        "message": hide_paths(str(error)),
        "type": _OPENAI_TYPES.get(error.http_status, kind),
        "param": error.field if isinstance(error, InvalidRequest) else None,
        "code": error.code,
    }


class _ErrorResponse(JSONResponse):
    """An error, which may quote lone surrogates of the request: UTF-8 has none."""

    def render(self, content: Any) -> bytes:  # noqa: ANN401  as its base class
        return json.dumps(content, ensure_ascii=False).encode("utf-8", "replace")


def error_response(request: Request, error: KnotworkError) -> JSONResponse:
    """Build the response for an error, in the format of the API that was called."""
    headers = {"WWW-Authenticate": "Bearer"} if error.http_status == HTTPStatus.UNAUTHORIZED else {}
    retry_after_s = None
    if isinstance(error, ServiceError | ModelUnavailable):
        retry_after_s = error.retry_after_s
    if retry_after_s is not None:
        headers["Retry-After"] = str(max(1, round(retry_after_s + 0.5)))
    content: dict[str, Any]
    if request.url.path.startswith(OPENAI_PREFIX):
        content = {"error": describe_openai_error(error)}
    else:
        content = {"error": describe_error(error), "request_id": request_id.get()}
    return _ErrorResponse(content, status_code=error.http_status, headers=headers)


def handle_errors(app: FastAPI) -> None:
    """Add handlers that turn known errors into error responses.

    `RequestMiddleware` handles all others.
    """

    @app.exception_handler(KnotworkError)
    async def known(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, KnotworkError)
        if error.http_status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            _log.warning("request %s: %s: %s", request_id.get(), error.code, error.message)
        return error_response(request, error)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RequestValidationError)
        return error_response(request, _describe_invalid_request(request, error))

    @app.exception_handler(HTTPException)
    async def rejected(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
            error.headers = {"Allow": _methods_of(request)}
            if request.method == "OPTIONS":
                return Response(status_code=HTTPStatus.NO_CONTENT, headers=error.headers)
        response = error_response(request, _describe_http_error(request, error))
        response.headers.update(error.headers or {})
        return response


def _methods_of(request: Request) -> str:
    """Return the methods that the path of a request supports, as the header Allow lists them."""
    root = request.scope.get("app_root_path", "")
    found = {"OPTIONS"}
    for method in ("DELETE", "GET", "PATCH", "POST", "PUT"):
        scope = {"type": "http", "method": method, "path": request.scope["path"], "headers": []}
        for route in request.app.router.routes:
            is_match = route.matches(scope | {"root_path": root})[0] is Match.FULL
            # A mount, of static files, matches every method.
            if is_match and (method == "GET" or not isinstance(route, Mount)):
                found |= {"GET", "HEAD"} if method == "GET" else {method}
    return ", ".join(sorted(found))


_UNREADABLE = {
    RecursionError: "The JSON body is nested too deeply.",
    UnicodeDecodeError: "The body is not UTF-8.",
    ValueError: "A number in the JSON body has too many digits.",
}
"""What is wrong with a body, by the exception that its parser raised."""


def _describe_http_error(request: Request, error: HTTPException) -> ServiceError:
    """Return the error for a request that matches no route or cannot be parsed."""
    path = request.url.path[:200]
    if error.status_code == HTTPStatus.NOT_FOUND:
        return NotFound(f"Unknown path `{path}`.", fix=f"See {_DOCUMENT}")
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        allowed = (error.headers or {}).get("Allow", "")
        return NotAllowed(
            f"`{path}` does not support `{request.method[:20]}`.", fix=f"Use {allowed}."
        )
    kind = RequestTooLarge if error.status_code == 413 else InvalidRequest
    found = (text for cause, text in _UNREADABLE.items() if isinstance(error.__cause__, cause))
    text = next(found, f"{error.detail}.".replace("..", "."))
    return kind(text, fix=f"See {_DOCUMENT}")


def _describe_invalid_request(request: Request, error: RequestValidationError) -> InvalidRequest:
    """Return the error for an invalid request, without its values, which may be secret."""
    content_type = request.headers.get("content-type", "")
    parts, hint, field = [], "", None
    for item in error.errors()[:5]:
        place = ".".join(str(part) for part in item["loc"])
        if item["type"] == "json_invalid":
            text, position = str(error.body), item["loc"][-1]
            line = text.count("\n", 0, position) + 1
            column = position - text.rfind("\n", 0, position)
            return InvalidRequest(
                f"The body is not valid JSON: {item['ctx']['error'].removesuffix(' at')} at line "
                f"{line}, column {column}.",
                fix=f"See {_DOCUMENT}",
            )
        if item["loc"] == ("body",) and item["type"] in _UNREAD and "json" not in content_type:
            return InvalidRequest(
                "The body was not sent as JSON.", fix="Send it with Content-Type: application/json"
            )
        text = item["msg"].removeprefix("Value error, ")
        if item["type"] == "extra_forbidden":
            unknown = UnknownName("field", str(item["loc"][-1]), _fields_at(request, item["loc"]))
            text, hint = unknown.message, hint or unknown.fix
        field = field or ".".join(str(part) for part in item["loc"][1:]) or None
        parts.append(f"`{place}`: {text.removesuffix('.')}")
    return InvalidRequest("; ".join(parts) + ".", fix=hint or f"See {_DOCUMENT}", field=field)


def _fields_at(request: Request, place: Sequence[str | int]) -> set[str]:
    """Return the names of the fields beside a place in the body or query of a request."""
    dependant = request.scope["route"].dependant
    given = dependant.query_params if place[0] == "query" else dependant.body_params
    models = [model for one in given for model in _models_in(one.field_info.annotation)]
    for part in place[1:-1]:  # indexes of lists and members of unions stay at their models
        fields = [model.model_fields[part] for model in models if part in model.model_fields]
        models = [inner for one in fields for inner in _models_in(one.annotation)] or models
    return {name for model in models for name in model.model_fields}


def _models_in(kind: Any) -> Iterator[type[BaseModel]]:  # noqa: ANN401  a type
    """Yield the models that a type is made of."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        yield kind
    for part in get_args(kind):
        yield from _models_in(part)


PING_S = 15.0
PING = b": ping\n\n"
"""A comment that keeps proxies from closing an idle connection."""


class EventStream(StreamingResponse):
    """A response of server-sent events, which end with it, also if nobody reads them."""

    media_type = "text/event-stream"

    def __init__(self, content: AsyncGenerator[bytes]) -> None:
        super().__init__(content)
        self._events = content
        self.headers["Cache-Control"] = "no-store"
        self.headers["X-Accel-Buffering"] = "no"

    async def stream_response(self, send: Send) -> None:
        """Send the events."""
        async with aclosing(self._events):
            await super().stream_response(send)


EVENT_STREAM_CONTENT: dict[str, Any] = {
    "text/event-stream": {
        "schema": {
            "type": "object",
            "description": "One event; its data is JSON.",
            "properties": {
                "event": {"type": "string"},
                "id": {"type": "string"},
                "data": {"type": "string"},
            },
            "required": ["data"],
        }
    }
}
"""The OpenAPI description of an event stream."""

EVENT_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {"description": "Server-sent events.", "content": EVENT_STREAM_CONTENT}
}
"""The OpenAPI responses of a route that returns only an event stream."""


def format_event(data: object, *, event: str | None = None, number: int | None = None) -> bytes:
    """Format one server-sent event; its data is a shape or other JSON."""
    return format_sse_event(
        data_str=json.dumps(to_jsonable_python(data), ensure_ascii=False),
        event=event,
        id=None if number is None else str(number),
    )


async def keep_alive(events: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    """Yield events, and a ping after every `PING_S` seconds without one."""
    upcoming: asyncio.Future[bytes] | None = None
    try:
        while True:
            upcoming = upcoming or asyncio.ensure_future(anext(events))
            done, _ = await asyncio.wait([upcoming], timeout=PING_S)
            if not done:
                yield PING
                continue
            try:
                event = upcoming.result()
            except StopAsyncIteration:
                return
            upcoming = None
            yield event
    finally:
        if upcoming is not None:
            upcoming.cancel()
            await asyncio.wait([upcoming])
        await events.aclose()


async def start_stream(events: AsyncGenerator[T]) -> AsyncGenerator[T]:
    """Wait for the first item, and return an iterator of all items.

    Errors before the first item are raised here, while an error response is still possible.
    """
    first: list[T] = []
    with suppress(StopAsyncIteration):
        first.append(await anext(events))

    async def rest() -> AsyncGenerator[T]:
        async with aclosing(events) as left:
            for item in first:
                yield item
            async for item in left:
                yield item

    return rest()
