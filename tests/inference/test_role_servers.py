"""A server, a key, limits and prices of its own for each role."""

import threading
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

import pytest
from tests.inference.chat_answers import say
from tests.inference.model_server import reply, serve

from knotwork._companions import IN_MEMORY_COMPANIONS
from knotwork._config import LlmSettings, SecretRef, SettingTable, load_settings
from knotwork._extensions.diagnosis.installation import check_secrets
from knotwork._extensions.diagnosis.models import check_chat_models
from knotwork._inference.call_limits import RetryPolicy
from knotwork._inference.chat import ChatRequest, Message
from knotwork._inference.model_registry import ChatModels, calls_at_once, price_table, role_settings
from knotwork._inference.role_models import ModelRun
from knotwork._text.token_counts import count_tokens
from knotwork.errors import ModelError

REQUEST = ChatRequest((Message("user", "Who?"),))


def settings_for(server, **options):
    return LlmSettings(model="openai:small", base_url=server.url, timeout_s=5, **options)


def test_each_role_calls_its_own_server_with_its_own_key(monkeypatch):
    monkeypatch.setenv("KNOTWORK_TEST_KEY", "main-key")
    monkeypatch.setenv("KNOTWORK_TEST_OTHER", "other-key")
    with serve(say("Ann.")) as main, serve(say("Ben.")) as other:
        own = SettingTable(
            {
                "model": "openai:tiny",
                "base_url": other.url,
                "api_key": SecretRef("KNOTWORK_TEST_OTHER"),
                "temperature": 0.5,
                "max_output_tokens": 99,
                "extra_headers": SettingTable({"x-team": "docs"}),
                "extra_body": SettingTable({"top_k": 5}),
            }
        )
        models = ChatModels(settings_for(main, api_key=SecretRef("KNOTWORK_TEST_KEY"), extract=own))
        assert models.open("extract").complete(REQUEST).text == "Ben."
        assert models.open("answer").complete(REQUEST).text == "Ann."
    (sent,) = other.requests
    assert (sent["model"], sent["temperature"], sent["max_tokens"]) == ("tiny", 0.5, 99)
    assert sent["top_k"] == 5
    assert other.headers[0]["Authorization"] == "Bearer other-key"
    assert other.headers[0]["x-team"] == "docs"
    assert main.headers[0]["Authorization"] == "Bearer main-key"
    assert main.requests[0]["model"] == "small"
    assert models.open("extract").name.startswith(
        "openai:tiny temperature=0.5 max_output_tokens=99 extra_body="
    )


def test_a_key_and_headers_are_never_sent_to_another_server(monkeypatch):
    monkeypatch.setenv("KNOTWORK_TEST_KEY", "main-key")
    with serve(say("Ann.")) as main, serve(say("Ben.")) as other:
        settings = settings_for(
            main,
            api_key=SecretRef("KNOTWORK_TEST_KEY"),
            extra_headers=SettingTable({"x-team": "docs"}),
            extract=SettingTable({"base_url": other.url}),
            judge=SettingTable({"base_url": f"{main.url}/", "model": "openai:large"}),
        )
        models = ChatModels(settings)
        models.open("extract").complete(REQUEST)
        models.open("judge").complete(REQUEST)
    assert "Authorization" not in other.headers[0]
    assert "x-team" not in other.headers[0]
    assert other.requests[0]["model"] == "small"
    assert main.headers[0]["Authorization"] == "Bearer main-key"


def test_roles_on_one_server_share_its_limits_and_others_do_not():
    meeting = threading.Barrier(2, timeout=5)

    def meet(payload):
        meeting.wait()
        return say("Ann.")(payload)

    with serve(say("Ann.")) as main, serve(meet) as other:
        models = ChatModels(
            settings_for(
                main,
                concurrency=1,
                judge="openai:large",
                extract=SettingTable({"base_url": other.url, "concurrency": 2}),
            )
        )
        calls = [models.open(role) for role in ("answer", "judge", "extract", "extract")] * 3
        with ThreadPoolExecutor(12) as pool:
            list(pool.map(lambda model: model.complete(REQUEST), calls))
    assert main.most_running == 1
    assert other.most_running == 2


def test_a_role_without_entries_of_its_own_shares_the_model():
    settings = LlmSettings(
        model="openai:small",
        answer=SettingTable({"prices": ("openai:* 1 2",)}),
        extract=SettingTable({"model": "none"}),
        judge=SettingTable({"concurrency": 3}),
    )
    models = ChatModels(settings)
    assert models.open("answer") is models.open("summarize")
    assert models.open("extract") is None
    assert calls_at_once(settings, "judge") == 3
    assert role_settings(settings, "judge").model == "openai:small"


