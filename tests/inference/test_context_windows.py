"""Windows are learned from errors and lists of models; prompts are cut to fit, and cuts noticed."""

import re

import pytest
from tests.inference.chat_answers import refuse_if, say
from tests.inference.model_server import reply, serve
from tests.inference.test_openai_chat import connect

from knotwork._extensions.served_models.context_windows import (
    ContextWindow,
    is_context_error,
    read_listed_window,
)
from knotwork._inference.call_cache import CachedChatModel, CallCache
from knotwork._inference.chat import ChatRequest, Message, complete_checked, estimate_input_tokens
from knotwork._inference.stage_breaker import StageBreaker
from knotwork.errors import ModelError
from knotwork.testing import FaultPlan, ModelTestServer

pytestmark = pytest.mark.slow

LINES = [
    f"Line {number} names the entity E{number} and says what it does." for number in range(400)
]


def long_request(lines=400, **options):
    material = "\n".join(LINES[:lines])
    words = f"task: read\n\n<text>\n{material}\n</text>\n\nAnswer in the form above."
    return ChatRequest((Message("system", "Be exact."), Message("user", words)), **options)


def sizes(server):
    return [len(call.body["messages"][1]["content"]) for call in server.traffic.calls]


@pytest.mark.parametrize(
    "message",
    [
        (
            "This model's maximum context length is 4096 tokens. However, you requested 9000 "
            "tokens (8000 in the messages, 1000 in the completion)."
        ),
        "the request exceeds the available context size (n_prompt_tokens 8000, n_ctx 4096)",
        (
            "Trying to keep the first 8000 tokens when context the overflows. However, the model "
            "is loaded with context length of only 4096 tokens, which is not enough."
        ),
        (
            "'max_tokens' or 'max_completion_tokens' is too large: 5000. This model's maximum "
            "context length is 4096 tokens and your request has 800 input tokens"
        ),
        "prompt is too long: 8000 tokens > 4096 maximum",
        "max_model_len (4096) is exceeded by the context length",
    ],
)
def test_the_window_is_read_from_the_error(message):
    error = ModelError(message, status=400)
    assert is_context_error(error)
    learned = ContextWindow().learn(error, long_request(), None)
    assert learned.tokens == 4096


@pytest.mark.parametrize(
    "message", ["temperature must be 1", "max_tokens is too large: 9", "Invalid JSON in context"]
)
def test_other_refusals_are_ignored(message):
    assert not is_context_error(ModelError(message, status=400))


@pytest.mark.parametrize("name", ["max_model_len", "context_length", "loaded_context_length"])
def test_the_window_is_read_from_the_list_of_models(name):
    assert read_listed_window({"id": "m", name: 8192}) == 8192
    assert read_listed_window({"id": "m", "meta": {"n_ctx": 8192}}) == 8192
    assert read_listed_window({"id": "m", name: "many"}) == 0
    assert read_listed_window(None) == 0


@pytest.mark.parametrize("window", [300, 1_000, 2_000, 4_096])
@pytest.mark.parametrize("output", [100, 1_000, 50_000])
def test_fitted_prompts_keep_the_instructions_and_whole_lines(window, output):
    request = long_request(max_output_tokens=output)
    fitted = ContextWindow(window).fit(request)
    assert estimate_input_tokens(fitted) + fitted.max_output_tokens <= window
    text = fitted.messages[1].content
    assert text.startswith("task: read\n\n<text>\nLine 0 ")
    assert text.endswith("</text>\n\nAnswer in the form above.")
    kept = re.findall("Line .*", text)
    assert kept == LINES[: len(kept)]


def test_texts_that_fit_are_unchanged():
    request = long_request(10)
    assert ContextWindow(100_000).fit(request) == request
    assert ContextWindow().fit(request) == request


def test_a_request_that_is_too_long_is_packed_smaller_and_the_window_is_remembered():
    with ModelTestServer(lambda messages: "ok", faults=FaultPlan(context_tokens=2_000)) as server:
        model = connect(server)
        found = model.complete(long_request(max_output_tokens=500))
        assert found.text == "ok"
        assert "context window of 2,000" in found.warning
        assert model.complete(long_request(399, max_output_tokens=500)).text == "ok"
        first, second, third = sizes(server)
    assert second < first / 2
    assert 0.5 * second < third < 1.5 * second


def test_a_long_reply_gives_way_to_the_prompt_first():
    with ModelTestServer(lambda messages: "ok", faults=FaultPlan(context_tokens=4_000)) as server:
        assert not connect(server).complete(long_request(100, max_output_tokens=3_900)).warning
        first, second = sizes(server)
        limit = server.traffic.calls[-1].body["max_tokens"]
    assert first == second
    assert limit < 3_900


def test_a_window_in_the_settings_needs_no_error():
    with ModelTestServer(lambda messages: "ok", faults=FaultPlan(context_tokens=2_000)) as server:
        model = connect(server, context_window=2_000)
        model.complete(long_request(max_output_tokens=500))
        assert len(sizes(server)) == 1


def test_a_server_that_always_says_it_is_too_long_is_asked_twice_and_the_setting_is_named():
    refused = refuse_if(lambda sent: True, "maximum context length is 2000 tokens", say("no"))
    with serve(refused) as server, pytest.raises(ModelError, match="2000") as caught:
        connect(server).complete(long_request())
    assert len(server.requests) == 2
    assert "llm.context_window" in caught.value.fix


def test_the_size_that_llama_cpp_states_beside_the_message_is_used():
    error = {"code": 400, "message": "the request exceeds the available context size"}
    error |= {"type": "exceed_context_size_error", "n_prompt_tokens": 9_000, "n_ctx": 2_048}

    def answer(sent):
        too_long = len(str(sent["messages"])) > 9_000
        return (reply(400, {"error": error}) if too_long else say("ok"))(sent)

    with serve(answer) as server:
        assert connect(server).complete(long_request(max_output_tokens=200)).text == "ok"
    assert len(server.requests) == 2


def test_a_prompt_that_was_cut_silently_is_named_once_with_what_to_do():
    faults = FaultPlan(context_tokens=1_024, cuts_prompts=True)
    breaker, cache = StageBreaker(), CallCache(":memory:")
    with ModelTestServer(lambda messages: "ok", faults=faults) as server:
        model = CachedChatModel(connect(server), cache, breaker=breaker)
        for lines in (400, 399):
            complete_checked(model, long_request(lines), lambda reply: reply.text)
        complete_checked(model, long_request(10), lambda reply: reply.text)
    cache.close()
    (note,) = breaker.notes
    assert "1,024" in note
    assert "num_ctx" in note
    assert "llm.context_window" in note


def test_a_prompt_that_was_read_whole_is_no_reason_to_warn():
    with ModelTestServer(lambda messages: "ok") as server:
        assert connect(server).complete(long_request()).warning == ""
    with serve(say("ok", usage=None)) as server:
        assert connect(server).complete(long_request()).warning == ""
