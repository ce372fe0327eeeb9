"""Real documents through all real stages: whatever comes and goes, the index is a fresh build."""

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.indexing.snapshots import snapshot

import knotwork
from knotwork._extensions.graphs.export import export_graph
from knotwork._extensions.testing.embedders import HashingEmbedder
from knotwork._indexing.loaders.loader_registry import load_file
from knotwork._indexing.sources import discover
from knotwork.demo import open_sample

pytestmark = pytest.mark.slow


ROOT = Path(__file__).parents[1]
RUN = """
import os, signal, sys, knotwork
from knotwork._indexing import commit
store, folder, left = sys.argv[1:]
commit.BATCH_S = 0  # a commit for each document
left = int(left)
with knotwork.open(store, embedding_model="hashing:16") as kb:
    for event in kb.index.run(folder):
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(scope="module")
def documents():
    with open_sample() as folder:
        return [load_file(file.path, uri=file.uri) for file in discover([folder])]


def opened(path):
    return knotwork.open(path, embedder=HashingEmbedder(16))


def exported(kb, path):
    export_graph(kb.store, path, format="json")
    return path.read_bytes()


def fresh(documents, folder):
    with opened(folder / "fresh.knot") as kb:
        kb.index_documents(documents)
        return snapshot(kb.store), exported(kb, folder / "fresh.json")


def test_deleting_and_adding_in_random_order_leaves_a_fresh_build(documents, tmp_path):
    random_ = random.Random(4)
    present = {}
    with opened(tmp_path / "index.knot") as kb:
        for _ in range(7):
            chosen = random_.sample(documents, random_.randint(1, 8))
            gone = [d for d in chosen if d.uri in present]
            come = [d for d in chosen if d.uri not in present]
            if gone:
                kb.delete([d.uri for d in gone])
            kb.index_documents(come)
            present = {d.uri: d for d in present.values() if d not in gone}
            present |= {d.uri: d for d in come}
        contents, graph = snapshot(kb.store), exported(kb, tmp_path / "index.json")
    random_.shuffle(documents := list(present.values()))
    assert (contents, graph) == fresh(documents, tmp_path)


@pytest.mark.parametrize(
    "kills",
    [
        (18, 30, 99),
        pytest.param(
            [random.Random(s).randint(1, 60) for s in range(40)], marks=pytest.mark.nightly
        ),
    ],
    ids=["short", "long"],
)
def test_killed_runs_leave_the_graph_of_an_uninterrupted_one(tmp_path, kills):
    with open_sample() as folder:
        command = [sys.executable, "-c", RUN, str(tmp_path / "killed.knot"), str(folder)]
        killed = 0
        for events in kills:
            done = subprocess.run(
                [*command, str(events)], cwd=ROOT, env=os.environ, capture_output=True, check=False
            )
            if done.returncode == 0:
                break
            assert done.returncode == -signal.SIGKILL, done.stderr.decode()
            killed += 1
        assert killed >= 2
        with opened(tmp_path / "whole.knot") as kb:
            kb.index(folder)
            expected = snapshot(kb.store, times=True), exported(kb, tmp_path / "whole.json")
    with opened(tmp_path / "killed.knot") as kb:
        graph = exported(kb, tmp_path / "killed.json")
        assert (snapshot(kb.store, times=True), graph) == expected
