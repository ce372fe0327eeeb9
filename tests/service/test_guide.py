"""The guide of a workspace, related questions, files being read, and the price of an answer."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from decimal import Decimal

import pytest
from tests.service.serving import (
    API,
    QUESTION,
    await_job,
    copy_index,
    make_settings,
    open_client,
    read_events,
    upload,
)

from knotwork._extensions.guide import guide as guide_module
from knotwork._extensions.server import job_runner
from knotwork._extensions.server.keys import KeyFile, KeyRole
from knotwork._extensions.server.server import ServerConfig
from knotwork.testing.model_server import ModelTestServer

pytestmark = pytest.mark.slow

OPEN = f"{API}/workspaces/open"


def sent(response):
    assert response.status_code == 200, response.text
    return response.json()["data"]


def test_a_guide_describes_documents_and_offers_questions_that_are_answered(client):
    guide = sent(client.get(f"{OPEN}/guide"))
    assert guide["total"] == len(guide["documents"]) == 22
    described = {document["document"]: document for document in guide["documents"]}
    probe = next(described[uri] for uri in described if uri.endswith("kestrel-probe.html"))
    assert probe["sentence"].startswith("The Kestrel probe measures")
    assert probe["source"]["quote"].startswith("The Kestrel probe measures")
    assert 2 <= len(guide["questions"]) <= 4
    assert len({each["source"]["document"] for each in guide["questions"]}) == len(
        guide["questions"]
    )
    for offered in guide["questions"]:
        answer = sent(client.post(f"{OPEN}/ask", json={"question": offered["question"]}))
        assert answer["answered"]
        assert answer["citations"][0]["document"] == offered["source"]["document"]


def test_topics_have_names_of_their_own_and_events_are_in_order(client):
    guide = sent(client.get(f"{OPEN}/guide?limit=0"))
    names = [topic["name"] for topic in guide["topics"]]
    assert len(names) == len(set(names)) >= 2
    assert not any(name.count(",") > 1 or name.count("、") > 1 for name in names)
    dates = [event["date"] for event in guide["timeline"]]
    assert len(dates) >= 3
    assert dates == sorted(dates)
    assert "2009-01-01" in dates


def test_documents_come_in_pages(client):
    whole = sent(client.get(f"{OPEN}/guide"))["documents"]
    pages = [sent(client.get(f"{OPEN}/guide?limit=8&offset={n}")) for n in (0, 8, 16, 24)]
    assert [document for page in pages for document in page["documents"]] == whole
    assert client.get(f"{OPEN}/guide?limit=201").status_code == 422


def test_a_key_gets_the_guide_of_the_documents_that_it_may_read(place):
    keys = KeyFile(place.keys_path)
    _, text = keys.add(
        "probes", role=KeyRole.READ, workspaces=["open"], where="title = 'Travel policy'"
    )
    headers = {"Authorization": f"Bearer {text}"}
    with open_client(place) as client:
        assert client.get(f"{API}/workspaces/hidden/guide", headers=headers).status_code == 404
        guide = sent(client.get(f"{OPEN}/guide", headers=headers))
    assert (guide["total"], [each["title"] for each in guide["documents"]]) == (
        1,
        ["Travel policy"],
    )
    offered = [*guide["questions"], *guide["timeline"]]
    assert {each["source"]["title"] for each in offered} <= {"Travel policy"}
    assert {topic["documents"] for topic in guide["topics"]} <= {1}


def test_a_guide_is_kept_beside_the_index_until_that_changes(place, monkeypatch):
    with open_client(place) as client:
        first = sent(client.get(f"{OPEN}/guide"))
    tried = []
    monkeypatch.setattr(guide_module, "try_offers", lambda *given, **_: tried.append(given) or [])
    with open_client(place) as client:
        assert sent(client.get(f"{OPEN}/guide")) == first
        assert sent(client.get(f"{OPEN}/guide?limit=1"))["questions"] == first["questions"]
        assert not tried
        added = upload(client, "open", {"new.txt": "Ann Lee runs the mill."}).json()["data"]
        await_job(client, "open", added["job"])
        again = sent(client.get(f"{OPEN}/guide"))
        assert (again["total"], len(tried)) == (first["total"] + 1, 1)
        copy = place.path / "open.files" / "guide.json"
        copy.write_text("{")  # a damaged file is written again
        assert sent(client.get(f"{OPEN}/guide")) == again
        assert copy.read_text("utf-8").startswith('{"version"')


def test_related_questions_are_answered_elsewhere_and_ask_something_else(client):
    asked = "Who designed the Kestrel probe?"
    answer = sent(client.post(f"{OPEN}/ask", json={"question": asked}))
    cited = [{key: each[key] for key in ("chunk_id", "span")} for each in answer["citations"]]
    body = {"question": asked, "citations": cited}
    related = sent(client.post(f"{OPEN}/related", json=body))
    assert 1 <= len(related) <= 3
    told = [(each["document"], each["span"]) for each in answer["citations"]]
    for offered in related:
        assert offered["question"] != asked
        source = offered["source"]
        assert not any(
            document == source["document"]
            and span[0] < source["span"][1]
            and source["span"][0] < span[1]
            for document, span in told
        )
        again = sent(client.post(f"{OPEN}/ask", json={"question": offered["question"]}))
        assert again["answered"]


def test_nothing_is_related_to_passages_that_are_gone(client):
    cited = [{"chunk_id": "0" * 16, "span": [0, 5]}]
    body = {"question": QUESTION, "citations": cited}
    assert sent(client.post(f"{OPEN}/related", json=body)) == []
    assert client.post(f"{OPEN}/related", json={"question": QUESTION}).status_code == 422


def test_an_answer_says_how_many_files_are_ready_while_others_are_read(tmp_path, monkeypatch):
    gate = threading.Event()
    index = job_runner.WORK["index"]

    def wait_and_index(workspace, arguments, progress):
        assert gate.wait(60)
        return index(workspace, arguments, progress)

    with open_client(ServerConfig(tmp_path, make_settings())) as client:
        client.post(f"{API}/workspaces", json={"name": "open"})
        first = upload(client, "open", {"one.txt": "Ann Lee runs the mill."}).json()["data"]
        await_job(client, "open", first["job"])
        assert sent(client.post(f"{OPEN}/ask", json={"question": QUESTION}))["reading"] is None
        monkeypatch.setattr(job_runner, "WORK", {**job_runner.WORK, "index": wait_and_index})
        files = {"two.txt": "Bo Vik runs the inn.", "three.txt": "Cy Dahl runs the ferry."}
        second = upload(client, "open", files).json()["data"]
        answer = sent(client.post(f"{OPEN}/ask", json={"question": "Who runs the ferry?"}))
        assert answer["reading"] == {"ready": 1, "total": 3}
        with client.stream("POST", f"{OPEN}/ask/stream", json={"question": QUESTION}) as stream:
            events = read_events(stream)
        assert json.loads(dict(events)["reading"]) == {"ready": 1, "total": 3}
        assert json.loads(dict(events)["done"])["reading"] == {"ready": 1, "total": 3}
        gate.set()
        await_job(client, "open", second["job"])
        assert sent(client.post(f"{OPEN}/ask", json={"question": QUESTION}))["reading"] is None


def test_the_price_of_an_answer_is_given_where_the_prices_are_set(sample_index, tmp_path):
    with ModelTestServer() as model:
        settings = make_settings()
        llm = replace(settings.llm, model="openai:knotwork-test", base_url=model.url)
        priced = replace(llm, prices=("openai:* 10 20",))
        money = {}
        for name, used in (("priced", priced), ("free", llm)):
            (tmp_path / name).mkdir()
            copy_index(sample_index, tmp_path / name / "open.knot")
            place = ServerConfig(tmp_path / name, replace(settings, llm=used))
            with open_client(place) as client:
                answer = sent(client.post(f"{OPEN}/ask", json={"question": QUESTION}))
            assert answer["model"]
            money[name] = answer["usage"]["money"]
    assert Decimal(money["priced"]) > 0
    assert money["free"] is None
