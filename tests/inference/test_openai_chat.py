"""The client of chat servers, against a real HTTP server on this machine."""

import socket
import threading

import pytest
from tests.inference.chat_answers import (
    deltas,
    raw_stream,
    refuse,
    refuse_if,
    say,
    stream_events,
)
from tests.inference.model_server import reply, serve

from knotwork._config import SecretRef
from knotwork._extensions.served_models.chat import OpenAIChat
from knotwork._extensions.served_models.http import ModelServer, read_wait
from knotwork._inference.chat import (
    ChatReply,
    ChatRequest,
    Message,
    MessagePicture,
    TokenUsage,
    estimate_input_tokens,
)
from knotwork.errors import ConfigError, MissingExtra, ModelError, ModelUnavailable

pytestmark = pytest.mark.slow


KEY = "sk-very-secret-0123456789"
TALK = (Message("system", "Be brief."), Message("user", "Who?"))


def connect(server, *, key=None, timeout_s=5.0, **options):
    url = server if isinstance(server, str) else server.url
    return OpenAIChat("small", ModelServer(url, api_key=key, timeout_s=timeout_s), **options)


def ask(**options):
    return ChatRequest(TALK, **options)


def read(model, request):
    *pieces, whole = model.stream(request)
    assert all(isinstance(piece, str) and piece for piece in pieces)
    assert isinstance(whole, ChatReply)
    return pieces, whole


def test_a_request_is_sent_whole_and_its_labels_are_not():
    with serve(say("Ann.")) as server:
        found = connect(server, temperature=0.5).complete(
            ask(max_output_tokens=9, stage="extract", source="a.md")
        )
    assert found == ChatReply("Ann.", "stop", TokenUsage(11, 7, calls=1))
    (sent,) = server.requests
    assert sent == {
        "path": "/v1/chat/completions",
        "model": "small",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Who?"},
        ],
        "max_tokens": 9,
        "temperature": 0.5,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    assert "Authorization" not in {name.title() for name in server.headers[0]}


def test_nothing_but_the_key_is_taken_from_the_environment(monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, "of-somebody-else")
    monkeypatch.setenv("KNOTWORK_TEST_KEY", KEY)
    with serve(say("a")) as server:
        connect(server).complete(ask())
        connect(server, key=SecretRef("KNOTWORK_TEST_KEY")).complete(ask())
    assert "of-somebody-else" not in str(server.headers)
    headers = [{name.lower(): value for name, value in h.items()} for h in server.headers]
    assert [h.get("authorization") for h in headers] == [None, f"Bearer {KEY}"]


def test_nothing_about_this_machine_is_revealed():
    with serve(say("a")) as server:
        model = connect(server)
        model.complete(ask())
        read(model, ask())
    assert len(server.headers) == 2
    assert not [name for h in server.headers for name in h if name.lower().startswith("x-")]


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        ("stop", "stop"),
        (None, "stop"),
        ("eos", "stop"),
        ("length", "length"),
        ("content_filter", "filter"),
        ("sensitive", "filter"),
    ],
)
def test_why_a_reply_ends_is_reported(told, reason):
    with serve(say("Ann.", finish=told)) as server:
        assert connect(server).complete(ask()).finish_reason == reason


def test_streaming_gives_the_same_reply_in_pieces():
    text = "<think>hm\n</think>\n\nAnn, 安 and\n<b>Bob</b>."
    with serve(say(text)) as server:
        model = connect(server)
        whole = model.complete(ask())
        pieces, streamed = read(model, ask())
    assert len(pieces) > 4
    assert "".join(pieces) == streamed.text == whole.text == "Ann, 安 and\n<b>Bob</b>."
    assert streamed == whole
    assert server.requests[1]["stream_options"] == {"include_usage": True}


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning", "thinking"])
def test_thinking_set_apart_is_counted_but_no_text(name):
    thought = {name: "word " * 100}
    with serve(say("Ann.", usage=None, **thought)) as server:
        model = connect(server)
        replies = [model.complete(ask()), read(model, ask())[1]]
    for found in replies:
        assert found.text == "Ann."
        assert found.usage.output_tokens > 100
        assert found.usage.calls == 1
        assert 4 <= found.usage.input_tokens <= 20


