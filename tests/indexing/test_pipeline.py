"""The steps of a run on a small corpus."""

import random

import pytest
from tests.indexing.pipeline_fakes import CountingEmbedder, make_stages, make_text, text_source
from tests.indexing.snapshots import snapshot

from knotwork._extensions.testing.embedders import HashingEmbedder
from knotwork._indexing.report import IndexingInterrupted
from knotwork._indexing.run import IndexingRun
from knotwork._run import OUTCOMES, Stage
from knotwork._stores.urls import open_store
from knotwork.errors import ModelUnavailable, SchemaMismatch


def everything(entry):
    return True


def corpus(count, *, seed=0):
    random_ = random.Random(seed)
    return {f"d{i:02}.txt": make_text(random_) for i in range(count)}


def index(
    store, texts, *, embedder=None, covers=everything, settings="s1", batches=None, **options
):
    """Index texts by uri, and return the report with the steps before it."""
    stages = make_stages(embedder, settings=settings)
    sources = [text_source(uri, text) for uri, text in texts.items()]
    pipeline = IndexingRun(store, stages, options=options, **(batches or {}))
    run = pipeline.update.run(sources, covers=covers)
    *events, last = run
    assert last.stage is Stage.FINISHED
    return run.result(), events


@pytest.fixture
def store():
    return open_store("memory:")


@pytest.fixture
def embedder():
    return CountingEmbedder(HashingEmbedder())


def test_a_first_run_adds_every_document(store, embedder):
    report, events = index(store, corpus(5), embedder=embedder)

    assert (report.added, report.changed, report.unchanged, report.failed) == (5, 0, 0, 0)
    assert report.total_documents == 5
    assert report.chunks == report.total_chunks == embedder.passages == 15
    assert report.embedder == embedder.name
    assert report.notes == ()
    assert [e.subject for e in events if e.stage is Stage.ADDED] == sorted(corpus(5))
    assert set(report.seconds) >= {"load", "split", "extract", "embed", "store", "total"}


def test_every_source_has_one_outcome_and_progress_only_grows(store, embedder):
    texts = corpus(6) | {"x.txt": "BROKEN", "big": "BROKEN"}
    _, events = index(store, texts, embedder=embedder)

    outcomes = [event for event in events if event.stage in OUTCOMES]
    assert sorted(event.subject for event in outcomes) == sorted(texts)
    done = [event.done for event in events]
    assert done == sorted(done)
    assert done[-1] == events[-1].total == 8
    chunks = [event.counts.chunks for event in events]
    assert chunks == sorted(chunks)
    assert all(event.counts.chunks <= event.counts.chunks_known for event in events)


def test_a_second_run_reads_nothing_and_writes_nothing(store, embedder):
    texts = corpus(5)
    index(store, texts, embedder=embedder)
    generation, passages, names = store.generation(), embedder.passages, embedder.texts

    def refuse():
        raise AssertionError("an unchanged source was read")

    sources = [text_source(uri, text) for uri, text in texts.items()]
    unread = [
        type(source)(source.uri, refuse, source.root, source.size, source.modified_ns)
        for source in sources
    ]
    last = IndexingRun(store, make_stages(embedder)).update(unread, covers=everything)

    assert last.unchanged == 5
    assert (embedder.passages, embedder.texts) == (passages, names)
    assert store.generation() == generation


def test_a_file_written_anew_with_the_same_content_is_read_but_not_indexed(store, embedder):
    texts = corpus(2)
    index(store, texts, embedder=embedder)
    before, passages = snapshot(store), embedder.passages
    sources = [text_source(uri, text) for uri, text in texts.items()]
    touched = [type(s)(s.uri, s.read, s.root, s.size, s.modified_ns + 1) for s in sources]

    for _ in range(2):
        last = IndexingRun(store, make_stages(embedder)).update(touched)
        assert last.unchanged == 2

    assert embedder.passages == passages
    assert snapshot(store) == before
    assert {e.modified_ns for e in store.ledger.entries()} == {s.modified_ns for s in touched}


def test_only_changed_chunks_are_embedded_again(store, embedder):
    texts = corpus(3)
    index(store, texts, embedder=embedder)
    passages = embedder.passages
    texts["d01.txt"] += "\n\nAda meets Bo in the new hall"
    report, _ = index(store, texts, embedder=embedder)

    assert (report.changed, report.unchanged) == (1, 2)
    assert embedder.passages - passages == 1
    assert report.reused >= 3


def test_equal_chunks_of_one_run_are_embedded_once(store, embedder):
    def source(uri):
        inner = text_source(uri, "Ada meets Bo\n\nAda meets Bo")
        document = inner.read()
        same_title = type(document)(uri, document.text, title="One title")
        return type(inner)(uri, lambda: same_title)

    report = IndexingRun(store, make_stages(embedder)).update([source("a"), source("b")])

    assert report.chunks == 4
    assert embedder.passages == 1
    assert store.vectors("chunk").count() == store.vectors("sentence").count() == 4


