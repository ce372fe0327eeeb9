"""RDF: every statement of pyoxigraph's own reading comes in, as a fact, a property or a name."""

from collections import Counter

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.indexing.graph_import.graph_files import edges_of, elements_of, facts_of, text_of, write

TURTLE = """
@prefix ex: <http://example.org/films/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
ex:m1 a ex:Movie ; rdfs:label "Kismet"@en, "天命"@zh , "Kismat"@de ;
  ex:directedBy ex:William_Dieterle ; ex:year 1944 ; skos:altLabel "Oriental Dream" .
ex:directedBy rdfs:label "was directed by" .
ex:m1 ex:award [ ex:year 1945 ; rdfs:label "Best Costume" ] .
"""
LOCALS = st.text("abcXYZ019_", min_size=1, max_size=6).map(lambda s: f"http://e.org/{s}")
TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
LITERALS = st.one_of(
    TEXT.map(ox.Literal),
    st.integers(-(10**9), 10**9).map(ox.Literal),
    st.booleans().map(ox.Literal),
    st.builds(lambda text: ox.Literal(text, language="fr"), TEXT),
)
TRIPLES = st.builds(
    ox.Triple,
    LOCALS.map(ox.NamedNode),
    LOCALS.map(ox.NamedNode),
    st.one_of(LOCALS.map(ox.NamedNode), LITERALS),
)


@given(
    triples=st.lists(TRIPLES, min_size=1, max_size=12),
    kind=st.sampled_from([("turtle", "TURTLE"), ("ntriples", "N_TRIPLES")]),
)
def test_it_reads_the_statements_that_pyoxigraph_reads(tmp_path_factory, triples, kind):
    path = tmp_path_factory.mktemp("rdf") / "g.ttl"
    path.write_bytes(ox.serialize(triples, format=getattr(ox.RdfFormat, kind[1])))
    quads = list(ox.parse(path=str(path), format=getattr(ox.RdfFormat, kind[1])))
    things, _, complaints = elements_of(path, kind[0])
    assert complaints == []
    assert facts_of(path, kind[0]) == Counter(
        (q.subject.value, q.predicate.value, q.object.value)
        for q in quads
        if isinstance(q.object, ox.NamedNode)
    )
    literals = [q for q in quads if isinstance(q.object, ox.Literal)]
    assert sum(len(t.properties) for t in things) == len(literals)
    told = [str(v).lower() for t in things for v in t.properties.values()]
    assert Counter(told) == Counter(
        str(int(q.object.value)) if q.object.datatype.value.endswith("integer")
        else q.object.value.lower()
        for q in literals
    )  # fmt: skip


def test_labels_become_names_and_literals_properties(opened, tmp_path):
    kb = opened()
    report = kb.graph.import_files(write(tmp_path, TURTLE, "films.ttl"))
    assert report.bad_lines == {}
    text = text_of(kb)
    assert "Kismet is a Movie." in text or "Kismet is a movie." in text
    assert "Kismet was directed by William Dieterle." in text
    assert "Kismet year: 1944." in text
    assert "Kismet 又名 天命。" in text
    assert "Kismet award Best Costume." in text
    assert ("Oriental Dream", "also known as", "Kismet") in edges_of(kb)
    found = kb.store.cypher(
        "MATCH (m:Movie)-[:directedBy]->(p) RETURN m.year, p.iri", graph="films"
    )
    assert found.rows == ((1944, "http://example.org/films/William_Dieterle"),)


def test_blank_nodes_have_the_same_names_each_time(opened, tmp_path):
    text = TURTLE + "ex:m2 ex:part [ ex:scene [ ex:take 3 ] ] ."
    path = write(tmp_path, text, "films.ttl")
    texts = []
    for name in ("one.knot", "other.knot"):
        kb = opened(path=name)
        kb.graph.import_files(path)
        texts.append(text_of(kb))
    assert texts[0] == texts[1]


def test_a_statement_that_cannot_be_read_costs_itself(opened, tmp_path):
    text = (
        "<http://a/x> <http://a/knows> <http://a/y> .\n"
        "<http://a/x> <http:// b> <http://a/y> .\nfoo\n"
        "<http://a/y> <http://a/knows> <http://a/z> .\n"
    )
    report = opened().graph.import_files(write(tmp_path, text, "g.nt"))
    assert report.facts == 2
    assert [bad.line for bad in report.examples] == [2, 3]
    assert "Invalid IRI" in report.examples[0].reason


def test_relations_of_two_namespaces_stay_apart(opened, tmp_path):
    kb = opened()
    text = (
        "<http://e/x> <http://e/ontology/director> <http://e/y> .\n"
        "<http://e/x> <http://e/property/director> <http://e/z> .\n"
    )
    kb.graph.import_files(write(tmp_path, text, "g.nt"))
    assert {relation for _, relation, _ in edges_of(kb)} == {"director", "property: director"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("g.nq", "<http://e/x> <http://e/knows> <http://e/y> <http://e/graph> .\n"),
        ("g.trig", "<http://e/graph> { <http://e/x> <http://e/knows> <http://e/y> . }"),
        ("g.ttl", "@base <http://e/> . <x> <knows> <y> ."),
        ("g.ttl", "<x> <knows> <y> ."),
    ],
)
def test_other_notations(opened, tmp_path, name, text):
    kb = opened()
    kb.graph.import_files(write(tmp_path, text, name))
    assert edges_of(kb) == {("x", "knows", "y")}
