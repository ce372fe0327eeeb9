"""The map of a workspace: what is shown first, filters, neighbourhoods, facts and places."""

from __future__ import annotations

import numpy as np
import pytest
from tests.service.conftest import fill
from tests.service.serving import API, await_job, copy_index, make_settings, open_client

import knotwork
from knotwork._extensions.server.graph_map import MAP_SUFFIX, MapCache, build_map, load_places
from knotwork._extensions.server.server import ServerConfig
from knotwork._stores.urls import open_store

OPEN = f"{API}/workspaces/open"
CO_OCCURRENCE = "co-occurs with"


@pytest.fixture(scope="module")
def overview(client):
    return client.get(f"{OPEN}/graph").json()["data"]


def show(client, **asked):
    return client.get(f"{OPEN}/graph", params=asked).json()["data"]


def post(client, address, **asked):
    return client.post(f"{OPEN}/graph/{address}", json=asked).json()["data"]


def named(client, name):
    found = client.get(f"{OPEN}/entities", params={"name": name}).json()["data"]["entities"]
    return next(entity["id"] for entity in found if entity["name"] == name)


def test_it_opens_on_the_most_important_entities_and_stated_relations(overview):
    entities, edges = overview["part"]["entities"], overview["part"]["edges"]
    assert 0 < len(entities["id"]) <= 150
    assert len(entities["id"]) <= overview["total"] <= overview["entities"]
    for kind, chunks in zip(entities["type"], entities["chunks"], strict=True):
        assert kind or chunks > 1
        assert kind not in ("DATE", "NUMBER", "IDENTIFIER")
    assert not [name for name in entities["name"] if name[0].isdigit() or name.endswith(".md")]
    assert entities["importance"] == sorted(entities["importance"], reverse=True)
    assert CO_OCCURRENCE not in edges["relations"]
    assert all(edges["stated"])
    assert edges["anchors"] == []
    assert max(edges["source"] + edges["target"]) < len(entities["id"])


def test_dates_and_co_occurrences_are_shown_when_they_are_asked_for(client, overview):
    everything = show(client, minor=True, co_occurrence=True, limit=2_000)
    assert everything["total"] == everything["entities"] > overview["total"]
    assert "DATE" in everything["part"]["entities"]["type"]
    edges = everything["part"]["edges"]
    assert edges["stated"].count(False) == everything["part"]["co_occurrences"] > 0
    assert overview["part"]["co_occurrences"] > 0
    dates = show(client, types="DATE")["part"]["entities"]
    assert set(dates["type"]) == {"DATE"}


def test_filters_leave_what_fits_and_counts_say_what_else_there_is(client, overview):
    counts = {facet["name"]: facet["count"] for facet in overview["types"]["values"]}
    people = show(client, types="PERSON")
    assert set(people["part"]["entities"]["type"]) == {"PERSON"}
    assert len(people["part"]["entities"]["id"]) == counts["PERSON"]
    assert people["types"] == overview["types"]
    community = max(overview["communities"], key=lambda each: each["count"])
    inside = show(client, community=community["id"])
    assert inside["total"] == community["count"] > 0
    assert set(inside["part"]["entities"]["community"]) == {community["id"]}
    relation = overview["relation_names"]["values"][0]["name"]
    related = show(client, relations=relation)["part"]
    assert related["edges"]["relations"] == [relation]
    first = client.get(f"{OPEN}/documents").json()["data"]["documents"][0]["id"]
    assert 0 < show(client, document=first)["total"] < overview["total"]


@pytest.mark.parametrize("field", ["document", "community"])
def test_an_unknown_value_of_a_filter_is_reported(client, field):
    response = client.get(f"{OPEN}/graph", params={field: "none"})
    assert (response.status_code, response.json()["error"]["code"]) == (422, "invalid_request")


