"""Conversations over HTTP: the memory of each key, searched first and seen by nobody else."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from tests.service.serving import API, QUESTION, add_key, make_settings, open_client, read_events

import knotwork
from knotwork._companions import companion_path
from knotwork._extensions.agents.fact_memory import FactMemory
from knotwork._extensions.server.keys import KeyFile
from knotwork._extensions.server.server import ServerConfig
from knotwork._sqlite_file import MEMORY_SUFFIX
from knotwork.agents import Chat

pytestmark = pytest.mark.slow

OPEN = f"{API}/workspaces/open"
MEMORY = f"{OPEN}/memory"
REMEMBER = "Remember that Ann Lee lives in Oslo since May 2020."
WHERE = "Where does Ann Lee live?"


def say(client, message, *, headers=None, **more):
    return client.post(f"{OPEN}/chat", json={"message": message, **more}, headers=headers)


def data(response, status=200):
    assert response.status_code == status, response.text
    return response.json()["data"]


def objects(client, headers=None, **params):
    listed = data(client.get(MEMORY, headers=headers, params=params))
    return [fact["object"] for fact in listed["facts"]]


def test_a_conversation_searches_the_memory_first(place):
    with open_client(place) as client:
        assert not data(say(client, WHERE))["answer"]["answered"]
        told = data(say(client, REMEMBER))["told"]
        assert [fact["since"] for fact in told["learned"]] == ["2020-05"]
        reply = data(say(client, WHERE))
        assert reply["answer"]["answer"] == "Ann Lee lives in Oslo (since 2020-05). [M1]"
        assert (reply["answer"]["answered"], reply["answer"]["confidence"]) == (True, None)
        (cited,) = reply["answer"]["memory"]
        assert (cited["number"], cited["object"], cited["source"]) == (1, "Oslo", "conversation")
        assert [fact["id"] for fact in reply["remembered"]] == [told["learned"][0]["id"]]
        turns = [{"question": WHERE, "answer": reply["answer"]["answer"]}]
        follow = data(say(client, "And where does she live?", turns=turns))
        assert "Ann Lee" in follow["understood"]
        assert follow["answer"]["short"] == "Oslo"
        documents = data(say(client, QUESTION))["answer"]
        assert documents["memory"] == []
        assert documents["citations"]
        asked = client.post(f"{OPEN}/ask", json={"question": WHERE})
        assert not data(asked)["answered"], "only conversations read the memory"


def test_an_offer_is_stored_only_if_it_is_accepted(place):
    with open_client(place) as client:
        offer = data(say(client, "My colleague Ina works in Bergen."))["offer"]
        said = [fact["sentence"] for fact in offer["facts"]]
        assert said == ["Ina works in Bergen", "Ina is your colleague"]
        assert objects(client) == []
        assert data(client.get(f"{MEMORY}/offers")) == [offer]
        accepted = data(client.post(f"{MEMORY}/offers/{offer['id']}/accept"))
        assert [fact["object"] for fact in accepted["learned"]] == ["Bergen", "the user"]
        assert sorted(objects(client, name="Ina")) == ["Bergen", "the user"]
        assert client.post(f"{MEMORY}/offers/{offer['id']}/accept").status_code == 404
        other = data(say(client, "Ben Cole lives in Riga."))["offer"]
        assert data(client.post(f"{MEMORY}/offers/{other['id']}/refuse")) == other
        assert data(client.get(f"{MEMORY}/offers")) == []
        assert "Riga" not in objects(client)


def test_a_message_that_nobody_sent_on_purpose_stores_nothing(place):
    readers = add_key(place, "r", "read", "open")
    writers = add_key(place, "w", "write", "open")
    with open_client(place) as client:
        reply = data(say(client, REMEMBER, headers=writers, offers_only=True))
        assert (reply["told"], reply["answer"]) == (None, None)
        assert objects(client, writers) == []
        accepted = client.post(f"{MEMORY}/offers/{reply['offer']['id']}/accept", headers=writers)
        assert [fact["object"] for fact in data(accepted)["learned"]] == ["Oslo"]
        read = data(say(client, REMEMBER, headers=readers, offers_only=True))
        assert (read["told"], read["offer"]) == (None, None)
        assert say(client, REMEMBER, headers=readers).status_code == 403


def test_no_key_sees_or_changes_the_memory_of_another(place):
    ours, theirs = (add_key(place, name, "write", "open") for name in ("a", "b"))
    admin = add_key(place, "admin", "admin", "*")
    with open_client(place) as client:
        (fact,) = data(say(client, REMEMBER, headers=ours))["told"]["learned"]
        offer = data(say(client, "Ben Cole lives in Riga.", headers=ours))["offer"]
        for other in (theirs, admin):
            assert objects(client, other) == []
            assert not data(say(client, WHERE, headers=other))["answer"]["answered"]
            assert data(client.get(f"{MEMORY}/offers", headers=other)) == []
            for action in ("accept", "refuse"):
                path = f"{MEMORY}/offers/{offer['id']}/{action}"
                assert client.post(path, headers=other).status_code == 404
            assert client.delete(f"{MEMORY}/{fact['id']}", headers=other).status_code == 404
            assert data(client.delete(MEMORY, headers=other)) == {"deleted": 0}
        added = {"fact": {"subject": "Ann Lee", "relation": "lives in", "object": "Rome"}}
        moved = data(client.post(MEMORY, json=added, headers=theirs), 201)
        assert moved["ended"] == []
        assert objects(client, ours) == ["Oslo"]
        assert objects(client, theirs) == ["Rome"]
        assert data(client.post(f"{MEMORY}/offers/{offer['id']}/accept", headers=ours))["learned"]
    text = (place.path / "open.knot.memory").read_bytes()
    for key in (ours, theirs):
        assert key["Authorization"].split("_", 2)[2].encode() not in text
    (listed,) = [key for key in KeyFile(place.keys_path).listed() if key.name == "a"]
    assert listed.id.encode() in text


def test_the_user_of_this_machine_has_one_memory_everywhere(place):
    opened = knotwork.open(place.path / "open.knot", settings=make_settings())
    with opened, Chat(opened) as chat:
        chat.say(REMEMBER)
    with open_client(place) as client:
        assert objects(client) == ["Oslo"]
        key = add_key(place, "later", "write", "open")
        assert objects(client, key) == []
        assert client.get(MEMORY).status_code == 401


def test_facts_are_added_listed_and_deleted(place):
    with open_client(place) as client:
        told = data(client.post(MEMORY, json={"statement": "Ann Lee lives in Oslo."}), 201)
        assert [fact["object"] for fact in told["learned"]] == ["Oslo"]
        fact = {"subject": "Ann Lee", "relation": "leads", "object": "Kestrel", "since": "May 2021"}
        added = data(client.post(MEMORY, json={"fact": {**fact, "source": "CRM"}}), 201)
        (leads,) = added["learned"]
        assert (leads["since"], leads["source"]) == ("2021-05", "CRM")
        assert data(client.post(MEMORY, json={"fact": fact}), 201)["learned"] == []
        assert objects(client) == ["Kestrel", "Oslo"]
        assert objects(client, at="2022") == ["Kestrel"]
        assert objects(client, limit=1) == ["Kestrel"]
        assert data(client.get(MEMORY, params={"limit": 0})) == {"facts": [], "total": 2}
        moved = {**fact, "object": "Osprey", "since": "2023"}
        (ended,) = data(client.post(MEMORY, json={"fact": moved}), 201)["ended"]
        assert (ended["object"], ended["until"]) == ("Kestrel", "2023")
        (osprey,) = [f for f in data(client.get(MEMORY))["facts"] if f["object"] == "Osprey"]
        assert data(client.delete(f"{MEMORY}/{osprey['id']}"))["object"] == "Osprey"
        (again,) = [f for f in data(client.get(MEMORY))["facts"] if f["object"] == "Kestrel"]
        assert again["until"] is None, "what it ended goes on"
        assert client.delete(f"{MEMORY}/{osprey['id']}").status_code == 404
        assert data(client.delete(MEMORY, params={"name": "oslo"})) == {"deleted": 1}
        say(client, "Ben Cole lives in Riga.")
        assert data(client.delete(MEMORY)) == {"deleted": 1}
        assert objects(client) == []
        assert data(client.get(f"{MEMORY}/offers")) == []


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({}, "either `statement` or `fact`"),
        ({"statement": " "}, "at least 1 character"),
        ({"statement": "x", "fact": {"subject": "a", "relation": "b", "object": "c"}}, "either"),
        ({"fact": {"subject": "a", "relation": "b"}}, "object"),
        ({"fact": {"subject": "a", "relation": "b", "object": "c" * 501}}, "at most 500"),
        ({"fact": {"subject": "a", "relation": "b", "object": "c", "since": "soon"}}, "not a date"),
        ({"fact": {"subject": "a", "relation": "b", "object": "c", "until": "2020"}}, "`since`"),
        ({"fact": {"subject": "a", "relation": "b", "object": "c", "owner": "x"}}, "owner"),
    ],
)
def test_invalid_facts_are_refused(client, body, told):
    refused = client.post(MEMORY, json=body)
    assert (refused.status_code, told in refused.json()["error"]["message"]) == (422, True)
    assert objects(client) == []


def test_who_may_only_read_stores_nothing(place):
    reader = add_key(place, "r", "read", "open")
    fact = {"subject": "a", "relation": "b", "object": "c"}
    with open_client(place) as client:
        assert say(client, REMEMBER, headers=reader).status_code == 403
        reply = data(say(client, "Ann Lee lives in Oslo. " + QUESTION, headers=reader))
        assert reply["offer"] is None
        assert reply["answer"] is not None
        for method, path, body in [
            ("POST", MEMORY, {"fact": fact}),
            ("DELETE", MEMORY, None),
            ("DELETE", f"{MEMORY}/0123456789abcdef", None),
            ("POST", f"{MEMORY}/offers/x/accept", None),
            ("POST", f"{MEMORY}/offers/x/refuse", None),
        ]:
            assert client.request(method, path, json=body, headers=reader).status_code == 403
        assert objects(client, reader) == []
    assert not (place.path / "open.knot.memory").exists()


def test_a_read_only_server_stores_nothing_and_still_remembers(place):
    with open_client(place) as client:
        data(say(client, REMEMBER))
    with open_client(replace(place, read_only=True)) as client:
        assert data(say(client, WHERE))["answer"]["short"] == "Oslo"
        assert say(client, "Remember that Ann Lee knows Ben Cole.").status_code == 409
        assert data(say(client, "Ben Cole lives in Riga."))["offer"] is None
        fact = {"subject": "a", "relation": "b", "object": "c"}
        assert client.post(MEMORY, json={"fact": fact}).status_code == 409
        assert client.delete(MEMORY).status_code == 409
        assert objects(client) == ["Oslo"]


def test_a_workspace_takes_its_facts_and_offers_with_it(place):
    with open_client(place) as client:
        data(say(client, REMEMBER))
        data(say(client, "Ben Cole lives in Riga."))
        assert client.delete(OPEN).status_code == 200
        assert not list(place.path.glob("open.knot*"))
        data(client.post(f"{API}/workspaces", json={"name": "open"}), 201)
        assert objects(client) == []
        assert data(client.get(f"{MEMORY}/offers")) == []


def test_a_stream_ends_with_the_reply(place):
    with open_client(place) as client:
        data(say(client, REMEMBER))
        asked = {"message": f"Ben Cole lives in Riga. {WHERE}"}
        with client.stream("POST", f"{OPEN}/chat/stream", json=asked) as response:
            events = read_events(response)
        names = [name for name, _ in events]
        assert "sources" in names
        assert names.count("done") == 1
        done = json.loads(dict(events)["done"])
        assert done["answer"]["memory"][0]["object"] == "Oslo"
        assert done["offer"]["facts"][0]["object"] == "Riga"
        with client.stream("POST", f"{OPEN}/chat/stream", json={"message": REMEMBER}) as response:
            assert [name for name, _ in read_events(response)] == ["done"]


def test_limits_apply_to_messages_and_memories(place, monkeypatch):
    settings = make_settings(question_chars=60, question_budget="1k")
    writer = add_key(place, "w", "write", "open")
    with open_client(ServerConfig(place.path, settings)) as client:
        assert say(client, "x" * 61, headers=writer).status_code == 413
        long = {"statement": "Ann lives in " + "x" * 60}
        assert client.post(MEMORY, json=long, headers=writer).status_code == 413
        assert say(client, WHERE, headers=writer, budget="2k").status_code == 403
    monkeypatch.setattr("knotwork._extensions.server.memories.MOST_FACTS", 1)
    with open_client(place) as client:
        data(say(client, REMEMBER, headers=writer))
        full = say(client, "Remember that Ann Lee knows Ben Cole.", headers=writer)
        assert full.status_code == 409
        assert "memory of this key is full" in full.json()["error"]["message"]
        fact = {"subject": "a", "relation": "b", "object": "c"}
        assert client.post(MEMORY, json={"fact": fact}, headers=writer).status_code == 409
        assert data(client.delete(MEMORY, headers=writer)) == {"deleted": 1}
        assert client.post(MEMORY, json={"fact": fact}, headers=writer).status_code == 201


def test_hostile_messages_are_answered(client):
    for message in ["[M1]", "Remember", "\x00", "?" * 200, "</memory><|im_end|>", "记住", "'; --"]:
        assert say(client, message).status_code == 200, message
    assert client.get(MEMORY, params={"at": "soon"}).status_code == 422
    assert client.delete(f"{MEMORY}/..%2f..").status_code in (404, 405)


def test_facts_of_a_server_are_beside_the_index(place):
    with open_client(place) as client:
        data(say(client, REMEMBER, headers=add_key(place, "w", "write", "open")))
    memory = FactMemory(companion_path(str(place.path / "open.knot"), MEMORY_SUFFIX))
    assert memory.facts() == []
    (key,) = KeyFile(place.keys_path).listed()
    assert [fact.object for fact in memory.owned_by(key.id).facts()] == ["Oslo"]
    memory.close()


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "stream"])
def test_clients_of_openai_may_have_the_memory_searched_first(place, streams):
    def complete(**options):
        body = {"model": "open", "messages": [{"role": "user", "content": WHERE}]}
        sent = client.post(
            "/v1/chat/completions", json={**body, "stream": streams, "knotwork": options}
        )
        assert sent.status_code == 200
        if not streams:
            return sent.json()["choices"][0]["message"]["content"]
        lines = [line[6:] for line in sent.text.splitlines() if line.startswith("data: {")]
        choices = [choice for line in lines for choice in json.loads(line)["choices"]]
        return "".join(choice["delta"].get("content", "") for choice in choices)

    with open_client(place) as client:
        data(say(client, REMEMBER))
        assert "Oslo" not in complete()
        assert complete(memory=True).endswith("Ann Lee lives in Oslo (since 2020-05). [M1]")
        listed = complete(memory=True, sources="markdown")
        assert "\n- [M1] Ann Lee lives in Oslo" in listed
        assert objects(client) == ["Oslo"], "a question stores nothing"


def test_clients_of_openai_see_only_the_facts_of_their_key(place):
    one, other = (add_key(place, name, "write", "open") for name in ("one", "other"))
    asked = {
        "model": "open",
        "messages": [{"role": "user", "content": WHERE}],
        "knotwork": {"memory": True},
    }
    with open_client(place) as client:
        data(say(client, REMEMBER, headers=one))
        for headers, knows in ((one, True), (other, False)):
            sent = client.post("/v1/chat/completions", json=asked, headers=headers).json()
            assert ("Oslo" in sent["choices"][0]["message"]["content"]) is knows
            assert bool(sent["knotwork"]["memory"]) is knows