def test_prices_of_roles_come_first():
    settings = LlmSettings(
        prices=("openai:* 1 2",), extract=SettingTable({"prices": ("openai:tiny 0.1 0.2 0.05",)})
    )
    table = price_table(settings)
    assert table.price("openai:tiny").output_per_million == Decimal("0.2")
    assert table.price("openai:small").output_per_million == Decimal(2)


def test_the_tokens_that_a_server_had_cached_cost_less_and_are_counted():
    usage = {
        "prompt_tokens": 1_000,
        "completion_tokens": 100,
        "prompt_tokens_details": {"cached_tokens": 800},
    }
    hits = {"prompt_tokens": 500, "completion_tokens": 10, "prompt_cache_hit_tokens": 400}
    with serve(say("Ann.", usage=usage), say("Ben.", usage=hits)) as server:
        settings = settings_for(server, prices=("openai:small 10 20 1",))
        run = ModelRun(
            settings, companions=IN_MEMORY_COMPANIONS, count_tokens=count_tokens, budget="1 EUR"
        )
        model = run.open("answer")
        request = ChatRequest((Message("user", "Who?"),), stage="answer", source="x (cached)")
        model.complete(request)
        model.complete(ChatRequest((Message("user", "Where?"),), stage="answer"))
        cache = model._cache
    assert run.meter.total().cached_tokens == 1_200
    money = (Decimal(300 * 10) + 1_200 * 1 + 110 * 20) / 1_000_000
    assert run.meter.money(run.prices) == money
    assert run.budget.money() == money
    total = cache.total(prices=run.prices)
    assert (total.usage.input_tokens, total.usage.cached_tokens) == (1_500, 1_200)
    assert total.money == money
    (by_model,) = cache.totals("model", prices=run.prices)
    assert (by_model.group, by_model.usage.calls) == (("openai:small",), 2)
    assert by_model.usage == total.usage
    assert {total.group[0] for total in cache.totals("source")} == {"", "x (cached)"}
    run.close()


@pytest.mark.parametrize("cached", [-5, 5_000, "many", None, {"x": 1}])
def test_counts_of_cached_tokens_that_make_no_sense_stay_within_the_prompt(cached):
    usage = {
        "prompt_tokens": 10,
        "completion_tokens": 1,
        "prompt_tokens_details": {"cached_tokens": cached},
    }
    with serve(say("Ann.", usage=usage)) as server:
        found = ChatModels(settings_for(server)).open().complete(REQUEST).usage
    assert 0 <= found.cached_tokens <= found.input_tokens == 10


def test_the_doctor_checks_the_model_of_each_server():
    refusal = reply(404, {"error": {"message": "The model `tiny` does not exist"}})
    with serve(say("yes")) as main, serve(refusal) as other:
        own = SettingTable({"model": "openai:tiny", "base_url": other.url})
        checks = list(check_chat_models(settings_for(main, extract=own)))
    assert [check.ok for check in checks] == [False, True]
    assert other.url in checks[0].detail
    assert "openai:small for summarize" in checks[1].detail


def test_the_doctor_checks_the_secrets_of_roles_and_headers(tmp_path, monkeypatch):
    monkeypatch.setenv("KNOTWORK_TEST_OTHER", "x")
    file = tmp_path / "knotwork.toml"
    file.write_text(
        '[llm]\nextra_headers = { api-key = { env = "KNOTWORK_TEST_GONE" } }\n'
        '[llm.extract]\napi_key = { env = "KNOTWORK_TEST_OTHER" }\n',
        encoding="utf-8",
    )
    checks = list(check_secrets(load_settings(file=file, environ={})))
    assert {(check.detail.split()[0], check.ok) for check in checks} == {
        ("llm.extra_headers.api-key", False),
        ("llm.extract.api_key", True),
    }


def test_a_chat_deployment_on_azure_gets_its_version_and_key(monkeypatch):
    monkeypatch.setenv("KNOTWORK_TEST_KEY", "azure-key-1")
    refusal = reply(400, {"error": {"message": "azure-key-1 is wrong"}})
    with serve(say("Ann."), refusal) as server:
        key = SecretRef("KNOTWORK_TEST_KEY")
        settings = settings_for(server, api_version="2024-10-21", api_key=key)
        model = ChatModels(settings, retries=RetryPolicy(attempts=1)).open()
        assert model.complete(REQUEST).text == "Ann."
        with pytest.raises(ModelError) as caught:
            model.complete(REQUEST)
    assert server.requests[0]["path"] == "/v1/chat/completions?api-version=2024-10-21"
    assert server.headers[0]["api-key"] == "azure-key-1"
    assert "Authorization" not in server.headers[0]
    assert "azure-key-1" not in str(caught.value)
