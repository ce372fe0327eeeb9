"""Rights for each document: a key with a filter learns nothing of what the filter excludes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.service.serving import API, add_key, make_settings, open_client
from tests.service.test_access import BODIES, FILES, operations

import knotwork
from knotwork._extensions.server.keys import KeyFile, KeyRole
from knotwork._extensions.server.server import ServerConfig
from knotwork._extensions.server.workspaces import read_rights, readable_part
from knotwork.agents import ask_agent
from knotwork.errors import ConfigError, FilterError
from knotwork.testing import ScriptedChatModel

pytestmark = pytest.mark.slow

SECRETS = (
    "zebrafinch",
    "quennell",
    "papers/boardroom.md",
    "hushfield",
    "vaultgraph",
    "redacted.pdf",
)
"""Words, names, uris and fields that only excluded documents have."""

PAPERS = {
    "meadow.md": "---\nteam: sales\n---\n# Meadow\n\nAnn Teal founded Meadow Ltd. in Oslo. "
    "Ann Teal works for Meadow Ltd. Meadow Ltd. sells hay. See [[the plan]].\n",
    "oslo.md": "---\npublic: true\n---\n# Oslo\n\nMeadow Ltd. rents barns in Oslo from Cy Dunn.\n",
    "boardroom.md": "---\nteam: board\nhushfield: zebrafinch\naliases: the plan\n---\n"
    "# Zebrafinch\n\nAnn Teal leads Zebrafinch Corp. in Oslo. "
    "Ivo Quennell founded Zebrafinch Corp. in 2019. I. Quennell works for Meadow Ltd. "
    "Hay: [[meadow]].\n",
    "zebrafinch.csv": "Zebrafinch,Amount\nQuennell,5\nTeal,7\n",
    "redacted.pdf": "not a PDF",
}
WHERE = "team = sales or public = true"
ASKED = (
    "Who leads Zebrafinc Corp?",
    "What does Ann Teal do in Oslo?",
    "How many documents are there?",
)
WORDS = ("Zebrafinc", "Ann Teal", "Quennel")
BOARDROOM = "knotwork://documents/papers/boardroom.md"
MCP: dict[str, list[dict[str, Any]]] = {
    "search": [{"question": question} for question in ASKED],
    "paths": [{"question": "How is Ann Teal related to Oslo?"}],
    "ask": [{"question": q, "mode": mode} for q in ASKED for mode in ("auto", "global", "local")]
    + [{"question": ASKED[1], "where": "hushfiel = 1"}],
    "explore": [{"names": [word]} for word in WORDS],
    "shortest_paths": [{"one": "Ann Teal", "other": word} for word in ("Oslo", *WORDS)],
    "communities": [{}, {"about": "Oslo"}],
    "names": [{}, {"about": ["Quennel"]}],
    "cypher": [
        {"statement": "MATCH (n) RETURN n"},
        {"statement": "MATCH ()-[r]->() RETURN r"},
        {"statement": "MATCH (n) RETURN n", "graph": "vaultgraf"},
    ],
}


class Served(NamedTuple):
    """A server with a workspace, the headers of a key with a filter, and of one without."""

    client: Any
    bound: dict[str, str]
    free: dict[str, str]
    ids: dict[str, list[str]]


@pytest.fixture
def served(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Served]:
    url = request.getfixturevalue("postgres_url") if request.param == "postgres" else ""
    place = ServerConfig(tmp_path / "default.knot", make_settings(), url=url)
    papers, graph = tmp_path / "papers", tmp_path / "vaultgraph.tsv"
    papers.mkdir()
    for name, text in PAPERS.items():
        (papers / name).write_text(text, encoding="utf-8")
    graph.write_text("Zebrafinch Corp.\towns\tQuennell House\n", encoding="utf-8")
    with knotwork.open(url or place.path, settings=make_settings()) as base:
        base.index(papers)
        base.graph.import_files(graph, name="vaultgraph")
        base.entities.find_aliases()
        base.graph.correct("merge", "Ann Teal", other="Ivo Quennell")
        base.communities.update()
        levels = base.store.capabilities.communities.levels()
        ids = {
            "document": [entry.document_id for entry in base.documents() if not entry.error],
            "entity": [
                str(row[0]) for row in base.graph.cypher("MATCH (e:Entity) RETURN e.id").rows
            ],
            "community": [key for level in levels for key in level],
        }
    _, token = KeyFile(place.keys_path).add(
        "bound", role=KeyRole.READ, workspaces=["*"], where=WHERE
    )
    bound = {"Authorization": f"Bearer {token}"}
    with open_client(place) as client:
        yield Served(client, bound, add_key(place, "free", "admin", "*"), ids)


def bodies_for(name: str, ids: dict[str, list[str]]) -> list[dict[str, Any]]:
    """Return the bodies to send to a route."""
    questions = [{"question": question} for question in ASKED]
    asked = [{"question": ASKED[1], "mode": mode} for mode in ("global", "drift", "hybrid")]
    asked += [{"question": ASKED[1], "filters": f} for f in ("hushfiel = 1", "not team = sales")]
    asked += [{"question": ASKED[0], "retriever": f"text_to_{name}"} for name in ("sql", "cypher")]
    asked += [{"question": "What is the Amount of Quennel?"}]
    asked += [{"question": ASKED[1], "retrieval_query": "MATCH (node)--(m)--(n) RETURN m, n"}]
    messages = [{"message": question} for question in ASKED]
    said = [[{"role": "user", "content": question}] for question in ASKED]
    chat = [{"model": "default", "messages": m, "knotwork": {"sources": "markdown"}} for m in said]
    return {
        "search_passages": questions,
        "list_related": [{**asked, "citations": []} for asked in questions],
        "ask_agent": questions,
        "ask_question": questions + asked,
        "stream_answer": questions + asked,
        "chat": messages,
        "stream_chat": messages,
        "explore_graph": [{"names": [word], "depth": 3} for word in WORDS],
        "find_paths": [{"names": ["Ann Teal", word]} for word in ("Oslo", *WORDS)],
        "run_statement": MCP["cypher"],
        "find_neighbours": [{"entities": [entity]} for entity in ids["entity"]],
        "place_entities": [{"entities": ids["entity"]}],
        "complete_chat": chat + [{**body, "stream": True} for body in chat],
    }.get(name, [BODIES.get(name, {})])


def sent_to(operation: dict[str, Any], ids: dict[str, list[str]]) -> Iterator[tuple[Any, ...]]:
    """Yield what to send to a route: values for its path, its query, and options of the client."""
    name = operation["operationId"]
    placed = [p["name"] for p in operation.get("parameters", []) if p["in"] == "path"]
    known = next((key for key in placed if key in ids), "")
    keys = ("name", "about", "phrase")
    queries = [{}] if known else [{}, *(dict.fromkeys(keys, word) for word in WORDS)]
    for identifier in ids.get(known, ["0123456789abcdef"]):
        values = dict.fromkeys(placed, identifier)
        values |= {"workspace": "default", "model": "default"}
        if name in FILES:
            yield values, {}, {"files": [FILES[name]]}
        elif "requestBody" in operation:
            yield from ((values, {}, {"json": body}) for body in bodies_for(name, ids))
        else:
            yield from ((values, query, {}) for query in queries)


def replies(served: Served, headers: dict[str, str]) -> Iterator[tuple[str, int, str]]:
    """Yield the name of each route, and status and text of each reply."""
    document = served.client.get(f"{API}/openapi.json", headers=served.free).json()
    for method, path, operation in operations(document):
        name = operation["operationId"]
        if headers is served.free and name not in SHOWING:
            continue  # it may change the index
        for values, query, options in sent_to(operation, served.ids):
            address = path.format(**values)
            response = served.client.request(
                method, address, params=query, headers=headers, **options
            )
            yield name, response.status_code, response.text


def mcp_replies(served: Served, headers: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield each tool and method with the text of its reply, without what was sent."""
    accepted = {**headers, "Accept": "application/json, text/event-stream"}
    uris = [f"knotwork://reports/{key}" for key in served.ids["community"]]
    calls: list[tuple[str, dict[str, Any]]] = [
        *(("tools/call", {"name": n, "arguments": each}) for n in MCP for each in MCP[n]),
        *(("resources/read", {"uri": uri}) for uri in (BOARDROOM, *uris)),
        ("resources/list", {}),
    ]
    for method, given in calls:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": given}
        text = served.client.post("/mcp/default", json=body, headers=accepted).text
        name = given.get("name", method)
        echoed = (BOARDROOM, "Unknown document `papers/boardroom.md`")
        yield name, text.replace(echoed[0], "").replace(echoed[1], "") if "read" in name else text