def test_a_reply_cut_off_while_thinking_is_empty():
    with serve(say("<think>I wonder", finish="length")) as server:
        model = connect(server)
        assert model.complete(ask()) == read(model, ask())[1]
        assert model.complete(ask()).text == ""
        assert model.complete(ask()).finish_reason == "length"


def test_parts_and_refusals_are_read():
    parts = [{"type": "thinking", "thinking": []}, {"type": "text", "text": "Ann."}]
    with serve(say(parts), say(None, refusal="I may not.")) as server:
        assert connect(server).complete(ask()).text == "Ann."
        assert connect(server).complete(ask()) == ChatReply(
            "I may not.", "filter", TokenUsage(11, 7, calls=1)
        )


def test_a_limit_of_another_name_is_learned_once():
    message = (
        "Unsupported parameter: 'max_tokens' is not supported with this model. "
        "Use 'max_completion_tokens' instead."
    )
    with serve(refuse_if(lambda sent: "max_tokens" in sent, message, say("Ann."))) as server:
        model = connect(server)
        assert [model.complete(ask()).text for _ in range(3)] == ["Ann."] * 3
        assert read(model, ask())[1].text == "Ann."
    limits = [{"max_tokens", "max_completion_tokens"} & set(sent) for sent in server.requests]
    assert limits == [{"max_tokens"}, *[{"max_completion_tokens"}] * 4]


def test_a_limit_that_is_too_large_is_no_matter_of_names():
    message = "max_tokens is too large: 9. This model supports at most 8 completion tokens."
    with serve(refuse(message)) as server, pytest.raises(ModelError, match="too large"):
        connect(server).complete(ask())
    assert len(server.requests) == 1


def test_a_server_that_refuses_everything_is_not_asked_for_ever():
    words = "max_tokens, temperature, the system role"
    with (
        serve(refuse(f"Unsupported: {words}, stream_options")) as server,
        pytest.raises(ModelError, match="Unsupported"),
    ):
        list(connect(server).stream(ask()))
    assert len(server.requests) <= 9


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("temperature", "Unsupported value: 'temperature' does not support 0 with this model."),
        ("temperature", "temperature must be 1"),
        ("temperature", "invalid temperature: only 1 is allowed for this model"),
        ("stream_options", "Unrecognized request argument supplied: stream_options"),
    ],
)
def test_parameters_that_a_server_rejects_are_left_out(name, message):
    answer = refuse_if(lambda sent: name in sent, message, say("Ann."), status=422)
    with serve(answer) as server:
        model = connect(server)
        found = [read(model, ask())[1] for _ in range(2)]
        assert model.complete(ask()).text == "Ann."
    assert name not in server.requests[-1]
    assert len(server.requests) == 4
    if name == "stream_options":
        assert found[0].usage.output_tokens > 0


def test_thinking_is_turned_off_for_a_model_that_thinks_in_streams():
    message = "parameter.enable_thinking must be set to false for non-streaming calls"
    answer = refuse_if(lambda sent: "enable_thinking" not in sent, message, say("Ann."))
    with serve(answer) as server:
        model = connect(server)
        assert [model.complete(ask()).text for _ in range(2)] == ["Ann.", "Ann."]
    assert [sent.get("enable_thinking") for sent in server.requests] == [None, False, False]


def test_thinking_that_began_in_the_prompt_is_taken_out_of_streams_once_known():
    thought = "I wonder.\n</think>\n\nAnn."
    with serve(say(thought), say(thought), say("I wonder", finish="length")) as server:
        model = connect(server)
        assert model.complete(ask()).text == "Ann."
        pieces, whole = read(model, ask())
        assert "".join(pieces) == whole.text == "Ann."
        assert model.complete(ask()).text == ""


def test_a_model_without_a_system_role_gets_its_words_from_the_user():
    def has_system(sent):
        return any(turn["role"] == "system" for turn in sent["messages"])

    with serve(refuse_if(has_system, "System role not supported", say("Ann."))) as server:
        assert connect(server).complete(ask()).text == "Ann."
    assert server.requests[-1]["messages"] == [{"role": "user", "content": "Be brief.\n\nWho?"}]


