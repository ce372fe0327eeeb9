"""Ask more indexes of one server than it keeps open, and report its memory and its open files.

    python benchmarks/service/indexes.py --indexes 60 --open 4 1000

Each is a copy of an index of the bundled sample; each is asked, and its map is drawn, twice over.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import httpx2 as httpx

import knotwork
from knotwork.demo import QUESTIONS, open_sample

EMBEDDER = "hashing:384"
"""One without a model, whose memory would hide that of the indexes."""


def fill(folder: Path, indexes: int) -> None:
    """Put so many copies of an index of the sample into a folder."""
    first = folder / "w0.knot"
    with open_sample() as sample, knotwork.open(first, embedding_model=EMBEDDER) as base:
        base.index(sample)
        base.communities.update()
    for number in range(1, indexes):
        shutil.copy(first, folder / f"w{number}.knot")


def measure(folder: Path, indexes: int, most_open: int) -> dict:
    """Return what a server that keeps so many open takes, before and after all were asked."""
    environment = {
        **os.environ,
        "KNOTWORK_EMBEDDING_MODEL": EMBEDDER,
        "KNOTWORK_SERVICE_OPEN_INDEXES": str(most_open),
        "KNOTWORK_SERVICE_REQUESTS_PER_MINUTE": "0",
    }
    command = [sys.executable, "-m", "knotwork", "serve", str(folder), "--port", "0", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True)
    try:
        address = json.loads(process.stdout.readline())["address"]
        before = look(process.pid)
        with httpx.Client(base_url=f"{address}/api/v1/workspaces", timeout=300) as client:
            for turn in range(2 * indexes):
                name = f"w{turn % indexes}"
                asked = client.post(f"/{name}/ask", json={"question": QUESTIONS[0].text})
                asked.raise_for_status()
                client.get(f"/{name}/graph").raise_for_status()
        return {"open": most_open, "before": before, "after": look(process.pid)}
    finally:
        process.terminate()
        process.wait(60)


def look(process: int) -> dict:
    """Return the memory and the open files of a process."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    (held,) = (int(line.split()[1]) for line in lines if line.startswith("VmRSS"))
    files = sum(1 for _ in Path(f"/proc/{process}/fd").iterdir())
    return {"memory_mb": held // 1_000, "files": files}


def main() -> None:
    """Run once for each bound, and print what was counted."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--indexes", type=int, default=60)
    parser.add_argument("--open", type=int, nargs="+", default=[4, 1_000])
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        fill(Path(name), arguments.indexes)
        for most_open in arguments.open:
            print(json.dumps(measure(Path(name), arguments.indexes, most_open)))


if __name__ == "__main__":
    main()
