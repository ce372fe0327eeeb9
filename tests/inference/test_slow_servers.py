"""Streams of slow, silent and runaway servers, against a real HTTP server on this machine."""

import json

import pytest
from tests.inference.chat_answers import USAGE, deltas, refuse_if, say, stream_events
from tests.inference.model_server import serve
from tests.inference.test_openai_chat import ask, connect, read

from knotwork.errors import ModelUnavailable
from knotwork.testing import Fault, FaultPlan, ModelTestServer

pytestmark = pytest.mark.slow


def brain(messages):
    return "word " * 30


def test_the_length_of_a_reply_has_no_limit_of_time():
    with ModelTestServer(brain, faults=FaultPlan(piece_s=0.05)) as server:
        found = connect(server, timeout_s=0.5).complete(ask())
        (call,) = server.traffic.calls
    assert found.text.split() == ["word"] * 30
    assert call.ended_s - call.started_s > 0.5
    assert found.wait_s > 0


def test_silence_in_the_middle_of_a_reply_has():
    faults = FaultPlan(rates={Fault.STALL: 1.0})
    with ModelTestServer(brain, faults=faults) as server:
        with pytest.raises(ModelUnavailable, match=r"within 0\.2 s") as caught:
            connect(server, timeout_s=0.2).complete(ask())
        server.release()
    assert caught.value.timed_out
    assert "llm.timeout_s" in caught.value.fix


@pytest.mark.parametrize(
    "message",
    [
        "Streaming is not supported for this model.",
        "Unsupported value: 'stream' does not support true with this model.",
        "stream must be false",
    ],
)
def test_a_server_that_refuses_to_stream_gets_plain_calls(message):
    with serve(refuse_if(lambda sent: sent.get("stream"), message, say("Ann."))) as server:
        model = connect(server)
        assert [model.complete(ask()).text for _ in range(2)] == ["Ann.", "Ann."]
        assert read(model, ask()) == (["Ann."], model.complete(ask()))
    assert ["stream" in sent for sent in server.requests] == [True, *[False] * 4]


def test_a_server_whose_streams_have_no_end_gets_plain_calls():
    def answer(sent):
        if sent.get("stream"):
            return stream_events(*deltas("Ann."), finish=None)
        return say("Ann.")(sent)

    with serve(answer) as server:
        model = connect(server)
        assert [model.complete(ask()).text for _ in range(2)] == ["Ann.", "Ann."]
    assert ["stream" in sent for sent in server.requests] == [True, False, False]


def test_usage_behind_the_last_piece_ends_a_stream_too():
    with serve(say("Ann.", finish=None)) as server:
        assert connect(server).complete(ask()).text == "Ann."
    assert len(server.requests) == 1


def test_a_server_that_never_ends_is_cut_off():
    event = f"data: {json.dumps({'choices': [{'delta': {'content': 'x' * 999}}]})}\n\n".encode()

    def answer(sent):
        return 200, {"Content-Type": "text/event-stream"}, event * 1_000

    with serve(answer) as server:
        found = connect(server).complete(ask(max_output_tokens=5))
    assert found.finish_reason == "length"
    assert len(found.text) < 500_000


def test_thinking_is_counted_apart():
    details = USAGE | {"completion_tokens_details": {"reasoning_tokens": 5}}
    with serve(
        say("", finish="length", usage=details),
        say("", finish="length", usage=None, reasoning_content="hm " * 40),
        say("<think>hm hm hm hm", finish="length"),
        say("Ann."),
    ) as server:
        model = connect(server)
        thought = [model.complete(ask()).thought_tokens for _ in range(4)]
    assert thought == [5, 30, 5, 0]


def test_a_model_that_always_thinks_is_not_forbidden_to():
    message = "The value of the enable_thinking parameter is restricted to True."
    answer = refuse_if(lambda sent: sent.get("enable_thinking") is False, message, say("Ann."))
    with serve(answer) as server:
        model = connect(server)
        model._dialect = type(model._dialect)(first=frozenset({"thinking"}))
        assert [model.complete(ask()).text for _ in range(2)] == ["Ann.", "Ann."]
    assert [sent.get("enable_thinking") for sent in server.requests] == [False, None, None]


LOOP = "The text is written in the language of the bridge, and "


def test_a_reply_that_repeats_itself_is_stopped():
    said = "A bridge. " + LOOP * 400
    with serve(say(said)) as server:
        *pieces, reply = connect(server).stream(ask())
    assert "".join(pieces) == reply.text
    assert said.startswith(reply.text)
    assert 600 < len(reply.text) < 1_500
    assert reply.finish_reason == "length"
    assert "over and over" in reply.warning


def test_thinking_that_repeats_itself_is_stopped():
    thoughts = [{"reasoning_content": LOOP} for _ in range(100)]
    with serve(lambda sent: stream_events(*thoughts, finish="stop")) as server:
        reply = connect(server).complete(ask())
    assert (reply.text, reply.finish_reason) == ("", "length")
    assert "over and over" in reply.warning


@pytest.mark.parametrize(
    "said",
    [
        LOOP * 4,
        "| a | b |\n" + "|---" * 600,
        "".join(f"{n}. {LOOP}\n" for n in range(60)),
        LOOP * 10 + "the end of it, which is something else altogether." * 2,
    ],
)
def test_a_reply_that_only_repeats_some_words_is_kept(said):
    with serve(say(said)) as server:
        reply = connect(server).complete(ask())
    assert (reply.text, reply.finish_reason, reply.warning) == (said, "stop", "")
