"""Run jobs in worker threads: one at a time in each workspace, oldest first.

The functions in `WORK` do the work. An interrupted job can be started again and does only what is
left.
"""

from __future__ import annotations

import logging
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from knotwork.errors import (
    Conflict,
    IndexingError,
    InvalidRequest,
    KnotworkError,
    NotFound,
    Overloaded,
)
from knotwork.indexing.changes import entry_path
from knotwork.indexing.graph_import.graph_importer import describe_graph_import
from knotwork.indexing.report import IndexReport, describe_counts
from knotwork.indexing.sources import select_entries, stored_roots
from knotwork.service.evaluation_job import run_evaluation_job
from knotwork.service.job_store import Job, JobState, JobStopped, JobStore, Progress
from knotwork.service.workspaces import Workspace, Workspaces
from knotwork.stores.base import LedgerEntry

if TYPE_CHECKING:
    from knotwork.indexing.graph_import import GraphImportReport
    from knotwork.indexing.runs import IndexOptions


MOST_QUEUED = 1_000

_log = logging.getLogger("knotwork.service")


class JobRunner:
    """Does the jobs that are on record; ``most`` of them at a time. Safe for many threads."""

    def __init__(self, workspaces: Workspaces, records: JobStore, *, most: int) -> None:
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


JobReport = dict[str, Any]


def run_index(workspace: Workspace, arguments: Mapping[str, Any], progress: Progress) -> JobReport:
    """Bring the index up to date with the uploaded files."""
    workspace.uploads.mkdir(parents=True, exist_ok=True)
    return _index_paths(workspace, [workspace.uploads], arguments, progress)


def run_reindex(
    workspace: Workspace, arguments: Mapping[str, Any], progress: Progress
) -> JobReport:
    """Look again at documents that are in the index, or at all folders it was made from.

    Files are read again where they, or the settings, changed, or could not be read before.
    """
    store = workspace.base.store
    if not arguments["documents"]:
        paths = [Path(root) for root in stored_roots(store) if Path(root).exists()]
    else:
        paths = [Path(entry_path(e)) for e in _existing_entries(workspace, arguments) if e.root]
    options = {**arguments, "retry": True}
    return (
        _index_paths(workspace, paths, options, progress)
        if paths
        else index_report_json(IndexReport())
    )


def run_delete(workspace: Workspace, arguments: Mapping[str, Any], progress: Progress) -> JobReport:
    """Remove documents from the index, and their files where they were uploaded."""
    progress.enter("remove")
    entries = _existing_entries(workspace, arguments)
    for entry in entries:
        if is_upload(workspace, entry):
            Path(entry_path(entry)).unlink(missing_ok=True)
    removed = workspace.base.delete([entry.uri for entry in entries]) if entries else ()
    _refresh_communities(workspace, progress)
    return {"removed": list(removed)}


def run_graph_import(
    workspace: Workspace, arguments: Mapping[str, Any], progress: Progress
) -> JobReport:
    """Import a graph that was sent."""
    report = import_uploaded_graph(workspace, arguments, progress)
    _refresh_communities(workspace, progress)
    return report


def run_communities(
    workspace: Workspace, arguments: Mapping[str, Any], progress: Progress
) -> JobReport:
    """Bring communities and their reports up to date; no language model is asked."""
    progress.enter("communities")
    workspace.base.communities(limit=1, rebuild=bool(arguments["rebuild"]))
    workspace.map.of(workspace.base.store)
    return {}


WORK: Mapping[str, Callable[[Workspace, Mapping[str, Any], Progress], JobReport]] = {
    "index": run_index,
    "reindex": run_reindex,
    "delete": run_delete,
    "communities": run_communities,
    "evaluate": run_evaluation_job,
    "import_graph": run_graph_import,
}
"""What each kind of job does."""


