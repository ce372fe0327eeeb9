"""A server on this machine for tests: its place, its keys, and how to ask it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient

from knotwork._config import Settings, load_settings
from knotwork._extensions.server import make_app
from knotwork._extensions.server.keys import KeyFile, KeyRole
from knotwork._extensions.server.server import KnotworkServer, ServerConfig

LOCAL = "http://127.0.0.1:8321"
QUESTION = "Who approves trips abroad?"
API = "/api/v1"


def make_settings(**service: object) -> Settings:
    """Return settings without a model to load, and those of the server given."""
    loaded = load_settings(overrides={"embedding.model": "hashing:64"}, environ={}).settings
    limits = replace(loaded.service, **{"requests_per_minute": 0, **service})
    return replace(loaded, service=limits)


@contextmanager
def open_client(
    place: ServerConfig, *, client: str = "127.0.0.1", base_url: str = LOCAL
) -> Iterator[Any]:
    """Yield a client of an application in this process."""
    app = make_app(place)
    with TestClient(app, base_url=base_url, client=(client, 5)) as opened:
        yield opened


def add_key(place: ServerConfig, name: str, role: str, *workspaces: str) -> dict[str, str]:
    """Add a key, and return the headers that send it."""
    _, text = KeyFile(place.keys_path).add(name, role=KeyRole(role), workspaces=workspaces)
    return {"Authorization": f"Bearer {text}"}


def await_job(client: Any, workspace: str, job: Mapping[str, Any], **options: Any) -> Any:
    """Return a job once its events report that it is over."""
    address = f"{API}/workspaces/{workspace}/jobs/{job['id']}"
    with client.stream("GET", f"{address}/events", **options) as events:
        assert events.status_code == 200, events.read()
        lines = [line for line in events.iter_lines() if line.startswith("event: ")]
    assert lines[-1] == "event: end"
    return client.get(address, **options).json()["data"]


def upload(client: Any, workspace: str, files: Mapping[str, bytes | str], **options: Any) -> Any:
    """Send files, and return the response."""
    parts = [("files", (name, content)) for name, content in files.items()]
    return client.post(f"{API}/workspaces/{workspace}/documents", files=parts, **options)


def read_events(response: Any) -> list[tuple[str, str]]:
    """Return name and data of the events of a stream."""
    events, name = [], "message"
    for line in response.iter_lines():
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            events.append((name, line.removeprefix("data: ")))
            name = "message"
    return events


@contextmanager
def run_server(place: ServerConfig) -> Iterator[str]:
    """Yield the address of a server in a thread."""
    server = KnotworkServer(make_app(place))
    addresses: list[str] = []
    started = threading.Event()

    def tell(address: str) -> None:
        addresses.append(address)
        started.set()

    thread = threading.Thread(target=server.serve_at, args=("127.0.0.1", 0, tell), daemon=True)
    thread.start()
    assert started.wait(20)
    try:
        yield addresses[0]
    finally:
        server.should_exit = True
        thread.join(20)
        assert not thread.is_alive()


def wait_until(holds: Any, *, timeout_s: float = 20.0) -> None:
    """Wait until something holds, or fail."""
    end = time.monotonic() + timeout_s
    while not holds():
        assert time.monotonic() < end, "it never came to hold"
        time.sleep(0.02)


def copy_index(sample: Path, target: Path) -> Path:
    """Copy an index file."""
    target.write_bytes(sample.read_bytes())
    return target
