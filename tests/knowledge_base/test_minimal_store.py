"""A store with the required parts only: it is indexed, searched and asked; the rest is refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.indexing.brained import brained
from tests.indexing.foreign_indexes.foreign_files import current_tables, write_tables
from tests.stores.minimal_store import MinimalStore

from knotwork._config import EmbeddingSettings, IndexSettings, LlmSettings, Settings
from knotwork._knowledge_base import KnowledgeBase
from knotwork._retrieval.retriever_registry import RETRIEVERS
from knotwork._stores.capabilities import Capabilities
from knotwork.errors import MissingCapability, StoreError
from knotwork.records import Document
from knotwork.testing import HashingEmbedder

TEXTS = {
    "lighthouse.md": "# Lighthouse\n\nThe lighthouse of Saaremaa was built by Olev Raud in 1921. "
    "It is a tower of granite. Marta Ilves keeps its lamp.",
    "harbour.md": "# Harbour\n\nMarta Ilves works for the Harbour Council. The Harbour Council "
    "(HC) meets Olev Raud every spring in Tartu.",
}
PLAIN = EmbeddingSettings(model="none")


def opened(
    store: MinimalStore, *, model: object = None, index: IndexSettings | None = None, tier: str = ""
) -> KnowledgeBase:
    llm = LlmSettings(model="scripted:brain", tier=tier or "lean") if model else LlmSettings()
    settings = Settings(embedding=PLAIN, index=index or IndexSettings(), llm=llm)
    return KnowledgeBase(store, settings, chat_model=model)


def documents() -> list[Document]:
    return [Document(uri, text, title=uri) for uri, text in TEXTS.items()]


@pytest.fixture
def store() -> MinimalStore:
    return MinimalStore()


@pytest.fixture
def base(store: MinimalStore) -> KnowledgeBase:
    kb = opened(store)
    kb.index_documents(documents())
    return kb


def is_empty(store: MinimalStore) -> bool:
    whole = store.whole
    return not (whole.documents.document_ids() or list(whole.ledger.entries()) or whole.meta())


def test_indexing_reports_what_the_store_cannot_hold(store):
    report = opened(store).index_documents(documents())
    assert report.added == 2
    (note,) = (note for note in report.notes if "does not support" in note)
    assert note == (
        "The store `memory:` does not support descriptions of entities, merged entities, "
        "homonyms, communities. They were left out."
    )
    assert store.whole.readings.described() == []


def test_a_store_with_all_parts_has_no_such_note():
    report = opened(MinimalStore().whole).index_documents(documents())
    assert not any("does not support" in note for note in report.notes)


def test_tables_that_no_file_can_hold_are_reported(tmp_path):
    (tmp_path / "cities.csv").write_text("city,people\nTartu,97000\n", encoding="utf-8")
    report = opened(MinimalStore().whole).index(tmp_path)
    assert "The store `memory:` does not support tables. They were left out." in report.notes


RUNS_CYPHER = ("cypher_templates", "dynamic_cypher", "text_to_cypher")
OTHERS = [
    entry.name
    for entry in RETRIEVERS.entries()
    if not entry.needs and entry.name not in {*RUNS_CYPHER, "questions"}
]


@pytest.mark.parametrize("retriever", OTHERS)
def test_retrievers_work_without_the_optional_parts(base, retriever):
    found = base.search("Who built the lighthouse of Saaremaa?", retriever=retriever)
    assert "Olev Raud" in found.hits[0].chunk.text


@pytest.mark.parametrize("mode", ["auto", "local", "global"])
def test_questions_are_answered(base, mode):
    answer = base.ask("Who built the lighthouse of Saaremaa?", mode=mode)
    assert "Olev Raud" in answer.text


def test_the_graph_is_explored_and_documents_are_removed(base, store):
    assert base.graph.explore("Marta Ilves").nodes
    assert base.entities.aliases().things == ()
    assert base.entities.homonyms() == ()
    assert base.delete("lighthouse.md") == ("lighthouse.md",)
    assert store.documents.document_count() == 1


def test_vectors_of_the_first_embedder_are_searched(store):
    kb = KnowledgeBase(store, Settings(), embedder=HashingEmbedder(dimension=32))
    kb.index_documents(documents())
    assert kb.search("lighthouse", retriever="dense").hits


Use = Callable[[KnowledgeBase], object]

USES: dict[str, Use] = {
    "communities": lambda kb: kb.communities.list(),
    "merged entities": lambda kb: kb.entities.find_aliases(),
    "Cypher": lambda kb: kb.graph.cypher("RETURN 1"),
    "filters": lambda kb: kb.search("lighthouse", filters="title = harbour.md"),
    "a change of the embedder": lambda kb: kb.embed(HashingEmbedder(dimension=8)),
}


@pytest.mark.parametrize("part", USES)
def test_each_optional_feature_is_refused_by_name(base, store, part):
    before = store.generation()
    with pytest.raises(MissingCapability, match=rf"`memory:` does not support {part}") as caught:
        USES[part](base)
    assert caught.value.capability == part
    assert "Use an index file" in caught.value.fix
    assert store.generation() == before


@pytest.mark.parametrize("decision", ["merge", "split"])
def test_decisions_of_a_person_are_refused(base, decision):
    with pytest.raises(MissingCapability, match="corrections of the graph"):
        base.graph.correct(decision, "Marta Ilves", other="Olev Raud")


@pytest.mark.parametrize("retriever", RUNS_CYPHER)
def test_retrievers_that_run_cypher_are_refused(base, retriever):
    with pytest.raises(MissingCapability, match="Cypher"):
        base.search("Who built the lighthouse?", retriever=retriever)


def test_homonyms_are_refused_before_names_are_compared(store):
    store.capabilities = Capabilities(resolutions=store.whole.resolutions)
    kb = opened(store)
    kb.index_documents(documents())
    with pytest.raises(MissingCapability, match="homonyms"):
        kb.entities.find_aliases()
    assert store.whole.resolutions.decisions() == []


@pytest.mark.parametrize("tier", ["lean", "full"])
def test_a_model_is_not_called_if_its_readings_cannot_be_held(store, tier):
    model = brained()
    with pytest.raises(MissingCapability, match="readings by a language model"):
        opened(store, model=model, tier=tier).index_documents(documents())
    assert model.requests == []
    assert is_empty(store)


def test_the_full_tier_needs_communities(store):
    store.capabilities = Capabilities(readings=store.whole.readings)
    model = brained()
    with pytest.raises(MissingCapability, match="communities"):
        opened(store, model=model, tier="full").index_documents(documents())
    assert model.requests == []
    assert is_empty(store)


def test_a_model_that_leaves_out_merged_names_is_reported(store):
    store.capabilities = Capabilities(readings=store.whole.readings)
    report = opened(store, model=brained(), tier="lean").index_documents(documents())
    assert report.enrichment.names is None
    assert any("merged entities" in note for note in report.notes)


@pytest.mark.parametrize("writer", ["rules", "model"])
def test_questions_of_chunks_are_refused(store, writer):
    model = brained() if writer == "model" else None
    store.capabilities = Capabilities(readings=store.whole.readings)
    kb = opened(store, model=model, index=IndexSettings(questions=writer))
    with pytest.raises(MissingCapability, match="questions of chunks"):
        kb.index_documents(documents())
    assert is_empty(store)


def test_a_foreign_index_is_refused(store, tmp_path):
    folder = write_tables(tmp_path / "ragtest" / "output", current_tables())
    with pytest.raises(MissingCapability, match="readings by a language model"):
        opened(store).import_from(folder)
    store.capabilities = Capabilities(readings=store.whole.readings)
    with pytest.raises(MissingCapability, match="communities"):
        opened(store).import_from(folder)
    assert is_empty(store)


def test_a_graph_is_refused(store, tmp_path):
    path = tmp_path / "people.tsv"
    path.write_text("Ada\tknows\tBob\n", encoding="utf-8")
    with pytest.raises(MissingCapability, match="imported graphs"):
        opened(store).graph.import_files(path)
    assert is_empty(store)


def test_the_error_is_one_of_stores():
    error = MissingCapability("memory:", "Cypher")
    assert isinstance(error, StoreError)
    assert (error.exit_code, error.http_status) == (2, 409)
    assert str(error) == (
        "The store `memory:` does not support Cypher. Use an index file: it supports everything "
        "that Knotwork does."
    )
