"""Preferences between answers are kept, counted by pairs, and outlast the server."""

from __future__ import annotations

import pytest
from tests.service.serving import API, QUESTION, add_key, open_client

from knotwork._extensions.evaluation.metrics import compare_paired
from knotwork._extensions.server.server import ServerConfig

pytestmark = pytest.mark.slow


PREFERENCES = f"{API}/workspaces/open/preferences"


def prefer(client, retrievers, winner, **options):
    body = {"question": QUESTION, "retrievers": retrievers, "winner": winner}
    return client.post(PREFERENCES, json=body, **options)


def test_a_winner_is_preferred_to_each_of_the_others(place):
    with open_client(place) as client:
        for _ in range(5):
            assert prefer(client, ["graph", "bm25", "dense"], "graph").status_code == 201
        prefer(client, ["bm25", "graph"], None)
        prefer(client, ["bm25", "graph"], "bm25")
    with (place.path / "open.files" / "evaluations" / "preferences.jsonl").open("ab") as file:
        file.write(b'{"created": "2026')
    with open_client(place) as client:
        told = client.get(PREFERENCES, params={"limit": 2}).json()["data"]
        assert client.get(f"{API}/workspaces/open/evaluations").json()["data"]["total"] == 0
    assert told["total"] == 7
    assert [item["winner"] for item in told["latest"]] == ["bm25", None]
    first, second = told["pairs"]
    assert (first["first"], first["second"]) == ("bm25", "graph")
    assert (first["wins"], first["ties"], first["losses"]) == (1, 1, 5)
    expected = compare_paired([-1.0] * 5 + [0.0, 1.0], [0.0] * 7)
    assert first["p_value"] == pytest.approx(expected.p_value)
    assert (second["first"], second["second"], second["losses"]) == ("dense", "graph", 5)


def test_a_line_that_was_cut_off_costs_only_itself(place):
    file = place.path / "open.files" / "evaluations" / "preferences.jsonl"
    with open_client(place) as client:
        prefer(client, ["a", "b"], "a")
        file.write_bytes(file.read_bytes() + b'{"created": "2026')
        assert prefer(client, ["a", "b"], "b").status_code == 201
        listed = client.get(PREFERENCES).json()["data"]
    assert [item["winner"] for item in listed["latest"]] == ["b", "a"]


def test_a_preference_that_cannot_be_saved_is_an_error(place):
    (place.path / "open.files" / "evaluations" / "preferences.jsonl").mkdir(parents=True)
    with open_client(place) as client:
        refused = prefer(client, ["a", "b"], "a")
    assert refused.status_code == 500
    assert "could not be saved" in refused.json()["error"]["message"]
    assert str(place.path) not in refused.text


@pytest.mark.parametrize(
    ("retrievers", "winner", "told"),
    [
        (["graph", "bm25"], "dense", "must be one of"),
        (["graph", "graph"], None, "duplicate"),
        (["graph"], None, "at least 2"),
    ],
)
def test_what_is_no_preference_is_refused(client, retrievers, winner, told):
    refused = prefer(client, retrievers, winner)
    assert (refused.status_code, told in refused.json()["error"]["message"]) == (422, True)


def test_only_those_who_may_write_are_heard(place):
    reader = add_key(place, "r", "read", "open")
    with open_client(place) as client:
        assert prefer(client, ["a", "b"], "a", headers=reader).status_code == 403
        assert client.get(PREFERENCES, headers=reader).json()["data"]["total"] == 0
    with open_client(ServerConfig(place.path, place.settings, read_only=True)) as client:
        refused = prefer(client, ["a", "b"], "a", headers=add_key(place, "w", "write", "*"))
        assert refused.status_code == 409