def is_upload(workspace: Workspace, entry: LedgerEntry) -> bool:
    """Return whether a document lies in the folder of uploads."""
    return bool(entry.root) and Path(entry_path(entry)).is_relative_to(workspace.uploads.absolute())


def known_entries(workspace: Workspace, uris: Sequence[str]) -> list[LedgerEntry]:
    """Return the documents of these uris. Raises InvalidRequest for one that is not there."""
    known = workspace.base.store.ledger.get(uris)
    missing = [uri for uri in uris if uri not in known]
    if missing:
        raise InvalidRequest(
            f"There is no document `{missing[0]}`.", fix="List those there are: GET …/documents"
        )
    return [known[uri] for uri in dict.fromkeys(uris)]


def _existing_entries(workspace: Workspace, arguments: Mapping[str, Any]) -> list[LedgerEntry]:
    """Return those of the documents that are still there: the job may be running a second time."""
    store = workspace.base.store
    there = list(store.ledger.get(arguments["documents"]))
    return select_entries(store, there) if there else []


def _index_paths(
    workspace: Workspace, paths: Sequence[Path], arguments: Mapping[str, Any], progress: Progress
) -> JobReport:
    options: IndexOptions = {
        "retry": bool(arguments.get("retry")),
        "tier": arguments.get("tier"),
        "budget": str(arguments.get("budget", "")),
    }
    report = IndexReport()
    events = workspace.base.index_events([str(path) for path in paths], **options)
    with closing(events) as steps:  # type: ignore[type-var]
        for event in steps:
            report = event.report or report
            progress.show(event)
    _refresh_communities(workspace, progress)
    return index_report_json(report)


def _refresh_communities(workspace: Workspace, progress: Progress) -> None:
    """Have communities, and the map of them, ready before somebody asks for them."""
    if not workspace.base.has_communities:
        progress.enter("communities")
        workspace.base.communities(limit=1)
    workspace.map.of(workspace.base.store)


_IMPORT_FIX = "Name the `format` of the files, or the `columns` of a table."


def import_uploaded_graph(
    workspace: Workspace, arguments: Mapping[str, Any], progress: Progress
) -> dict[str, Any]:
    """Import the graph of a folder, and remove the folder once it is in the index."""
    folder = workspace.graphs / str(arguments["folder"])
    if not folder.is_dir():
        raise InvalidRequest("The files of the graph are gone.", fix="Send them again.")
    progress.enter("read")
    report: GraphImportReport | None = None
    with hide_folder(folder):
        steps = workspace.base.import_graph_steps(
            graph_files(folder, arguments["files"]),
            format=arguments["format"],
            name=arguments["name"],
            columns=arguments["columns"],
            delimiter=arguments["delimiter"],
            vectors=arguments["vectors"],
        )
        with closing(steps) as told:  # type: ignore[type-var]
            for step in told:
                report = step.report or report
                progress.count(step.stage, step.done, step.total)
    assert report is not None, "the last step has the report"
    shutil.rmtree(folder)
    return describe_graph_import(report)


def graph_files(folder: Path, names: list[str]) -> list[Path]:
    """Return the files of a folder, in the order in which they were sent."""
    return [folder / name for name in names]


@contextmanager
def hide_folder(folder: Path) -> Iterator[None]:
    """Have errors tell files by their names, and not where they lie on the server."""
    try:
        yield
    except IndexingError as error:
        raise IndexingError(error.message.replace(f"{folder}/", ""), fix=_IMPORT_FIX) from error


def index_report_json(report: IndexReport) -> dict[str, Any]:
    """Return what a run did and cost; its counts are those of `knotwork index --json`."""
    return {
        **describe_counts(report),
        "without_vectors": report.without_vectors,
        "usage": {stage: asdict(used) for stage, used in report.usage.items()},
        "money": None if report.money is None else str(report.money),
        "seconds": {stage: round(value, 3) for stage, value in report.seconds.items()},
        "notes": list(report.notes),
    }
