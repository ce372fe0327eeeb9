"""Jobs that are cancelled, shut down or killed in the middle of real work."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
from contextlib import closing, contextmanager

import httpx2 as httpx
import pytest
from tests.service.serving import (
    API,
    await_job,
    make_settings,
    open_client,
    read_events,
    upload,
    wait_until,
)

from knotwork._cancellation import check_cancelled
from knotwork._extensions.server import job_runner as runner_module
from knotwork._extensions.server.job_runner import JobRunner, JobTurns
from knotwork._extensions.server.job_store import JobState, JobStore
from knotwork._extensions.server.server import ServerConfig
from knotwork._extensions.server.workspaces import Workspaces

pytestmark = pytest.mark.slow

ENVIRONMENT = {
    **os.environ,
    "KNOTWORK_EMBEDDING_MODEL": "hashing:64",
    "KNOTWORK_INDEX_WORKERS": "1",
    "OMP_NUM_THREADS": "1",
}
DEADLINE_S = 30
"""Far above the seconds that stopping takes, and below those that the work would take."""


def make_large_text(megabytes: float) -> str:
    random_ = random.Random(3)
    names = [f"{random_.choice('BDFGKLM')}{random_.choice('aeiou')}{n:x}ton" for n in range(900)]
    lines = []
    size = 0
    while size < megabytes * 1_000_000:
        one, two, three = (random_.choice(names) for _ in range(3))
        lines.append(f"Mr {one} met {two} at {three} Bridge, and {two} sold him a lantern.")
        if random_.random() < 0.1:
            lines[-1] += "\n"
        size += len(lines[-1]) + 1
    return "\n".join(lines)


@pytest.fixture(scope="module")
def large():
    return make_large_text(8)


@pytest.fixture
def served(tmp_path):
    with open_client(ServerConfig(tmp_path, make_settings())) as client:
        for name in ("one", "two"):
            client.post(f"{API}/workspaces", json={"name": name})
        yield client


def show(client, job):
    return client.get(f"{API}/workspaces/one/jobs/{job['id']}").json()["data"]


def cancel(client, job):
    return client.post(f"{API}/workspaces/one/jobs/{job['id']}/cancel").json()["data"]


def test_a_large_file_is_cancelled_while_it_is_read_and_the_rest_is_kept(served, large):
    small = upload(served, "one", {"a.md": "Ivo Brandt lights lanterns."}).json()["data"]["job"]
    assert await_job(served, "one", small)["state"] == "finished"
    job = upload(served, "one", {"large.txt": large}).json()["data"]["job"]
    wait_until(lambda: show(served, job)["progress"].get("uri") == "uploads/large.txt")
    assert cancel(served, job)["state"] == "stopping"
    ended = await_job(served, "one", job)
    assert (ended["state"], ended["report"]["interrupted"]) == ("cancelled", True)
    listed = served.get(f"{API}/workspaces/one/documents").json()["data"]["documents"]
    states = {document["uri"]: document["state"] for document in listed}
    assert states == {"uploads/a.md": "ready", "uploads/large.txt": "waiting"}
    address = f"{API}/workspaces/one/jobs/{job['id']}/events"
    with served.stream("GET", address) as response:
        events = [(name, json.loads(data)) for name, data in read_events(response)]
    states = [data["state"] for name, data in events if name == "state"]
    assert states == ["queued", "running", "stopping", "cancelled"]
    progress = [data for name, data in events if name == "progress" and data["stage"] == "load"]
    others = len("Ivo Brandt lights lanterns.")  # just written, so compared by its bytes
    assert progress[-1]["bytes_total"] in (len(large.encode()), len(large.encode()) + others)


def test_a_short_job_of_another_workspace_passes_a_long_one(served, large):
    """With one job at a time, as by default."""
    job = upload(served, "one", {"large.txt": large}).json()["data"]["job"]
    wait_until(lambda: show(served, job)["state"] == "running")
    other = upload(served, "two", {"a.md": "Ivo Brandt lights lanterns."}).json()["data"]["job"]
    assert await_job(served, "two", other)["state"] == "finished"
    assert show(served, job)["state"] == "running"
    cancel(served, job)
    assert await_job(served, "one", job)["state"] == "cancelled"


@pytest.fixture
def runner(tmp_path, monkeypatch):
    """A runner with one slot and turns of no length, and jobs that count their steps."""
    order = []
    begin = threading.Event()

    def count(workspace, arguments, progress):
        begin.wait(20)
        for _ in range(3):
            order.append(workspace.name)
            check_cancelled()
        return {}

    monkeypatch.setattr(runner_module, "WORK", {"communities": count})
    records = JobStore.open(tmp_path / ".jobs.db")
    workspaces = Workspaces(tmp_path, make_settings())
    for name in ("one", "two", "three"):
        workspaces.create(name)
    yield JobRunner(workspaces, records, most=1, turns=JobTurns(1, slice_s=0.0)), begin, order
    workspaces.close()
    records.close()


def test_jobs_of_several_workspaces_alternate(runner):
    jobs, begin, order = runner
    started = [jobs.submit(name, "communities", {}) for name in ("one", "two", "three")]
    begin.set()
    for job in started:
        wait_until(lambda job=job: jobs.find(job.workspace, job.id).state is JobState.FINISHED)
    assert order == ["one", "two", "three"] * 3
    assert jobs.close(wait_s=20)


def test_a_paused_job_is_cancelled_without_another_turn(runner):
    jobs, begin, order = runner
    started = [jobs.submit(name, "communities", {}) for name in ("one", "two")]
    begin.set()
    for job in started:
        wait_until(lambda job=job: jobs.find(job.workspace, job.id).state.is_final)
    assert len(order) == 6
    assert jobs.close(wait_s=20)


@pytest.mark.parametrize(
    ("progress", "named"),
    [
        ({"stage": "load", "uri": "uploads/large.txt"}, "`uploads/large.txt`"),
        ({"stage": "communities", "done": 0}, "the same step"),
    ],
)
def test_a_job_whose_server_died_twice_at_one_place_fails(tmp_path, monkeypatch, progress, named):
    monkeypatch.setattr(runner_module, "WORK", {"index": lambda *_: {}})
    workspaces = Workspaces(tmp_path, make_settings())
    workspaces.create("one")
    with closing(JobStore.open(tmp_path / ".jobs.db")) as records:
        job = records.add("one", "index", {})

    def die_and_restart():
        with closing(JobStore.open(tmp_path / ".jobs.db")) as records:
            records.set_state(job.id, JobState.RUNNING)
            records.add_event(job.id, "progress", progress)
        with closing(JobStore.open(tmp_path / ".jobs.db")) as records:
            runner = JobRunner(workspaces, records, most=1)
            runner.pause()
            runner.start()
            return records.find("one", job.id)

    assert die_and_restart().state is JobState.QUEUED
    failed = die_and_restart()
    assert (failed.state, failed.error["code"]) == (JobState.FAILED, "job_interrupted")
    assert named in failed.error["message"]
    workspaces.close()


def test_a_job_that_moved_on_between_two_kills_is_continued(tmp_path):
    records = JobStore.open(tmp_path / ".jobs.db")
    job = records.add("one", "index", {})
    for number in range(5):
        records.add_event(job.id, "progress", {"stage": "load", "uri": f"uploads/{number}.md"})
        assert records.count_crash(records.find("one", job.id)) == 1
    records.close()


def test_a_job_that_was_stopping_when_the_server_died_is_cancelled(tmp_path):
    with closing(JobStore.open(tmp_path / ".jobs.db")) as records:
        job = records.add("one", "index", {})
        for state in (JobState.RUNNING, JobState.STOPPING):
            records.set_state(job.id, state)
    workspaces = Workspaces(tmp_path, make_settings())
    with closing(JobStore.open(tmp_path / ".jobs.db")) as records:
        JobRunner(workspaces, records, most=1).start()
        assert records.find("one", job.id).state is JobState.CANCELLED


@contextmanager
def serve(folder):
    """Yield a client of a server in a process of its own, which ends on SIGTERM."""
    command = [sys.executable, "-m", "knotwork", "serve", str(folder), "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=ENVIRONMENT, text=True) as process:
        try:
            address = json.loads(process.stdout.readline())["address"]
            with httpx.Client(base_url=address, timeout=60) as client:
                yield client
            process.send_signal(signal.SIGTERM)
            assert process.wait(DEADLINE_S) == 0
        finally:
            process.kill()


def test_sigterm_ends_the_server_in_the_middle_of_a_file_and_the_next_one_goes_on(tmp_path, large):
    with serve(tmp_path) as client:
        client.post(f"{API}/workspaces", json={"name": "one"}).raise_for_status()
        job = upload(client, "one", {"large.txt": large}).json()["data"]["job"]
        wait_until(lambda: show(client, job)["progress"].get("stage") == "load")
    with serve(tmp_path) as client:
        wait_until(lambda: show(client, job)["state"] == "running")
        cancel(client, job)
        assert await_job(client, "one", job)["state"] == "cancelled"


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.nightly)]
)
def test_a_signal_ends_knotwork_index_and_the_next_run_continues(tmp_path, large, number):
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "a.md").write_text("Ivo Brandt lights lanterns.", encoding="utf-8")
    (folder / "large.txt").write_text(large, encoding="utf-8")
    command = [sys.executable, "-m", "knotwork", "index", str(folder), "--progress", "json"]
    with subprocess.Popen(
        [*command, "--store", str(tmp_path / "x.knot"), "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
        text=True,
    ) as process:
        for line in process.stderr:
            if json.loads(line)["event"] == "added":  # the large file is still being read
                break
        process.send_signal(number)
        output, errors = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 128 + number
    assert "Traceback" not in errors
    report = json.loads(output)
    assert (report["interrupted"], report["added"]) == (True, 1)
