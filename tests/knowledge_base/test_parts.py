"""The parts of a knowledge base: the asynchronous twin has all of them; former names still work."""

import asyncio
import inspect
import re
from pathlib import Path

import pytest

import knotwork
from knotwork._knowledge_base.asynchronous import (
    AsyncCommunities,
    AsyncEntities,
    AsyncKnowledgeGraph,
    AsyncTables,
)
from knotwork._knowledge_base.former_names import MOVED

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
        is_run = name.endswith("_events")
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


def test_the_reference_lists_every_former_name():
    page = (Path(__file__).parents[2] / "docs" / "api.md").read_text("utf-8")
    rows = re.findall(
        r"^\| (`kb\..*) \| `kb\.([\w.()]+)", page.split("| former |")[1], re.MULTILINE
    )
    listed = {former: now for names, now in rows for former in re.findall(r"`kb\.(\w+)", names)}
    assert listed.pop("communities") == "communities.list(...)"
    assert {k: v.replace("(...)", "").removesuffix("()") for k, v in listed.items()} == {
        former: now.removesuffix("()") for former, now in MOVED.items()
    }


@pytest.mark.parametrize("former", MOVED)
def test_a_former_name_warns_and_names_its_successor(kb, former):
    with pytest.deprecated_call(match=re.escape(f"use `KnowledgeBase.{MOVED[former]}`")) as caught:
        found = getattr(kb, former)
    assert caught[0].filename == __file__
    part, _, member = MOVED[former].removesuffix("()").partition(".")
    current = getattr(getattr(kb, part), member)
    assert found == (current() if MOVED[former].endswith("()") else current)


def test_former_calls_return_what_the_current_ones_do(kb):
    with pytest.deprecated_call():
        assert kb.explore("Ada Stone") == kb.graph.explore("Ada Stone")
    with pytest.deprecated_call():
        assert kb.has_communities is False
    with pytest.deprecated_call(match=r"communities\.list") as caught:
        topics = kb.communities("", limit=3, rebuild=True)
    assert caught[0].filename == __file__
    assert topics == kb.communities.list(limit=3)
    with pytest.deprecated_call():
        assert kb.has_communities is True


def test_former_asynchronous_calls_work_with_a_warning(kb):
    async def call():
        many = knotwork.AsyncKnowledgeBase(kb)
        with pytest.deprecated_call():
            assert await many.same_names() == kb.entities.aliases()
        with pytest.deprecated_call() as caught:
            assert await many.communities(limit=3) == kb.communities.list(limit=3)
        assert caught[0].filename == __file__
        await many.aclose()

    asyncio.run(call())


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
