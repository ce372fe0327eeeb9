"""`knotwork models` lists, checks and measures the language models that are set."""

import pytest
from tests.cli.running import knotwork

from knotwork.testing import ModelTestServer


@pytest.fixture
def server():
    with ModelTestServer() as server:
        yield server


@pytest.fixture(autouse=True)
def settings(server, monkeypatch):
    monkeypatch.setenv("KNOTWORK_LLM_MODEL", "openai:knotwork-test")
    monkeypatch.setenv("KNOTWORK_LLM_BASE_URL", server.url)


def test_each_model_is_listed_once_with_its_roles_and_what_its_server_offers(server):
    outcome = knotwork("models", "list", "--set", "llm.answer=openai:large", "--json")
    small, large = outcome.json["models"]
    assert small["name"] == "openai:knotwork-test"
    assert small["roles"] == ["extract", "summarize", "keyword", "judge", "describe"]
    assert large["roles"] == ["answer"]
    assert small["offered"]
    assert server.traffic.totals.calls == 0
    shown = knotwork("models", "list")
    assert "openai:knotwork-test" in shown.out
    assert "offers" in shown.err


def test_a_server_that_does_not_answer_is_reported(monkeypatch):
    monkeypatch.setenv("KNOTWORK_LLM_BASE_URL", "http://127.0.0.1:9/v1")
    outcome = knotwork("models", "list", "--json")
    assert outcome.code == 0
    assert "127.0.0.1:9" in outcome.json["models"][0]["error"]
    tried = knotwork("models", "measure", "--json")
    assert tried.code == 1
    assert "127.0.0.1:9" in tried.json["models"][0]["error"]


def test_a_model_that_follows_the_prompts_is_usable_in_both_languages():
    outcome = knotwork("models", "measure", "--json")
    (found,) = outcome.json["models"]
    assert [(t["kind"], t["language"]) for t in found["trials"]] == [
        ("extraction", "en"),
        ("answer", "en"),
        ("extraction", "zh"),
        ("answer", "zh"),
    ]
    assert [t["fault"] for t in found["trials"]] == ["", "", "", ""]
    assert found["output_tokens_per_s"] > 0
    assert found["input_tokens_per_s"] > 0
    assert outcome.code == 0
    shown = knotwork("models", "measure").out
    assert "Extraction: 2 of 2 replies usable" in shown
    assert "Answer: 2 of 2 replies usable" in shown


def test_a_useless_model_learns_what_is_wrong_with_its_replies(server):
    server.brain = lambda _: "As an AI, I love harbours! The pilot is ordered 9 weeks ahead. [1]"
    outcome = knotwork("models", "measure")
    assert outcome.code == 1
    assert "Extraction: 0 of 2 replies usable" in outcome.out
    assert "Answer: 0 of 2 replies usable" in outcome.out
    assert "0 records were read from it." in outcome.out
    assert "None of its statements is in the passages." in outcome.out


def test_check_asks_each_model_for_one_word(server):
    server.brain = lambda _: "yes"
    outcome = knotwork("models", "check", "--json")
    assert outcome.json["ok"]
    assert server.traffic.totals.calls == 1
    server.brain = lambda _: "bananas"
    outcome = knotwork("models", "check")
    assert outcome.code == 1
    assert "bananas" in outcome.out


def test_without_a_model_there_is_nothing_to_measure(monkeypatch):
    monkeypatch.setenv("KNOTWORK_LLM_MODEL", "none")
    assert "No language model is set" in knotwork("models", "list").out
    outcome = knotwork("models", "measure")
    assert outcome.code != 0
    assert "llm.model" in outcome.err
