"""Server-sent events: how they are written, kept alive and ended."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any, TypeVar

from fastapi.sse import format_sse_event
from starlette.responses import StreamingResponse

PING_S = 15.0
PING = b": ping\n\n"
"""A comment that keeps what lies between client and server from closing a silent connection."""

T = TypeVar("T")


class EventStream(StreamingResponse):
    """A response of events."""

    media_type = "text/event-stream"

    def __init__(self, content: AsyncIterator[bytes] | None = None, **options: Any) -> None:  # noqa: ANN401
        super().__init__(content or _nothing(), **options)
        self.headers["Cache-Control"] = "no-store"
        self.headers["X-Accel-Buffering"] = "no"


EVENT_STREAM: dict[str, Any] = {
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

EVENTS: dict[int | str, dict[str, Any]] = {
    200: {"description": "Server-sent events.", "content": EVENT_STREAM}
}
"""How a route that returns nothing else describes it."""


def write_event(data: object, *, event: str | None = None, number: int | None = None) -> bytes:
    """Return one event as it is sent; its data is JSON."""
    return format_sse_event(
        data_str=json.dumps(data, ensure_ascii=False),
        event=event,
        id=None if number is None else str(number),
    )


async def _nothing() -> AsyncIterator[bytes]:
    return
    yield b""


async def keep_alive(events: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    """Yield events, and a ping wherever none comes for a while."""
    coming: asyncio.Task[bytes] | None = None
    try:
        while True:
            coming = coming or asyncio.ensure_future(_next(events))
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


async def begin(events: AsyncGenerator[T]) -> AsyncGenerator[T]:
    """Wait for the first item, so that what is wrong before it is told as an error, not in a
    stream that has begun; return an iterator of all items.
    """
    try:
        first = await anext(events)
    except StopAsyncIteration:
        return _none()

    async def rest() -> AsyncGenerator[T]:
        async with aclosing(events) as left:
            yield first
            async for item in left:
                yield item

    return rest()


async def _next(events: AsyncGenerator[bytes]) -> bytes:
    return await anext(events)


async def _none() -> AsyncGenerator[Any]:
    return
    yield
