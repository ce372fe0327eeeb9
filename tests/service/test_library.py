"""The files of a workspace: their states, those that need attention, and their metadata."""

from __future__ import annotations

import pytest
from tests.service.serving import API, await_job, make_settings, open_client, upload

from knotwork._extensions.server.server import ServerConfig

pytestmark = pytest.mark.slow

NEW = f"{API}/workspaces/new"
BROKEN = b"%PDF-1.4\n1 0 obj\nnothing follows\n%%EOF\n"
PLAN = """---
title: Plan
author: Ann Lee
date: 2023-05-01
tags: hr, pay
---

# Plan

Pay rises."""
NOTES = "# Notes\n\nIvo Brandt lights the lanterns at dusk."


@pytest.fixture
def place(tmp_path):
    return ServerConfig(tmp_path, make_settings())


@pytest.fixture
def new(place):
    """A client of a server with one empty workspace, `new`."""
    with open_client(place) as client:
        assert client.post(f"{API}/workspaces", json={"name": "new"}).status_code == 201
        yield client


def listed(client, **params):
    return client.get(f"{NEW}/documents", params=params).raise_for_status().json()["data"]


def send(client, files, **form):
    sent = upload(client, "new", files, data=form).raise_for_status().json()["data"]
    if sent["job"]:
        await_job(client, "new", sent["job"])
    return sent


def uris(found):
    return [file["uri"].removeprefix("uploads/") for file in found["documents"]]


def test_a_file_waits_until_a_job_has_read_it(new):
    send(new, {"plan.md": PLAN, "deep/notes.md": NOTES}, index="false")
    assert listed(new, state="ready")["total"] == 0
    waiting = listed(new, state="any")
    assert (uris(waiting), waiting["counts"]["waiting"]) == (["deep/notes.md", "plan.md"], 2)
    assert {file["state"] for file in waiting["documents"]} == {"waiting"}
    job = new.post(f"{NEW}/index", json={}).json()["data"]
    await_job(new, "new", job)
    found = listed(new, state="any", sort="title")
    assert [(file["title"], file["state"]) for file in found["documents"]] == [
        ("deep (Notes)", "ready"),
        ("Plan", "ready"),
    ]
    plan = found["documents"][1]
    assert (plan["author"], plan["date"], plan["tags"]) == ("Ann Lee", "2023-05-01", ["hr", "pay"])
    send(new, {"plan.md": PLAN + " More."}, index="false")
    assert uris(listed(new, state="waiting")) == ["plan.md"]


def test_a_waiting_file_can_be_removed(new, tmp_path):
    send(new, {"plan.md": PLAN, "notes.md": NOTES}, index="false")
    asked = {"documents": ["uploads/plan.md"]}
    job = new.post(f"{NEW}/documents/delete", json=asked).json()["data"]
    await_job(new, "new", job)
    assert uris(listed(new, state="any")) == ["notes.md"]
    for uri in ("uploads/../attention.json", "../new.knot", "uploads/a\x00b"):
        refused = new.post(f"{NEW}/documents/delete", json={"documents": [uri]})
        assert refused.status_code == 422
    assert (tmp_path / "new.knot").exists()


def test_lists_are_paged_sorted_and_filtered(new):
    send(new, {"plan.md": PLAN, "notes.md": NOTES, "zebra.txt": "Zebras are striped."})
    assert uris(listed(new, sort="-size"))[0] == "plan.md"
    assert uris(listed(new, sort="date"))[0] == "plan.md"
    assert uris(listed(new, sort="-date"))[0] == "plan.md"  # files without a date come last
    assert uris(listed(new, name="PLAN")) == ["plan.md"]
    assert uris(listed(new, where="tags = 'pay'")) == ["plan.md"]
    assert uris(listed(new, tag="pay")) == ["plan.md"]
    assert uris(listed(new, tag="other")) == []
    first = listed(new, limit=2)
    assert (first["total"], first["next"]) == (3, 2)
    assert uris(listed(new, start=2)) == ["zebra.txt"]
    unknown = new.get(f"{NEW}/documents", params={"sort": "colour"})
    assert unknown.status_code == 400
    assert "`title`" in unknown.json()["error"]["message"]


