"""Work that is cancelled at any check stops there, keeps what is finished, and continues."""

from __future__ import annotations

import random

import pytest
from tests.indexing.pipeline_fakes import make_text
from tests.indexing.snapshots import snapshot

import knotwork
from knotwork._cancellation import Cancellation, Cancelled
from knotwork._extensions.upkeep.reembedding import EmbeddingInterrupted

pytestmark = pytest.mark.slow

FEWEST_CHECKS = 60


@pytest.fixture(params=[4, pytest.param(12, marks=pytest.mark.nightly)])
def points(request):
    """Return at how many checks work is cancelled, the first and the last of them included."""
    return request.param


class CancelledAt(Cancellation):
    """Cancels itself at a check of this number, 0 for none."""

    def __init__(self, number: int = 0) -> None:
        super().__init__()
        self.number = number
        self.checks = 0

    def check(self) -> None:
        self.checks += 1
        if self.checks == self.number:
            self.cancel()
        super().check()


def cancel_at_each_point(work, points):
    """Run ``work`` once to count its checks, then yield a cancellation at some of them."""
    whole = CancelledAt()
    with whole.scope():
        work()
    assert whole.checks > FEWEST_CHECKS, "too few checks"
    for point in range(points):
        yield CancelledAt(1 + (whole.checks - 1) * point // (points - 1))


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "documents"
    folder.mkdir()
    random_ = random.Random(11)
    for number in range(14):
        paragraphs = 40 if number == 5 else random_.randint(1, 4)
        text = make_text(random_, paragraphs=paragraphs)
        (folder / f"d{number:02}.txt").write_text(text, "utf-8")
    return folder


def open_base(path):
    return knotwork.open(path, embedder="hashing:16")


def contents(path):
    base = open_base(path)
    try:
        held = base.store.communities
        reports = [key for level in held.levels() for key in level]
        return (snapshot(base.store), held.communities(reports), held.reports(reports))
    finally:
        base.close()


def build(path, folder, *, then=None):
    base = open_base(path)
    try:
        base.index(folder)
        if then is not None:
            then(base)
    finally:
        base.close()


def test_indexing_stops_at_any_check_and_the_next_run_completes_it(tmp_path, folder, points):
    build(tmp_path / "whole.knot", folder)
    expected = contents(tmp_path / "whole.knot")
    names = iter(range(100))

    def work():
        build(tmp_path / f"counted{next(names)}.knot", folder)

    kept = set()
    for cancellation in cancel_at_each_point(work, points):
        path = tmp_path / f"cancelled{cancellation.number}.knot"
        with cancellation.scope(), pytest.raises((knotwork.IndexingInterrupted, Cancelled)):
            build(path, folder)
        base = open_base(path)
        kept.add(base.store.documents.document_count())
        assert len(list(base.store.ledger.entries())) == base.store.documents.document_count()
        base.close()
        build(path, folder)
        assert contents(path) == expected
    assert len(kept) > 1, "finished documents are kept"


@pytest.mark.parametrize(
    "change",
    [
        lambda base: base.communities.update(),
        lambda base: base.entities.find_aliases(),
        lambda base: base.delete([entry.uri for entry in base.documents()][:7]),
    ],
    ids=["communities", "aliases", "delete"],
)
def test_a_change_stops_at_any_check_as_a_whole(tmp_path, folder, change, points):
    build(tmp_path / "whole.knot", folder)
    before = contents(tmp_path / "whole.knot")
    names = iter(range(100))

    def copy():
        path = tmp_path / f"copy{next(names)}.knot"
        path.write_bytes((tmp_path / "whole.knot").read_bytes())
        return path

    def work():
        base = open_base(copy())
        change(base)
        base.close()

    counted = copy()
    base = open_base(counted)
    change(base)
    base.close()
    expected = contents(counted)
    for cancellation in cancel_at_each_point(work, points):
        path = copy()
        base = open_base(path)
        with cancellation.scope(), pytest.raises(Cancelled):
            change(base)
        base.close()
        held = contents(path)
        assert held[0]["documents"] in (before[0]["documents"], expected[0]["documents"])
        if held == expected:
            continue
        base = open_base(path)
        change(base)
        base.close()
        assert contents(path) == expected


def test_embedding_again_stops_at_any_check_and_continues(tmp_path, folder, points):
    build(tmp_path / "whole.knot", folder)
    names = iter(range(100))

    def copy():
        path = tmp_path / f"copy{next(names)}.knot"
        path.write_bytes((tmp_path / "whole.knot").read_bytes())
        return path

    def embed(path):
        base = open_base(path)
        try:
            base.embed("hashing:24")
        finally:
            base.close()

    def vectors(path):
        base = knotwork.open(path, embedder="hashing:24")
        found = snapshot(base.store)["vectors"]
        base.close()
        return found

    done = copy()
    embed(done)
    expected = vectors(done)
    for cancellation in cancel_at_each_point(lambda: embed(copy()), points):
        path = copy()
        with cancellation.scope(), pytest.raises((EmbeddingInterrupted, Cancelled)):
            embed(path)
        embed(path)
        assert vectors(path) == expected
