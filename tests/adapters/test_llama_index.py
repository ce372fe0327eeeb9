"""The adapter for LlamaIndex, in the real library."""

import asyncio

import pytest
from llama_index.core.base.llms.types import CompletionResponse, LLMMetadata
from llama_index.core.llms import CustomLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.response_synthesizers import ResponseMode
from llama_index.core.schema import MetadataMode, QueryBundle
from llama_index.core.vector_stores.types import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
)

from knotwork.adapters.llama_index import KnotworkQueryEngine, KnotworkRetriever
from knotwork.errors import QuerySyntaxError, UnknownName

pytestmark = pytest.mark.slow


QUESTION = "Who approves trips abroad?"


class Echo(CustomLLM):
    """A model that says what it was asked."""

    @property
    def metadata(self):
        return LLMMetadata(context_window=8_000)

    def complete(self, prompt, formatted=False, **options):
        return CompletionResponse(text=prompt)

    def stream_complete(self, prompt, formatted=False, **options):
        raise NotImplementedError


def test_nodes_are_the_hits_and_say_where_they_stand(kb, check_place):
    retriever = KnotworkRetriever(kb, retriever="bm25", k=3)
    nodes = retriever.retrieve(QUESTION)
    hits = kb.search(QUESTION, retriever="bm25", k=3).hits
    assert [n.node.node_id for n in nodes] == [hit.chunk.id for hit in hits]
    assert [n.score for n in nodes] == [hit.score for hit in hits]
    for item in nodes:
        check_place(item.node.text, item.node.metadata)
        assert (item.node.start_char_idx, item.node.end_char_idx) == (
            item.node.metadata["start"],
            item.node.metadata["end"],
        )
    again = asyncio.run(retriever.aretrieve(QueryBundle(QUESTION)))
    assert [n.node.node_id for n in again] == [n.node.node_id for n in nodes]


def test_a_model_is_shown_the_document_but_no_numbers(kb):
    (node,) = KnotworkRetriever(kb, k=1).retrieve(QUESTION)
    shown = node.node.get_content(MetadataMode.LLM)
    assert "sample/en/travel-policy.docx" in shown
    assert node.node.metadata["chunk_id"] not in shown
    assert node.node.get_content(MetadataMode.EMBED) == node.node.text


def test_a_query_engine_of_the_library_reads_the_nodes(kb):
    engine = RetrieverQueryEngine.from_args(
        KnotworkRetriever(kb, k=2), llm=Echo(), response_mode=ResponseMode.COMPACT
    )
    response = engine.query(QUESTION)
    assert "Trips abroad are approved by the Travel Office" in str(response)
    assert len(response.source_nodes) == 2


def test_an_answer_keeps_its_citations(kb, check_place):
    engine = KnotworkQueryEngine(knowledge_base=kb)
    response = engine.query(QUESTION)
    answer = kb.ask(QUESTION)
    assert str(response) == answer.text
    assert [n.node.text for n in response.source_nodes] == [c.quote for c in answer.citations]
    for item in response.source_nodes:
        check_place(item.node.text, item.node.metadata)
    assert response.metadata["answered"] is True
    assert response.metadata["strength"] in ("strong", "weak")
    assert [piece["markdown"] for piece in response.metadata["pieces"]] == [
        piece.markdown for piece in answer.pieces
    ]
    assert str(asyncio.run(engine.aquery(QueryBundle(QUESTION)))) == answer.text


def test_no_answer_is_reported_as_such(kb):
    response = KnotworkQueryEngine(knowledge_base=kb).query("What is the price of tea in Lima?")
    assert response.metadata["answered"] is False
    assert response.metadata["strength"] == "none"
    assert response.metadata["reason"]


def test_errors_match_the_knowledge_base(kb):
    with pytest.raises(UnknownName, match="bm25"):
        KnotworkRetriever(kb, retriever="bm26").retrieve(QUESTION)
    with pytest.raises(UnknownName, match="local"):
        KnotworkQueryEngine(knowledge_base=kb, mode="loca").query(QUESTION)


@pytest.mark.parametrize(
    "filters",
    [
        "path = sample/en and not format = docx",
        MetadataFilters(
            filters=[
                MetadataFilter(key="path", value="sample/en"),
                MetadataFilter(key="format", value="docx", operator=FilterOperator.NE),
            ]
        ),
        MetadataFilters(
            filters=[
                MetadataFilter(key="path", value=["sample/en", "nowhere"], operator="in"),
                MetadataFilters(
                    filters=[MetadataFilter(key="format", value="docx")],
                    condition=FilterCondition.NOT,
                ),
            ],
            condition=FilterCondition.AND,
        ),
    ],
    ids=["own", "native", "nested"],
)
def test_filters_of_both_kinds_are_kept(kb, filters):
    nodes = KnotworkRetriever(kb, k=30, filters=filters).retrieve(QUESTION)
    uris = {node.node.metadata["document"] for node in nodes}
    assert uris
    assert all(uri.startswith("sample/en/") and not uri.endswith(".docx") for uri in uris)
    response = KnotworkQueryEngine(knowledge_base=kb, filters=filters).query(QUESTION)
    assert {n.node.metadata["document"] for n in response.source_nodes} <= uris


def test_all_values_and_the_least_score_are_kept_to(kb):
    filters = MetadataFilters(
        filters=[MetadataFilter(key="path", value="x", operator=FilterOperator.ALL)]
    )
    assert KnotworkRetriever(kb, filters=filters).retrieve(QUESTION) == []
    scored = KnotworkRetriever(kb, retriever="bm25", k=30, min_score=1.0).retrieve(QUESTION)
    assert all(node.score >= 1.0 for node in scored)


def test_the_rows_of_a_retrieval_query_are_the_last_node(kb, people):
    given = {"k": 3, "retrieval_query": people, "query_params": {"start": "Travel Off"}}
    *passages, rows = KnotworkRetriever(kb, **given).retrieve(QUESTION)
    assert [n.node.node_id for n in passages] == [
        hit.chunk.id for hit in kb.search(QUESTION, **given).hits
    ]
    assert rows.node.text == "name: Travel Office"
    assert rows.score == passages[-1].score
    assert rows.node.metadata["rows"] == [["Travel Office"]]
    shown = rows.node.get_content(MetadataMode.LLM)
    assert "the graph of the documents" in shown
    assert "MATCH" not in shown
    assert rows.node.get_content(MetadataMode.EMBED) == rows.node.text
    nothing = KnotworkRetriever(kb, **{**given, "query_params": {"start": "Ж"}})
    assert len(nothing.retrieve(QUESTION)) == len(passages)
    with pytest.raises(QuerySyntaxError, match="retrieval query"):
        KnotworkRetriever(kb, retrieval_query="MATCH (node RETURN node").retrieve(QUESTION)


def test_an_answer_has_the_rows_of_a_retrieval_query(kb, people):
    given = {"retrieval_query": people, "query_params": {"start": "Travel Off"}}
    response = KnotworkQueryEngine(knowledge_base=kb, **given).query(QUESTION)
    rows = response.metadata["results"][-1]
    assert (rows["source"], rows["columns"]) == ("retrieval_query", ["name"])
    assert rows["rows"] == [["Travel Office"]]
    assert KnotworkQueryEngine(knowledge_base=kb).query(QUESTION).metadata["results"] == []
