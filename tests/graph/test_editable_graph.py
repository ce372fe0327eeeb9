"""The graph that users build: against networkx as reference, its walk against the store's."""

import sys

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork import Graph
from knotwork._extensions.testing.graph_contract import add_edges
from knotwork._stores.urls import open_store
from knotwork.errors import ConfigError, UnknownName
from knotwork.records import Edge, EdgeType, Node, Subgraph, entity_id

NAMES = st.sampled_from("abcdef")
RELATIONS = st.sampled_from("rst")
TRIPLES = st.lists(st.tuples(NAMES, RELATIONS, NAMES), max_size=20)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), NAMES, RELATIONS, NAMES),
        st.tuples(st.just("remove relation"), NAMES, RELATIONS, NAMES),
        st.tuples(st.just("remove"), NAMES),
        st.tuples(st.just("merge"), NAMES, NAMES),
    ),
    max_size=30,
)


def add_weight(reference, source, relation, target, weight=1.0):
    if reference.has_edge(source, target, relation):
        reference.edges[source, target, relation]["weight"] += weight
    else:
        reference.add_edge(source, target, key=relation, weight=weight)


def merge_nodes(reference, kept, gone):
    for source, target, relation, weight in list(reference.edges(keys=True, data="weight")):
        if gone in (source, target) and {source, target} != {kept, gone}:
            ends = [kept if end == gone else end for end in (source, target)]
            add_weight(reference, ends[0], relation, ends[1], weight)
    reference.remove_node(gone)


def weights_of(graph):
    return {(s, r, t): weight for s, t, r, weight in graph.edges(keys=True, data="weight")}


@given(STEPS)
def test_any_changes_give_the_graph_of_networkx(steps):
    graph, reference = Graph(), nx.MultiDiGraph()
    for step, *names in steps:
        if step == "add":
            graph.add_triples([tuple(names)])
            add_weight(reference, *names)
        elif step == "remove relation" and tuple(names) in weights_of(reference):
            graph.remove_relation(*names)
            reference.remove_edge(names[0], names[2], names[1])
        elif step == "remove" and names[0] in reference:
            graph.remove_entity(names[0])
            reference.remove_node(names[0])
        elif step == "merge" and names[0] != names[1] and {*names} <= {*reference}:
            graph.merge_entities(*names)
            merge_nodes(reference, *names)
        made = graph.to_networkx()
        assert (set(made), weights_of(made)) == (set(reference), weights_of(reference))
        assert {*graph.triples()} == {*weights_of(reference)}


@given(TRIPLES, NAMES, st.sampled_from(["both", "in", "out"]))
def test_neighbours_match_networkx(triples, name, direction):
    graph = Graph([*triples, (name, "r", name)])
    reference = graph.to_networkx()
    expected = {
        "both": nx.all_neighbors,
        "in": nx.MultiDiGraph.predecessors,
        "out": nx.MultiDiGraph.successors,
    }[direction](reference, name)
    found = [node.name for node in graph.neighbours(name, direction=direction)]
    assert sorted(found) == sorted(set(expected))


@given(TRIPLES, NAMES, st.integers(0, 4))
def test_the_graph_around_an_entity_matches_networkx(triples, name, depth):
    graph = Graph([*triples, (name, "r", name)])
    undirected = graph.to_networkx().to_undirected()
    found = graph.explore(name, depth=depth)
    near = nx.single_source_shortest_path_length(undirected, name, cutoff=depth)
    assert {node.name for node in found.nodes} == set(near)
    inner = nx.single_source_shortest_path_length(undirected, name, cutoff=depth - 1)
    touching = {triple for triple in graph.triples() if {triple[0], triple[2]} & set(inner)}
    assert {*Graph.from_subgraph(found).triples()} == (touching if depth else set())


@given(
    st.lists(
        st.tuples(NAMES, RELATIONS, NAMES, st.integers(1, 3)),
        max_size=20,
        unique_by=lambda edge: edge[:3],
    ),
    st.lists(NAMES, min_size=1, max_size=3, unique=True),
    st.sampled_from(["both", "in", "out"]),
    st.integers(0, 3),
    st.integers(1, 4),
    st.integers(0, 12),
)
def test_a_walk_equals_one_over_a_store(edges, names, direction, depth, fan, limit):
    store = open_store("memory:")
    add_edges(store, *edges)
    everything = [entity_id(name) for name in "abcdef"]
    graph = Graph.from_subgraph(store.graph.explore(everything, depth=9, fan=99, limit=999))
    nodes = [node for key in map(entity_id, names) for node in graph.entities if node.id == key]
    options = {"direction": direction, "depth": depth, "fan": fan, "limit": limit}
    expected = store.graph.explore([node.id for node in nodes], **options)
    assert graph.explore(nodes, **options) == expected


@given(TRIPLES)
def test_a_subgraph_round_trips(triples):
    subgraph = Graph(triples).to_subgraph()
    assert Graph.from_subgraph(subgraph).to_subgraph() == subgraph


