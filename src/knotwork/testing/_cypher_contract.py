"""Contract suites for stores that run Cypher (`RunsCypher`) and store imported graphs
(`StoresPropertyGraphs`).
"""

from __future__ import annotations

from typing import Protocol

import pytest

from knotwork._stores.base import Store
from knotwork._stores.extensions import StoresCommunities, StoresQuestions
from knotwork._stores.property_graphs import OWN_GRAPH, RunsCypher, StoresPropertyGraphs
from knotwork.errors import QueryRefused, QuerySyntaxError, QueryTimeout, StoreError, UnknownName
from knotwork.records import PropertyNode, PropertyValue, Relationship
from knotwork.testing._enrichment_contract import sample_community, sample_report
from knotwork.testing._store_contract import add_document, sample_relation

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


class QueriedStore(Store, RunsCypher, StoresPropertyGraphs, Protocol):
    """The type of the fixture ``store``."""


def _import(store: QueriedStore) -> None:
    store.property_graphs.put("people", _NODES, _EDGES)


def _rows(store: QueriedStore, statement: str, **given: PropertyValue) -> list[PropertyValue]:
    result = store.cypher(statement, given, graph="people")
    return [row[0] if len(row) == 1 else row for row in result.rows]


class CypherContract:
    """Tests of `RunsCypher`. Subclass it and define the fixture ``store``."""

    def test_an_imported_graph_is_asked(self, store: QueriedStore) -> None:
        assert isinstance(store, RunsCypher)
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

    def test_elements_come_as_mappings(self, store: QueriedStore) -> None:
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

    def test_a_graph_that_is_put_anew_is_asked_anew(self, store: QueriedStore) -> None:
        _import(store)
        assert _rows(store, "MATCH (n:Person) RETURN count(n)") == [2]
        with store.transaction():
            store.property_graphs.put("people", _NODES[:1], [])
            assert _rows(store, "MATCH (n:Person) RETURN count(n)") == [1]
        assert _rows(store, "MATCH (n:Person) RETURN count(n)") == [1]
        store.property_graphs.remove("people")
        with pytest.raises(UnknownName, match="people"):
            _rows(store, "MATCH (n) RETURN n")

    def test_what_a_transaction_gave_up_is_not_seen(self, store: QueriedStore) -> None:
        _import(store)
        with pytest.raises(KeyError):
            _ask_and_give_up(store)
        store.property_graphs.put("others", _NODES[2:], [])
        assert _rows(store, "MATCH (n) RETURN count(n)") == [4]
        assert store.cypher("MATCH (n) RETURN count(n)", graph="others").rows == ((2,),)

    def test_the_own_graph_is_the_index(self, store: QueriedStore) -> None:
        add_document(store, "a.md", ["Ada", "Bob"], link=True)
        nodes = store.cypher("MATCH (n) RETURN n.id, labels(n)[0], n.name ORDER BY n.id").rows
        shown = [(node.id, node.label, node.name) for node in store.graph.find(limit=1_000)]
        assert [tuple(row) for row in nodes] == shown
        asked = store.cypher(
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

    def test_the_own_graph_shows_all_properties(self, store: QueriedStore) -> None:
        add_document(store, "a.md", ["Ada", "Bob"])
        for node in store.graph.find(limit=1_000):
            (row,) = store.cypher("MATCH (n {id: $id}) RETURN properties(n)", {"id": node.id}).rows
            assert row[0] == {"id": node.id, "name": node.name, **node.properties}

    def test_the_own_graph_follows_the_documents(self, store: QueriedStore) -> None:
        count = "MATCH (c:Chunk) RETURN count(c)"
        assert store.cypher(count).rows == ((0,),)
        document = add_document(store, "a.md", ["Ada", "Bob"])
        assert store.cypher(count).rows == ((2,),)
        chunk = store.cypher("MATCH (c:Chunk) RETURN c.id LIMIT 1").rows[0][0]
        store.graph.upsert(relations=[sample_relation(chunk, "nobody", "met", "ada")])
        assert store.cypher("MATCH ()-[r:RELATES]->() RETURN count(r)").rows == ((0,),)
        store.remove_documents([document])
        assert store.cypher(count).rows == ((0,),)

    def test_communities_are_nodes(self, store: QueriedStore) -> None:
        if not isinstance(store, StoresCommunities):
            pytest.skip("The store holds no communities.")
        document = add_document(store, "a.md", ["Ada", "Bob"])
        chunks = tuple(store.documents.chunk_ids(document))
        top = sample_community("top", of="ada bob", chunks=chunks)
        low = sample_community("low", of="bob", chunks=chunks[1:], level=1, parent="top")
        store.communities.replace([top, low])
        store.communities.put_reports([sample_report(top, *chunks)])
        asked = "MATCH (c:Community {level: $level}) RETURN properties(c)"
        (((properties,),), ((without,),)) = (
            store.cypher(asked, {"level": level}).rows for level in (0, 1)
        )
        counts = {"id": top.id, "level": 0, "entity_count": 2, "chunk_count": 2}
        report = {"title": "Title", "summary": "Summary\n摘要", "rating": 2.5, "language": "en"}
        assert properties == {**counts, **report, "name": "Title"}
        counts = {"id": low.id, "level": 1, "entity_count": 1, "chunk_count": 1}
        assert without == {**counts, "name": ""}
        members = store.cypher(
            "MATCH (e:Entity)-[r:IN_COMMUNITY]->(c {id: $id})"
            " RETURN e.id, r.importance ORDER BY r.importance DESC",
            {"id": top.id},
        ).rows
        assert members == tuple((m.entity_id, m.importance) for m in top.members)
        within = store.cypher(
            "MATCH (p:Community)-[:HAS_CHILD]->(c:Community)<-[r:IN_COMMUNITY]-(h:Chunk)"
            " RETURN p.id, c.id, h.id, properties(r)"
        ).rows
        assert within == ((top.id, low.id, chunks[1], {}),)
        store.remove_documents([document])
        assert store.cypher("MATCH (c:Community) RETURN c").rows == ()

    def test_questions_are_nodes(self, store: QueriedStore) -> None:
        if not isinstance(store, StoresQuestions):
            pytest.skip("The store holds no questions.")
        document = add_document(store, "a.md", ["Ada", "Bob"])
        one, other = store.documents.chunk_ids(document)
        store.questions.put({one: ["Who?", "谁？"], other: ["Who?"]})
        rows = store.cypher(
            "MATCH (c:Chunk)-[:ANSWERS]->(q:Question)"
            " RETURN c.id, q.name, q.chunk, q.ordinal, q.id ORDER BY q.name, c.id"
        ).rows
        expected = [(one, "Who?", one, 0), (other, "Who?", other, 0), (one, "谁？", one, 1)]
        assert [row[:4] for row in rows] == sorted(expected, key=lambda row: (row[1], row[0]))
        assert len({row[4] for row in rows}) == 3
        store.remove_documents([document])
        assert store.cypher("MATCH (q:Question) RETURN q").rows == ()

    def test_rows_are_limited(self, store: QueriedStore) -> None:
        _import(store)
        result = store.cypher("MATCH (n) RETURN n.name AS name", graph="people", row_limit=3)
        assert (len(result.rows), result.columns, result.truncated) == (3, ("name",), True)
        whole = store.cypher("MATCH (n) RETURN n", graph="people", row_limit=4)
        assert (len(whole.rows), whole.truncated) == (4, False)

    def test_time_is_limited(self, store: QueriedStore) -> None:
        _import(store)
        with pytest.raises(QueryTimeout):
            store.cypher(
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
    def test_nothing_but_reading_is_run(self, store: QueriedStore, statement: str) -> None:
        _import(store)
        before = store.generation()
        with pytest.raises(QueryRefused):
            store.cypher(statement, graph="people")
        assert store.generation() == before
        assert _rows(store, "MATCH (n) RETURN count(n)") == [4]

    def test_what_is_no_statement_is_said_to_be_none(self, store: QueriedStore) -> None:
        for statement in ("", "MATCH (n RETURN n", "MATCH (n) RETURN m", "RETURN $absent"):
            with pytest.raises(QuerySyntaxError):
                store.cypher(statement)


def _ask_and_give_up(store: QueriedStore) -> None:
    with store.transaction():
        store.property_graphs.put("people", [], [])
        store.property_graphs.put("others", _NODES, _EDGES)
        assert _rows(store, "MATCH (n) RETURN count(n)") == [0]
        assert store.cypher("MATCH (n) RETURN count(n)", graph="others").rows == ((4,),)
        raise KeyError


_STORED_NODES = [PropertyNode("a", ("Person",), {"name": "Ada"}), PropertyNode("b")]
_STORED_EDGES = [Relationship("r", "KNOWS", "a", "b", {"since": 1815})]


class GraphHoldingStore(Store, StoresPropertyGraphs, Protocol):
    """The type of the fixture ``store``."""


def _fail_after_putting(store: GraphHoldingStore) -> None:
    with store.transaction():
        store.property_graphs.put("lost", _STORED_NODES, _STORED_EDGES)
        store.property_graphs.remove("kept")
        assert store.property_graphs.names() == ["lost"]
        raise KeyError


class PropertyGraphContract:
    """Tests of `StoresPropertyGraphs`. Subclass it and define the fixture ``store``."""

    def test_graphs_are_named_in_order_and_removed(self, store: GraphHoldingStore) -> None:
        assert isinstance(store, StoresPropertyGraphs)
        graphs = store.property_graphs
        assert graphs.names() == []
        for name in ("people", "电影", "an odd one \ud800"):
            graphs.put(name, iter(_STORED_NODES), iter(_STORED_EDGES))
        graphs.put("people", [], [])
        assert graphs.names() == sorted(["people", "电影", "an odd one \ud800"])
        graphs.remove("people")
        graphs.remove("absent")
        assert graphs.names() == sorted(["电影", "an odd one \ud800"])

    def test_a_graph_is_put_in_the_transaction(self, store: GraphHoldingStore) -> None:
        store.property_graphs.put("kept", _STORED_NODES, _STORED_EDGES)
        before = store.generation()
        with pytest.raises(KeyError):
            _fail_after_putting(store)
        assert store.property_graphs.names() == ["kept"]
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
        store: GraphHoldingStore,
        nodes: list[PropertyNode],
        edges: list[Relationship],
        words: str,
    ) -> None:
        with pytest.raises(StoreError, match=words):
            store.property_graphs.put("people", nodes, edges)
        assert store.property_graphs.names() == []

    def test_the_own_graph_is_not_put(self, store: GraphHoldingStore) -> None:
        with pytest.raises(StoreError, match="needs a name"):
            store.property_graphs.put(OWN_GRAPH, _STORED_NODES, _STORED_EDGES)
