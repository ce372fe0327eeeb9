"""ASGI middleware that closes connections whose request bodies are not read."""

from __future__ import annotations

import asyncio

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from knotwork._indexing.loaders.loader import MEGABYTE

_LINGER_S = 1.0
_LINGER_BYTES = MEGABYTE


class UnreadBodyMiddleware:
    """Close the connection after a response that came before the whole body was read.

    Otherwise uvicorn would receive the rest of a refused upload, to find the next request.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body = _RequestBody(scope, receive)

        async def send_closing(message: Message) -> None:
            if body.is_read:
                await send(message)
            elif message["type"] == "http.response.start":
                MutableHeaders(scope=message)["Connection"] = "close"
                await send(message)
            elif message.get("more_body"):
                await send(message)
            else:
                await send({**message, "more_body": True})
                await body.linger()
                await send({**message, "body": b""})

        await self._app(scope, body.receive, send_closing)


class _RequestBody:
    """The body of a request, which a response may come before."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        headers = Headers(scope=scope)
        self.is_read = (
            "transfer-encoding" not in headers and headers.get("content-length", "0") == "0"
        )
        """Whether no part of the body is left."""

        self._receive = receive

    async def receive(self) -> Message:
        message = await self._receive()
        if message["type"] != "http.request" or not message.get("more_body"):
            self.is_read = True
        return message

    async def linger(self) -> None:
        """Discard a little of the body that nobody reads, so that the client sees the response.

        Closing a connection with unread data resets it, and many clients then report the reset in
        place of the response.
        """
        left = _LINGER_BYTES
        try:
            async with asyncio.timeout(_LINGER_S):
                while left > 0 and not self.is_read:
                    left -= len((await self.receive()).get("body", b""))
        except TimeoutError:
            return
