"""Search for inputs that hang, crash or exhaust a target, or end in an error of another kind.

`python3 -m nox -s fuzz -- --seconds 600 --seed 7 cypher filters` runs it; without names, all
targets share the time. A target runs in a process of its own, with a ceiling of memory. An input
that takes longer than it may, kills the process or raises another error is saved under
`build/fuzz/TARGET/`; move it to `tests/hostile/corpus/TARGET/` with the mend.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import resource
import signal
import subprocess
import sys
import time
import traceback
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings
from tests.hostile.targets import Target, TooSlow, check, input_name, load_targets

ROOT = Path(__file__).parents[2]
ROUND = 100
"""Inputs of a round, which has a seed of its own."""
PATIENCE = 6.0
"""Wall-clock seconds that an input may take, as a multiple of its processor time; at least 60."""

_CURRENT = "current"
_SAVED_PER_FAULT = 3


@dataclass(frozen=True)
class Finding:
    """An input that failed, where it is saved, and why."""

    target: str
    fault: str
    file: Path


def search(
    name: str, target: Target, *, folder: Path, seconds: float, examples: int, first_seed: int
) -> tuple[int, list[Finding]]:
    """Search in processes of their own, and return how many inputs ran and what failed.

    A process that dies or hangs is replaced by one with the next seed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    ran, findings, deadline_s = 0, [], time.monotonic() + seconds
    number = first_seed
    while examples > ran and (left_s := deadline_s - time.monotonic()) > 0:
        command = [
            *(sys.executable, "-m", "tests.hostile.search", "--child", "--output", str(folder)),
            *("--seconds", f"{left_s:.1f}", "--examples", str(examples - ran)),
            *("--seed", str(number), name),
        ]
        done, found = _watch(command, name, target, folder)
        ran += done
        findings += found
        number += 1_000_000
        if not found and done == 0:
            break
    return ran, findings


def _watch(
    command: Sequence[str], name: str, target: Target, folder: Path
) -> tuple[int, list[Finding]]:
    """Run one process to its end, and return the number of inputs and what failed."""
    current = folder / _CURRENT
    current.write_bytes(b"")
    log = folder / "log.jsonl"
    patience_s = max(60.0, PATIENCE * target.seconds)
    with log.open("wb") as output, (folder / "errors.txt").open("ab") as errors:
        child = subprocess.Popen(command, stdout=output, stderr=errors, cwd=ROOT)
        while True:
            try:
                child.wait(timeout=1.0)
                break
            except subprocess.TimeoutExpired:
                if time.time() - current.stat().st_mtime > patience_s:
                    child.kill()
                    child.wait()
                    break
    ran, findings, ended = 0, [], False
    for line in log.read_text("utf-8").splitlines():
        record = json.loads(line)
        ran = record.get("ran", ran)
        ended = ended or "end" in record
        if "fault" in record:
            findings.append(Finding(name, record["fault"], folder / record["file"]))
    if not ended:
        data = current.read_bytes()
        fault = "hang" if child.returncode == -signal.SIGKILL else f"exit code {child.returncode}"
        findings.append(Finding(name, fault, _save(folder, data)))
        ran += 1
    return ran, findings


def run_child(target: Target, folder: Path, *, seconds: float, examples: int, number: int) -> None:
    """Send drawn inputs to a target until the time or the number of them is over."""
    warnings.simplefilter("error")
    _limit_memory(target.megabytes)
    signal.signal(signal.SIGPROF, _interrupt)
    current = folder / _CURRENT
    faults: dict[str, int] = {}
    state = {"ran": 0}
    deadline_s = time.monotonic() + seconds

    def take(data: bytes) -> None:
        if time.monotonic() > deadline_s or state["ran"] >= examples:
            return
        state["ran"] += 1
        current.write_bytes(data)
        fault = _run(target, data)
        if fault:
            kind = fault.partition(": ")[0]
            faults[kind] = faults.get(kind, 0) + 1
            if faults[kind] <= _SAVED_PER_FAULT:
                file = _save(folder, data)
                _report({"fault": fault, "file": file.name, "ran": state["ran"]})

    while time.monotonic() < deadline_s and state["ran"] < examples:
        run_round = seed(number)(
            settings(
                max_examples=ROUND,
                database=None,
                deadline=None,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )(given(target.inputs)(take))
        )
        run_round()
        _report({"ran": state["ran"]})
        number += 1
    _report({"ran": state["ran"], "end": True})


def _run(target: Target, data: bytes) -> str:
    """Return what is wrong with the outcome of an input, or ""."""
    signal.setitimer(signal.ITIMER_PROF, target.seconds, 1.0)
    try:
        check(target, data)
    except TooSlow as error:
        return f"more than {target.seconds:g} s at {_place(error)}"
    except MemoryError as error:
        gc.collect()
        return f"more than {target.megabytes} MB at {_place(error)}"
    except Exception as error:  # noqa: BLE001  whatever it is, it is reported
        return f"{type(error).__name__} at {_place(error)}: {str(error)[:200]!r}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return ""


def _place(error: BaseException) -> str:
    """Return the innermost place in our own code."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "knotwork" in frame.filename] or list(frames)
    return f"{Path(own[-1].filename).name}:{own[-1].lineno}" if own else "?"


def _interrupt(_number: int, _frame: object) -> None:
    raise TooSlow


def _limit_memory(megabytes: int) -> None:
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
    used = pages * resource.getpagesize()
    limit = used + megabytes * 1_000_000
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def _save(folder: Path, data: bytes) -> Path:
    file = folder / input_name(data)
    file.write_bytes(data)
    return file


def _report(record: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(record) + "\n")
    sys.stdout.flush()


def main(arguments: Sequence[str] | None = None) -> int:
    """Search the named targets, print what failed, and return 1 if something did."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("targets", nargs="*", metavar="TARGET")
    parser.add_argument("--seconds", type=float, default=600.0, help="for all targets together")
    parser.add_argument("--examples", type=int, default=10**9, help="most inputs of a target")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "fuzz")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    given_options = parser.parse_args(arguments)
    known = load_targets()
    names = given_options.targets or sorted(known)
    if unknown := [name for name in names if name not in known]:
        parser.error(f"unknown targets {unknown}; known: {', '.join(sorted(known))}")
    if given_options.child:
        (name,) = names
        run_child(
            known[name],
            given_options.output,
            seconds=given_options.seconds,
            examples=given_options.examples,
            number=given_options.seed,
        )
        return 0
    findings = []
    for name in names:
        time.monotonic()
        _ran, found = search(
            name,
            known[name],
            folder=given_options.output / name,
            seconds=given_options.seconds / len(names),
            examples=given_options.examples,
            first_seed=given_options.seed,
        )
        for _finding in found:
            pass
        sys.stdout.flush()
        findings += found
    return 1 if findings else 0


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
