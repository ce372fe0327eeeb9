import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from tests.inference.chat_answers import say
from tests.inference.model_server import reply, serve

from knotwork._cancellation import Cancellation, Cancelled, in_context
from knotwork._config import LlmSettings
from knotwork._inference.call_limits import RetryPolicy
from knotwork._inference.chat import ChatRequest, Message
from knotwork._inference.model_registry import MODEL_ROLES, ChatModels, chat_model_spec
from knotwork.errors import ConfigError, MissingExtra, ModelError, ModelUnavailable, UnknownName

REQUEST = ChatRequest((Message("user", "Who?"),))


def settings_for(server, **options):
    return LlmSettings(model="openai:small", base_url=server.url, timeout_s=5, **options)


def test_no_model_is_the_default_for_every_role():
    assert ChatModels(LlmSettings()).open() is None
    assert all(ChatModels(LlmSettings()).open(role) is None for role in MODEL_ROLES)


def test_each_role_may_have_a_model_of_its_own_or_none():
    settings = LlmSettings(model="openai:small", judge="openai:large", extract="none")
    models = ChatModels(settings)
    names = {role: model.name if (model := models.open(role)) else None for role in MODEL_ROLES}
    assert names == {
        "extract": None,
        "summarize": "openai:small",
        "keyword": "openai:small",
        "answer": "openai:small",
        "judge": "openai:large",
        "describe": "openai:small",
    }
    assert models.open("answer") is models.open() is models.open("keyword")
    assert chat_model_spec(replace(settings, model="none"), "judge") == "openai:large"


def test_every_role_is_a_setting():
    for role in MODEL_ROLES:
        assert chat_model_spec(replace(LlmSettings(), **{role: "openai:x"}), role) == "openai:x"


def test_the_name_shows_settings_but_neither_key_nor_address():
    settings = LlmSettings(model="openai:org/small:8b", temperature=0.7, max_output_tokens=4_000)
    model = ChatModels(settings).open()
    assert model.name == "openai:org/small:8b temperature=0.7 max_output_tokens=4000"


def test_unknown_names_say_which_are_valid(monkeypatch):
    with pytest.raises(UnknownName, match=r"`opnai:x`.*`none`.*`openai:…`"):
        ChatModels(LlmSettings(model="opnai:x")).open()
    with pytest.raises(ConfigError, match="has no name after its scheme"):
        ChatModels(LlmSettings(model="openai:")).open()
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match="`llm`"):
        ChatModels(LlmSettings(model="openai:small")).open()


def test_opening_a_model_loads_no_library_and_asks_no_server():
    code = (
        "import sys; from knotwork._inference.model_registry import ChatModels;"
        "from knotwork._config import LlmSettings;"
        "m = ChatModels(LlmSettings(model='openai:x', base_url='http://127.0.0.1:9/v1')).open();"
        "assert m.name == 'openai:x';"
        "assert not {'openai', 'httpx', 'httpx2', 'pydantic'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_temporary_errors_are_retried():
    waits = []
    busy = reply(429, {"error": {"message": "busy"}}, Retry_After_Ms="70")
    with serve(busy, reply(500, "broken"), reply(200, b"garbage"), say("Ann.")) as server:
        models = ChatModels(settings_for(server), retries=RetryPolicy(sleep=waits.append))
        assert models.open().complete(REQUEST).text == "Ann."
    assert waits == [0.5, 1.0, 2.0]
    assert len(server.requests) == 4


def test_tries_end_and_refusals_are_not_tried_again():
    waits = []
    with serve(reply(500, "broken")) as server, pytest.raises(ModelUnavailable, match="broken"):
        ChatModels(
            settings_for(server), retries=RetryPolicy(attempts=3, sleep=waits.append)
        ).open().complete(REQUEST)
    assert (len(server.requests), len(waits)) == (3, 2)
    with serve(reply(400, "no")) as server, pytest.raises(ModelError, match="400: no"):
        ChatModels(settings_for(server)).open().complete(REQUEST)
    assert len(server.requests) == 1


def test_all_roles_share_the_limits_of_their_server():
    with serve(say("Ann.")) as server:
        models = ChatModels(settings_for(server, judge="openai:large", concurrency=2))
        calls = [models.open("answer"), models.open("judge")] * 8
        with ThreadPoolExecutor(16) as pool:
            texts = list(pool.map(lambda model: model.complete(REQUEST).text, calls))
    assert texts == ["Ann."] * 16
    assert server.most_running <= 2
    assert {sent["model"] for sent in server.requests} == {"small", "large"}


def test_the_wait_between_tries_ends_if_nobody_wants_the_reply():
    waits = Cancellation()

    def busy(payload):
        waits.cancel()
        return reply(503, "busy", Retry_After="60")(payload)

    with serve(busy) as server, pytest.raises(Cancelled):
        in_context(ChatModels(settings_for(server)).open().complete, waits=waits)(REQUEST)
