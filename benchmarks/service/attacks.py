"""Attack a server while people use it: unfinished requests, heavy statements and held uploads.

    python benchmarks/service/attacks.py --seconds 30

The server is a process of its own on this machine with a limit of 1,024 open files and two keys
for attackers and one for people. The attackers keep open as many connections with half a request
header as they can, send statements that take as long as they may, and hold uploads that never end;
others send an upload without a key. Meanwhile, people check the health of the server over new
connections and ask questions. The figures are the latencies of both, and the memory of the server.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import selectors
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import Queue, get_context
from multiprocessing.synchronize import Event
from pathlib import Path
from urllib.parse import urlsplit

import httpx2 as httpx

import knotwork
from knotwork._extensions.server.keys import KeyFile, KeyRole, keys_beside
from knotwork.demo import open_sample

HALF_A_HEADER = b"POST /api/v1/workspaces/served/search HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Half: "
HEAVY = (
    "UNWIND range(1, {rows}) AS a UNWIND range(1, 1000) AS b "
    "WITH a * b AS c WHERE c % 7 = 9 RETURN count(c)"
)
ENDLESS = 10_000_000
"""Rows of a thousand each, for a statement that only its time limit ends."""
QUESTION = "Who approves trips abroad?"
TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True)
class Target:
    """The address and the keys of a server."""

    address: str
    keys: dict[str, str]

    @property
    def place(self) -> tuple[str, int]:
        """Host and port."""
        parts = urlsplit(self.address)
        return parts.hostname, parts.port

    def client(self, key: str) -> httpx.Client:
        """Return a client with one of the keys."""
        headers = {"Authorization": f"Bearer {self.keys[key]}"}
        return httpx.Client(base_url=self.address, headers=headers, timeout=TIMEOUT_S)


class AttackedServer:
    """A server of one small index in a process of its own, with its keys and its memory."""

    def __init__(self, folder: Path, *, files: int = 1_024, **settings: object) -> None:
        index = folder / "served.knot"
        with open_sample() as documents, knotwork.open(index, embedder="hashing:64") as base:
            base.index(documents)
        keys = KeyFile(keys_beside(folder))
        texts = {
            name: keys.add(name, role=role, workspaces=["*"])[1]
            for name, role in (
                ("person", KeyRole.READ),
                ("reader", KeyRole.READ),
                ("writer", KeyRole.WRITE),
            )
        }
        named = {f"KNOTWORK_SERVICE_{name}".upper(): str(value) for name, value in settings.items()}
        environment = {
            **os.environ,
            "KNOTWORK_EMBEDDING_MODEL": "hashing:64",
            "KNOTWORK_SERVICE_REQUESTS_PER_MINUTE": "0",
            **named,
        }
        self.log = folder / "server.log"
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "knotwork", "serve", str(folder), "--port", "0", "--json"],
                stdout=subprocess.PIPE,
                stderr=log,
                env=environment,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files)),  # noqa: PLW1509
            )
        address = json.loads(self._process.stdout.readline())["address"]
        self.target = Target(address, texts)

    @property
    def memory_mb(self) -> float:
        """The largest memory of the process so far, in megabytes of RAM."""
        status = Path(f"/proc/{self._process.pid}/status").read_text(encoding="utf-8")
        return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) * 1_024 / 1e6

    def stop(self) -> None:
        """End it as Ctrl-C does."""
        self._process.terminate()
        try:
            self._process.wait(40)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()


@contextmanager
def attacked_server(**options: object) -> Iterator[AttackedServer]:
    """Yield a server in a temporary folder."""
    with tempfile.TemporaryDirectory() as folder:
        server = AttackedServer(Path(folder), **options)
        try:
            yield server
        finally:
            server.stop()


def hold_half_requests(target: Target, count: int, stopped: Event) -> int:
    """Keep ``count`` connections with half a header open, and return how many were opened.

    Closed ones are opened again, up to 200 a second.
    """
    selector, opened, waiting = selectors.DefaultSelector(), 0, count
    with closing(selector):
        while not stopped.is_set():
            for _ in range(min(waiting, 10 if opened >= count else 100)):
                with suppress(OSError):
                    connection = socket.create_connection(target.place, timeout=1)
                    connection.sendall(HALF_A_HEADER)
                    connection.setblocking(False)
                    selector.register(connection, selectors.EVENT_READ)
                    opened, waiting = opened + 1, waiting - 1
            stopped.wait(0.05)
            for ready, _ in selector.select(0):
                selector.unregister(ready.fileobj)
                ready.fileobj.close()
                waiting += 1
        for ready in list(selector.get_map().values()):
            ready.fileobj.close()
    return opened


def send_statements(target: Target, rows: int, stopped: Event) -> Counter[int]:
    """Send heavy statements one after the other, and return how often each status came."""
    found: Counter[int] = Counter()
    body = {"statement": HEAVY.format(rows=rows)}
    with target.client("reader") as client:
        while not stopped.is_set():
            try:
                sent = client.post("/api/v1/workspaces/served/cypher", json=body)
                found[sent.status_code] += 1
            except httpx.HTTPError:
                found[0] += 1
                stopped.wait(0.1)
    return found


def hold_upload(target: Target, size: int, stopped: Event, *, key: str | None) -> tuple[int, bytes]:
    """Send nearly all of an upload, and stop; return the number of bytes, and the reply."""
    head = b'--x\r\nContent-Disposition: form-data; name="files"; filename="a.txt"\r\n\r\n'
    lines = [
        "POST /api/v1/workspaces/served/documents HTTP/1.1",
        "Host: 127.0.0.1",
        "Content-Type: multipart/form-data; boundary=x",
        f"Content-Length: {size}",
        *([f"Authorization: Bearer {target.keys[key]}"] if key else []),
    ]
    sent, part = 0, b"words " * 20_000
    with socket.create_connection(target.place, timeout=2) as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode() + head)
        try:
            while sent + len(part) < size - 1_000 and not stopped.is_set():
                connection.sendall(part)
                sent += len(part)
        except OSError:
            pass  # refused
        connection.settimeout(0.5)
        reply = b""
        while not stopped.is_set():
            try:
                reply = connection.recv(65_536)
                break
            except TimeoutError:
                continue
            except OSError:
                break
    return sent, reply.split(b"\r\n")[0]


def check_health(target: Target, stopped: Event) -> list[float]:
    """Check the health of the server over new connections; return seconds, -1 for a failure."""
    seconds = []
    while not stopped.is_set():
        begun = time.perf_counter()
        try:
            # Without the certificates, which take the client 40 ms to load.
            httpx.get(f"{target.address}/health/live", timeout=10, verify=False).raise_for_status()
            seconds.append(time.perf_counter() - begun)
        except httpx.HTTPError:
            seconds.append(-1.0)
        stopped.wait(0.2)
    return seconds


def ask_questions(target: Target, stopped: Event) -> list[float]:
    """Ask the same question again and again; return seconds, -1 for a failure."""
    seconds = []
    while not stopped.is_set():
        begun = time.perf_counter()
        try:
            with target.client("person") as client:
                sent = client.post(
                    "/api/v1/workspaces/served/ask", json={"question": QUESTION}
                ).raise_for_status()
            assert sent.json()["data"]["answer"]
            seconds.append(time.perf_counter() - begun)
        except httpx.HTTPError:
            seconds.append(-1.0)
        stopped.wait(0.2)
    return seconds


def run_together(
    works: list[tuple[Callable[..., object], tuple[object, ...]]], seconds: float
) -> list[object]:
    """Run functions in processes of their own for a time, and return their results in order."""
    context = get_context("spawn")
    stopped, results = context.Event(), context.Queue()
    processes = [
        context.Process(target=_run, args=(position, function, (*arguments, stopped), results))
        for position, (function, arguments) in enumerate(works)
    ]
    for process in processes:
        process.start()
    for _ in processes:
        results.get()  # each one is about to begin
    time.sleep(seconds)
    stopped.set()
    found = dict(results.get() for _ in processes)
    for process in processes:
        process.join()
    return [found[position] for position in range(len(works))]


def _run(
    position: int, function: Callable[..., object], arguments: tuple[object, ...], results: Queue
) -> None:
    results.put(position)
    results.put((position, function(*arguments)))


def describe(seconds: list[float]) -> dict[str, float]:
    """Return the number of requests, of failures, and the median and longest time."""
    done = [value for value in seconds if value >= 0]
    return {
        "requests": len(seconds),
        "failed": len(seconds) - len(done),
        "median_s": round(statistics.median(done), 3) if done else -1,
        "longest_s": round(max(done), 3) if done else -1,
    }


def send_statements_together(target: Target, count: int, rows: int, stopped: Event) -> Counter[int]:
    """Send heavy statements from several threads, and return how often each status came."""
    with ThreadPoolExecutor(max(1, count)) as pool:
        sent = [pool.submit(send_statements, target, rows, stopped) for _ in range(count)]
        return sum((done.result() for done in sent), Counter())


def hold_uploads(target: Target, count: int, size: int, stopped: Event) -> list[tuple[int, bytes]]:
    """Hold several uploads with a key and one without, which comes last."""
    with ThreadPoolExecutor(count + 1) as pool:
        held = [
            pool.submit(hold_upload, target, size, stopped, key=key)
            for key in (*["writer"] * count, None)
        ]
        return [done.result() for done in held]


def attack(
    server: AttackedServer,
    *,
    half_requests: int,
    statements: int,
    uploads: int,
    upload_mb: float,
    seconds: float,
    rows: int = ENDLESS,
) -> dict[str, object]:
    """Run all attacks and all honest users together, and return the figures."""
    target = server.target
    health, asked, opened, sent, held = run_together(
        [
            (check_health, (target,)),
            (ask_questions, (target,)),
            (hold_half_requests, (target, half_requests)),
            (send_statements_together, (target, statements, rows)),
            (hold_uploads, (target, uploads, int(upload_mb * 1e6))),
        ],
        seconds,
    )
    replies = [f"{size / 1e6:.0f} MB: {reply.decode() or 'closed'}" for size, reply in held]
    return {
        "health": describe(health),
        "questions": describe(asked),
        "half_requests_opened": opened,
        "statements": dict(sent),
        "uploads": dict(Counter(replies[:-1])),
        "upload_without_key": replies[-1],
        "memory_mb": round(server.memory_mb),
        "log_bytes": server.log.stat().st_size,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--half-requests", type=int, default=1_300)
    parser.add_argument("--statements", type=int, default=8)
    parser.add_argument("--uploads", type=int, default=5)
    parser.add_argument("--upload-mb", type=float, default=190)
    parser.add_argument("--files", type=int, default=1_024, help="limit of open files")
    asked = parser.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 65_536), hard))
    with attacked_server(files=asked.files) as server:
        honest = [(check_health, (server.target,)), (ask_questions, (server.target,))]
        calm = run_together(honest, 5)
        before = round(server.memory_mb)
        found = attack(
            server,
            half_requests=asked.half_requests,
            statements=asked.statements,
            uploads=asked.uploads,
            upload_mb=asked.upload_mb,
            seconds=asked.seconds,
        )
    calm_figures = dict(zip(("health", "questions"), map(describe, calm), strict=True))
    print(json.dumps({"calm": {**calm_figures, "memory_mb": before}, "attacked": found}, indent=1))


if __name__ == "__main__":
    main()
