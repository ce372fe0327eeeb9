"""Connect to a Ray cluster, or start one on this machine.

Ray is connected on first use and only by this module. Its telemetry and dashboard stay off, and its
logs go to its own files. A connection that the program opened before is used and left open.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from knotwork._cancellation import check_cancelled
from knotwork._indexing.workers import worker_count
from knotwork.errors import ConfigError, IndexingError, KnotworkError, MissingExtra

_log = logging.getLogger("knotwork.indexing")

RAY = "ray"
_CLIENT = "ray://"
_PROBE_S = 60.0
_POLL_S = 0.1
_ANSWER_S = 10.0

ACTOR_RETRIES = 3
"""How often a call is repeated whose actor was lost."""

CONTINUE_FIX = "Run the same command again to continue; finished documents are kept."


@dataclass(frozen=True, slots=True)
class Node:
    """A machine of the cluster: its id, and what Ray may use of it."""

    id: str
    cpus: float
    gpus: float


class RayCluster:
    """The cluster that ``compute`` names: "ray", "ray://HOST:PORT" or "ray:ADDRESS".

    "ray" starts one on this machine with a processor for each of ``workers``. Raises MissingExtra
    if Ray is not installed.
    """

    def __init__(self, compute: str, *, workers: int) -> None:
        feature = f'index.compute = "{compute}"'
        needed = ("ray", "grpc") if compute.startswith(_CLIENT) else ("ray",)
        if any(importlib.util.find_spec(module) is None for module in needed):
            raise MissingExtra(feature, RAY)
        self._compute = compute
        self._workers = workers
        self._ray: Any = None
        self._is_ours = False

    @property
    def ray(self) -> Any:  # noqa: ANN401 - a module without types
        """The module of Ray, connected. Raises ConfigError if the cluster cannot be used."""
        if self._ray is None:
            self._ray = self._connect()
            if self._address != "local":
                self._check_nodes()
        return self._ray

    @property
    def nodes(self) -> list[Node]:
        """The machines of the cluster that run, those with most processors first."""
        found = [
            Node(node["NodeID"], resources.get("CPU", 0.0), resources.get("GPU", 0.0))
            for node in self.ray.nodes()
            if node["Alive"] and (resources := node["Resources"]).get("CPU", 0.0) > 0
        ]
        return sorted(found, key=lambda node: (-node.cpus, node.id))

    @property
    def slots(self) -> int:
        """The number of documents that may be read at the same time."""
        cpus = max(1, int(sum(node.cpus for node in self.nodes)))
        return min(cpus, self._workers) if self._workers > 0 else cpus

    def is_done(self, ref: object, *, seconds: float = 0.0) -> bool:
        """Wait at most this long for a result, and return True if it is ready."""
        with self._reported():
            ready, _ = self.ray.wait([ref], timeout=seconds)
        return bool(ready)

    def result(self, ref: object) -> Any:  # noqa: ANN401 - of any function
        """Wait for a result and return it.

        Raises Cancelled while it waits; what the function raised; the errors of `lost_errors`;
        IndexingError if the cluster fails.
        """
        while not self.is_done(ref, seconds=_POLL_S):
            check_cancelled()
        with self._reported():
            return self.ray.get(ref)

    @property
    def lost_errors(self) -> tuple[type[Exception], ...]:
        """The errors of a task whose process or machine was lost more often than Ray retries."""
        errors = self.ray.exceptions
        return (
            errors.WorkerCrashedError,
            errors.OutOfMemoryError,
            errors.NodeDiedError,
            errors.ObjectLostError,
            errors.RayActorError,
        )

    def close(self) -> None:
        """Disconnect, and end the cluster if it was started here."""
        if self._ray is not None and self._is_ours:
            self._ray.shutdown()
        self._ray = None

    @property
    def _address(self) -> str:
        """The address for Ray: that of a client, "auto", HOST:PORT, or "local"."""
        if self._compute == RAY:
            return "local"
        return self._compute if self._compute.startswith(_CLIENT) else self._compute[len(RAY) + 1 :]

    def _connect(self) -> Any:  # noqa: ANN401
        self._check_answer()
        # Read when Ray is imported, and the only switch: Ray would report its use over the network.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        import ray

        if ray.is_initialized():
            return ray
        options: dict[str, object] = {"logging_level": logging.ERROR, "log_to_driver": False}
        if self._address == "local":
            options |= {"num_cpus": worker_count(self._workers), "include_dashboard": False}
        try:
            with _own_signals():
                self._init(ray, options)
        except (OSError, RuntimeError, ValueError, TimeoutError, ray.exceptions.RayError) as error:
            raise ConfigError(
                f'The Ray cluster of index.compute = "{self._compute}" cannot be used: '
                f"{_reason(error)}",
                fix='Check the address, or set index.compute = "processes".',
            ) from error
        self._is_ours = True
        return ray

    def _check_answer(self) -> None:
        """Raise ConfigError if nothing answers at the address, which Ray notes after minutes."""
        host, colon, port = self._address.removeprefix(_CLIENT).rpartition(":")
        if not colon or not port.isdecimal():
            return
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=_ANSWER_S).close()
        except (OSError, OverflowError) as error:
            raise ConfigError(
                f'The Ray cluster of index.compute = "{self._compute}" does not answer: {error}',
                fix="Check the address, and that the cluster runs: ray status",
            ) from error

    def _init(self, ray: Any, options: Mapping[str, object]) -> None:  # noqa: ANN401
        """Connect; try again as a client, whose process on the cluster may be slow to start."""
        try:
            ray.init(self._address, **options)
        except ConnectionError:
            if not self._compute.startswith(_CLIENT):
                raise
            ray.init(self._address, **options)

    def _check_nodes(self) -> None:
        """Raise ConfigError if the nodes lack Knotwork, or have another version of it."""
        here = node_version()
        ask = self.ray.remote(num_cpus=0, max_retries=1)(node_version)
        fix = f"Install knotwork[ray]=={here} on every node of the cluster."
        try:
            found = self.ray.get(ask.remote(), timeout=_PROBE_S)
        except self.ray.exceptions.RayError as error:
            self.close()
            raise ConfigError(
                f'A node of the Ray cluster "{self._compute}" cannot run Knotwork: '
                f"{_reason(error)}",
                fix=fix,
            ) from error
        if found != here:
            self.close()
            raise ConfigError(
                f'A node of the Ray cluster "{self._compute}" has Knotwork {found}, and this '
                f"process {here}.",
                fix=fix,
            )

    @contextmanager
    def _reported(self) -> Iterator[None]:
        """Raise IndexingError for an error of Ray that no retry of a task mends."""
        errors = self.ray.exceptions
        try:
            yield
        except self.lost_errors:
            raise
        except errors.RayTaskError as error:
            cause = error.cause
            raise IndexingError(
                f"A Ray worker failed with {type(cause).__name__}: {cause}",
                fix="Install the same packages on every node of the cluster. " + CONTINUE_FIX,
            ) from error
        except (errors.RayError, ConnectionError) as error:
            raise IndexingError(
                f'The Ray cluster of index.compute = "{self._compute}" failed: {_reason(error)}',
                fix=CONTINUE_FIX,
            ) from error


def _reason(error: Exception) -> str:
    """Return the last line of an error, which follows the traceback of another process if any."""
    return next(reversed(str(error).strip().splitlines()), type(error).__name__)


def node_version() -> str:
    """Return the version of Knotwork on the node that runs this."""
    return version("knotwork")


@contextmanager
def _own_signals() -> Iterator[None]:
    """Keep the handler of SIGTERM, which Ray replaces by one that exits at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, handler)


def cancel_all(cluster: RayCluster, refs: Sequence[object]) -> None:
    """Stop tasks whose results nobody waits for."""
    for ref in refs:
        try:
            cluster.ray.cancel(ref)
        except Exception as error:  # noqa: BLE001 - the cluster may be gone, as the task then is
            _log.debug("a task of Ray was not cancelled: %s", error)


def actor_result(cluster: RayCluster, ref: object, *, lost: Callable[[str], KnotworkError]) -> Any:  # noqa: ANN401 - of any method
    """Wait for what a method of an actor returns, and return it, or raise it if it is our error.

    Raises ``lost`` of the reason if each attempt has ended the actor.
    """
    try:
        value = cluster.result(ref)
    except cluster.lost_errors as error:
        raise lost(str(error).strip().splitlines()[0]) from error
    if isinstance(value, KnotworkError):
        raise value
    return value


def end_actors(cluster: RayCluster, actors: Sequence[Any]) -> None:
    """End actors, with what they do."""
    for actor in actors:
        try:
            cluster.ray.kill(actor)
        except Exception as error:  # noqa: BLE001 - the cluster may be gone, as they then are
            _log.debug("an actor of Ray was not ended: %s", error)
