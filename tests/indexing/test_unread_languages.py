"""Chunks in a language that the embedder was not made for have no vectors."""

import pytest
from tests.indexing.pipeline_fakes import LatinEmbedder, make_stages, text_source
from tests.indexing.snapshots import snapshot

from knotwork._extensions.testing.embedders import HashingEmbedder
from knotwork._indexing.embedding import Embedding
from knotwork._indexing.run import IndexingRun
from knotwork._run import Stage
from knotwork._stores.urls import open_store
from knotwork.errors import SchemaMismatch
from knotwork.records import Document, Extraction, Mention

ENGLISH = "Ada meets Bo in the hall of the old library\nBo pays Ada"
CHINESE = "长江是中国最长的河流。\n它发源于青藏高原，流入东海。"
TEXTS = {
    "mixed.txt": f"{ENGLISH}\n\n{CHINESE}",
    "river.txt": f"{CHINESE}\n\n武汉是湖北省的省会，位于长江中游。",
    "people.txt": "Cleo warns Ada\n\nAda calls Cleo\n\n1954 -- 77",
}
UNREAD, CHUNKS = 3, 7


def run(store, embedder, *, texts=TEXTS, batches=None):
    embedding = Embedding(embedder)
    stages = make_stages(embedder, settings=embedding.identity)
    sources = [text_source(uri, text) for uri, text in texts.items()]
    pipeline = IndexingRun(store, stages, **(batches or {}))
    return pipeline.update(sources, covers=lambda entry: True)


