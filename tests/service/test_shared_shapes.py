"""The command line, the HTTP API and the MCP tools describe the same results in the same way."""

from __future__ import annotations

import asyncio

import pytest
from mcp import Client
from tests.cli.running import knotwork
from tests.service.serving import API, QUESTION, copy_index, make_settings, open_client

import knotwork as package
from knotwork._extensions.server.server import ServerConfig
from knotwork.mcp_server import build_server

pytestmark = pytest.mark.slow


OPEN = f"{API}/workspaces/open"
RETRIEVER = "bm25"
ROWS = "MATCH (node)-[:MENTIONS]->(e:Entity) RETURN e.name AS name, score ORDER BY name LIMIT 3"
ASKED = {"question": QUESTION, "retriever": RETRIEVER, "retrieval_query": ROWS}


def printed(index, *arguments):
    """Run a command on an index, and return the object that it prints."""
    flags = ("--store", index, "--set", "embedding.model=hashing:64", "--json")
    return knotwork(*arguments, *flags).json


def returned(index, tool, **arguments):
    """Call an MCP tool on an index, and return its structured content."""

    async def call():
        async with (
            package.open_async(index, read_only=True, settings=make_settings()) as base,
            Client(build_server(base)) as client,
        ):
            return (await client.call_tool(tool, arguments)).structured_content

    return asyncio.run(call())


def sent(response):
    assert response.status_code == 200, response.text
    return response.json()["data"]


def without_times(value):
    """Return JSON without the keys that measure time."""
    if isinstance(value, dict):
        return {key: without_times(part) for key, part in value.items() if key != "seconds"}
    return [without_times(part) for part in value] if isinstance(value, list) else value


def located(passage):
    """Return a citation or hit with the keys that the MCP tools use for its position."""
    start, end = passage["span"]
    time = passage["time"] or {"start_s": None, "end_s": None}
    return {**passage, **time, "start": start, "end": end, "score": round(passage["score"], 4)}


def same_in(view, whole, *, but=frozenset()):
    """Return True if all keys of a view, but some, have the values of the whole object."""
    return {key: view[key] for key in view.keys() - but} == {
        key: whole[key] for key in view.keys() - but
    }


def test_an_answer_is_the_same_on_every_surface(client, sample_index):
    whole = sent(client.post(f"{OPEN}/ask", json=ASKED))
    assert whole.pop("reading") is None, "only a server reads files beside its answers"
    options = ("--retriever", RETRIEVER, "--retrieval-query", ROWS)
    assert without_times(printed(sample_index, "ask", QUESTION, *options)) == without_times(whole)
    view = returned(sample_index, "ask", **ASKED)
    assert whole["answered"]
    assert len(view["sources"]) == len(whole["citations"]) > 0
    assert len(view["results"]) == len(whole["results"]) == 1
    assert view["text"] == whole["answer"]
    assert same_in(view, whole, but={"text", "sources", "results"})
    for source, citation in zip(view["sources"], whole["citations"], strict=True):
        assert same_in(source, located(citation), but={"resource"})
    for rows, result in zip(view["results"], whole["results"], strict=True):
        assert same_in(rows, result)


def test_evidence_is_the_same_on_every_surface(client, sample_index):
    whole = sent(client.post(f"{OPEN}/search", json=ASKED))
    options = ("--retriever", RETRIEVER, "--retrieval-query", ROWS)
    shown = printed(sample_index, "search", QUESTION, *options)
    assert shown.pop("query") == QUESTION
    assert without_times(shown) == without_times(whole)
    view = returned(sample_index, "search", **ASKED, k=len(whole["hits"]))
    assert same_in(view, whole, but={"passages", "paths", "results"})
    assert len(view["passages"]) == len(whole["hits"]) > 0
    for passage, hit in zip(view["passages"], whole["hits"], strict=True):
        assert same_in(passage, located(hit), but={"resource"})
    for rows, result in zip(view["results"], whole["results"], strict=True):
        assert same_in(rows, result)


def test_paths_are_the_same_on_every_surface(client, sample_index):
    one, other = "Oriane Keld", "Bram Ostrand"
    whole = sent(client.post(f"{OPEN}/paths", json={"names": [one, other]}))
    assert whole.pop("sentences")
    assert printed(sample_index, "graph", "shortest-paths", one, other) == whole
    view = returned(sample_index, "shortest_paths", one=one, other=other)
    assert whole["paths"]
    for short, path in zip(view["paths"], whole["paths"], strict=True):
        assert (short["text"], len(short["links"])) == (path["text"], len(path["hops"]))


def test_a_neighbourhood_is_the_same_on_every_surface(client, sample_index):
    whole = sent(client.post(f"{OPEN}/explore", json={"names": ["Oriane Keld"]}))
    shown = printed(sample_index, "explore", "Oriane Keld")
    assert (shown["edges"], shown["is_cut"]) == (whole["edges"], whole["is_cut"])
    assert shown["nodes"] == [
        {**node["properties"], **{key: node[key] for key in ("id", "label", "name")}}
        for node in whole["nodes"]
    ]
    view = returned(sample_index, "explore", names=["Oriane Keld"])
    assert len(view["relations"] + view["co_occurrences"]) == len(whole["edges"]) > 0
    for thing, node in zip(view["things"], whole["nodes"], strict=True):
        assert same_in(thing, node, but={"type"})


def test_communities_are_the_same_on_every_surface(client, sample_index):
    whole = sent(client.get(f"{OPEN}/communities", params={"limit": 3}))["communities"]
    assert printed(sample_index, "communities", "-n", 3)["communities"] == whole
    view = returned(sample_index, "communities", limit=3)["communities"]
    assert whole
    for short, community in zip(view, whole, strict=True):
        assert same_in(short, community, but={"members", "findings", "resource"})
        assert short["members"] == [member["name"] for member in community["members"][:8]]
        assert [finding["text"] for finding in short["findings"]] == [
            finding["text"] for finding in community["findings"]
        ]


def test_merged_names_are_the_same_on_every_surface(sample_index, tmp_path):
    index = tmp_path / "open.knot"
    copy_index(sample_index, index)
    with package.open(index, settings=make_settings()) as base:
        base.graph.correct("merge", "Oriane Keld", other="Bram Ostrand")
        base.graph.correct("split", "Oriane Keld", other="Skarrow Station")
    with open_client(ServerConfig(tmp_path, make_settings())) as client:
        whole = sent(client.get(f"{OPEN}/names"))
    shown = printed(index, "graph", "names", "--limit", 100)
    view = returned(index, "names")
    # Another two are one by what a text of the sample says: 奥丽安·凯尔德（Oriane Keld）.
    assert (len(whole["things"]), len(whole["apart"])) == (2, 1)
    for merged, listed, short in zip(whole["things"], shown["things"], view["things"], strict=True):
        assert same_in(short, merged)
        assert same_in(merged, listed)
    assert whole["apart"] == shown["apart"]
    for short, pair in zip(view["apart"], whole["apart"], strict=True):
        assert same_in(short, pair)
