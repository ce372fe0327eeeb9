"""Embedding an index with another model gives the index that the model would have given."""

import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.indexing.embedded_again import FailingEmbedder, count_transactions, embed
from tests.indexing.pipeline_fakes import (
    LatinEmbedder,
    NameExtractor,
    ParagraphSplitter,
    make_text,
    text_source,
)
from tests.indexing.snapshots import snapshot

from knotwork._extensions.diagnosis.index import _find_mismatches
from knotwork._extensions.model_indexing.question_writer import QuestionWriter
from knotwork._extensions.testing.embedders import HashingEmbedder
from knotwork._extensions.upkeep.reembedding import EmbeddingInterrupted, Reembedding, identities
from knotwork._indexing.changes import Tiers, with_fingerprint
from knotwork._indexing.chunk_questions import put_questions
from knotwork._indexing.commit import remove_sources
from knotwork._indexing.communities.index_reports import bring_up_to_date, is_current
from knotwork._indexing.embedding import INTO_META, Embedding
from knotwork._indexing.run import IndexingRun
from knotwork._indexing.stages import IndexingStages
from knotwork._stores.indexes import DESCRIPTIONS, VECTOR_INDEXES, staged_name
from knotwork._stores.urls import open_store
from knotwork.errors import IndexingError, ModelError, SchemaMismatch, StoreBusy, StoreReadOnly
from knotwork.records import content_id

pytestmark = pytest.mark.slow


ROOT = Path(__file__).parents[2]
RANDOM = random.Random(11)
TEXTS = {f"d{n:02}": make_text(RANDOM, paragraphs=RANDOM.randint(1, 5)) for n in range(14)} | {
    "river": "长江是中国最长的河流。\n\nAda meets Bo\n\n武汉是湖北省的省会",
    "twin": "Ada meets Bo in the hall\n\nAda meets Bo in the hall",
}
OLD, NEW = 64, 128


def mark(identity):
    return content_id("with", identity)


def pipeline(store, embedder):
    embedding = Embedding(embedder)
    stages = IndexingStages(
        ParagraphSplitter(),
        NameExtractor(),
        embedding,
        Tiers(mark(embedding.identity)),
        questions=QuestionWriter(),
    )
    return IndexingRun(store, stages, batch_chunks=5)


def build(store, embedder, texts=TEXTS):
    pipeline(store, embedder).update([text_source(*item) for item in texts.items()])
    bring_up_to_date(store, embedding=Embedding(embedder) if embedder else None)
    return store


def fingerprints(store, embedder):
    return {i: mark(i) for i in identities(store, Embedding(embedder))}


def keyed(store):
    """Return all vectors with their ids and content keys."""
    read = store._database.rows
    tables = {name for (name,) in read("SELECT name FROM vector_index")}
    return {
        name: {
            f"{key:016x}": (mark, data)
            for key, mark, data in (
                read(f"SELECT id, key, data FROM vector_{name}") if name in tables else ()
            )
        }
        for name in VECTOR_INDEXES
    }


def contents(store, *, meta=True):
    held = snapshot(store) | {"keyed": keyed(store)}
    held["staged"] = [store.vectors(staged_name(name)).count() for name in VECTOR_INDEXES]
    held["all meta"] = {key: value for key, value in store.meta().items() if value and meta}
    return held


