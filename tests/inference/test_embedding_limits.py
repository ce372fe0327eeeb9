"""Requests to embedding servers: limits of a request, prefixes, own headers and fields."""

import json

import numpy as np
import pytest
from tests.inference.model_server import ORACLE, embed_as_base64, embed_as_lists, reply, serve

import knotwork
from knotwork._config import EmbeddingSettings, SecretRef, SettingTable
from knotwork._extensions.served_models.embedding_prefixes import FAMILIES, choose_prefixes
from knotwork._extensions.served_models.embeddings import stated_limit
from knotwork._inference.embedder import PassageText
from knotwork._inference.model_registry import open_embedder
from knotwork.errors import ModelError, SchemaMismatch
from knotwork.testing import FaultPlan, ModelTestServer

TEXTS = [f"text {number} of many" for number in range(25)]


def connect(server, model="small", **options):
    settings = EmbeddingSettings(base_url=server.url, timeout_s=5, concurrency=1, **options)
    return open_embedder(f"openai:{model}", settings)


def refuse_above(most, message, status=400):
    def answer(payload):
        if len(payload["input"]) > most:
            return reply(
                status, {"error": {"message": message.format(sent=len(payload["input"]))}}
            )(payload)
        return embed_as_base64(payload)

    return answer


@pytest.mark.parametrize(
    ("most", "message", "sizes"),
    [
        (
            10,
            "<400> InternalError: batch size is invalid, it should not be larger than 10.: input",
            [25, 10, 10, 5],
        ),
        (16, "Too many inputs. The max number of inputs is 16.", [25, 16, 9]),
        (
            8,
            "'$.input' is invalid. Expected an array with maximum length 8, but got {sent}.",
            [25, 8, 8, 8, 1],
        ),
        (12, "input batch size {sent} > maximum allowed batch size 12", [25, 12, 12, 1]),
        (7, "Too many inputs in request, split into more batches.", [25, 1, 13, 7, 6, 7, 5]),
        (20, "Requested 9 tokens too many, max 300000 tokens per request", [25, 1, 13, 12]),
        (6, "input数组最大不得超过6条", [25, 6, 6, 6, 6, 1]),
    ],
)
def test_a_batch_that_is_too_large_is_sent_in_smaller_ones_and_the_limit_is_kept(
    most, message, sizes
):
    with serve(refuse_above(most, message)) as server:
        rows = connect(server).embed(TEXTS)
        assert [len(request["input"]) for request in server.requests] == sizes
        again = connect(server).embed(TEXTS)  # another embedder of this process
    later = [len(request["input"]) for request in server.requests[len(sizes) :]]
    assert max(later) <= max(most, 13)
    assert len(later) == len([size for size in later if size <= most])
    assert np.allclose(rows, ORACLE.embed(TEXTS), atol=1e-6)
    assert np.array_equal(rows, again)


def test_a_refusal_of_a_single_text_costs_its_row_and_teaches_nothing():
    def answer(payload):
        if any("long" in text for text in payload["input"]):
            return reply(400, {"error": {"message": "input is too long"}})(payload)
        return embed_as_lists(payload)

    with serve(answer) as server:
        rows = connect(server).embed([*TEXTS, "a long text"])
        assert np.flatnonzero(~rows.any(axis=1)).tolist() == [len(TEXTS)]
        sent = len(server.requests)
        connect(server).embed(TEXTS)
    assert len(server.requests) == sent + 1


@pytest.mark.parametrize(
    ("status", "message", "limit"),
    [
        (400, "The model does not exist", 0),
        (401, "batch size is larger than 10", 0),
        (413, "Payload Too Large", 0),
        (422, "total number of texts must be at most 96 - received 97", 96),
        (400, "batch size must be at most 0", 0),
        (400, "maximum of 99999 exceeded", 0),
    ],
)
def test_only_a_refusal_of_the_size_is_read_as_one(status, message, limit):
    error = ModelError(f"`http://h:8/v1/embeddings` answered {status}: {message}", status=status)
    assert stated_limit(error, sent=97) == limit
    assert stated_limit(error, sent=1) == 0


def test_a_server_that_knows_no_base64_gets_no_format():
    def answer(payload):
        if "encoding_format" in payload:
            return reply(422, {"error": {"message": "encoding_format: extra fields"}})(payload)
        return embed_as_lists(payload)

    with serve(answer) as server:
        assert connect(server).embed(["a"]).shape == (1, 32)
        assert connect(server).embed(["b"]).shape == (1, 32)
    assert ["encoding_format" in request for request in server.requests] == [True, False, False]


def test_a_refused_dimension_says_what_to_set():
    refusal = {"error": {"message": "Model small does not support matryoshka representation"}}
    with serve(reply(400, refusal)) as server, pytest.raises(ModelError) as caught:
        connect(server, dimension=16).embed(["a"])
    assert "embedding.dimension" in caught.value.fix