def test_neighbours_are_those_not_drawn_yet(client):
    keld = named(client, "Oriane Keld")
    part = post(client, "neighbours", entities=[keld], co_occurrence=True, limit=3)
    first = part["entities"]["id"]
    assert len(first) == 3 < part["entities_total"]
    assert keld in part["edges"]["anchors"]
    more = post(client, "neighbours", entities=[keld], co_occurrence=True, known=first, limit=3)
    assert not set(more["entities"]["id"]) & set(first)
    assert more["entities_total"] == part["entities_total"] - 3
    stated = post(client, "neighbours", entities=[keld])
    assert all(stated["edges"]["stated"])
    assert stated["entities_total"] < part["entities_total"]


def test_a_local_view_reaches_as_far_as_asked_and_can_avoid_hubs(client):
    keld = named(client, "Oriane Keld")
    around = [
        post(client, "neighbours", entities=[keld], depth=depth, co_occurrence=True, limit=300)
        for depth in (1, 2, 3)
    ]
    assert set(around[0]["entities"]["step"]) == {1}
    assert set(around[1]["entities"]["step"]) == {1, 2}
    totals = [part["entities_total"] for part in around]
    assert totals[0] < totals[1] <= totals[2]
    calm = post(
        client, "neighbours", entities=[keld], depth=3, co_occurrence=True, hubs=False, limit=300
    )
    assert calm["entities_total"] < totals[2]


def test_an_entity_has_facts_with_the_sentences_that_state_them(client):
    told = client.get(f"{OPEN}/graph/entities/{named(client, 'Oriane Keld')}").json()["data"]
    assert told["name"] == "Oriane Keld"
    assert told["x"] is not None
    assert told["communities"]
    facts = [row for row in told["relations"] if row["relation"] != CO_OCCURRENCE]
    assert facts
    assert told["relations"][: len(facts)] == facts
    for row in facts:
        stated = row["stated"]
        document = client.get(f"{OPEN}/documents/{stated['document_id']}").json()["data"]
        start, end = stated["span"]
        assert document["text"][start:end] == stated["text"]
    marked = [
        source["text"][start - source["span"][0] : end - source["span"][0]]
        for source in told["sources"]
        for start, end in source["marks"]
    ]
    assert "Keld" in " ".join(marked)


def test_paths_have_the_sentences_of_their_steps(client):
    asked = {"names": ["The Kestrel probe", "Tarnby"]}
    found = client.post(f"{OPEN}/paths", json=asked).json()["data"]
    sentences = {
        (each["source"], each["relation"], each["target"]): each for each in found["sentences"]
    }
    hops = [hop for path in found["paths"] for hop in path["hops"]]
    assert hops
    for hop in hops:
        ends = (hop["source"], hop["target"]) if hop["forward"] else (hop["target"], hop["source"])
        assert sentences[ends[0], hop["relation"], ends[1]]["text"]


@pytest.mark.parametrize(
    ("phrase", "name", "is_query"),
    [
        ("who was born in Tarnby?", "Oriane Keld", True),
        ("people born in Tarnby", "Oriane Keld", True),
        ("Oriane Keld", "Oriane Keld", False),
    ],
)
def test_a_phrase_finds_what_it_means(client, phrase, name, is_query):
    params = {"phrase": phrase}
    found = client.get(f"{OPEN}/graph/search", params=params).json()["data"]
    assert name in [entity["name"] for entity in found["entities"]]
    assert bool(found["statement"]) is is_query


def test_merged_entities_are_one(sample_index, tmp_path):
    place = fill(sample_index, tmp_path)
    with knotwork.open(tmp_path / "open.knot", settings=make_settings()) as base:
        before = {e.name: e for e in base.store.graph.entities(_ids(base)).values()}
        base.graph.correct("merge", "Oriane Keld", other="奥丽安·凯尔德")
    with open_client(place) as client:
        ids = [before["Oriane Keld"].id, before["奥丽安·凯尔德"].id]
        part = post(client, "entities", entities=ids)
        [kept] = part["entities"]["id"]
        assert part["merged"] == {key: kept for key in ids if key != kept}
        for key in ids:
            told = client.get(f"{OPEN}/graph/entities/{key}").json()["data"]
            names = {told["name"], *told["names"]}
            assert names >= {"Oriane Keld", "奥丽安·凯尔德"}
            # The map adds up the chunks of the names.
            assert part["entities"]["chunks"] == [sum(before[n].chunk_count for n in names)]
            assert "born in" in [row["relation"] for row in told["relations"]]