def test_missing_files_are_removed_only_within_the_indexed_paths(store, embedder):
    texts = corpus(4)
    index(store, texts, embedder=embedder)
    rest = {uri: text for uri, text in texts.items() if uri != "d02.txt"}
    report, _ = index(store, rest, embedder=embedder, covers=lambda entry: False)
    assert report.removed == ()
    assert store.documents.document_count() == 4

    report, _ = index(store, rest, embedder=embedder)
    assert report.removed == ("d02.txt",)
    fresh = open_store("memory:")
    index(fresh, rest, embedder=HashingEmbedder())
    assert snapshot(store) == snapshot(fresh)


def test_other_settings_index_everything_again(store, embedder):
    texts = corpus(3)
    index(store, texts, embedder=embedder)
    report, _ = index(store, texts, embedder=embedder, settings="s2")
    assert report.changed == 3
    assert {entry.settings for entry in store.ledger.entries()} == {"s2"}


def test_a_failure_is_recorded_and_tried_again_only_when_asked(store):
    texts = corpus(1) | {"bad.txt": "BROKEN"}
    report, events = index(store, texts)
    assert report.added == 1
    assert [(f.uri, f.reason, f.kept) for f in report.failures] == [("bad.txt", "broken", False)]
    assert any(e.stage is Stage.STARTED and e.subject == "bad.txt" for e in events)

    report, events = index(store, texts)
    assert [f.uri for f in report.failures] == ["bad.txt"]
    assert not any(e.stage is Stage.STARTED for e in events)

    report, events = index(store, texts, retry=True)
    assert any(e.stage is Stage.STARTED and e.subject == "bad.txt" for e in events)

    report, _ = index(store, texts | {"bad.txt": "Ada is well again"})
    assert (report.added, report.failed) == (1, 0)


def test_a_file_that_became_unreadable_keeps_its_content_and_is_named(store):
    texts = corpus(2)
    index(store, texts)
    before = snapshot(store)
    report, _ = index(store, texts | {"d00.txt": "BROKEN"})
    assert [(f.uri, f.kept) for f in report.failures] == [("d00.txt", True)]
    after = snapshot(store)
    assert {**before, "ledger": ()} == {**after, "ledger": ()}

    report, _ = index(store, texts)
    assert report.changed == 1
    assert snapshot(store) == before

    index(store, texts | {"d00.txt": "BROKEN"})
    report, _ = index(store, {"d01.txt": texts["d01.txt"]})
    assert report.removed == ("d00.txt",)
    assert store.documents.document_count() == 1


def test_a_fault_in_one_document_is_reported_and_the_run_goes_on(store, caplog):
    class Faulty(type(make_stages(None).extractor)):
        def extract(self, document, chunks):
            if document.uri == "d01.txt":
                raise ZeroDivisionError("oh")
            return super().extract(document, chunks)

    stages = make_stages(None)
    stages = type(stages)(stages.splitter, Faulty(), stages.embedding, stages.tiers)
    sources = [text_source(uri, text) for uri, text in corpus(3).items()]
    last = IndexingRun(store, stages).update(sources)

    assert last.added == 2
    assert [(f.uri, f.reason, f.message) for f in last.failures] == [
        ("d01.txt", "fault", "ZeroDivisionError: oh")
    ]
    assert "cannot index d01.txt" in caplog.text


def test_without_embedder_it_works_with_a_note(store):
    report, _ = index(store, corpus(3))
    assert report.embedder == ""
    assert "No embedder" in report.notes[0]
    assert store.vectors("chunk").count() == 0
    assert store.texts("chunk").search("meets", k=3)


def test_an_embedder_that_comes_later_embeds_everything(store, embedder):
    texts = corpus(4)
    index(store, texts)
    report, _ = index(store, texts, embedder=embedder, settings="with vectors")
    assert report.changed == 4
    fresh = open_store("memory:")
    index(fresh, texts, embedder=embedder, settings="with vectors")
    assert snapshot(store) == snapshot(fresh)


@pytest.mark.parametrize("other", [None, HashingEmbedder(dimension=16)])
def test_another_embedder_is_refused_before_anything_is_written(store, embedder, other):
    index(store, corpus(2), embedder=embedder)
    generation = store.generation()
    with pytest.raises(SchemaMismatch, match=embedder.name):
        index(store, corpus(3), embedder=other)
    assert store.generation() == generation


def test_context_is_part_of_the_full_text(store):
    index(store, {"handbook": "Nothing here names it"})
    [hit] = store.texts("chunk").search("handbook", k=5)
    assert store.documents.chunks([hit.id])[hit.id].text == "Nothing here names it"


