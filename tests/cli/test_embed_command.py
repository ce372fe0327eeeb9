"""`knotwork embed`: another model for an index, and what searches do meanwhile."""

import shutil
import signal

import pytest
from tests.cli.running import knotwork

import knotwork as package
from knotwork._config import load_settings
from knotwork._indexing.embedding import INTO_META
from knotwork._inference.embedder import HashingEmbedder

pytestmark = pytest.mark.slow


QUESTION = "Who approves travel?"


@pytest.fixture
def store(tmp_path, sample_store):
    """A copy of the sample's index with vectors of hashing:64."""
    path = tmp_path / "index.knot"
    shutil.copy(sample_store, path)
    outcome = knotwork("embed", "--model", "hashing:64", "--store", path)
    assert outcome.code == 0, outcome.err
    return path


def model(name):
    return ("--set", f"embedding.model={name}")


def test_an_index_is_switched_to_another_model(store):
    outcome = knotwork("embed", "--store", store, *model("hashing:128"), "--json")
    assert outcome.code == 0, outcome.err
    found = outcome.json
    assert (found["embedder"], found["previous"]) == ("hashing:128", "hashing:64")
    assert found["dimension"] == 128
    assert found["vectors"]["chunk"] == found["chunks"] == found["done"]
    assert found["embedded"] >= found["chunks"]
    assert found["notes"] == []
    doctor = knotwork("doctor", "--store", store, *model("hashing:128"))
    assert doctor.code == 0, doctor.out + doctor.err
    search = ("search", QUESTION, "--store", store, "--retriever", "dense", "--json")
    assert knotwork(*search, *model("hashing:128")).json["hits"]
    other = knotwork(*search, *model("hashing:64"))
    assert "knotwork embed --model hashing:64" in other.json["error"]["fix"]
    again = knotwork("embed", "--store", store, *model("hashing:128"))
    assert "Embedded   0 texts in this run" in again.out


def test_files_are_not_read_again_after_a_switch(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.txt").write_text("Ada meets Bo in Tartu. Bo pays Ada.", "utf-8")
    line = ("index", "docs", "--store", "new.knot", "--json")
    assert knotwork(*line, *model("none")).json["added"] == 1
    for name in ("hashing:64", "hashing:128"):
        assert knotwork("embed", "--store", "new.knot", "--model", name).code == 0
        assert knotwork(*line, *model(name)).json["unchanged"] == 1


def test_a_note_says_what_to_set(store):
    outcome = knotwork("embed", "--model", "hashing:32", "--store", store, *model("hashing:64"))
    assert 'embedding.model = "hashing:32"' in outcome.err


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["--model", "hashng:64"], "unknown_name", "hashing:"),
        (["--model", "hashing:many"], "config_error", "hashing:256"),
        (["--model", "none"], "config_error", "knotwork embed --model local:"),
        (["--store", "absent.knot"], "store_not_found", "absent.knot"),
    ],
)
def test_mistakes_are_explained(store, tmp_path, arguments, code, text):
    outcome = knotwork("embed", "--store", store, *arguments, "--json")
    assert outcome.code == 2
    assert outcome.json["error"]["code"] == code
    assert text in outcome.json["error"]["message"] + outcome.json["error"]["fix"]
    assert not (tmp_path / "absent.knot").exists()


def test_ctrl_c_keeps_what_is_done_and_says_what_to_do(store, monkeypatch):
    asked = HashingEmbedder.embed_passages

    def interrupt(self, passages):
        if self.calls > 1:
            raise KeyboardInterrupt
        return asked(self, passages)

    monkeypatch.setattr("knotwork._extensions.upkeep.reembedding.BATCH_CHUNKS", 16)
    monkeypatch.setattr(HashingEmbedder, "embed_passages", interrupt)
    outcome = knotwork("embed", "--model", "hashing:128", "--store", store, "--json")
    assert outcome.code == 128 + signal.SIGINT
    assert outcome.json["interrupted"] is True
    assert 0 < outcome.json["done"] < outcome.json["chunks"]
    assert "Run the same command again" in outcome.err
    monkeypatch.setattr(HashingEmbedder, "embed_passages", asked)

    search = ("search", QUESTION, "--store", store, "--json")
    for name, means in (("hashing:64", "its old vectors"), ("hashing:128", "full text")):
        found = knotwork(*search, *model(name)).json
        assert found["hits"]
        assert any(means in n and "knotwork embed --model" in n for n in found["notes"])
    refused = knotwork("index", ".", "--store", store, *model("hashing:64"), "--json")
    assert refused.json["error"]["code"] == "schema_mismatch"
    assert knotwork("embed", "--model", "hashing:128", "--store", store).code == 0
    assert knotwork(*search, *model("hashing:128")).json["notes"] == []


def test_the_same_process_searches_with_the_new_vectors(store):
    settings = load_settings(overrides={"embedding.model": "hashing:64"}).settings
    with (
        package.open(store, settings=settings) as kb,
        package.open(store, read_only=True) as reader,
    ):
        assert kb.search(QUESTION, retriever="dense").hits
        report = kb.embed("hashing:128")
        assert INTO_META in kb.store.meta()
        assert report.dimension == 128
        assert kb.search(QUESTION, retriever="dense").hits
        assert kb.embed(HashingEmbedder(32)).dimension == 32
        assert kb.search(QUESTION, retriever="dense").hits
        assert reader.store.meta()["embedder"] == "hashing:32"


async def embed_async(path):
    async with package.open_async(path, embedding_model="hashing:128") as kb:
        first, run = await kb.embed(), kb.embed.run("hashing:32")
        stages = {step.stage async for step in run}
        return first, stages, await run.result()


def test_the_event_loop_embeds_too(store):
    import asyncio

    report, stages, again = asyncio.run(embed_async(store))
    assert report.embedder == "hashing:128"
    assert "chunks" in stages
    assert again.previous == "hashing:128"
