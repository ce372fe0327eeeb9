"""Have many people ask a server at once while it indexes, then kill it in the middle of a job.

    python benchmarks/service/load.py --askers 50 --seconds 30

The server is a process of its own on this machine, with the embedded default: one index file of
copies of the bundled sample, or the one given. Each asker asks the next question as soon as the
last one is answered. The same questions asked one by one, with nothing else to do, are the
reference: bare times say more about the machine than about the server.

Then the same documents are sent to another workspace, the server is killed (SIGKILL) when half of
them are in the index, people ask on, and the next server is told nothing: what was there must still
be there, the job must end by itself, and the index must hold what one that was never killed holds.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2 as httpx

from knotwork.demo import QUESTIONS, open_sample

MORE = (
    "Who approves trips abroad?",
    "Where is the Skarrow Station?",
    "What did Oriane Keld study?",
    "Which probe did Bram Ostrand design?",
    "报销需要多少天？",
)
ASKED = [*(question.text for question in QUESTIONS), *MORE]
ONE_BY_ONE = 40
COUNTED = ("documents", "chunks", "entities", "failed")


class Server:
    """A server of a folder in a process of its own, with the memory that it took."""

    def __init__(self, folder: Path, embedder: str) -> None:
        command = [sys.executable, "-m", "knotwork", "serve", str(folder), "--port", "0", "--json"]
        environment = {
            **os.environ,
            "KNOTWORK_EMBEDDING_MODEL": embedder,
            "KNOTWORK_SERVICE_REQUESTS_PER_MINUTE": "0",
        }
        begun = time.perf_counter()
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True)
        self.address: str = json.loads(self.process.stdout.readline())["address"]
        self.start_s = time.perf_counter() - begun
        self.memory_mb: list[float] = []
        self._sampling = threading.Thread(target=self._sample, daemon=True)
        self._sampling.start()

    def client(self) -> httpx.Client:
        """Return a client of the server."""
        return httpx.Client(base_url=self.address, timeout=300)

    def get(self, path: str, **params: str | int | bool) -> dict:
        """Return the data of a response."""
        with self.client() as client:
            response = client.get(f"/api/v1/workspaces/{path}", params=params)
            return response.raise_for_status().json()["data"]

    def stop(self) -> None:
        """End it as Ctrl-C does."""
        self.process.terminate()
        self.process.wait(60)

    def kill(self) -> None:
        """End it at once."""
        self.process.kill()
        self.process.wait(60)

    def _sample(self) -> None:
        status = Path(f"/proc/{self.process.pid}/status")
        while self.process.poll() is None:
            try:
                lines = status.read_text().splitlines()
            except OSError:
                return
            held = [line.split()[1] for line in lines if line.startswith("VmRSS")]
            self.memory_mb += [int(kilobytes) / 1_000 for kilobytes in held]
            time.sleep(0.25)


@contextmanager
def run_server(folder: Path, embedder: str) -> Iterator[Server]:
    """Yield a server, and stop it."""
    server = Server(folder, embedder)
    try:
        yield server
    finally:
        server.stop()


def ask(client: httpx.Client, workspace: str, question: str) -> tuple[float, int]:
    """Return the seconds that a question took, and the status of its answer; 0 for none at all."""
    begun = time.perf_counter()
    try:
        path = f"/api/v1/workspaces/{workspace}/ask"
        response = client.post(path, json={"question": question})
    except httpx.HTTPError:
        return time.perf_counter() - begun, 0
    return time.perf_counter() - begun, response.status_code


def send_documents(server: Server, workspace: str, copies: int) -> dict:
    """Send copies of the sample, each with words of its own, and return the response."""
    with open_sample() as sample, server.client() as client:
        client.post("/api/v1/workspaces", json={"name": workspace})
        texts = [(p.name, p.read_text()) for p in sorted(sample.rglob("*.md"))]
        files = [
            ("files", (f"{copy}/{name}", f"{text}\n\nThis is copy {copy}.\n"))
            for copy in range(copies)
            for name, text in texts
        ]
        sent = client.post(f"/api/v1/workspaces/{workspace}/documents", files=files)
        return sent.raise_for_status().json()["data"]


def await_job(server: Server, workspace: str, job: str) -> dict:
    """Return a job that is over."""
    while True:
        found = server.get(f"{workspace}/jobs/{job}")
        if found["state"] not in ("queued", "running"):
            return found
        time.sleep(0.2)


def press(
    server: Server, workspace: str, askers: int, until: threading.Event
) -> list[tuple[float, int]]:
    """Have people ask until ``until`` is set; return what each question took."""
    results: list[tuple[float, int]] = []

    def go_on(seed: int) -> None:
        chance = random.Random(seed)
        with server.client() as client:
            while not until.is_set():
                # Appending is atomic.
                results.append(ask(client, workspace, chance.choice(ASKED)))

    threads = [threading.Thread(target=go_on, args=(seed,)) for seed in range(askers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def measure_load(arguments: argparse.Namespace, folder: Path) -> dict:
    """Return the counts of many askers during a job."""
    with run_server(folder, arguments.embedder) as server:
        if arguments.index is None:
            sent = send_documents(server, "load", 1)
            await_job(server, "load", sent["job"]["id"])
        with server.client() as client:
            for question in ASKED:
                ask(client, "load", question)
            alone = [ask(client, "load", ASKED[n % len(ASKED)])[0] for n in range(ONE_BY_ONE)]
        before_mb = server.memory_mb[-1]
        job = send_documents(server, "load", arguments.copies)["job"]["id"]
        until, ended, begun = threading.Event(), [], time.perf_counter()

        def watch() -> None:
            ended.append(await_job(server, "load", job))
            time.sleep(max(0.0, arguments.seconds - (time.perf_counter() - begun)))
            until.set()

        watcher = threading.Thread(target=watch)
        watcher.start()
        results = press(server, "load", arguments.askers, until)
        took = time.perf_counter() - begun
        watcher.join()
        counts = server.get("load")
        memory = server.memory_mb
    waits = [seconds for seconds, _ in results]
    return {
        "askers": arguments.askers,
        "questions": len(results),
        "questions_a_second": round(len(results) / took, 2),
        "status": dict(Counter(status for _, status in results)),
        "p50_s": round(statistics.median(waits), 3),
        "p95_s": percentile(waits, 0.95),
        "alone_p50_s": round(statistics.median(alone), 4),
        "alone_p95_s": percentile(alone, 0.95),
        "p95_to_alone_times_askers": round(
            percentile(waits, 0.95) / (arguments.askers * statistics.median(alone)), 2
        ),
        "job": ended[0]["state"],
        "job_documents": ended[0]["report"].get("added", 0),
        "job_s": ended[0]["report"].get("seconds", {}).get("total"),
        "memory_mb": {
            "before": round(before_mb),
            "most": round(max(memory)),
            "end": round(memory[-1]),
        },
        "index": {name: counts[name] for name in COUNTED},
    }


def measure_crash(arguments: argparse.Namespace, folder: Path) -> dict:
    """Return what a kill in the middle of a job left, and what the next server made of it."""
    server = Server(folder, arguments.embedder)
    sent = send_documents(server, "crash", arguments.copies)
    job, whole = sent["job"]["id"], len(sent["files"])
    until = threading.Event()
    asking = threading.Thread(target=press, args=(server, "load", arguments.askers // 5, until))
    asking.start()
    while True:
        found = server.get(f"crash/jobs/{job}")
        there = server.get("crash/documents", limit=1_000, failed=False)["documents"]
        if len(there) * 2 >= whole or found["state"] not in ("queued", "running"):
            break
        time.sleep(0.05)
    server.kill()
    until.set()
    asking.join()
    with run_server(folder, arguments.embedder) as after:
        done = await_job(after, "crash", job)
        listed = after.get("crash/documents", limit=1_000)["documents"]
        kept = {(item["uri"], item["chunks"]) for item in listed}
        lost = [item["uri"] for item in there if (item["uri"], item["chunks"]) not in kept]
        counts = after.get("crash")
        with after.client() as client:
            answers = [ask(client, "crash", question)[1] for question in ASKED]
    return {
        "sent": whole,
        "there_at_the_kill": len(there),
        "state_at_the_kill": found["state"],
        "restart_s": round(after.start_s, 2),
        "same_job": done["state"],
        "job_unchanged": done["report"].get("unchanged"),
        "job_added": done["report"].get("added"),
        "lost": lost,
        "status": dict(Counter(answers)),
        "index": {name: counts[name] for name in COUNTED},
    }


def percentile(values: list[float], share: float) -> float:
    """Return the value below which a share of them lie."""
    return round(sorted(values)[int(share * (len(values) - 1))], 4)


def main() -> None:
    """Run once, and print what was counted."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--askers", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--copies", type=int, default=20, help="of the sample, indexed meanwhile")
    parser.add_argument("--embedder", default="local:multilingual-e5-small")
    parser.add_argument("--index", type=Path, help="an index to begin with; it is copied")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if arguments.index is not None:
            shutil.copy(arguments.index, folder / "load.knot")
        begun = os.getloadavg()
        load = measure_load(arguments, folder)
        crash = measure_crash(arguments, folder)
        told = {"load": load, "crash": crash, "load_average": [begun, os.getloadavg()]}
        told["same_index"] = arguments.index is not None or load["index"] == crash["index"]
        print(json.dumps(told, indent=1))


if __name__ == "__main__":
    main()
