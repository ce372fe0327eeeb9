"""`knotwork index`, killed at random times, ends with the index of an uninterrupted run."""

import pytest
from tests.hostile.killed_runs import Job, kill_runs, write_files

pytestmark = pytest.mark.slow


MODELS = (("none", 0, 1), ("hashing:64", 5, 0))
SHORT, LONG = (25, 2, 0.8), (120, 4, 3.0)


@pytest.mark.parametrize(
    ("model", "slow_ms", "workers", "files", "kills", "longest_s"),
    [
        *[pytest.param(*one, *SHORT, id=one[0]) for one in MODELS],
        *[pytest.param(*o, *LONG, id=f"{o[0]}-long", marks=pytest.mark.nightly) for o in MODELS],
    ],
)
def test_kills_at_random_times_lose_no_document(
    tmp_path, model, slow_ms, workers, files, kills, longest_s
):
    folder = tmp_path / "docs"
    write_files(folder, files=files, seed=3)
    job = Job(folder, model, slow_ms, workers, tmp_path / "passages")
    outcome = kill_runs(job, tmp_path, kills=kills, seed=3, longest_s=longest_s)
    assert (outcome.kills, outcome.rounds >= 1) == (kills, True)
