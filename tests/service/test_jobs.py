"""Jobs: one at a time in a workspace, followed, cancelled, and never lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading

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

from knotwork._cancellation import Cancellation, Cancelled
from knotwork._extensions.server import job_runner as runner_module
from knotwork._extensions.server import job_runner as work_module
from knotwork._extensions.server.job_runner import JobRunner
from knotwork._extensions.server.job_store import JobProgress, JobState, JobStore
from knotwork._extensions.server.server import ServerConfig
from knotwork._extensions.server.workspaces import Workspaces
from knotwork.errors import KnotworkError, StoreBusy

pytestmark = pytest.mark.slow


TEXT = "Lanterns are lit by Ivo Brandt at dusk. Number {n} hangs in Marrow Lane {n}."


@pytest.fixture
def served(tmp_path):
    place = ServerConfig(tmp_path, make_settings())
    with open_client(place) as client:
        for name in ("one", "two"):
            client.post(f"{API}/workspaces", json={"name": name})
        yield client


@pytest.fixture
def held(monkeypatch):
    """A kind of job that goes on until it is let go, and says when it began."""
    gate, begun = threading.Event(), []

    def hold(workspace, arguments, progress):
        begun.append(workspace.name)
        for _ in range(2_000):
            progress.enter("holding")
            if gate.wait(0.01):
                return {"held": dict(arguments)}
        raise AssertionError("nobody let go")

    monkeypatch.setattr(runner_module, "WORK", {**work_module.WORK, "communities": hold})
    return gate, begun


def refresh(client, workspace, **body):
    response = client.post(f"{API}/workspaces/{workspace}/communities/refresh", json=body)
    assert response.status_code == 202, response.text
    return response.json()["data"]


def test_a_waiting_job_serves_all_equal_requests(served, held):
    gate, begun = held
    first = refresh(served, "one")
    wait_until(lambda: begun == ["one"])
    second = refresh(served, "one")
    third = refresh(served, "one")
    assert first["id"] != second["id"] == third["id"]
    other = refresh(served, "one", rebuild=True)
    assert other["id"] != second["id"]
    gate.set()
    assert await_job(served, "one", other)["state"] == "finished"
    assert begun == ["one"] * 3


def test_a_running_job_is_cancelled_and_the_next_one_begins(served, held):
    gate, begun = held
    first = refresh(served, "one")
    wait_until(lambda: bool(begun))
    waiting = refresh(served, "two")
    address = f"{API}/workspaces/one/jobs/{first['id']}/cancel"
    assert served.post(address).status_code == 200
    assert await_job(served, "one", first)["state"] == "cancelled"
    assert served.post(address).status_code == 409
    wait_until(lambda: begun == ["one", "two"])
    gate.set()
    assert await_job(served, "two", waiting)["state"] == "finished"


def test_a_waiting_job_is_cancelled_without_having_begun(served, held):
    gate, begun = held
    first = refresh(served, "one")
    wait_until(lambda: bool(begun))
    second = refresh(served, "one")
    cancelled = served.post(f"{API}/workspaces/one/jobs/{second['id']}/cancel").json()["data"]
    assert cancelled["state"] == "cancelled"
    gate.set()
    await_job(served, "one", first)
    again = served.post(f"{API}/workspaces/one/jobs/{second['id']}/retry").json()["data"]
    assert await_job(served, "one", again)["state"] == "finished"
    assert begun == ["one", "one"]


def test_a_workspace_with_a_running_job_is_not_removed(served, held, tmp_path):
    gate, begun = held
    job = refresh(served, "one")
    wait_until(lambda: bool(begun))
    assert served.delete(f"{API}/workspaces/one").status_code == 409
    gate.set()
    await_job(served, "one", job)
    wait_until(lambda: served.delete(f"{API}/workspaces/one").status_code == 200)
    assert not (tmp_path / "one.knot").exists()


def test_events_go_on_after_the_last_that_was_seen(served):
    job = upload(served, "one", {"a.md": TEXT}).json()["data"]["job"]
    await_job(served, "one", job)
    address = f"{API}/workspaces/one/jobs/{job['id']}/events"
    with served.stream("GET", address) as response:
        lines = [line for line in response.iter_lines() if line.startswith("id: ")]
    numbers = [int(line.removeprefix("id: ")) for line in lines]
    assert numbers == sorted(set(numbers))
    headers = {"Last-Event-ID": str(numbers[-2])}
    with served.stream("GET", address, headers=headers) as response:
        events = read_events(response)
    assert [name for name, _ in events] == ["state", "end"]
    assert json.loads(events[0][1])["state"] == "finished"


def test_progress_reports_stages_and_failures(served):
    files = {f"{n}.md": TEXT.format(n=n) for n in range(5)}
    job = upload(served, "one", {**files, "torn.pdf": b"%PDF-1.7 torn"}).json()["data"]["job"]
    address = f"{API}/workspaces/one/jobs/{job['id']}/events"
    with served.stream("GET", address) as response:
        events = [(name, json.loads(data)) for name, data in read_events(response)]
    stages = [data["stage"] for name, data in events if name == "progress"]
    assert stages[0] == "discover"
    assert {"load", "embed", "store", "communities"} <= set(stages)
    assert [data["uri"] for name, data in events if name == "failure"] == ["uploads/torn.pdf"]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (KnotworkError("It is so.", fix="Change it."), "knotwork_error"),
        (ValueError("k"), "internal_error"),
    ],
)
def test_a_job_that_fails_says_why_and_the_next_one_runs(served, monkeypatch, error, code):
    def fail(_workspace, _arguments, _progress):
        raise error

    monkeypatch.setattr(runner_module, "WORK", {**work_module.WORK, "communities": fail})
    failed = await_job(served, "one", refresh(served, "one"))
    assert (failed["state"], failed["error"]["code"]) == ("failed", code)
    job = upload(served, "one", {"a.md": TEXT}).json()["data"]["job"]
    assert await_job(served, "one", job)["state"] == "finished"


def test_a_job_pauses_when_the_server_ends_and_the_next_one_goes_on(tmp_path, held):
    gate, begun = held
    place = ServerConfig(tmp_path, make_settings())
    with open_client(place) as client:
        client.post(f"{API}/workspaces", json={"name": "one"})
        job = refresh(client, "one")
        wait_until(lambda: bool(begun))
    assert begun == ["one"]
    gate.set()
    with open_client(place) as client:
        assert await_job(client, "one", job)["state"] == "finished"
    assert begun == ["one", "one"]


def test_two_servers_do_not_share_a_place(tmp_path):
    records = JobStore.open(tmp_path / "jobs.db")
    with pytest.raises(StoreBusy, match="Another server"):
        JobStore.open(tmp_path / "jobs.db")
    records.close()
    JobStore.open(tmp_path / "jobs.db").close()


def test_a_job_on_record_as_running_is_begun_again(tmp_path):
    """As after a kill, of which no server can make a note."""
    records = JobStore.open(tmp_path / ".jobs.db")
    workspaces = Workspaces(tmp_path, make_settings())
    workspaces.create("one")
    job = records.add("one", "communities", {"rebuild": False})
    records.set_state(job.id, JobState.RUNNING)
    records.close()
    records = JobStore.open(tmp_path / ".jobs.db")
    runner = JobRunner(workspaces, records, most=1)
    runner.start()
    wait_until(lambda: records.find("one", job.id).state is JobState.FINISHED)
    assert runner.close(wait_s=20)
    workspaces.close()
    records.close()


def test_a_killed_server_loses_nothing_and_its_job_goes_on(tmp_path, start_process):
    """A process of its own is killed while it indexes, and another one ends the job."""
    environment = {
        **os.environ,
        "KNOTWORK_EMBEDDING_MODEL": "hashing:64",
        "KNOTWORK_INDEX_WORKERS": "0",
        "OMP_NUM_THREADS": "1",
    }
    command = [sys.executable, "-m", "knotwork", "serve", str(tmp_path), "--port", "0", "--json"]

    def start():
        process = start_process(
            command, stdout=subprocess.PIPE, env=environment, cwd=tmp_path, text=True
        )
        return process, json.loads(process.stdout.readline())["address"]

    count = 30
    files = [
        ("files", (f"{n}.md", " ".join(TEXT.format(n=n) for _ in range(30)))) for n in range(count)
    ]
    process, address = start()
    with httpx.Client(base_url=address, timeout=60) as client:
        client.post(f"{API}/workspaces", json={"name": "one"}).raise_for_status()
        sent = client.post(f"{API}/workspaces/one/documents", files=files).raise_for_status()
        job = sent.json()["data"]["job"]
        path = f"{API}/workspaces/one/jobs/{job['id']}"

        def is_under_way():
            found = client.get(path).json()["data"]
            assert found["state"] in ("queued", "running"), "too fast to be killed"
            return found["progress"].get("stage") in ("load", "embed", "store")

        wait_until(is_under_way)
    process.kill()
    process.communicate(timeout=20)
    process, address = start()
    with httpx.Client(base_url=address, timeout=60) as client:
        done = await_job(client, "one", job)
        assert (done["state"], done["report"]["index"]["documents"]) == ("finished", count)
        told = client.get(f"{API}/workspaces/one/documents", params={"limit": 1}).json()
        assert told["data"]["total"] == count
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 0


def test_a_job_that_is_cancelled_stops_at_its_next_step():
    stages = []
    progress = JobProgress(lambda kind, body: stages.append((kind, body["stage"])))
    cancellation = Cancellation()
    with cancellation.scope():
        progress.enter("first")
        cancellation.cancel()
        with pytest.raises(Cancelled):
            progress.enter("second")
    assert stages == [("progress", "first")]


def test_a_step_that_does_not_end_holds_the_server_up_no_longer_than_it_may(tmp_path, monkeypatch):
    gate, begun = threading.Event(), threading.Event()

    def hang(_workspace, _arguments, _progress):
        begun.set()
        gate.wait(20)
        return {}

    monkeypatch.setattr(runner_module, "WORK", {"communities": hang})
    records = JobStore.open(tmp_path / ".jobs.db")
    workspaces = Workspaces(tmp_path, make_settings())
    workspaces.create("one")
    runner = JobRunner(workspaces, records, most=1)
    job = runner.submit("one", "communities", {"rebuild": False})
    assert begun.wait(20)
    assert not runner.close(wait_s=0.01)
    assert records.find("one", job.id).state is JobState.QUEUED, "the next server continues it"
    gate.set()
    assert runner.close(wait_s=20)
    workspaces.close()
    records.close()


def test_leftovers_of_an_interrupted_upload_are_removed_at_the_next_start(tmp_path):
    left = tmp_path / "one.files" / "incoming-x"
    left.parent.mkdir()
    left.write_text("half", encoding="utf-8")
    with open_client(ServerConfig(tmp_path, make_settings())):
        assert not left.exists()
