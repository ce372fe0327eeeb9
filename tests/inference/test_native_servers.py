"""Models of Ollama and Anthropic, by servers on this machine that speak as theirs do."""

import json
import re

import pytest
from tests.inference.chat_answers import refuse
from tests.inference.model_server import Reply, reply, serve

from knotwork._companions import IN_MEMORY_COMPANIONS
from knotwork._config import LlmSettings, SecretRef, SettingTable
from knotwork._extensions.diagnosis.model_trials import list_models
from knotwork._extensions.diagnosis.models import check_chat_models
from knotwork._extensions.served_models.batch_reading import open_batches
from knotwork._extensions.testing.model_contracts import ChatModelContract, read_stream
from knotwork._inference.call_limits import RetryPolicy
from knotwork._inference.chat import ChatRequest, Message, MessagePicture, TokenUsage
from knotwork._inference.model_registry import ChatModels, role_settings
from knotwork._inference.role_models import ModelRun
from knotwork._text.token_counts import count_tokens
from knotwork.errors import ModelError, ModelUnavailable

pytestmark = pytest.mark.slow

TALK = (Message("system", "Be brief."), Message("user", "Who?"))


class SpokenReply:
    """A reply in tokens, cut as the request asks: its pieces, and why it ended."""

    def __init__(self, text: str, limit: int, stops: list[str]) -> None:
        self.reason = "stop"
        for stop in stops:
            text = text.partition(stop)[0]
        pieces = re.findall(r"\S+\s*|\s+", text)
        if len(pieces) > limit:
            pieces, self.reason = pieces[:limit], "length"
        self.pieces = pieces


def words_of(messages: list[dict], system: str = "") -> str:
    asked = " / ".join(f"{m['role']}: {str(m['content'])[-200:]}" for m in messages)
    return f"You asked me the following, and I have read every word of it: {system}{asked}"


def ollama(payload: dict) -> Reply:
    """Answer as Ollama does: a JSON object in each line."""
    options = payload["options"]
    spoken = SpokenReply(
        words_of(payload["messages"]), options["num_predict"], options.get("stop", [])
    )
    end = {
        "message": {"role": "assistant", "content": ""}, "done": True,
        "done_reason": spoken.reason, "eval_count": max(len(spoken.pieces), 1),
        "prompt_eval_count": count_tokens(json.dumps(payload["messages"])),
    }  # fmt: skip
    if not payload["stream"]:
        whole = {"role": "assistant", "content": "".join(spoken.pieces)}
        return reply(200, {**end, "message": whole})(payload)
    events = [
        {"message": {"role": "assistant", "content": piece}, "done": False}
        for piece in spoken.pieces
    ]
    return lines(*events, end)


def lines(*events: dict) -> Reply:
    text = "".join(f"{json.dumps(event)}\n" for event in events)
    return 200, {"Content-Type": "application/x-ndjson"}, text.encode()


def anthropic(payload: dict) -> Reply:
    """Answer as Anthropic does: named events."""
    system = "".join(block["text"] for block in payload.get("system", []))
    spoken = SpokenReply(
        words_of(payload["messages"], system), payload["max_tokens"],
        payload.get("stop_sequences", []),
    )  # fmt: skip
    reason = "max_tokens" if spoken.reason == "length" else "end_turn"
    read = count_tokens(json.dumps(payload["messages"]))
    usage = {"input_tokens": read, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 2}
    written = max(len(spoken.pieces), 1)
    if not payload.get("stream"):
        blocks = [{"type": "text", "text": piece} for piece in spoken.pieces]
        counts = {**usage, "output_tokens": written}
        return reply(200, {"content": blocks, "stop_reason": reason, "usage": counts})(payload)
    return named_events(
        {"type": "message_start", "message": {"usage": {**usage, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "ping"},
        *(
            {"type": "content_block_delta", "delta": {"type": "text_delta", "text": piece}}
            for piece in spoken.pieces
        ),
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta", "delta": {"stop_reason": reason},
            "usage": {"output_tokens": written},
        },
        {"type": "message_stop"},
    )  # fmt: skip


def named_events(*events: dict) -> Reply:
    text = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
    return 200, {"Content-Type": "text/event-stream"}, text.encode()


def open_model(server, kind, **options):
    url = server.url if kind == "anthropic" else server.url.removesuffix("/v1")
    settings = LlmSettings(model=f"{kind}:small", base_url=url, timeout_s=5, **options)
    return ChatModels(settings, retries=RetryPolicy(attempts=1)).open()


class NativeContract(ChatModelContract):
    kind = ""
    answer = staticmethod(ollama)

    @pytest.fixture
    def server(self):
        with serve(type(self).answer) as running:
            yield running

    @pytest.fixture
    def model(self, server):
        return open_model(server, self.kind)

    @pytest.fixture
    def sent(self, server):
        return lambda: "\n".join(json.dumps(r, ensure_ascii=False) for r in server.requests)

    @pytest.fixture
    def unavailable(self):
        with serve(refuse("overloaded", 529)) as running:
            yield open_model(running, self.kind)

    @pytest.fixture
    def refusing(self):
        with serve(refuse("messages: not allowed", 400)) as running:
            yield open_model(running, self.kind)


class TestOllama(NativeContract):
    kind = "ollama"


class TestAnthropic(NativeContract):
    kind = "anthropic"
    answer = staticmethod(anthropic)


def test_ollama_is_asked_for_a_context_window_and_the_users_options():
    extra = SettingTable(
        {"keep_alive": "30m", "think": False, "stop": ["\n"], "options": {"top_k": 5}}
    )
    with serve(ollama) as server:
        model = open_model(
            server, "ollama", context_window=16_384, temperature=0.5, extra_body=extra
        )
        model.complete(ChatRequest(TALK, max_output_tokens=9))
    (sent,) = server.requests
    assert sent == {
        "path": "/api/chat",
        "model": "small",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Who?"},
        ],
        "stream": True,
        "keep_alive": "30m",
        "think": False,
        "options": {
            "num_ctx": 16_384, "num_predict": 9, "temperature": 0.5, "stop": ["\n"], "top_k": 5,
        },
    }  # fmt: skip


