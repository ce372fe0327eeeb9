"""The map of a workspace: drawn once, cut with a word, and of the index alone."""

from __future__ import annotations

import numpy as np
import pytest
from tests.service.conftest import fill
from tests.service.serving import API, await_job, copy_index, make_settings, open_client

import knotwork
from knotwork._extensions.server.graph_map import (
    MAP_SUFFIX,
    MapCache,
    build_map,
    load_map,
    map_key,
    save_map,
)
from knotwork._extensions.server.server import ServerConfig
from knotwork._stores.urls import open_store

OPEN = f"{API}/workspaces/open"


@pytest.fixture(scope="module")
def overview(client):
    return client.get(f"{OPEN}/graph").json()["data"]


def open_largest(client, overview, **asked):
    address = f"{OPEN}/graph/communities/{overview['communities']['id'][0]}"
    return client.get(address, params=asked).json()["data"]


def named(client, name):
    found = client.get(f"{OPEN}/entities", params={"name": name}).json()["data"]["entities"]
    return next(entity["id"] for entity in found if entity["name"] == name)


def test_an_overview_has_the_largest_communities_and_says_how_many_there_are(client, overview):
    listed = client.get(f"{OPEN}/communities", params={"level": 0, "limit": 500}).json()["data"]
    assert overview["total"] == len(listed["communities"]) == len(overview["communities"]["id"])
    titles = {item["id"]: item["title"] for item in listed["communities"]}
    shown = overview["communities"]
    assert dict(zip(shown["id"], shown["title"], strict=True)) == titles
    assert shown["size"] == sorted(shown["size"], reverse=True) == shown["matching"]
    assert sum(shown["size"]) == overview["entities"]
    few = client.get(f"{OPEN}/graph", params={"limit": 3}).json()["data"]
    assert few["communities"]["id"] == shown["id"][:3]
    assert (few["total"], few["order"]) == (overview["total"], "size")
    assert max(few["links"]["source"] + few["links"]["target"], default=0) < 3


def test_an_opened_community_has_entities_inside_its_circle_and_edges_among_them(client, overview):
    view = open_largest(client, overview)
    circle, entities, edges = view["circle"], view["part"]["entities"], view["part"]["edges"]
    assert len(entities["id"]) == min(30, view["part"]["entities_total"])
    away = np.hypot(
        np.array(entities["x"]) - circle["x"][0], np.array(entities["y"]) - circle["y"][0]
    )
    assert (away < circle["radius"][0]).all()
    assert edges["anchors"] == []
    assert max(edges["source"] + edges["target"]) < len(entities["id"])
    assert len(edges["source"]) <= view["part"]["edges_total"]
    assert edges["weight"] == sorted(edges["weight"], reverse=True)


def test_entities_are_cut_before_relations(client, overview):
    whole, cut = (open_largest(client, overview, limit=n) for n in (2000, 5))
    kept = cut["part"]["entities"]["id"]
    assert kept == whole["part"]["entities"]["id"][:5]
    ids, edges = whole["part"]["entities"]["id"], whole["part"]["edges"]
    among = [
        pair
        for pair in zip(edges["source"], edges["target"], strict=True)
        if {ids[pair[0]], ids[pair[1]]} <= set(kept)
    ]
    assert cut["part"]["edges_total"] == len(among)
    assert cut["part"]["entities_total"] == len(ids)


def test_filters_come_before_the_cut_and_counts_say_what_else_there_is(client, overview):
    kind = open_largest(client, overview)["types"]["values"][0]["name"]
    view = open_largest(client, overview, types=kind)
    assert set(view["part"]["entities"]["type"]) == {kind}
    counts = {facet["name"]: facet["count"] for facet in view["types"]["values"]}
    assert counts[kind] == view["part"]["entities_total"] == view["circle"]["matching"][0]
    assert sum(counts.values()) == view["circle"]["size"][0]
    strong = open_largest(client, overview, weight=2)["part"]
    assert min(strong["edges"]["weight"], default=2) >= 2
    ends = {i for column in ("source", "target") for i in strong["edges"][column]}
    assert ends == set(range(len(strong["entities"]["id"])))


def test_a_document_narrows_the_map_to_what_it_mentions(client, overview):
    document = client.get(f"{OPEN}/documents", params={"prefix": ""}).json()["data"]
    first = document["documents"][0]["id"]
    found = client.get(f"{OPEN}/graph", params={"document": first}).json()["data"]
    assert 0 < sum(found["communities"]["matching"]) < overview["entities"]
    missing = client.get(f"{OPEN}/graph", params={"document": "none"})
    assert (missing.status_code, missing.json()["error"]["code"]) == (422, "invalid_request")


def test_neighbours_come_by_weight_and_say_how_many_more_there_are(client):
    keld = named(client, "Oriane Keld")
    asked = {"entity": keld, "limit": 3}
    part = client.post(f"{OPEN}/graph/neighbours", json=asked).json()["data"]
    first = part["entities"]["id"]
    assert len(first) == 3 < part["entities_total"]
    drawn = first + part["edges"]["anchors"]
    ends = [(part["edges"][c][i]) for c in ("source", "target") for i in range(3)]
    assert keld in {drawn[i] for i in ends}
    more = client.post(
        f"{OPEN}/graph/neighbours", json={"entity": keld, "known": first, "limit": 3}
    ).json()["data"]
    assert not set(more["entities"]["id"]) & set(first)
    assert more["entities_total"] == part["entities_total"] - 3


