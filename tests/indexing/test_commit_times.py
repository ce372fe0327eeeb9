"""A run that is killed repeats a few seconds of work, however slow the embedder is."""

from dataclasses import replace

import pytest
from tests.indexing.pipeline_fakes import CountingEmbedder, make_stages, text_source
from tests.indexing.snapshots import snapshot

from knotwork._extensions.testing.embedders import HashingEmbedder
from knotwork._indexing.embedding import EMBEDDING_CHUNKS, KEPT_META, Embedding
from knotwork._indexing.reembedding import Reembedding
from knotwork._indexing.run import IndexingRun
from knotwork._run import Run
from knotwork._stores.indexes import staged_name
from knotwork._stores.urls import open_store
from knotwork.errors import LoadError

MOST_WORK_S = 5.0
PASSAGE_S = 0.25


class Clock:
    """A clock that moves when work is done."""

    def __init__(self):
        self.now_s = 0.0

    def __call__(self):
        return self.now_s


class Killed(BaseException):
    """The process ends here: nothing that runs afterwards counts."""


class SlowEmbedder(CountingEmbedder):
    """Takes a quarter of a second for each passage, and is killed at one of them."""

    def __init__(self, clock, *, killed_at=None, dimension=16):
        super().__init__(HashingEmbedder(dimension))
        self.clock = clock
        self.killed_at = killed_at

    def embed_passages(self, passages):
        for _ in passages:
            self.clock.now_s += PASSAGE_S
            if self.killed_at is not None and self.passages + len(passages) > self.killed_at:
                raise Killed
        return super().embed_passages(passages)


class StreamingEmbedder(SlowEmbedder):
    """An embedder in this process, which returns passages one by one."""

    def stream_passages(self, passages):
        for passage in passages:
            yield self.embed_passages([passage])[0]


EMBEDDERS = pytest.mark.parametrize("embedder_type", [SlowEmbedder, StreamingEmbedder])


def document(number, *, paragraphs):
    return "\n\n".join(f"Ada meets Bo in room {number} {p}" for p in range(paragraphs))


def short(count):
    return {f"d{n:02}.txt": document(n, paragraphs=4) for n in range(count)}


def events(store, texts, embedder, clock):
    stages = make_stages(embedder)
    stages = replace(stages, embedding=Embedding(embedder, clock=clock))
    sources = [text_source(uri, text) for uri, text in texts.items()]
    return IndexingRun(store, stages, clock=clock).update.run(sources, covers=lambda entry: True)


def index(store, texts, embedder, clock):
    return events(store, texts, embedder, clock).result()


def index_until_killed(store, texts, embedder, clock):
    with pytest.raises(Killed):
        index(store, texts, embedder, clock)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture(params=["memory:", "index.knot"])
