"""Store jobs, their events and progress, and responses to uploads in one SQLite file."""

from __future__ import annotations

import contextlib
import json
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

from knotwork._cancellation import check_cancelled
from knotwork._indexing.report import EventKind, IndexEvent
from knotwork._sqlite_file import FULL, NORMAL, SqliteFile, is_damage, sync_commits
from knotwork._sqlite_pages import READ_WRITE
from knotwork.errors import Conflict, StoreBusy, StoreError

MOST_EVENTS = 5_000
"""Events stored for one job; the oldest are deleted first."""

MOST_FINISHED = 500
"""Finished jobs stored for one workspace; the oldest are deleted first."""

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
CREATE TABLE IF NOT EXISTS crash (
    job TEXT PRIMARY KEY, place TEXT NOT NULL, times INTEGER NOT NULL);
"""
_COLUMNS = (
    "id, workspace, kind, arguments, state, created, started, finished, progress, report, error"
)


class JobState(StrEnum):
    """The state of a job."""

    QUEUED = "queued"
    RUNNING = "running"
    STOPPING = "stopping"
    FINISHED = "finished"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_final(self) -> bool:
        """Whether the job has ended."""
        return not NEXT_STATES[self]


NEXT_STATES: Mapping[JobState, frozenset[JobState]] = {
    JobState.QUEUED: frozenset({JobState.RUNNING, JobState.CANCELLED}),
    JobState.RUNNING: frozenset(
        # Queued again: the server was stopped, and the next one continues the job.
        {JobState.STOPPING, JobState.FINISHED, JobState.FAILED, JobState.QUEUED}
    ),
    JobState.STOPPING: frozenset({JobState.CANCELLED, JobState.FINISHED, JobState.FAILED}),
    JobState.FINISHED: frozenset(),
    JobState.FAILED: frozenset(),
    JobState.CANCELLED: frozenset(),
}
"""The states that may follow each state; none after a final one."""

_OPEN_STATES = tuple(state for state in JobState if not state.is_final)
_OPEN_PLACES = ", ".join("?" for _ in _OPEN_STATES)


@dataclass(frozen=True, slots=True)
class Job:
    """One piece of work in a workspace. Times are ISO 8601, or empty if not reached yet."""

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
    """An event of a job; ``number`` increases over all jobs."""

    number: int
    kind: str
    body: Mapping[str, Any]


class JobStore:
    """The database of jobs, locked by one server at a time. Thread-safe."""

    def __init__(self, connection: apsw.Connection, file: SqliteFile) -> None:
        self._connection = connection
        self._file = file
        self._lock = threading.Lock()

    @classmethod
    def open(cls, path: Path) -> JobStore:
        """Open the database, and create it if it does not exist.

        Raises StoreBusy while another server uses it, StoreError if it cannot be opened or is
        damaged.
        """
        file = SqliteFile(
            str(path),
            "job database",
            0,
            repair="Move the file away: the list of jobs is lost, documents and answers are not.",
        )
        try:
            connection = file.connect(flags=READ_WRITE, busy_timeout_s=0)
            # Exclusive: two servers of the same folder would run every job twice.
            connection.pragma("locking_mode", "exclusive")
            connection.pragma("journal_mode", "wal")
            sync_commits(connection)
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(_TABLES)
            connection.execute("COMMIT")
        except (apsw.BusyError, apsw.LockedError) as error:
            raise StoreBusy(
                f"Another server uses `{path}`.", fix="Stop it, or serve another folder."
            ) from error
        except (apsw.Error, OSError) as error:
            if is_damage(error):
                raise file.damaged(error) from error
            raise StoreError(
                f"Cannot open the job database `{path}`: {error}.",
                fix="Check that its folder is writable.",
            ) from error
        return cls(connection, file)

    def add(self, workspace: str, kind: str, arguments: Mapping[str, Any]) -> Job:
        """Queue a job, or return an equal job that is already queued.

        A queued job has read nothing yet, so it also does the work of the new one.
        """
        text = json.dumps(arguments, sort_keys=True)
        with self._writing():
            for job in self._select(
                "workspace = ? AND kind = ? AND state = ? AND arguments = ?",
                (workspace, kind, JobState.QUEUED, text),
            ):
                return job
            job = Job(secrets.token_hex(8), workspace, kind, arguments, JobState.QUEUED, utc_now())
            self._connection.execute(
                "INSERT INTO job VALUES (?, (SELECT coalesce(max(n), 0) + 1 FROM job), ?, ?, ?, ?, "
                "?, '', '', '{}', '{}', '{}')",
                (job.id, workspace, kind, text, job.state, job.created),
            )
            self._insert_event(job.id, "state", {"state": job.state})
            self._delete_old_jobs(workspace)
        return job

    def find(self, workspace: str, job: str) -> Job | None:
        """Return the job with this id in a workspace, or None."""
        with self._reading():
            found = self._select("workspace = ? AND id = ?", (workspace, job))
        return found[0] if found else None

    def jobs(self, workspace: str, *, limit: int, kind: str = "") -> list[Job]:
        """Return the jobs of a workspace, newest first; those of one kind if ``kind`` is set."""
        with self._reading():
            return self._select(
                "workspace = ? AND (? = '' OR kind = ?) ORDER BY n DESC LIMIT ?",
                (workspace, kind, kind, limit),
            )

    def open_jobs(self) -> list[Job]:
        """Return the jobs of all workspaces that have not ended, oldest first."""
        with self._reading():
            return self._select(f"state IN ({_OPEN_PLACES}) ORDER BY n", _OPEN_STATES)

    def counts(self) -> dict[str, int]:
        """Return the number of jobs by state."""
        with self._reading():
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
        """Store the state of a job, with its report or its error, and add a "state" event.

        Raises Conflict if the state cannot follow the current one (`NEXT_STATES`).
        """
        column = "started" if state is JobState.RUNNING else "finished" if state.is_final else ""
        with self._writing():
            for (before,) in self._connection.execute("SELECT state FROM job WHERE id = ?", (job,)):
                if state not in NEXT_STATES[JobState(before)]:
                    raise Conflict(f"The job is already {before}.", fix="Start a new job.")
            if column:
                self._connection.execute(
                    f"UPDATE job SET state = ?, {column} = ? WHERE id = ?",  # noqa: S608
                    (state, utc_now(), job),
                )
            else:
                self._connection.execute("UPDATE job SET state = ? WHERE id = ?", (state, job))
            for name, value in (("report", report), ("error", error)):
                if value is not None:
                    self._connection.execute(
                        f"UPDATE job SET {name} = ? WHERE id = ?",  # noqa: S608
                        (json.dumps(value), job),
                    )
            body = {"state": state, "report": report, "error": error}
            self._insert_event(job, "state", {key: value for key, value in body.items() if value})

    def add_event(self, job: str, kind: str, body: Mapping[str, Any]) -> None:
        """Add an event; a "progress" event also becomes the progress of the job.

        It does not wait for the disk: a power failure may lose it, but not the state of a job.
        """
        with self._writing(NORMAL):
            if kind == "progress":
                self._connection.execute(
                    "UPDATE job SET progress = ? WHERE id = ?", (json.dumps(body), job)
                )
            self._insert_event(job, kind, body)

    def count_crash(self, job: Job) -> int:
        """Count that a server died while it ran a job; return how often in a row at this place.

        The place is the file in progress, or the step with what it had done.
        """
        progress = job.progress
        place = progress.get("uri") or f"{progress.get('stage', '')} {progress.get('done', 0)}"
        with self._writing():
            self._connection.execute(
                "INSERT INTO crash VALUES (?1, ?2, 1) ON CONFLICT (job) DO UPDATE SET"
                " times = CASE WHEN place = ?2 THEN times + 1 ELSE 1 END, place = ?2",
                (job.id, place),
            )
            rows = self._connection.execute("SELECT times FROM crash WHERE job = ?", (job.id,))
            found: list[Any] = rows.fetchall()
        return int(found[0][0])

    def events(self, job: str, *, after: int = 0, limit: int = 500) -> list[JobEvent]:
        """Return the events of a job with a number above ``after``, in order."""
        with self._reading():
            rows = self._connection.execute(
                "SELECT n, kind, body FROM event WHERE job = ? AND n > ? ORDER BY n LIMIT ?",
                (job, min(after, 2**62), limit),
            )
            return [JobEvent(n, kind, json.loads(body)) for n, kind, body in rows]

    def stored_response(self, caller: str, workspace: str, key: str) -> tuple[str, Any] | None:
        """Return the fingerprint of the request that used this key, and the response to it."""
        with self._reading():
            rows: list[Any] = self._connection.execute(
                "SELECT request, body FROM answer WHERE caller = ? AND workspace = ? AND key = ?"
                " AND created > ?",
                (caller, workspace, key, _now_s() - KEEP_RESPONSES_S),
            ).fetchall()
            return (rows[0][0], json.loads(rows[0][1])) if rows else None

    def store_response(
        self,
        caller: str,
        workspace: str,
        key: str,
        request: str,
        body: Any,  # noqa: ANN401
    ) -> None:
        """Store the response to a request with a key for a day; ``request`` is its fingerprint."""
        with self._writing():
            now = _now_s()
            self._connection.execute(
                "DELETE FROM answer WHERE created <= ?", (now - KEEP_RESPONSES_S,)
            )
            self._connection.execute(
                "INSERT OR REPLACE INTO answer VALUES (?, ?, ?, ?, ?, ?)",
                (caller, workspace, key, request, now, json.dumps(body)),
            )

    def forget(self, workspace: str) -> None:
        """Delete the jobs and stored responses of a workspace."""
        with self._writing():
            self._connection.execute(
                "DELETE FROM event WHERE job IN (SELECT id FROM job WHERE workspace = ?)",
                (workspace,),
            )
            self._connection.execute(
                "DELETE FROM crash WHERE job IN (SELECT id FROM job WHERE workspace = ?)",
                (workspace,),
            )
            for table in ("job", "answer"):
                self._connection.execute(f"DELETE FROM {table} WHERE workspace = ?", (workspace,))  # noqa: S608

    def close(self) -> None:
        """Close the database, and release it for another server."""
        with self._lock:
            self._connection.close()

    @contextlib.contextmanager
    def _writing(self, synchronous: str = FULL) -> Iterator[None]:
        try:
            with self._lock:
                sync_commits(self._connection, synchronous)
                with self._connection:
                    yield
        except (apsw.Error, ValueError) as error:
            if isinstance(error, ValueError) or is_damage(error):
                raise self._file.damaged(error) from error
            raise StoreError(
                f"Cannot write to the job database `{self._file.path}`: {error}.",
                fix="Check its disk.",
            ) from error

    @contextlib.contextmanager
    def _reading(self) -> Iterator[None]:
        """Use the connection, and raise IndexDamaged for what cannot be read or decoded."""
        with self._lock, self._file.translated_errors(busy_timeout_s=0):
            try:
                yield
            except (ValueError, TypeError, RecursionError) as error:
                raise self._file.damaged(error) from error

    def _insert_event(self, job: str, kind: str, body: Mapping[str, Any]) -> None:
        self._connection.execute(
            "INSERT INTO event (job, kind, body) VALUES (?, ?, ?)", (job, kind, json.dumps(body))
        )
        self._connection.execute(
            "DELETE FROM event WHERE job = ? AND n <= (SELECT n FROM event WHERE job = ? "
            "ORDER BY n DESC LIMIT 1 OFFSET ?)",
            (job, job, MOST_EVENTS),
        )

    def _delete_old_jobs(self, workspace: str) -> None:
        old = (
            f"SELECT id FROM job WHERE workspace = ? AND state NOT IN ({_OPEN_PLACES}) "  # noqa: S608
            "ORDER BY n DESC LIMIT -1 OFFSET ?"
        )
        bindings = (workspace, *_OPEN_STATES, MOST_FINISHED)
        self._connection.execute(f"DELETE FROM event WHERE job IN ({old})", bindings)  # noqa: S608
        self._connection.execute(f"DELETE FROM crash WHERE job IN ({old})", bindings)  # noqa: S608
        self._connection.execute(f"DELETE FROM job WHERE id IN ({old})", bindings)  # noqa: S608

    def _select(self, where: str, bindings: Sequence[str | int]) -> list[Job]:
        rows = self._connection.execute(
            f"SELECT {_COLUMNS} FROM job WHERE {where}",  # noqa: S608
            bindings,
        )
        return [_to_job(row) for row in rows]


def _to_job(row: Sequence[Any]) -> Job:
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


def utc_now() -> str:
    """Return the time as ISO 8601 in UTC, with milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _now_s() -> float:
    return datetime.now(UTC).timestamp()