SHOWN = (Message("user", "What is it?", (MessagePicture(b"\x89PNG", "image/png", 9, 6),)),)
IN_BASE64 = "iVBORw=="


def test_ollama_and_anthropic_get_pictures_in_their_own_forms():
    with serve(ollama) as server:
        open_model(server, "ollama").complete(ChatRequest(SHOWN))
    assert server.requests[0]["messages"] == [
        {"role": "user", "content": "What is it?", "images": [IN_BASE64]}
    ]
    with serve(anthropic) as server:
        open_model(server, "anthropic").complete(ChatRequest(SHOWN))
    source = {"type": "base64", "media_type": "image/png", "data": IN_BASE64}
    assert server.requests[0]["messages"] == [
        {
            "role": "user",
            "content": [
                {"type": "image", "source": source}, {"type": "text", "text": "What is it?"},
            ],
        }
    ]  # fmt: skip


def test_a_prompt_that_is_longer_than_the_window_of_ollama_is_cut_here_and_told():
    text = "The mayor opened the bridge. " * 2_000
    with serve(ollama) as server:
        model = open_model(server, "ollama")
        asked = (Message("user", f"<passages>\n{text}\n</passages>\nWho opened it?"),)
        found = model.complete(ChatRequest(asked))
    assert "context window of 8,192" in found.warning
    (sent,) = server.requests
    assert sent["options"]["num_ctx"] == 8_192
    assert count_tokens(sent["messages"][0]["content"]) < 8_192
    assert sent["messages"][0]["content"].endswith("Who opened it?")


def test_thinking_of_ollama_is_left_out_and_counted():
    thought = {"message": {"role": "assistant", "content": "", "thinking": "Hm, a bridge."}}
    said = {"message": {"role": "assistant", "content": "Ann."}}
    end = {"done": True, "done_reason": "stop", "prompt_eval_count": 11, "eval_count": 9}
    with serve(lambda _: lines(thought, said, end)) as server:
        found = open_model(server, "ollama").complete(ChatRequest(TALK))
    assert (found.text, found.usage) == ("Ann.", TokenUsage(11, 9, calls=1))
    assert found.thought_tokens > 0


def test_an_error_in_the_stream_of_ollama_is_an_error_here():
    begun = {"message": {"role": "assistant", "content": "An"}, "done": False}
    with (
        serve(lambda _: lines(begun, {"error": "llama runner process has terminated"})) as server,
        pytest.raises(ModelUnavailable, match="runner process"),
    ):
        open_model(server, "ollama").complete(ChatRequest(TALK))


@pytest.mark.parametrize("cut", [b'{"message": {"cont', b"<html>", b""])
def test_a_stream_of_ollama_that_breaks_is_unavailable(cut):
    answers = (200, {"Content-Type": "application/x-ndjson"}, cut)
    with serve(lambda _: answers) as server, pytest.raises(ModelUnavailable):
        open_model(server, "ollama").complete(ChatRequest(TALK))


