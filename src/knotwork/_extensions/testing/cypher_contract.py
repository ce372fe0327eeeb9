"""Contract suites for stores that run Cypher (`CypherRunner`) and store imported graphs
(`PropertyGraphStore`).
"""

from __future__ import annotations

import pytest

from knotwork._extensions.testing.enrichment_contract import sample_community, sample_report
from knotwork._extensions.testing.store_contract import add_document, sample_relation
from knotwork._stores.base import (
    Store,
    require_communities,
    require_cypher,
    require_property_graphs,
    require_questions,
)
from knotwork._stores.capabilities import OWN_GRAPH
from knotwork.errors import QueryRefused, QuerySyntaxError, QueryTimeout, StoreError, UnknownName
from knotwork.records import PropertyNode, PropertyValue, Relationship

_NODES = [
    PropertyNode("a", ("Person",), {"name": "Ada", "born": 1815, "tags": ["maths", "poetry"]}),
    PropertyNode("b", ("Person", "Engineer"), {"name": "巴贝奇", "born": 1791}),
    PropertyNode("c", ("Machine",), {"name": "Engine", "size": {"height": 2.5}}),
    PropertyNode("d", (), {}),
]
_EDGES = [
    Relationship("1", "KNOWS", "a", "b", {"since": 1833}),
    Relationship("2", "BUILT", "b", "c"),
    Relationship("3", "WROTE_ON", "a", "c", {"note": "half a pair \ud800"}),
]


def _import(store: Store) -> None:
    require_property_graphs(store).put("people", _NODES, _EDGES)


def _rows(store: Store, statement: str, **given: PropertyValue) -> list[PropertyValue]:
    result = require_cypher(store)(statement, given, graph="people")
    return [row[0] if len(row) == 1 else row for row in result.rows]


