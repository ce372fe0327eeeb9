"""An interrupted run is continued by the next one, with the result of an uninterrupted run."""

import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.indexing.interrupted_run import index
from tests.indexing.pipeline_fakes import make_stages, make_text, text_source
from tests.indexing.snapshots import snapshot

from knotwork._extensions.testing.embedders import HashingEmbedder
from knotwork._indexing.run import IndexingRun
from knotwork._stores.urls import open_store

pytestmark = pytest.mark.slow


ROOT = Path(__file__).parents[2]


@pytest.fixture
def start(start_process):
    def start(store, folder, mode):
        return start_process(
            [sys.executable, "-m", "tests.indexing.interrupted_run", store, folder, mode],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return start


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "documents"
    folder.mkdir()
    random_ = random.Random(7)
    for i in range(16):
        text = make_text(random_, paragraphs=random_.randint(1, 5))
        (folder / f"d{i:02}.txt").write_text(text, "utf-8")
    return folder


@pytest.fixture
def uninterrupted(tmp_path, folder):
    return contents(tmp_path / "whole.knot", folder)


def contents(path, folder):
    """Index the folder into this store, and return what it then holds."""
    index(str(path), folder, HashingEmbedder(16))
    store = open_store(str(path), read_only=True)
    try:
        return snapshot(store, times=True)
    finally:
        store.close()


def stored(path):
    store = open_store(str(path), read_only=True)
    try:
        return snapshot(store, times=True)
    finally:
        store.close()


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(n, marks=pytest.mark.nightly) for n in range(1, 5))]
)
def test_kills_at_random_points_leave_the_index_of_an_uninterrupted_run(
    start, tmp_path, folder, uninterrupted, seed
):
    path = tmp_path / "killed.knot"
    run = start(path, folder, f"kills:{seed}")
    output, errors = run.communicate(timeout=300)
    assert run.returncode == 0, errors
    assert int(output) >= 10
    assert stored(path) == uninterrupted


def test_a_kill_while_documents_are_replaced_loses_nothing(start, tmp_path, folder):
    path = tmp_path / "killed.knot"
    index(str(path), folder, HashingEmbedder(16))
    random_ = random.Random(8)
    for i in range(0, 16, 2):
        (folder / f"d{i:02}.txt").write_text(make_text(random_), "utf-8")
    (folder / "d01.txt").unlink()

    run = start(path, folder, "kills:5")
    output, errors = run.communicate(timeout=300)
    assert run.returncode == 0, errors
    assert int(output) >= 10
    assert stored(path) == contents(tmp_path / "fresh.knot", folder)


def test_ctrl_c_ends_cleanly_and_the_next_run_continues(start, tmp_path, folder, uninterrupted):
    path = tmp_path / "interrupted.knot"
    run = start(path, folder, "slow")
    for _ in range(6):
        assert run.stdout.readline() == "embedding\n"
        run.stdin.write("\n")
        run.stdin.flush()
    assert run.stdout.readline() == "embedding\n"
    run.send_signal(signal.SIGINT)
    output, errors = run.communicate(timeout=60)

    assert run.returncode == 130
    assert errors == ""
    assert "Run the same command again to continue" in output
    kept = stored(path)
    assert 0 < len(kept["documents"]) < 16
    assert len(kept["ledger"]) == len(kept["documents"])
    assert contents(path, folder) == uninterrupted


def interrupt_at_call(number):
    """Raise KeyboardInterrupt at a call of this number, as Ctrl-C may at any moment."""
    left = number

    def count(frame, event, argument):
        nonlocal left
        if event in {"call", "c_call"}:
            left -= 1
            if left == 0:
                sys.setprofile(None)
                raise KeyboardInterrupt

    sys.setprofile(count)


@pytest.mark.parametrize("place", ["memory:", "index.knot"])
@pytest.mark.parametrize("attempts", [10, pytest.param(60, marks=pytest.mark.nightly)])
def test_ctrl_c_at_any_call_leaves_an_index_that_resumes(tmp_path, monkeypatch, place, attempts):
    monkeypatch.chdir(tmp_path)
    random_ = random.Random(place)
    texts = {f"d{i}": make_text(random_, paragraphs=random_.randint(1, 4)) for i in range(8)}
    sources = [text_source(uri, text) for uri, text in texts.items()]

    def run(store):
        stages = make_stages(HashingEmbedder(16))
        list(IndexingRun(store, stages, batch_chunks=5, embedding_chunks=2).update.run(sources))

    whole = open_store("memory:")
    run(whole)
    expected = snapshot(whole)
    stopped = 0
    for attempt in range(attempts):
        store = open_store(place if place == "memory:" else f"{attempt}-{place}", create=True)
        try:
            interrupt_at_call(random_.randint(50, 7_000))
            run(store)
        except KeyboardInterrupt:
            stopped += 1
        finally:
            sys.setprofile(None)
        run(store)
        assert snapshot(store) == expected
        store.close()
    assert stopped >= 2 * attempts / 3
