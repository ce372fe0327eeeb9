"""Killed anywhere while a model reads, a run goes on: nothing is paid twice, nothing differs."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow


ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("seed", "kills"),
    [(0, 4), *(pytest.param(seed, 10, marks=pytest.mark.nightly) for seed in range(3))],
)
def test_kills_at_random_points_repeat_no_finished_call_and_change_nothing(tmp_path, seed, kills):
    """The same with 50: `python -m tests.indexing.killed_reading FOLDER SEED 50`."""
    run = subprocess.run(
        [sys.executable, "-m", "tests.indexing.killed_reading", tmp_path, str(seed), str(kills)],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    told = json.loads(run.stdout)
    assert told["kills"] == kills
    assert told["ended"] >= 1
    assert told["calls"] > 15
    # At most the calls under way are lost with a kill, and made again.
    assert told["asked"] <= told["ended"] * told["calls"] + 4 * kills
