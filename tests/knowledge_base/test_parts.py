"""The parts of a knowledge base: the asynchronous twin has all of them."""

import asyncio
import inspect

import pytest

import knotwork
from knotwork._knowledge_base.asynchronous import (
    AsyncCommunities,
    AsyncEntities,
    AsyncKnowledgeGraph,
    AsyncTables,
)

TWINS = [
    (knotwork.KnowledgeBase, knotwork.AsyncKnowledgeBase),
    (knotwork.KnowledgeGraph, AsyncKnowledgeGraph),
    (knotwork.Entities, AsyncEntities),
    (knotwork.Communities, AsyncCommunities),
    (knotwork.Tables, AsyncTables),
]
OWN = {"close": "aclose", "call": "call"}
"""Methods without a namesake: `close` has another name, and `call` runs any other function."""
PEOPLE = "Ada Stone leads the Harbour Office. Bo Finch works for the Harbour Office."


def signatures(kind):
    """Return the parameters of the public methods of a class, by name."""
    return {
        name: list(inspect.signature(method).parameters.values())
        for name, method in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("_") and name not in OWN and name not in OWN.values()
    }


@pytest.fixture
def kb():
    with knotwork.open("memory:", embedding_model="none") as kb:
        kb.index_documents([knotwork.Document("people", PEOPLE)])
        yield kb


@pytest.mark.parametrize(("blocking", "awaited"), TWINS, ids=lambda kind: kind.__name__)
def test_both_have_the_same_methods_with_the_same_parameters(blocking, awaited):
    assert signatures(awaited) == signatures(blocking)
    assert len(signatures(blocking)) >= 4


@pytest.mark.parametrize(("blocking", "awaited"), TWINS, ids=lambda kind: kind.__name__)
def test_each_asynchronous_method_is_awaited_or_iterated(blocking, awaited):
    for name in signatures(awaited):
        is_run = name.endswith("_events") or name == "watch"
        method = inspect.getattr_static(awaited, name)
        assert inspect.iscoroutinefunction(method) is not is_run, name
        assert method.__doc__ == getattr(blocking, name).__doc__


def test_both_have_the_same_parts(kb):
    many = knotwork.AsyncKnowledgeBase(kb)
    parts = {
        name: type(part)
        for name, part in vars(kb).items()
        if type(part) in [blocking for blocking, _ in TWINS]
    }
    assert set(parts) == {"graph", "entities", "communities", "tables"}
    assert {n: type(getattr(many, n)) for n in parts} == {
        name: dict(TWINS)[kind] for name, kind in parts.items()
    }
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
            stages = [step async for step in many.graph.import_events(tmp_path / "boats.tsv")]
            again = await many.graph.import_files([tmp_path / "boats.tsv"])
            rows = await many.graph.cypher("MATCH (n {name: $n}) RETURN n.name", n="Mira")
            return stages[-1].report, again, rows.rows

    report, again, rows = asyncio.run(import_twice())
    assert report.facts == 2
    assert again.unchanged
    assert rows == (("Mira",),)