def told_in(text: str) -> list[str]:
    return [secret for secret in SECRETS if secret in text.casefold()]


SHOWING = {
    *("search_passages", "ask_question", "stream_answer", "ask_agent", "chat", "stream_chat"),
    *("list_documents", "show_document", "list_contents", "list_fields", "describe_workspace"),
    *("explore_graph", "find_entities", "find_paths", "list_names", "list_communities"),
    *("run_statement", "show_map", "search_map", "find_neighbours", "place_entities"),
    *("show_entity", "list_graphs", "complete_chat", "show_community"),
    *("show_guide", "get_original"),
}
"""Routes that show a key without a filter what the other one must not see."""

REFUSED = {
    *("list_jobs", "show_job", "follow_job", "tell_usage", "tell_metrics"),
    *("list_evaluations", "show_evaluation", "compare_evaluations"),
}
"""Routes that read, but are about all documents."""


@pytest.mark.parametrize(
    "served", ["file", pytest.param("postgres", marks=pytest.mark.nightly)], indirect=True
)
def test_no_route_shows_anything_of_an_excluded_document(served: Served) -> None:
    shown: dict[str, list[str]] = {}
    statuses: dict[str, set[int]] = {}
    for name, status, text in replies(served, served.bound):
        statuses.setdefault(name, set()).add(status)
        if told := told_in(text):
            shown.setdefault(name, []).append(f"{told}: {text[:1_500]}")
    assert not shown, json.dumps(shown, indent=1)
    writing = {*FILES, *(set(BODIES) & {"delete_documents", "reindex_documents"})}
    for name in REFUSED | writing | {"delete_workspace", "cancel_job", "add_facts"}:
        assert statuses[name] == {403}, (name, statuses[name])
    unread = {name for name in SHOWING - {"list_graphs"} if 200 not in statuses[name]}
    assert not unread
    assert not any(status >= 500 for found in statuses.values() for status in found), statuses
    free = {name for name, _, text in replies(served, served.free) if told_in(text)}
    assert free == SHOWING - {"describe_workspace"}