@given(TRIPLES)
def test_a_networkx_graph_round_trips(triples):
    graph = Graph(triples)
    for node in graph.entities:
        graph.update_entity(node, type="T", description="D", properties={"key": [1, "x"]})
    for source, relation, target in graph.triples():
        graph.update_relation(source, relation, target, description="D", properties={"key": 1})
    made = graph.to_networkx()
    again = Graph.from_networkx(made).to_networkx()
    assert dict(again.nodes(data=True)) == dict(made.nodes(data=True))
    assert list(again.edges(keys=True, data=True)) == list(made.edges(keys=True, data=True))


def test_a_subgraph_does_not_change_with_its_graph():
    graph, lists = Graph([("a", "r", "b")]), ["x"]
    graph.update_entity("b", properties={"lists": lists})
    before = graph.to_subgraph()
    lists.append("y")
    graph.update_entity("a", name="c", description="D")
    graph.update_relation("c", "r", "b", weight=9)
    assert [node.name for node in before.nodes] == ["a", "b"]
    assert [node.properties for node in before.nodes] == [{}, {"lists": ["x"]}]
    assert before.edges[0].weight == 1.0


def test_an_entity_has_what_it_was_given():
    graph = Graph()
    ada = graph.add_entity(
        " Ada \n Lovelace", "PERSON", description="A mathematician.", properties={"born": 1815}
    )
    assert ada == graph.entity("Ada Lovelace") == graph.entity("Ada  Lovelace", "PERSON")
    assert (ada.name, ada.type, ada.label) == ("Ada Lovelace", "PERSON", "Entity")
    assert ada.own_properties == {"description": "A mathematician.", "born": 1815}
    assert ada in graph
    assert "Ada Lovelace" in graph
    assert "Bo" not in graph
    assert "" not in graph


def test_an_entity_changes_in_what_is_given_alone():
    graph = Graph([("Ada", "wrote", "Notes")])
    graph.update_entity("Ada", type="PERSON", properties={"born": 1815, "died": 1852})
    changed = graph.update_entity("Ada", name="Ada Lovelace", properties={"died": None})
    assert (changed.name, changed.type) == ("Ada Lovelace", "PERSON")
    assert changed.own_properties == {"born": 1815}
    assert [*graph.triples()] == [("Ada Lovelace", "wrote", "Notes")]
    assert "Ada" not in graph
    assert graph.add_entity("Ada").id != changed.id


def test_a_relation_has_what_it_was_given_and_changes_in_that_alone():
    graph = Graph([("Ada", "wrote", "Notes")])
    graph.add_relation("Notes", "cites", "Notes", weight=2, properties={"page": 3})
    graph.update_relation("Notes", "cites", "Notes", description="D")
    edge = graph.relation("Notes", "cites", "Notes")
    assert (edge.type, edge.name, edge.weight) == (EdgeType.RELATES, "cites", 2.0)
    assert edge.properties == {"page": 3, "description": "D"}
    assert graph.add_relation("Ada", "co-occurs with", "Notes").type == EdgeType.CO_OCCURS


def test_what_is_stated_comes_before_co_occurrences():
    graph = Graph([("Ada", "wrote", "Notes")])
    graph.add_entity("Rain")
    graph.add_relation("Ada", "co-occurs with", "Rain", weight=9)
    assert [node.name for node in graph.neighbours("Ada")] == ["Notes", "Rain"]
    assert [edge.name for edge in graph.explore("Ada", fan=1).edges] == ["wrote"]


def test_entities_of_one_name_are_distinguished_by_their_type():
    graph = Graph()
    planet, element = (graph.add_entity("Mercury", type_) for type_ in ("PLANET", "ELEMENT"))
    sun = graph.add_entity("Sun")
    graph.add_relation(planet, "orbits", sun)
    assert graph.entity("Mercury", "PLANET") == planet != element
    assert [node.id for node in graph.neighbours("Sun")] == [planet.id]
    with pytest.raises(ConfigError, match=r"2 entities, of the types `PLANET`, `ELEMENT`"):
        graph.neighbours("Mercury")
    with pytest.raises(ConfigError, match="2 entities"):
        graph.add_triples([("Mercury", "is", "hot")])
    made = graph.to_networkx()
    assert set(made) == {planet.id, element.id, "Sun"}
    assert {*Graph.from_networkx(made).triples()} == {("Mercury", "orbits", "Sun")}


