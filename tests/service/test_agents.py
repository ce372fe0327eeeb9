"""Agents over HTTP: every step as it is made, then what was found, then the answer."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from tests.service.conftest import fill
from tests.service.serving import API, QUESTION, add_key, make_settings, open_client, read_events

import knotwork
from knotwork._extensions.agents.agent import ask_agent
from knotwork._extensions.server.server import ServerConfig
from knotwork.testing.model_server import ModelTestServer

AGENT = f"{API}/workspaces/open/agent"
BRIDGE = "Where was the designer of the Kestrel probe born?"


def run(client, body, **options):
    with client.stream("POST", AGENT, json=body, **options) as response:
        assert response.status_code == 200, response.read()
        return [(name, json.loads(data)) for name, data in read_events(response)]


@pytest.mark.parametrize("kind", ["iterative", "corrective", "reasoning", "revising"])
def test_an_agent_reports_every_step_and_answers_as_from_the_command_line(
    client, sample_index, kind
):
    body = {"question": BRIDGE, "kind": kind, "steps": 4, "k": 6, "tools": ["graph", "bm25"]}
    events = run(client, body)
    names = [name for name, _ in events]
    assert names == ["step"] * (len(names) - 2) + ["sources", "done"]
    steps = [data for name, data in events if name == "step"]
    assert 1 <= len(steps) <= 4
    assert [step["number"] for step in steps] == list(range(1, len(steps) + 1))
    assert steps[0]["question"] == BRIDGE
    assert all(step["reason"] and step["lines"] and step["tokens"] == 0 for step in steps)
    with knotwork.open(sample_index, settings=make_settings(), read_only=True) as base:
        answer, evidence = ask_agent(
            base, BRIDGE, kind=kind, tools=["graph", "bm25"], steps=4, k=6, use_llm=False
        )
    sources, done = events[-2][1], events[-1][1]
    assert sources["trace"] == list(evidence.trace)
    assert [hit["chunk_id"] for hit in sources["hits"]] == [hit.chunk.id for hit in evidence.hits]
    assert (done["answer"], done["mode"]) == (answer.text, "agent")


@pytest.mark.parametrize(
    ("body", "status", "told"),
    [
        ({"question": ""}, 422, "question"),
        ({"question": "x", "kind": "clever"}, 422, "kind"),
        ({"question": "x", "tools": []}, 422, "tools"),
        ({"question": "x", "tools": ["no-such"]}, 400, "no-such"),
        ({"question": "x", "steps": 0}, 422, "steps"),
        ({"question": "x" * 9_000}, 413, "8,000"),
    ],
)
def test_invalid_questions_to_an_agent_are_rejected_before_it_begins(client, body, status, told):
    refused = client.post(AGENT, json=body)
    assert (refused.status_code, told in refused.json()["error"]["message"]) == (status, True)


def test_a_model_plans_within_its_tokens_and_the_budget_of_the_server(sample_index, tmp_path):
    with ModelTestServer() as models:
        settings = make_settings(question_budget="2k")
        llm = replace(settings.llm, model="openai:test", base_url=models.url)
        place = ServerConfig(fill(sample_index, tmp_path).path, replace(settings, llm=llm))
        reader = add_key(place, "r", "read", "open")
        with open_client(place) as client:
            body = {"question": BRIDGE, "tools": ["bm25"], "steps": 3}
            planned = run(client, body, headers=reader)
            steps = [data for name, data in planned if name == "step"]
            assert models.traffic.totals.calls > 0
            assert steps[-1]["tokens"] > 0
            spent = models.traffic.totals
            assert spent.input_tokens + spent.output_tokens <= 2_000
            unplanned = run(client, {**body, "tokens": 0, "question": QUESTION}, headers=reader)
            stages = unplanned[-1][1]["usage"]["stages"]
            assert set(stages) <= {"answer"}
            before = models.traffic.totals.calls
            run(client, {**body, "use_llm": False, "question": QUESTION}, headers=reader)
            assert models.traffic.totals.calls == before


def test_an_agent_keeps_to_filters(client):
    body = {"question": QUESTION, "tools": ["graph", "bm25"], "steps": 2}
    for filters in ("path = en and format = docx", {"path": "en", "format": "docx"}):
        *_, (_, sources), (_, done) = run(client, body | {"filters": filters})
        assert {hit["document"].rpartition("/")[2] for hit in sources["hits"]} == {
            "travel-policy.docx"
        }
        assert sources["filter"] == "path = 'en' and format = 'docx'"
        assert all("travel-policy" in cited["document"] for cited in done["citations"])
    refused = client.post(AGENT, json=body | {"filters": "colour = red"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "unknown_name")
