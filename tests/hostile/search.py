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
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings
from tests.hostile.targets import Target, TooSlow, check, input_name, load_targets

ROOT = Path(__file__).parents[2]
ROUND = 100
"""Inputs of a round, which has a seed of its own."""
PATIENCE_S = 180.0
"""Wall-clock seconds without a new input after which a process counts as hanging."""
HANG, CRASH = "the process hung", "the process crashed"

_DEATHS = (HANG, CRASH)
_MOST_DEATHS = 3
_CURRENT = "current"
_SAVED_PER_FAULT = 3
_UNLIMITED = 10**9


@dataclass(frozen=True)
class Finding:
    """An input that failed, where it is saved, and why."""

    target: str
    fault: str
    file: Path


@dataclass
class Results:
    """The number of inputs that each target has run, and what failed."""

    ran: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)


def search(
    names: Sequence[str], *, folder: Path, seconds: float, examples: int | None, first_seed: int
) -> Results:
    """Search the targets in a process of its own, each for its share of the seconds.

    A target gets at most ``examples`` inputs; None is its own number. A process that dies or hangs
    is replaced by one with the next seed, up to three times for a target.
    """
    folder.mkdir(parents=True, exist_ok=True)
    results, left, number = Results(), list(names), first_seed
    share_s = seconds / len(left)
    while left:
        command = [
            *(sys.executable, "-m", "tests.hostile.search", "--child", "--output", str(folder)),
            *("--seconds", f"{share_s * len(left):.1f}", "--seed", str(number)),
            *(() if examples is None else ("--examples", str(examples))),
            *left,
        ]
        ended = _watch(command, folder, results)
        if ended is None:
            break
        deaths = [f for f in results.findings if f.target == ended and f.fault in _DEATHS]
        left = left[left.index(ended) + (len(deaths) >= _MOST_DEATHS) :]
        number += 1_000_000
    return results


def _watch(command: Sequence[str], folder: Path, results: Results) -> str | None:
    """Run one process, add its results, and return the target at which it died, or None."""
    current, log = folder / _CURRENT, folder / "log.jsonl"
    current.write_bytes(b"")
    with log.open("wb") as output, (folder / "errors.txt").open("ab") as errors:
        child = subprocess.Popen(command, stdout=output, stderr=errors, cwd=ROOT)
        while True:
            try:
                child.wait(timeout=1.0)
                break
            except subprocess.TimeoutExpired:
                if time.time() - current.stat().st_mtime > PATIENCE_S:
                    child.kill()
                    child.wait()
                    break
    target, is_over = "", False
    for line in log.read_text("utf-8").splitlines():
        record = json.loads(line)
        is_over = is_over or "over" in record
        target = record.get("target", target)
        results.ran[target] += record.get("ran", 0)
        if "fault" in record:
            results.findings.append(Finding(target, record["fault"], folder / record["file"]))
    if is_over:
        return None
    if not target:
        raise RuntimeError(f"The search cannot start: see {folder / 'errors.txt'}.")
    fault = HANG if child.returncode == -signal.SIGKILL else CRASH
    saved = _save(folder / target, current.read_bytes())
    results.findings.append(Finding(target, fault, saved))
    return target


def run_child(
    targets: Mapping[str, Target],
    folder: Path,
    *,
    seconds: float,
    examples: int | None,
    number: int,
) -> None:
    """Send drawn inputs to each target until its share of the time or of the inputs is used."""
    warnings.simplefilter("error")
    signal.signal(signal.SIGPROF, _interrupt)
    for name, target in targets.items():
        _report({"target": name})
        _run_target(
            target,
            folder,
            seconds=seconds / len(targets),
            examples=target.examples if examples is None else examples,
            number=number,
        )
    _report({"over": True})


def _run_target(
    target: Target, folder: Path, *, seconds: float, examples: int, number: int
) -> None:
    _limit_memory(target.megabytes)
    faults: Counter[str] = Counter()
    ran, deadline_s = 0, time.monotonic() + seconds

    def take(data: bytes) -> None:
        nonlocal ran
        if time.monotonic() > deadline_s or ran >= examples:
            return
        ran += 1
        (folder / _CURRENT).write_bytes(data)
        fault = _run(target, data)
        if fault:
            kind = fault.partition(": ")[0]
            faults[kind] += 1
            if faults[kind] <= _SAVED_PER_FAULT:
                file = _save(folder / target.name, data)
                _report({"fault": fault, "file": str(file.relative_to(folder))})

    while time.monotonic() < deadline_s and ran < examples:
        before = ran
        run_round = seed(number)(
            settings(
                max_examples=min(ROUND, examples - ran),
                database=None,
                deadline=None,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )(given(target.inputs)(take))
        )
        run_round()
        _report({"ran": ran - before})
        number += 1


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
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = pages * resource.getpagesize() + megabytes * 1_000_000
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))


def _save(folder: Path, data: bytes) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
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
    parser.add_argument("--examples", type=int, help="most inputs of each target; else no limit")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "fuzz")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    known = load_targets()
    names = chosen.targets or sorted(known)
    if unknown := [name for name in names if name not in known]:
        parser.error(f"unknown targets {unknown}; known: {', '.join(sorted(known))}")
    limits = {"seconds": chosen.seconds, "examples": chosen.examples}
    if chosen.child:
        given_targets = {name: known[name] for name in names}
        run_child(given_targets, chosen.output, number=chosen.seed, **limits)
        return 0
    limits["examples"] = chosen.examples or _UNLIMITED
    results = search(names, folder=chosen.output, first_seed=chosen.seed, **limits)
    lines = [f"seed {chosen.seed}"]
    lines += [f"{name}: {results.ran[name]:,} inputs" for name in names]
    lines += [f"{f.target}: {f.fault}\n    {f.file}" for f in results.findings]
    sys.stdout.write("\n".join(lines) + "\n")
    return 1 if results.findings else 0


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
