"""Store jobs, their events and their progress."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

import apsw

from knotwork._cancellation import check_cancelled
from knotwork._companions import JOB_TABLES, Companion, CompanionDatabase, SqliteCompanion
from knotwork._run import Progress, Stage
from knotwork._shapes.base import fields_of
from knotwork._shapes.indexing import describe_progress
from knotwork._sqlite_file import SqliteFile, sync_commits, write_transaction
from knotwork.errors import Conflict, StoreBusy

T = TypeVar("T")

MOST_EVENTS = 5_000
"""Events stored for one job; the oldest are deleted first."""

MOST_FINISHED = 500
"""Finished jobs stored for one workspace; the oldest are deleted first."""


def _configure(connection: apsw.Connection) -> None:
    # Exclusive: two servers of the same folder would run every job twice.
    connection.pragma("locking_mode", "exclusive")
    connection.pragma("journal_mode", "wal")
    sync_commits(connection)


def _prepare(_file: SqliteFile, connection: apsw.Connection) -> None:
    with write_transaction(connection):
        connection.execute(JOB_TABLES)


_ADVICE = "Move the file away: the list of jobs is lost, documents and answers are not."
JOBS = Companion("job database", ".jobs", lambda _: _ADVICE, _configure, _prepare, busy_timeout_s=0)
"""Jobs of a server, and their events."""


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
_OPEN = ", ".join(f"'{state}'" for state in _OPEN_STATES)
_BEGUN = ", ".join(f"'{state}'" for state in (JobState.RUNNING, JobState.STOPPING))


@dataclass(frozen=True, slots=True)
class Job:
    """One piece of work in a workspace. Times are ISO 8601, or empty if not reached yet.

    ``server`` is the one that runs it, of those that share a job database.
    """

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
    server: str = ""


_READ: dict[str, Callable[[Any], Any]] = {field.name: str for field in fields(Job)}
_READ |= dict.fromkeys(("arguments", "progress", "report", "error"), json.loads)
_READ["state"] = JobState
"""For each column, what reads its value."""


@dataclass(frozen=True, slots=True)
class JobEvent:
    """An event of a job; ``number`` increases over all jobs."""

    number: int
    kind: str
    body: Mapping[str, Any]


class JobStore:
    """The jobs of a server, or of all servers of one index on a database server. Thread-safe.

    A server runs the jobs that were given to it, since their files are in its folder. ``place`` is
    the name of that folder. Servers of one place continue the jobs of each other: one whose server
    has ended is `left_behind`.
    """

    def __init__(self, database: CompanionDatabase, place: str = "") -> None:
        self._database = database
        self._place = place
        self.server = f"{place}/{secrets.token_hex(4)}"
        self.is_shared = database.path is None
        """Whether other servers may use the jobs."""
        database.claim(self.server)
        database.claim(place)

    @classmethod
    def open(cls, path: str | Path) -> JobStore:
        """Open the file of a server alone, and create it if it does not exist.

        Raises StoreBusy while another server uses it, StoreError if it cannot be opened or is
        damaged.
        """
        try:
            return cls(SqliteCompanion(str(path), JOBS))
        except StoreBusy as error:
            raise StoreBusy(
                f"Another server uses `{path}`.", fix="Stop it, or serve another folder."
            ) from error

    @property
    def is_alone(self) -> bool:
        """Whether no other server of this place runs."""
        return self._database.claims(self._place) == 1

    def is_running(self, server: str) -> bool:
        """Return True if a server runs."""
        return server != "" and self._database.claims(server) > 0

    def add(self, workspace: str, kind: str, arguments: Mapping[str, Any]) -> Job:
        """Queue a job for this server, or return an equal job that is already queued.

        A queued job has read nothing yet, so it also does the work of the new one.
        """
        text = json.dumps(arguments, sort_keys=True)
        with self._database.transaction():
            for job in self._select(
                "workspace = $1 AND kind = $2 AND state = $3 AND arguments = $4 AND server = $5",
                (workspace, kind, JobState.QUEUED, text, self.server),
            ):
                return job
            created = utc_now()
            job = Job(
                secrets.token_hex(8), workspace, kind, arguments, JobState.QUEUED, created,
                server=self.server,
            )  # fmt: skip
            self._database.change(
                "INSERT INTO job (id, n, workspace, kind, arguments, state, created, started,"
                " finished, progress, report, error, server)"
                " VALUES ($1, (SELECT coalesce(max(n), 0) + 1 FROM job), $2, $3, $4, $5, $6,"
                " '', '', '{}', '{}', '{}', $7)",
                (job.id, workspace, kind, text, job.state, created, self.server),
            )
            self._insert_event(job.id, "state", {"state": job.state})
            self._delete(
                f"workspace = $1 AND state NOT IN ({_OPEN}) ORDER BY n DESC LIMIT 1000 OFFSET $2",
                (workspace, MOST_FINISHED),
            )
        return job

    def left_behind(self) -> list[Job]:
        """Return the jobs of this place that have not ended and whose server has."""
        return [
            job
            for job in self.open_jobs()
            if job.server.rpartition("/")[0] == self._place and not self.is_running(job.server)
        ]

    def adopt(self, job: Job) -> bool:
        """Let this server run a job that was left behind; return False if another one does."""
        with self._database.transaction():
            changed = self._database.change(
                "UPDATE job SET server = $1 WHERE id = $2 AND server = $3",
                (self.server, job.id, job.server),
            )
        return changed == 1

    def begin(self, job: str) -> bool:
        """Set a queued job running; return False if it is no longer queued.

        It stays queued too while another server of this place runs one in the same workspace.
        """
        with self._database.transaction():
            begun = self._select(
                f"state IN ({_BEGUN}) AND server <> $1"  # noqa: S608  states of ours
                " AND workspace IN (SELECT workspace FROM job WHERE id = $2)",
                (self.server, job),
            )
            known = self._select("id = $1 AND state = $2", (job, JobState.QUEUED))
            places = {other.server.rpartition("/")[0] for other in begun}
            if not known or self._place in places:
                return False
            self._set_state(job, JobState.RUNNING, {})
        return True

    def find(self, workspace: str, job: str) -> Job | None:
        """Return the job with this id in a workspace, or None."""
        return next(iter(self._select("workspace = $1 AND id = $2", (workspace, job))), None)

    def jobs(self, workspace: str, *, limit: int, kind: str = "") -> list[Job]:
        """Return the jobs of a workspace, newest first; those of one kind if ``kind`` is set."""
        return self._select(
            "workspace = $1 AND ($2 = '' OR kind = $2) ORDER BY n DESC LIMIT $3",
            (workspace, kind, limit),
        )

    def open_jobs(self) -> list[Job]:
        """Return the jobs of all workspaces that have not ended, oldest first."""
        return self._select(f"state IN ({_OPEN}) ORDER BY n")

    def counts(self) -> dict[str, int]:
        """Return the number of jobs by state."""
        rows = self._database.rows("SELECT state, count(*) FROM job GROUP BY state")
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
        with self._database.transaction():
            self._set_state(job, state, {"report": report, "error": error})

    def _set_state(
        self, job: str, state: JobState, found: Mapping[str, Mapping[str, Any] | None]
    ) -> None:
        for before in self._select("id = $1", (job,)):
            if state not in NEXT_STATES[before.state]:
                raise Conflict(f"The job is already {before.state}.", fix="Start a new job.")
        changes: dict[str, str] = {"state": state}
        if state is JobState.RUNNING:
            changes["started"] = utc_now()
        elif state.is_final:
            changes["finished"] = utc_now()
        changes |= {name: json.dumps(value) for name, value in found.items() if value is not None}
        columns = ", ".join(f"{name} = ${n}" for n, name in enumerate(changes, start=1))
        self._database.change(
            f"UPDATE job SET {columns} WHERE id = ${len(changes) + 1}",  # noqa: S608  of columns
            (*changes.values(), job),
        )
        told = {name: value for name, value in found.items() if value}
        self._insert_event(job, "state", {"state": state, **told})

    def add_event(self, job: str, kind: str, body: Mapping[str, Any]) -> None:
        """Add an event; a "progress" event also becomes the progress of the job.

        It does not wait for the disk: a power failure may lose it, but not the state of a job.
        """
        with self._database.transaction(durable=False):
            if kind == "progress":
                self._database.change(
                    "UPDATE job SET progress = $1 WHERE id = $2", (json.dumps(body), job)
                )
            self._insert_event(job, kind, body)

    def count_crash(self, job: Job) -> int:
        """Count that a server died while it ran a job; return how often in a row at this place.

        The place is the file in progress, or the step with what it had done.
        """
        progress = job.progress
        place = progress.get("uri") or f"{progress.get('stage', '')} {progress.get('done', 0)}"
        with self._database.transaction():
            self._database.change(
                "INSERT INTO crash VALUES ($1, $2, 1) ON CONFLICT (job) DO UPDATE SET times ="
                " CASE WHEN crash.place = excluded.place THEN crash.times + 1 ELSE 1 END,"
                " place = excluded.place",
                (job.id, place),
            )
            found = self._database.rows("SELECT times FROM crash WHERE job = $1", (job.id,))
        return int(found[0][0])

    def events(self, job: str, *, after: int = 0, limit: int = 500) -> list[JobEvent]:
        """Return the events of a job with a number above ``after``, in order."""
        return self._read(
            JobEvent,
            {"n": int, "kind": str, "body": json.loads},
            "event WHERE job = $1 AND n > $2 ORDER BY n LIMIT $3",
            (job, min(after, 2**62), limit),
        )

    def forget(self, workspace: str) -> None:
        """Delete the jobs of a workspace."""
        with self._database.transaction():
            self._delete("workspace = $1", (workspace,))

    def close(self) -> None:
        """Close the database, and release it for another server."""
        self._database.close()

    def _insert_event(self, job: str, kind: str, body: Mapping[str, Any]) -> None:
        self._database.change(
            "INSERT INTO event (job, kind, body) VALUES ($1, $2, $3)", (job, kind, json.dumps(body))
        )
        self._database.change(
            "DELETE FROM event WHERE job = $1 AND n <= (SELECT n FROM event WHERE job = $1"
            " ORDER BY n DESC LIMIT 1 OFFSET $2)",
            (job, MOST_EVENTS),
        )

    def _delete(self, where: str, bindings: Sequence[str | int]) -> None:
        """Delete jobs, with what belongs to them."""
        for table, key in (("event", "job"), ("crash", "job"), ("job", "id")):
            self._database.change(
                f"DELETE FROM {table} WHERE {key} IN (SELECT id FROM job WHERE {where})",  # noqa: S608
                bindings,
            )

    def _select(self, where: str, bindings: Sequence[str | int] = ()) -> list[Job]:
        return self._read(Job, _READ, f"job WHERE {where}", bindings)

    def _read(
        self,
        record: Callable[..., T],
        columns: Mapping[str, Callable[[Any], Any]],
        source: str,
        bindings: Sequence[str | int],
    ) -> list[T]:
        """Return rows as records. Raises IndexDamaged for what cannot be decoded."""
        rows = self._database.rows(f"SELECT {', '.join(columns)} FROM {source}", bindings)  # noqa: S608
        try:
            return [
                record(*(read(value) for read, value in zip(columns.values(), row, strict=True)))
                for row in rows
            ]
        except (ValueError, TypeError, RecursionError) as error:
            raise self._database.damaged(error) from error


def utc_now() -> str:
    """Return the time as ISO 8601 in UTC, with milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