@pytest.mark.parametrize("batch", [1, 4, 7, 1_000])
def test_batches_do_not_shape_the_result(batch):
    texts = corpus(6)
    expected = open_store("memory:")
    index(expected, texts, embedder=HashingEmbedder())
    store = open_store("memory:")
    batches = {"batch_chunks": batch, "embedding_chunks": max(1, batch // 2)}
    report, _ = index(store, texts, embedder=HashingEmbedder(), batches=batches)
    assert report.added == 6
    assert snapshot(store) == snapshot(expected)


class Stopping(CountingEmbedder):
    """Raise something after so many passages."""

    def __init__(self, error, after):
        super().__init__(HashingEmbedder())
        self.error, self.after = error, after

    def embed_passages(self, passages):
        if self.passages >= self.after:
            raise self.error
        return super().embed_passages(passages)


@pytest.mark.parametrize("after", [0, 3, 4, 8])
def test_ctrl_c_keeps_the_finished_documents_and_the_next_run_continues(store, after):
    texts = corpus(4)
    stopping = Stopping(KeyboardInterrupt(), after)
    batches = {"batch_chunks": 6, "embedding_chunks": 1}
    with pytest.raises(KeyboardInterrupt, match="Run the same command again") as caught:
        index(store, texts, embedder=stopping, batches=batches)
    assert isinstance(caught.value, IndexingInterrupted)
    report = caught.value.report
    assert report.interrupted
    assert report.added == report.total_documents == after // 3

    report, _ = index(store, texts, embedder=HashingEmbedder())
    assert (report.unchanged, report.added) == (after // 3, 4 - after // 3)
    fresh = open_store("memory:")
    index(fresh, texts, embedder=HashingEmbedder())
    assert snapshot(store) == snapshot(fresh)


def test_a_model_that_fails_stops_the_run_after_keeping_the_finished(store):
    stopping = Stopping(ModelUnavailable("down"), 7)
    with pytest.raises(ModelUnavailable):
        index(store, corpus(4), embedder=stopping, batches={"embedding_chunks": 1})
    assert store.documents.document_count() == 2


def test_a_consumer_that_stops_listening_loses_nothing_finished(store):
    sources = [text_source(uri, text) for uri, text in corpus(4).items()]
    stages = make_stages(HashingEmbedder())
    events = IndexingRun(store, stages, embedding_chunks=7).update.run(sources)
    for event in events:
        if event.stage is Stage.EMBEDDED:
            break
    events.close()
    assert store.documents.document_count() == 2


class StreamingEmbedder(HashingEmbedder):
    """An embedder with a model to load, whose vectors come one by one."""

    def __init__(self):
        super().__init__()
        self.is_loaded = False
        self.streamed = 0
        self.last = 10_000

    @property
    def dimension(self):
        self.is_loaded = True
        return 64

    @dimension.setter
    def dimension(self, _):
        pass

    def embed_passages(self, passages):
        raise AssertionError("it streams")

    def stream_passages(self, passages):
        self.is_loaded = True
        return self._stream(passages)

    def _stream(self, passages):
        for vectors in HashingEmbedder.embed_passages(self, passages):
            if self.streamed >= self.last:
                raise KeyboardInterrupt
            self.streamed += 1
            yield vectors


def test_a_model_is_loaded_in_a_step_of_its_own_and_chunks_count_from_the_first(store):
    class Clock:
        now_s = 0.0

        def __call__(self):
            self.now_s += 1
            return self.now_s

    embedder = StreamingEmbedder()
    sources = [text_source(uri, text) for uri, text in corpus(5).items()]
    pipeline = IndexingRun(store, make_stages(embedder), clock=Clock(), batch_chunks=15)
    run = pipeline.update.run(sources)
    loaded = [
        (step.stage, step.note, step.counts.chunks, embedder.is_loaded)
        for step in run
        if step.stage in {Stage.LOADING, Stage.EMBEDDED}
    ]
    assert loaded[0] == (Stage.LOADING, embedder.name, 0, False)
    chunks = [chunks for kind, _, chunks, _ in loaded if kind is Stage.EMBEDDED]
    assert chunks[0] == 1
    assert chunks[-1] == 15
    assert len(chunks) > 5
    assert run.result().embedded >= 15


def test_a_model_is_not_loaded_for_vectors_that_the_index_holds(store):
    texts = corpus(5)
    index(store, texts, embedder=StreamingEmbedder())
    again = StreamingEmbedder()
    report, events = index(store, texts, embedder=again, settings="s2")
    assert (report.changed, report.embedded) == (5, 0)
    assert not again.is_loaded
    assert Stage.LOADING not in {event.stage for event in events}


@pytest.mark.parametrize("after", [0, 4, 8])
def test_ctrl_c_while_vectors_are_streamed_keeps_the_finished_documents(store, after):
    texts = corpus(4)
    embedder = StreamingEmbedder()
    embedder.last = after
    with pytest.raises(IndexingInterrupted) as stop:
        index(store, texts, embedder=embedder)
    assert stop.value.report.added == after // 3


def test_every_step_says_how_many_chunks_the_run_will_have(store, embedder):
    _, events = index(store, corpus(9), embedder=embedder)
    expected = [event.counts.chunks_expected for event in events]
    assert expected[0] == 0
    assert all(expected[1:])
    assert expected[-1] == 27


def test_a_source_offered_twice_counts_once(store):
    source = text_source("a", "Ada meets Bo")
    run = IndexingRun(store, make_stages(None)).update.run([source, source])
    assert [step.total for step in run] == [1, 1, 1, 1]
    assert run.result().added == 1
