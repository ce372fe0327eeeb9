"""Clauses applied to rows, on a graph of a few people."""

from __future__ import annotations

import pytest
from tests.cypher.graphs import NOTHING, PEOPLE, rows

from knotwork._extensions.cypher.language import check_statement, run_statement
from knotwork._extensions.cypher.language.property_graph import Value
from knotwork.errors import QueryRefused, QuerySyntaxError


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("MATCH (n:Person) RETURN n.name", ["Ada", "Bob", "Di"]),
        ("MATCH (n:City|Boss) RETURN n.name", ["Rome", "Di"]),
        ("MATCH (n:!Person) RETURN n.name", ["Rome", "Ghost"]),
        ("MATCH (n:Person&!Boss) RETURN n.name", ["Ada", "Bob"]),
        ("MATCH (n:%) RETURN count(n)", [4]),
        ("MATCH (n) WHERE n:Boss RETURN n.name", ["Di"]),
        ("MATCH (n) WHERE n.age > 30 RETURN n.name", ["Ada", "Di"]),
        ("MATCH (n {name: 'Ada'})-[r:KNOWS]->(m) RETURN m.name, r.w", [("Bob", 1)]),
        ("MATCH (n WHERE n.age = 20) RETURN n.name", ["Bob"]),
        ("MATCH (n)-[r WHERE r.w > 4]->(n) RETURN n.name", ["Ghost"]),
        ("MATCH (n)-[r]-(m) RETURN count(*)", [11]),
        ("MATCH (a)-->(c)<--(b) RETURN a.name, b.name", [("Ada", "Di"), ("Di", "Ada")]),
        ("MATCH (a)-->(b)-->(c)-->(a) RETURN count(*)", [3]),
        ("MATCH (a {name: 'Ada'})-[:KNOWS*2]->(b) RETURN b.name", ["Di"]),
        ("MATCH (a {name: 'Ada'})-[:KNOWS*0..1]->(b) RETURN b.name", ["Ada", "Bob"]),
        ("MATCH (a {name: 'Bob'})-[r:KNOWS*1..2 {w: 2}]->(b) RETURN size(r)", [1]),
        ("MATCH p = (a {name: 'Ada'})-[:KNOWS*2]->() RETURN [n IN nodes(p) | n.name]",
         [["Ada", "Bob", "Di"]]),
        ("MATCH p = shortestPath((a {name: 'Bob'})-[*]-(c:City)) RETURN length(p)", [2]),
        ("MATCH p = allShortestPaths((a {name: 'Bob'})-[*]-(c:City)) RETURN count(p)", [2]),
        ("MATCH (a:City), (b {age: 'old'}) RETURN length(shortestPath((a)-[*]-(b)))", [None]),
        ("MATCH (n:Person) OPTIONAL MATCH (n)-[:LIVES]->(c) RETURN n.name, c.name",
         [("Ada", "Rome"), ("Bob", None), ("Di", "Rome")]),
        ("OPTIONAL MATCH (n:Absent) RETURN n", [None]),
        ("MATCH (n:Absent) RETURN count(*), sum(n.x), collect(n), max(n.x)", [(0, 0, [], None)]),
        ("MATCH (n:Person) WHERE (n)-[:LIVES]->() RETURN n.name", ["Ada", "Di"]),
        ("MATCH (n:Person) WHERE NOT EXISTS { (n)-[:LIVES]->() } RETURN n.name", ["Bob"]),
        ("MATCH (n) WHERE EXISTS { MATCH (n)-[k]->(m:Person) WHERE k.w > 4 } RETURN n.name",
         ["Di"]),
        ("MATCH (n:Person) RETURN COUNT { (n)--() } AS c ORDER BY c DESC", [3, 3, 2]),
        ("MATCH (n:Boss) RETURN COLLECT { MATCH (n)--(m) RETURN m.name ORDER BY m.name }",
         [["Ada", "Bob", "Rome"]]),
        ("MATCH (n:Boss) RETURN [(n)-[k:KNOWS]-(m) WHERE k.w < 9 | m.name]", [["Ada", "Bob"]]),
        ("MATCH (n:Boss) RETURN n {.name, older: n.age + 1}", [{"name": "Di", "older": 51}]),
        ("MATCH (n:Boss) RETURN labels(n), keys(n), properties(n)",
         [(["Person", "Boss"], ["name", "age"], {"name": "Di", "age": 50})]),
        ("MATCH (n)-[r {w: 5}]->(m) RETURN type(r), startNode(r).name, endNode(r).name",
         [("KNOWS", "Di", "Ada")]),
        ("MATCH (n) WHERE id(n) = 1 RETURN elementId(n)", ["n1"]),
        ("MATCH (n) WHERE elementId(n) = 'n3' RETURN n.name", ["Di"]),
        ("MATCH (n) WHERE n.name IN ['Di', 'Ada', 'Di', null] RETURN n.name", ["Di", "Ada"]),
        ("MATCH (n) WITH n.name AS x WHERE x STARTS WITH 'D' RETURN x", ["Di"]),
        ("MATCH (n:Person) WITH n ORDER BY n.age DESC LIMIT 2 RETURN n.name", ["Di", "Ada"]),
        ("MATCH (n:Person) RETURN n.name ORDER BY n.age SKIP 1 LIMIT 1", ["Ada"]),
        ("MATCH (n:Person)-[:KNOWS]-(m) RETURN n.name AS a, count(m) AS c ORDER BY c DESC, a",
         [("Ada", 2), ("Bob", 2), ("Di", 2)]),
        ("MATCH (n) RETURN DISTINCT n:Person AS p", [True, False]),
        ("UNWIND [3, null, 1] AS x RETURN x", [3, None, 1]),
        ("UNWIND [] AS x RETURN x", []),
        ("UNWIND null AS x RETURN x", []),
        ("RETURN 1 AS a UNION RETURN 1 AS a", [1]),
        ("RETURN 1 AS a UNION ALL RETURN 1 AS a", [1, 1]),
        ("MATCH (n:Person) CALL { WITH n MATCH (n)-->(m) RETURN count(m) AS c } RETURN c",
         [2, 1, 2]),
        ("MATCH (n:Person) CALL (n) { MATCH (n)-->(m:City) RETURN m } RETURN m.name",
         ["Rome", "Rome"]),
        ("CALL { RETURN 1 AS x UNION ALL RETURN 2 AS x } RETURN sum(x)", [3]),
        ("MATCH (a:Boss) MATCH (a)-[r]->(b) WITH r MATCH (x)-[r]-(y) RETURN count(*)", [4]),
        ("WITH 1 AS a, 2 AS b RETURN *", [(1, 2)]),
        ("MATCH (n) RETURN count(DISTINCT n.age)", [4]),
        ("UNWIND [1, 2, 3] AS x WITH collect(x) AS l, sum(x) AS s RETURN l, s * 2",
         [([1, 2, 3], 12)]),
    ],
)  # fmt: skip
def test_rows(statement: str, expected: list[Value]) -> None:
    found = rows(PEOPLE, statement)
    if "ORDER BY" in statement:
        assert found == expected
    else:
        assert sorted(found, key=repr) == sorted(expected, key=repr)