def test_a_merge_keeps_names_descriptions_and_sources():
    nodes = [Node(key, "Entity", key, {"type": "ORG"}) for key in "ab"]
    edges = [Edge(key, "RELATES", "a", 1.0, "r", (f"chunk of {key}",)) for key in "ab"]
    graph = Graph.from_subgraph(Subgraph(tuple(nodes), tuple(edges)))
    for name, alias in (("NASA", "N.A.S.A."), ("Nasa", "the agency")):
        graph.add_entity(name, properties={"aliases": [alias]})
        graph.add_relation(name, "employs", "b", properties={name: 1})
    graph.update_entity("Nasa", type="ORG", description="An agency.")
    merged = graph.merge_entities("NASA", "Nasa")
    assert merged.own_properties == {
        "description": "An agency.", "aliases": ["N.A.S.A.", "Nasa", "the agency"],
    }  # fmt: skip
    edge = graph.relation("NASA", "employs", "b")
    assert (edge.weight, edge.properties) == (2.0, {"NASA": 1, "Nasa": 1})
    graph.merge_entities("a", "b")
    assert graph.relation("a", "r", "a").chunks == ("chunk of a",)
    assert [*graph.triples()] == [("a", "r", "a"), ("NASA", "employs", "a")]


def test_a_networkx_graph_of_any_kind_is_read():
    graph = nx.Graph([(1, 2)])
    graph.add_edge(2, 3, relation="knows", weight=4)
    assert [*Graph.from_networkx(graph).triples()] == [
        ("1", "is connected to", "2"), ("2", "knows", "3"),
    ]  # fmt: skip
    parallel = Graph.from_networkx(nx.MultiDiGraph([("a", "b"), ("a", "b")]))
    assert parallel.relation("a", "is connected to", "b").weight == 2


def test_without_networkx_an_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(ConfigError, match="pip install networkx"):
        Graph().to_networkx()


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (lambda g: g.entity("Adaa"), UnknownName, "Unknown entity `Adaa`.*Did you mean `Ada`"),
        (lambda g: g.entity("Ada", "CITY"), UnknownName, r"`Ada \(CITY\)`.*`Ada \(Entity\)`"),
        (lambda g: g.remove_entity("Bo"), UnknownName, "Unknown entity `Bo`"),
        (lambda g: g.explore(["Ada", "Bo"]), UnknownName, "Unknown entity `Bo`"),
        (lambda g: g.neighbours(Graph([("x", "r", "y")]).entity("x")), UnknownName, "`x`"),
        (lambda g: g.add_relation("Ada", "knows", "Bo"), UnknownName, "Unknown entity `Bo`"),
        (lambda g: g.relation("Ada", "red", "Notes"), UnknownName, "from `Ada` to `Notes`.*wrote"),
        (lambda g: g.remove_relation("Notes", "wrote", "Ada"), UnknownName, "relation `wrote`"),
        (lambda g: g.add_entity("Ada"), ConfigError, "has an entity `Ada` of the type `Entity`"),
        (lambda g: g.update_entity("Ada", name="Notes"), ConfigError, "entity `Notes`"),
        (lambda g: g.add_relation("Ada", "wrote", "Notes"), ConfigError, "-wrote→ Notes` already"),
        (lambda g: g.merge_entities("Ada", "Ada"), ConfigError, "with itself"),
        (lambda g: g.add_entity(" \n"), ConfigError, "is empty"),
        (lambda g: g.add_relation("Ada", "", "Notes"), ConfigError, "is empty"),
        (lambda g: g.add_triples([("x", "r", "")]), ConfigError, "is empty"),
        (lambda g: g.add_triples([("x", "r")]), ValueError, "values to unpack"),
        (lambda g: g.add_entity("a\ud800"), ConfigError, "surrogate"),
        (lambda g: g.add_entity("x", properties={"a": ["\ud800"]}), ConfigError, "surrogate"),
        (lambda g: g.add_entity("x", properties={"type": "T"}), ConfigError, "`type` is a field"),
        (
            lambda g: g.update_relation("Ada", "wrote", "Notes", properties={"weight": 2}),
            ConfigError,
            "`weight` is a field",
        ),
        (
            lambda g: g.update_relation("Ada", "wrote", "Notes", weight=float("nan")),
            ConfigError,
            "not finite",
        ),
        (lambda g: g.add_relation("Ada", "r", "Ada", weight="2"), TypeError, "weight as a number"),
        (lambda g: g.add_entity(5), TypeError, "Expected a str, got int 5"),
        (lambda g: g.add_entity("x", None), TypeError, "Expected a str, got NoneType"),
        (lambda g: g.add_entity("x", description=5), TypeError, "got int"),
        (lambda g: g.add_entity("x", properties={"a": {1}}), TypeError, "`a` has a value of.*set"),
        (lambda g: g.add_entity("x", properties={1: "a"}), TypeError, "got int 1"),
        (lambda g: g.add_entity("x", properties={"aliases": "y"}), TypeError, "list of str"),
    ],
)
def test_an_error_leaves_the_graph_as_it_was(wrong, error, message):
    graph = Graph([("Ada", "wrote", "Notes")])
    before = graph.to_subgraph()
    with pytest.raises(error, match=message):
        wrong(graph)
    assert graph.to_subgraph() == before
    assert repr(graph) == "<Graph: 2 entities, 1 relations>"
