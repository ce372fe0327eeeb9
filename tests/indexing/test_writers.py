"""A run whose documents are stored by others beside it ends as one that stores them itself.

The writers are real; the cluster that runs them is a fake, which runs a commit when its result is
asked for, so that commits end long after the run went on.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.indexing.pipeline_fakes import NameExtractor, ParagraphSplitter, make_text
from tests.indexing.snapshots import snapshot

import knotwork
from knotwork._extensions.ray import writer as ray_writer
from knotwork._extensions.ray.writer import RayWriter, WritingActor
from knotwork._extensions.testing.embedders import HashingEmbedder
from knotwork._indexing import run as run_module
from knotwork._indexing.report import IndexingInterrupted
from knotwork._indexing.stages import Engine
from knotwork._run import Stage
from knotwork.errors import IndexingError, StoreBusy

pytestmark = pytest.mark.slow


class FakeCluster:
    """Runs a commit when its result is asked for; ``lose`` says which ones end their actor."""

    lost_errors = (ConnectionResetError,)
    slots = 7

    def __init__(self, lose=lambda number: False):
        self.ray = SimpleNamespace(put=lambda value: value, remote=self._remote, kill=self._kill)
        self.lose = lose
        self.actors, self.ended = [], []
        self.most_pending = self.pending = self.calls = 0

    def _remote(self, **options):
        def make(kind):
            def start(setup):
                actor = kind(setup)
                self.actors.append(actor)

                def write(sent, rows):
                    self.pending += 1
                    self.most_pending = max(self.most_pending, self.pending)
                    return lambda: actor.write(sent, dict(rows))

                return SimpleNamespace(write=SimpleNamespace(remote=write))

            return SimpleNamespace(remote=start)

        return make

    def _kill(self, actor):
        self.ended.append(actor)

    def is_done(self, ref, *, seconds=0.0):
        return False

    def result(self, ref):
        self.pending -= 1
        self.calls += 1
        if self.lose(self.calls):
            raise ConnectionResetError("the node died")
        return ref()


@dataclass(frozen=True)
class Opener:
    """Opens the store of a test a second time: it is the same one."""

    number: int

    def __call__(self):
        return STORES[self.number]


STORES = {}


@dataclass
class WriterEngine(Engine):
    """Has documents stored by actors of a fake cluster."""

    cluster: FakeCluster | None = None

    def open_writer(self, store, embedding, tiers):
        number = len(STORES)
        STORES[number] = store
        return RayWriter(self.cluster, store, Opener(number), embedding, tiers)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    for number in range(30):
        text = make_text(random.Random(number), paragraphs=40)
        (folder / f"{number:02}.txt").write_text(text, "utf-8")
    (folder / "empty.txt").write_bytes(b"")
    return folder


def open_index(path, monkeypatch, cluster=None, **options):
    if cluster is not None:
        monkeypatch.setattr(
            run_module, "open_engine", lambda settings: WriterEngine(cluster=cluster)
        )
    else:
        monkeypatch.setattr(run_module, "open_engine", lambda settings: Engine())
    parts = {"splitter": ParagraphSplitter(), "extractor": NameExtractor()}
    return knotwork.open(path, **{**parts, "embedder": HashingEmbedder(16), **options})


@pytest.mark.parametrize("embedding", ["hashing", "none"])
def test_the_index_equals_one_by_a_single_writer(tmp_path, folder, monkeypatch, embedding) -> None:
    options = {"embedder": None, "embedding_model": "none"} if embedding == "none" else {}
    cluster, found = FakeCluster(), []
    for name, used in (("many", cluster), ("one", None)):
        with open_index(tmp_path / f"{name}.knot", monkeypatch, used, **options) as kb:
            report = kb.index(folder)
            changed = sorted(folder.glob("*.txt"))[5]
            text = changed.read_text("utf-8")
            changed.write_text(text + "\n\nZora meets Ada.", "utf-8")
            again = kb.index(folder)
            changed.write_text(text, "utf-8")
            counts = [(one.added, one.changed, len(one.failures)) for one in (report, again)]
            totals = (report.chunks, report.mentions, report.total_documents)
            found.append((snapshot(kb.store), counts, totals))
    assert found[0] == found[1]
    assert found[0][1] == [(30, 0, 1), (0, 1, 1)]
    assert len(cluster.actors) == 2 * 3
    assert cluster.most_pending <= 3 * ray_writer._COMMITS_AHEAD
    assert len(cluster.ended) == len(cluster.actors)
    used = [actor for actor in cluster.actors if actor._store is not None]
    assert len(used) > 2


def test_documents_are_reported_when_they_are_stored(tmp_path, folder, monkeypatch) -> None:
    with open_index(tmp_path / "a.knot", monkeypatch, FakeCluster()) as kb:
        for event in kb.index.run(folder):
            if event.stage is Stage.ADDED:
                assert kb.store.ledger.get([event.subject])


def test_an_error_of_the_store_ends_the_run(tmp_path, folder, monkeypatch) -> None:
    cluster = FakeCluster()
    write = WritingActor.write

    def refuse(self, packed, rows):
        return StoreBusy("The index is busy.") if cluster.calls > 4 else write(self, packed, rows)

    with open_index(tmp_path / "a.knot", monkeypatch, cluster) as kb:
        monkeypatch.setattr(WritingActor, "write", refuse)
        with pytest.raises(StoreBusy):
            kb.index(folder)
        assert cluster.ended
        monkeypatch.setattr(WritingActor, "write", write)
        kb.index(folder)
        stored = snapshot(kb.store)
    with open_index(tmp_path / "b.knot", monkeypatch) as kb:
        kb.index(folder)
        assert snapshot(kb.store) == stored


def test_a_commit_that_always_costs_its_actor_stops_the_run(tmp_path, folder, monkeypatch) -> None:
    cluster = FakeCluster(lose=lambda number: number == 6)
    with open_index(tmp_path / "a.knot", monkeypatch, cluster) as kb:
        with pytest.raises(IndexingError, match="stores documents died 4 times"):
            kb.index(folder)
        kb.index(folder)
        assert kb.store.documents.document_count() == 30


def test_an_interrupted_run_stores_what_is_finished(tmp_path, folder, monkeypatch) -> None:
    cluster = FakeCluster()
    with open_index(tmp_path / "a.knot", monkeypatch, cluster) as kb:
        taken = ray_writer.RayWriter.write
        written = []

        def interrupt(self, commit):
            taken(self, commit)
            written.extend(prepared.source.uri for prepared in commit.prepared)
            if len(written) > 12 and commit.prepared:
                monkeypatch.setattr(ray_writer.RayWriter, "write", taken)
                raise KeyboardInterrupt

        monkeypatch.setattr(ray_writer.RayWriter, "write", interrupt)
        with pytest.raises(IndexingInterrupted):
            kb.index(folder)
        assert set(kb.store.ledger.get(written)) == set(written)
