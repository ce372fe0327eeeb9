"""Jobs, their events, progress and cached upload responses, in one SQLite file."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

import apsw

from knotwork.errors import StoreBusy, StoreError
from knotwork.indexing.report import EventKind, IndexEvent

MOST_EVENTS = 5_000
"""Events of one job that are kept; the oldest go first."""

MOST_FINISHED = 500
"""Finished jobs of one workspace that are kept."""

KEEP_RESPONSES_S = 86_400.0

_TABLES = """
CREATE TABLE IF NOT EXISTS job (
    id TEXT PRIMARY KEY, n INTEGER NOT NULL, workspace TEXT NOT NULL, kind TEXT NOT NULL,
    arguments TEXT NOT NULL, state TEXT NOT NULL, created TEXT NOT NULL, started TEXT NOT NULL,
    finished TEXT NOT NULL, progress TEXT NOT NULL, report TEXT NOT NULL, error TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS job_workspace ON job (workspace, n);
CREATE TABLE IF NOT EXISTS event (
    n INTEGER PRIMARY KEY AUTOINCREMENT, job TEXT NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS event_job ON event (job, n);
CREATE TABLE IF NOT EXISTS answer (
    caller TEXT NOT NULL, workspace TEXT NOT NULL, key TEXT NOT NULL, request TEXT NOT NULL,
    created REAL NOT NULL, body TEXT NOT NULL, PRIMARY KEY (caller, workspace, key)) WITHOUT ROWID;
"""
_COLUMNS = (
    "id, workspace, kind, arguments, state, created, started, finished, progress, report, error"
)


class JobState(StrEnum):
    """Where a job stands."""

    QUEUED = "queued"
    RUNNING = "running"
    FINISHED = "finished"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_final(self) -> bool:
        """Whether nothing more will happen."""
        return self not in (JobState.QUEUED, JobState.RUNNING)


@dataclass(frozen=True, slots=True)
class Job:
    """One piece of work in a workspace; times are ISO 8601, empty while they are to come."""

    id: str
    workspace: str
    kind: str
    arguments: Mapping[str, Any]
    state: JobState
    created: str
    started: str = ""
    finished: str = ""
    progress: Mapping[str, Any] = field(default_factory=dict)
    report: Mapping[str, Any] = field(default_factory=dict)
    error: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class JobEvent:
    """Something that happened to a job; ``number`` ascends over all jobs."""

    number: int
    kind: str
    body: Mapping[str, Any]


class JobStore:
    """The file of jobs, held by one server at a time. Safe for many threads."""

    def __init__(self, connection: apsw.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path
        self._lock = threading.Lock()

    @classmethod
    def open(cls, path: Path) -> JobStore:
        """Open the file, or make it.

        Raises StoreBusy while another server holds it, StoreError where it cannot be used.
        """
        try:
            with contextlib.suppress(FileExistsError):
                os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o600))
            connection = apsw.Connection(str(path))
            # Exclusive: two servers of one place would do every job twice.
            connection.pragma("locking_mode", "exclusive")
            connection.pragma("journal_mode", "wal")
            connection.pragma("synchronous", "normal")
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(_TABLES)
            connection.execute("COMMIT")
        except (apsw.BusyError, apsw.LockedError) as error:
            raise StoreBusy(
                f"Another server holds `{path}`.", fix="Stop it, or serve another folder."
            ) from error
        except (apsw.Error, OSError) as error:
            raise StoreError(
                f"The file of jobs `{path}` cannot be used: {error}.",
                fix="Check that its folder may be written to.",
            ) from error
        return cls(connection, path)

    def add(self, workspace: str, kind: str, arguments: Mapping[str, Any]) -> Job:
        """Add a job that waits for its turn; an equal one that waits already is returned instead.

        It has seen nothing yet, so that it will see what this one is for, too.
        """
        text = json.dumps(arguments, sort_keys=True)
        with self._writing():
            for job in self._select(
                "workspace = ? AND kind = ? AND state = ? AND arguments = ?",
                (workspace, kind, JobState.QUEUED, text),
            ):
                return job
            job = Job(secrets.token_hex(8), workspace, kind, arguments, JobState.QUEUED, _now())
            self._connection.execute(
                "INSERT INTO job VALUES (?, (SELECT coalesce(max(n), 0) + 1 FROM job), ?, ?, ?, ?, "
                "?, '', '', '{}', '{}', '{}')",
                (job.id, workspace, kind, text, job.state, job.created),
            )
            self._tell(job.id, "state", {"state": job.state})
            self._forget_old(workspace)
        return job

    def find(self, workspace: str, job: str) -> Job | None:
        """Return a job of a workspace, if there is one of this id."""
        with self._lock:
            found = self._select("workspace = ? AND id = ?", (workspace, job))
        return found[0] if found else None

    def jobs(self, workspace: str, *, limit: int, kind: str = "") -> list[Job]:
        """Return the jobs of a workspace, those of one kind if it is named, the newest first."""
        with self._lock:
            return self._select(
                "workspace = ? AND (? = '' OR kind = ?) ORDER BY n DESC LIMIT ?",
                (workspace, kind, kind, limit),
            )

    def open_jobs(self) -> list[Job]:
        """Return the jobs that are not finished, the oldest first."""
        with self._lock:
            return self._select("state IN (?, ?) ORDER BY n", (JobState.QUEUED, JobState.RUNNING))

    def counts(self) -> dict[str, int]:
        """Return the number of jobs by state."""
        with self._lock:
            rows = self._connection.execute("SELECT state, count(*) FROM job GROUP BY state")
            return {state: int(count) for state, count in rows}

    def set_state(
        self,
        job: str,
        state: JobState,
        *,
        report: Mapping[str, Any] | None = None,
        error: Mapping[str, Any] | None = None,
    ) -> None:
        """Note where a job stands, with its report or its error, and tell it as an event."""
        moment = "started" if state is JobState.RUNNING else "finished" if state.is_final else ""
        with self._writing():
            if moment:
                self._connection.execute(
                    f"UPDATE job SET state = ?, {moment} = ? WHERE id = ?",  # noqa: S608
                    (state, _now(), job),
                )
            else:
                self._connection.execute("UPDATE job SET state = ? WHERE id = ?", (state, job))
            for name, value in (("report", report), ("error", error)):
                if value is not None:
                    self._connection.execute(
                        f"UPDATE job SET {name} = ? WHERE id = ?",  # noqa: S608
                        (_dump(value), job),
                    )
            body = {"state": state, "report": report, "error": error}
            self._tell(job, "state", {key: value for key, value in body.items() if value})

    def tell(self, job: str, kind: str, body: Mapping[str, Any]) -> None:
        """Add an event; a "progress" is also where the job stands from now on."""
        with self._writing():
            if kind == "progress":
                self._connection.execute(
                    "UPDATE job SET progress = ? WHERE id = ?", (_dump(body), job)
                )
            self._tell(job, kind, body)

    def events(self, job: str, *, after: int = 0, limit: int = 500) -> list[JobEvent]:
        """Return the events of a job that come after one, in order."""
        with self._lock:
            rows: list[Any] = self._connection.execute(
                "SELECT n, kind, body FROM event WHERE job = ? AND n > ? ORDER BY n LIMIT ?",
                (job, min(after, 2**62), limit),
            ).fetchall()
        return [JobEvent(n, kind, json.loads(body)) for n, kind, body in rows]

    def answered(self, caller: str, workspace: str, key: str) -> tuple[str, Any] | None:
        """Return the request that came with this key before, as a hash, and what it was told."""
        with self._lock:
            rows: list[Any] = self._connection.execute(
                "SELECT request, body FROM answer WHERE caller = ? AND workspace = ? AND key = ?"
                " AND created > ?",
                (caller, workspace, key, _seconds() - KEEP_RESPONSES_S),
            ).fetchall()
        return (rows[0][0], json.loads(rows[0][1])) if rows else None

    def keep_answer(self, caller: str, workspace: str, key: str, request: str, body: Any) -> None:  # noqa: ANN401
        """Keep what a request with a key was told, for a day."""
        with self._writing():
            now = _seconds()
            self._connection.execute(
                "DELETE FROM answer WHERE created <= ?", (now - KEEP_RESPONSES_S,)
            )
            self._connection.execute(
                "INSERT OR REPLACE INTO answer VALUES (?, ?, ?, ?, ?, ?)",
                (caller, workspace, key, request, now, json.dumps(body)),
            )

    def forget(self, workspace: str) -> None:
        """Remove all that belongs to a workspace."""
        with self._writing():
            self._connection.execute(
                "DELETE FROM event WHERE job IN (SELECT id FROM job WHERE workspace = ?)",
                (workspace,),
            )
            for table in ("job", "answer"):
                self._connection.execute(f"DELETE FROM {table} WHERE workspace = ?", (workspace,))  # noqa: S608

    def close(self) -> None:
        """Close the file, and let another server have it."""
        with self._lock:
            self._connection.close()

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            with self._lock, self._connection:
                yield
        except apsw.Error as error:
            raise StoreError(
                f"The file of jobs `{self._path}` cannot be written: {error}.",
                fix="Check the disk it lies on.",
            ) from error

    def _tell(self, job: str, kind: str, body: Mapping[str, Any]) -> None:
        self._connection.execute(
            "INSERT INTO event (job, kind, body) VALUES (?, ?, ?)", (job, kind, _dump(body))
        )
        self._connection.execute(
            "DELETE FROM event WHERE job = ? AND n <= (SELECT n FROM event WHERE job = ? "
            "ORDER BY n DESC LIMIT 1 OFFSET ?)",
            (job, job, MOST_EVENTS),
        )

    def _forget_old(self, workspace: str) -> None:
        done = (
            "SELECT id FROM job WHERE workspace = ? AND state NOT IN (?, ?) "
            "ORDER BY n DESC LIMIT -1 OFFSET ?"
        )
        bindings = (workspace, JobState.QUEUED, JobState.RUNNING, MOST_FINISHED)
        self._connection.execute(f"DELETE FROM event WHERE job IN ({done})", bindings)  # noqa: S608
        self._connection.execute(f"DELETE FROM job WHERE id IN ({done})", bindings)  # noqa: S608

    def _select(self, where: str, bindings: Sequence[str | int]) -> list[Job]:
        rows = self._connection.execute(
            f"SELECT {_COLUMNS} FROM job WHERE {where}",  # noqa: S608
            bindings,
        )
        return [_job(row) for row in rows]


def _job(row: Sequence[Any]) -> Job:
    identifier, workspace, kind, arguments, state, created, started, finished, *rest = row
    return Job(
        identifier,
        workspace,
        kind,
        json.loads(arguments),
        JobState(state),
        created,
        started,
        finished,
        *map(json.loads, rest),
    )


def _dump(value: Mapping[str, Any]) -> str:
    return json.dumps(value)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _seconds() -> float:
    return datetime.now(UTC).timestamp()


PROGRESS_INTERVAL_S = 0.25
"""Seconds between two reports of progress, at least."""

ReportProgress = Callable[[str, Mapping[str, Any]], None]

_STAGES = {
    EventKind.DISCOVERED: "discover",
    EventKind.STARTED: "load",
    EventKind.READ: "extract",
    EventKind.LOADING: "embed",
    EventKind.EMBEDDED: "embed",
    EventKind.REMOVED: "remove",
}
_STORE_STAGE = "store"


class JobStopped(Exception):
    """The job was told to stop; what is finished is kept."""


class Progress:
    """Tells how far a job is, not too often, and stops it when it is to stop."""

    def __init__(self, tell: ReportProgress, *, is_stopping: Callable[[], bool]) -> None:
        self._tell = tell
        self._is_stopping = is_stopping
        self._told_s = 0.0
        self._stage = ""
        self._failed = 0

    def enter(self, stage: str) -> None:
        """Tell that a stage begins. Raises JobStopped."""
        self._check()
        self._put({"stage": stage})

    def show(self, event: IndexEvent) -> None:
        """Tell an event of indexing. Raises JobStopped."""
        self._check()
        if event.kind is EventKind.FAILED:
            self._failed += 1
            failure = {"uri": event.uri, "reason": event.reason, "message": event.message}
            self._tell("failure", failure)
        stage = event.message if event.kind is EventKind.ENRICHING else ""
        stage = stage or _STAGES.get(event.kind, _STORE_STAGE)
        is_last = event.report is not None
        if (
            stage == self._stage
            and time.monotonic() - self._told_s < PROGRESS_INTERVAL_S
            and not is_last
        ):
            return
        self._put(
            {
                "stage": stage,
                "uri": event.uri,
                "done": event.done,
                "total": event.total,
                "chunks": event.chunks,
                "chunks_known": event.chunks_known,
                "failed": self._failed,
            }
        )

    def count(self, stage: str, done: int, total: int, **more: object) -> None:
        """Tell how much of a stage is done; all but its first and last step may be left out.

        Raises JobStopped.
        """
        self._check()
        is_due = time.monotonic() - self._told_s >= PROGRESS_INTERVAL_S
        if stage != self._stage or done == total or is_due:
            self._put({"stage": stage, "done": done, "total": total, **more})

    def _put(self, body: Mapping[str, Any]) -> None:
        self._told_s, self._stage = time.monotonic(), str(body["stage"])
        self._tell("progress", body)

    def _check(self) -> None:
        if self._is_stopping():
            raise JobStopped
