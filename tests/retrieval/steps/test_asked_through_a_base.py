"""A composition named to a knowledge base: its options, its model, what the model cost."""

import pytest
from tests.retrieval.small_index import build_index

from knotwork import KnowledgeBase
from knotwork._config import Settings
from knotwork._extensions.testing.chat_models import ScriptedChatModel
from knotwork._extensions.testing.embedders import HashingEmbedder
from knotwork._stores.urls import open_store
from knotwork.errors import ConfigError, RetrievalError


@pytest.fixture
def store():
    return build_index(open_store("memory:", create=True), HashingEmbedder())


def test_a_step_asks_the_model_of_the_base_once(store):
    model = ScriptedChatModel("Where did Marta Ilves grow up?")
    base = KnowledgeBase(store, Settings(), embedder=HashingEmbedder(), chat_model=model)
    for _ in range(2):
        evidence = base.search("Pray, where grew she up?", retriever="rewrite(by=model) > bm25")
        assert evidence.trace == ("Asked as: Where did Marta Ilves grow up?",)
        assert evidence.hits[0].chunk.document_title == "Marta Ilves"
    assert len(model.requests) == 1  # the second call was kept
    base.close()


def test_nothing_is_asked_that_was_not_told_to(store):
    model = ScriptedChatModel([])
    base = KnowledgeBase(store, Settings(), embedder=HashingEmbedder(), chat_model=model)
    evidence = base.search("Who directed Silver Lantern?", retriever="decompose > graph > prune")
    assert evidence.hits[0].chunk.document_title == "Silver Lantern"
    assert model.requests == []


def test_without_a_model_it_is_reported(store):
    base = KnowledgeBase(store, Settings(), embedder=HashingEmbedder())
    with pytest.raises(RetrievalError, match="language model"):
        base.search("Who?", retriever="hyde(by=model) > bm25")
    with pytest.raises(ConfigError, match="at the end of"):
        base.search("Who?", retriever="bm25 >")


def test_an_answer_from_windows_cites_the_document(store):
    base = KnowledgeBase(store, Settings(), embedder=HashingEmbedder())
    answer = base.ask("Who directed Silver Lantern?", retriever="graph > sentence_window(size=0)")
    documents = {
        d.uri: d for d in store.documents.documents(store.documents.document_ids()).values()
    }
    assert answer.citations
    for citation in answer.citations:
        text = documents[citation.document].text
        assert text[citation.span.start : citation.span.end] == citation.quote
