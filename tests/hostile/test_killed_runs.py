"""`knotwork index`, killed at random times, ends with the index of an uninterrupted run."""

import pytest
from tests.hostile.killed_runs import Job, kill_runs, write_files

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("model", "slow_ms", "workers"), [("none", 0, 1), ("hashing:64", 5, 0)], ids=["none", "slow"]
)
def test_kills_at_random_times_lose_no_document(tmp_path, model, slow_ms, workers):
    folder = tmp_path / "docs"
    write_files(folder, files=120, seed=3)
    job = Job(folder, model, slow_ms, workers, tmp_path / "passages")
    outcome = kill_runs(job, tmp_path, kills=4, seed=3, longest_s=3.0)
    assert (outcome.kills, outcome.rounds >= 1) == (4, True)