@pytest.mark.parametrize("served", ["file", "postgres"], indirect=True)
def test_no_tool_or_resource_shows_anything_of_an_excluded_document(served: Served) -> None:
    shown = [(name, text) for name, text in mcp_replies(served, served.bound) if told_in(text)]
    assert not shown
    free = {name for name, text in mcp_replies(served, served.free) if told_in(text)}
    assert free >= MCP.keys() - {"paths"} | {"resources/list", "resources/read"}


def listed(client: Any, headers: dict[str, str]) -> set[str]:
    found = client.get(f"{API}/workspaces/default/documents", headers=headers).json()["data"]
    assert found["total"] == len(found["documents"])
    return {document["uri"].rpartition("/")[2] for document in found["documents"]}


def served_files(tmp_path: Path, files: dict[str, str]) -> ServerConfig:
    (tmp_path / "papers").mkdir()
    for name, text in files.items():
        (tmp_path / "papers" / name).write_text(text, encoding="utf-8")
    place = ServerConfig(tmp_path / "default.knot", make_settings())
    with knotwork.open(place.path, settings=make_settings()) as base:
        base.index(tmp_path / "papers")
    return place


def bind(place: ServerConfig, where: str) -> dict[str, str]:
    keys = KeyFile(place.keys_path)
    _, token = keys.add(where, role=KeyRole.READ, workspaces=["*"], where=where)
    return {"Authorization": f"Bearer {token}"}


MARKED = {
    "a.md": "---\nteam: sales\n---\nAnn Teal sells hay.\n",
    "b.md": "---\nteam: board\n---\nBo Quill sells hay.\n",
    "c.md": "Cy Dunn sells hay.\n",
}


