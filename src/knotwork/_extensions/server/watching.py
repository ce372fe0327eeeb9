"""Start jobs for the watched folders of a workspace when their files change."""

from __future__ import annotations

import logging
import threading
from contextlib import suppress

from knotwork._cancellation import Cancellation, Cancelled
from knotwork._extensions.server.job_runner import JobRunner
from knotwork._indexing.watching import Watch
from knotwork.errors import KnotworkError

_log = logging.getLogger("knotwork.service")


class WatchThread:
    """A thread that queues a job for each path that is due; jobs have the usual limits."""

    def __init__(self, jobs: JobRunner, workspace: str, watch: Watch) -> None:
        self._jobs = jobs
        self._workspace = workspace
        self._watch = watch
        self._cancellation = Cancellation()

    def start(self) -> None:
        """Start the thread. It ends with the process, or soon after `stop`."""
        name = f"watch-{self._workspace}"
        threading.Thread(target=self._run, name=name, daemon=True).start()

    def stop(self) -> None:
        """Queue no more jobs."""
        self._cancellation.cancel()

    def _run(self) -> None:
        with self._cancellation.scope(), suppress(Cancelled):
            for due in self._watch.due():
                for path in due:
                    self._submit({"path": path, "filled_as": self._watch.filled_as(path)})

    def _submit(self, arguments: dict[str, object]) -> None:
        try:
            self._jobs.submit(self._workspace, "watch", arguments)
        except KnotworkError as error:  # too many jobs, or a connection that may come back
            _log.warning("cannot update a watched folder of `%s`: %s", self._workspace, error)
            self._watch.retry_soon()
