"""Running jobs in threads of their own: one at a time in a workspace, the oldest first."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from functools import partial
from typing import Any

from knotwork.errors import Conflict, KnotworkError, NotFound, Overloaded
from knotwork.service.jobs.progress import JobStopped, Progress
from knotwork.service.jobs.records import Job, JobRecords, JobState
from knotwork.service.jobs.work import WORK
from knotwork.service.workspaces import Workspaces

MOST_QUEUED = 1_000

_log = logging.getLogger("knotwork.service")


class JobRunner:
    """Does the jobs that are on record; ``most`` of them at a time. Safe for many threads."""

    def __init__(self, workspaces: Workspaces, records: JobRecords, *, most: int) -> None:
        self._workspaces = workspaces
        self._records = records
        self._most = most
        self._threads: dict[str, threading.Thread] = {}
        self._lock = threading.RLock()
        self._running: dict[str, Job] = {}
        self._cancelled: set[str] = set()
        self._pausing = False

    def start(self) -> None:
        """Go on with what was not finished when the last server ended."""
        with self._lock:
            for job in self._records.open_jobs():
                if job.state is JobState.RUNNING:
                    self._records.set_state(job.id, JobState.QUEUED)
            self._dispatch()

    def submit(self, workspace: str, kind: str, arguments: Mapping[str, Any]) -> Job:
        """Put a job in the queue, and return it; one that waits for the same is returned as it is.

        Raises as `check`, and Overloaded for too many jobs.
        """
        self.check()
        with self._lock:
            if len(self._records.open_jobs()) >= MOST_QUEUED:
                raise Overloaded(f"{MOST_QUEUED:,} jobs wait already.", fix="Try again later.")
            job = self._records.add(workspace, kind, arguments)
            self._dispatch()
            return job

    def check(self) -> None:
        """Raise Conflict where nothing may be written, Overloaded while the server stops."""
        if self._workspaces.read_only:
            raise Conflict("This server only reads.", fix="Start it without --read-only.")
        if self._pausing:
            raise Overloaded("The server is stopping.", fix="Try again later.")

    def cancel(self, workspace: str, job_id: str) -> Job:
        """Stop a job after the step it is at; what it has done stays. Raises NotFound, Conflict."""
        with self._lock:
            job = self.find(workspace, job_id)
            if job.state is JobState.RUNNING and job.id in self._running:
                self._cancelled.add(job.id)
            elif not job.state.is_final:
                self._records.set_state(job.id, JobState.CANCELLED)
            else:
                raise Conflict(f"The job is {job.state} already.", fix="Start another one.")
            return self.find(workspace, job_id)

    def find(self, workspace: str, job_id: str) -> Job:
        """Return a job of a workspace. Raises NotFound."""
        job = self._records.find(workspace, job_id)
        if job is None:
            raise NotFound(
                f"There is no job `{job_id}` in `{workspace}`.", fix="List them: GET …/jobs"
            )
        return job

    def is_busy(self, workspace: str) -> bool:
        """Tell whether a job runs in a workspace."""
        with self._lock:
            return any(job.workspace == workspace for job in self._running.values())

    def pause(self) -> None:
        """Stop all jobs after the step they are at; the next server goes on with them."""
        with self._lock:
            self._pausing = True

    def close(self, *, wait_s: float) -> bool:
        """Pause, wait for running jobs to stop, and return whether all did in time."""
        self.pause()
        end = time.monotonic() + wait_s
        with self._lock:
            threads = list(self._threads.values())
        for thread in threads:
            thread.join(max(0.0, end - time.monotonic()))
        return not any(thread.is_alive() for thread in threads)

    def _dispatch(self) -> None:
        """Start what may start; called with the lock."""
        if self._pausing:
            return
        busy = {job.workspace for job in self._running.values()}
        for job in self._records.open_jobs():
            if len(self._running) >= self._most:
                return
            if job.state is JobState.QUEUED and job.workspace not in busy:
                busy.add(job.workspace)
                self._running[job.id] = job
                self._records.set_state(job.id, JobState.RUNNING)
                # Of no weight at the end: what a step has not written is as after a kill.
                thread = threading.Thread(target=self._run, args=(job,), daemon=True)
                self._threads[job.id] = thread
                thread.start()

    def _run(self, job: Job) -> None:
        """Do a job, note how it ended, and start the next one."""
        state, report, error = self._attempt(job)
        with self._lock:
            try:
                self._records.set_state(job.id, state, report=report, error=error)
            except KnotworkError:
                # It stays on record as running, and so is begun again by the next server.
                _log.exception("the end of job %s cannot be noted", job.id)
            self._running.pop(job.id, None)
            self._threads.pop(job.id, None)
            self._cancelled.discard(job.id)
            self._dispatch()

    def _attempt(
        self, job: Job
    ) -> tuple[JobState, Mapping[str, Any] | None, Mapping[str, Any] | None]:
        progress = Progress(
            partial(self._records.tell, job.id), is_stopping=partial(self._is_stopping, job.id)
        )
        try:
            with self._workspaces.lease(job.workspace) as workspace, workspace.writing:
                return JobState.FINISHED, WORK[job.kind](workspace, job.arguments, progress), None
        except JobStopped:
            cancelled = job.id in self._cancelled
            return (JobState.CANCELLED if cancelled else JobState.QUEUED), None, None
        except KnotworkError as error:
            told = {"code": error.code, "message": error.message, "fix": error.fix}
            return JobState.FAILED, None, told
        except Exception:  # noqa: BLE001  of ours or of a disk: it ends this job alone, and is told
            _log.exception("job %s failed", job.id)
            told = {
                "code": "internal_error",
                "message": "The job failed for a reason that the log of the server tells.",
                "fix": "Look there for the id of the job.",
            }
            return JobState.FAILED, None, told

    def _is_stopping(self, job_id: str) -> bool:
        return self._pausing or job_id in self._cancelled
