"""`knotwork cypher`: statements on the index and on imported graphs, that only read."""

from __future__ import annotations

import pytest
from tests.cli.running import knotwork
from tests.stores.minimal_store import MinimalStore

from knotwork import KnowledgeBase
from knotwork._cli.session import read_parameter
from knotwork._stores.embedded import EmbeddedStore
from knotwork._stores.urls import open_store
from knotwork.errors import ConfigError, MissingCapability
from knotwork.records import PropertyNode, Relationship


@pytest.fixture
def index(tmp_path, monkeypatch):
    path = tmp_path / "index.knot"
    monkeypatch.setenv("KNOTWORK_STORE_PATH", str(path))
    monkeypatch.setenv("KNOTWORK_EMBEDDING_MODEL", "none")
    (tmp_path / "a.txt").write_text("Marie Curie worked in Paris.", encoding="utf-8")
    assert knotwork("index", tmp_path / "a.txt").code == 0
    store = EmbeddedStore.open(path)
    nodes = [PropertyNode(str(i), ("Person",), {"name": f"P{i}", "age": i}) for i in range(4)]
    edges = [Relationship("r", "KNOWS", "0", "1")]
    store.property_graphs.put("people", nodes, edges)
    store.close()
    return path


def test_the_index_is_asked(index):
    outcome = knotwork(
        "cypher", "MATCH (e:Entity) WHERE e.name = $n RETURN e.name", "--param", "n=Paris"
    )
    assert outcome.code == 0
    assert "Paris" in outcome.out
    assert "1 row" in outcome.err


def test_an_imported_graph_is_asked_and_rows_are_limited(index):
    statement = "MATCH (p:Person) WHERE p.age >= $age RETURN p.name AS name ORDER BY name"
    asked = ("cypher", statement, "--param", "age=1", "--graph", "people")
    payload = knotwork(*asked, "--json", "--limit", "2").json
    assert payload["columns"] == ["name"]
    assert payload["rows"] == [["P1"], ["P2"]]
    assert payload["truncated"]
    assert "--limit" in knotwork(*asked, "--limit", "2").err


def test_elements_are_printed_shortly(index):
    outcome = knotwork("cypher", "MATCH (a)-[r]->() RETURN a, r", "--graph", "people")
    assert "(:Person P0)" in outcome.out
    assert "KNOWS" in outcome.out


def test_a_missing_row_is_reported(index):
    outcome = knotwork("cypher", "MATCH (n:Absent) RETURN n")
    assert (outcome.code, outcome.out) == (0, "")
    assert "No row" in outcome.err


def test_writing_is_refused(index):
    before = index.read_bytes()
    outcome = knotwork("cypher", "MATCH (n) DETACH DELETE n")
    assert outcome.code == 2
    assert "DETACH" in outcome.err
    assert index.read_bytes() == before


def test_a_parameter_is_json_or_text():
    assert read_parameter("n=1") == ("n", 1)
    assert read_parameter("n=[1, null]") == ("n", [1, None])
    assert read_parameter("n=a=b") == ("n", "a=b")
    for wrong in ("n", "=1"):
        with pytest.raises(ConfigError, match="not NAME=VALUE"):
            read_parameter(wrong)


def test_a_knowledge_base_takes_parameters_by_name():
    with KnowledgeBase(open_store("memory:")) as base:
        result = base.graph.cypher("RETURN $a + $b AS sum", {"a": 1}, b=2)
        assert result.columns == ("sum",)
        assert result.rows == ((3,),)


def test_a_store_without_cypher_is_reported():
    refused = pytest.raises(MissingCapability, match="`memory:` does not support Cypher")
    with KnowledgeBase(MinimalStore()) as base, refused:
        base.graph.cypher("RETURN 1")


def test_a_statement_runs_over_the_passages_found(index, tmp_path):
    statement = "MATCH (node)-[:MENTIONS]->(e:Entity) WHERE e.name <> $not RETURN e.name AS name"
    (tmp_path / "my query.cypher").write_text(statement + "\n", encoding="utf-8")
    for given in (statement, tmp_path / "my query.cypher"):
        found = knotwork(
            "search", "Marie Curie", "--retrieval-query", given, "--param", "not=Paris", "--json"
        ).json
        (result,) = found["results"]
        assert result["rows"] == [["Marie Curie"]]
        assert result["source"] == "retrieval_query"
        assert result["parameters"] == {"not": "Paris"}
        asked = knotwork(
            "ask", "Where did Marie Curie work?", "--retrieval-query", given, "--param", "not=Paris"
        )
        assert asked.code == 0
        assert "Query" in asked.out
        assert "    name\n    Marie Curie\n" in asked.out


def test_a_statement_over_passages_that_is_wrong_is_explained(index, tmp_path):
    for given, told in (
        ("RETURN nodes.name", "Variables in scope: `node`, `score`"),
        ("MATCH (node) DELETE node", "`DELETE` changes the graph"),
        ("absent.cypher", "Cannot read a Cypher statement"),
        (str(tmp_path), "Cannot read a Cypher statement"),
    ):
        refused = knotwork("search", "Marie Curie", "--retrieval-query", given)
        assert refused.code == 2
        assert told in " ".join(refused.err.split())