def test_the_marks_of_an_entity_are_its_names_in_the_passages(client):
    told = client.get(f"{OPEN}/graph/entities/{named(client, 'Oriane Keld')}").json()["data"]
    assert told["name"] == "Oriane Keld"
    assert told["x"] is not None
    assert told["communities"]
    assert told["relations_total"] >= len(told["relations"]) > 0
    assert told["sources_total"] >= len(told["sources"]) > 0
    marked = [
        source["text"][start - source["span"][0] : end - source["span"][0]]
        for source in told["sources"]
        for start, end in source["marks"]
    ]
    assert "Keld" in " ".join(marked)
    for source in told["sources"]:
        document = client.get(f"{OPEN}/documents/{source['document_id']}").json()["data"]
        start, end = source["span"]
        assert document["text"][start:end] == source["text"]


def test_places_of_entities_match_the_map(client, overview):
    entities = open_largest(client, overview)["part"]["entities"]
    asked = {"entities": [*entities["id"][:4], "0" * 16, "no id"]}
    part = client.post(f"{OPEN}/graph/entities", json=asked).json()["data"]
    assert part["entities"]["id"] == entities["id"][:4]
    assert part["entities"]["x"] == entities["x"][:4]


def test_unchanged_elements_are_not_sent_again(client):
    first = client.get(f"{OPEN}/graph")
    tag = {"If-None-Match": first.headers["etag"]}
    again = client.get(f"{OPEN}/graph", headers=tag)
    assert (again.status_code, again.content) == (304, b"")
    other = client.get(f"{OPEN}/graph", params={"limit": 2}, headers=tag)
    assert other.status_code == 200


@pytest.mark.parametrize(
    ("address", "code"),
    [
        ("/graph?level=9", "invalid_request"),
        ("/graph/communities/none", "not_found"),
        ("/graph/entities/none", "not_found"),
    ],
)
def test_entities_missing_on_the_map_are_reported(client, address, code):
    response = client.get(f"{OPEN}{address}")
    assert response.json()["error"]["code"] == code


def test_a_map_is_kept_beside_the_index_and_drawn_anew_when_it_changes(sample_index, tmp_path):
    place = fill(sample_index, tmp_path)
    kept = tmp_path / f"open.knot{MAP_SUFFIX}"
    with open_client(place) as client:
        key = client.get(f"{OPEN}/graph").json()["data"]["key"]
        assert kept.is_file()
        written = kept.stat().st_mtime_ns
        assert client.get(f"{OPEN}/graph").json()["data"]["key"] == key
        uri = client.get(f"{OPEN}/documents").json()["data"]["documents"][0]["uri"]
        job = client.post(f"{OPEN}/documents/delete", json={"documents": [uri]}).json()["data"]
        assert await_job(client, "open", job)["state"] == "finished"
        assert kept.stat().st_mtime_ns > written  # by the job, before anybody asks
        after = client.get(f"{OPEN}/graph").json()["data"]
        assert after["key"] != key
        client.delete(OPEN)
        assert not kept.exists()


def test_a_server_that_only_reads_writes_no_map(sample_index, tmp_path):
    copy_index(sample_index, tmp_path / "open.knot")
    with open_client(ServerConfig(tmp_path, make_settings(), read_only=True)) as client:
        assert client.get(f"{OPEN}/graph").json()["data"]["entities"] > 50
    assert not list(tmp_path.glob(f"*{MAP_SUFFIX}"))


def test_a_map_that_cannot_be_read_is_drawn_anew(sample_index, tmp_path, caplog):
    path = tmp_path / "x.map"
    path.write_bytes(b"PK\x03\x04 what a kill left")
    with knotwork.open(sample_index, read_only=True) as base:
        drawn = MapCache(path).current(base.store)
        assert "cannot read" in caplog.text
        held = load_map(path)
        assert held is not None
        assert held.entity_names == drawn.entity_names
        assert (held.entity_places == drawn.entity_places).all()
        assert held.key == map_key(base.store)


def test_an_index_without_communities_has_an_empty_map(tmp_path):
    store = open_store("memory:")
    drawn = build_map(store, map_key(store))
    save_map(drawn, tmp_path / "empty.map")
    held = load_map(tmp_path / "empty.map")
    assert held is not None
    assert (held.levels, len(held.entity_keys)) == (0, 0)


def test_an_index_that_was_just_made_has_a_map_to_show(tmp_path):
    with open_client(ServerConfig(tmp_path, make_settings())) as client:
        client.post(f"{API}/workspaces", json={"name": "new"})
        data = client.get(f"{API}/workspaces/new/graph").json()["data"]
        assert (data["levels"], data["communities"]["id"], data["total"]) == ([], [], 0)