PROGRESS_INTERVAL_S = 0.25
"""Minimum time between two progress events of one stage, in seconds."""

AddEvent = Callable[[str, Mapping[str, Any]], None]
"""Takes the kind and the body of an event."""

_STAGES = {
    EventKind.DISCOVERED: "discover",
    EventKind.STARTED: "load",
    EventKind.READING: "load",
    EventKind.READ: "extract",
    EventKind.LOADING: "embed",
    EventKind.EMBEDDED: "embed",
    EventKind.REMOVED: "remove",
}
_STORE_STAGE = "store"


class Progress:
    """Report the progress of a job at a limited rate.

    Each method raises Cancelled if the job must stop.
    """

    def __init__(self, add_event: AddEvent) -> None:
        self._add_event = add_event
        self._reported_s = 0.0
        self._stage = ""
        self._failed = 0

    def enter(self, stage: str) -> None:
        """Report the start of a stage."""
        check_cancelled()
        self._report({"stage": stage})

    def show(self, event: IndexEvent) -> None:
        """Report an indexing event; every failure gets an event of its own."""
        check_cancelled()
        if event.kind is EventKind.FAILED:
            self._failed += 1
            failure = {"uri": event.uri, "reason": event.reason, "message": event.message}
            self._add_event("failure", failure)
        stage = event.message if event.kind is EventKind.ENRICHING else ""
        stage = stage or _STAGES.get(event.kind, _STORE_STAGE)
        is_last = event.report is not None
        if stage == self._stage and not self._is_due() and not is_last:
            return
        self._report(
            {
                "stage": stage,
                "uri": event.uri,
                "done": event.done,
                "total": event.total,
                "chunks": event.chunks,
                "chunks_known": event.chunks_known,
                "bytes": event.bytes_read,
                "bytes_total": event.bytes_total,
                "failed": self._failed,
            }
        )

    def count(self, stage: str, done: int, total: int, **more: object) -> None:
        """Report how much of a stage is done; only the first and last step are always stored."""
        check_cancelled()
        if stage != self._stage or done == total or self._is_due():
            self._report({"stage": stage, "done": done, "total": total, **more})

    def _is_due(self) -> bool:
        return time.monotonic() - self._reported_s >= PROGRESS_INTERVAL_S

    def _report(self, body: Mapping[str, Any]) -> None:
        self._reported_s, self._stage = time.monotonic(), str(body["stage"])
        self._add_event("progress", body)