class CypherContract:
    """Tests of `CypherRunner`. Subclass it and define the fixture ``store``."""

    def test_an_imported_graph_is_asked(self, store: Store) -> None:
        _import(store)
        found = _rows(
            store,
            "MATCH (p:Person {name: $name})-[k:KNOWS]->(q)-->(m:Machine)"
            " RETURN q.name, k.since, m.size.height",
            name="Ada",
        )
        assert found == [("巴贝奇", 1833, 2.5)]
        assert _rows(store, "MATCH (n) RETURN labels(n)") == [
            ["Person"],
            ["Person", "Engineer"],
            ["Machine"],
            [],
        ]

    def test_elements_come_as_mappings(self, store: Store) -> None:
        _import(store)
        (found,) = _rows(store, "MATCH p = (:Machine)<-[w:WROTE_ON]-(a) RETURN a, w, p")
        ada = {"id": "a", "labels": ["Person"], "properties": dict(_NODES[0].properties)}
        wrote = {
            "id": "3",
            "type": "WROTE_ON",
            "source": "a",
            "target": "c",
            "properties": {"note": "half a pair \ud800"},
        }
        engine = {"id": "c", "labels": ["Machine"], "properties": dict(_NODES[2].properties)}
        assert found == (ada, wrote, {"nodes": [engine, ada], "relationships": [wrote]})

    def test_a_graph_that_is_put_anew_is_asked_anew(self, store: Store) -> None:
        _import(store)
        assert _rows(store, "MATCH (n:Person) RETURN count(n)") == [2]
        with store.transaction():
            require_property_graphs(store).put("people", _NODES[:1], [])
            assert _rows(store, "MATCH (n:Person) RETURN count(n)") == [1]
        assert _rows(store, "MATCH (n:Person) RETURN count(n)") == [1]
        require_property_graphs(store).remove("people")
        with pytest.raises(UnknownName, match="people"):
            _rows(store, "MATCH (n) RETURN n")

    def test_what_a_transaction_gave_up_is_not_seen(self, store: Store) -> None:
        _import(store)
        with pytest.raises(KeyError):
            _ask_and_give_up(store)
        require_property_graphs(store).put("others", _NODES[2:], [])
        assert _rows(store, "MATCH (n) RETURN count(n)") == [4]
        assert require_cypher(store)("MATCH (n) RETURN count(n)", graph="others").rows == ((2,),)

    def test_the_own_graph_is_the_index(self, store: Store) -> None:
        add_document(store, "a.md", ["Ada", "Bob"], link=True)
        nodes = require_cypher(store)(
            "MATCH (n) RETURN n.id, labels(n)[0], n.name ORDER BY n.id"
        ).rows
        shown = [(node.id, node.label, node.name) for node in store.graph.find(limit=1_000)]
        assert [tuple(row) for row in nodes] == shown
        asked = require_cypher(store)(
            "MATCH (a)-[r]->(b) RETURN a.id, type(r), b.id, r.relation, r.weight, r.chunks"
        ).rows
        edges = [
            (
                edge.source,
                edge.type,
                edge.target,
                edge.relation if edge.type == "RELATES" else None,
                edge.weight if edge.type in ("MENTIONS", "ABOUT", "RELATES") else None,
                list(edge.chunks) if edge.type == "RELATES" else None,
            )
            for edge in store.graph.edges()
        ]
        assert sorted(asked, key=repr) == sorted(edges, key=repr)
        assert any(edge[1] == "RELATES" for edge in edges)

    def test_the_own_graph_shows_all_properties(self, store: Store) -> None:
        add_document(store, "a.md", ["Ada", "Bob"])
        for node in store.graph.find(limit=1_000):
            (row,) = require_cypher(store)(
                "MATCH (n {id: $id}) RETURN properties(n)", {"id": node.id}
            ).rows
            assert row[0] == {"id": node.id, "name": node.name, **node.properties}

    def test_the_own_graph_follows_the_documents(self, store: Store) -> None:
        count = "MATCH (c:Chunk) RETURN count(c)"
        assert require_cypher(store)(count).rows == ((0,),)
        document = add_document(store, "a.md", ["Ada", "Bob"])
        assert require_cypher(store)(count).rows == ((2,),)
        chunk = require_cypher(store)("MATCH (c:Chunk) RETURN c.id LIMIT 1").rows[0][0]
        store.graph.upsert(relations=[sample_relation(chunk, "nobody", "met", "ada")])
        assert require_cypher(store)("MATCH ()-[r:RELATES]->() RETURN count(r)").rows == ((0,),)
        store.remove_documents([document])
        assert require_cypher(store)(count).rows == ((0,),)

    def test_communities_are_nodes(self, store: Store) -> None:
        if store.capabilities.communities is None:
            pytest.skip("The store holds no communities.")
        document = add_document(store, "a.md", ["Ada", "Bob"])
        chunks = tuple(store.documents.chunk_ids_of([document])[document])
        top = sample_community("top", of="ada bob", chunks=chunks)
        low = sample_community("low", of="bob", chunks=chunks[1:], level=1, parent="top")
        require_communities(store).replace([top, low])
        require_communities(store).put_reports([sample_report(top, *chunks)])
        asked = "MATCH (c:Community {level: $level}) RETURN properties(c)"
        (((properties,),), ((without,),)) = (
            require_cypher(store)(asked, {"level": level}).rows for level in (0, 1)
        )
        counts = {"id": top.id, "level": 0, "entity_count": 2, "chunk_count": 2}
        report = {"title": "Title", "summary": "Summary\n摘要", "rating": 2.5, "language": "en"}
        assert properties == {**counts, **report, "name": "Title"}
        counts = {"id": low.id, "level": 1, "entity_count": 1, "chunk_count": 1}
        assert without == {**counts, "name": ""}
        members = require_cypher(store)(
            "MATCH (e:Entity)-[r:IN_COMMUNITY]->(c {id: $id})"
            " RETURN e.id, r.importance ORDER BY r.importance DESC",
            {"id": top.id},
        ).rows
        assert members == tuple((m.entity_id, m.importance) for m in top.members)
        within = require_cypher(store)(
            "MATCH (p:Community)-[:HAS_CHILD]->(c:Community)<-[r:IN_COMMUNITY]-(h:Chunk)"
            " RETURN p.id, c.id, h.id, properties(r)"
        ).rows
        assert within == ((top.id, low.id, chunks[1], {}),)
        store.remove_documents([document])
        assert require_cypher(store)("MATCH (c:Community) RETURN c").rows == ()

    def test_questions_are_nodes(self, store: Store) -> None:
        if store.capabilities.questions is None:
            pytest.skip("The store holds no questions.")
        document = add_document(store, "a.md", ["Ada", "Bob"])
        one, other = store.documents.chunk_ids_of([document])[document]
        require_questions(store).put({one: ["Who?", "谁？"], other: ["Who?"]})
        rows = require_cypher(store)(
            "MATCH (c:Chunk)-[:ANSWERS]->(q:Question)"
            " RETURN c.id, q.name, q.chunk, q.ordinal, q.id ORDER BY q.name, c.id"
        ).rows
        expected = [(one, "Who?", one, 0), (other, "Who?", other, 0), (one, "谁？", one, 1)]
        assert [row[:4] for row in rows] == sorted(expected, key=lambda row: (row[1], row[0]))
        assert len({row[4] for row in rows}) == 3
        store.remove_documents([document])
        assert require_cypher(store)("MATCH (q:Question) RETURN q").rows == ()

    def test_rows_are_limited(self, store: Store) -> None:
        _import(store)
        result = require_cypher(store)(
            "MATCH (n) RETURN n.name AS name", graph="people", row_limit=3
        )
        assert (len(result.rows), result.columns, result.truncated) == (3, ("name",), True)
        whole = require_cypher(store)("MATCH (n) RETURN n", graph="people", row_limit=4)
        assert (len(whole.rows), whole.truncated) == (4, False)

    def test_time_is_limited(self, store: Store) -> None:
        _import(store)
        with pytest.raises(QueryTimeout):
            require_cypher(store)(
                "UNWIND range(1, 100000) AS x MATCH (a), (b), (c) RETURN count(*)",
                graph="people",
                timeout_s=0.05,
            )

    @pytest.mark.parametrize(
        "statement",
        [
            "CREATE (n)",
            "MATCH (n) SET n.x = 1",
            "MATCH (n) DETACH DELETE n",
            "CALL db.labels()",
            "LOAD CSV FROM 'file:///etc/passwd' AS line RETURN line",
        ],
    )
    def test_nothing_but_reading_is_run(self, store: Store, statement: str) -> None:
        _import(store)
        before = store.generation()
        with pytest.raises(QueryRefused):
            require_cypher(store)(statement, graph="people")
        assert store.generation() == before
        assert _rows(store, "MATCH (n) RETURN count(n)") == [4]

    def test_what_is_no_statement_is_said_to_be_none(self, store: Store) -> None:
        for statement in ("", "MATCH (n RETURN n", "MATCH (n) RETURN m", "RETURN $absent"):
            with pytest.raises(QuerySyntaxError):
                require_cypher(store)(statement)


