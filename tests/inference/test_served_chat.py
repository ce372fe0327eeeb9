"""Chat models against a complete model server: the contract of chat models, and server faults."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from knotwork._config import LlmSettings
from knotwork._extensions.testing.model_contracts import ChatModelContract, ask, read_stream
from knotwork._inference.call_limits import RetryPolicy
from knotwork._inference.model_registry import ChatModels
from knotwork.testing.model_server import Fault, FaultPlan, ModelTestServer

pytestmark = pytest.mark.slow


TEXTS = [f"Bridge {n} of the town was opened by mayor {n} in {1700 + n}." for n in range(40)]


def open_model(server, *, attempts=1, **options):
    settings = LlmSettings(model="openai:test", base_url=server.url, timeout_s=5, **options)
    retries = RetryPolicy(attempts=attempts, jitter=0.5, sleep=lambda _: None)
    return ChatModels(settings, retries=retries).open()


@pytest.fixture
def server():
    with ModelTestServer() as running:
        yield running


class TestServedModel(ChatModelContract):
    @pytest.fixture
    def model(self, server):
        return open_model(server)

    @pytest.fixture
    def sent(self, server):
        return server.sent_text

    @pytest.fixture
    def unavailable(self, server):
        server.faults = FaultPlan(rates={Fault.UNAVAILABLE: 1.0})
        return open_model(server, attempts=2)

    @pytest.fixture
    def refusing(self, server):
        server.faults = FaultPlan(refuses=frozenset({"messages"}))
        return open_model(server)


FAULTS = {
    Fault.RATE_LIMITED: 0.1,
    Fault.SERVER_ERROR: 0.1,
    Fault.BROKEN_JSON: 0.05,
    Fault.CUT: 0.1,
    Fault.THINKING: 0.15,
    Fault.REASONING: 0.15,
    Fault.NO_USAGE: 0.1,
}


def test_under_faults_every_reply_comes_and_is_the_right_one(server):
    requests = [ask(text) for text in TEXTS]
    expected = [open_model(server).complete(request).text for request in requests]
    server.faults = FaultPlan(rates=FAULTS, seed=3, retry_after_s=0.0)
    model = open_model(server, attempts=20, concurrency=8)
    with ThreadPoolExecutor(16) as pool:
        replies = list(pool.map(model.complete, requests))
    assert [reply.text for reply in replies] == expected
    assert all(reply.usage.input_tokens and reply.usage.output_tokens for reply in replies)
    told = {Fault(name) for name in server.traffic.totals.faults}
    assert told == set(FAULTS)


@pytest.mark.parametrize("fault", [Fault.THINKING, Fault.REASONING, Fault.NO_USAGE])
def test_thinking_and_silence_about_usage_leave_streams_as_they_are(server, fault):
    plain = read_stream(open_model(server), ask(TEXTS[0]))[1]
    server.faults = FaultPlan(rates={fault: 1.0})
    pieces, whole = read_stream(open_model(server), ask(TEXTS[0]))
    assert "".join(pieces) == whole.text == plain.text
    assert all(pieces)
    assert whole.usage.output_tokens > 0


@pytest.mark.parametrize(
    "names",
    [
        {"max_tokens"},
        {"temperature"},
        {"stream_options"},
        {"max_tokens", "temperature", "stream_options"},
    ],
)
def test_unsupported_parameters_are_tried_once(server, names):
    request = ask(TEXTS[0])
    plain = open_model(server).complete(request).text
    server.faults = FaultPlan(refuses=frozenset(names))
    model = open_model(server)
    assert read_stream(model, request)[1].text.strip()
    before = server.traffic.totals.calls
    found = [model.complete(request), read_stream(model, request)[1]]
    assert server.traffic.totals.calls == before + 2
    assert [reply.text for reply in found] == [plain, plain]


def test_the_number_of_calls_at_a_time_holds_and_falls_under_overload(server):
    server.latency_s = 0.002
    model = open_model(server, concurrency=3)
    with ThreadPoolExecutor(12) as pool:
        list(pool.map(model.complete, map(ask, TEXTS)))
    assert server.traffic.totals.peak == 3
