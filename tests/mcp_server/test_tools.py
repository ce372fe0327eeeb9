"""Each tool returns what the knowledge base does, typed and in words, and survives wrong input."""

import json

import jsonschema
import pytest
from mcp import Client

import knotwork
from knotwork.mcp_server import build_server

pytestmark = pytest.mark.slow


QUESTION = "Who approves trips abroad?"
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


def use(path, action, permissions=None, **options):
    """Return what an action does with a client of a server in this process."""

    async def run():
        async with (
            knotwork.open_async(path, **options) as kb,
            Client(build_server(kb, permissions)) as client,
        ):
            return await action(client, kb)

    return run()


def call(path, tool, **arguments):
    async def action(client, _kb):
        return await client.call_tool(tool, arguments)

    return use(path, action, read_only=True)


def test_the_tools_only_read_and_say_so(sample_index, talk):
    async def action(client, _kb):
        return (await client.list_tools()).tools

    tools = talk(use(sample_index, action, read_only=True))
    assert {tool.name for tool in tools} == set(CALLS)
    assert all(tool.annotations.read_only_hint for tool in tools)
    assert all(tool.title and tool.description and tool.output_schema for tool in tools)


@pytest.mark.parametrize("tool", sorted(CALLS))
def test_a_result_has_the_shape_that_the_tool_promises_and_words_beside_it(
    tool, sample_index, talk
):
    async def action(client, _kb):
        (found,) = [t for t in (await client.list_tools()).tools if t.name == tool]
        return found, await client.call_tool(tool, CALLS[tool])

    found, result = talk(use(sample_index, action, read_only=True))
    assert not result.is_error, result.content
    jsonschema.validate(result.structured_content, found.output_schema)
    (words,) = result.content
    assert 0 < len(words.text) < 8_000


def test_explore_shows_the_text_of_the_subgraph(sample_index, talk):
    result = talk(call(sample_index, "explore", names=["Oriane Keld"], depth=1))
    with knotwork.open(sample_index, read_only=True) as kb:
        assert result.content[0].text == kb.graph.explore("Oriane Keld", depth=1).format()
    assert "- Oriane Keld -has manager→ Ilse Tarrant" in result.content[0].text.split("\n")


def test_search_gives_the_passages_of_the_knowledge_base(sample_index, talk):
    result = talk(call(sample_index, "search", question=QUESTION, k=3, retriever="bm25"))
    with knotwork.open(sample_index, read_only=True) as kb:
        evidence = kb.search(QUESTION, k=3, retriever="bm25")
        ids = [hit.chunk.id for hit in evidence.hits]
        documents = kb.store.documents.documents({h.chunk.document_id for h in evidence.hits})
    passages = result.structured_content["passages"]
    assert [passage["chunk_id"] for passage in passages] == ids
    texts = {document.uri: document.text for document in documents.values()}
    for passage in passages:
        part = texts[passage["document"]][passage["start"] : passage["end"]]
        assert part == passage["text"]
        assert " ".join(part.split())[:40] in result.content[0].text


def test_many_passages_are_printed_in_few_words_and_emitted_whole(sample_index, talk):
    arguments = {"question": "Skarrow Station Heron buoy Corvane office", "k": 50}
    result = talk(call(sample_index, "search", **arguments))
    passages = result.structured_content["passages"]
    assert len(passages) > 20
    assert len(result.content[0].text) < 16_000
    assert sum(len(passage["text"]) for passage in passages) > 4_000


def test_sources_of_an_answer_lead_to_their_exact_words(sample_index, talk):
    async def action(client, kb):
        result = await client.call_tool("ask", {"question": "海外出差由谁审批？"})
        texts = [
            (await client.read_resource(source["resource"])).contents[0].text
            for source in result.structured_content["sources"]
        ]
        return result.structured_content, texts, await kb.ask("海外出差由谁审批？")

    reply, texts, answer = talk(use(sample_index, action, read_only=True))
    assert reply["text"] == answer.text
    assert reply["strength"] == answer.strength
    assert [tuple(piece.values()) for piece in reply["pieces"]] == [
        (piece.kind, piece.markdown, piece.citation) for piece in answer.pieces
    ]
    assert texts == [source["quote"] for source in reply["sources"]]
    assert texts == [citation.quote for citation in answer.citations] != []


def test_an_outline_has_no_confidence(sample_index, talk):
    result = talk(call(sample_index, "ask", question="Summarize the travel policy"))
    reply = result.structured_content
    assert reply["answered"]
    assert (reply["confidence"], reply["strength"]) == (None, None)
    assert "Confidence" not in result.content[0].text


def test_an_unanswerable_question_is_no_error(sample_index, talk):
    result = talk(call(sample_index, "ask", question="What is the price of tea in Lima?"))
    assert not result.is_error
    assert result.structured_content["answered"] is False
    assert result.structured_content["reason"] in result.content[0].text


