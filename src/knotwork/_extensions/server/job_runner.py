"""Run jobs in worker threads: one at a time in each workspace, oldest first.

Workspaces take turns: a job that has worked for a while pauses where it checks
its cancellation, and goes on when it is its turn again. `WORK` maps each kind of job to its
function. An interrupted job can be started again and does only what is left.
"""

from __future__ import annotations

import logging
import math
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from knotwork._cancellation import Cancellation, Cancelled, check_cancelled, checks_due
from knotwork._extensions.graphs.graph_import.graph_importer import describe_graph_import
from knotwork._extensions.server.evaluation_job import run_evaluation_job
from knotwork._extensions.server.job_store import Job, JobProgress, JobState, JobStore
from knotwork._extensions.server.private_files import make_private_folder
from knotwork._extensions.server.responses import describe_error
from knotwork._extensions.server.workspaces import Workspace, Workspaces
from knotwork._extensions.watching.watch import Watch, check_not_emptied
from knotwork._indexing.archives import enclosing_archive
from knotwork._indexing.changes import entry_path
from knotwork._indexing.report import IndexingInterrupted, IndexReport
from knotwork._indexing.sources import (
    is_inside,
    is_url,
    select_entries,
    store_roots,
    stored_roots,
)
from knotwork._shapes.indexing import describe_model_usage, describe_money, describe_report
from knotwork._stores.base import LedgerEntry
from knotwork.errors import (
    Conflict,
    IndexingError,
    InvalidRequest,
    KnotworkError,
    NotFound,
    Overloaded,
)

if TYPE_CHECKING:
    from knotwork._indexing.run import IndexOptions


SLICE_S = 2.0
"""Seconds that a job works before it gives way to the job of a workspace that waits."""


