"""Response envelopes, error responses and server-sent events."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from contextvars import ContextVar
from http import HTTPStatus
from typing import Any, Generic, TypeVar

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.sse import format_sse_event
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.responses import StreamingResponse

from knotwork.errors import (
    InvalidRequest,
    KnotworkError,
    ModelUnavailable,
    NotAllowed,
    NotFound,
    RequestTooLarge,
    ServiceError,
)

T = TypeVar("T")

OPENAI_PREFIX = "/v1/"
"""Below it, errors have the shape that OpenAI's clients read."""

request_id: ContextVar[str] = ContextVar("request_id", default="")

_STATUS_ERRORS: dict[int, type[ServiceError]] = {413: RequestTooLarge}
_DOCUMENT = "/api/v1/openapi.json"
_UNREAD = ("dict_type", "model_type", "model_attributes_type")
"""What is said of a body that is no object because it was not read as JSON."""

_OPENAI_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
}

_log = logging.getLogger("knotwork.service")


class ErrorBody(BaseModel):
    """What went wrong, and what to do about it."""

    code: str
    message: str
    fix: str


class ErrorEnvelope(BaseModel):
    """The response to a request that could not be met."""

    error: ErrorBody
    request_id: str


class Envelope(BaseModel, Generic[T]):
    """The response to a request that was met."""

    data: T
    request_id: str


def wrap(data: T) -> Envelope[T]:
    """Return data in its envelope."""
    return Envelope(data=data, request_id=request_id.get())


def describe_error(error: KnotworkError) -> dict[str, str]:
    """Return an error as JSON tells it."""
    return {"code": error.code, "message": error.message, "fix": error.fix}


def describe_openai_error(error: KnotworkError) -> dict[str, str | None]:
    """Return an error as OpenAI's clients read it."""
    kind = "server_error" if error.http_status >= 500 else "invalid_request_error"
    return {
        "message": str(error),
        "type": _OPENAI_TYPES.get(error.http_status, kind),
        "param": None,
        "code": error.code,
    }


def error_response(request: Request, error: KnotworkError) -> JSONResponse:
    """Return the response that tells an error, in the shape of the interface it came by."""
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
    return JSONResponse(content, status_code=error.http_status, headers=headers)


def handle_errors(app: FastAPI) -> None:
    """Have every error that is known told in an envelope; `Framing` tells the others."""

    @app.exception_handler(KnotworkError)
    async def known(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, KnotworkError)
        if error.http_status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            _log.warning("request %s: %s: %s", request_id.get(), error.code, error.message)
        return error_response(request, error)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RequestValidationError)
        return error_response(request, _explain_invalid_request(request, error))

    @app.exception_handler(HTTPException)
    async def refused(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)
        response = error_response(request, _explain_refusal(request, error))
        response.headers.update(error.headers or {})
        return response


def _explain_refusal(request: Request, error: HTTPException) -> ServiceError:
    """Return what is wrong with a request that no route took, or that could not be read."""
    path = request.url.path[:200]
    if error.status_code == HTTPStatus.NOT_FOUND:
        return NotFound(f"There is nothing at `{path}`.", fix=f"See {_DOCUMENT}")
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        allowed = (error.headers or {}).get("Allow", "")
        return NotAllowed(
            f"`{path}` does not know `{request.method[:20]}`.",
            fix=f"It knows {allowed}." if allowed else f"See {_DOCUMENT}",
        )
    kind = _STATUS_ERRORS.get(error.status_code, InvalidRequest)
    return kind(f"{error.detail}.".replace("..", "."), fix=f"See {_DOCUMENT}")


def _explain_invalid_request(request: Request, error: RequestValidationError) -> InvalidRequest:
    """Return what is wrong with a request, without its values: one may be a secret."""
    sent = request.headers.get("content-type", "")
    parts = []
    for item in error.errors()[:5]:
        place = ".".join(str(part) for part in item["loc"])
        if item["loc"] == ("body",) and item["type"] in _UNREAD and "json" not in sent:
            return InvalidRequest(
                "The body was not sent as JSON.", fix="Send it with Content-Type: application/json"
            )
        parts.append(f"`{place}`: {item['msg'].removeprefix('Value error, ')}")
    return InvalidRequest("; ".join(parts) + ".", fix=f"See {_DOCUMENT}")


PING_S = 15.0
PING = b": ping\n\n"
"""A comment that keeps what lies between client and server from closing a silent connection."""


class EventStream(StreamingResponse):
    """A response of events."""

    media_type = "text/event-stream"

    def __init__(self, content: AsyncIterator[bytes] | None = None, **options: Any) -> None:  # noqa: ANN401
        super().__init__(content or _empty_bytes(), **options)
        self.headers["Cache-Control"] = "no-store"
        self.headers["X-Accel-Buffering"] = "no"


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
"""How a stream of events is described."""

EVENT_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {"description": "Server-sent events.", "content": EVENT_STREAM_CONTENT}
}
"""How a route that returns nothing else describes it."""


def format_event(data: object, *, event: str | None = None, number: int | None = None) -> bytes:
    """Return one event as it is sent; its data is JSON."""
    return format_sse_event(
        data_str=json.dumps(data, ensure_ascii=False),
        event=event,
        id=None if number is None else str(number),
    )


async def _empty_bytes() -> AsyncIterator[bytes]:
    return
    yield b""


async def keep_alive(events: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    """Yield events, and a ping wherever none comes for a while."""
    coming: asyncio.Task[bytes] | None = None
    try:
        while True:
            coming = coming or asyncio.ensure_future(_next_event(events))
            done, _ = await asyncio.wait([coming], timeout=PING_S)
            if not done:
                yield PING
                continue
            try:
                event = coming.result()
            except StopAsyncIteration:
                return
            coming = None
            yield event
    finally:
        if coming is not None:
            coming.cancel()
            await asyncio.wait([coming])
        await events.aclose()


async def start_stream(events: AsyncGenerator[T]) -> AsyncGenerator[T]:
    """Wait for the first item, so that what is wrong before it is told as an error, not in a
    stream that has begun; return an iterator of all items.
    """
    try:
        first = await anext(events)
    except StopAsyncIteration:
        return _empty()

    async def rest() -> AsyncGenerator[T]:
        async with aclosing(events) as left:
            yield first
            async for item in left:
                yield item

    return rest()


async def _next_event(events: AsyncGenerator[bytes]) -> bytes:
    return await anext(events)


async def _empty() -> AsyncGenerator[Any]:
    return
    yield
