"""Invalid requests: which field is meant, where the JSON is broken, and texts that are no text."""

from __future__ import annotations

import httpx2 as httpx
import pytest
from tests.service.serving import API, QUESTION, run_server

pytestmark = pytest.mark.slow

OPEN = f"{API}/workspaces/open"
CHAT = "/v1/chat/completions"
JSON = {"Content-Type": "application/json"}
ASKED = {"model": "open", "messages": [{"role": "user", "content": QUESTION}]}


def error_of(response, status=422):
    assert response.status_code == status, response.text
    return response.json()["error"]


@pytest.mark.parametrize(
    ("path", "body", "place", "meant"),
    [
        ("ask", {"question": "x", "retriver": "bm25"}, "body.retriver", "retriever"),
        ("ask", {"question": "x", "Filter": "a = 1"}, "body.Filter", "filters"),
        ("ask", {"quesion": "x"}, "body.quesion", "question"),
        ("ask", {"question": "x", "turns": [{"queston": ""}]}, "body.turns.0.queston", "question"),
        ("memory", {"fact": {"subjekt": "Ann"}}, "body.fact.subjekt", "subject"),
        ("documents/delete", {"document": ["a"]}, "body.document", "documents"),
        ("graph/neighbours", {"entities": ["a"], "dept": 2}, "body.dept", "depth"),
    ],
)
def test_an_unknown_field_is_answered_with_the_nearest_one(client, path, body, place, meant):
    error = error_of(client.post(f"{OPEN}/{path}", json=body))
    assert f"`{place}`" in error["message"]
    assert f"`{meant}`" in error["message"]
    assert error["fix"] == f"Did you mean `{meant}`?"


def test_an_unknown_field_that_is_like_no_other_brings_the_valid_ones(client):
    error = error_of(client.post(f"{OPEN}/ask", json={"question": "x", "zzzz": 1}))
    assert "`body.zzzz`: Unknown field `zzzz`. Valid: `as_written`" in error["message"]
    assert error["fix"] == f"See {API}/openapi.json"


def test_unknown_parameters_and_options_are_suggested_too(client):
    error = error_of(client.get(f"{OPEN}/graph", params={"limt": 5}))
    assert error["fix"] == "Did you mean `limit`?"
    error = error_of(client.post(CHAT, json={**ASKED, "knotwork": {"retriver": "bm25"}}))
    assert "Did you mean `retriever`?" in error["message"]
    assert (error["param"], error["type"]) == ("knotwork.retriver", "invalid_request_error")


@pytest.mark.parametrize(
    ("body", "line", "column"),
    [
        ('{"question": "x",}', 1, 18),
        ('{"question": "x"\n "k": 3}', 2, 2),
        ('{"question":\n\n  x}', 3, 3),
        ("{", 1, 2),
        ('{"question": "x"} {}', 1, 19),
        ('{"question": "a\tb"}', 1, 16),
    ],
)
@pytest.mark.parametrize("path", [f"{OPEN}/ask", CHAT])
def test_broken_json_is_located_by_line_and_column(client, path, body, line, column):
    error = error_of(client.post(path, content=body, headers=JSON))
    assert "not valid JSON" in error["message"]
    assert f" at line {line}, column {column}." in error["message"]
    assert "body." not in error["message"]


