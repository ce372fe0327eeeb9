"""The time left of simulated runs: a real pipeline whose reading, embedding and storing move a
clock of their own.
"""

import random
from contextlib import contextmanager
from itertools import pairwise

import numpy as np
import pytest
from tests.indexing.pipeline_fakes import make_stages

from knotwork._cli.progress import TimeLeft
from knotwork._indexing.prepare import SourceFile
from knotwork._indexing.run import IndexingRun
from knotwork._inference.embedder import PassageVectors
from knotwork._run import Stage
from knotwork._stores.embedded.database import Database
from knotwork._stores.embedded.store import EmbeddedStore
from knotwork.records import Document

pytestmark = pytest.mark.slow


PARAGRAPH = "words that say nothing at all, " * 30
VECTOR = np.array([1, 0], dtype=np.float32)


class Clock:
    def __init__(self):
        self.now_s = 1_000.0

    def __call__(self):
        return self.now_s

    def spend(self, seconds):
        self.now_s += seconds


class SlowStore(EmbeddedStore):
    """Takes time to write."""

    def __init__(self, clock, write_s):
        super().__init__(Database.open_temporary("memory:"))
        self.clock, self.write_s = clock, write_s
        self.depth = 0

    @contextmanager
    def transaction(self):
        self.depth += 1
        with super().transaction():
            yield
        self.depth -= 1
        if not self.depth:
            self.clock.spend(self.write_s)


class SlowEmbedder:
    """Loads a model at first, and takes ``passage_s`` for each passage."""

    name = "slow:2"

    def __init__(self, clock, *, load_s, passage_s):
        self.clock, self.load_s, self.passage_s = clock, load_s, passage_s
        self.is_loaded = False

    @property
    def dimension(self):
        if not self.is_loaded:
            self.clock.spend(self.load_s)
        self.is_loaded = True
        return 2

    def embed(self, texts):
        return np.tile(VECTOR, (len(texts), 1))

    def stream_passages(self, passages):
        assert self.is_loaded
        for passage in passages:
            self.clock.spend(self.passage_s)
            yield PassageVectors(VECTOR, np.tile(VECTOR, (len(passage.sentences), 1)))


def make_source(clock, uri, *, chunks, chunk_bytes=930, read_s=0.0):
    text = "\n\n".join([f"{uri} {number} {PARAGRAPH}" for number in range(chunks)])

    def read():
        clock.spend(read_s)
        return Document(uri, text)

    return SourceFile(uri, read, size=chunks * chunk_bytes)


def simulate(clock, sources, *, embedder=None, write_s=0.5):
    """Return each event of a run with its time, the seconds it says are left, and the true ones."""
    time_left, start_s = TimeLeft(clock), clock()
    pipeline = IndexingRun(SlowStore(clock, write_s), make_stages(embedder), clock=clock)
    seen = [
        (event, clock() - start_s, time_left.follow(event))
        for event in pipeline.update.run(sources)
    ]
    end_s = clock() - start_s
    return [(event, at_s, left_s, end_s - at_s) for event, at_s, left_s in seen]


def find_jumps(seen):
    """Return pairs of estimates after 20 s of which one is over twice the other.

    Time that has passed between the two is no jump.
    """
    shown = [(at_s, left_s) for _, at_s, left_s, _ in seen if left_s is not None and at_s > 20]
    jumps = []
    for (before_s, before), (at_s, now) in pairwise(shown):
        least = max(before - (at_s - before_s), 0) / 2
        if not min(least, before / 2) <= now <= 2 * before:
            jumps.append((at_s, before, now))
    return jumps


def find_misses(seen, *, factor=2.0):
    """Return estimates after 20 s that are far from the truth, in all but the last 5 s."""
    return [
        (at_s, left_s, true_s)
        for _, at_s, left_s, true_s in seen
        if left_s is not None
        and at_s > 20
        and true_s > 5
        and not true_s / factor <= left_s <= true_s * factor
    ]


@pytest.fixture
def clock():
    return Clock()


def uneven_sizes(count, *, seed=1):
    random_ = random.Random(seed)
    return [min(int(random_.paretovariate(0.8)), 400) for _ in range(count)]


