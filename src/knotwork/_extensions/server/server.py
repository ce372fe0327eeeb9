"""Run the server: its configuration, its components, model preloading, and uvicorn."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import math
import os
import signal
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import uvicorn
from fastapi import FastAPI

from knotwork._cancellation import Cancellation, Cancelled
from knotwork._config import ServiceSettings, Settings
from knotwork._extensions.server.connections import (
    ACCEPTED_AT_ONCE,
    ConnectionLimits,
    ConnectionTable,
    ProxyNetworks,
    fit_file_limit,
    protocol_of,
)
from knotwork._extensions.server.job_runner import JobRunner, WatchThread
from knotwork._extensions.server.job_store import JOBS, JobStore
from knotwork._extensions.server.keys import (
    AccessKey,
    KeyFile,
    OpenRequests,
    hidden_file_beside,
    keys_beside,
)
from knotwork._extensions.server.limits import ByteQuota, QuietLog, RateLimiter, Threads
from knotwork._extensions.server.memories import OffersOfKeys
from knotwork._extensions.server.observability import Metrics
from knotwork._extensions.server.originals import PageDrawer
from knotwork._extensions.server.private_files import place_name
from knotwork._extensions.server.workspaces import (
    DEFAULT_WORKSPACE,
    INDEX_SUFFIX,
    UPLOADS,
    Workspaces,
)
from knotwork._extensions.watching.watch import Watch, require_extra
from knotwork._indexing.loaders.loader import MEGABYTE
from knotwork._indexing.sources import absolute_path, is_url
from knotwork._inference.embedder import Embedder
from knotwork._inference.model_registry import open_embedder
from knotwork._sqlite_file import IN_MEMORY
from knotwork._stores.base import companions_of
from knotwork._synthesis.ask_request import AskRequest
from knotwork.errors import (
    ConfigError,
    KnotworkError,
    MissingExtra,
    NotFound,
    StoreReadOnly,
    StoreUnavailable,
)

RECORDS_FILE = ".knotwork-service.db"
PLACE_FILE = ".knotwork-place"
"""The file with the name of the folder of uploads, for servers that share jobs."""

DATABASE_ANSWER_S = 3.0
JOB_GRACE_S = 3.0
"""Grace period of running jobs at shutdown, in seconds."""

SHUTDOWN_S = 4.0
"""Seconds after a signal when the process ends, even if a request or a job has not."""

_FAILURES_PER_MINUTE = 60
_MOST_BODIES = 128 * MEGABYTE
_MOST_BODIES_PER_CLIENT = 32 * MEGABYTE

_log = logging.getLogger("knotwork.service")


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """What to serve: a folder of indexes or one index, with the settings for all of them.

    ``url`` is that of an index on a database server, "" for files. The files of the service itself,
    such as keys, jobs and uploads, are then beside ``path``, a file that does not exist.
    """

    path: Path
    settings: Settings = field(default_factory=Settings)
    read_only: bool = False
    url: str = ""
    watched: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The watched folders and URLs of each workspace."""
    every_s: float = 3_600
    allowed: Sequence[str] = ()
    """Folders that people may have their workspaces follow."""

    @property
    def keys_path(self) -> Path:
        """The key file."""
        configured = self.settings.service.keys
        return Path(configured) if configured else keys_beside(self.path)

    @property
    def records_path(self) -> Path:
        """The job database."""
        return hidden_file_beside(self.path, RECORDS_FILE)

    def check(self) -> None:
        """Raise ConfigError for a path that cannot be served, folders that cannot be watched, an
        invalid proxy or a missing key.
        """
        if (self.watched or self.allowed) and self.read_only:
            raise ConfigError(
                "A read-only server cannot watch folders.",
                fix="Leave out --read-only, or --watch and --allow.",
            )
        is_file = self.path.suffix == INDEX_SUFFIX or self.path.is_file()
        if not self.url and not is_file and not self.path.is_dir():
            raise ConfigError(
                f"`{self.path}` is neither a folder of indexes nor an index.",
                fix=f"Choose an existing folder, or a file that ends with {INDEX_SUFFIX}.",
            )
        for paths in self.watched.values():
            Watch(paths, every_s=self.every_s)  # needs its extra
        if allowed_folders(self.allowed):
            require_extra()
        ProxyNetworks(self.settings.service.trusted_proxies)
        if not is_loopback(self.settings.service.host) and not KeyFile(self.keys_path).listed():
            raise ConfigError(
                f"Listening on `{self.settings.service.host}` requires a key, but none exists.",
                fix="Add one: knotwork keys add NAME",
            )


