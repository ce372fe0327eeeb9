"""Two servers serve one index on a database server; what one indexes, the other finds."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.service.serving import (
    API,
    add_key,
    await_job,
    make_settings,
    open_client,
    upload,
    wait_until,
)

from knotwork._extensions.postgres.database import PostgresDatabase
from knotwork._extensions.server.server import ServerConfig
from knotwork.errors import StoreUnavailable

pytestmark = pytest.mark.slow


def test_one_server_finds_what_another_indexed(postgres_url: str, tmp_path: Path) -> None:
    url = postgres_url.replace("postgres@", "postgres:s3cret@")
    places = []
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        path = tmp_path / name / "served.knot"
        places.append(ServerConfig(path, make_settings(), url=url))
        places[-1].check()
    with open_client(places[0]) as one, open_client(places[1]) as other:
        text = "Ann Teal designed the bridge of Corvane."
        response = upload(one, "default", {"bridges.md": text})
        assert response.status_code == 202, response.text
        assert await_job(one, "default", response.json()["data"]["job"])["state"] == "finished"
        asked = {"question": "Who designed the bridge of Corvane?"}
        found = other.post(f"{API}/workspaces/default/search", json=asked)
        assert "Ann Teal" in found.text
        listed = other.get(f"{API}/workspaces").text
        assert "default" in listed
        assert "s3cret" not in found.text + listed
    assert not list(tmp_path.rglob("*s3cret*"))
    assert not places[0].path.exists()


def test_two_servers_share_the_memory_of_a_key(postgres_url: str, tmp_path: Path) -> None:
    place = ServerConfig(tmp_path / "served.knot", make_settings(), url=postgres_url)
    ours = add_key(place, "ours", "write", "default")
    theirs = add_key(place, "theirs", "write", "default")
    (tmp_path / "other").mkdir()
    elsewhere = tmp_path / "other" / "served.knot"
    other_place = ServerConfig(
        elsewhere, make_settings(keys=str(place.keys_path)), url=postgres_url
    )
    chat = f"{API}/workspaces/default/chat"
    with open_client(place) as one, open_client(other_place) as other:
        told = one.post(
            chat, json={"message": "Remember that Ann Teal lives in Oslo."}, headers=ours
        )
        assert told.status_code == 200, told.text
        asked = {"message": "Where does Ann Teal live?"}
        answer = other.post(chat, json=asked, headers=ours).json()["data"]["answer"]
        assert (answer["short"], len(answer["memory"])) == ("Oslo", 1)
        assert not other.post(chat, json=asked, headers=theirs).json()["data"]["answer"]["answered"]
        listed = other.get(f"{API}/workspaces/default/memory", headers=theirs)
        assert listed.json()["data"] == {"facts": [], "total": 0}


def test_readiness_needs_a_database_that_answers(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("knotwork._extensions.server.server.DATABASE_ANSWER_S", 0.3)
    generation, answering = PostgresDatabase.generation, threading.Event()

    def fail(database: PostgresDatabase) -> int:
        raise StoreUnavailable("The server has gone.")

    def wait(database: PostgresDatabase) -> int:
        answering.wait(60)
        return generation(database)

    with open_client(
        ServerConfig(tmp_path / "a.knot", make_settings(), url=postgres_url)
    ) as client:
        assert client.get("/health/ready").status_code == 200
        for change, message in ((fail, "has gone"), (wait, "has not answered"), (wait, "has not")):
            monkeypatch.setattr(PostgresDatabase, "generation", change)
            refused = client.get("/health/ready")
            assert refused.status_code == 503
            assert message in refused.text
            assert client.get("/health/live").status_code == 200
        answering.set()
        monkeypatch.setattr(PostgresDatabase, "generation", generation)
        assert client.get("/health/ready").status_code == 200


@pytest.fixture
def serve(
    postgres_url: str, start_process: Callable[..., subprocess.Popen[str]]
) -> Iterator[Callable[[Path], tuple[subprocess.Popen[str], httpx.Client]]]:
    """Yield a function that serves the index from a folder, in a process of its own."""

    def start(folder: Path) -> tuple[subprocess.Popen[str], httpx.Client]:
        folder.mkdir(exist_ok=True)
        process = start_process(
            [*COMMAND, postgres_url], stdout=subprocess.PIPE, env=ENVIRONMENT, cwd=folder, text=True
        )
        assert process.stdout is not None
        address = json.loads(process.stdout.readline())["address"]
        client = clients.enter_context(httpx.Client(base_url=address, timeout=60))
        return process, client

    with ExitStack() as clients:
        yield start


COMMAND = (sys.executable, "-m", "knotwork", "serve", "--port", "0", "--json")
ENVIRONMENT = {
    **os.environ,
    "KNOTWORK_EMBEDDING_MODEL": "hashing:64",
    "KNOTWORK_INDEX_WORKERS": "0",
    "OMP_NUM_THREADS": "1",
}
FILES = {f"{n}.md": f"Lanterns are lit by Ivo Brandt in lane {n}. " * 30 for n in range(40)}


def test_servers_of_one_index_share_its_jobs(serve: Any, tmp_path: Path) -> None:
    """One is killed in the middle of a job, and another one of the same folder ends it."""
    first, one = serve(tmp_path / "place")
    second, other = serve(tmp_path / "place")
    third, far = serve(tmp_path / "elsewhere")
    response = upload(one, "default", FILES).raise_for_status()
    job = response.json()["data"]["job"]
    path = f"{API}/workspaces/default/jobs/{job['id']}"

    def show(client: httpx.Client) -> Any:
        return client.get(path).raise_for_status().json()["data"]

    wait_until(lambda: show(far)["progress"].get("stage") in ("load", "embed", "store"))
    assert show(other)["state"] == "running"
    first.kill()
    first.wait(20)
    done = await_job(other, "default", job)
    assert (done["state"], done["report"]["index"]["documents"]) == ("finished", len(FILES))
    assert show(far) == done
    asked = {"question": "Who lights lanterns in lane 7?"}
    for client in (other, far):
        assert "Ivo Brandt" in client.post(f"{API}/workspaces/default/search", json=asked).text
    for process in (second, third):
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0


def test_a_job_is_cancelled_at_any_server_even_if_its_own_is_gone(
    serve: Any, tmp_path: Path
) -> None:
    first, one = serve(tmp_path / "place")
    _, far = serve(tmp_path / "elsewhere")
    job = upload(one, "default", FILES).json()["data"]["job"]
    path = f"{API}/workspaces/default/jobs/{job['id']}"
    wait_until(lambda: far.get(path).json()["data"]["progress"].get("stage") == "load")
    assert far.post(f"{path}/cancel").json()["data"]["state"] == "stopping"
    assert await_job(far, "default", job)["state"] == "cancelled"
    assert one.get(path).json()["data"]["state"] == "cancelled"
    others = {f"other-{name}": f"{text} Once more." for name, text in FILES.items()}
    job = upload(one, "default", others).json()["data"]["job"]
    path = f"{API}/workspaces/default/jobs/{job['id']}"
    wait_until(lambda: far.get(path).json()["data"]["state"] == "running")
    first.kill()
    first.wait(20)
    wait_until(lambda: far.post(f"{path}/cancel").json()["data"]["state"] == "cancelled")
