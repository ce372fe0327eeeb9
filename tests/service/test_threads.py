"""Threads over HTTP: kept for each key, continued by questions, exported, bounded."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from tests.service.serving import API, QUESTION, add_key, open_client, read_events

from knotwork._extensions.server import threads

pytestmark = pytest.mark.slow

OPEN = f"{API}/workspaces/open"
THREADS = f"{OPEN}/threads"
WHO, WHERE = "Who designed the Kestrel probe?", "Where was she born?"


def data(response, status=200):
    assert response.status_code == status, response.text
    return response.json()["data"]


def ask(client, question, thread, *, headers=None, **more):
    body = {"question": question, "thread": thread, **more}
    return client.post(f"{OPEN}/ask", json=body, headers=headers)


def test_questions_continue_a_thread_and_stay_in_it(place):
    with open_client(place) as client:
        thread = data(client.post(THREADS, json={}), 201)["id"]
        assert "Oriane Keld" in data(ask(client, WHO, thread))["answer"]
        body = {"question": WHERE, "thread": thread}
        with client.stream("POST", f"{OPEN}/ask/stream", json=body) as response:
            assert read_events(response)[-1][0] == "done"
        kept = data(client.get(f"{THREADS}/{thread}"))
        assert [turn["question"] for turn in kept["turns"]] == [WHO, WHERE]
        assert kept["turns"][1]["understood"] == "Where was Oriane Keld born?"
        assert "Tarnby" in kept["turns"][1]["answer"]["answer"]
        assert kept["turns"][1]["answer"]["citations"]
        assert kept["title"] == WHO
        (head,) = data(client.get(THREADS))["threads"]
        assert (head["id"], head["title"], head["turns"]) == (thread, WHO, 2)
        text = client.get(f"{THREADS}/{thread}.md")
        assert text.headers["content-type"].startswith("text/markdown")
        assert text.text.startswith(f"# {WHO}\n\n## {WHO}\n")
        assert f"## {WHERE}\n\n*Where was Oriane Keld born?*" in text.text
        assert "\n- [1] " in text.text


def test_a_thread_is_written_as_markdown_without_being_stored(place):
    cited = {"number": 1, "title": "Guide", "document": "guide.md", "section": "Guide", "page": "4"}
    answer = {
        "answer": "Ann [1], for 3 years [M1].",
        "short": "Ann",
        "citations": [{**cited, "quote": "Ann\nwrote it."}],
        "memory": [{"number": 1, "text": "Ann has worked here for 3 years."}],
    }
    turns = [{"question": "Who wrote it?", "answer": answer}, {"question": "And before?"}]
    turns[0]["understood"] = "Understood as: Who wrote the guide?"
    with open_client(place) as client:
        body = {"title": "The guide", "turns": turns}
        text = client.post(f"{OPEN}/threads.md", json=body)
        assert text.headers["content-type"].startswith("text/markdown")
        assert text.text == (
            "# The guide\n\n## Who wrote it?\n\n*Understood as: Who wrote the guide?*\n\n"
            "**Ann**\n\nAnn [1], for 3 years [M1].\n\n- [M1] Ann has worked here for 3 years.\n"
            "- [1] Guide, guide.md, p. 4: Ann wrote it.\n\n## And before?\n"
        )
        odd = [{"question": "?", "answer": {"citations": 5, "memory": [1], "answer": None}}]
        assert client.post(f"{OPEN}/threads.md", json={"turns": odd}).status_code == 200
        assert data(client.get(THREADS))["threads"] == []


def test_an_edited_question_is_asked_as_it_is(place):
    with open_client(place) as client:
        thread = data(client.post(THREADS, json={"title": "Probes"}), 201)["id"]
        data(ask(client, WHO, thread))
        alone = data(ask(client, WHERE, thread, as_written=True))
        assert not [note for note in alone["notes"] if note.startswith("Understood as")]
        assert len(data(client.get(f"{THREADS}/{thread}"))["turns"]) == 2
        turns = [{"question": WHO, "answer": "Oriane Keld."}]
        body = {"question": WHERE, "turns": turns, "as_written": True}
        asked = data(client.post(f"{OPEN}/ask", json=body))
        assert not [note for note in asked["notes"] if note.startswith("Understood as")]


def test_a_thread_is_renamed_replaced_and_deleted(place):
    with open_client(place) as client:
        turns = [{"question": WHO, "answer": {"answer": "Oriane Keld."}}]
        made = data(client.post(THREADS, json={"turns": turns}), 201)
        assert made["turns"][0]["understood"] == WHO
        renamed = data(client.put(f"{THREADS}/{made['id']}", json={"title": "Probes"}))
        assert (renamed["title"], renamed["turns"]) == ("Probes", made["turns"])
        emptied = data(client.put(f"{THREADS}/{made['id']}", json={"turns": []}))
        assert (emptied["title"], emptied["turns"]) == ("Probes", [])
        assert data(client.delete(f"{THREADS}/{made['id']}"))["id"] == made["id"]
        assert data(client.get(THREADS))["threads"] == []
        for response in (
            client.get(f"{THREADS}/{made['id']}"),
            client.get(f"{THREADS}/..%2f..%2fkeys"),
            client.delete(f"{THREADS}/{made['id']}"),
            client.get(f"{THREADS}/{made['id']}.md"),
            ask(client, WHO, made["id"]),
        ):
            assert response.status_code == 404
        assert client.put(f"{THREADS}/{made['id']}", json={"titel": "x"}).status_code == 422


def test_no_key_sees_the_threads_of_another_and_the_workspace_takes_them_along(place):
    ours, theirs = (add_key(place, name, "read", "open") for name in ("a", "b"))
    admin = add_key(place, "admin", "admin", "*")
    with open_client(place) as client:
        made = data(client.post(THREADS, json={"title": "Mine"}, headers=ours), 201)
        assert "Oriane" in data(ask(client, WHO, made["id"], headers=ours))["answer"]
        for other in (theirs, admin):
            assert data(client.get(THREADS, headers=other))["threads"] == []
            assert client.get(f"{THREADS}/{made['id']}", headers=other).status_code == 404
            assert ask(client, WHO, made["id"], headers=other).status_code == 404
        (stored,) = place.path.rglob("*.thread")
        assert stored.stat().st_mode & 0o077 == 0
        data(client.delete(OPEN, headers=admin))
        assert not list(place.path.rglob("*.thread"))


def test_threads_are_bounded(place, monkeypatch):
    monkeypatch.setattr(threads, "MOST_THREADS", 2)
    monkeypatch.setattr(threads, "MOST_TURNS", 1)
    with open_client(place) as client:
        first, _ = (data(client.post(THREADS, json={}), 201) for _ in range(2))
        full = client.post(THREADS, json={})
        assert full.status_code == 409
        assert "Delete threads" in full.json()["error"]["fix"]
        data(ask(client, QUESTION, first["id"]))
        assert ask(client, QUESTION, first["id"]).status_code == 409
        monkeypatch.setattr(threads, "MOST_THREAD_BYTES", 1_000)
        long = [{"question": WHO, "answer": {"answer": "x" * 2_000}}]
        put = client.put(f"{THREADS}/{first['id']}", json={"turns": long})
        assert put.status_code == 409
        kept = data(client.get(f"{THREADS}/{first['id']}"))
        assert json.dumps(kept["turns"]).count(QUESTION) >= 1


def test_a_read_only_server_keeps_no_threads(place):
    with open_client(replace(place, read_only=True)) as client:
        assert client.post(THREADS, json={}).status_code == 409
        assert data(client.get(THREADS))["threads"] == []