@pytest.mark.parametrize(
    "statement",
    [
        "MATCH (n)",
        "RETURN",
        "MATCH (n RETURN n",
        "MATCH (n) WHERE RETURN n",
        "MATCH (n)-[n]->() RETURN n",
        "MATCH (n)-[r]->()-[r]->() RETURN r",
        "MATCH n = (a)-->(n) RETURN n",
        "MATCH (n) RETURN m",
        "MATCH (n) WITH n.name RETURN 1",
        "MATCH (n) RETURN n AS a, n AS a",
        "MATCH (n) RETURN n.name, m.age + count(*)",
        "MATCH (n) RETURN n.age + count(*)",
        "MATCH (n) WITH count(*) AS c RETURN n",
        "MATCH (n) RETURN count(count(n))",
        "MATCH (n) WHERE count(n) > 1 RETURN n",
        "MATCH (n) RETURN n LIMIT -1",
        "MATCH (n) RETURN n LIMIT n.age",
        "MATCH (n) RETURN n SKIP 'a'",
        "RETURN 1 AS a UNION RETURN 2 AS b",
        "RETURN 1 AS a UNION RETURN 1 AS a UNION ALL RETURN 1 AS a",
        "WITH [1] AS n MATCH (n) RETURN n",
        "MATCH (n) WITH n AS m MATCH (m)-[m]->() RETURN m",
        "MATCH (a) WHERE (a)-->(b) RETURN a",
        "UNWIND [1] AS x UNWIND [2] AS x RETURN x",
        "MATCH (n) CALL { MATCH (m) RETURN m AS n } RETURN n",
        "RETURN *",
        "RETURN 'open",
        "RETURN 1 2",
        "MATCH (n) RETURN n.name ORDER BY",
        "MATCH p = (a)-->(b) RETURN p.name",
        "MATCH (a)-[r*1..2]->(b) RETURN r.w",
    ],
)
def test_errors_are_explained(statement: str) -> None:
    with pytest.raises(QuerySyntaxError):
        check_statement(PEOPLE, statement)


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("MATCH (n) SET n.a = 1 RETURN n", "SET"),
        ("CALL db.labels() YIELD label RETURN label", "db.labels"),
        ("MATCH ((a)-->(b)){2} RETURN a", "brackets"),
        ("MATCH (a)-->{2}(b) RETURN a", "Quantified"),
        ("MATCH p = SHORTEST 1 (a)-->(b) RETURN p", "SHORTEST"),
        ("MATCH p = shortestPath((a)-[*2..]-(b)) RETURN p", "minimum length"),
        ("MATCH p = shortestPath((a)-[*]-(b)) WHERE length(p) > 2 RETURN p", "WITH"),
        ("MATCH (n) USING INDEX n:Person(name) RETURN n", "USING"),
        ("MATCH (n $all) RETURN n", "properties"),
        ("RETURN 1; RETURN 2", "one statement"),
        ("LET x = 1 RETURN x", "LET"),
    ],
)
def test_refused_values_are_named(statement: str, words: str) -> None:
    with pytest.raises(QueryRefused, match=words):
        check_statement(PEOPLE, statement)


