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

from knotwork._extensions.postgres.store import PostgresStore
from knotwork._extensions.testing.contents_contract import fill_store
from knotwork._extensions.upkeep.copies import store_digest
from knotwork._extensions.upkeep.verification import find_all_faults
from knotwork._stores.embedded import EmbeddedStore
from knotwork._stores.urls import open_store

pytestmark = pytest.mark.slow

_MOST_LINES = 60
_MOST_S = 0.05


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


@pytest.mark.parametrize(
    ("source_kind", "target_kind", "kills"),
    [
        ("embedded", "embedded", 2),
        ("embedded", "postgres", 2),
        *(
            pytest.param(*kinds, marks=pytest.mark.nightly)
            for kinds in (
                ("embedded", "embedded", 5),
                ("embedded", "postgres", 3),
                ("postgres", "embedded", 3),
            )
        ),
    ],
)
def test_a_killed_copy_continues_until_it_is_equal(
    source_kind: str,
    target_kind: str,
    kills: int,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    start_process: Callable[..., subprocess.Popen[bytes]],
) -> None:
    source, target = (
        str(tmp_path / f"{name}.knot")
        if kind == "embedded"
        else request.getfixturevalue("new_index")()
        for name, kind in (("source", source_kind), ("target", target_kind))
    )
    with closing(open_store(source, create=True)) as store:
        fill_store(store, documents=60)
        expected = store_digest(store)
    chance = random.Random(11)
    command = [sys.executable, str(Path(__file__).with_name("copying_process.py")), source, target]
    reached: list[str] = []
    for _ in range(kills):
        process = start_process(command, stdout=subprocess.PIPE)
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(chance.randint(10, _MOST_LINES))]
        if target_kind == "embedded":
            time_to_write(process, Path(target), chance.choice([0, 1, 5_000]))
        process.send_signal(signal.SIGKILL)
        rest, _ = process.communicate()
        if b"finished" in b"".join([*lines, rest]):  # the process ran on before the kill reached it
            break
        if not lines[0]:  # the one before was killed after its last commit, so this one is refused
            break
        reached.append(lines[-1].decode().rpartition(" ")[0])
    else:
        finished = subprocess.run(command, capture_output=True, text=True, check=False)
        ended = finished.stdout.endswith("finished 0\n") or "is not empty" in finished.stderr
        assert ended, finished.stderr
    assert len(set(reached)) > 1, "the kills hit different parts"
    with closing(open_store(target)) as copied:
        assert store_digest(copied) == expected
        if isinstance(copied, EmbeddedStore):
            assert find_all_faults(copied._database) == []
        elif isinstance(copied, PostgresStore):
            assert all("without a chunk" in fault for fault in copied.check())
