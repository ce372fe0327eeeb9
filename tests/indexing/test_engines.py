"""The choice of an engine, and the limits of what Ray has in progress, on a fake cluster."""

import importlib.util
import pickle
import socket
from contextlib import closing
from dataclasses import replace
from functools import partial
from threading import Lock
from types import SimpleNamespace

import pytest
from tests.indexing.pipeline_fakes import NameExtractor, ParagraphSplitter
from tests.indexing.ray_parts import read_with_lock
from tests.indexing.snapshots import snapshot

from knotwork._config import Settings
from knotwork._config.settings import IndexSettings
from knotwork._extensions.ray import preparer as ray_preparer
from knotwork._extensions.ray.cluster import Node
from knotwork._extensions.ray.embedder import Place, plan_actors
from knotwork._extensions.ray.preparer import (
    AHEAD_BYTES,
    AHEAD_DOCUMENTS,
    TASK_DOCUMENTS,
    RayPreparer,
    pickled_setup,
    read_documents,
)
from knotwork._extensions.testing.embedders import HashingEmbedder
from knotwork._indexing.commit import commit_documents
from knotwork._indexing.embedding import Embedding
from knotwork._indexing.prepare import Recipe, SourceFile, document_source, prepare
from knotwork._indexing.stages import Engine, open_engine
from knotwork._indexing.workers import ReadingLimits, end_kept
from knotwork._stores.urls import open_store
from knotwork.errors import ConfigError, MissingExtra, UnknownName
from knotwork.records import Document

RECIPE = Recipe(ParagraphSplitter(), NameExtractor())
SLOTS = 2


def engine_of(**index):
    return open_engine(Settings(index=IndexSettings(**index)))


def test_the_default_engine_is_the_processes_of_this_machine():
    assert engine_of(workers=3) == Engine(workers=3)


@pytest.mark.parametrize("name", ["dask", "rays", "Ray", "ray:", "ray://", "http://cluster"])
def test_an_unknown_engine_is_refused_with_the_valid_names(name):
    with pytest.raises(UnknownName, match=r"ray://HOST:PORT"):
        engine_of(compute=name)


@pytest.mark.parametrize("compute", ["ray", "ray://head:10001", "ray:auto"])
def test_ray_needs_its_extra(monkeypatch, compute):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"knotwork\[ray\]"):
        engine_of(compute=compute)


@pytest.mark.parametrize("compute", ["ray://127.0.0.1:{port}", "ray:127.0.0.1:{port}"])
def test_a_cluster_that_does_not_answer_is_named_at_once(monkeypatch, compute):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: True)
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # and never listens
        named = compute.format(port=closed.getsockname()[1])
        with closing(engine_of(compute=named)) as engine, pytest.raises(ConfigError) as caught:
            engine.open_preparer(RECIPE, total_bytes=1)
    assert named in str(caught.value)
    assert "does not answer" in str(caught.value)


def test_ray_needs_workers():
    with pytest.raises(ConfigError, match=r"index\.workers is 0"):
        engine_of(compute="ray", workers=0)


class FakeCluster:
    """Runs a task when its result is asked for, and counts documents in progress."""

    lost_errors = (ConnectionResetError,)
    slots = SLOTS

    def __init__(self, lose=lambda task: False):
        self.ray = SimpleNamespace(put=lambda value: value, remote=self._remote, cancel=print)
        self.sent, self.most_waiting, self.done = [], 0, set()
        self.lose = lose

    def _remote(self, **options):
        def start(setup, messages):
            self.sent.append((setup, list(messages)))
            waiting = [m for n, (_, m) in enumerate(self.sent) if n not in self.done]
            self.most_waiting = max(self.most_waiting, sum(map(len, waiting)))
            return len(self.sent) - 1

        return lambda function: SimpleNamespace(remote=start)

    def is_done(self, ref, *, seconds=0.0):
        return ref in self.done or seconds > 0

    def result(self, ref):
        setup, messages = self.sent[ref]
        self.done.add(ref)
        if self.lose(messages):
            raise ConnectionResetError("the node died")
        return read_documents(setup, messages)


@pytest.fixture(autouse=True)
def no_process_is_left():
    yield
    for pool in ray_preparer._pools.values():
        pool.close()
    ray_preparer._pools.clear()
    end_kept()


