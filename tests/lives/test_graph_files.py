"""Graphs and indexes of other systems go out to files and come in from them."""

import csv
import json

import networkx as nx
import pytest
from tests.lives.door import command_line

import knotwork
from knotwork import Graph

pytestmark = pytest.mark.slow

FILMS = (
    "Kismet\tdirected_by\tWilliam Dieterle\n"
    "Kismet\tstarred_actors\tMarlene Dietrich\n"
    "Faust\tdirected_by\tWilliam Dieterle\n"
    "nothing here\n"
)
TURTLE = """
@prefix ex: <http://example.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
ex:ada rdfs:label "Ada Stone" ; ex:leads ex:squad .
ex:squad rdfs:label "Night Squad" .
"""
GRAPHML = """<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="name" for="node" attr.name="name" attr.type="string"/>
<key id="label" for="edge" attr.name="label" attr.type="string"/>
<graph edgedefault="directed">
<node id="1"><data key="name">Ada Stone</data></node>
<node id="2"><data key="name">Night Squad</data></node>
<edge source="1" target="2"><data key="label">leads</data></edge>
</graph></graphml>
"""


@pytest.fixture
def base(tmp_path):
    with knotwork.open(tmp_path / "graphs.knot") as opened:
        yield opened


def test_triples_are_imported_once_asked_and_deleted(base, tmp_path):
    films = tmp_path / "films.tsv"
    films.write_text(FILMS)
    report = base.graph.import_files(films)
    assert (report.name, report.things, report.facts) == ("films", 4, 3)
    assert base.graph.import_files(films).unchanged
    answer = base.ask("Who directed Faust?")
    assert "William Dieterle" in answer.text
    assert answer.citations[0].document.startswith("graph:films")
    rows = base.graph.cypher(
        "MATCH (f)-[r]->(p {name: 'William Dieterle'}) RETURN f.name AS film ORDER BY film",
        graph="films",
    ).rows
    assert [row[0] for row in rows] == ["Faust", "Kismet"]
    assert base.delete("graph:films")
    assert base.documents() == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("facts.ttl", TURTLE),
        ("facts.nt", ('<http://e.org/a> <http://e.org/leads> <http://e.org/s> .\n'
         '<http://e.org/a> <http://www.w3.org/2000/01/rdf-schema#label> "Ada Stone" .\n'
         '<http://e.org/s> <http://www.w3.org/2000/01/rdf-schema#label> "Night Squad" .\n')),
        ("facts.graphml", GRAPHML),
        ("facts.csv", "source,relation,target\nAda Stone,leads,Night Squad\n"),
    ],
)  # fmt: skip
def test_each_format_of_graphs_states_the_same_fact(base, tmp_path, name, text):
    (tmp_path / name).write_text(text, encoding="utf-8")
    report = base.graph.import_files(tmp_path / name)
    assert report.facts >= 1
    found = base.graph.explore("Ada Stone", depth=1).format()
    assert "- Ada Stone -leads→ Night Squad" in found.splitlines()


def test_tables_of_nodes_and_edges_are_one_graph(base, tmp_path):
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "people.csv").write_text("id,name,age\n1,Ada Stone,41\n2,Bo Finch,30\n")
    (folder / "knows.csv").write_text("source,target,since\n1,2,2019\n")
    report = base.graph.import_files(folder, name="shop")
    assert report.things == 2
    rows = base.graph.cypher("MATCH (a)-[r]->(b) RETURN a.name, type(r), b.name", graph="shop").rows
    assert [tuple(row) for row in rows] == [("Ada Stone", "knows", "Bo Finch")]


def test_a_graph_built_in_python_is_imported_asked_and_read_back(base):
    graph = Graph([("Ada Lovelace", "worked with", "Charles Babbage")])
    graph.add_entity("Analytical Engine", "MACHINE", properties={"designed in": 1837})
    graph.add_relation("Charles Babbage", "designed", "Analytical Engine")
    assert graph.to_subgraph().format().count("→") == 2
    assert base.graph.import_graph(graph, name="history").facts >= 2
    assert "Charles Babbage" in base.ask("Who designed the Analytical Engine?").text
    again = Graph.from_subgraph(base.graph.explore("Charles Babbage", depth=2))
    assert ("Charles Babbage", "designed", "Analytical Engine") in set(again.triples())
    with pytest.raises(knotwork.KnotworkError):
        graph.add_entity("Ada Lovelace")
    graph.add_triples([("Ada", "wrote", "Notes")])
    graph.merge_entities("Ada Lovelace", "Ada")
    assert [n.name for n in graph.neighbours("Ada Lovelace")] == ["Charles Babbage", "Notes"]


def test_a_graph_goes_to_networkx_and_back():
    graph = Graph([("A", "to", "B"), ("B", "to", "C")])
    other = graph.to_networkx()
    assert nx.shortest_path(other, "A", "C") == ["A", "B", "C"]
    assert set(Graph.from_networkx(other).triples()) == set(graph.triples())