@pytest.mark.parametrize("order", [1, -1], ids=["small first", "large first"])
def test_a_run_bound_by_embedding_is_foretold_and_never_jumps(clock, order):
    sizes = sorted(uneven_sizes(250))[::order]
    sources = [make_source(clock, f"{n}.txt", chunks=size) for n, size in enumerate(sizes)]
    embedder = SlowEmbedder(clock, load_s=12, passage_s=0.06)
    seen = simulate(clock, sources, embedder=embedder)
    assert seen[-1][1] > 60
    assert find_jumps(seen) == []
    assert find_misses(seen) == []
    late = [(left_s, true_s) for _, _, left_s, true_s in seen if left_s and 1 < true_s < 5]
    assert late
    assert all(abs(left_s - true_s) < 2.5 for left_s, true_s in late)
    assert seen[-1][2] is None


def test_a_run_bound_by_reading_is_foretold_and_never_jumps(clock):
    sources = [
        make_source(clock, f"{n}.md", chunks=size, read_s=0.02 * size)
        for n, size in enumerate(uneven_sizes(450, seed=2))
    ]
    seen = simulate(clock, sources, write_s=2)
    assert seen[-1][1] > 60
    assert find_jumps(seen) == []
    assert find_misses(seen) == []


@pytest.mark.parametrize("order", [1, -1], ids=["text first", "PDF first"])
def test_files_that_are_large_for_their_text_make_no_estimate_jump(clock, order):
    texts = [make_source(clock, f"a{n}.txt", chunks=20) for n in range(60)]
    books = [
        make_source(clock, f"b{n}.pdf", chunks=30, chunk_bytes=200_000, read_s=4) for n in range(30)
    ]
    embedder = SlowEmbedder(clock, load_s=1, passage_s=0.05)
    seen = simulate(clock, [*texts, *books][::order], embedder=embedder)
    assert find_jumps(seen) == []
    last = [left_s / true_s for _, _, left_s, true_s in seen if left_s and 5 < true_s < 15]
    assert all(0.4 < ratio < 2.5 for ratio in last)


def test_mostly_known_vectors_and_a_pause_of_the_machine_make_no_jump(clock):
    sources = [make_source(clock, f"{n}.txt", chunks=10) for n in range(200)]
    embedder = SlowEmbedder(clock, load_s=0, passage_s=0.05)
    sources[90] = make_source(clock, "90.txt", chunks=10, read_s=45)
    seen = simulate(clock, sources, embedder=embedder)
    assert find_jumps(seen) == []


def test_movement_is_seen_at_least_once_a_second_while_chunks_are_embedded(clock):
    sources = [make_source(clock, f"{n}.txt", chunks=40) for n in range(20)]
    seen = simulate(clock, sources, embedder=SlowEmbedder(clock, load_s=8, passage_s=0.06))
    kinds = [event.stage for event, *_ in seen]
    assert kinds.count(Stage.LOADING) == 1
    first = kinds.index(Stage.EMBEDDED)
    assert kinds[first - 1] is Stage.LOADING
    assert seen[first][0].counts.chunks == 1
    times = [at_s for _, at_s, *_ in seen[first:]]
    assert max(b - a for a, b in pairwise(times)) < 1


def test_loading_is_left_out_of_the_pace(clock):
    time_left = TimeLeft(clock)
    time_left.pause()
    clock.spend(100)
    assert time_left.update(0, 1_000) is None
    clock.spend(10)
    assert time_left.update(100, 1_000) == pytest.approx(90)
    assert time_left.worked_s == pytest.approx(10)


def test_the_pace_follows_a_change_within_minutes(clock):
    time_left = TimeLeft(clock)
    for second in range(1, 601):
        clock.spend(1)
        left_s = time_left.update(min(second, 120) * 10 + max(second - 120, 0) * 2, 10_000)
    assert left_s == pytest.approx((10_000 - 2_160) / 2, rel=0.1)


def test_there_is_no_estimate_at_first_and_none_at_the_end(clock):
    time_left = TimeLeft(clock)
    assert time_left.update(0, 10) is None
    clock.spend(1)
    assert time_left.update(1, 1_000) is None
    clock.spend(9)
    assert time_left.update(10, 1_000) == pytest.approx(990)
    clock.spend(9)
    assert time_left.update(1_000, 1_000) is None
    assert time_left.update(3, 0) is None