def open_preparer(cluster, total_bytes=10_000_000):
    setup = pickled_setup(RECIPE, ReadingLimits())
    return RayPreparer(
        cluster, RECIPE, setup, limits=ReadingLimits(), total_bytes=total_bytes
    )  # fmt: skip


def sources(count, size=0):
    return [
        document_source(Document(f"{n:05}.txt", f"Ada meets Bo{n}. {'x' * size}"))
        for n in range(count)
    ]


def take_all(preparer, candidates):
    """Take documents as the pipeline does; return them, and the most that were open."""
    taken, most = [], 0
    for source in candidates:
        preparer.begin(source)
        most = max(most, preparer.open)
        while preparer.is_ready():
            taken.append(preparer.take())
    while preparer.open:
        assert preparer.wait(0.1)
        taken.append(preparer.take())
    preparer.close()
    return taken, most


@pytest.mark.slow
def test_documents_come_back_in_order_and_few_are_in_progress():
    cluster = FakeCluster()
    candidates = sources(700)
    taken, most = take_all(open_preparer(cluster), candidates)
    assert [found.document for found in taken] == [
        prepare(source, RECIPE).document for source in candidates
    ]
    assert most <= AHEAD_DOCUMENTS * SLOTS
    assert cluster.most_waiting <= AHEAD_DOCUMENTS * SLOTS
    assert max(len(messages) for _, messages in cluster.sent) == TASK_DOCUMENTS


@pytest.mark.slow
def test_bytes_in_progress_are_bounded():
    size = 100_000
    taken, most = take_all(open_preparer(FakeCluster()), sources(40, size))
    assert len(taken) == 40
    assert (most - 1) * size <= AHEAD_BYTES * SLOTS


@pytest.mark.slow
def test_a_lost_task_is_sent_again_for_each_of_its_documents():
    cluster = FakeCluster(lose=lambda messages: len(messages) > 1 or b"00003.txt" in messages[0])
    taken, _ = take_all(open_preparer(cluster), sources(10))
    failed = [found for found in taken if not hasattr(found, "document")]
    assert [(one.source.uri, one.error.reason) for one in failed] == [("00003.txt", "crashed")]
    assert len(taken) == 10


@pytest.mark.slow
def test_few_documents_are_spread_over_the_cluster():
    cluster = FakeCluster()
    take_all(open_preparer(cluster, total_bytes=4 * 120), sources(4, 100))
    assert len(cluster.sent) == 4


@pytest.mark.slow
def test_documents_that_cannot_be_sent_are_prepared_in_process():
    cluster = FakeCluster()
    document = Document("a.txt", "Ada meets Bo.")
    unsendable = SourceFile("a.txt", partial(read_with_lock, Lock(), document), size=13)
    taken, _ = take_all(open_preparer(cluster), [unsendable, *sources(1)])
    assert [found.document.uri for found in taken] == ["a.txt", "00000.txt"]
    assert len(cluster.sent) == 1


def test_an_actor_has_a_gpu_or_a_few_processors_of_a_node():
    nodes = [Node("a", 16, 2), Node("b", 6, 0), Node("c", 1, 0)]
    assert plan_actors(nodes, uses_gpu=True) == [Place("a", 8, has_gpu=True)] * 2
    assert plan_actors(nodes, uses_gpu=False) == [
        *[Place("a", 4)] * 4,
        *[Place("b", 3)] * 2,
        Place("c", 1),
    ]
    assert plan_actors(nodes[1:], uses_gpu=True) == [*[Place("b", 3)] * 2, Place("c", 1)]


def test_stored_documents_can_be_sent_to_another_writer():
    prepared = [prepare(source, RECIPE) for source in sources(5)]
    embedding = Embedding(HashingEmbedder(16))
    keyed = [replace(p, keys=tuple(map(embedding.chunk_key, p.leaves))) for p in prepared]
    chunks = [chunk for p in keyed for chunk in p.leaves]
    keys = [key for p in keyed for key in p.keys]
    vectors = dict(zip(keys, embedding.embed_chunks(chunks), strict=True))
    here, there = open_store("memory:"), open_store("memory:")
    commit_documents(here, keyed, vectors=vectors, embedding=embedding)
    sent, sent_vectors = pickle.loads(pickle.dumps((keyed, vectors)))
    commit_documents(there, sent, vectors=sent_vectors, embedding=embedding)
    assert snapshot(here) == snapshot(there)