def _ask_and_give_up(store: Store) -> None:
    with store.transaction():
        require_property_graphs(store).put("people", [], [])
        require_property_graphs(store).put("others", _NODES, _EDGES)
        assert _rows(store, "MATCH (n) RETURN count(n)") == [0]
        assert require_cypher(store)("MATCH (n) RETURN count(n)", graph="others").rows == ((4,),)
        raise KeyError


_STORED_NODES = [PropertyNode("a", ("Person",), {"name": "Ada"}), PropertyNode("b")]
_STORED_EDGES = [Relationship("r", "KNOWS", "a", "b", {"since": 1815})]


def _fail_after_putting(store: Store) -> None:
    with store.transaction():
        require_property_graphs(store).put("lost", _STORED_NODES, _STORED_EDGES)
        require_property_graphs(store).remove("kept")
        assert require_property_graphs(store).names() == ["lost"]
        raise KeyError


class PropertyGraphContract:
    """Tests of `PropertyGraphStore`. Subclass it and define the fixture ``store``."""

    def test_graphs_are_named_in_order_and_removed(self, store: Store) -> None:
        graphs = require_property_graphs(store)
        assert graphs.names() == []
        for name in ("people", "电影", "an odd one \ud800"):
            graphs.put(name, iter(_STORED_NODES), iter(_STORED_EDGES))
        graphs.put("people", [], [])
        assert graphs.names() == sorted(["people", "电影", "an odd one \ud800"])
        graphs.remove("people")
        graphs.remove("absent")
        assert graphs.names() == sorted(["电影", "an odd one \ud800"])

    def test_a_graph_is_put_in_the_transaction(self, store: Store) -> None:
        require_property_graphs(store).put("kept", _STORED_NODES, _STORED_EDGES)
        before = store.generation()
        with pytest.raises(KeyError):
            _fail_after_putting(store)
        assert require_property_graphs(store).names() == ["kept"]
        assert store.generation() == before

    @pytest.mark.parametrize(
        ("nodes", "edges", "words"),
        [
            ([*_STORED_NODES, PropertyNode("a")], [], "`a`"),
            (_STORED_NODES, [*_STORED_EDGES, *_STORED_EDGES], "`r`"),
            (_STORED_NODES, [Relationship("r", "KNOWS", "a", "absent")], "`absent`"),
            ([PropertyNode("a", (), {"when": object()})], [], "`when` of `a`"),
            ([PropertyNode("a", (), {"map": {1: 2}})], [], "`map` of `a`"),
        ],
    )
    def test_what_is_no_graph_is_not_put(
        self,
        store: Store,
        nodes: list[PropertyNode],
        edges: list[Relationship],
        words: str,
    ) -> None:
        with pytest.raises(StoreError, match=words):
            require_property_graphs(store).put("people", nodes, edges)
        assert require_property_graphs(store).names() == []

    def test_the_own_graph_is_not_put(self, store: Store) -> None:
        with pytest.raises(StoreError, match="needs a name"):
            require_property_graphs(store).put(OWN_GRAPH, _STORED_NODES, _STORED_EDGES)