@pytest.mark.parametrize(
    ("status", "headers", "wait_s"),
    [
        (429, {"Retry_After": "7"}, 7.0),
        (429, {"Retry_After": "7", "Retry_After_Ms": "250"}, 0.25),
        (503, {}, None),
        (500, {}, None),
        (408, {}, None),
        (529, {"Retry_After": "soon"}, None),
    ],
)
def test_temporary_errors_report_their_wait_and_are_not_retried_here(status, headers, wait_s):
    with serve(reply(status, {"error": {"message": "busy"}}, **headers)) as server:
        model = connect(server)
        for call in (model.complete, lambda request: list(model.stream(request))):
            with pytest.raises(ModelUnavailable, match=f"{status}: busy") as caught:
                call(ask())
            assert caught.value.status == status
            assert caught.value.retry_after_s == wait_s
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("status", "fix"), [(400, ""), (401, "llm.api_key"), (402, "Top up"), (404, "llm.base_url")]
)
def test_a_refusal_is_final_says_why_and_never_shows_the_key(status, fix, monkeypatch):
    monkeypatch.setenv("KNOTWORK_TEST_KEY", KEY)
    with serve(refuse(f"no, {KEY} is not known", status)) as server:
        model = connect(server, key=SecretRef("KNOTWORK_TEST_KEY"))
        for call in (model.complete, lambda request: list(model.stream(request))):
            with pytest.raises(ModelError, match=r"no, \*\*\* is not known") as caught:
                call(ask())
            assert not isinstance(caught.value, ModelUnavailable)
            assert caught.value.status == status
            assert fix in caught.value.fix
            assert server.url in caught.value.message
            assert KEY not in f"{caught.value} {caught.value.__dict__} {caught.value.__cause__}"


def test_a_spent_account_is_no_passing_matter():
    answer = refuse("You exceeded your quota", 429, code="insufficient_quota")
    with serve(answer) as server, pytest.raises(ModelError, match="quota") as caught:
        connect(server).complete(ask())
    assert not isinstance(caught.value, ModelUnavailable)
    assert "billing" in caught.value.fix


@pytest.mark.parametrize("code", ["content_filter", "data_inspection_failed"])
def test_a_prompt_that_is_filtered_has_a_withheld_reply(code):
    with serve(refuse("The prompt was filtered", code=code)) as server:
        model = connect(server)
        for found in (model.complete(ask()), read(model, ask())[1]):
            assert (found.text, found.finish_reason) == ("", "filter")
            assert found.usage.calls == 1


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>busy</html>",
        b"[" * 100_000,
        [],
        {},
        {"choices": None},
        {"choices": []},
        {"choices": ["x"]},
        {"choices": [{}]},
        {"choices": [{"message": "x"}]},
        {"choices": [{"message": {"content": "a"}, "finish_reason": "abort"}]},
        {"error": {"message": "upstream is busy", "code": 502}},
        {"error": "upstream is busy"},
    ],
)
def test_garbage_may_pass(body):
    with serve(reply(200, body)) as server, pytest.raises(ModelUnavailable):
        connect(server).complete(ask())


def test_an_error_inside_an_answer_keeps_its_status():
    answer = reply(200, {"error": {"message": "no such model", "code": 404}})
    with serve(answer) as server, pytest.raises(ModelError, match="404: no such") as caught:
        connect(server).complete(ask())
    assert not isinstance(caught.value, ModelUnavailable)


@pytest.mark.parametrize(
    "answer",
    [
        lambda _: stream_events(*deltas("Ann."), finish=None),
        lambda _: raw_stream('{"choices": [{"delta": {"content": "Ann."}}]}', "not json"),
        lambda _: raw_stream('{"error": {"message": "upstream is busy"}}'),
        lambda _: raw_stream(
            '{"choices": [{"delta": {"content": "A"}}]}', '{"error": {"message": "x", "code": 503}}'
        ),
        lambda _: raw_stream(),
        lambda _: raw_stream('"Ann."', "[1]", "null"),
        lambda _: (200, {"Content-Type": "text/event-stream", "Length": "999"}, b"data: {}\n\n"),
    ],
)
def test_a_broken_stream_is_an_error_and_not_a_short_reply(answer):
    with serve(answer) as server, pytest.raises(ModelUnavailable):
        list(connect(server).stream(ask()))


def test_a_server_that_does_not_stream_still_answers():
    body = {"choices": [{"message": {"content": "Ann."}, "finish_reason": "stop"}], "usage": None}
    with serve(reply(200, body, Content_Type="application/json")) as server:
        pieces, whole = read(connect(server), ask())
    assert pieces == ["Ann."]
    assert whole.text == "Ann."