def test_the_graph_is_exported_in_each_format_with_the_same_counts(cli, tmp_path):
    counts = set()
    for name, suffix in [
        ("json", ".json"), ("graphml", ".graphml"), ("csv", ""),
        ("parquet", ""), ("cypher", ".cypher"),
    ]:  # fmt: skip
        target = tmp_path / f"graph-{name}{suffix}"
        told = cli("graph", "export", "--format", name, "-o", target, "--json").json
        assert told["format"] == name
        assert target.exists()
        counts.add((told["nodes"], told["edges"]))
    assert len(counts) == 1
    ((nodes, edges),) = counts
    whole = json.loads((tmp_path / "graph-json.json").read_text("utf-8"))
    assert (whole["format"], whole["version"]) == ("knotwork-graph", 1)
    assert (len(whole["nodes"]), len(whole["edges"])) == (nodes, edges)
    read = nx.read_graphml(tmp_path / "graph-graphml.graphml")
    assert (read.number_of_nodes(), read.number_of_edges()) == (nodes, edges)
    with (tmp_path / "graph-csv" / "nodes.csv").open(encoding="utf-8", newline="") as table:
        assert len(list(csv.DictReader(table))) == nodes


def test_equal_indexes_give_equal_exports(own_papers, tmp_path):
    texts = []
    for name in ("one", "two"):
        with knotwork.open(tmp_path / f"{name}.knot") as base:
            base.index(own_papers)
        store = ("--store", tmp_path / f"{name}.knot")
        texts.append(command_line("graph", "export", *store).out)
    assert texts[0] == texts[1]
    assert "温青岚" in texts[0]


def test_an_index_round_trips_through_graphrag(cli, base, tmp_path):
    told = cli("graph", "export", "--format", "graphrag", "-o", tmp_path / "out", "--json").json
    assert told["rows"]["documents"] >= 28
    report = base.import_from(tmp_path / "out", name="back")
    assert report.format == "graphrag"
    assert report.brought["documents"] >= 28
    answer = base.ask("Who approves trips abroad?")
    assert "Travel Office" in answer.text
    assert answer.citations[0].document.startswith("graphrag:back")
    assert "Ilse Tarrant" in {n.name for n in base.graph.explore("Oriane Keld", depth=1).nodes}


def test_a_lightrag_index_is_imported(base, tmp_path):
    folder = tmp_path / "book"
    folder.mkdir()
    text = "Ada Stone leads the Night Squad from Harbour Base."
    files = {
        "full_docs": {"doc-a": {"content": text, "file_path": "squad.txt"}},
        "text_chunks": {
            "chunk-0": {
                "tokens": 9,
                "content": text,
                "chunk_order_index": 0,
                "full_doc_id": "doc-a",
            }
        },
        "llm_response_cache": {"default": {}},
    }
    for name, value in files.items():
        (folder / f"kv_store_{name}.json").write_text(json.dumps(value), "utf-8")
    graph = nx.Graph()
    for name in ("Ada Stone", "Night Squad"):
        graph.add_node(name, entity_id=name, entity_type="", description="", source_id="chunk-0")
    graph.add_edge(
        "Ada Stone", "Night Squad", weight=2.0, source_id="chunk-0", keywords="",
        description="Ada Stone leads the Night Squad.",
    )  # fmt: skip
    nx.write_graphml(graph, folder / "graph_chunk_entity_relation.graphml")
    report = base.import_from(folder)
    assert (report.format, report.name) == ("lightrag", "book")
    assert "Ada Stone -leads" in base.graph.explore("Ada Stone").format()
    assert "Ada Stone" in base.ask("Who leads the Night Squad?").text


def test_a_schema_is_made_from_examples_and_shown(own_cli, tmp_path):
    examples = tmp_path / "examples.csv"
    examples.write_text(
        "source,source type,relation,target,target type\nAda,PERSON,founded,Acme,COMPANY\n"
    )
    made = own_cli("schema", "examples", examples, "-o", "schema.toml", "--json").json
    assert [kind["name"] for kind in made["entity_types"]] == ["PERSON", "COMPANY"]
    assert [kind["name"] for kind in made["relation_types"]] == ["founded"]
    shown = own_cli("schema", "show", "--set", "extraction.schema=schema.toml", "--json").json
    assert shown["strict"]
    assert shown["patterns"] == [
        {"source": "PERSON", "relation": "founded", "target": "COMPANY", "count": None}
    ]
    counted = own_cli("schema", "propose", "--no-model", "-o", "counted.toml", "--json").json
    assert counted["model"] == ""
    assert "has manager" in {kind["name"] for kind in counted["relation_types"]}


@pytest.mark.parametrize("name", ["graphml", "csv"])
def test_an_exported_graph_is_imported_as_a_separate_graph(own_papers, base, tmp_path, name):
    with knotwork.open(tmp_path / "first.knot") as first:
        first.index(own_papers)
    target = tmp_path / ("back.graphml" if name == "graphml" else "back")
    line = ("graph", "export", "--format", name, "-o", target, "--store", tmp_path / "first.knot")
    assert command_line(*line).code == 0
    report = base.graph.import_files(target, name="back")
    assert report.things > 0
    born = "- Oriane Keld -born in→ Tarnby"
    with knotwork.open(tmp_path / "first.knot") as first:
        assert born in first.graph.explore("Tarnby", depth=1).format()
    found = base.graph.explore("Tarnby", depth=1).format()
    assert "Oriane Keld" in found
