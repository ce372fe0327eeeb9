"""A SPARQL server is asked by its name, within limits, and only ever sent queries."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest
from tests.cli.running import knotwork as run_command
from tests.graph_servers.sparql_servers import (
    find_oxigraph,
    odd_server,
    oxigraph_server,
    send,
    update,
)

import knotwork
from knotwork import KnowledgeBase
from knotwork._extensions.graphs.servers.server_address import read_address
from knotwork._extensions.graphs.servers.sparql_endpoint import SparqlEndpoint
from knotwork.errors import (
    GraphServerError,
    GraphServerUnavailable,
    QueryRefused,
    QuerySyntaxError,
    QueryTimeout,
    RetrievalError,
)

pytestmark = pytest.mark.slow

_DATA = """
PREFIX e: <http://example.org/>
INSERT DATA {
    e:ada a e:Person ; e:name "Ada" ; e:age 36 ; e:height 1.7 ; e:alive false ; e:knows e:bob, [] .
    e:bob a e:Person ; e:name "鲍勃"@zh ;
        e:born "1990-02-03"^^<http://www.w3.org/2001/XMLSchema#date> .
}
"""
_ALL = "SELECT ?s ?p ?o { ?s ?p ?o } ORDER BY ?s ?p ?o"
_PREFIX = "PREFIX e: <http://example.org/>"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return host and port of a server with a few facts."""
    program = find_oxigraph()
    if program is None:
        pytest.skip("the wheel oxigraph, a server to test against, is not installed")
    with oxigraph_server(program, tmp_path_factory.mktemp("sparql") / "log") as found:
        update(found, _DATA)
        yield found


@pytest.fixture
def kb(tmp_path: Path, place: str) -> Iterator[KnowledgeBase]:
    with knotwork.open(tmp_path / "index.knot", embedding_model="none") as opened:
        made = opened.graph.connect(f"sparql+http://{place}/query", name="facts")
        assert (made.language, made.password_env) == ("sparql", "")
        yield opened


def test_solutions_are_rows_of_plain_values(kb):
    found = kb.graph.query(
        "facts",
        f"{_PREFIX} SELECT ?name ?age ?height ?alive ?born {{ ?s e:name ?name"
        " OPTIONAL { ?s e:age ?age ; e:height ?height ; e:alive ?alive }"
        " OPTIONAL { ?s e:born ?born } } ORDER BY ?age",
    )
    assert found.language == "sparql"
    assert found.place == "the graph facts"
    assert found.columns == ("name", "age", "height", "alive", "born")
    assert found.rows == (
        ("鲍勃", None, None, None, "1990-02-03"),
        ("Ada", 36, 1.7, False, None),
    )


def test_truth_and_triples_are_rows_too(kb):
    assert kb.graph.query("facts", f"{_PREFIX} ASK {{ e:ada e:age 36 }}").rows == ((True,),)
    assert kb.graph.query("facts", f"{_PREFIX} ASK {{ e:ada e:age 3 }}").rows == ((False,),)
    built = kb.graph.query(
        "facts", f"{_PREFIX} CONSTRUCT {{ ?s e:years ?age }} WHERE {{ ?s e:age ?age }}"
    )
    assert built.columns == ("subject", "predicate", "object")
    assert built.rows == (("http://example.org/ada", "http://example.org/years", 36),)
    described = kb.graph.query("facts", f"{_PREFIX} DESCRIBE e:bob")
    assert len(described.rows) == 3


def test_rows_and_time_are_limited(kb):
    found = kb.graph.query("facts", _ALL, row_limit=2)
    assert (len(found.rows), found.truncated) == (2, True)
    values = " ".join(map(str, range(160)))
    cross = "".join(f"VALUES ?v{i} {{ {values} }} " for i in range(3))
    with pytest.raises(QueryTimeout, match=r"0\.05 s"):
        kb.graph.query(
            "facts",
            f"SELECT (count(*) AS ?n) {{ {cross} FILTER(?v0 + ?v1 + ?v2 < 0) }}",
            timeout_s=0.05,
        )


_HOSTILE = (
    "INSERT DATA { <http://e/x> <http://e/y> 1 }",
    "DELETE WHERE { ?s ?p ?o }",
    "CLEAR ALL",
    "DROP ALL",
    "LOAD <file:///etc/passwd>",
    "CREATE GRAPH <http://e/g>",
    "SELECT * { ?s ?p ?o } ; DROP ALL",
    "SELECT * { ?s ?p ?o } \n DELETE WHERE { ?s ?p ?o }",
    "# ASK {}\nDROP ALL",
    "SELECT * { SERVICE <http://127.0.0.1:1/> { ?s ?p ?o } }",
    "SELECT * { ?s ?p trueSERVICE <http://127.0.0.1:1/> { ?s ?p ?o } }",
    "ASK {} # \r INSERT DATA { <http://e/x> <http://e/y> 1 }",
    "update=DROP%20ALL",
    "ASK {}&update=DROP ALL",
)