def allowed_folders(paths: Iterable[str]) -> dict[str, str]:
    """Return the absolute paths of allowed folders by name. Raises ConfigError.

    A folder that does not exist is allowed: its disk may be mounted later.
    """
    found: dict[str, str] = {}
    for given in paths:
        path = absolute_path(given)
        name = Path(path).name
        if is_url(given) or name in ("", UPLOADS) or Path(path).is_file():
            raise ConfigError(
                f"`--allow {given}` does not name a folder that can be chosen.",
                fix=f"Give a folder of this machine, but not `/` and not one called `{UPLOADS}`.",
            )
        if found.setdefault(name, path) != path:
            raise ConfigError(
                f"`{found[name]}` and `{path}` are both called `{name}`.",
                fix="Allow a link to one of them that has another name.",
            )
    return found


class Service:
    """The components of a running server. Create it in the event loop that serves."""

    def __init__(self, config: ServerConfig, metrics: Metrics | None = None) -> None:
        self.config = config
        allowed, settings = allowed_folders(config.allowed), config.settings
        if allowed:  # whoever may write to such a folder must not read others by a link
            settings = replace(settings, index=replace(settings.index, follow_links=False))
        self.workspaces = Workspaces(
            config.path,
            settings,
            read_only=config.read_only,
            url=config.url,
            allowed=allowed,
            watched=config.watched,
        )
        limits = self.limits
        self.keys = KeyFile(config.keys_path)
        self.threads = Threads(
            threads=limits.threads, waiting=limits.waiting, timeout_s=limits.timeout_s
        )
        self.statements = Threads(
            threads=max(1, limits.threads // 4),
            waiting=limits.waiting,
            timeout_s=limits.timeout_s,
        )
        """Threads for statements of callers, which can be as heavy as their limits allow."""

        self.bodies = ByteQuota(_MOST_BODIES, _MOST_BODIES_PER_CLIENT, "request bodies")
        """Bodies in memory, until their requests are answered."""

        upload = int(limits.max_upload_mb * MEGABYTE)
        self.received = ByteQuota(5 * upload, 2 * upload, "uploads")
        """Files of uploads on disk that are not stored or refused yet."""

        self.requests = OpenRequests()
        self.rates = RateLimiter(limits.requests_per_minute)
        self.failures = RateLimiter(_FAILURES_PER_MINUTE)
        self.metrics = metrics or Metrics()
        self.closing = False
        self.offers = OffersOfKeys()
        self.drawer = PageDrawer()
        self.records = self._open_records()
        self.jobs = JobRunner(self.workspaces, self.records, most=limits.jobs)
        self._watches: dict[str, WatchThread] = {}
        self._changing_watches = threading.Lock()
        self.warmer = ModelLoader(self._open_embedder, self._ask_once)
        self._asking_database = threading.Lock()

    @property
    def limits(self) -> ServiceSettings:
        """The settings of the server."""
        return self.config.settings.service

    async def check_database(self) -> None:
        """Raise StoreUnavailable if the index is on a database server that does not answer."""
        if not self.config.url:
            return

        def ask() -> None:
            """Read the generation of the index; one thread at a time waits for the database."""
            if not self._asking_database.acquire(timeout=DATABASE_ANSWER_S + 1):
                return  # whoever asked has given up
            try:
                with self.workspaces.lease(DEFAULT_WORKSPACE) as workspace:
                    workspace.base.store.generation()
            finally:
                self._asking_database.release()

        try:
            await asyncio.wait_for(asyncio.to_thread(ask), DATABASE_ANSWER_S)
        except TimeoutError:
            raise StoreUnavailable(
                f"The database has not answered within {DATABASE_ANSWER_S:g} seconds.",
                fix="Check that its server runs and can be reached.",
            ) from None

    def admits(self, key: AccessKey) -> bool:
        """Return True if a key still gives access; False if the key file cannot be read."""
        try:
            return self.keys.holds(key)
        except ConfigError:
            return False

    def threads_for(self, request: AskRequest) -> Threads:
        """Return the threads in which to answer a question."""
        return self.statements if request.retrieval_query else self.threads

    def start(self) -> None:
        """Load the model in the background, and continue unfinished jobs."""
        self.warmer.start()
        if not self.config.read_only:
            if self.records.is_alone:
                folders = (job.arguments.get("folder", "") for job in self.records.open_jobs())
                self.workspaces.discard_leftovers(waiting=set(folders))
            self.jobs.start()
            for name in self.config.watched.keys() - set(self.workspaces.names()):
                self.workspaces.create(name)
            for name in self.workspaces.names():
                self.watch_folders(name)

    def watch_folders(self, workspace: str) -> None:
        """Watch the folders that a workspace follows now, and no others; none if it is gone."""
        try:
            with self.workspaces.lease(workspace) as found:
                paths = found.folders.followed()
        except NotFound:
            paths = []
        with self._changing_watches:
            if before := self._watches.pop(workspace, None):
                before.stop()
            if paths and not self.closing:
                watch = Watch(paths, every_s=self.config.every_s)
                self._watches[workspace] = WatchThread(self.jobs, workspace, watch)
                self._watches[workspace].start()

    def _open_records(self) -> JobStore:
        """Open the jobs: a file beside what is served, or tables of an index on a server.

        A user of the database who may only read has no jobs, and needs none.
        """
        config = self.config
        if not config.url:
            return JobStore.open(config.records_path)
        with self.workspaces.lease(DEFAULT_WORKSPACE) as workspace:
            companions = companions_of(workspace.base.store)
        try:
            place = place_name(hidden_file_beside(config.path, PLACE_FILE))
            return JobStore(companions.open(JOBS), place)
        except StoreReadOnly:
            if not config.read_only:
                raise
            return JobStore.open(IN_MEMORY)

    def _open_embedder(self) -> Embedder | None:
        """Return the embedder of the one served index, or the default one for a folder."""
        if not self.workspaces.is_folder and (self.config.url or self.config.path.is_file()):
            with self.workspaces.lease(DEFAULT_WORKSPACE) as workspace:
                return workspace.base.embedder
        embedding = self.config.settings.embedding
        try:
            return open_embedder(embedding.model, embedding)
        except MissingExtra:
            return None

    def _ask_once(self) -> None:
        """Ask the workspace that was changed last, so that its first question waits for nothing.

        This opens one index, and loads what answers in its languages. No model server is asked.
        """
        name = self.workspaces.changed_last()
        if not name or not self.config.settings.rerank.model.startswith(("none", "local:")):
            return
        with self.workspaces.lease(name) as workspace:
            base = workspace.base
            if base.embedder is None or is_local(base.embedder):
                for question in _FIRST_QUESTIONS:
                    base.ask(question, use_llm=False)

    def begin_closing(self) -> None:
        """Accept no new work, and stop jobs and streams."""
        self.closing = True
        self.warmer.stop()
        with self._changing_watches:
            for watch in self._watches.values():
                watch.stop()
        self.jobs.pause()

    def close(self) -> None:
        """Wait for jobs and requests, and close all files.

        A job whose step exceeds the grace period ends with the process. Its index recovers as after
        a crash, and the next server continues the job.
        """
        self.begin_closing()
        self.drawer.close()
        if not self.jobs.close(wait_s=JOB_GRACE_S):
            _log.warning(
                "a job did not stop within %g s; the next start runs it again", JOB_GRACE_S
            )
            return
        self.warmer.wait()
        self.threads.close()
        self.statements.close()
        self.workspaces.close()
        self.records.close()


def is_loopback(host: str) -> bool:
    """Return True if an address or a host name means the loopback interface."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


_PROBE = "ready"
_FIRST_QUESTIONS = ("Who is responsible for this?", "这由谁负责？")


def is_local(embedder: Embedder) -> bool:
    """Return True if the model of an embedder runs in this process."""
    return hasattr(embedder, "is_loaded")


class ModelLoader:
    """Load the embedding model in a thread, so that the first question does not wait for it.

    ``state`` is "none" without a local model, "loading", "ready" or "failed". A failure is logged,
    not raised: the request that needs the model reports it. ``ask_once`` is called afterwards,
    unless the model is on a server.
    """

    def __init__(
        self,
        open_embedder: Callable[[], Embedder | None],
        ask_once: Callable[[], None] = lambda: None,
    ) -> None:
        self._open_embedder = open_embedder
        self._ask_once = ask_once
        self._cancellation = Cancellation()
        self._embedder: Embedder | None = None  # keeps the model in memory
        self._thread = threading.Thread(target=self._run, name="load-model", daemon=True)
        self.state = "none"

    def start(self) -> None:
        """Start loading."""
        self.state = "loading"
        self._thread.start()

    def stop(self) -> None:
        """Ask no more."""
        self._cancellation.cancel()

    def wait(self, timeout_s: float | None = None) -> None:
        """Wait until loading has ended. Returns immediately before `start`."""
        if self._thread.is_alive():
            self._thread.join(timeout_s)

    def _run(self) -> None:
        self._load()
        if self.state == "failed" or (self._embedder and not is_local(self._embedder)):
            return
        with self._cancellation.scope(), suppress(Cancelled):
            try:
                self._ask_once()
            except KnotworkError as error:  # whoever asks is told
                _log.info("could not ask in advance: %s", error)

    def _load(self) -> None:
        started = time.monotonic()
        try:
            self._embedder = self._open_embedder()
            if self._embedder is None or getattr(self._embedder, "is_loaded", True):
                self.state = "ready" if self._embedder else "none"
                return
            _log.info("loading the embedding model %s", self._embedder.name)
            self._embedder.embed([_PROBE])
        except KnotworkError as error:
            self.state = "failed"
            _log.warning("cannot load the embedding model: %s", error)
            return
        self.state = "ready"
        _log.info("%s is ready after %.1f s", self._embedder.name, time.monotonic() - started)


REQUEST_GRACE_S = 2
"""Grace period of open requests at shutdown, in seconds."""

_WAITING_CONNECTIONS = 1_024
"""Connections that the system holds until the server accepts them."""

_TURN_S = 0.000_5
_SHORT_TURN_S = 0.000_1
_TICK_S = 0.1
"""Seconds between two ticks of uvicorn, if the event loop is not busy."""

_LATE_S = 0.05
_TICKS_PER_SWEEP = 10


class KnotworkServer(uvicorn.Server):
    """A uvicorn server with limits of connections, which stops its jobs and streams before it
    waits for them.
    """

    def __init__(self, app: FastAPI) -> None:
        self._knotwork = app
        self._announce: Callable[[], None] = lambda: None
        limits: ServiceSettings = app.state.limits
        self.connections = ConnectionTable(
            ConnectionLimits(
                most=fit_file_limit(limits.connections),
                most_per_client=limits.connections_per_client,
                proxies=ProxyNetworks(limits.trusted_proxies),
            )
        )
        self._quiet = QuietLog(_log)
        self._closed: Counter[str] = Counter()
        self._may_exit = False
        self._ticked_s = math.inf
        super().__init__(
            uvicorn.Config(
                app,
                http=protocol_of(self.connections),
                ws="none",
                backlog=ACCEPTED_AT_ONCE,
                lifespan="on",
                log_config=None,
                log_level="critical",  # the application logs errors itself
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=REQUEST_GRACE_S,
                timeout_keep_alive=30,
            )
        )

    def serve_at(self, host: str, port: int, announce: Callable[[str], None]) -> None:
        """Serve until a signal or ``should_exit`` stops the server; ``announce`` gets the URL.

        Raises ConfigError if the address is not available, and the error that kept the application
        from starting.
        """
        listening = _listen(host, port)
        self._may_exit = threading.current_thread() is threading.main_thread()
        if self._may_exit:
            # uvicorn shuts down on this signal and raises it again afterwards.
            signal.signal(signal.SIGTERM, lambda _number, _frame: None)
        address = listening.getsockname()
        shown = f"[{address[0]}]" if ":" in address[0] else address[0]
        self._announce = lambda: announce(f"http://{shown}:{address[1]}")
        with listening, _turns_for_loop(), suppress(KeyboardInterrupt):
            self.run(sockets=[listening])
        failure: KnotworkError | None = getattr(self._knotwork.state, "failure", None)
        if failure is not None:
            raise failure

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and announce the URL."""
        asyncio.get_running_loop().set_exception_handler(self._handle_loop_error)
        await super().startup(sockets)
        for listening in sockets or ():
            # asyncio uses one number for the queue of the system and for what it accepts at once.
            listening.listen(_WAITING_CONNECTIONS)
        if not self.should_exit:
            self._announce()

    async def on_tick(self, counter: int) -> bool:
        """Close slow connections, about once a second, and keep the event loop in time."""
        now = time.monotonic()
        is_late = now - self._ticked_s > _TICK_S + _LATE_S
        self._ticked_s = now
        sys.setswitchinterval(_SHORT_TURN_S if is_late else _TURN_S)
        if counter % _TICKS_PER_SWEEP == 0:
            self.connections.sweep()
            self._log_closed()
        return await super().on_tick(counter)

    def _log_closed(self) -> None:
        closed = self.connections.closed - self._closed
        if closed:
            listed = ", ".join(f"{count:,} {reason}" for reason, count in sorted(closed.items()))
            self._quiet.write(logging.WARNING, "closed", f"closed connections: {listed}")
            self._closed = self.connections.closed.copy()

    def _handle_loop_error(
        self, loop: asyncio.AbstractEventLoop, context: dict[str, object]
    ) -> None:
        """Log errors of connections at a limited rate, without their tracebacks."""
        error = context.get("exception")
        if isinstance(error, OSError):
            what = f"{context.get('message')}: {error.strerror or error}"
            self._quiet.write(logging.WARNING, what, what)
        else:
            loop.default_exception_handler(context)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept no new connections, and wait for requests in progress."""
        if self._may_exit:
            deadline = threading.Timer(SHUTDOWN_S, _exit_now)
            deadline.daemon = True
            deadline.start()
        service = getattr(self._knotwork.state, "service", None)
        if service is not None:
            service.begin_closing()
        await super().shutdown(sockets)


@contextmanager
def _turns_for_loop() -> Iterator[None]:
    """Let the event loop interrupt threads that compute sooner than after Python's 5 ms.

    It gives up the interpreter at every system call, and waits a turn of each busy thread to get it
    back. During `benchmarks/service/attacks.py` a health check took up to 1.2 s with turns of half
    a millisecond, and 0.35 s with a tenth. Those cost four computing threads 10 % of their time, so
    they are for times when the loop is late (see `on_tick`).
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(_TURN_S)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def _exit_now() -> None:
    """End the process, which a thread that cannot be interrupted would keep alive."""
    _log.warning("some work did not stop within %g s; the next start continues it", SHUTDOWN_S)
    os._exit(0)


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server(
            (host.strip("[]"), port), family=family, backlog=_WAITING_CONNECTIONS
        )
    except OSError as error:
        raise ConfigError(
            f"Cannot listen on {host}, port {port}: {error.strerror or error}.",
            fix="Choose another port with --port, or 0 for any free port.",
        ) from error
    # Accepted connections inherit this option. asyncio sets it only on sockets created with an
    # explicit protocol. Without it, the second packet of each response waits 40 ms for the
    # acknowledgement of the first.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening
