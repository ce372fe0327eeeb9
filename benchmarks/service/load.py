"""Have many people ask a server at once while it indexes, and report how long they waited.

    python benchmarks/service/load.py --askers 50 --seconds 30

The server is a process of its own on this machine, with the embedded default: one index file of
copies of the bundled sample, or the one given. Each asker asks the next question as soon as the
last one is answered. The same questions asked one by one, with nothing else to do, are the
reference: bare times say more about the machine than about the server.
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


@contextmanager
def run_server(folder: Path, embedder: str) -> Iterator[tuple[str, subprocess.Popen]]:
    """Yield the address and the process of a server of a folder."""
    command = [sys.executable, "-m", "knotwork", "serve", str(folder), "--port", "0", "--json"]
    environment = {
        **os.environ,
        "KNOTWORK_EMBEDDING_MODEL": embedder,
        "KNOTWORK_SERVICE_REQUESTS_PER_MINUTE": "0",
    }
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True)
    try:
        yield json.loads(process.stdout.readline())["address"], process
    finally:
        process.terminate()
        process.wait(60)


def ask(client: httpx.Client, question: str) -> tuple[float, int]:
    """Return the seconds that a question took, and the status of its answer."""
    begun = time.perf_counter()
    try:
        response = client.post("/api/v1/workspaces/load/ask", json={"question": question})
    except httpx.HTTPError:
        return time.perf_counter() - begun, 0
    return time.perf_counter() - begun, response.status_code


def send_documents(address: str, copies: int) -> str:
    """Send copies of the sample, each with words of its own, and return the id of the job."""
    with open_sample() as sample, httpx.Client(base_url=address, timeout=300) as client:
        texts = [(p.name, p.read_text()) for p in sorted(sample.rglob("*.md"))]
        files = [
            ("files", (f"{copy}/{name}", f"{text}\n\nThis is copy {copy}.\n"))
            for copy in range(copies)
            for name, text in texts
        ]
        sent = client.post("/api/v1/workspaces/load/documents", files=files)
        return sent.raise_for_status().json()["data"]["job"]["id"]


def await_job(address: str, job: str) -> dict:
    """Return a job that is over."""
    with httpx.Client(base_url=address, timeout=60) as client:
        while True:
            found = client.get(f"/api/v1/workspaces/load/jobs/{job}").json()["data"]
            if found["state"] not in ("queued", "running"):
                return found
            time.sleep(0.2)


def memory_mb(process: subprocess.Popen) -> float:
    """Return the memory that a process holds."""
    for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1_000
    return 0.0


def press(address: str, askers: int, seconds: float, done: threading.Event) -> list:
    """Have people ask until the time is over and ``done`` is set; return what each ask took."""
    end, results, lock = time.monotonic() + seconds, [], threading.Lock()

    def go_on(seed: int) -> None:
        chance = random.Random(seed)
        with httpx.Client(base_url=address, timeout=300) as client:
            while time.monotonic() < end or not done.is_set():
                result = ask(client, chance.choice(ASKED))
                with lock:
                    results.append(result)

    threads = [threading.Thread(target=go_on, args=(seed,)) for seed in range(askers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def measure(arguments: argparse.Namespace, folder: Path) -> dict:
    """Return the counts of one run."""
    with run_server(folder, arguments.embedder) as (address, process):
        with httpx.Client(base_url=address, timeout=300) as client:
            if arguments.index is None:
                client.post("/api/v1/workspaces", json={"name": "load"}).raise_for_status()
                await_job(address, send_documents(address, 1))
            for question in ASKED:
                ask(client, question)
            alone = sorted(ask(client, ASKED[n % len(ASKED)])[0] for n in range(ONE_BY_ONE))
        before = memory_mb(process)
        done, job = threading.Event(), send_documents(address, arguments.copies)
        ended: list[dict] = []

        def watch() -> None:
            ended.append(await_job(address, job))
            done.set()

        watcher = threading.Thread(target=watch)
        watcher.start()
        begun = time.perf_counter()
        results = press(address, arguments.askers, arguments.seconds, done)
        took = time.perf_counter() - begun
        watcher.join()
        after = memory_mb(process)
    waits = sorted(seconds for seconds, _ in results)
    return {
        "askers": arguments.askers,
        "questions": len(results),
        "questions_a_second": round(len(results) / took, 2),
        "status": dict(Counter(status for _, status in results)),
        "p50_s": round(statistics.median(waits), 3),
        "p95_s": round(waits[int(0.95 * (len(waits) - 1))], 3),
        "alone_p50_s": round(statistics.median(alone), 4),
        "alone_p95_s": round(alone[int(0.95 * (len(alone) - 1))], 4),
        "p95_to_alone_times_askers": round(
            waits[int(0.95 * (len(waits) - 1))] / (arguments.askers * statistics.median(alone)), 2
        ),
        "job": ended[0]["state"],
        "job_documents": ended[0]["report"].get("added", 0),
        "job_s": ended[0]["report"].get("seconds", {}).get("total"),
        "memory_mb": [round(before), round(after)],
        "load_average": os.getloadavg()[0],
    }


def main() -> None:
    """Run once, and print what was counted."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--askers", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--copies", type=int, default=20, help="of the sample, indexed meanwhile")
    parser.add_argument("--embedder", default="local:all-MiniLM-L6-v2")
    parser.add_argument("--index", type=Path, help="an index to begin with; it is copied")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if arguments.index is not None:
            shutil.copy(arguments.index, folder / "load.knot")
        print(json.dumps(measure(arguments, folder), indent=1))


if __name__ == "__main__":
    main()