def test_asking_reports_its_steps(sample_index, talk):
    steps = []

    async def note(progress, total, message):
        steps.append((progress, total, message))

    async def action(client, _kb):
        await client.call_tool("ask", {"question": QUESTION}, progress_callback=note)

    talk(use(sample_index, action, read_only=True))
    assert steps[0][0] == 1
    assert "passages found" in steps[0][2]
    assert [step[0] for step in steps] == sorted({step[0] for step in steps})


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("explore", {"names": ["Oriane Kelt"]}, "Did you mean `Oriane Keld`?"),
        ("search", {"question": QUESTION, "retriever": "bm26"}, "Did you mean `bm25`?"),
        ("ask", {"question": QUESTION, "mode": "loca"}, "Did you mean `local`?"),
        ("communities", {"level": 99}, "Choose a level from 0"),
        ("search", {"question": QUESTION, "k": 0}, "greater than or equal to 1"),
        ("search", {}, "question"),
        ("explore", {"names": []}, "at least 1 item"),
        ("cypher", {"statement": "MATCH (e DELETE e"}, "query_"),
        ("cypher", {"statement": "CREATE (e:Entity)"}, "query_"),
        ("index", {}, "Unknown tool"),
    ],
)
def test_errors_say_how_to_fix_them(tool, arguments, told, sample_index, talk):
    async def action(client, _kb):
        return await client.call_tool(tool, arguments)

    result = talk(use(sample_index, action, read_only=True))
    assert result.is_error
    assert told in result.content[0].text


def test_a_fault_of_ours_keeps_its_words_to_itself(sample_index, talk, monkeypatch, caplog):
    def fail(*_arguments, **_options):
        raise RuntimeError("a secret of the machine")

    monkeypatch.setattr(knotwork.KnowledgeBase, "search", fail)
    result = talk(call(sample_index, "search", question=QUESTION))
    assert result.is_error
    assert "secret" not in json.dumps([item.model_dump() for item in result.content])
    assert "a secret of the machine" in caplog.text


def test_a_reader_learns_that_communities_are_missing(tmp_path, talk):
    with knotwork.open(tmp_path / "new.knot") as kb:
        kb.index_documents([knotwork.Document("note", "Ada Lovelace met Charles Babbage.")])
    result = talk(call(tmp_path / "new.knot", "communities"))
    assert result.is_error
    assert "store_read_only" in result.content[0].text
    assert "knotwork communities --store" in result.content[0].text  # the user has no Python
    assert "`read_only`" not in result.content[0].text


def test_two_names_are_connected_as_the_knowledge_base_does(sample_index, talk):
    arguments = {"one": "Oriane Keld", "other": "Bram Ostrand", "limit": 3}
    result = talk(call(sample_index, "shortest_paths", **arguments))
    with knotwork.open(sample_index, read_only=True) as kb:
        paths = kb.graph.shortest_paths("Oriane Keld", "Bram Ostrand", limit=3)
    assert [path["text"] for path in result.structured_content["paths"]] == [p.text for p in paths]
    assert result.content[0].text.splitlines() == [path.text for path in paths]
    alone = talk(call(sample_index, "shortest_paths", one="Oriane Keld", other="Oriane Keld"))
    assert alone.structured_content["paths"] == []
    assert "No path" in alone.content[0].text
    unknown = talk(call(sample_index, "shortest_paths", one="Oriane Keldd", other="Bram Ostrand"))
    assert (unknown.is_error, "Oriane Keld" in unknown.content[0].text) == (True, True)


def test_tools_keep_to_a_filter_and_answer_an_unknown_field_with_the_known_ones(sample_index, talk):
    found = talk(call(sample_index, "search", question=QUESTION, k=30, where="format != docx"))
    assert found.structured_content["passages"]
    for passage in found.structured_content["passages"]:
        assert not passage["document"].endswith(".docx")
    reply = talk(call(sample_index, "ask", question=QUESTION, where="format = docx"))
    sources = {source["document"] for source in reply.structured_content["sources"]}
    assert sources == {"sample/en/travel-policy.docx"}
    refused = talk(call(sample_index, "paths", question=QUESTION, where="colour = red"))
    assert refused.is_error
    assert "`path`" in refused.content[0].text
    scored = talk(call(sample_index, "search", question=QUESTION, k=30, min_score=1e9))
    assert scored.structured_content["passages"] == []


def test_a_statement_runs_over_what_a_search_finds(sample_index, talk):
    for tool in ("search", "ask"):
        found = talk(
            call(
                sample_index,
                tool,
                question=QUESTION,
                retrieval_query="RETURN count(node) AS passages, $least AS least",
                query_params={"least": 7},
            )
        )
        (rows,) = found.structured_content["results"]
        assert rows["source"] == "retrieval_query"
        assert rows["rows"][0][1] == 7
        assert rows["rows"][0][0] > 0
        assert "passages | least" in found.content[0].text