def test_hostile_queries_change_nothing(kb):
    before = kb.graph.query("facts", _ALL).rows
    for query in _HOSTILE:
        with pytest.raises(RetrievalError):
            kb.graph.query("facts", query)
    assert kb.graph.query("facts", _ALL).rows == before


def test_statements_the_server_cannot_run_are_explained(kb):
    with pytest.raises(QuerySyntaxError, match="cannot run the query"):
        kb.graph.query("facts", "SELECT * { ?s ?p ")
    with pytest.raises(QueryRefused, match="asked in SPARQL"):
        kb.graph.cypher("MATCH (n) RETURN n", graph="facts")
    with pytest.raises(QueryRefused, match="no parameters"):
        kb.graph.query("facts", "ASK {}", {"x": 1})


def test_the_command_line_asks_it(tmp_path, place, monkeypatch):
    monkeypatch.setenv("KNOTWORK_STORE_PATH", str(tmp_path / "index.knot"))
    monkeypatch.setenv("KNOTWORK_EMBEDDING_MODEL", "none")
    url = f"sparql+http://{place}/query"
    assert run_command("graph", "connect", url, "--name", "facts").code == 0
    asked = run_command("graph", "query", "facts", f"{_PREFIX} SELECT ?n {{ e:ada e:name ?n }}")
    assert "Ada" in asked.out
    assert run_command("graph", "query", "facts", "DROP ALL").code == 2
    assert run_command("graph", "connect", f"sparql+http://{place}/no", "--name", "x").code == 1


def _ask(place: str, *, login: str = "", timeout_s: float = 10.0) -> object:
    endpoint = SparqlEndpoint(read_address(f"sparql+http://{login}{place}/q?db=1"))
    return endpoint.query("SELECT ?x {}", row_limit=5, timeout_s=timeout_s).rows


def test_a_query_is_sent_as_the_protocol_has_it():
    empty = {"head": {"vars": ["x"]}, "results": {"bindings": [{}]}}
    with odd_server(lambda handler, _: send(handler, empty)) as (place, seen):
        assert _ask(place, login="ann:p%40ss@") == ((None,),)
    (request,) = seen
    assert request["path"] == "/q?db=1"
    assert request["form"] == {"query": ["SELECT ?x {}"]}
    assert request["headers"]["Authorization"] == "Basic YW5uOnBAc3M="
    assert request["headers"]["Accept"] == "application/sparql-results+json"


@pytest.mark.parametrize(
    ("body", "status", "headers", "error", "words"),
    [
        (b"", 302, {"Location": "http://127.0.0.1:1/"}, GraphServerError, "HTTP 302"),
        (b"who?", 401, {}, GraphServerError, "login"),
        (b"Parse error", 400, {}, QuerySyntaxError, "Parse error"),
        (b"busy", 503, {}, GraphServerUnavailable, "HTTP 503: busy"),
        (b"<html>", 200, {}, GraphServerError, "did not answer with SPARQL"),
        (b"[" * 100_000, 200, {}, GraphServerError, "did not answer with SPARQL"),
        (b'{"head": {}}', 200, {}, GraphServerError, "did not answer with SPARQL"),
        (b"[1]", 200, {}, GraphServerError, "did not answer with SPARQL"),
        (
            b'{"head": {"vars": ["x"]}, "results": {"bindings": 3}}',
            200,
            {},
            GraphServerError,
            "JSON",
        ),
        (
            b'{"head": {"vars": ["x"]}, "results": {"bindings": [3]}}',
            200,
            {},
            GraphServerError,
            "JSON",
        ),
    ],
)
def test_a_server_that_answers_otherwise_is_an_error(body, status, headers, error, words):
    with odd_server(lambda handler, _: send(handler, body, status=status, **headers)) as (
        place,
        seen,
    ):
        with pytest.raises(error, match=words):
            _ask(place)
        assert len(seen) == 1


def test_an_endless_reply_is_cut_off():
    def reply(handler, _query):
        handler.send_response(200)
        handler.end_headers()
        while True:
            handler.wfile.write(b" " * 1_000_000)

    with odd_server(reply) as (place, _), pytest.raises(QueryRefused, match="larger than 16 MB"):
        _ask(place)


def test_a_silent_server_is_left_at_the_time_limit():
    released = Event()

    def reply(_handler, _query):
        released.wait(60)

    with odd_server(reply) as (place, _):
        with pytest.raises(QueryTimeout, match=r"0\.1 s"):
            _ask(place, timeout_s=0.1)
        released.set()


def test_no_server_is_an_error():
    with pytest.raises(GraphServerUnavailable, match="cannot be reached"):
        _ask("127.0.0.1:1")