@pytest.fixture(params=["memory:", "index.knot"])
def store(request, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    opened = open_store(request.param, create=True)
    yield opened
    opened.close()


def test_only_chunks_that_the_model_reads_are_embedded(store):
    embedder = LatinEmbedder()
    report = run(store, embedder)

    assert (report.chunks, report.without_vectors) == (CHUNKS, UNREAD)
    assert store.vectors("chunk").count() == CHUNKS - UNREAD
    assert report.reused == 0
    assert not any("长江" in text for text in embedder.seen)
    assert "1954 -- 77" in embedder.seen
    found = store.texts("chunk").search("长江", k=9)
    assert len(found) == UNREAD
    assert not store.vectors("chunk").get([item.id for item in found])
    assert not store.vectors("sentence").get([item.id for item in found])


def test_the_report_says_why_and_what_to_change(store):
    for _ in range(2):
        (note,) = run(store, LatinEmbedder()).notes
        assert f"{UNREAD} of {CHUNKS} chunks have no vectors" in note
        assert "latin:32" in note
        assert "knotwork embed --model local:multilingual-e5-small" in note
    only_english = {"people.txt": TEXTS["people.txt"]}
    assert run(store, LatinEmbedder(), texts=only_english).notes == ()


def test_a_run_of_one_document_counts_outdated_ones_without_reading_all_of_the_ledger(
    tmp_path, monkeypatch
):
    store = open_store(str(tmp_path / "index.knot"), create=True)
    run(store, None)
    assert store.ledger.settings_counts() == {e.settings: 3 for e in store.ledger.entries()}

    def refuse(ledger):
        raise AssertionError("every entry is read")

    monkeypatch.setattr(type(store.ledger), "entries", refuse)
    embedder = LatinEmbedder()
    stages = make_stages(embedder, settings=Embedding(embedder).identity)
    last = IndexingRun(store, stages).update([text_source("people.txt", TEXTS["people.txt"])])
    (note,) = last.notes
    assert "4 of 7 chunks have no vectors: 2 documents were indexed with other settings" in note
    store.close()


def test_an_unchanged_index_stays_untouched(store):
    run(store, LatinEmbedder())
    generation, idle = store.generation(), LatinEmbedder()
    report = run(store, idle)
    assert (report.unchanged, report.embedded, report.without_vectors) == (3, 0, UNREAD)
    assert idle.calls == 0
    assert store.generation() == generation


def test_a_changed_document_has_only_its_new_chunks_embedded(store):
    run(store, LatinEmbedder())
    embedder = LatinEmbedder()
    report = run(store, embedder, texts=TEXTS | {"mixed.txt": f"{TEXTS['mixed.txt']}\n\nBo sings"})
    assert (report.changed, report.reused, report.without_vectors) == (1, 1, UNREAD)
    assert [text for text in embedder.seen if " " in text] == ["Bo sings"]


def test_names_that_the_model_does_not_read_have_no_vector(store):
    class Names:
        """Finds 长江 and Ada wherever they stand."""

        name = "two-names"

        def extract(self, document, chunks):
            return [
                Extraction(
                    chunk.id,
                    tuple(
                        Mention(chunk.id, form.lower(), form, spans=(), about=0.5)
                        for form in ("长江", "Ada")
                        if form in chunk.text
                    ),
                    (),
                )
                for chunk in chunks
            ]

    embedder = LatinEmbedder()
    stages = make_stages(embedder)
    stages = type(stages)(stages.splitter, Names(), stages.embedding, stages.tiers)
    list(
        IndexingRun(store, stages).update.run(
            [text_source(uri, text) for uri, text in TEXTS.items()]
        )
    )
    assert store.graph.entity_count() == 2
    assert store.vectors("entity").count() == 1
    assert "ada" in embedder.seen


def test_a_model_without_languages_embeds_everything(store):
    embedder = HashingEmbedder(32)
    embedder.languages = None
    report = run(store, embedder)
    assert (report.without_vectors, report.notes) == (0, ())
    assert store.vectors("chunk").count() == CHUNKS


def test_a_model_that_learns_a_language_embeds_what_lacked_vectors(store):
    run(store, LatinEmbedder())
    wider = LatinEmbedder()
    wider.languages = LatinEmbedder.languages | {"zh"}
    report = run(store, wider)
    assert (report.changed, report.without_vectors, report.notes) == (3, 0, ())
    assert not any(ENGLISH in text for text in wider.seen)
    fresh = open_store("memory:")
    run(fresh, wider)
    assert snapshot(store) == snapshot(fresh)


def test_another_model_takes_an_index_without_vectors_and_refuses_one_with(store):
    river = {"river.txt": TEXTS["river.txt"]}
    assert run(store, LatinEmbedder(), texts=river).without_vectors == 2
    report = run(store, HashingEmbedder(48), texts=river)
    assert (report.changed, report.embedder, report.without_vectors) == (1, "hashing:48", 0)
    fresh = open_store("memory:")
    run(fresh, HashingEmbedder(48), texts=river)
    assert snapshot(store) == snapshot(fresh)
    with pytest.raises(SchemaMismatch):
        run(store, LatinEmbedder(), texts=river)


@pytest.mark.parametrize("batch", [1, 2, 100])
def test_batches_and_interruptions_do_not_shape_the_result(batch):
    whole = open_store("memory:")
    run(whole, LatinEmbedder())
    for stop_after in range(5):
        store = open_store("memory:")
        embedder = LatinEmbedder()
        inner, calls = embedder.embed_passages, 0

        def stop(passages, inner=inner, stop_after=stop_after):
            nonlocal calls
            calls += 1
            if calls > stop_after:
                raise KeyboardInterrupt
            return inner(passages)

        embedder.embed_passages = stop
        stages = make_stages(embedder, settings=Embedding(embedder).identity)
        sources = [text_source(uri, text) for uri, text in TEXTS.items()]
        pipeline = IndexingRun(store, stages, batch_chunks=batch, embedding_chunks=1)
        try:
            list(pipeline.update.run(sources))
        except KeyboardInterrupt:
            assert calls == stop_after + 1
        run(store, LatinEmbedder(), batches={"batch_chunks": batch, "embedding_chunks": 1})
        assert snapshot(store) == snapshot(whole)


def test_progress_counts_every_chunk_once_and_in_small_steps():
    store, embedder = open_store("memory:"), LatinEmbedder()
    text = "\n\n".join(f"Ada helps Bo in room {n}" for n in range(200))
    sources = [text_source("many.txt", text), text_source("river.txt", TEXTS["river.txt"])]
    events = list(IndexingRun(store, make_stages(embedder)).update.run(sources))
    chunks = [event.counts.chunks for event in events if event.stage is Stage.EMBEDDED]
    assert chunks == sorted(set(chunks))
    assert chunks[-1] == 202
    steps = [after - before for before, after in zip([2, *chunks], chunks, strict=False)]
    assert steps[0] <= 128  # further ones are at least some time apart


def test_titles_in_another_language_do_not_decide():
    embedding = Embedding(LatinEmbedder())
    splitter = make_stages(None).splitter
    _, (chunk,) = splitter.split(Document("a", ENGLISH, title="关于图书馆的报告与说明"))
    assert embedding.chunk_key(chunk)
    _, (chunk,) = splitter.split(Document("a", CHINESE, title="On the river"))
    assert not embedding.chunk_key(chunk)
