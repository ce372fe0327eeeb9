"""A copy that is killed at any moment continues, and ends equal to its source."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from knotwork._stores.embedded import EmbeddedStore
from knotwork._stores.embedded.verification import find_all_faults
from knotwork._stores.transfer.digest import store_digest
from knotwork.testing._contents_contract import fill_store

pytestmark = pytest.mark.slow

_KILLS = 5
_MOST_LINES = 60
_MOST_S = 0.2


def time_to_write(process: subprocess.Popen[bytes], target: Path, size: int) -> None:
    """Wait until a process has written some bytes more, so that the kill falls into a commit."""
    wal = target.with_name(target.name + "-wal")
    before = wal.stat().st_size if wal.exists() else 0
    end_s = time.monotonic() + _MOST_S  # a checkpoint may keep the size of the file
    while (
        time.monotonic() < end_s
        and process.poll() is None
        and wal.exists()
        and wal.stat().st_size < before + size
    ):
        pass


def test_a_killed_copy_continues_until_it_is_equal(
    tmp_path: Path, start_process: Callable[..., subprocess.Popen[bytes]]
) -> None:
    source, target = tmp_path / "source.knot", tmp_path / "target.knot"
    with closing(EmbeddedStore.open(source, create=True)) as store:
        fill_store(store, documents=60)
        expected = store_digest(store)
    chance = random.Random(11)
    command = [sys.executable, str(Path(__file__).with_name("copying_process.py"))]
    reached: list[str] = []
    for _ in range(_KILLS):
        process = start_process([*command, str(source), str(target)], stdout=subprocess.PIPE)
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(chance.randint(10, _MOST_LINES))]
        time_to_write(process, target, chance.choice([0, 1, 5_000]))
        process.send_signal(signal.SIGKILL)
        rest, _ = process.communicate()
        assert b"finished" not in b"".join([*lines, rest]), "the kill came too late"
        reached.append(lines[-1].decode().rpartition(" ")[0])
    assert len(set(reached)) > 2, "the kills hit different parts"
    finished = subprocess.run(
        [*command, str(source), str(target)], capture_output=True, text=True, check=True
    )
    assert finished.stdout.splitlines()[-1] == "finished 0"
    with closing(EmbeddedStore.open(target)) as copied:
        assert store_digest(copied) == expected
        assert find_all_faults(copied._database) == []
