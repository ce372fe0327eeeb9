"""Corrections of the graph over HTTP: made by those who may write, told by author, and undone."""

from __future__ import annotations

import json

import pytest
from tests.cli.running import knotwork
from tests.service.serving import API, add_key, await_job, make_settings, open_client, upload

from knotwork._extensions.server.server import ServerConfig

pytestmark = pytest.mark.slow

CORRECTIONS = f"{API}/workspaces/one/corrections"
TEXT = "Ada Lovelace met Charles Babbage in London. Charles Babbage knew Mary Somerville."


@pytest.fixture
def place(tmp_path):
    return ServerConfig(tmp_path, make_settings())


@pytest.fixture
def served(place):
    with open_client(place) as client:
        client.post(f"{API}/workspaces", json={"name": "one"})
        sent = upload(client, "one", {"a.txt": TEXT})
        await_job(client, "one", sent.json()["data"]["job"])
        yield client


def correct(client, kind, entity, **said):
    headers = said.pop("headers", {})
    body = {"kind": kind, "entity": entity, **said}
    return client.post(CORRECTIONS, json=body, headers=headers)


def names(client, words):
    found = client.get(f"{API}/workspaces/one/entities", params={"name": words}).json()["data"]
    return [entity["name"] for entity in found["entities"]]


def test_a_correction_is_made_listed_and_undone(served):
    made = correct(served, "rename", "Ada Lovelace", name="Countess")
    assert made.status_code == 201
    data = made.json()["data"]
    assert data | {"id": "", "made": "", "entity_ids": []} == {
        "id": "",
        "kind": "rename",
        "entity": "Ada Lovelace",
        "other": "",
        "relation": "",
        "name": "Countess",
        "type": "",
        "was": "Ada Lovelace",
        "author": "local",
        "made": "",
        "entity_ids": [],
        "other_ids": [],
        "documents": [],
        "applied": True,
        "reason": "",
        "note": "",
    }
    for words in ("Countess", "Lovelace"):
        assert "Countess" in names(served, words)
    hidden = correct(served, "hide", "Mary Somerville").json()["data"]
    assert names(served, "Somerville") == []
    listed = served.get(CORRECTIONS).json()["data"]["corrections"]
    assert [found["kind"] for found in listed] == ["hide", "rename"]
    undone = served.delete(f"{CORRECTIONS}/{data['id']}").json()["data"]
    assert (undone["kind"], undone["applied"], undone["reason"]) == ("rename", False, "undone")
    assert "Ada Lovelace" in names(served, "Lovelace")
    shown = correct(served, "show", hidden["entity_ids"][0])
    assert shown.json()["data"]["id"] == hidden["id"]
    assert "Mary Somerville" in names(served, "Somerville")
    assert served.get(CORRECTIONS).json()["data"] == {"corrections": []}


def test_relations_and_merges_are_corrected(served):
    said = {"relation": "inspired", "other": "Ada Lovelace"}
    stated = correct(served, "add_relation", "Mary Somerville", **said).json()["data"]
    body = {"names": ["Mary Somerville", "Ada Lovelace"]}
    paths = served.post(f"{API}/workspaces/one/paths", json=body).json()["data"]["paths"]
    assert "inspired" in paths[0]["text"]
    assert correct(served, "remove_relation", "Mary Somerville", **said).json()["data"]["applied"]
    listed = served.get(CORRECTIONS).json()["data"]["corrections"]
    assert [(found["id"] == stated["id"], found["reason"]) for found in listed] == [
        (False, ""),
        (True, "replaced"),
    ]
    merged = correct(served, "merge", "Ada Lovelace", other="Mary Somerville").json()["data"]
    things = served.get(f"{API}/workspaces/one/names").json()["data"]["things"]
    assert {"Ada Lovelace", "Mary Somerville"} in [set(thing["names"]) for thing in things]
    served.delete(f"{CORRECTIONS}/{merged['id']}")
    assert correct(served, "split", "Ada Lovelace", other="Mary Somerville").json()["data"][
        "applied"
    ]


def test_a_name_is_divided_by_documents(served):
    said = {"name": "London, ship", "documents": ["uploads/a.txt"]}
    made = correct(served, "divide", "London", **said).json()["data"]
    assert (made["applied"], made["documents"]) == (True, said["documents"])
    assert names(served, "London") == ["London, ship"]
    served.delete(f"{CORRECTIONS}/{made['id']}")
    assert names(served, "London") == ["London"]


def test_the_author_is_the_key_and_only_writers_correct(place):
    reader = add_key(place, "reading", "read", "one")
    writer = add_key(place, "Ana", "write", "one")
    admin = add_key(place, "boss", "admin", "*")
    with open_client(place) as client:
        client.post(f"{API}/workspaces", json={"name": "one"}, headers=admin)
        sent = upload(client, "one", {"a.txt": TEXT}, headers=writer)
        await_job(client, "one", sent.json()["data"]["job"], headers=writer)
        refused = correct(client, "pin", "London", headers=reader)
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "not_permitted")
        made = correct(client, "pin", "London", headers=writer).json()["data"]
        assert made["author"] == "Ana"
        again = correct(client, "pin", "London", headers=admin).json()["data"]
        assert again == made
        listed = client.get(CORRECTIONS, headers=reader).json()["data"]["corrections"]
        assert listed == [made]
        assert client.delete(f"{CORRECTIONS}/{made['id']}", headers=reader).status_code == 403
        assert client.delete(f"{CORRECTIONS}/{made['id']}", headers=admin).status_code == 200


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({"kind": "hide", "entity": "Ada Lovelase"}, 400, "Ada Lovelace"),
        ({"kind": "rename", "entity": "London"}, 400, "needs `name`"),
        ({"kind": "burn", "entity": "London"}, 422, "kind"),
        ({"kind": "hide"}, 422, "entity"),
        ({"kind": "hide", "entity": "London", "reason": "x"}, 422, "reason"),
        ({"kind": "rename", "entity": "London", "name": "x" * 501}, 422, "name"),
    ],
)
def test_what_cannot_be_corrected_is_refused_in_words(served, body, status, words):
    refused = served.post(CORRECTIONS, json=body)
    assert (refused.status_code, words in refused.text) == (status, True), refused.text


def test_an_unknown_correction_is_not_found(served):
    missing = served.delete(f"{CORRECTIONS}/0123456789abcdef")
    assert (missing.status_code, missing.json()["error"]["code"]) == (404, "not_found")


def test_a_stated_relation_is_no_document_of_the_lists(served, place):
    root = f"{API}/workspaces/one"
    lists = ("documents", "guide")

    def listed():
        data = [served.get(f"{root}/{door}").json()["data"] for door in lists]
        return [(found["total"], json.dumps(found["documents"])) for found in data]

    before = listed()
    made = correct(
        served, "add_relation", "Ada Lovelace", relation="taught", other="Mary Somerville"
    )
    assert made.status_code == 201
    assert listed() == before
    index = str(place.path / "one.knot")
    (document,) = json.loads(knotwork("documents", "--store", index, "--json").out)["documents"]
    assert document["uri"].endswith("a.txt")
    found = served.post(f"{root}/search", json={"question": "Who taught Mary Somerville?"})
    assert "taught" in found.json()["data"]["hits"][0]["text"]