@pytest.fixture(params=["memory:", "index.knot"])
def store(request, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    opened = open_store(request.param, create=True)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def fresh():
    return contents(build(open_store("memory:"), HashingEmbedder(NEW)))


def test_it_equals_a_fresh_index_of_the_other_embedder(store, fresh):
    build(store, HashingEmbedder(OLD))
    old = snapshot(store)
    report = embed(store, HashingEmbedder(NEW), fingerprints(store, HashingEmbedder(NEW)))

    assert contents(store) == fresh
    assert old["vectors"] != snapshot(store)["vectors"]
    # Nobody described an entity: for those see test_description_vectors.py.
    assert [name for name, found in fresh["keyed"].items() if not found] == [DESCRIPTIONS]
    assert (report.previous, report.embedder) == ("hashing:64", "hashing:128")
    assert (report.chunks, report.done, report.without_vectors) == (report.chunks,) * 2 + (0,)
    assert report.vectors == {name: len(held) for name, held in fresh["keyed"].items()}
    assert not report.notes
    assert not _find_mismatches(store, report.chunks, report.chunks)


def test_an_index_without_vectors_is_embedded(store, fresh):
    build(store, None)
    embed(store, HashingEmbedder(NEW), fingerprints(store, HashingEmbedder(NEW)))
    held = contents(store)
    # The rules' reports of an index without vectors have none, until reports are embedded.
    held["keyed"]["report"] = fresh["keyed"]["report"]
    assert held == fresh


def test_indexing_afterwards_reads_no_document_again(store):
    build(store, HashingEmbedder(OLD))
    new = HashingEmbedder(NEW)
    embed(store, new, fingerprints(store, new))
    assert is_current(store)
    sources = [
        replace(text_source(*item), read=lambda: pytest.fail("read again"))
        for item in TEXTS.items()
    ]
    assert pipeline(store, new).update(sources).unchanged == len(TEXTS)


def test_documents_that_were_indexed_without_vectors_get_theirs_in_place(store, fresh):
    items = list(TEXTS.items())
    build(store, None, dict(items[:8]))
    build(store, HashingEmbedder(NEW))
    embedder = FailingEmbedder(NEW)
    embed(store, embedder, fingerprints(store, embedder))
    assert keyed(store)["chunk"] == fresh["keyed"]["chunk"]
    assert keyed(store)["entity"] == fresh["keyed"]["entity"]
    again = FailingEmbedder(NEW)
    embed(store, again, fingerprints(store, again))
    assert not again.seen


def test_a_failed_embedder_costs_only_the_batch_in_hand(store, fresh):
    build(store, HashingEmbedder(OLD))
    seen = []

    def fail():
        raise ModelError("the server is gone")

    failures = 0
    while True:
        embedder = FailingEmbedder(NEW, at=5, after=fail)
        try:
            embed(store, embedder, fingerprints(store, embedder))
        except ModelError:
            failures += 1
            seen += embedder.seen
            assert store.meta()[INTO_META] == "hashing:128"
            continue
        break
    assert failures >= 3
    assert contents(store) == fresh
    chunks = [c.text for c in store.documents.chunks(snapshot(store)["vectors"]["chunk"]).values()]
    assert max(seen.count(text) for text in chunks) <= 2


def test_finished_batches_are_not_embedded_again(store):
    build(store, HashingEmbedder(OLD))
    first = FailingEmbedder(NEW)
    run = Reembedding(store, Embedding(first), batch_chunks=4).run()
    while store.vectors(staged_name("chunk")).count() < 12:
        next(run)
    run.close()
    earliest = store.documents.document_ids()[0]
    done = store.documents.chunks(store.documents.chunk_ids_of([earliest])[earliest])
    kept = store.vectors(staged_name("chunk")).get(done)
    second = FailingEmbedder(NEW)
    embed(store, second)
    texts = {done[key].text for key in kept}
    assert texts
    assert texts <= set(first.seen)
    assert not texts & set(second.seen)


def test_ctrl_c_keeps_what_is_done(store, fresh):
    build(store, HashingEmbedder(OLD))

    def interrupt():
        raise KeyboardInterrupt

    embedder = FailingEmbedder(NEW, at=8, before=interrupt)
    with pytest.raises(EmbeddingInterrupted, match="Run the same command again") as caught:
        embed(store, embedder)
    report = caught.value.report
    assert report.interrupted
    assert 0 < report.done < report.chunks
    assert report.vectors["chunk"] == store.vectors("next_chunk").count() == report.done
    embed(store, HashingEmbedder(NEW), fingerprints(store, embedder))
    assert contents(store) == fresh


def half_way(store, dimension=NEW):
    run = Reembedding(store, Embedding(HashingEmbedder(dimension)), batch_chunks=8).run()
    while next(run).done < 8:
        pass
    next(run)
    run.close()


def test_nothing_is_indexed_during_a_switch_and_searches_use_the_old_vectors(store):
    build(store, HashingEmbedder(OLD))
    old = keyed(store)
    half_way(store)
    assert keyed(store) == old
    for embedder in (HashingEmbedder(OLD), HashingEmbedder(NEW), None):
        with pytest.raises(SchemaMismatch) as caught:
            build(store, embedder, {"new": "Ada pays Bo"})
        assert "knotwork embed --model hashing:128" in caught.value.fix


def test_documents_deleted_during_a_switch_leave_no_vectors(store):
    build(store, HashingEmbedder(OLD))
    half_way(store)
    entries = store.ledger.get(["d01", "d05", "twin"])
    remove_sources(store, list(entries.values()))
    embed(store, HashingEmbedder(NEW))
    kept = {uri: text for uri, text in TEXTS.items() if uri not in entries}
    expected = keyed(build(open_store("memory:"), HashingEmbedder(NEW), kept))
    found = keyed(store)
    for name in ("chunk", "sentence", "entity", "question"):
        assert found[name] == expected[name]


def test_another_target_begins_anew_and_the_old_embedder_ends_the_switch(store):
    build(store, HashingEmbedder(OLD))
    before = contents(store)
    half_way(store)
    half_way(store, 32)
    assert store.meta()[INTO_META] == "hashing:32"
    embedder = FailingEmbedder(OLD)
    embed(store, embedder)
    assert not embedder.seen
    assert contents(store) == before


def test_another_process_that_finishes_stops_this_one(store):
    build(store, HashingEmbedder(OLD))
    run = Reembedding(store, Embedding(HashingEmbedder(NEW)), batch_chunks=8).run()
    next(run)
    embed(store, HashingEmbedder(NEW))
    after = contents(store)
    with pytest.raises(StoreBusy, match="Another process"):
        list(run)
    assert contents(store) == after


def test_languages_that_the_embedder_does_not_read_get_no_vectors(store):
    build(store, HashingEmbedder(OLD))
    latin = LatinEmbedder()
    report = embed(store, latin, fingerprints(store, latin))
    expected = contents(build(open_store("memory:"), LatinEmbedder()))
    assert contents(store) == expected
    assert report.without_vectors == 2
    assert "2 of" in report.notes[0]
    assert not any("长江" in text for text in latin.seen)
    build(store, LatinEmbedder())
    new = HashingEmbedder(NEW)
    embed(store, new, fingerprints(store, new))
    assert store.vectors("chunk").count() == store.documents.chunk_count()
    assert store.meta()["languages"] == ""


def test_a_model_s_questions_are_embedded_again(store):
    build(store, HashingEmbedder(OLD))
    (chunk, *_) = keyed(store)["question"]
    asked = {chunk: ["Something that no rule would ask about unicorns?"]}
    put_questions(store, asked, Embedding(HashingEmbedder(OLD)))
    new = HashingEmbedder(NEW)
    report = embed(store, new)
    assert report.notes == ()
    (expected,) = new.embed(asked[chunk])
    assert store.vectors("question").get([chunk])[chunk][0] == pytest.approx(expected)


def test_texts_that_cannot_be_embedded_are_refused(store, tmp_path):
    with pytest.raises(IndexingError, match="no documents"):
        embed(store, HashingEmbedder(NEW))
    if store.url != "memory:":
        build(store, HashingEmbedder(OLD))
        with pytest.raises(StoreReadOnly):
            embed(open_store(store.url, read_only=True), HashingEmbedder(NEW))


def test_a_matrix_in_memory_follows_the_switch(tmp_path):
    path = str(tmp_path / "index.knot")
    writer = build(open_store(path, create=True), HashingEmbedder(NEW))
    reader = open_store(path, read_only=True)

    class Other(HashingEmbedder):
        name = ""

        def __init__(self):
            super().__init__(NEW)
            self.name = "other:128"

        def _embed(self, texts):
            return -super()._embed(texts)

    vector = HashingEmbedder(NEW).embed(["Ada meets Bo"])[0]
    before = reader.vectors("chunk").search(vector, k=3)
    assert before[0].score > 0
    half = Reembedding(writer, Embedding(Other()), batch_chunks=8).run()
    for _ in half:
        if writer.vectors("next_chunk").count() > 20:
            remove_sources(writer, list(writer.ledger.get(["d13"]).values()))
            reader.vectors("chunk").search(vector, k=3)  # of a version later than staged rows
    found = reader.vectors("chunk").search(-vector, k=999)
    expected = open_store(path, read_only=True).vectors("chunk").search(-vector, k=999)
    assert found == expected
    assert found[0].score == pytest.approx(before[0].score)


@pytest.fixture(scope="module")
def old_index(tmp_path_factory):
    path = tmp_path_factory.mktemp("old") / "old.knot"
    build(open_store(str(path), create=True), HashingEmbedder(OLD)).close()
    return path.read_bytes()


@pytest.fixture(scope="module")
def whole(tmp_path_factory, old_index):
    """Return what an uninterrupted run leaves, and how many calls and transactions it makes."""
    path = tmp_path_factory.mktemp("whole") / "whole.knot"
    path.write_bytes(old_index)
    store = open_store(str(path))
    embedder, transactions = HashingEmbedder(NEW), []
    count_transactions(store, transactions.append)
    embed(store, embedder)
    held = contents(store)
    store.close()
    return held, embedder.calls, len(transactions)


def finished(path):
    """Run to the end, if a killed run left something to do, and return what the index holds."""
    store = open_store(str(path))
    embed(store, HashingEmbedder(NEW))
    held = contents(store)
    assert not store.check()
    store.close()
    return held


@pytest.mark.parametrize("thirds", [(1,), pytest.param((0, 1, 2, 3), marks=pytest.mark.nightly)])
def test_a_run_killed_at_any_point_equals_one_that_was_not(tmp_path, old_index, whole, thirds):
    expected, calls, transactions = whole
    points = [(calls * n // 3 or 1, when) for n in thirds for when in ("before", "after")]
    points += [(transactions * n // 3 or 1, "committing") for n in thirds]
    paths = [tmp_path / f"{number}-{when}.knot" for number, when in points]
    for path in paths:
        path.write_bytes(old_index)
    placed = [(path, *point) for path, point in zip(paths, points, strict=True)]
    assert kills_of(*placed) == [1] * len(points)
    for path in paths:
        assert finished(path) == expected


@pytest.mark.parametrize(("number", "when"), [(4, "after"), (3, "committing")])
def test_a_run_killed_again_and_again_equals_one_that_was_not(
    tmp_path, old_index, whole, number, when
):
    path = tmp_path / "killed.knot"
    path.write_bytes(old_index)
    (kills,) = kills_of((path, number, when), again=True)
    assert kills >= 3
    assert finished(path) == whole[0]


def kills_of(*points, again=False):
    """Embed in processes that are killed at points; return how many were, for each index."""
    arguments = [str(part) for point in points for part in point]
    run = subprocess.run(
        [sys.executable, "-m", "tests.indexing.embedded_again", *(["--again"] * again), *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return [int(line) for line in run.stdout.split()]


def test_the_ledger_of_what_a_model_read_keeps_its_mark():
    assert with_fingerprint("read old r", "old", "new") == "read new r"
    assert with_fingerprint("pending old", "old", "new") == "pending new"
    assert with_fingerprint("old", "old", "new") == "new"
    assert with_fingerprint("older", "old", "new") == "older"