@pytest.mark.parametrize(
    ("where", "readable"),
    [
        ("team = sales", "a"),
        ("team = sales or public = true", "a"),
        ("public = true or team = sales", "a"),
        ("public = true", ""),
        ("not public = true", ""),
        ("public is not set", ""),
        ("team = sales and public = true", ""),
        ("not (team = board or public = true)", ""),
        ("not (team = board and public = true)", "ac"),
        ("not (not (public = true or team = board))", "b"),
        ("not (not (public = true and team = board))", ""),
        ("team != board", "ac"),
        ("path = a.md or path = c.md", "ac"),
    ],
)
def test_a_field_that_no_document_has_admits_none(
    marked: ServerConfig, where: str, readable: str
) -> None:
    with knotwork.open(marked.path, settings=marked.settings, read_only=True) as base:
        part = readable_part(base, where)
        assert {entry.uri.rpartition("/")[2][0] for entry in part.documents()} == set(readable)
        assert part.stats().documents == part.stats().chunks == len(readable)
        assert len(part.search("Who sells hay?").hits) == len(readable)


@pytest.fixture(scope="module")
def marked(tmp_path_factory: pytest.TempPathFactory) -> ServerConfig:
    return served_files(tmp_path_factory.mktemp("marked"), MARKED)


@pytest.mark.parametrize("where", ["", "  ", "team =", "page = 3", "team = a and not page = 3"])
def test_a_filter_of_nothing_or_of_pages_is_refused(where: str) -> None:
    with pytest.raises(FilterError):
        read_rights(where)


def test_a_key_with_a_filter_can_only_read(tmp_path: Path) -> None:
    keys = KeyFile(tmp_path / "keys.json")
    with pytest.raises(ConfigError, match="only read"):
        keys.add("a", role=KeyRole.WRITE, workspaces=["*"], where="team = sales")
    key, token = keys.add("a", role=KeyRole.READ, workspaces=["*"], where="team = sales")
    text = keys.path.read_text(encoding="utf-8")
    keys.path.write_text(text.replace('"role": "read"', '"role": "admin" '), encoding="utf-8")
    assert KeyFile(keys.path).find(token) == key


def test_filters_of_requests_are_added_to_the_filter_of_the_key(tmp_path: Path) -> None:
    place = served_files(tmp_path, MARKED)
    headers = bind(place, "team != board")
    for wanted, found in (("path = a.md", "a"), ("team = board", ""), ("not path = a.md", "c")):
        asked = {"question": "Who sells hay?", "filters": wanted, "k": 9}
        with open_client(place) as client:
            reply = client.post(f"{API}/workspaces/default/search", json=asked, headers=headers)
        hits = reply.json()["data"]["hits"]
        assert {hit["document"].rpartition("/")[2][0] for hit in hits} == set(found), reply.text


def test_a_document_that_changes_hands_is_lost_at_once(tmp_path: Path) -> None:
    place = served_files(tmp_path, MARKED)
    sales, board = bind(place, "team = sales"), bind(place, "team = board")
    with open_client(place) as client:
        assert (listed(client, sales), listed(client, board)) == ({"a.md"}, {"b.md"})
        given = MARKED["a.md"].replace("sales", "board", 1)
        (tmp_path / "papers" / "a.md").write_text(given, encoding="utf-8")
        with knotwork.open(place.path, settings=make_settings()) as base:
            base.index(tmp_path / "papers")
        assert (listed(client, sales), listed(client, board)) == (set(), {"a.md", "b.md"})
        asked = {"question": "Who sells hay?"}
        reply = client.post(f"{API}/workspaces/default/ask", json=asked, headers=sales)
        assert "Teal" not in reply.text


def test_a_model_sees_nothing_of_an_excluded_document(tmp_path: Path) -> None:
    place = served_files(tmp_path, PAPERS)
    model = ScriptedChatModel("Ann Teal founded Meadow Ltd. [1]")
    with knotwork.open(place.path, settings=place.settings) as base:
        base.communities.update()
        store = readable_part(base, WHERE).store
        with knotwork.open(store, settings=place.settings, chat_model=model) as part:
            for mode in ("auto", "basic", "local", "global", "map-reduce", "hybrid", "drift"):
                for asked in ASKED[1:]:
                    assert not told_in(repr(part.ask(asked, mode=mode)))
            assert not told_in(repr(ask_agent(part, ASKED[1])))
    assert model.requests
    assert not told_in(repr(model.requests))
