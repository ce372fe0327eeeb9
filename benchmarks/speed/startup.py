"""Measure what commands cost to start: processor time and peak memory, model included.

    python benchmarks/speed/startup.py --runs 7

The demo's documents are indexed once, unless `--index` names an index. Each command then runs in a
process of its own, in turns with the others, and the medians count. Processor time is user and
system time; "x" is its ratio to that of `python -c pass`, which shows how fast the machine is now.
Bytecode is cached, as it is where Knotwork is installed: a first round that does not count
writes it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from knotwork.demo import open_sample

QUESTION = "Who approves trips abroad?"
COMMANDS = {
    "python -c pass": ["-c", "pass"],
    "python -c 'import click'": ["-c", "import click"],
    "python -c 'import numpy'": ["-c", "import numpy"],
    "knotwork --help": ["-m", "knotwork", "--help"],
    "knotwork documents": ["-m", "knotwork", "documents"],
    "knotwork search": ["-m", "knotwork", "search", QUESTION],
    "knotwork ask": ["-m", "knotwork", "ask", QUESTION],
}


class Cost(NamedTuple):
    """What one run of a command took."""

    cpu_s: float
    peak_mib: float


def measure(arguments: Sequence[str], environment: dict[str, str]) -> Cost:
    """Run Python with these arguments; raise CalledProcessError if it fails."""
    process = subprocess.Popen(
        [sys.executable, *arguments],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, arguments)
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / unit)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--index", type=Path, help="an index to ask")
    parser.add_argument("--runs", type=int, default=7, help="runs of each command")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        index = options.index or Path(folder) / "demo.knot"
        environment = {**os.environ, "KNOTWORK_STORE_PATH": str(index)}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        if options.index is None:
            with open_sample() as sample:
                measure(["-m", "knotwork", "index", str(sample)], environment)
        costs: dict[str, list[Cost]] = {name: [] for name in COMMANDS}
        for run in range(options.runs + 1):
            for name, arguments in COMMANDS.items():
                cost = measure(arguments, environment)
                if run:
                    costs[name].append(cost)
    base = median(cost.cpu_s for cost in costs["python -c pass"])
    print(f"{'command':26}{'CPU s':>8}{'MiB':>8}{'x':>8}")
    for name, found in costs.items():
        cpu_s = median(cost.cpu_s for cost in found)
        peak = median(cost.peak_mib for cost in found)
        print(f"{name:26}{cpu_s:8.3f}{peak:8.0f}{cpu_s / base:8.1f}")


if __name__ == "__main__":
    main()
