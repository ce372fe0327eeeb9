"""The official client of the Model Context Protocol against a running server, with its keys."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import httpx2
import jsonschema
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from tests.service.conftest import fill
from tests.service.serving import (
    API,
    QUESTION,
    add_key,
    await_job,
    make_settings,
    open_client,
    run_server,
    upload,
)

from knotwork._extensions.server.server import ServerConfig

pytestmark = pytest.mark.slow


TIMEOUT_S = 30
CALLS = {
    "search": {"question": QUESTION, "k": 3},
    "paths": {"question": "How is Oriane Keld related to Skarrow Station?"},
    "ask": {"question": QUESTION},
    "explore": {"names": ["Oriane Keld"]},
    "shortest_paths": {"one": "Oriane Keld", "other": "Bram Ostrand"},
    "communities": {"limit": 2},
    "names": {},
    "cypher": {"statement": "MATCH (e:Entity) RETURN e.name AS name ORDER BY name", "limit": 3},
}
NAMES = ["Quill Marsh", "Tess Orlan"]


@pytest.fixture(scope="module")
def served(sample_index, tmp_path_factory):
    """The address of a server, and headers of keys for one workspace, the other, and both."""
    place = fill(sample_index, tmp_path_factory.mktemp("assisted"))
    keys = {
        "open": add_key(place, "o", "read", "open"),
        "hidden": add_key(place, "h", "read", "hidden"),
        "both": add_key(place, "b", "admin", "*"),
    }
    with run_server(place) as address:
        yield address, keys


@asynccontextmanager
async def connect(address, headers, mode="auto"):
    async with (
        httpx2.AsyncClient(headers=headers, timeout=TIMEOUT_S) as http,
        Client(
            streamable_http_client(address, http_client=http),
            mode=mode,
            read_timeout_seconds=TIMEOUT_S,
        ) as client,
    ):
        yield client


def use(address, headers, action, mode="auto"):
    async def run():
        async with connect(address, headers, mode) as client:
            return await action(client)

    return asyncio.run(run())


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_every_tool_answers_as_it_promises(served, mode):
    address, keys = served

    async def action(client):
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert tools.keys() == CALLS.keys()
        assert all(tool.annotations.read_only_hint for tool in tools.values())
        for name, arguments in CALLS.items():
            result = await client.call_tool(name, arguments)
            assert not result.is_error, (name, result.content)
            jsonschema.validate(result.structured_content, tools[name].output_schema)
            assert result.content[0].text
        return await client.call_tool("ask", CALLS["ask"])

    answer = use(f"{address}/mcp/open", keys["open"], action, mode).structured_content
    with httpx2.Client(base_url=address, headers=keys["open"]) as client:
        body = {"question": QUESTION}
        told = client.post(f"{API}/workspaces/open/ask", json=body).json()["data"]
    assert answer["text"] == told["answer"]


def test_citations_are_resources_that_contain_them(served):
    address, keys = served
    steps = []

    async def note(progress, _total, message):
        steps.append((progress, message))

    async def action(client):
        answer = await client.call_tool("ask", CALLS["ask"], progress_callback=note)
        source = answer.structured_content["sources"][0]
        (content,) = (await client.read_resource(source["resource"])).contents
        assert content.text == source["quote"]
        listed = (await client.list_resources()).resources
        assert {resource.uri.split("/")[2] for resource in listed} == {"documents", "reports"}
        unknown = await client.call_tool("explore", {"names": ["Oriane Keldd"]})
        assert (unknown.is_error, "Oriane Keld" in unknown.content[0].text) == (True, True)

    use(f"{address}/mcp/open", keys["open"], action)
    assert steps
    assert "passages found" in steps[0][1]


def requests_of_everything(tools):
    """Yield a request for each thing that a client can ask."""
    for name, arguments in tools.items():
        yield "tools/call", {"name": name, "arguments": arguments}
    for method in ("initialize", "tools/list", "resources/list", "resources/templates/list"):
        yield method, {}
    yield "resources/read", {"uri": "knotwork://documents/sample/en/travel-policy.docx"}


def test_a_key_reaches_its_workspace_and_no_other(served):
    address, keys = served

    async def list_tools(client):
        return [tool.name for tool in (await client.list_tools()).tools]

    assert use(f"{address}/mcp", keys["open"], list_tools) == list(CALLS)
    accept = {"Accept": "application/json, text/event-stream"}

    def send(path, headers, method="tools/list", params=None, verb="POST"):
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
        return client.request(verb, path, json=body, headers={**accept, **headers})

    with httpx2.Client(base_url=address, timeout=TIMEOUT_S) as client:
        for method, params in requests_of_everything(CALLS):
            asked = (keys["open"], method, params)
            hidden, absent = (send(f"/mcp/{name}", *asked) for name in ("hidden", "absent"))
            assert hidden.status_code == absent.status_code == 404
            texts = [str(response.json()["error"]) for response in (hidden, absent)]
            assert texts[0].replace("hidden", "absent") == texts[1]
            assert send("/mcp/open", {}, method, params).status_code == 401
        wrong = {"Authorization": "Bearer kw_000000000000_" + "A" * 43}
        assert send("/mcp/open", wrong).status_code == 401
        many = send("/mcp", keys["both"])
        assert (many.status_code, "/mcp/WORKSPACE" in many.json()["error"]["fix"]) == (422, True)
        for verb in ("GET", "DELETE"):
            assert send("/mcp/open", keys["open"], verb=verb).status_code == 405
        found = send("/mcp/open", keys["open"], "tools/call", {"name": "names", "arguments": {}})
        assert found.status_code == 200
        assert found.headers["cache-control"].startswith(("no-store", "no-cache"))
        assert found.headers["x-content-type-options"] == "nosniff"
        counted = client.get("/metrics", headers=keys["both"]).text
    assert 'route="/mcp/{workspace}"' in counted
    assert "hidden" not in counted


def test_a_page_of_another_origin_gets_nothing_where_there_are_no_keys(sample_index, tmp_path):
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    accept = {"Accept": "application/json, text/event-stream"}
    with run_server(fill(sample_index, tmp_path)) as address:
        for headers in ({"Origin": "https://evil.example"}, {"Host": "rebound.example"}):
            refused = httpx2.post(f"{address}/mcp/open", json=body, headers={**accept, **headers})
            assert refused.status_code == 401
        assert httpx2.post(f"{address}/mcp/open", json=body, headers=accept).status_code == 200


def test_many_assistants_at_once_see_each_their_own_documents(tmp_path):
    """What belongs to a request is never mixed with what belongs to another under way."""
    place = ServerConfig(tmp_path, make_settings(open_indexes=1, threads=4))
    with open_client(place) as client:
        for number, name in enumerate(NAMES):
            client.post(f"{API}/workspaces", json={"name": f"w{number}"})
            text = f"# Travel\n\n{name} approves trips abroad. {name} lives in Harbour {number}."
            job = upload(client, f"w{number}", {"travel.md": text}).json()["data"]["job"]
            assert await_job(client, f"w{number}", job)["state"] == "finished"
    keys = [add_key(place, name, "read", f"w{n}") for n, name in enumerate(NAMES)]

    async def ask(address, number):
        calls = [
            ("ask", {"question": QUESTION}),
            ("search", {"question": QUESTION}),
            ("explore", {"names": [NAMES[number]]}),
            ("cypher", {"statement": "MATCH (e:Entity) RETURN e.name AS name"}),
        ]
        async with connect(f"{address}/mcp", keys[number]) as client:
            results = await asyncio.gather(*(client.call_tool(*call) for call in calls * 2))
            listed = (await client.list_resources()).resources
            read = await client.read_resource(listed[-1].uri)
        return [str(result.structured_content) for result in results] + [read.contents[0].text]

    async def run(address):
        return await asyncio.gather(*(ask(address, n % 2) for n in range(6)))

    with run_server(place) as address:
        for number, texts in enumerate(asyncio.run(run(address))):
            for text in texts:
                assert NAMES[number % 2] in text
                assert NAMES[1 - number % 2] not in text


def test_the_limits_of_the_server_hold_for_assistants(sample_index, tmp_path):
    place = fill(sample_index, tmp_path)
    strict = ServerConfig(place.path, make_settings(question_chars=20))
    with run_server(strict) as address:

        async def action(client):
            return await client.call_tool("ask", {"question": QUESTION})

        refused = use(f"{address}/mcp/open", {}, action)
        assert (refused.is_error, "too_large" in refused.content[0].text) == (True, True)
        with httpx2.Client(base_url=address) as client:
            large = client.post(
                "/mcp/open",
                content=b"x" * 1_100_000,
                headers={"Accept": "application/json", "Content-Type": "application/json"},
            )
            assert large.status_code == 413


def test_without_the_sdk_the_extra_is_named(sample_index, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "mcp.server.mcpserver", None)
    with open_client(fill(sample_index, tmp_path)) as client:
        told = client.post("/mcp/open", json={}).json()["error"]
    assert told["code"] == "missing_extra"
    assert "knotwork[mcp]" in told["fix"]


def test_a_key_that_may_write_adds_a_document_and_others_do_not_see_how(tmp_path):
    place = ServerConfig(tmp_path, make_settings())
    writer, reader = add_key(place, "w", "write", "notes"), add_key(place, "r", "read", "notes")
    admin = add_key(place, "a", "admin", "*")
    steps = []

    async def note(_progress, _total, message):
        steps.append(message)

    async def write(client):
        (tool,) = [t for t in (await client.list_tools()).tools if t.name == "add_document"]
        assert not tool.annotations.read_only_hint
        text = "Quill Marsh approves trips abroad."
        arguments = {"name": "notes/travel", "text": text}
        added = await client.call_tool("add_document", arguments, progress_callback=note)
        assert not added.is_error, added.content
        jsonschema.validate(added.structured_content, tool.output_schema)
        answer = await client.call_tool("ask", {"question": QUESTION})
        assert "Quill Marsh" in answer.structured_content["text"]
        changed = {**arguments, "text": "Tess Orlan approves trips abroad."}
        await client.call_tool("add_document", changed)
        found = await client.call_tool("search", {"question": QUESTION})
        assert "Quill" not in str(found.structured_content)
        refused = await client.call_tool("add_document", {"name": "../x.md", "text": text})
        assert (refused.is_error, "not a valid file name" in refused.content[0].text) == (
            True,
            True,
        )
        return added.structured_content

    async def read(client):
        names = {tool.name for tool in (await client.list_tools()).tools}
        tried = await client.call_tool("add_document", {"name": "x.md", "text": "x"})
        return names, tried

    with run_server(place) as address:
        with httpx2.Client(base_url=address, headers=admin) as client:
            client.post(f"{API}/workspaces", json={"name": "notes"}).raise_for_status()
        added = use(f"{address}/mcp", writer, write)
        assert added == {"document": "uploads/notes/travel.md", "chunks": 1}
        names, tried = use(f"{address}/mcp", reader, read)
    assert names == CALLS.keys()
    assert tried.is_error
    assert steps
    uploads = tmp_path / "notes.files" / "uploads"
    kept = [path.relative_to(uploads) for path in uploads.rglob("*") if path.is_file()]
    assert [str(path) for path in kept] == ["notes/travel.md"]