def store(request, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    store = open_store(request.param, create=True)
    yield store
    store.close()


def kept(store):
    return [store.vectors(staged_name(name)).count() for name in ("chunk", "sentence")]


@EMBEDDERS
def test_a_killed_run_repeats_a_few_seconds_of_embedding(store, clock, embedder_type):
    texts = short(36)
    whole = open_store("memory:")
    index(whole, texts, embedder_type(Clock()), Clock())
    index_until_killed(store, texts, killed := embedder_type(clock, killed_at=100), clock)
    assert store.documents.document_count() >= 20  # 36 documents of 4 chunks, 25 embedded

    rest = embedder_type(clock)
    index(store, texts, rest, clock)
    assert (killed.passages + rest.passages - 36 * 4) * PASSAGE_S <= MOST_WORK_S
    assert snapshot(store) == snapshot(whole)


@EMBEDDERS
def test_the_vectors_of_an_unfinished_document_are_kept(store, clock, embedder_type):
    texts = {"a.txt": document(1, paragraphs=3), "long.txt": document(2, paragraphs=300)}
    whole = open_store("memory:")
    index(whole, texts, embedder_type(Clock()), Clock())
    total = 303
    passages = 0
    for killed_at in (100, 120):
        embedder = embedder_type(clock, killed_at=killed_at)
        index_until_killed(store, texts, embedder, clock)
        passages += embedder.passages
        assert store.documents.document_count() == 1
        assert store.vectors("chunk").count() == 3
        assert 0 < kept(store)[0] == kept(store)[1]

    embedder = embedder_type(clock)
    report = index(store, texts, embedder, clock)
    repeated = passages + embedder.passages - total
    assert repeated * PASSAGE_S <= 2 * MOST_WORK_S
    assert report.added == 1
    assert snapshot(store) == snapshot(whole)
    assert kept(store) == [0, 0]
    assert not store.meta()[KEPT_META]


def test_kept_vectors_of_a_document_that_changed_are_removed(store, clock):
    long = {"long.txt": document(2, paragraphs=300)}
    index_until_killed(store, long, SlowEmbedder(clock, killed_at=100), clock)
    assert kept(store)[0] > 0
    changed = {"long.txt": document(3, paragraphs=2)}
    index(store, changed, embedder := SlowEmbedder(clock), clock)
    assert (embedder.passages, kept(store)) == (2, [0, 0])


def test_another_embedder_does_not_use_kept_vectors(store, clock):
    long = {"long.txt": document(2, paragraphs=300)}
    index_until_killed(store, long, SlowEmbedder(clock, killed_at=100), clock)
    other = SlowEmbedder(clock, killed_at=100, dimension=32)
    index_until_killed(store, long, other, clock)
    index(store, long, SlowEmbedder(clock, dimension=32), clock)
    assert store.vectors("chunk").count() == 300
    assert kept(store) == [0, 0]


def test_documents_are_committed_while_others_take_long_to_read(store, clock):
    def reading(source):
        def read():
            clock.now_s += 1
            return source.read()

        return replace(source, read=read)

    texts = short(12)
    sources = [reading(text_source(uri, text)) for uri, text in texts.items()]
    pipeline = IndexingRun(store, make_stages(None), clock=clock)
    lost = [
        clock.now_s - 1.0 * store.documents.document_count() for _ in pipeline.update.run(sources)
    ]
    assert max(lost) <= MOST_WORK_S


def test_files_that_fail_are_recorded_by_time_too(store, clock):
    def refuse():
        clock.now_s += 1
        raise LoadError("broken", "It is broken.")

    sources = [replace(text_source(f"{n}.txt", ""), read=refuse) for n in range(12)]
    pipeline = IndexingRun(store, make_stages(None), clock=clock)
    lost = [clock.now_s - len(list(store.ledger.entries())) for _ in pipeline.update.run(sources)]
    assert max(lost) <= MOST_WORK_S


def test_a_slow_embedder_gets_fewer_chunks_in_a_call(clock):
    calls = []

    class Server(SlowEmbedder):
        def embed_passages(self, passages):
            calls.append(len(passages))
            return super().embed_passages(passages)

    texts = {"long.txt": document(2, paragraphs=600)}
    index(open_store("memory:"), texts, Server(clock), clock)
    assert max(calls) == calls[0] == 16
    assert set(calls[4:-1]) <= {2, 4}

    calls.clear()
    index(open_store("memory:"), texts, Server(Clock()), clock)
    assert max(calls) == EMBEDDING_CHUNKS


def test_embedding_an_index_again_commits_by_time(store, clock):
    texts = short(60)
    index(store, texts, SlowEmbedder(Clock()), Clock())
    total = 60 * 4

    def embed(embedder):
        return Run(Reembedding(store, Embedding(embedder, clock=clock), clock=clock).run()).result()

    killed = SlowEmbedder(clock, killed_at=100, dimension=32)
    with pytest.raises(Killed):
        embed(killed)
    rest = SlowEmbedder(clock, dimension=32)
    embed(rest)
    assert (killed.passages + rest.passages - total) * PASSAGE_S <= MOST_WORK_S
    whole = open_store("memory:")
    index(whole, texts, SlowEmbedder(Clock(), dimension=32), Clock())
    assert snapshot(store) == snapshot(whole)