DEEP = 100_000


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (rb'"\ud83d"', "half of a surrogate pair"),
        (b'"\xed\xa0\xbd"', "half of a surrogate pair"),
        (b'"\xff"', "not UTF-8"),
        (b"NaN", "infinite or NaN"),
        (b"-Infinity", "infinite or NaN"),
        (b"1e999", "infinite or NaN"),
        (b"9" * 5_000, "too many digits"),
        (b"[" * DEEP + b"]" * DEEP, "nested too deeply"),
        (b'{"a":' * DEEP + b"1" + b"}" * DEEP, "nested too deeply"),
    ],
)
@pytest.mark.parametrize(
    ("path", "body"),
    [
        (f"{OPEN}/ask", b'{"question": "x", "query_params": {"a": %s}}'),
        (f"{OPEN}/search", b'{"question": %s}'),
        (f"{OPEN}/cypher", b'{"statement": "RETURN $a", "parameters": {"a": %s}}'),
        (f"{OPEN}/threads", b'{"title": %s}'),
        (CHAT, b'{"model": "open", "messages": [{"role": "user", "content": "x", "name": %s}]}'),
        ("/v1/responses", b'{"model": "open", "input": "x", "metadata": {"a": %s}}'),
        ("/v1/embeddings", b'{"model": "open", "input": [%s]}'),
    ],
)
def test_values_that_json_or_unicode_does_not_have_are_refused_in_words(
    client, path, body, value, told
):
    error = error_of(client.post(path, content=body % value, headers=JSON))
    assert told in error["message"]


RESPONSE = {"model": "open", "input": QUESTION}
EMBEDDED = {"model": "open", "input": "x"}


@pytest.mark.parametrize(
    ("path", "body", "field", "kind"),
    [
        ("/v1/responses", {**RESPONSE, "stream": "yes"}, "stream", "boolean"),
        ("/v1/responses", {**RESPONSE, "stream": 1}, "stream", "boolean"),
        (CHAT, {**ASKED, "stream": "false"}, "stream", "boolean"),
        (CHAT, {**ASKED, "stream_options": {"include_usage": "on"}}, "include_usage", "boolean"),
        (CHAT, {**ASKED, "knotwork": {"memory": "no"}}, "knotwork.memory", "boolean"),
        (CHAT, {**ASKED, "knotwork": {"k": "3"}}, "knotwork.k", "integer"),
        (CHAT, {**ASKED, "knotwork": {"k": True}}, "knotwork.k", "integer"),
        (CHAT, {**ASKED, "knotwork": {"min_score": "0.5"}}, "knotwork.min_score", "number"),
        ("/v1/embeddings", {**EMBEDDED, "dimensions": "384"}, "dimensions", "integer"),
        (f"{OPEN}/ask", {"question": "x", "use_llm": "yes"}, "use_llm", "boolean"),
        (f"{OPEN}/index", {"retry": 1}, "retry", "boolean"),
        (f"{OPEN}/related", {"question": "x", "citations": [], "most": "2"}, "most", "integer"),
    ],
)
def test_values_of_another_kind_are_refused_and_not_converted(client, path, body, field, kind):
    error = error_of(client.post(path, json=body))
    assert f"{field}`: Input should be a valid {kind}" in error["message"]


HALF = b"\xed\xa0\xbd"


def test_half_a_pair_in_a_url_or_a_header_is_refused_in_words(place):
    listed = f"{OPEN}/documents"
    with run_server(place) as address, httpx.Client(base_url=address) as client:
        for path, headers in [
            (f"{listed}?name=%ED%A0%BD", {}),
            (f"{OPEN}/%ED%B8%80", {}),
            ("/v1/models/%ED%A0%BD", {}),
            (listed, {"X-Anything": HALF}),
            (listed, {"Authorization": b"Bearer " + HALF}),
        ]:
            error = error_of(client.get(path, headers=headers))
            assert "half of a surrogate pair" in error["message"], path
        assert client.get(f"{listed}?name=%F0%9F%98%80%EE%80%80%FF").status_code == 200
        for agent in (b"M\xfcller", "\U0001f600".encode()):
            assert client.get(listed, headers={"User-Agent": agent}).status_code == 200


def test_no_depth_of_nesting_makes_the_server_fail(client):
    for depth in range(400, 1_050, 25):
        value = "[" * depth + "]" * depth
        for body in (
            f'{{"question": {value}}}',
            f'{{"question": "x", "filters": {{"a": {value}}}}}',
        ):
            response = client.post(f"{OPEN}/search", content=body, headers=JSON)
            assert 400 <= response.status_code < 500, depth
