"""Only queries that stay on their server are sent; nothing is run to find out."""

from __future__ import annotations

import socket

import pytest

from knotwork._extensions.graphs.servers.sparql_endpoint import MOST_CHARACTERS, check_sparql
from knotwork.errors import QueryRefused, QuerySyntaxError

_CROSS = "".join(f"VALUES ?v{i} {{ {' '.join(map(str, range(300)))} }} " for i in range(4))


@pytest.mark.parametrize(
    ("query", "form"),
    [
        ("SELECT * { ?s ?p ?o }", "SELECT"),
        ("select distinct ?s where { ?s a ?c filter(?c < 3 && 4 > ?c) } limit 3", "SELECT"),
        ("# INSERT\nPREFIX e: <http://e/> ASK { e:INSERT e:p 'DROP ALL' } # end", "ASK"),
        ("BASE <http://e/> PREFIX : <x#> CONSTRUCT { ?s :a ?o } WHERE { ?s :b ?o }", "CONSTRUCT"),
        ("DESCRIBE <http://e/a>", "DESCRIBE"),
        (
            'SELECT ?service { ?service <http://e/SERVICE> \'SERVICE\', """a\n"SERVICE""" }',
            "SELECT",
        ),
        ("PREFIX service: <http://e/> SELECT * { service:SERVICE service:a $SERVICE }", "SELECT"),
        (
            "SELECT (count(*) AS ?n) FROM <http://e/g> { GRAPH ?g { ?s ?p ?o } } GROUP BY ?g",
            "SELECT",
        ),
        (
            "SELECT * { ?s <http://e/p>/^<http://e/q>* ?o MINUS { ?s a '名' } } ORDER BY ?o",
            "SELECT",
        ),
        (f"SELECT (count(*) AS ?n) {{ {_CROSS} FILTER(?v0 + ?v1 = -1) }}", "SELECT"),
    ],
)
def test_a_query_is_recognised(query, form):
    assert check_sparql(query) == form


_UPDATES = (
    "INSERT DATA { <a:a> <a:b> <a:c> }",
    "DELETE DATA { <a:a> <a:b> <a:c> }",
    "DELETE WHERE { ?s ?p ?o }",
    "DELETE { ?s ?p ?o } INSERT { ?s ?p 1 } WHERE { ?s ?p ?o }",
    "WITH <a:g> DELETE { ?s ?p ?o } WHERE { ?s ?p ?o }",
    "LOAD <http://localhost/x>",
    "LOAD SILENT <file:///etc/passwd> INTO GRAPH <a:g>",
    "CLEAR ALL",
    "DROP GRAPH <a:g>",
    "CREATE GRAPH <a:g>",
    "COPY <a:g> TO <a:h>",
    "MOVE <a:g> TO <a:h>",
    "ADD <a:g> TO <a:h>",
    "",
    "# only a comment",
    "PREFIX e: <http://e/>",
    "EXPLAIN SELECT * {}",
)


@pytest.mark.parametrize("update", _UPDATES)
@pytest.mark.parametrize(
    "place",
    ["{}", "# SELECT * {{}}\n{}", "PREFIX e: <http://e/> {}", "BASE <http://e/#SELECT>\n{}"],
)
def test_an_update_is_refused(update, place):
    with pytest.raises((QueryRefused, QuerySyntaxError)):
        check_sparql(place.format(update))


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * { ?s ?p ?o }; DROP ALL",
        "SELECT * { ?s ?p ?o }\nDROP ALL",
        "SELECT * {} INSERT DATA { <a:a> <a:b> <a:c> }",
        "ASK {} # x\rDROP ALL",
        "SELECT * { INSERT DATA { <a:a> <a:b> <a:c> } }",
        "SELECT * { { DELETE WHERE { ?s ?p ?o } } }",
        "SELECT * { SERVICE <http://h/> { ?s ?p ?o } }",
        "SELECT * { service SILENT ?where { ?s ?p ?o } }",
        "SELECT * {{ SELECT * { ?s ?p ?o }SERVICE<http://h/>{ ?s ?p ?o } } }",
        "SELECT * { ?s ?p trueSERVICE <http://h/> { ?s ?p ?o } }",
        "SELECT * { ?s ?p 1SERVICE <http://h/> { ?s ?p ?o } }",
        "SELECT * { ?s ?p 'a'SERVICE <http://h/> { ?s ?p ?o } }",
        "SELECT * { FILTER EXISTS { SERVICE <http://h/> { ?s ?p ?o } } }",
        "SELECT * { \\u0053ERVICE <http://h/> { ?s ?p ?o } }",
        "SELECT * { ?s ?p '\\u0027 } ; DROP ALL #' }",
        "SELECT * { ?s ?p ?o } \x00",
        "SELECT * { ?s ?p '\ud800' }",
        'SELECT * { ?s ?p "not closed }',
        "SELECT * { ?s <http://e/a b> ?o }",
        f"SELECT * {{}} #{'x' * MOST_CHARACTERS}",
    ],
)
def test_statements_beyond_a_query_are_refused(query, monkeypatch):
    def refuse(*_: object) -> None:
        raise AssertionError("a check must not connect")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    with pytest.raises((QueryRefused, QuerySyntaxError)):
        check_sparql(query)
