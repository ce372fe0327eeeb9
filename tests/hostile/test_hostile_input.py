"""Hostile input ends in a result or one of our errors, within its time and memory.

`tests/hostile/search.py` looks for more, for as long as it is told: `nox -s fuzz`.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.hostile.search import ROOT, search
from tests.hostile.targets import Target, check, corpus, load_targets

pytestmark = pytest.mark.slow

TARGETS = load_targets()
KEPT = list(corpus())
SECONDS = 60.0
"""Ceiling of the wall-clock time of a target; it draws a fixed number of inputs."""


@pytest.mark.parametrize("name", sorted(TARGETS))
def test_no_drawn_input_gets_through(name, tmp_path):
    target = TARGETS[name]
    ran, findings = search(
        name, target, folder=tmp_path, seconds=SECONDS, examples=target.examples, first_seed=0
    )
    assert not findings, findings
    assert ran > 0


@pytest.mark.parametrize(("name", "file"), KEPT, ids=[f"{n}-{f.name}" for n, f in KEPT])
def test_what_once_fell_holds(name, file):
    check(TARGETS[name], file.read_bytes())


def test_a_search_finds_errors_hangs_memory_and_crashes(tmp_path, monkeypatch):
    """A target that fails in every way is found out, and its inputs are saved."""
    command = [sys.executable, "-m", "tests.hostile.search", "--seconds", "20", "--seed", "1"]
    monkeypatch.setenv("KNOTWORK_FUZZ_MODULES", "broken_target")
    done = subprocess.run(
        [*command, "--examples", "30", "--output", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    for fault in ("ZeroDivisionError", "more than 1 s", "more than 100 MB", "exit code -6"):
        assert fault in done.stdout
    saved = {
        Path(line.strip()).read_bytes()[:1]
        for line in done.stdout.splitlines()
        if line.startswith("    ")
    }
    assert saved == {b"e", b"s", b"m", b"c"}
    assert isinstance(TARGETS["filters"], Target)
