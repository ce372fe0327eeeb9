"""SPARQL servers for tests: a real one from a wheel, and one that misbehaves."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs

_STARTS_WITHIN_S = 60


def find_oxigraph() -> str | None:
    """Return the path of the server in the wheel `oxigraph`; None if it is not installed."""
    beside = Path(sys.executable).with_name("oxigraph")
    return str(beside) if beside.exists() else shutil.which("oxigraph")


@contextmanager
def oxigraph_server(program: str, log: Path) -> Iterator[str]:
    """Run a server with an empty store in memory; the value is its base address."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{taken.getsockname()[1]}"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [program, "serve", "--bind", place], stdout=output, stderr=output
        )
    try:
        ends_s = time.monotonic() + _STARTS_WITHIN_S
        while True:
            with suppress(OSError), urllib.request.urlopen(f"http://{place}/", timeout=5):
                break
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < ends_s, "the server did not start"
            time.sleep(0.05)
        yield place
    finally:
        process.kill()
        process.wait()


def update(place: str, text: str) -> None:
    """Change the data of a server, as its owner does."""
    request = urllib.request.Request(
        f"http://{place}/update", text.encode(), {"Content-Type": "application/sparql-update"}
    )
    with urllib.request.urlopen(request, timeout=30):
        pass


Reply = Callable[[BaseHTTPRequestHandler, str], None]


@contextmanager
def odd_server(reply: Reply) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Run a server that answers each query by a function; the value is its place and requests."""
    seen: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            form = parse_qs(body)
            seen.append({"path": self.path, "form": form, "headers": dict(self.headers)})
            with suppress(OSError):
                reply(self, form["query"][0])

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_address[1]}", seen
        finally:
            server.shutdown()
            thread.join()


def send(
    handler: BaseHTTPRequestHandler,
    body: bytes | dict[str, Any],
    *,
    status: int = 200,
    **headers: str,
) -> None:
    """Send a reply."""
    packed = body if isinstance(body, bytes) else json.dumps(body).encode()
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name, value)
    handler.send_header("Content-Length", str(len(packed)))
    handler.end_headers()
    handler.wfile.write(packed)
