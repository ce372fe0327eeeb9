"""A graph that was built in Python: its way into an index, and out of it again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.indexing.graph_import.graph_files import edges_of, text_of, type_of, write
from tests.indexing.snapshots import snapshot

from knotwork import Graph
from knotwork._extensions.graphs.graph_import.graph_importer import import_graph
from knotwork._knowledge_base import KnowledgeBase
from knotwork._stores.urls import open_store
from knotwork.errors import ConfigError, IndexingError

pytestmark = pytest.mark.slow

PEOPLE = ("Ada Stone", "ada stone", "Bo Finch", "Cy (elder)", "Cy (younger)", "李明", "Room 7")
FACTS = st.lists(
    st.tuples(
        st.sampled_from(PEOPLE), st.sampled_from(["meets", "helps"]), st.sampled_from(PEOPLE)
    ),
    min_size=1,
    max_size=12,
    unique=True,
)


def history():
    graph = Graph([("Ada Lovelace", "worked with", "Charles Babbage")])
    graph.update_entity("Ada Lovelace", type="PERSON", description="She wrote the first program.")
    graph.add_entity("Analytical Engine", "MACHINE", properties={"year": 1837, "title": "Engine"})
    graph.add_relation(
        "Charles Babbage", "designed", "Analytical Engine", properties={"since": 1834}
    )
    return graph


@given(FACTS)
def test_triples_are_indexed_as_from_a_file(tmp_path_factory, facts):
    path = tmp_path_factory.mktemp("graphs") / "people.tsv"
    path.write_text("".join("\t".join(fact) + "\n" for fact in facts), "utf-8")
    stores = open_store("memory:"), open_store("memory:")
    for store, source in zip(stores, ([path], Graph(facts)), strict=True):
        import_graph(store, source, name="people")
    built, read = (KnowledgeBase(store) for store in stores)
    assert edges_of(built) == edges_of(read)
    assert sorted(text_of(built).split("\n")) == sorted(text_of(read).split("\n"))


def test_a_graph_is_explored_asked_and_queried(opened):
    kb = opened()
    report = kb.graph.import_graph(history(), name="history")
    assert (report.things, report.facts, report.formats) == (3, 2, {})
    assert str(kb.graph.explore("Ada Lovelace")) == (
        "Entities:\n"
        "- Ada Lovelace (PERSON)\n"
        "- Analytical Engine (MACHINE)\n"
        "Relations:\n"
        "- Ada Lovelace -worked with→ Charles Babbage\n"
        "- Charles Babbage -designed→ Analytical Engine"
    )
    assert "Ada Lovelace description: She wrote the first program." in text_of(kb)
    assert "Charles Babbage designed Analytical Engine (since: 1834)." in text_of(kb)
    answer = kb.ask("Who worked with Charles Babbage?")
    assert "Ada Lovelace" in answer.text
    statement = "MATCH (a)-[r:designed]->(b:MACHINE) RETURN a.name, r.since, b.year"
    assert kb.graph.cypher(statement, graph="history").rows == (("Charles Babbage", 1834, 1837),)


@given(FACTS)
def test_the_explored_graph_equals_the_built_one(facts):
    kb = KnowledgeBase(open_store("memory:"))
    kb.graph.import_graph(Graph(facts), name="people")
    names = {name for fact in facts for name in (fact[0], fact[2])}
    found = Graph.from_subgraph(kb.graph.explore(sorted(names), depth=9, fan=99, limit=999))
    stated = {(s, r, t) for s, r, t in found.triples() if r != "also known as"}
    assert stated == edges_of(kb, aliases=False)


def test_entities_of_one_name_stay_apart(opened):
    kb, graph = opened(), Graph()
    sun = graph.add_entity("Sun")
    for type_, relation in (("PLANET", "orbits"), ("ELEMENT", "is named after a planet of")):
        graph.add_relation(graph.add_entity("Mercury", type_), relation, sun)
    graph.update_entity(graph.entity("Mercury", "ELEMENT"), properties={"aliases": ["quicksilver"]})
    kb.graph.import_graph(graph, name="space")
    assert ("Mercury, PLANET", "orbits", "Sun") in edges_of(kb)
    assert type_of(kb, "mercury planet") == "PLANET"
    names = {node.name for node in kb.graph.explore("quicksilver", depth=1).nodes}
    assert names >= {"quicksilver", "Mercury, ELEMENT"}


def test_an_equal_graph_is_unchanged_and_another_replaces_it(opened, tmp_path):
    kb = opened()
    kb.graph.import_graph(history(), name="history")
    assert kb.graph.import_graph(history(), name="history").unchanged
    changed = history()
    changed.remove_relation("Charles Babbage", "designed", "Analytical Engine")
    assert not kb.graph.import_graph(changed, name="history").unchanged
    fresh = opened(path="fresh.knot")
    fresh.graph.import_files(write(tmp_path, "a\tb\tc\n"), name="history")
    fresh.graph.import_graph(changed, name="history")
    assert snapshot(kb.store) == snapshot(fresh.store)
    kb.delete("graph:history")
    assert (kb.stats().documents, kb.store.property_graphs.names()) == (0, [])


def test_both_stores_hold_the_same(opened):
    kb, memory = opened(), open_store("memory:")
    for store in (kb.store, memory):
        import_graph(store, history(), name="history")
    assert snapshot(kb.store) == snapshot(memory)


def test_an_explored_graph_can_be_changed_and_imported(opened):
    kb, other = opened(), opened(path="other.knot")
    kb.graph.import_graph(history(), name="history")
    graph = Graph.from_subgraph(kb.graph.explore("Ada Lovelace"))
    graph.add_triples([("Ada Lovelace", "lived in", "London")])
    other.graph.import_graph(graph, name="lives")
    assert edges_of(other) == {*edges_of(kb), ("Ada Lovelace", "lived in", "London")}
    assert "chunk count" not in text_of(other)


@pytest.mark.parametrize(
    ("graph", "name", "error", "message"),
    [
        (Graph([("a", "r", "b")]), "", ConfigError, "has no name. Pass its `name`"),
        (Graph(), "empty", IndexingError, "no entities"),
    ],
)
def test_a_graph_without_a_name_or_entities_is_refused(opened, graph, name, error, message):
    with pytest.raises(error, match=message):
        opened().graph.import_graph(graph, name=name)
