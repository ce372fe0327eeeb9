"""A statement written from its syntax tree means the same, and hides nothing from a server."""

from __future__ import annotations

import pytest
from tests.cypher.graphs import PEOPLE
from tests.graph_servers.gold_statements import GOLD

from knotwork import demo
from knotwork._extensions.cypher.language import run_statement
from knotwork._extensions.cypher.language.limits import Limits
from knotwork._extensions.cypher.language.parser import parse_statement
from knotwork._extensions.cypher.language.statement_writer import (
    WritingRules,
    quote,
    write_statement,
)
from knotwork._knowledge_base import open as open_knowledge_base
from knotwork.errors import QueryRefused

STATEMENTS = (
    "MATCH (a:Person)-[r:KNOWS]->(b) WHERE a.age > 20 RETURN a.name, r.w, b.name",
    "MATCH (a)-[r:KNOWS|LIVES*1..2 {w: 1}]-(b) RETURN a.name, b.name",
    "MATCH (a:Person&!Boss)-->(b:City|Boss) RETURN a.name, b.name",
    "MATCH (a:% WHERE a.age = 36) RETURN a.name",
    "MATCH p = allShortestPaths((a {name: 'Ada'})-[:KNOWS*]->(b {name: 'Di'})) RETURN length(p)",
    "OPTIONAL MATCH (a:Nothing) RETURN a, a.x",
    "MATCH (a) RETURN a {.name, .*, old: a.age, a} ORDER BY a.name",
    "UNWIND [1, -2, 3.5, 1e300, 0x1F, true, null, 'it\\'s'] AS x RETURN x, x IS NULL",
    "RETURN 'a\\nb\\'c\"d`e' AS `odd ``name`, $p[0..1], $p[-1], {k: $p}.k[1], [1, [2]][1][0]",
    (
        "RETURN 7 / 2 * 2 - 1 % 3 ^ 2, 'a' + 'b' =~ 'a.', 2 IN [1, 2], NOT 1 < 2 <= 3 OR"
        " false XOR true"
    ),
    "RETURN CASE $p WHEN [1, 2] THEN 'y' ELSE 'n' END, CASE WHEN 1 > 2 THEN 1 END",
    "RETURN [x IN range(1, 5) WHERE x % 2 = 1 | x * x], reduce(s = 0, x IN $p | s + x)",
    "RETURN all(x IN $p WHERE x > 0), none(x IN $p WHERE x > 0), single(x IN $p WHERE x = 1)",
    "MATCH (a) RETURN [(a)-[:KNOWS]->(b) WHERE b.age > 1 | b.name] AS known ORDER BY a.name",
    "MATCH (a) WHERE (a)-[:LIVES]->() RETURN size((a)-->()), COUNT { (a)--() }, a:Person",
    (
        "MATCH (a) RETURN EXISTS { MATCH (a)-->(b) WHERE b.age > 20 }, COLLECT { MATCH (a)-->(b)"
        " RETURN b.name ORDER BY b.name }, a.name"
    ),
    "MATCH (a) CALL (a) { MATCH (a)-->(b) RETURN count(b) AS n } RETURN a.name, n",
    "MATCH (a) OPTIONAL CALL { WITH a MATCH (a)-->(b:Boss) RETURN b } RETURN a.name, b.name",
    "MATCH (a) WITH DISTINCT a.age AS age ORDER BY age DESC SKIP 1 LIMIT 2 WHERE age > 1 RETURN *",
    "RETURN 1 AS x UNION RETURN 2 AS x UNION RETURN 1 AS x",
    "MATCH (a) RETURN percentileCont(a.w, 0.5), stDev(a.w), count(DISTINCT a.name), count(*)",
    (
        "RETURN date('2020-02-03') + duration('P1M'), datetime('2020-01-01T00:00Z').year,"
        " duration.inDays(date('2020-01-01'), date('2020-02-01')).days"
    ),
    (
        "MATCH (a) WHERE a.name STARTS WITH 'A' AND a.name ENDS WITH 'a' OR a.name CONTAINS 'o'"
        " RETURN a['name'], keys(a), labels(a), elementId(a)"
    ),
)