class JobTurns:
    """Decides which workspaces work, at most ``most`` at a time. Not thread-safe.

    A turn lasts until it is ended, or for ``slice_s`` once other workspaces wait. The workspace
    that has waited longest since its last turn is next, and one without a turn so far comes first.
    """

    def __init__(
        self, most: int, *, slice_s: float = SLICE_S, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._most = most
        self._slice_s = slice_s
        self._clock = clock
        self._ends: dict[str, float] = {}
        self._began: dict[str, int] = {}
        self._turns = 0
        self._some_wait = False

    def grant(self, wanting: Iterable[str]) -> list[str]:
        """Begin the turns that are free, and return their workspaces.

        ``wanting`` are all workspaces that have work and no turn, in the order in which they asked.
        """
        waiting = [workspace for workspace in wanting if workspace not in self._ends]
        waiting.sort(key=lambda workspace: self._began.get(workspace, 0))
        granted = waiting[: max(0, self._most - len(self._ends))]
        for workspace in granted:
            self._turns += 1
            self._began[workspace] = self._turns
            self._ends[workspace] = self._clock() + self._slice_s
        self._some_wait = len(waiting) > len(granted)
        return granted

    def has(self, workspace: str) -> bool:
        """Return True if it is the turn of a workspace."""
        return workspace in self._ends

    def is_over(self, workspace: str) -> bool:
        """Return True if a workspace has used its time and another one waits."""
        return self._some_wait and self._clock() >= self._ends.get(workspace, math.inf)

    def end(self, workspace: str) -> None:
        """End the turn of a workspace, if it has one."""
        self._ends.pop(workspace, None)


MOST_QUEUED = 1_000
MOST_STARTED = 8
"""Jobs that have been started and not ended, of which all but a few wait for their turn."""

MOST_CRASHES = 2
"""Times that a server may die at one place of a job before the job fails."""

_LOOK_S = 0.5
"""Seconds between two looks at jobs that other servers share."""

_LOOK_AGAIN_S = 10.0
"""Seconds to the next look after one that failed."""

_INTERNAL_ERROR = {
    "code": "internal_error",
    "message": "The job failed with an internal error.",
    "fix": "Look for the job's id in the server log.",
}

_log = logging.getLogger("knotwork.service")


class JobCancellation(Cancellation):
    """The cancellation of one job, which also calls ``give_way`` wherever the job may pause."""

    def __init__(self, give_way: Callable[[], None]) -> None:
        super().__init__()
        self._give_way = give_way
        self.thread = 0
        """The thread that runs the job."""

    def check(self) -> None:
        """Raise Cancelled if the job must stop; wait if it is not its turn."""
        super().check()
        if threading.get_ident() == self.thread:  # threads of the job hold what others wait for
            self._give_way()


@dataclass(slots=True)
class _StartedJob:
    job: Job
    cancellation: JobCancellation
    thread: threading.Thread
    is_paused: bool = False


class JobRunner:
    """Run the stored jobs, at most ``most`` at a time. Thread-safe."""

    def __init__(
        self,
        workspaces: Workspaces,
        records: JobStore,
        *,
        most: int,
        turns: JobTurns | None = None,
    ) -> None:
        self._workspaces = workspaces
        self._records = records
        self._most = max(most, MOST_STARTED)
        self._turns = turns or JobTurns(most)
        self._lock = threading.RLock()
        self._turn_changed = threading.Condition(self._lock)
        self._started: dict[str, _StartedJob] = {}
        """By workspace."""
        self._pausing = False
        self._ended = threading.Event()

    def start(self) -> None:
        """Continue the jobs that were not finished when the last server stopped.

        A job that was running when the last servers died, each time at the same place, fails. If
        other servers share the jobs, a thread looks for what they ask of this one.
        """
        self._look_around()
        if self._records.is_shared:
            threading.Thread(target=self._watch, name="shared-jobs", daemon=True).start()

    def _watch(self) -> None:
        pause_s = _LOOK_S
        while not self._ended.wait(pause_s):
            try:
                self._look_around()
                pause_s = _LOOK_S
            except KnotworkError as error:  # such as a lost connection, which may come back
                _log.warning("cannot read the jobs: %s", error)
                pause_s = _LOOK_AGAIN_S

    def _look_around(self) -> None:
        """Take over jobs that were left behind, stop those cancelled elsewhere, and start jobs."""
        with self._lock:
            for job in self._records.left_behind():
                if not self._records.adopt(job):
                    continue
                if job.state is JobState.STOPPING:
                    self._records.set_state(job.id, JobState.CANCELLED)
                elif job.state is JobState.RUNNING:
                    self._record_crash(job)
            for job in self._records.open_jobs():
                if job.state is JobState.STOPPING:
                    self._stop(job)
            self._dispatch()

    def _stop(self, job: Job) -> None:
        """Stop a job if this server runs it."""
        started = self._started.get(job.workspace)
        if started is not None and started.job.id == job.id:
            started.cancellation.cancel()
            self._turn_changed.notify_all()

    def _record_crash(self, job: Job) -> None:
        if self._records.count_crash(job) < MOST_CRASHES:
            self._records.set_state(job.id, JobState.QUEUED)
            return
        at = f"`{job.progress['uri']}`" if job.progress.get("uri") else "the same step"
        error = {
            "code": "job_interrupted",
            "message": f"The server ended {MOST_CRASHES} times while this job worked on {at}.",
            "fix": "Remove or split the file, or give the server more memory. Then retry the job.",
        }
        self._records.set_state(job.id, JobState.FAILED, error=error)

    def submit(self, workspace: str, kind: str, arguments: Mapping[str, Any]) -> Job:
        """Queue a job and return it, or return an equal job that is already queued.

        Raises like `check`, and Overloaded if `MOST_QUEUED` jobs are waiting.
        """
        self.check()
        with self._lock:
            if len(self._records.open_jobs()) >= MOST_QUEUED:
                raise Overloaded(
                    f"{MOST_QUEUED:,} jobs are already waiting.", fix="Try again later."
                )
            job = self._records.add(workspace, kind, arguments)
            self._dispatch()
            return job

    def check(self) -> None:
        """Raise Conflict on a read-only server, Overloaded while the server is stopping."""
        if self._workspaces.read_only:
            raise Conflict("This server is read-only.", fix="Start it without --read-only.")
        if self._pausing:
            raise Overloaded("The server is stopping.", fix="Try again later.")

    def cancel(self, workspace: str, job_id: str) -> Job:
        """Stop a job, within about two seconds; its results so far are kept.

        Returns the job, which is "stopping" until it has ended. Raises NotFound, or Conflict if the
        job has ended.
        """
        with self._lock:
            job = self.find(workspace, job_id)
            if job.state is not JobState.STOPPING:
                is_running = job.state is JobState.RUNNING
                state = JobState.STOPPING if is_running else JobState.CANCELLED
                self._records.set_state(job.id, state)
            self._stop(job)
            job = self.find(workspace, job_id)
            if job.state is JobState.STOPPING and not self._records.is_running(job.server):
                self._records.set_state(job.id, JobState.CANCELLED)
            return self.find(workspace, job_id)

    def find(self, workspace: str, job_id: str) -> Job:
        """Return a job of a workspace. Raises NotFound."""
        job = self._records.find(workspace, job_id)
        if job is None:
            raise NotFound(f"Unknown job `{job_id}` in `{workspace}`.", fix="List jobs: GET …/jobs")
        return job

    def pause(self) -> None:
        """Stop all jobs, within about two seconds. The next server continues them."""
        self._ended.set()
        with self._lock:
            self._pausing = True
            for started in self._started.values():
                started.cancellation.cancel()
            self._turn_changed.notify_all()

    def close(self, *, wait_s: float) -> bool:
        """Pause, wait for running jobs, and return True if all stopped within ``wait_s``.

        The others are recorded, so that the next server continues them as well.
        """
        self.pause()
        end = time.monotonic() + wait_s
        with self._lock:
            threads = [started.thread for started in self._started.values()]
        for thread in threads:
            thread.join(max(0.0, end - time.monotonic()))
        with self._lock:
            left = [started.job.id for started in self._started.values()]
            for job in self._records.open_jobs():
                if job.id in left and job.state is JobState.RUNNING:
                    self._records.set_state(job.id, JobState.QUEUED)
        return not any(thread.is_alive() for thread in threads)

    def _dispatch(self) -> None:
        """Begin the turns that are free: start jobs, or let paused ones go on. Holds the lock."""
        if self._pausing:
            return
        waiting: dict[str, Job] = {}
        for job in self._records.open_jobs():
            is_ours = job.server == self._records.server
            if is_ours and job.state is JobState.QUEUED and job.workspace not in self._started:
                waiting.setdefault(job.workspace, job)
        if len(self._started) >= self._most:
            waiting.clear()
        paused = [name for name, started in self._started.items() if started.is_paused]
        for workspace in self._turns.grant([*paused, *waiting]):
            if workspace in waiting:
                self._start(waiting[workspace])
        self._turn_changed.notify_all()

    def _start(self, job: Job) -> None:
        if not self._records.begin(job.id):
            self._turns.end(job.workspace)
            return
        cancellation = JobCancellation(partial(self._give_way, job.workspace))
        # A daemon: a step that never ends must not keep the process alive. Unfinished writes are
        # then recovered as after a kill.
        thread = threading.Thread(
            target=self._run, args=(job, cancellation), name=f"job-{job.id}", daemon=True
        )
        self._started[job.workspace] = _StartedJob(job, cancellation, thread)
        thread.start()

    def _give_way(self, workspace: str) -> None:
        """Pause the job of this thread if its turn is over, until its next turn."""
        if not self._turns.is_over(workspace):  # without the lock: called very often
            return
        with self._lock:
            started = self._started[workspace]
            self._turns.end(workspace)
            started.is_paused = True
            try:
                self._dispatch()
                while not self._turns.has(workspace):
                    checks_due()
                    self._turn_changed.wait()
            finally:
                started.is_paused = False

    def _run(self, job: Job, cancellation: JobCancellation) -> None:
        """Run a job, record how it ended, and start the next one."""
        cancellation.thread = threading.get_ident()
        with cancellation.scope():
            state, report, error = self._attempt(job)
        with self._lock:
            try:
                if state is None:
                    is_stopping = self.find(job.workspace, job.id).state is JobState.STOPPING
                    state = JobState.CANCELLED if is_stopping else JobState.QUEUED
                self._records.set_state(job.id, state, report=report, error=error)
            except Conflict:
                _log.info("job %s ended after it was recorded for the next start", job.id)
            except KnotworkError:
                # The job stays recorded as running, so the next server starts it again.
                _log.exception("cannot record the end of job %s", job.id)
            del self._started[job.workspace]
            self._turns.end(job.workspace)
            self._dispatch()

    def _attempt(self, job: Job) -> _Outcome:
        """Return the new state, report and error of a job; no state if it was interrupted."""
        progress = JobProgress(partial(self._records.add_event, job.id))
        try:
            with self._workspaces.lease(job.workspace) as workspace, _writing(workspace):
                return JobState.FINISHED, WORK[job.kind](workspace, job.arguments, progress), None
        except IndexingInterrupted as interruption:
            return None, index_report_json(interruption.report), None
        except KeyboardInterrupt:
            return None, None, None
        except KnotworkError as error:
            return JobState.FAILED, None, describe_error(error)
        except Exception:  # noqa: BLE001  a bug or a full disk ends this job only
            _log.exception("job %s failed", job.id)
            return JobState.FAILED, None, _INTERNAL_ERROR


_Outcome = tuple[JobState | None, Mapping[str, Any] | None, Mapping[str, Any] | None]
_LOCK_WAIT_S = 0.1


@contextmanager
def _writing(workspace: Workspace) -> Iterator[None]:
    """Hold the lock of a workspace. Raises Cancelled while an upload holds it."""
    while not workspace.writing.acquire(timeout=_LOCK_WAIT_S):
        check_cancelled()
    try:
        yield
    finally:
        workspace.writing.release()


Arguments = Mapping[str, Any]
JobReport = dict[str, Any]


def run_index(workspace: Workspace, arguments: Arguments, progress: JobProgress) -> JobReport:
    """Update the index from the uploaded files."""
    make_private_folder(workspace.uploads)
    return _index_paths(workspace, [str(workspace.uploads)], arguments, progress)


def run_reindex(workspace: Workspace, arguments: Arguments, progress: JobProgress) -> JobReport:
    """Update documents of the index, or all folders that were indexed.

    Files are read again if they or the settings changed, or if reading them failed before.
    """
    store = workspace.base.store
    if not arguments["documents"]:
        roots = stored_roots(store)
        paths = [root for root in roots if is_url(root) or Path(root).exists()]
    else:
        paths = [entry_path(e) for e in _existing_entries(workspace, arguments) if e.root]
    paths = [path for path in paths if workspace.folders.may_read(path)]
    if not paths:
        return index_report_json(IndexReport())
    return _index_paths(workspace, paths, {**arguments, "retry": True}, progress)


def run_watched(workspace: Workspace, arguments: Arguments, progress: JobProgress) -> JobReport:
    """Update the index from a folder or URL that the server watches."""
    path = str(arguments["path"])
    if path not in workspace.folders.followed():  # any more
        return index_report_json(IndexReport())
    check_not_emptied(workspace.base.store, path, arguments["filled_as"])
    return _index_paths(workspace, [path], arguments, progress)


def run_delete(workspace: Workspace, arguments: Arguments, progress: JobProgress) -> JobReport:
    """Remove documents from the index, and delete the files of uploaded ones."""
    progress.enter("remove")
    entries = _existing_entries(workspace, arguments)
    for path in uploaded_files(workspace, entries):
        path.unlink(missing_ok=True)
    known = {entry.uri for entry in entries}
    for uri in arguments["documents"]:
        if uri not in known and (upload := waiting_upload(workspace, uri)):
            upload.unlink(missing_ok=True)
    removed = workspace.base.delete([entry.uri for entry in entries]) if entries else ()
    _refresh_communities(workspace, progress)
    return {"removed": list(removed)}


def run_unfollow(workspace: Workspace, arguments: Arguments, progress: JobProgress) -> JobReport:
    """Remove the documents of a folder that the workspace does not follow any more.

    Those that are in another indexed folder too stay.
    """
    progress.enter("remove")
    store, path = workspace.base.store, str(arguments["path"])
    if path in workspace.folders.followed():  # again
        return {"removed": []}
    roots = [root for root in stored_roots(store) if root != path]
    places = {e.uri: entry_path(e) for e in store.ledger.entries() if e.root}
    gone = [
        uri
        for uri, place in places.items()
        if is_inside(place, path) and not any(is_inside(place, root) for root in roots)
    ]
    removed = workspace.base.delete(gone) if gone else ()
    store_roots(store, roots)
    _refresh_communities(workspace, progress)
    return {"removed": list(removed)}


def run_graph_import(
    workspace: Workspace, arguments: Arguments, progress: JobProgress
) -> JobReport:
    """Import an uploaded graph, and delete the upload once it is in the index."""
    folder = workspace.graphs / str(arguments["folder"])
    if not folder.is_dir():
        raise InvalidRequest("The uploaded files of the graph are missing.", fix="Upload again.")
    progress.enter("read")
    with hide_folder(folder):
        run = workspace.base.graph.import_files.run(
            [folder / name for name in arguments["files"]],
            format=arguments["format"],
            name=arguments["name"],
            columns=arguments["columns"],
            delimiter=arguments["delimiter"],
            vectors=arguments["vectors"],
        )
        with run:
            for step in run:
                progress.count(step.stage, step.done, step.total)
            report = run.result()
    shutil.rmtree(folder)
    _refresh_communities(workspace, progress)
    return describe_graph_import(report)


def run_communities(workspace: Workspace, arguments: Arguments, progress: JobProgress) -> JobReport:
    """Update communities, their reports and the map, without a language model."""
    progress.enter("communities")
    workspace.base.communities.update(rebuild=bool(arguments["rebuild"]))
    workspace.map.current(workspace.base.store)
    return {}


WORK: Mapping[str, Callable[[Workspace, Arguments, JobProgress], JobReport]] = {
    "index": run_index,
    "reindex": run_reindex,
    "watch": run_watched,
    "delete": run_delete,
    "unfollow": run_unfollow,
    "communities": run_communities,
    "evaluate": run_evaluation_job,
    "import_graph": run_graph_import,
}
"""The function of each kind of job."""


def is_upload(workspace: Workspace, entry: LedgerEntry) -> bool:
    """Return True if the file of a document was uploaded."""
    return bool(entry.root) and Path(entry_path(entry)).is_relative_to(workspace.uploads.absolute())


def waiting_upload(workspace: Workspace, uri: str) -> Path | None:
    """Return the uploaded file of a URI that no job has read yet, or None."""
    if workspace.base.store.ledger.get([uri]):
        return None
    with suppress(OSError, ValueError):  # no name of a file
        path = (workspace.files / uri).resolve()
        if path.is_file() and path.is_relative_to(workspace.uploads.resolve()):
            return path
    return None


def uploaded_files(workspace: Workspace, entries: Sequence[LedgerEntry]) -> list[Path]:
    """Return the uploaded files of documents, to delete them.

    Raises InvalidRequest for documents in an archive that has others: they would come back.
    """
    uploaded = [entry for entry in entries if is_upload(workspace, entry)]
    places = {entry.uri: Path(entry_path(entry)) for entry in uploaded}
    archives = {uri: enclosing_archive(place) for uri, place in places.items()}
    for archive in sorted(set(filter(None, archives.values()))):
        others = (e for e in workspace.base.store.ledger.entries() if is_upload(workspace, e))
        left = [
            e.uri
            for e in others
            if e.uri not in places and Path(entry_path(e)).is_relative_to(archive)
        ]
        if left:
            raise InvalidRequest(
                f"The archive `{archive.name}` also has `{left[0]}`, so that its documents cannot "
                "be deleted one by one.",
                fix="Delete all documents of the archive, or upload it without these files.",
            )
    return sorted({archives[uri] or place for uri, place in places.items()})


def known_entries(workspace: Workspace, uris: Sequence[str]) -> list[LedgerEntry]:
    """Return the ledger entries of documents. Raises InvalidRequest for an unknown URI."""
    known = workspace.base.store.ledger.get(uris)
    missing = [uri for uri in uris if uri not in known]
    if missing:
        raise InvalidRequest(
            f"Unknown document `{missing[0]}`.", fix="List documents: GET …/documents"
        )
    return [known[uri] for uri in dict.fromkeys(uris)]


def _existing_entries(workspace: Workspace, arguments: Arguments) -> list[LedgerEntry]:
    """Return the documents of a job that still exist; an interrupted job may have removed some."""
    store = workspace.base.store
    existing = list(store.ledger.get(arguments["documents"]))
    return select_entries(store, existing) if existing else []


def _index_paths(
    workspace: Workspace, paths: Sequence[str], arguments: Mapping[str, Any], progress: JobProgress
) -> JobReport:
    options: IndexOptions = {
        "retry": bool(arguments.get("retry")),
        "tier": arguments.get("tier"),
        "budget": str(arguments.get("budget", "")),
    }
    with workspace.base.index.run(paths, **options) as run:
        for step in run:
            progress.show(step)
        report = run.result()
    _refresh_communities(workspace, progress)
    return index_report_json(report)


def _refresh_communities(workspace: Workspace, progress: JobProgress) -> None:
    """Update communities and the map now, so that no request has to wait for them.

    Does nothing for a store without communities, which the report of indexing names.
    """
    if workspace.base.store.capabilities.communities is None:
        return
    if not workspace.base.communities.is_current():
        progress.enter("communities")
        workspace.base.communities.update()
    workspace.map.current(workspace.base.store)


_IMPORT_FIX = "Set the `format` of the files, or the `columns` of a table."


@contextmanager
def hide_folder(folder: Path) -> Iterator[None]:
    """Remove the folder of the server from the messages of indexing errors."""
    try:
        yield
    except IndexingError as error:
        raise IndexingError(error.message.replace(f"{folder}/", ""), fix=_IMPORT_FIX) from error


def index_report_json(report: IndexReport) -> dict[str, Any]:
    """Return the object of `knotwork index --json`, with usage and money also without a model."""
    return {
        **describe_report(report),
        "usage": describe_model_usage(report.usage),
        "money": describe_money(report.money),
    }


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
