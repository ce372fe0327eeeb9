"""GraphML: read as networkx reads it, and hardened."""

from collections import Counter

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.indexing.graph_import.graph_files import edges_of, elements_of, facts_of, text_of, write

from knotwork.errors import IndexingError

TEXT = st.text(
    st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="\ufffe\uffff"), min_size=1
).filter(lambda text: text.strip() == text)
VALUES = st.one_of(st.integers(-(2**40), 2**40), st.booleans(), TEXT)


@st.composite
def graphs(draw):
    graph = draw(st.sampled_from([nx.MultiDiGraph, nx.DiGraph]))()
    kinds = {"age": st.integers(-99, 99), "score": st.floats(-9, 9), "ok": st.booleans()}
    for name in draw(st.lists(TEXT, min_size=1, max_size=6, unique=True)):
        graph.add_node(
            name, **{key: draw(kind) for key, kind in kinds.items() if draw(st.booleans())}
        )
    nodes = st.sampled_from(sorted(graph.nodes))
    for _ in range(draw(st.integers(0, 8))):
        graph.add_edge(draw(nodes), draw(nodes), relation=draw(TEXT))
    return graph


@given(graph=graphs())
def test_it_reads_what_networkx_reads(tmp_path_factory, graph):
    path = tmp_path_factory.mktemp("graphml") / "g.graphml"
    nx.write_graphml_xml(graph, path)
    expected = nx.read_graphml(path, force_multigraph=True)
    things, _, complaints = elements_of(path, "graphml")
    assert {t.key: dict(t.properties) for t in things} == {
        node: dict(data) for node, data in expected.nodes(data=True)
    }
    assert facts_of(path, "graphml") == Counter(
        (source, data["relation"], target) for source, target, data in expected.edges(data=True)
    )
    assert complaints == []


def test_names_types_and_relations(opened, tmp_path):
    graph = nx.MultiDiGraph()
    graph.add_node("n0", labels=":Person", name="Keanu Reeves", born=1964)
    graph.add_node("n1", labels=":Movie", name="The Matrix")
    graph.add_edge("n0", "n1", label="ACTED_IN", roles="Neo")
    nx.write_graphml(graph, tmp_path / "films.graphml")
    kb = opened()
    kb.graph.import_files(tmp_path / "films.graphml")
    assert edges_of(kb) == {("Keanu Reeves", "acted in", "The Matrix")}
    assert "Keanu Reeves born: 1964." in text_of(kb)
    assert "Keanu Reeves acted in The Matrix (roles: Neo)." in text_of(kb)
    found = kb.store.cypher(
        "MATCH (p:Person)-[:ACTED_IN]->(m) RETURN p.born, m.name", graph="films"
    )
    assert found.rows == ((1964, "The Matrix"),)


def test_defaults_of_keys(tmp_path):
    text = (
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
        '<key id="d0" for="node" attr.name="colour" attr.type="string"><default>red</default></key>'
        '<graph edgedefault="directed"><node id="a"/><node id="b"><data key="d0">blue</data></node>'
        "</graph></graphml>"
    )
    things, _, _ = elements_of(write(tmp_path, text, "g.graphml"), "graphml")
    assert [t.properties for t in things] == [{"colour": "red"}, {"colour": "blue"}]


@pytest.mark.parametrize(
    "text",
    [
        '<!DOCTYPE g [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><graphml>&b;</graphml>',
        '<!DOCTYPE g [<!ENTITY x SYSTEM "file:///etc/passwd">]><graphml>&x;</graphml>',
        '<!DOCTYPE graphml SYSTEM "http://example.org/graphml.dtd"><graphml/>',
    ],
)
def test_entities_and_document_types_are_refused(opened, tmp_path, text):
    with pytest.raises(IndexingError, match="declares a document type or entities"):
        opened().graph.import_files(write(tmp_path, text, "g.graphml"))


def test_a_file_that_breaks_off_keeps_what_came_before(tmp_path):
    head = '<graphml><graph><node id="a"/><node id="b"/><edge source="a" target="b"/>'
    things, facts, complaints = elements_of(write(tmp_path, head, "g.graphml"), "graphml")
    assert len(things) == 2
    assert len(facts) == 1
    assert "invalid XML from here on" in complaints[0].reason


def test_invalid_xml_is_an_error(opened, tmp_path):
    with pytest.raises(IndexingError, match="not valid XML"):
        opened().graph.import_files(write(tmp_path, "a,b\nc,d\n", "g.graphml"))


def test_edges_without_ends_and_nodes_without_ids_are_reported(tmp_path):
    text = (
        '<graphml><graph><node/><node id="a"/><edge source="a"/><hyperedge id="h"/></graph>'
        "</graphml>"
    )
    things, facts, complaints = elements_of(write(tmp_path, text, "g.graphml"), "graphml")
    assert (len(things), len(facts), len(complaints)) == (1, 0, 3)