def test_anthropic_gets_its_own_form_its_key_and_a_mark_to_cache(monkeypatch):
    monkeypatch.setenv("KNOTWORK_TEST_KEY", "sk-ant-secret")
    with serve(anthropic) as server:
        model = open_model(
            server,
            "anthropic",
            api_key=SecretRef("KNOTWORK_TEST_KEY"),
            temperature=1.5,
            extra_body=SettingTable({"stop": ["END"]}),
        )
        found = model.complete(ChatRequest(TALK, max_output_tokens=99))
    (sent,) = server.requests
    assert sent == {
        "path": "/v1/messages",
        "model": "small",
        "max_tokens": 99,
        "system": [
            {"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}
        ],
        "messages": [{"role": "user", "content": "Who?"}],
        "temperature": 1.0,
        "stop_sequences": ["END"],
        "stream": True,
    }  # fmt: skip
    (headers,) = server.headers
    assert headers["x-api-key"] == "sk-ant-secret"
    assert headers["anthropic-version"] == "2023-06-01"
    assert headers["Authorization"] is None
    read = count_tokens(json.dumps(sent["messages"]))
    assert found.usage.input_tokens == read + 7
    assert found.usage.cached_tokens == 5


def test_a_refusal_of_anthropic_is_a_withheld_reply_and_thinking_is_left_out():
    thought = {"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": "Hm"}}
    end = {"type": "message_delta", "delta": {"stop_reason": "refusal"}, "usage": {}}
    with serve(lambda _: named_events(thought, end)) as server:
        pieces, found = read_stream(open_model(server, "anthropic"), ChatRequest(TALK))
    assert (pieces, found.text, found.finish_reason) == ([], "", "filter")


def test_an_error_in_the_stream_of_anthropic_is_an_error_here():
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    with (
        serve(lambda _: named_events(error)) as server,
        pytest.raises(ModelUnavailable, match="Overloaded"),
    ):
        open_model(server, "anthropic").complete(ChatRequest(TALK))


def test_no_error_contains_the_key_of_anthropic(monkeypatch):
    monkeypatch.setenv("KNOTWORK_TEST_KEY", "sk-ant-secret")
    with serve(refuse("invalid key sk-ant-secret", 401)) as server:
        model = open_model(server, "anthropic", api_key=SecretRef("KNOTWORK_TEST_KEY"))
        with pytest.raises(ModelError) as caught:
            model.complete(ChatRequest(TALK))
    assert "sk-ant-secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("model", "url"),
    [
        ("ollama:a", "http://localhost:11434"),
        ("anthropic:a", "https://api.anthropic.com/v1"),
        ("openai:a", "https://api.openai.com/v1"),
    ],
)
def test_each_kind_of_model_has_its_own_server(model, url):
    assert role_settings(LlmSettings(model=model)).base_url == url
    assert role_settings(LlmSettings(model=model, base_url="http://x:1")).base_url == "http://x:1"


def test_a_role_of_another_kind_has_its_own_server_and_never_the_key_of_the_section():
    key = SecretRef("KNOTWORK_TEST_KEY")
    settings = LlmSettings(
        model="openai:a", base_url="http://gateway:1/v1", api_key=key, extract="ollama:b",
        answer=SettingTable({"model": "anthropic:c"}), judge="openai:d",
    )  # fmt: skip
    assert role_settings(settings, "extract").base_url == "http://localhost:11434"
    assert role_settings(settings, "extract").api_key is None
    assert role_settings(settings, "answer").base_url == "https://api.anthropic.com/v1"
    assert role_settings(settings, "answer").api_key is None
    assert role_settings(settings, "judge").base_url == "http://gateway:1/v1"
    assert role_settings(settings, "judge").api_key == key


def test_a_missing_model_of_ollama_is_reported_with_those_that_it_has(monkeypatch):
    tags = {"models": [{"name": "smaller:8b"}, {"name": "large:70b"}]}
    missing = refuse("model 'small' not found", 404)
    with serve(missing) as server:
        url = server.url.removesuffix("/v1")
        monkeypatch.setattr(
            "knotwork._extensions.served_models.http.ModelServer.get", lambda *_: tags
        )
        settings = LlmSettings(model="ollama:small", base_url=url, timeout_s=5)
        (check,) = check_chat_models(settings)
        (listed,) = list_models(settings)
    assert not check.ok
    assert "ollama:smaller:8b" in check.fix
    assert listed.offered == ("large:70b", "smaller:8b")
    assert (listed.window, listed.server) == (8_192, url)


@pytest.mark.parametrize(("model", "takes_them"), [("ollama:a", False), ("openai:a", True)])
def test_only_servers_of_openai_take_batches(model, takes_them):
    models = ModelRun(LlmSettings(model=model), companions=IN_MEMORY_COMPANIONS, count_tokens=len)
    try:
        found = open_batches(models)
    finally:
        models.close()
    assert (found is not None) is takes_them
