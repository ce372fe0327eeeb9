"""Hostile input ends in a result or one of our errors, within its time and memory.

`tests/hostile/search.py` searches longer: `nox -s fuzz`.
"""

from __future__ import annotations

import gc
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.hostile.search import ROOT, search
from tests.hostile.targets import check, corpus, load_targets

pytestmark = pytest.mark.slow

TARGETS = load_targets()
KEPT = list(corpus())


@pytest.mark.parametrize("examples", [5, pytest.param(None, marks=pytest.mark.nightly)])
def test_no_drawn_input_gets_through(tmp_path, examples):
    targets = sorted(TARGETS)
    results = search(targets, folder=tmp_path, seconds=6_000, examples=examples, first_seed=0)
    assert not results.findings
    assert {name for name in TARGETS if not results.ran[name]} == set()


@pytest.fixture
def no_collection():
    """Leave what other tests dropped for later: at the depth of some inputs, finalizers fail."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collection")
@pytest.mark.parametrize(("name", "file"), KEPT, ids=[f"{n}-{f.name}" for n, f in KEPT])
def test_former_failures_stay_fixed(name, file):
    target = TARGETS[name]
    started_s = time.process_time()
    check(target, file.read_bytes())
    assert time.process_time() - started_s < target.seconds


def test_a_search_finds_errors_hangs_memory_and_crashes(tmp_path, monkeypatch):
    """A target that fails in every way is found out, and its inputs are saved."""
    command = [sys.executable, "-m", "tests.hostile.search", "--seconds", "60", "--seed", "1"]
    monkeypatch.setenv("KNOTWORK_FUZZ_MODULES", "broken_target")
    done = subprocess.run(
        [*command, "--examples", "30", "--output", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    for fault in (
        "ZeroDivisionError",
        "more than 0.2 s",
        "more than 100 MB",
        "the process crashed",
    ):
        assert fault in done.stdout
    saved = {
        Path(line.strip()).read_bytes()[:1]
        for line in done.stdout.splitlines()
        if line.startswith("    ")
    }
    assert saved == {b"e", b"s", b"m", b"c"}
