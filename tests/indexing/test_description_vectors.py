"""Entities that a model has described are found by what the description says."""

from contextlib import closing

import numpy as np
import pytest
from tests.indexing.brained import brained, documents_of
from tests.indexing.embedded_again import FailingEmbedder

import knotwork
from knotwork._extensions.patterns.walk_retrievers import near_seeds
from knotwork._extensions.testing.embedders import HashingEmbedder
from knotwork._indexing import entity_descriptions
from knotwork._indexing.embedding import Embedding
from knotwork._indexing.entity_descriptions import Describer, merge_descriptions
from knotwork._indexing.reembedding import Reembedding, embed_descriptions
from knotwork._retrieval.question import read_question
from knotwork._stores.indexes import DESCRIPTIONS
from knotwork._stores.resolutions import read_groups
from knotwork._stores.urls import open_store
from knotwork.records import ChunkReading, Description, ReadingStatus, entity_id

pytestmark = pytest.mark.slow

TEXTS = {
    "elm.md": "Elm Harbour lives on herring. Mara Quill founded Elm Harbour in 1702.",
    "moor.md": "Grace Moor keeps bees. Grace Moor sold honey to Elm Harbour.",
}


@pytest.fixture
def indexed(tmp_path):
    path = tmp_path / "index.knot"
    with knotwork.open(path, embedder=HashingEmbedder(64), chat_model=brained()) as kb:
        kb.index_documents(documents_of(TEXTS), tier="full")
        yield kb


def described(store):
    return set(store.capabilities.readings.described())


def vectors(store):
    return store.vectors(DESCRIPTIONS).get(described(store) | {entity_id("elm harbour")})


def test_each_described_entity_gets_a_vector_once(indexed):
    held = vectors(indexed.store)
    assert entity_id("elm harbour") in held
    assert held.keys() == described(indexed.store)
    embedder = FailingEmbedder(64)
    groups = read_groups(indexed.store)
    embedded = embed_descriptions(
        indexed.store, Embedding(embedder), describer=Describer(indexed.store, groups=groups)
    )
    assert embedded == 0
    assert embedder.seen == []


def test_a_run_compares_the_descriptions_of_an_entity_once(indexed, monkeypatch):
    compared = []

    def counting(texts):
        compared.append(tuple(texts))
        return merge_descriptions(texts)

    monkeypatch.setattr(entity_descriptions, "merge_descriptions", counting)
    indexed.index_documents(documents_of(TEXTS), tier="full")
    assert len(compared) == len(described(indexed.store))


def test_a_changed_description_gets_another_vector_and_a_removed_one_none(indexed):
    before = vectors(indexed.store)
    changed = TEXTS | {"moor.md": "Grace Moor keeps sheep now. Grace Moor sold wool to Ada Byron."}
    indexed.index_documents(documents_of(changed), tier="full")
    after = vectors(indexed.store)
    grace = entity_id("grace moor")
    assert not np.array_equal(before[grace], after[grace])
    indexed.index_documents(documents_of({"elm.md": TEXTS["elm.md"]}), remove_others=True)
    left = indexed.store.vectors(DESCRIPTIONS).get([grace, entity_id("elm harbour")])
    assert left.keys() == {entity_id("elm harbour")}
    assert indexed.store.vectors(DESCRIPTIONS).count() == len(described(indexed.store))


def test_a_question_finds_an_entity_by_its_description_alone(indexed):
    store = indexed.store
    (chunk,) = store.documents.chunk_ids_of(store.documents.document_ids()[:1]).popitem()[1]
    found = next(iter(store.graph.mentions([chunk])[chunk]))
    said = Description(
        chunk, found.normal_form, "Smugglers dug tunnels below the northern lighthouse."
    )
    store.capabilities.readings.put([ChunkReading(chunk, "m", ReadingStatus.OK)], [said])
    embedder = HashingEmbedder(64)
    embed_descriptions(store, Embedding(embedder), describer=Describer(store))
    question = read_question(
        "Smugglers dug tunnels below the lighthouse?", store=store, embedder=embedder
    )
    assert found.entity_id in {seed.entity.id for seed in near_seeds(question, store, most=1)}


def stages(store, embedder):
    """Embed an index again, and return the stages of the run."""
    return {step.stage for step in Reembedding(store, Embedding(embedder)).run()}


def test_another_embedder_and_a_repair_embed_descriptions_too(indexed, tmp_path):
    held = vectors(indexed.store)
    indexed.store.vectors(DESCRIPTIONS).remove(held)
    with closing(open_store(str(tmp_path / "index.knot"))) as store:
        list(Reembedding(store, Embedding(HashingEmbedder(64))).run())
        assert vectors(store).keys() == held.keys()
        assert "descriptions" in stages(store, HashingEmbedder(32))
        assert {matrix.shape for matrix in vectors(store).values()} == {(1, 32)}
        assert vectors(store).keys() == held.keys()
