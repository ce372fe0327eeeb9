import base64
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from knotwork._extensions.testing.model_server.program import build_server
from knotwork._inference.embedder import HashingEmbedder
from knotwork._text.token_counts import count_tokens
from knotwork.testing.model_server import Fault, FaultPlan, ModelTestServer, Traffic

pytestmark = pytest.mark.slow


TEXT = "The mayor opened the stone bridge of Tartu in 1784. It is old. 市长主持了开通。"


def chat(text=TEXT, **fields):
    return {"model": "any", "messages": [{"role": "user", "content": text}], **fields}


def post(server, body, path="/chat/completions"):
    """Return status, headers and the raw body."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(server.url + path, data=data)
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            return response.status, response.headers, response.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers, error.read()


def say(server, body):
    status, _, content = post(server, body)
    assert status == 200, content
    return json.loads(content)["choices"][0]


def events(content):
    parts = content.decode().strip().split("\n\n")
    assert parts.pop() == "data: [DONE]"
    return [json.loads(part.removeprefix("data: ")) for part in parts]


@pytest.fixture
def server():
    with ModelTestServer() as running:
        yield running


def test_chats_are_answered_and_counted(server):
    status, _, content = post(server, chat())
    body = json.loads(content)
    assert status == 200
    assert body["choices"][0]["message"] == {"role": "assistant", "content": TEXT}
    assert body["choices"][0]["finish_reason"] == "stop"
    told = {"prompt_tokens": count_tokens(TEXT), "completion_tokens": count_tokens(TEXT)}
    assert body["usage"] == {**told, "total_tokens": 2 * count_tokens(TEXT)}
    totals = server.traffic.totals
    assert (totals.calls, totals.peak, totals.statuses) == (1, 1, {200: 1})
    assert totals.input_tokens == totals.output_tokens == count_tokens(TEXT)
    assert server.sent_text() == f"any\nuser\n{TEXT}"


@pytest.mark.parametrize("include", [True, False])
def test_a_stream_joins_to_the_whole_answer(server, include):
    options = {"stream_options": {"include_usage": True}} if include else {}
    whole = json.loads(post(server, chat())[2])
    found = events(post(server, chat(stream=True, **options))[2])
    usages = [event["usage"] for event in found if event.get("usage")]
    assert usages == ([whole["usage"]] if include else [])
    choices = [event["choices"][0] for event in found if event["choices"]]
    assert "".join(c["delta"].get("content", "") for c in choices) == TEXT
    assert [c["finish_reason"] for c in choices if c["finish_reason"]] == ["stop"]
    assert len(choices) > 4


def test_limits_and_stops_end_an_answer(server):
    for name in ("max_tokens", "max_completion_tokens"):
        cut = say(server, chat(**{name: 3}))
        assert cut["message"]["content"] == "The mayor opened "
        assert cut["finish_reason"] == "length"
    assert say(server, chat(stop=[" stone"]))["message"]["content"] == "The mayor opened the"
    assert say(server, chat(stop="bridge"))["finish_reason"] == "stop"


def test_structured_output_has_the_form_of_its_schema(server):
    schema = {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "kind": {"enum": ["PERSON", "PLACE"]},
            "facts": {"type": "array", "items": {"anyOf": [{"type": "integer"}]}},
        },
    }
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    told = json.loads(say(server, chat(response_format=form))["message"]["content"])
    assert told == {"name": TEXT, "kind": "PERSON", "facts": [0]}
    told = say(server, chat(response_format={"type": "json_object"}))["message"]["content"]
    assert json.loads(told) == {"text": TEXT}


def test_vectors_match_the_hashing_embedder(server):
    expected = HashingEmbedder(32).embed(["a bridge", "桥"])
    asked = {"model": "m", "input": ["a bridge", "桥"], "dimensions": 32}
    plain = json.loads(post(server, asked, "/embeddings")[2])
    assert [item["index"] for item in plain["data"]] == [0, 1]
    assert np.allclose([item["embedding"] for item in plain["data"]], expected)
    packed = json.loads(post(server, asked | {"encoding_format": "base64"}, "/embeddings")[2])
    raw = base64.b64decode(packed["data"][1]["embedding"])
    assert np.array_equal(np.frombuffer(raw, dtype="<f4"), expected[1])
    one = json.loads(post(server, {"model": "m", "input": "a"}, "/embeddings")[2])
    assert len(one["data"][0]["embedding"]) == 256


def test_documents_are_ranked(server):
    texts = ["Soup at noon.", "The mayor opened the bridge.", {"text": "A bridge."}]
    asked = {"query": "Who opened the bridge?", "documents": texts, "top_n": 2}
    asked["return_documents"] = True
    results = json.loads(post(server, asked, "/rerank")[2])["results"]
    assert [result["index"] for result in results] == [1, 2]
    assert results[0]["relevance_score"] > results[1]["relevance_score"]
    assert results[1]["document"] == {"text": "A bridge."}


def test_models_are_listed(server):
    with urllib.request.urlopen(f"{server.url}/models", timeout=30) as response:
        assert [model["id"] for model in json.load(response)["data"]] == ["knotwork-test"]


@pytest.mark.parametrize(
    ("path", "body", "status", "word"),
    [
        ("/chat/completions", b"{", 400, "JSON"),
        ("/chat/completions", b"[]", 400, "JSON"),
        ("/chat/completions", {"messages": []}, 400, "messages"),
        ("/chat/completions", {"messages": [{"role": "user"}]}, 400, "role"),
        ("/chat/completions", chat(max_tokens=0), 400, "max_tokens"),
        ("/chat/completions", chat("task: fly-away\nNow."), 400, "fly-away.*extract-graph"),
        ("/embeddings", {"input": []}, 400, "input"),
        ("/rerank", {"documents": []}, 400, "query"),
        ("/nothing", {}, 404, "nothing"),
    ],
)
def test_wrong_requests_are_explained(server, path, body, status, word):
    found, _, content = post(server, body, path)
    assert found == status
    assert re.search(word, json.loads(content)["error"]["message"])


def test_a_connection_serves_many_calls(server):
    host, _, port = server.url.removeprefix("http://").removesuffix("/v1").partition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=30)
    for body in (chat(), chat(stream=True), chat(max_tokens=0), chat()):
        connection.request("POST", "/v1/chat/completions", json.dumps(body))
        before = connection.sock
        connection.getresponse().read()
        assert connection.sock is before is not None
    connection.close()
    assert server.traffic.totals.statuses == {200: 3, 400: 1}


STATUSES = {Fault.RATE_LIMITED: 429, Fault.SERVER_ERROR: 500, Fault.UNAVAILABLE: 503}


@pytest.mark.parametrize(("fault", "status"), STATUSES.items())
def test_a_refused_call_has_its_status(server, fault, status):
    server.faults = FaultPlan(at={1: fault}, retry_after_s=2.5)
    found, headers, content = post(server, chat())
    assert found == status
    assert headers["Retry-After"] == ("2.5" if status == 429 else None)
    assert json.loads(content)["error"]["message"]
    assert say(server, chat())["message"]["content"] == TEXT
    assert server.traffic.totals.faults == {fault: 1}


def test_spoilt_answers(server):
    server.faults = FaultPlan(at=dict(enumerate(list(Fault)[5:], 1)))
    assert say(server, chat())["message"]["content"] != TEXT
    truncated = say(server, chat())
    assert truncated["message"]["content"] == TEXT[: len(TEXT) // 2]
    assert truncated["finish_reason"] == "length"
    with pytest.raises(http.client.IncompleteRead):
        post(server, chat())
    thinking = say(server, chat())["message"]["content"]
    assert re.fullmatch(r"(?s)<think>.+</think>\s+(.*)", thinking)[1] == TEXT
    reasoning = say(server, chat())["message"]
    assert reasoning["content"] == TEXT
    assert reasoning["reasoning_content"]
    assert "usage" not in json.loads(post(server, chat())[2])


def test_a_body_of_broken_json_comes_with_status_200(server):
    server.faults = FaultPlan(
        at={1: Fault.BROKEN_JSON, 2: Fault.BROKEN_JSON}, endpoints=frozenset({"/embeddings"})
    )
    for _ in range(2):
        status, _, content = post(server, {"input": ["a"]}, "/embeddings")
        assert status == 200
        with pytest.raises(ValueError, match=r"."):
            json.loads(content)


def test_a_stream_breaks_in_the_middle(server):
    server.faults = FaultPlan(at={1: Fault.CUT, 2: Fault.BROKEN_JSON})
    with pytest.raises(http.client.IncompleteRead) as caught:
        post(server, chat(stream=True))
    assert b"The mayor" in caught.value.partial
    assert b"[DONE]" not in caught.value.partial
    content = post(server, chat(stream=True))[2]
    with pytest.raises(ValueError, match=r"."):
        events(content)


def test_refused_fields_are_named(server):
    server.faults = FaultPlan(refuses=frozenset({"max_tokens", "stream_options"}))
    status, _, content = post(server, chat(max_tokens=5))
    assert (status, json.loads(content)["error"]["param"]) == (400, "max_tokens")
    assert say(server, chat(max_completion_tokens=3))["finish_reason"] == "length"


def test_a_hanging_call_waits_for_its_release(server):
    server.faults = FaultPlan(rates={Fault.HANG: 1.0})
    with ThreadPoolExecutor(3) as pool:
        waiting = [pool.submit(say, server, chat(f"Call {n}.")) for n in range(3)]
        assert server.traffic.wait_for_running(3)
        assert not any(call.done() for call in waiting)
        server.release()
        assert [call.result()["message"]["content"] for call in waiting] == [
            f"Call {n}." for n in range(3)
        ]
    assert server.traffic.totals.peak == 3


def test_closing_ends_a_hanging_call_and_its_threads():
    before = threading.active_count()
    with ModelTestServer(faults=FaultPlan(at={1: Fault.HANG})) as server:
        with ThreadPoolExecutor(1) as pool:
            call = pool.submit(post, server, chat())
            assert server.traffic.wait_for_running(1)
            server.close()
            call.exception()  # answered or cut: either way it ends
        with pytest.raises(RuntimeError, match="not running"):
            _ = server.url
    assert threading.active_count() == before


def test_a_closed_server_starts_again(server):
    say(server, chat())
    server.close()
    server.start()
    assert say(server, chat())["message"]["content"] == TEXT
    assert server.traffic.totals.calls == 2


def test_any_text_is_answered_in_a_form_that_can_be_read(server):
    for text in ("\ud800 lone", "\x00\u202e", "a" * 20_000, "字" * 5_000):
        assert say(server, chat(text))["message"]["content"]
        assert json.loads(post(server, {"input": [text]}, "/embeddings")[2])["data"]
    parts = [{"type": "text", "text": "One "}, {"type": "text", "text": "two."}]
    assert say(server, chat(parts))["message"]["content"] == "One two."


def test_a_brain_of_ones_own_speaks():
    with ModelTestServer(lambda messages: f"{len(messages)} {messages[-1].role}") as server:
        assert say(server, chat())["message"]["content"] == "1 user"


def test_faults_depend_on_what_is_asked_and_not_on_the_order():
    rates = {Fault.RATE_LIMITED: 0.1, Fault.SERVER_ERROR: 0.1, Fault.GARBAGE: 0.1}
    plan = FaultPlan(rates=rates, seed=3)

    def draw(content, attempt, plan=plan):
        path = "/chat/completions"
        return plan.draw(path, content=b"%d" % content, attempt=attempt, number=1)

    drawn = Counter(draw(content, 0) for content in range(4_000))
    assert all(abs(drawn[fault] / 4_000 - 0.1) < 0.02 for fault in rates)
    again = Counter(draw(content, 1) for content in range(4_000) if draw(content, 0))
    assert again[None] / again.total() > 0.6  # a repeated call has a new chance
    other = FaultPlan(rates=rates, seed=4)
    assert [draw(n, 0) for n in range(50)] == [draw(n, 0) for n in range(50)]
    assert [draw(n, 0) for n in range(50)] != [draw(n, 0, other) for n in range(50)]


def test_rates_hold_over_http_and_are_counted(server):
    server.faults = FaultPlan(rates={Fault.SERVER_ERROR: 0.2, Fault.GARBAGE: 0.1}, seed=1)
    asked = [chat(f"Number {n}.") for n in range(120)]
    with ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(lambda body: post(server, body)[0], asked))
    totals = server.traffic.totals
    assert totals.statuses == dict(sorted(Counter(statuses).items()))
    assert totals.faults[Fault.SERVER_ERROR] == statuses.count(500)
    assert 12 <= statuses.count(500) <= 36
    assert totals.calls == 120
    assert 1 <= totals.peak <= 8
    server.traffic.reset()
    assert [post(server, body)[0] for body in asked] == statuses


@pytest.mark.parametrize("rates", [{Fault.CUT: 1.1}, {Fault.CUT: -0.1}])
def test_shares_are_checked(rates):
    with pytest.raises(ValueError, match="at most 1"):
        FaultPlan(rates=rates)


def test_latency_and_time_match_the_injected_clock():
    now = [100.0]

    def sleep(seconds):
        now[0] += seconds

    with ModelTestServer(
        latency_s=2.0, sleep=sleep, traffic=Traffic(clock=lambda: now[0], kept_calls=1)
    ) as server:
        say(server, chat("one"))
        now[0] += 1.0
        say(server, chat("two"))
        totals = server.traffic.totals
        assert (totals.busy_s, totals.active_s, totals.span_s) == (4.0, 4.0, 5.0)
        assert totals.utilisation(1) == pytest.approx(0.8)
        assert totals.utilisation(2) == pytest.approx(0.4)
        assert [call.body["messages"][0]["content"] for call in server.traffic.calls] == ["two"]


def test_calls_at_once_are_counted_as_they_overlap():
    now = [0.0]
    traffic = Traffic(clock=lambda: now[0])

    def begin(content):
        return traffic.begin("/x", {}, {}, faults=FaultPlan(), content=content)

    first = begin(b"a")
    now[0] = 1.0
    second = begin(b"b")
    now[0] = 3.0
    traffic.end(first)
    now[0] = 4.0
    traffic.end(second)
    totals = traffic.totals
    assert (totals.peak, totals.busy_s, totals.active_s, totals.span_s) == (2, 6.0, 4.0, 4.0)
    assert totals.utilisation(2) == 0.75
    assert traffic.running == 0


def test_it_runs_as_a_program_of_its_own():
    command = [sys.executable, "-u", "-m", "knotwork.testing.model_server", "--port", "0"]
    environment = {**os.environ, "PYTHONWARNINGS": "error"}
    with subprocess.Popen(
        [*command, "--fault", "429=1"], stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        try:
            line = process.stderr.readline()
            url = re.search(r"http://127\.0\.0\.1:\d+/v1", line)[0]
            with urllib.request.urlopen(url.replace("/v1", "/traffic"), timeout=30) as response:
                assert json.load(response)["calls"] == 0
            with pytest.raises(urllib.error.HTTPError) as caught:
                urllib.request.urlopen(f"{url}/chat/completions", json.dumps(chat()).encode())
            caught.value.close()
            assert caught.value.code == 429
        finally:
            process.send_signal(signal.SIGTERM)
        assert "statuses={429: 1}" in process.stderr.read()
    assert process.returncode == 0


def test_the_command_line_sets_the_server_up():
    server = build_server(["--latency", "0.2", "--fault", "cut=0.5", "--refuse", "max_tokens"])
    assert server.latency_s == 0.2
    assert server.faults.rates == {Fault.CUT: 0.5}
    assert server.faults.refuses == {"max_tokens"}
    for wrong in (["--fault", "fire=1"], ["--fault", "cut=2"]):
        with pytest.raises(SystemExit):
            build_server(wrong)
