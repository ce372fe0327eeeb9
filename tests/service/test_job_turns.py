"""Turns of workspaces, by a scripted schedule on a clock of its own."""

from __future__ import annotations

import pytest

from knotwork._extensions.server.job_runner import JobTurns
from knotwork._extensions.server.job_store import NEXT_STATES, JobState, JobStore
from knotwork.errors import Conflict


class Schedule:
    """Workspaces with seconds of work; each works until its turn is over or its work is done."""

    def __init__(self, most: int, slice_s: float = 2.0) -> None:
        self.now = 0.0
        self.turns = JobTurns(most, slice_s=slice_s, clock=lambda: self.now)
        self.left: dict[str, float] = {}
        self.finished: dict[str, float] = {}

    def run(self, arrivals: dict[float, dict[str, float]]) -> dict[str, float]:
        """Work in steps of half a second; return when the work of each workspace was done."""
        while self.left or arrivals:
            self.left |= arrivals.pop(self.now, {})
            working = [name for name in self.left if self.turns.has(name)]
            for name in working:
                if self.turns.is_over(name):
                    self.turns.end(name)
            waiting = [name for name in self.left if not self.turns.has(name)]
            self.turns.grant(waiting)
            self.now += 0.5
            for name in [name for name in self.left if self.turns.has(name)]:
                self.left[name] -= 0.5
                if self.left[name] <= 0:
                    del self.left[name]
                    self.turns.end(name)
                    self.finished[name] = self.now
        return self.finished


def test_a_short_job_does_not_wait_for_a_long_one():
    finished = Schedule(1).run({0.0: {"long": 600.0}, 10.0: {"short": 1.0}})
    assert finished["short"] <= 13.0
    assert finished["long"] == 601.0


def test_equal_jobs_share_the_time_equally():
    finished = Schedule(1).run({0.0: {"a": 30.0, "b": 30.0, "c": 30.0}})
    assert max(finished.values()) == 90.0
    assert min(finished.values()) >= 86.0


def test_a_workspace_with_many_jobs_gets_no_more_than_its_share():
    """Its next job is queued as soon as one is done; another workspace still comes in between."""
    schedule = Schedule(1)
    order = []
    for _ in range(4):
        for name in schedule.turns.grant(["many", "other"]):
            order.append(name)
            schedule.turns.end(name)
    assert order == ["many", "other", "many", "other"]


def test_a_job_that_nobody_waits_for_keeps_its_turn():
    now = [0.0]
    turns = JobTurns(2, slice_s=2.0, clock=lambda: now[0])
    assert turns.grant(["a", "b"]) == ["a", "b"]
    now[0] = 3_600.0
    assert not turns.is_over("a")
    assert turns.grant(["c"]) == []
    assert turns.is_over("a")


def test_no_more_workspaces_work_than_may():
    turns = JobTurns(2)
    assert turns.grant(["a", "b", "c"]) == ["a", "b"]
    assert turns.grant(["c"]) == []
    turns.end("a")
    assert turns.grant(["c"]) == ["c"]
    assert (turns.has("a"), turns.has("b"), turns.has("c")) == (False, True, True)


STATES = list(JobState)


@pytest.mark.parametrize("after", STATES)
@pytest.mark.parametrize("before", STATES)
def test_a_job_takes_only_the_steps_of_the_table(tmp_path, before, after):
    paths = {
        JobState.QUEUED: [],
        JobState.RUNNING: [JobState.RUNNING],
        JobState.STOPPING: [JobState.RUNNING, JobState.STOPPING],
        JobState.FINISHED: [JobState.RUNNING, JobState.FINISHED],
        JobState.FAILED: [JobState.RUNNING, JobState.FAILED],
        JobState.CANCELLED: [JobState.RUNNING, JobState.STOPPING, JobState.CANCELLED],
    }
    records = JobStore.open(tmp_path / "jobs.db")
    job = records.add("one", "index", {})
    for state in paths[before]:
        records.set_state(job.id, state)
    is_open = job.id in [found.id for found in records.open_jobs()]
    assert is_open is not before.is_final
    if after in NEXT_STATES[before]:
        records.set_state(job.id, after)
        expected = after
    else:
        with pytest.raises(Conflict, match=f"already {before}"):
            records.set_state(job.id, after)
        expected = before
    assert records.find("one", job.id).state is expected
    records.close()