def _ids(base):
    return [node.id for node in base.store.graph.find(label="Entity", limit=1_000)]


def test_places_of_entities_match_the_map(client, overview):
    entities = overview["part"]["entities"]
    asked = [*entities["id"][:4], "0" * 16, "no id"]
    part = post(client, "entities", entities=asked)
    assert part["entities"]["id"] == entities["id"][:4]
    assert part["entities"]["x"] == entities["x"][:4]


def test_an_unchanged_map_is_not_sent_again(client):
    first = client.get(f"{OPEN}/graph")
    tag = {"If-None-Match": first.headers["etag"]}
    again = client.get(f"{OPEN}/graph", headers=tag)
    assert (again.status_code, again.content) == (304, b"")
    other = client.get(f"{OPEN}/graph", params={"limit": 2}, headers=tag)
    assert other.status_code == 200


def test_an_unknown_entity_is_reported(client):
    response = client.get(f"{OPEN}/graph/entities/none")
    assert response.json()["error"]["code"] == "not_found"
    asked = {"entities": ["none"]}
    response = client.post(f"{OPEN}/graph/neighbours", json=asked)
    assert response.json()["error"]["code"] == "not_found"


def test_entities_keep_their_places_when_documents_change(sample_index, tmp_path):
    place = fill(sample_index, tmp_path)
    kept = tmp_path / f"open.knot{MAP_SUFFIX}"
    with open_client(place) as client:
        before = client.get(f"{OPEN}/graph").json()["data"]
        assert kept.is_file()
        uri = client.get(f"{OPEN}/documents").json()["data"]["documents"][0]["uri"]
        job = client.post(f"{OPEN}/documents/delete", json={"documents": [uri]}).json()["data"]
        assert await_job(client, "open", job)["state"] == "finished"
        after = client.get(f"{OPEN}/graph").json()["data"]
        assert after["key"] != before["key"]
        places = [
            dict(zip(p["id"], zip(p["x"], p["y"], strict=True), strict=True))
            for p in (before["part"]["entities"], after["part"]["entities"])
        ]
        both = places[0].keys() & places[1].keys()
        assert len(both) > 10
        assert all(places[0][key] == places[1][key] for key in both)
        client.delete(OPEN)
        assert not kept.exists()


def test_a_server_that_only_reads_writes_no_map(sample_index, tmp_path):
    copy_index(sample_index, tmp_path / "open.knot")
    with open_client(ServerConfig(tmp_path, make_settings(), read_only=True)) as client:
        assert client.get(f"{OPEN}/graph").json()["data"]["entities"] > 50
    assert not list(tmp_path.glob(f"*{MAP_SUFFIX}"))


def test_a_map_that_cannot_be_read_is_made_again(sample_index, tmp_path, caplog):
    path = tmp_path / "x.map"
    path.write_bytes(b"PK\x03\x04 what a kill left")
    with knotwork.open(sample_index, read_only=True) as base:
        drawn = MapCache(path).current(base.store)
        assert "cannot read" in caplog.text
        assert len(load_places(path)) == len(drawn.entity_keys) > 50


def test_an_index_without_communities_has_a_map(tmp_path):
    from knotwork.demo import open_sample

    with open_sample() as folder, knotwork.open("memory:", settings=make_settings()) as base:
        base.index(folder)
        drawn = build_map(base.store)
        assert len(drawn.entity_keys) > 50
        assert np.isfinite(drawn.entity_places).all()
        assert drawn.community_ids == ()


def test_an_index_that_was_just_made_has_a_map_to_show(tmp_path):
    assert len(build_map(open_store("memory:")).entity_keys) == 0
    with open_client(ServerConfig(tmp_path, make_settings())) as client:
        client.post(f"{API}/workspaces", json={"name": "new"})
        data = client.get(f"{API}/workspaces/new/graph").json()["data"]
        assert (data["part"]["entities"]["id"], data["communities"], data["total"]) == ([], [], 0)
