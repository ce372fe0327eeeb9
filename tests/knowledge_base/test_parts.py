"""The parts of a knowledge base: the asynchronous twin has all of them."""

import asyncio
import inspect

import pytest

import knotwork
from knotwork._extensions.asynchronous import AsyncMembers, AsyncVerb
from knotwork._run import Verb

PARTS = ("", "graph", "entities", "communities", "tables")
OWN = {"close", "knowledge_base", "call", "aclose"}
"""Members without a namesake: `aclose` is `close`, and `call` runs any other function."""
PEOPLE = "Ada Stone leads the Harbour Office. Bo Finch works for the Harbour Office."


def public(part):
    """Return the public methods of an object, by name."""
    methods = {name: getattr(part, name) for name in dir(type(part)) if not name.startswith("_")}
    held = {name: method for name, method in methods.items() if callable(method)}
    return {name: method for name, method in held.items() if name not in OWN}


@pytest.fixture
def kb():
    with knotwork.open("memory:", embedding_model="none") as kb:
        kb.index_documents([knotwork.Document("people", PEOPLE)])
        yield kb


@pytest.mark.parametrize("name", PARTS)
def test_each_method_can_be_awaited_and_each_run_iterated(kb, name):
    many = knotwork.AsyncKnowledgeBase(kb)
    blocking, awaited = (getattr(one, name) if name else one for one in (kb, many))
    assert len(public(blocking)) >= 3
    for called, method in public(blocking).items():
        twin = getattr(awaited, called)
        assert isinstance(twin, AsyncVerb) is isinstance(method, Verb), called
        assert isinstance(twin, AsyncVerb) or inspect.iscoroutinefunction(twin), called
        assert twin.__doc__ == method.__doc__
        assert inspect.signature(twin) == inspect.signature(method)
        assert called in dir(awaited)
    asyncio.run(many.aclose())


def test_both_have_the_same_parts(kb):
    many = knotwork.AsyncKnowledgeBase(kb)
    kinds = (knotwork.KnowledgeGraph, knotwork.Entities, knotwork.Communities, knotwork.Tables)
    parts = {name for name, part in vars(kb).items() if isinstance(part, kinds)}
    assert parts == {*PARTS[1:]}
    assert all(isinstance(getattr(many, name), AsyncMembers) for name in parts)
    asyncio.run(many.aclose())


def test_attributes_are_those_of_the_knowledge_base(kb):
    many = knotwork.AsyncKnowledgeBase(kb)
    for name in ("store", "embedder", "serach", "_begin"):
        with pytest.raises(AttributeError, match=name):
            getattr(many, name)
    asyncio.run(many.aclose())


def test_an_unknown_member_is_an_attribute_error(kb):
    with pytest.raises(AttributeError, match="no attribute 'cyphre'"):
        _ = kb.cyphre
    assert not hasattr(kb, "cyphre")


def test_a_patched_method_is_the_one_that_is_awaited(kb, monkeypatch):
    monkeypatch.setattr(knotwork.KnowledgeBase, "documents", lambda _self: ["patched"])

    async def call():
        async with knotwork.AsyncKnowledgeBase(kb) as many:
            return await many.documents()

    assert asyncio.run(call()) == ["patched"]


def test_a_parameter_of_a_statement_may_have_any_name(kb):
    rows = kb.graph.cypher("RETURN $self AS value", self=7).rows
    assert rows == ((7,),)
    assert kb.graph.cypher("RETURN $a + $b AS value", {"a": 1, "b": 1}, b=2).rows == ((3,),)


def test_shortest_paths_lead_from_one_entity_to_the_other(kb):
    (path, *_) = kb.graph.shortest_paths("Ada Stone", "Bo Finch")
    assert path.hops[0].source_name == "Ada Stone"
    assert path.hops[-1].target_name == "Bo Finch"
    assert kb.graph.shortest_paths("Ada Stone", "Ada Stone") == []


def test_a_graph_is_imported_with_its_events(kb, tmp_path):
    (tmp_path / "boats.tsv").write_text("Mira\tsails\tHeron\nHeron\tmoors at\tQuay Nine\n", "utf-8")

    async def import_twice():
        async with knotwork.AsyncKnowledgeBase(kb) as many:
            run = many.graph.import_files.run(tmp_path / "boats.tsv")
            assert {step.stage async for step in run} == {"read", "write"}
            again = await many.graph.import_files([tmp_path / "boats.tsv"])
            rows = await many.graph.cypher("MATCH (n {name: $n}) RETURN n.name", n="Mira")
            return await run.result(), again, rows.rows

    report, again, rows = asyncio.run(import_twice())
    assert report.facts == 2
    assert again.unchanged
    assert rows == (("Mira",),)
