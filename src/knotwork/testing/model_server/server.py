"""The server itself: sockets and threads around a brain, a plan of faults and a count."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

from knotwork.testing.brains import Brain, RuleBrain
from knotwork.testing.model_server.connections import ConnectionHandler, ConnectionServer
from knotwork.testing.model_server.faults import FaultPlan
from knotwork.testing.model_server.traffic import Traffic

HOST = "127.0.0.1"


class ModelTestServer:
    """Serves `/chat/completions`, `/embeddings`, `/rerank` and `/models` under ``url``.

    A context manager; also `start` and `close`. Any model's name is taken, ``model`` is the one it
    lists. The ``brain`` answers chats, the hashing embedder vectors and rankings, so equal requests
    have equal answers. Tokens are counted with `count_tokens`. Each call takes at least
    ``latency_s``, before its answer begins; ``sleep`` waits for it (by default, until the server is
    closed at the latest). ``faults`` may be exchanged while it runs. ``traffic`` counts; its
    ``totals`` also stand under ``/traffic``, for tests in another process.
    """

    def __init__(
        self,
        brain: Brain | None = None,
        *,
        faults: FaultPlan | None = None,
        latency_s: float = 0.0,
        model: str = "knotwork-test",
        dimension: int = 256,
        port: int = 0,
        sleep: Callable[[float], object] | None = None,
        traffic: Traffic | None = None,
    ) -> None:
        self.brain = brain or RuleBrain()
        self.faults = faults or FaultPlan()
        self.latency_s = latency_s
        self.model = model
        self.dimension = dimension
        self.traffic = traffic or Traffic()
        self._closing = threading.Event()
        self._released = threading.Event()
        self._sleep = sleep or self._closing.wait
        self._port = port
        self._server: ConnectionServer | None = None
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """The base address, such as "http://127.0.0.1:8123/v1"."""
        if self._server is None:
            raise RuntimeError("The model test server is not running: call `start`, or use `with`.")
        return f"http://{HOST}:{self._server.server_address[1]}/v1"

    def start(self) -> Self:
        """Begin to serve, in a thread; return the server."""
        self._closing.clear()
        self._released.clear()
        self._server = ConnectionServer((HOST, self._port), ConnectionHandler, self)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )
        self._thread.start()
        return self

    def close(self) -> None:
        """Let go of hanging calls, break all connections, and wait until their threads end."""
        self._closing.set()
        self._released.set()
        if self._server is not None and self._thread is not None:
            self._server.shutdown()
            self._thread.join()
            self._server.break_connections()
            self._server.server_close()
        self._server = self._thread = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def release(self) -> None:
        """Let all hanging calls, and those that would hang later, get their answers."""
        self._released.set()

    def wait_for_release(self) -> None:
        """Hang until `release` or `close`."""
        self._released.wait()

    def wait_for_latency(self) -> None:
        """Wait as long as every call takes."""
        if self.latency_s > 0:
            self._sleep(self.latency_s)

    def sent_text(self) -> str:
        """Return all that the kept calls brought: JSON strings in the order of the bodies."""
        return "\n".join("\n".join(strings_in(call.body)) for call in self.traffic.calls)


def strings_in(value: object) -> list[str]:
    """Return the texts in a JSON value, depth first."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for item in value.values() for text in strings_in(item)]
    if isinstance(value, list):
        return [text for item in value for text in strings_in(item)]
    return []
