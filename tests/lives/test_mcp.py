"""An assistant uses the tools and resources of an index over MCP."""

import os
import sys

import pytest
from tests.lives.door import golden

import knotwork
from knotwork.mcp_server import Permissions, build_server

mcp = pytest.importorskip("mcp")
pytestmark = pytest.mark.slow

QUESTION = "Who approves trips abroad?"
CALLS = {
    "search": {"question": QUESTION, "k": 2},
    "paths": {"question": "How is Oriane Keld related to Skarrow Station?"},
    "ask": {"question": QUESTION},
    "explore": {"names": ["Oriane Keld"], "depth": 1},
    "shortest_paths": {"one": "Petra Oyelund", "other": "Tarnby"},
    "communities": {"limit": 2},
    "names": {},
    "cypher": {"statement": "MATCH (e:Entity) RETURN e.name AS name ORDER BY name", "limit": 3},
}


@pytest.fixture
def use(index, talk):
    """Return what an action does with a client of a server over an index."""

    def run(action, *, path=index, permissions=None, read_only=True):
        async def work():
            async with (
                knotwork.open_async(path, read_only=read_only) as base,
                mcp.Client(build_server(base, permissions)) as client,
            ):
                return await action(client)

        return talk(work())

    return run


@pytest.mark.parametrize("tool", sorted(CALLS))
def test_a_tool_gives_the_object_that_it_always_gave(use, tool):
    async def action(client):
        return await client.call_tool(tool, CALLS[tool])

    result = use(action)
    assert not result.is_error
    assert result.content[0].text
    golden(f"mcp-{tool}", result.structured_content)


def test_tools_are_described_and_only_read(use):
    async def action(client):
        return (await client.list_tools()).tools

    tools = use(action)
    assert {tool.name for tool in tools} == set(CALLS)
    assert all(tool.annotations.read_only_hint for tool in tools)
    golden("mcp-arguments", {t.name: sorted(t.input_schema["properties"]) for t in tools})


def test_a_source_of_an_answer_is_a_resource_with_exactly_its_words(use):
    async def action(client):
        answer = (
            await client.call_tool("ask", {"question": "海外出差由谁审批？"})
        ).structured_content
        read = [await client.read_resource(source["resource"]) for source in answer["sources"]]
        return answer, [found.contents[0].text for found in read]

    answer, texts = use(action)
    assert "办事处主任" in answer["text"]
    assert texts == [source["quote"] for source in answer["sources"]]


def test_a_mistake_says_how_to_mend_it(use):
    async def action(client):
        return [
            await client.call_tool("explore", {"names": ["Oriane Kelt"]}),
            await client.call_tool("search", {"question": QUESTION, "retriever": "bm26"}),
            await client.call_tool("cypher", {"statement": "CREATE (e:Entity)"}),
        ]

    name, retriever, statement = use(action)
    assert name.is_error
    assert "Did you mean `Oriane Keld`?" in name.content[0].text
    assert retriever.is_error
    assert "Did you mean `bm25`?" in retriever.content[0].text
    assert statement.is_error


def test_an_assistant_indexes_an_allowed_folder_and_no_other(use, own_papers, tmp_path):
    (tmp_path / "secret.md").write_text("Outside.")

    async def action(client):
        done = await client.call_tool("index", {"paths": ["."]})
        refused = await client.call_tool("index", {"paths": [str(tmp_path)]})
        return done, refused

    allowed = Permissions(write=True, folders=(own_papers,))
    done, refused = use(action, path=tmp_path / "a.knot", permissions=allowed, read_only=False)
    assert done.structured_content["added"] == 4
    assert refused.is_error


def test_an_assistant_starts_the_server_itself(index, talk):
    async def ask():
        command = ["-m", "knotwork", "mcp", "--store", str(index)]
        server = mcp.StdioServerParameters(
            command=sys.executable, args=command, env=dict(os.environ)
        )
        async with mcp.Client(server) as client:
            return await client.call_tool("ask", {"question": QUESTION})

    assert "Travel Office" in talk(ask()).structured_content["text"]