@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_written_statement_has_the_rows_of_the_first(statement):
    given = {"p": [1, 2]}
    expected = run_statement(PEOPLE, statement, given)
    written = write_statement(parse_statement(statement), given)
    found = run_statement(PEOPLE, written.text, written.parameters)
    assert found.rows == expected.rows


def test_gold_statements_are_written_with_the_same_rows():
    kb = open_knowledge_base("memory:", embedding_model="none", index_questions="rules")
    with demo.open_sample() as folder:
        kb.index(folder)
    kb.communities.update()
    for statement in GOLD:
        written = write_statement(parse_statement(statement), {})
        expected = kb.graph.cypher(statement, row_limit=10_000)
        found = kb.graph.cypher(written.text, written.parameters, row_limit=10_000)
        assert found.rows == expected.rows, statement
    kb.close()


def test_text_becomes_parameters_and_comments_disappear():
    statement = (
        "MATCH (n) /* DELETE n */ WHERE n.name = '\\u0027 DELETE n //' // SET n.x = 1\nRETURN n"
    )
    written = write_statement(parse_statement(statement), {})
    assert written.text == "MATCH (n) WHERE (n.name = $knotwork_text_0) RETURN n"
    assert written.parameters == {"knotwork_text_0": "' DELETE n //"}


@pytest.mark.parametrize("name", ["a\\u0060b", "a\\b", "a\nb", "a\x00b", "a\ud800b", ""])
def test_a_name_that_a_server_might_read_otherwise_is_refused(name):
    with pytest.raises(QueryRefused, match="cannot be sent"):
        quote(name)


@pytest.mark.parametrize(
    ("name", "quoted"),
    [("name", "name"), ("a b", "`a b`"), ("a`b", "`a``b`"), ("match", "`match`"), ("名", "`名`")],
)
def test_other_names_are_quoted_if_they_must_be(name, quoted):
    assert quote(name) == quoted


def test_only_the_parameters_of_the_statement_are_sent():
    written = write_statement(parse_statement("RETURN $a, $`b c`"), {"a": 1, "b c": 2, "secret": 3})
    assert written.text == "RETURN $a AS `$a`, $knotwork_given_0 AS `$``b c```"
    assert written.parameters == {"a": 1, "knotwork_given_0": 2}


def test_a_parameter_that_is_not_given_is_refused_before_anything_is_sent():
    with pytest.raises(QueryRefused, match=r"parameter \$a, which is not given"):
        write_statement(parse_statement("RETURN $a"), {})


MIRROR = WritingRules(hidden_label="Stamp", ids_are_properties=True)


@pytest.mark.parametrize(
    ("statement", "written"),
    [
        ("MATCH (n) RETURN n", "MATCH (n) WHERE NOT n:Stamp RETURN n"),
        ("MATCH () RETURN 1 AS x", "MATCH (knotwork_1) WHERE NOT knotwork_1:Stamp RETURN 1 AS x"),
        (
            "MATCH () RETURN 1 AS knotwork_1",
            "MATCH (knotwork_2) WHERE NOT knotwork_2:Stamp RETURN 1 AS knotwork_1",
        ),
        ("MATCH (n:Stamp) RETURN n", "MATCH (n:Stamp) WHERE NOT n:Stamp RETURN n"),
        ("MATCH (n:!A) RETURN n", "MATCH (n:!A) WHERE NOT n:Stamp RETURN n"),
        ("MATCH (n:A) RETURN n", "MATCH (n:A) RETURN n"),
        ("MATCH (n)-->(m) RETURN n", "MATCH (n)-[]->(m) RETURN n"),
        ("MATCH (n)-[*0..2]->(m) RETURN n", "MATCH (n)-[*0..2]->(m) WHERE NOT n:Stamp RETURN n"),
        ("MATCH (n:A) RETURN elementId(n) AS i", "MATCH (n:A) RETURN n.id AS i"),
    ],
)
def test_the_stamp_of_a_mirror_is_hidden_and_ids_are_properties(statement, written):
    assert write_statement(parse_statement(statement), {}, MIRROR).text == written


@pytest.mark.parametrize("call", ["id(n)", "elementId(head(collect(n)))"])
def test_ids_that_a_mirror_cannot_have_are_refused(call):
    with pytest.raises(QueryRefused, match="another value on a graph database"):
        write_statement(parse_statement(f"MATCH (n) RETURN {call}", Limits()), {}, MIRROR)