def test_files_that_were_not_taken_stay_in_one_list_until_they_are_dealt_with(place, tmp_path):
    with open_client(place) as new:
        new.post(f"{API}/workspaces", json={"name": "new"})
        send(new, {"plan.md": PLAN, "broken.pdf": BROKEN, "tool.md": b"\x7fELF\x00\x00\x01"})
        alone = upload(new, "new", {"empty.md": b" \n"})
        assert alone.status_code == 422
        send(new, {"notes.md": NOTES})
    with open_client(place) as new:
        found = listed(new, state="attention")
        told = {file["uri"]: file for file in found["documents"]}
        assert sorted(uris(found)) == ["broken.pdf", "empty.md", "tool.md"]
        assert found["counts"] == {"ready": 2, "failed": 1, "refused": 2, "attention": 3}
        broken, tool = told["uploads/broken.pdf"], told["uploads/tool.md"]
        assert (broken["state"], broken["error_reason"], broken["retry"]) == (
            "failed",
            "broken",
            False,
        )
        assert (tool["state"], tool["error_reason"]) == ("refused", "binary")
        assert tool["fix"] == "Convert it to text, PDF or an office format."
        send(new, {"tool.md": NOTES})
        asked = {"documents": ["uploads/broken.pdf", "uploads/empty.md"]}
        assert new.post(f"{NEW}/documents/dismiss", json=asked).status_code == 200
        assert listed(new, state="attention")["total"] == 0
        assert listed(new, state="failed")["documents"][0]["dismissed"]
        send(new, {"broken.pdf": BROKEN + b"\n"})
        assert uris(listed(new, state="attention")) == ["broken.pdf"]
        send(new, {"broken.pdf": b""} | {"x.md": NOTES})
        assert uris(listed(new, state="refused")) == ["broken.pdf"]


def test_metadata_is_edited_and_lasts_while_the_file_is_read_again(new):
    send(new, {"plan.md": PLAN, "notes.md": NOTES})
    plan = listed(new, name="plan")["documents"][0]
    url = f"{NEW}/documents/{plan['id']}"
    edit = {"title": "Pay in 2024", "author": "Bo", "date": "2024-02", "tags": ["wages", "2024"]}
    changed = new.patch(url, json=edit)
    assert changed.status_code == 200
    assert changed.json()["data"]["title"] == "Pay in 2024"

    def shown():
        found = next(f for f in listed(new)["documents"] if f["id"] == plan["id"])
        return {name: found[name] for name in edit}

    wanted = {**edit, "tags": sorted(edit["tags"])}
    assert shown() == wanted
    hits = new.post(f"{NEW}/search", json={"question": "Pay in 2024", "filters": "author = Bo"})
    assert hits.json()["data"]["hits"][0]["title"] == "Pay in 2024"
    send(new, {"plan.md": PLAN + "\n\nMore about pay."})
    assert shown() == wanted
    assert not new.get(f"{NEW}/documents", params={"where": "author = 'Ann Lee'"}).json()["data"][
        "total"
    ]
    new.patch(url, json={"author": "", "title": None}).raise_for_status()
    assert shown() == {**wanted, "author": "", "title": "Plan"}
    new.patch(url, json=dict.fromkeys(edit)).raise_for_status()
    own = {"title": "Plan", "author": "Ann Lee", "date": "2023-05-01", "tags": ["hr", "pay"]}
    assert shown() == own
    wrong = new.patch(url, json={"date": "soon"})
    assert (wrong.status_code, "is not a date" in wrong.json()["error"]["message"]) == (422, True)
    assert shown() == own
    assert new.patch(f"{NEW}/documents/0000", json={}).status_code == 404


def test_edits_go_with_the_document(new):
    send(new, {"plan.md": PLAN})
    plan = listed(new)["documents"][0]
    new.patch(f"{NEW}/documents/{plan['id']}", json={"author": "Bo"}).raise_for_status()
    await_job(new, "new", new.delete(f"{NEW}/documents/{plan['id']}").json()["data"])
    send(new, {"plan.md": PLAN})
    assert listed(new)["documents"][0]["author"] == "Ann Lee"