PROGRESS_INTERVAL_S = 0.25
"""Minimum time between two progress events of one stage, in seconds."""

AddEvent = Callable[[str, Mapping[str, Any]], None]
"""Takes the kind and the body of an event."""

_STAGES: Mapping[str, str] = {
    Stage.DISCOVERED: "discover",
    Stage.STARTED: "load",
    Stage.READING: "load",
    Stage.READ: "extract",
    Stage.LOADING: "model",
    Stage.EMBEDDED: "embed",
    Stage.REMOVED: "remove",
}
_STORE_STAGE = "store"


class JobProgress:
    """Report the progress of a job at a limited rate.

    Each method raises Cancelled if the job must stop.
    """

    def __init__(self, add_event: AddEvent) -> None:
        self._add_event = add_event
        self._began_s = time.monotonic()
        self._reported_s = 0.0
        self._stage = ""
        self._failed = 0
        self._before: int | None = None
        """Sources that were skipped before the first one was read."""

    def enter(self, stage: str) -> None:
        """Report the start of a stage."""
        check_cancelled()
        self._report({"stage": stage})

    def show(self, step: Progress) -> None:
        """Report a step of indexing; every failure gets an event of its own."""
        check_cancelled()
        if self._before is None and step.stage == Stage.STARTED:
            self._before = step.done
            self._failed = 0
        if step.stage == Stage.FAILED:
            self._failed += 1
            self._add_event("failure", fields_of(step.value, "uri", "reason", "message"))
        stage = step.note if step.stage == Stage.ENRICHING else ""
        stage = stage or _STAGES.get(step.stage, _STORE_STAGE)
        is_last = step.stage in (Stage.FINISHED, Stage.STOPPED)
        if stage == self._stage and not self._is_due() and not is_last:
            return
        counts, part = step.counts, step.counts.part
        more = {
            "before": step.done if self._before is None else self._before,
            "failed": self._failed,
            "chunks_expected": counts.chunks_expected,
            "part": part.done,
            "parts": part.total,
            "share": round(part.share, 3),
        }
        self._report({"stage": stage, **describe_progress(step), **more})

    def count(self, stage: str, done: int, total: int, **more: object) -> None:
        """Report how much of a stage is done; only the first and last step are always stored."""
        check_cancelled()
        if stage != self._stage or done == total or self._is_due():
            self._report({"stage": stage, "done": done, "total": total, **more})

    def _is_due(self) -> bool:
        return time.monotonic() - self._reported_s >= PROGRESS_INTERVAL_S

    def _report(self, body: Mapping[str, Any]) -> None:
        self._reported_s, self._stage = time.monotonic(), str(body["stage"])
        self._add_event("progress", {**body, "seconds": round(self._reported_s - self._began_s, 1)})