def test_no_server_may_come_up():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    with pytest.raises(ModelUnavailable, match="Cannot connect") as caught:
        connect(url).complete(ask())
    assert caught.value.status is None
    assert "llm.base_url" in caught.value.fix


def test_a_silent_server_is_given_up():
    release = threading.Event()

    def hang(payload):
        release.wait(5)
        return say("late")(payload)

    with serve(hang) as server:
        with pytest.raises(ModelUnavailable, match=r"did not respond within 0\.05 s"):
            connect(server, timeout_s=0.05).complete(ask())
        release.set()


def test_redirects_are_not_followed_with_the_key():
    with serve(say("a")) as other:
        answer = reply(307, "", Location=f"{other.url}/chat/completions")
        with serve(answer) as server, pytest.raises(ModelError, match="answered 307"):
            connect(server).complete(ask())
    assert other.requests == []


def test_odd_characters_and_replaced_settings_are_sent():
    with serve(say("a")) as server:
        model = connect(server, temperature=0.3, max_output_tokens=5_000)
        model.complete(ChatRequest((Message("user", "half \ud800 of one"),), max_output_tokens=9))
    assert server.requests[0]["messages"][0]["content"] == "half ? of one"
    assert server.requests[0]["temperature"] == 0.3
    assert server.requests[0]["max_tokens"] == 5_000
    assert model.name == "openai:small temperature=0.3 max_output_tokens=5000"
    assert connect(server).name == "openai:small"


def test_an_unset_key_a_wrong_address_and_a_missing_extra_are_reported(monkeypatch):
    monkeypatch.delenv("KNOTWORK_TEST_KEY", raising=False)
    with pytest.raises(ConfigError, match="`KNOTWORK_TEST_KEY`"):
        connect("http://127.0.0.1:1", key=SecretRef("KNOTWORK_TEST_KEY")).complete(ask())
    for url in ("", "host:80", "ftp://host", "http://"):
        with pytest.raises(ConfigError, match="not a valid server URL"):
            connect(url)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match="`llm`"):
        connect("http://127.0.0.1:1")


def test_newer_models_of_openai_get_the_limit_they_know():
    for url in ("https://api.openai.com/v1", "https://mine.openai.azure.com/openai/v1/"):
        model = connect(url)
        sent = model._dialect.phrase("m", ask())
        assert "max_completion_tokens" in sent


def test_waits_are_read_in_milliseconds_first():
    assert read_wait({"retry-after-ms": "1500", "retry-after": "9"}) == 1.5
    assert read_wait({"retry-after-ms": "later", "retry-after": "9"}) == 9
    assert read_wait({}) is None


SHOWN = MessagePicture(b"\x89PNG", "image/png", 1_500, 1_000)
PICTURE_TALK = (TALK[0], Message("user", "What is it?", (SHOWN,)))


def test_a_picture_is_sent_as_a_data_url_before_the_text():
    with serve(say("A pump.")) as server:
        connect(server).complete(ChatRequest(PICTURE_TALK))
    assert server.requests[0]["messages"] == [
        {"role": "system", "content": "Be brief."},
        {
            "role": "user",
            "content": [
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}},
                {"type": "text", "text": "What is it?"},
            ],
        },
    ]


def test_a_picture_counts_by_its_size():
    bare = (TALK[0], Message("user", "What is it?"))
    with_picture, without = (ChatRequest(talk) for talk in (PICTURE_TALK, bare))
    assert estimate_input_tokens(with_picture) - estimate_input_tokens(without) == 2_000


def test_a_picture_stays_in_the_message_that_takes_the_system_prompt():
    refusing = refuse_if(
        lambda body: body["messages"][0]["role"] == "system",
        "system role not supported by this model",
        say("A pump."),
    )
    with serve(refusing) as server:
        connect(server).complete(ChatRequest(PICTURE_TALK))
    picture, text = server.requests[-1]["messages"][0]["content"]
    assert picture["type"] == "image_url"
    assert text["text"] == "Be brief.\n\nWhat is it?"


def test_a_model_of_llama_cpp_that_does_not_see_is_not_asked_again():
    refusal = refuse("image input is not supported - hint: you may need to provide the mmproj", 500)
    with (
        serve(refusal) as server,
        pytest.raises(ModelError, match="image input is not supported") as caught,
    ):
        connect(server).complete(ChatRequest(PICTURE_TALK))
    assert not isinstance(caught.value, ModelUnavailable)
