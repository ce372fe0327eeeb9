"""Running the server: uvicorn, and an end that loses nothing."""

from __future__ import annotations

import contextlib
import signal
import socket
import threading
from collections.abc import Callable

import uvicorn
from fastapi import FastAPI

from knotwork.errors import ConfigError, KnotworkError

GRACE_S = 20
"""Seconds that open requests have to end once the server is told to stop."""


class KnotworkServer(uvicorn.Server):
    """A server that tells its jobs and streams to come to an end before it waits for them."""

    def __init__(self, app: FastAPI) -> None:
        self._knotwork = app
        self._tell: Callable[[], None] = lambda: None
        super().__init__(
            uvicorn.Config(
                app,
                lifespan="on",
                log_config=None,
                log_level="critical",  # the application tells what goes wrong
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=GRACE_S,
                timeout_keep_alive=30,
            )
        )

    def serve_at(self, host: str, port: int, tell: Callable[[str], None]) -> None:
        """Serve until told to stop, by a signal or ``should_exit``; ``tell`` gets the address.

        Raises ConfigError when the address cannot be had, and what kept the application from
        starting.
        """
        listening = _listen(host, port)
        if threading.current_thread() is threading.main_thread():
            # The server ends by itself when it gets this signal, and passes it on then.
            signal.signal(signal.SIGTERM, _pass)
        address = listening.getsockname()
        shown = f"[{address[0]}]" if ":" in address[0] else address[0]
        self._tell = lambda: tell(f"http://{shown}:{address[1]}")
        with listening, contextlib.suppress(KeyboardInterrupt):
            self.run(sockets=[listening])
        failure: KnotworkError | None = getattr(self._knotwork.state, "failure", None)
        if failure is not None:
            raise failure

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and tell where."""
        await super().startup(sockets)
        if not self.should_exit:
            self._tell()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take no new connection, and let what is under way end."""
        service = getattr(self._knotwork.state, "service", None)
        if service is not None:
            service.begin_closing()
        await super().shutdown(sockets)


def _pass(_number: int, _frame: object) -> None:
    """Do nothing more: the server has ended."""


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host.strip("[]"), port), family=family, backlog=1_024)
    except OSError as error:
        raise ConfigError(
            f"It is not possible to listen on {host}, port {port}: {error.strerror or error}.",
            fix="Name another one with --port, or 0 for any free one.",
        ) from error
    # Connections inherit it. asyncio sets it on those alone whose socket names its protocol, and
    # without it the second packet of every answer waits 40 ms for the first to be acknowledged.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening
