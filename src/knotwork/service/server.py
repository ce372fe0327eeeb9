"""The server: what it serves, its components, model preloading, and the uvicorn process."""

from __future__ import annotations

import contextlib
import ipaddress
import logging
import signal
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import uvicorn
from fastapi import FastAPI

from knotwork.config import ServiceSettings, Settings
from knotwork.errors import ConfigError, KnotworkError, MissingExtra
from knotwork.inference.embedder import Embedder
from knotwork.inference.model_registry import open_embedder
from knotwork.service.job_runner import JobRunner
from knotwork.service.job_store import JobStore
from knotwork.service.keys import KeyFile, hidden_file_beside, keys_beside
from knotwork.service.limits import RateLimiter, Threads
from knotwork.service.observability import Metrics
from knotwork.service.workspaces import DEFAULT_WORKSPACE, INDEX_SUFFIX, Workspaces

RECORDS_FILE = ".knotwork-service.db"
JOB_GRACE_S = 15.0
"""Seconds that jobs have to come to the end of a step once the server is told to stop."""

_FAILURES_PER_MINUTE = 60

_log = logging.getLogger("knotwork.service")


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """What is served: a folder of indexes, or one index file, with the settings for all."""

    path: Path
    settings: Settings = field(default_factory=Settings)
    read_only: bool = False

    @property
    def keys_path(self) -> Path:
        """The file of keys."""
        named = self.settings.service.keys
        return Path(named) if named else keys_beside(self.path)

    @property
    def records_path(self) -> Path:
        """The file of jobs."""
        return hidden_file_beside(self.path, RECORDS_FILE)

    def check(self) -> None:
        """Raise ConfigError for a place that cannot be served, or not without a key."""
        if not self.path.is_dir() and self.path.suffix != INDEX_SUFFIX and not self.path.is_file():
            raise ConfigError(
                f"`{self.path}` is neither a folder of indexes nor an index.",
                fix=f"Name a folder that is there, or a file that ends with {INDEX_SUFFIX}.",
            )
        if not is_loopback(self.settings.service.host) and not KeyFile(self.keys_path).listed():
            raise ConfigError(
                f"Listening on `{self.settings.service.host}` needs a key, but none exists.",
                fix="Add one: knotwork keys add NAME",
            )


class Service:
    """The parts of a running server. Make it in the event loop that serves."""

    def __init__(self, place: ServerConfig, meters: Metrics | None = None) -> None:
        self.place = place
        self.workspaces = Workspaces(place.path, place.settings, read_only=place.read_only)
        limits = self.limits
        self.keys = KeyFile(place.keys_path)
        self.threads = Threads(
            threads=limits.threads, waiting=limits.waiting, timeout_s=limits.timeout_s
        )
        self.rates = RateLimiter(limits.requests_per_minute)
        self.failures = RateLimiter(_FAILURES_PER_MINUTE)
        self.meters = meters or Metrics()
        self.closing = False
        self.uploading: set[tuple[str, str, str]] = set()
        """Uploads under way that came with a key of their own."""
        self.records = JobStore.open(place.records_path)
        self.jobs = JobRunner(self.workspaces, self.records, most=limits.jobs)
        self.warmer = ModelLoader(self._open_embedder)

    @property
    def limits(self) -> ServiceSettings:
        """The settings of the server."""
        return self.place.settings.service

    def start(self) -> None:
        """Load the model in the background, and go on with the jobs that were not finished."""
        self.warmer.start()
        if not self.place.read_only:
            folders = (job.arguments.get("folder", "") for job in self.records.open_jobs())
            self.workspaces.discard_leftovers(waiting=set(folders))
            self.jobs.start()

    def _open_embedder(self) -> Embedder | None:
        """Return the embedder of the one index, or what an index of the folder has by default."""
        if not self.workspaces.is_folder and self.place.path.is_file():
            with self.workspaces.lease(DEFAULT_WORKSPACE) as workspace:
                return workspace.base.embedder
        embedding = self.place.settings.embedding
        try:
            return open_embedder(embedding.model, embedding)
        except MissingExtra:
            return None

    def begin_closing(self) -> None:
        """Take no new work, and have jobs and streams come to an end."""
        self.closing = True
        self.jobs.pause()

    def close(self) -> None:
        """Wait for jobs to pause and requests to end, and close all files.

        A job whose step takes too long is left to the end of the process: its index is then as
        after a kill, and it is begun again by the next server.
        """
        self.begin_closing()
        self.warmer.wait()
        if not self.jobs.close(wait_s=JOB_GRACE_S):
            _log.warning("a job did not pause in %g s; the next start begins it again", JOB_GRACE_S)
            return
        self.threads.close()
        self.workspaces.close()
        self.records.close()


def is_loopback(host: str) -> bool:
    """Tell whether an address or a name is of this machine alone."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


_PROBE = "ready"


class ModelLoader:
    """Loads the model in a thread of its own, so that the first question need not wait for it.

    ``state`` is "none" without a local model, "loading", "ready" or "failed". A failure is logged
    and not raised: the request that needs the model reports it.
    """

    def __init__(self, open_embedder: Callable[[], Embedder | None]) -> None:
        self._open_embedder = open_embedder
        self._embedder: Embedder | None = None  # keeps the model in memory
        self._thread = threading.Thread(target=self._load, name="load-model", daemon=True)
        self.state = "none"

    def start(self) -> None:
        """Begin to load."""
        self.state = "loading"
        self._thread.start()

    def wait(self, timeout_s: float | None = None) -> None:
        """Wait until the model is loaded, or cannot be; not at all before `start`."""
        if self._thread.is_alive():
            self._thread.join(timeout_s)

    def _load(self) -> None:
        started = time.monotonic()
        try:
            self._embedder = self._open_embedder()
            if self._embedder is None or getattr(self._embedder, "is_loaded", True):
                self.state = "ready" if self._embedder else "none"
                return
            _log.info("loading the model %s", self._embedder.name)
            self._embedder.embed([_PROBE])
        except KnotworkError as error:
            self.state = "failed"
            _log.warning("the embedding model cannot be loaded: %s", error)
            return
        self.state = "ready"
        _log.info("%s is ready after %.1f s", self._embedder.name, time.monotonic() - started)


REQUEST_GRACE_S = 20
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
                timeout_graceful_shutdown=REQUEST_GRACE_S,
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
            signal.signal(signal.SIGTERM, _ignore_signal)
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


def _ignore_signal(_number: int, _frame: object) -> None:
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