@pytest.mark.parametrize(
    ("model", "query", "document"),
    [
        ("intfloat/multilingual-e5-large", "query: ", "passage: "),
        ("nomic-embed-text:v1.5", "search_query: ", "search_document: "),
        ("BAAI/bge-large-en-v1.5", "Represent this sentence for searching relevant passages: ", ""),
        ("BAAI/bge-base-zh-v1.5", "为这个句子生成表示以用于检索相关文章：", ""),
        ("BAAI/bge-m3", "", ""),
        ("snowflake-arctic-embed2:568m", "query: ", ""),
        ("Snowflake/snowflake-arctic-embed-l-v2.0", "query: ", ""),
        ("text-embedding-3-small", "", ""),
        ("text-embedding-v4", "", ""),
    ],
)
def test_families_have_the_prefixes_of_their_cards(model, query, document):
    found = choose_prefixes(model)
    assert (found.query, found.document) == (query, document)
    assert choose_prefixes(model, query="", document="").label == ""


def test_instructions_are_put_before_questions_only():
    for model in ("Qwen/Qwen3-Embedding-8B", "intfloat/e5-mistral-7b-instruct", "gte-Qwen2-7B"):
        found = choose_prefixes(model)
        assert found.query.startswith("Instruct: Given a web search query, ")
        assert found.document == ""
    assert all(pattern == pattern.lower() for pattern in FAMILIES)


def test_prefixes_are_sent_and_named():
    with serve(embed_as_base64) as server:
        embedder = connect(server, "multilingual-e5-base")
        embedder.embed(["who?"])
        embedder.embed_passages([PassageText("Text.", "Title")])
        own = connect(server, "multilingual-e5-base", query_prefix="ask: ")
        own.embed(["who?"])
        none = connect(server, "multilingual-e5-base", query_prefix="", document_prefix="")
    assert [request["input"] for request in server.requests] == [
        ["query: who?"],
        ["passage: Title. Text."],
        ["ask: who?"],
    ]
    assert none.name == "openai:multilingual-e5-base"
    assert len({none.name, embedder.name, own.name}) == 3


def test_an_index_is_not_searched_with_other_prefixes(tmp_path):
    (tmp_path / "a.txt").write_text("Ann leads the harbour project.", encoding="utf-8")
    place = tmp_path / "k.knot"
    with ModelTestServer() as server:
        common = {"embedding_base_url": server.url, "embedding_model": "openai:nomic-embed-text"}
        with knotwork.open(
            place, embedding_query_prefix="", embedding_document_prefix="", **common
        ) as base:
            base.index(tmp_path)
        with knotwork.open(place, **common) as base:
            with pytest.raises(SchemaMismatch, match="another prefix"):
                base.search("Who leads the harbour project?")
            base.embed()
            assert "prefixes" in base.embedder.name
        assert "search_document: " in server.sent_text()
        with (
            knotwork.open(place, embedding_query_prefix="ask: ", **common) as base,
            pytest.raises(SchemaMismatch, match="another prefix") as caught,
        ):
            base.search("Who leads the harbour project?")
    assert "embedding.query_prefix" in caught.value.fix


def test_a_folder_is_indexed_at_a_server_that_takes_ten_texts(tmp_path):
    text = " ".join(f"Sentence {number} is about the harbour." for number in range(60))
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    with ModelTestServer(faults=FaultPlan(most_texts=10)) as server:
        options = {"embedding_base_url": server.url, "embedding_model": "openai:small"}
        with knotwork.open(tmp_path / "k.knot", **options) as base:
            report = base.index(tmp_path)
            assert not report.failed
            assert base.search("harbour").hits
    refused = [call for call in server.traffic.calls if call.status == 400]
    assert 1 <= len(refused) <= 4  # those in flight before the first refusal


def test_headers_and_fields_of_ones_own_are_sent(monkeypatch):
    monkeypatch.setenv("KNOTWORK_TEST_TEAM", "team-secret-77")
    headers = SettingTable({"x-team": SecretRef("KNOTWORK_TEST_TEAM"), "x-app": "docs"})
    body = SettingTable({"truncate": True, "encoding_format": "float"})
    refusal = reply(400, {"error": {"message": "team-secret-77 is unknown"}})
    with serve(embed_as_lists, refusal) as server:
        embedder = connect(server, extra_headers=headers, extra_body=body)
        embedder.embed(["a"])
        with pytest.raises(ModelError) as caught:
            embedder.embed(["a"])
    assert server.headers[0]["x-team"] == "team-secret-77"
    assert server.headers[0]["x-app"] == "docs"
    assert server.requests[0]["truncate"] is True
    assert server.requests[0]["encoding_format"] == "float"
    assert "team-secret-77" not in str(caught.value)
    assert "team-secret-77" not in json.dumps(caught.value.__dict__, default=repr)


def test_a_deployment_on_azure_gets_its_version_and_key(monkeypatch):
    monkeypatch.setenv("KNOTWORK_TEST_KEY", "azure-key-1")
    with serve(embed_as_lists) as server:
        connect(server, api_version="2024-10-21", api_key=SecretRef("KNOTWORK_TEST_KEY")).embed(
            ["a"]
        )
    assert server.requests[0]["path"] == "/v1/embeddings?api-version=2024-10-21"
    assert server.headers[0]["api-key"] == "azure-key-1"
    assert "Authorization" not in server.headers[0]
