"""What one server consists of, and how it begins and ends."""

from __future__ import annotations

import ipaddress
import logging
from dataclasses import dataclass, field
from pathlib import Path

from knotwork.config import ServiceSettings, Settings
from knotwork.errors import ConfigError, MissingExtra
from knotwork.inference.base import Embedder
from knotwork.inference.registry import open_embedder
from knotwork.service.jobs.records import JobRecords
from knotwork.service.jobs.runner import JobRunner
from knotwork.service.keys import KeyFile, beside, keys_beside
from knotwork.service.meters import Meters
from knotwork.service.rates import RateLimiter
from knotwork.service.threads import Threads
from knotwork.service.warming import ModelWarmer
from knotwork.service.workspaces import DEFAULT_WORKSPACE, SUFFIX, Workspaces

RECORDS_FILE = ".knotwork-service.db"
PAUSE_S = 15.0
"""Seconds that jobs have to come to the end of a step once the server is told to stop."""

_FAILURES_PER_MINUTE = 60

_log = logging.getLogger("knotwork.service")


@dataclass(frozen=True, slots=True)
class Place:
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
        return beside(self.path, RECORDS_FILE)

    def check(self) -> None:
        """Raise ConfigError for a place that cannot be served, or not without a key."""
        if not self.path.is_dir() and self.path.suffix != SUFFIX and not self.path.is_file():
            raise ConfigError(
                f"`{self.path}` is neither a folder of indexes nor an index.",
                fix=f"Name a folder that is there, or a file that ends with {SUFFIX}.",
            )
        if not is_loopback(self.settings.service.host) and not KeyFile(self.keys_path).listed():
            raise ConfigError(
                f"Listening on `{self.settings.service.host}` needs a key, but none exists.",
                fix="Add one: knotwork keys add NAME",
            )


class Service:
    """The parts of a running server. Make it in the event loop that serves."""

    def __init__(self, place: Place, meters: Meters | None = None) -> None:
        self.place = place
        self.workspaces = Workspaces(place.path, place.settings, read_only=place.read_only)
        limits = self.limits
        self.keys = KeyFile(place.keys_path)
        self.threads = Threads(
            threads=limits.threads, waiting=limits.waiting, timeout_s=limits.timeout_s
        )
        self.rates = RateLimiter(limits.requests_per_minute)
        self.failures = RateLimiter(_FAILURES_PER_MINUTE)
        self.meters = meters or Meters()
        self.closing = False
        self.uploading: set[tuple[str, str, str]] = set()
        """Uploads under way that came with a key of their own."""
        self.records = JobRecords.open(place.records_path)
        self.jobs = JobRunner(self.workspaces, self.records, most=limits.jobs)
        self.warmer = ModelWarmer(self._open_embedder)

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
        if not self.jobs.close(wait_s=PAUSE_S):
            _log.warning("a job did not pause in %g s; the next start begins it again", PAUSE_S)
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