def test_a_complaint_says_where() -> None:
    with pytest.raises(QuerySyntaxError, match=r"line 2, column 7, at `\) RETURN n`"):
        check_statement(NOTHING, "MATCH (n)\nWHERE ) RETURN n")


def test_columns_are_known_without_running() -> None:
    assert check_statement(PEOPLE, "MATCH (n) RETURN n.name, 1 + 1 AS two") == ("n.name", "two")
    result = run_statement(PEOPLE, "MATCH (n:Boss) RETURN n . name")
    assert result.columns == ("n . name",)


def test_parameters_are_values_and_nothing_else() -> None:
    for bad in ({"p": object()}, {"p": {1: 2}}, {"p": [lambda: 1]}):
        with pytest.raises(QuerySyntaxError, match=r"\$p"):
            run_statement(PEOPLE, "RETURN $p", bad)
    given = {"p": ("a", {"b": None})}
    assert run_statement(PEOPLE, "RETURN $p", given).rows == ((["a", {"b": None}],),)


def test_a_column_is_named_after_the_whole_text_of_its_expression():
    found = run_statement(
        PEOPLE, "RETURN $a, $`b c`, {`d e`: 1}.`d e`, 'f' /* g */", {"a": 1, "b c": 2}
    )
    assert found.columns == ("$a", "$`b c`", "{`d e`: 1}.`d e`", "'f'")
