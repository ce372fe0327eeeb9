"""A live graph database is asked like an imported graph, and nothing changes it."""

from __future__ import annotations

import contextlib
import json
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.running import knotwork as run_command
from tests.cypher.hostile import reaching_out, smuggled, writes
from tests.graph_servers.conftest import PASSWORD, ArcadeServer, with_password
from tests.retrieval.queries.films import ACTED, DIRECTED, FILMS, PEOPLE, values

import knotwork
from knotwork import KnowledgeBase
from knotwork._extensions.graphs.servers.bolt_connection import BoltConnection, BoltStatement
from knotwork._extensions.graphs.servers.served_graphs import CONNECTIONS_META
from knotwork._extensions.graphs.servers.server_address import read_address
from knotwork._extensions.graphs.servers.server_statements import refuse_writing_plan
from knotwork.errors import (
    ConfigError,
    GraphServerError,
    GraphServerUnavailable,
    MissingExtra,
    QueryRefused,
    QuerySyntaxError,
    QueryTimeout,
    RetrievalError,
    StoreReadOnly,
    UnknownName,
)
from knotwork.records import PropertyNode
from knotwork.testing import ScriptedChatModel

pytestmark = pytest.mark.slow

GOOD = "MATCH (f:Film)-[:DIRECTED_BY]->(p:Person) WHERE p.name = 'Olev Raud' RETURN f.title"


@pytest.fixture(scope="module")
def films(arcade: ArcadeServer) -> str:
    """Return the URL of a database with a graph of films, without the password."""
    url = arcade.new_database()
    people = [{"key": k, "name": name, "born": born} for k, (name, born) in PEOPLE.items()]
    titles = [
        {"key": k, "title": title, "year": year, "release_date": date}
        for k, (title, year, date) in FILMS.items()
    ]
    directed = [{"from": one, "to": other} for one, other in DIRECTED]
    acted = [{"from": one, "to": other} for one, other in ACTED]
    link = (
        "UNWIND $rows AS row MATCH (a {{key: row.from}}), (b {{key: row.to}}) CREATE (a)-[:{}]->(b)"
    )
    connection = BoltConnection(read_address(with_password(url)))
    connection.write(
        [
            BoltStatement("UNWIND $rows AS row CREATE (n:Person) SET n = row", {"rows": people}),
            BoltStatement("UNWIND $rows AS row CREATE (n:Film) SET n = row", {"rows": titles}),
        ]
    )
    connection.write([BoltStatement(link.format("DIRECTED_BY"), {"rows": directed})])
    connection.write([BoltStatement(link.format("ACTED_IN"), {"rows": acted})])
    connection.close()
    return url


@pytest.fixture
def kb(tmp_path: Path, films: str) -> Iterator[KnowledgeBase]:
    """Return an index that is connected to the films."""
    with knotwork.open(tmp_path / "index.knot", embedding_model="none") as opened:
        opened.graph.connect(with_password(films), name="films")
        yield opened


@pytest.fixture
def bolt(films: str) -> Iterator[BoltConnection]:
    connection = BoltConnection(read_address(with_password(films)))
    yield connection
    connection.close()


def _content(bolt: BoltConnection) -> list[tuple[object, ...]]:
    """Return everything that the database holds, indexes included."""
    asked = (
        "MATCH (n) RETURN elementId(n), labels(n), properties(n) ORDER BY elementId(n)",
        "MATCH (a)-[r]->(b) RETURN elementId(r), type(r), a.key, b.key ORDER BY elementId(r)",
        "SHOW INDEXES",
    )
    statements = [BoltStatement(text, {}) for text in asked]
    found = bolt.read(statements, row_limit=10_000, timeout_s=30)
    assert found[0].rows
    return [tuple(map(repr, row[:10])) for rows in found for row in rows.rows]


def test_a_connected_graph_is_asked_by_its_name(kb):
    statement = (
        "MATCH (p:Person)-[:ACTED_IN]->(f) WHERE f.year > $y"
        " RETURN p.name, f.title ORDER BY p.name, f.title"
    )
    for ask in (
        lambda: kb.graph.query("films", statement, {"y": 1960}),
        lambda: kb.graph.cypher(statement, graph="films", y=1960),
    ):
        found = ask()
        assert found.columns == ("p.name", "f.title")
        assert found.rows == (
            ("Juhan Kask", "Copper Kettle"),
            ("Liis Tamm", "Copper Kettle"),
            ("Liis Tamm", "Paper Moon"),
        )
        assert found.place == "the graph films"


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("Who directed Paper Moon?", {"Olev Raud"}),
        ("Which films did Olev Raud direct?", {"Copper Kettle", "Paper Moon"}),
        ("Who is the youngest person?", {"Liis Tamm"}),
        ("Which film has the most actors?", {"Copper Kettle"}),
        ("谁导演了Paper Moon？", {"Olev Raud"}),
    ],
)
def test_plain_questions_reach_a_connected_graph(kb, question, names):
    (result,) = kb.ask(question).results
    assert {row[0] for row in result.rows} == names
    assert result.place == "the graph films"


def test_a_question_about_something_else_is_refused(kb):
    assert not kb.ask("Who is the wife of Olev Raud?").answered


def test_elements_paths_and_times_are_plain_values(kb):
    statement = (
        "MATCH p = (f:Film {title: 'Silver Lantern'})-[d:DIRECTED_BY]->(m)"
        " RETURN f, d, p, date('2020-01-02') AS day, duration('P1D') AS long"
    )
    ((film, edge, path, day, long),) = kb.graph.query("films", statement).rows
    assert film["labels"] == ["Film"]
    assert film["properties"]["year"] == 1954
    assert edge["type"] == "DIRECTED_BY"
    assert edge["source"] == film["id"]
    assert path["nodes"][0] == film
    assert path["relationships"] == [edge]
    assert (day, long) == ("2020-01-02", "P1D")
    assert json.dumps(path)


def test_rows_and_time_and_bytes_are_limited(kb):
    found = kb.graph.query("films", "MATCH (n) RETURN n.key", row_limit=3)
    assert (len(found.rows), found.truncated) == (3, True)
    assert kb.graph.query("films", "MATCH (n:Film) RETURN n", row_limit=3).truncated is False
    slow = "UNWIND range(1, 2500) AS a UNWIND range(1, 2500) AS b WITH a, b WHERE a * b < 0"
    with pytest.raises(QueryTimeout, match=r"0\.01 s"):
        kb.graph.query("films", f"{slow} RETURN count(*)", timeout_s=0.01)
    long = "RETURN reduce(s = 'ab', i IN range(1, 19) | s + s) AS s"
    big = "UNWIND range(1, 40) AS i RETURN [i, $s] AS x"
    assert kb.graph.query("films", "RETURN 1 AS x").rows == ((1,),)
    with pytest.raises(QueryRefused, match="larger than 16 MB"):
        kb.graph.query("films", big, {"s": "x" * 500_000})
    assert len(kb.graph.query("films", long).rows[0][0]) == 2**20


_TRICKS = (
    "MATCH (n) RETURN n //\r\nDELETE n",
    "MATCH (n) RETURN n /* */ /*/ DELETE n /*/",
    "MATCH (n) WHERE n.name = '\\u0027 DELETE n //' RETURN n; MATCH (n) DETACH DELETE n",
    "MATCH (n:`Film\\u0060) DETACH DELETE n //`) RETURN n",
    "MATCH (n) WHERE n.`x\\u0060 = 1 SET n.y = 1 //` = 1 RETURN n",
    "MATCH (n)\u2028SET n.x = 1\u2028RETURN n",
    "MATCH (n) \u0405ET n.x = 1 RETURN n",
    "ＭＡＴＣＨ (n) DELETE n",
    "MATCH (n) RETURN n\u00a0UNION\u00a0CREATE (m)",
    "\ufeffCREATE (n:Evil)",
    "CALL { CREATE (n:Evil) RETURN n } RETURN n",
    "MATCH (n) CALL (n) { SET n.x = 1 } RETURN n",
    "MATCH (n) CALL { WITH n DELETE n } IN TRANSACTIONS",
    "MATCH (n) RETURN [x IN [1] | apoc.create.node(['Evil'], {})]",
    "RETURN apoc.cypher.runFirstColumn('CREATE (n:Evil) RETURN n', {})",
    "CALL db.createLabel('Evil')",
    "CALL dbms.shutdown()",
    "CREATE INDEX evil FOR (n:Film) ON (n.title)",
    "DROP INDEX evil",
    "CYPHER runtime=slotted CREATE (n:Evil)",
    "PROFILE CREATE (n:Evil)",
    "USE system CREATE DATABASE evil",
    "SELECT FROM Film",
    "DELETE FROM Film UNSAFE",
    "{cypher: CREATE (n)}",
)


def test_hostile_statements_change_nothing(kb, bolt):
    before = _content(bolt)
    given = [(text, {}) for text in (*writes(), *reaching_out(), *_TRICKS)]
    tried = 0
    for statement, parameters in (*given, *smuggled()):
        try:
            kb.graph.query("films", statement, parameters, timeout_s=5)
        except (RetrievalError, GraphServerError):
            tried += 1
    assert tried > 200
    assert _content(bolt) == before


_WRITING = (
    "CREATE (n:Evil)",
    "MATCH (n:Film) SET n.year = 1",
    "MATCH (n:Film) DETACH DELETE n",
    "MERGE (n:Evil {x: 1})",
    "MATCH (n:Film) REMOVE n.year",
    "FOREACH (x IN [1] | CREATE (:Evil))",
    "MATCH (n:Film) CALL { WITH n SET n.year = 1 RETURN 1 AS one } RETURN n",
)


@pytest.mark.parametrize("statement", _WRITING)
def test_the_plan_of_the_server_is_judged_too(bolt, statement):
    before = _content(bolt)
    with pytest.raises((QueryRefused, GraphServerError), match="chang"):
        bolt.read(
            [BoltStatement(statement, {})], row_limit=9, timeout_s=5, check=refuse_writing_plan
        )
    assert _content(bolt) == before


@pytest.mark.parametrize("statement", _WRITING)
def test_writes_of_a_statement_are_rolled_back(bolt, statement):
    before = _content(bolt)
    with pytest.raises(GraphServerError, match="rolled back"):
        bolt.read([BoltStatement(statement, {})], row_limit=9, timeout_s=5)
    assert _content(bolt) == before


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Which films were directed by Olev Raud?", ["Copper Kettle", "Paper Moon"]),
        ("How many films did Olev Raud direct?", [2]),
        ("Which people acted in films directed by Marta Ilves?", ["Juhan Kask"]),
        ("Which is the latest film directed by Olev Raud?", ["Paper Moon"]),
        ("Which films after 1960 were directed by olev raud?", ["Copper Kettle", "Paper Moon"]),
    ],
)
def test_questions_are_answered_from_a_live_graph_by_rules(kb, question, expected):
    found = kb.search(question, retriever="dynamic_cypher")
    (result,) = found.results
    assert values(result) == sorted(expected, key=str)
    assert result.place == "the graph films"


def test_a_model_sees_the_schema_and_repairs_its_statement(tmp_path, films):
    model = ScriptedChatModel(
        ["MATCH (f:Film) DELETE f", "MATCH (f:Film {title: 'No'}) RETURN f", GOOD]
    )
    with knotwork.open(
        tmp_path / "index.knot", embedding_model="none", chat_model=model, llm_tier="none"
    ) as kb:
        kb.graph.connect(with_password(films), name="films")
        found = kb.search("Which films did Olev Raud make?", retriever="text_to_cypher")
    assert values(found.results[0]) == ["Copper Kettle", "Paper Moon"]
    first, *_, last = (request.messages[-1].content for request in model.requests)
    assert "(:Film)-[:DIRECTED_BY]->(:Person) 3 times" in first
    assert "'Olev Raud'" in first
    assert "found nothing" in last


def test_templates_run_on_a_live_graph(kb, tmp_path):
    file = tmp_path / "templates.toml"
    file.write_text(
        """[[template]]
name = "films of a director"
description = "films that a person directed"
questions = ["Which films did Marta Ilves direct?"]
statement = "MATCH (f:Film)-[:DIRECTED_BY]->(p:Person {name: $person}) RETURN f.title"
slots.person = { kind = "Person", property = "name" }
""",
        encoding="utf-8",
    )
    spec = f"cypher_templates(templates='{file}', graph=films)"
    found = kb.search("Which films did Olev Raud direct?", retriever=spec)
    assert values(found.results[0]) == ["Copper Kettle", "Paper Moon"]


def test_a_connection_is_remembered_without_its_password(tmp_path, films, monkeypatch):
    path = tmp_path / "index.knot"
    with knotwork.open(path, embedding_model="none") as kb:
        made = kb.graph.connect(with_password(films), name="films")
        assert (made.language, made.server, made.is_tested) == ("cypher", "ArcadeDB", True)
        assert made.password_env == "FILMS_PASSWORD"
        assert PASSWORD not in repr(made)
    assert not any(PASSWORD.encode() in file.read_bytes() for file in tmp_path.iterdir())
    with knotwork.open(path, read_only=True, embedding_model="none") as kb:
        assert kb.graph.connections() == [made]
        with pytest.raises(ConfigError, match="FILMS_PASSWORD"):
            kb.graph.query("films", "RETURN 1")
        monkeypatch.setenv("FILMS_PASSWORD", PASSWORD)
        assert kb.graph.query("films", "RETURN 1 AS one").rows == ((1,),)
        with pytest.raises(StoreReadOnly):
            kb.graph.disconnect("films")


def test_a_forgotten_connection_is_unknown(kb):
    kb.graph.disconnect("films")
    assert kb.graph.connections() == []
    with pytest.raises(UnknownName, match="Unknown connection `films`"):
        kb.graph.query("films", "RETURN 1")
    with pytest.raises(UnknownName):
        kb.graph.disconnect("films")
    with pytest.raises(UnknownName, match="Unknown graph"):
        kb.graph.cypher("RETURN 1", graph="films")


def test_a_failed_connection_is_not_remembered(tmp_path, films):
    with knotwork.open(tmp_path / "index.knot", embedding_model="none") as kb:
        with pytest.raises(GraphServerError, match="login") as refused:
            kb.graph.connect(films.replace("root@", "root:guessed@"), name="films")
        assert "guessed" not in str(refused.value)
        with pytest.raises(GraphServerUnavailable, match="cannot be reached"):
            kb.graph.connect("bolt://127.0.0.1:1", name="nowhere")
        with pytest.raises(GraphServerError):
            kb.graph.connect(with_password(films) + "missing", name="films")
        assert kb.graph.connections() == []


def test_a_name_in_use_by_an_imported_graph_is_refused(tmp_path, films):
    with knotwork.open(tmp_path / "index.knot", embedding_model="none") as kb:
        with kb.store.transaction():
            kb.store.capabilities.property_graphs.put("films", [PropertyNode("1")], [])
        with pytest.raises(ConfigError, match="imported graph `films`"):
            kb.graph.connect(with_password(films), name="films")


def test_a_filter_excludes_live_graphs(kb, tmp_path):
    note = tmp_path / "note.txt"
    note.write_text("Olev Raud made films.", encoding="utf-8")
    kb.index(note)
    part = kb.filtered_store("uri contains note")
    with pytest.raises(UnknownName, match="films"):
        part.capabilities.cypher("RETURN 1", graph="films")


def test_errors_of_the_server_are_explained(kb):
    with pytest.raises(QuerySyntaxError, match=r"n\.key"):
        kb.graph.query("films", "MATCH (n) RETURN n.key, n.key")
    with pytest.raises(QuerySyntaxError, match=r"\$absent is missing"):
        kb.graph.query("films", "RETURN $absent")


def test_the_command_line_connects_lists_asks_and_forgets(tmp_path, films, monkeypatch):
    monkeypatch.setenv("KNOTWORK_STORE_PATH", str(tmp_path / "index.knot"))
    monkeypatch.setenv("KNOTWORK_EMBEDDING_MODEL", "none")
    made = run_command("graph", "connect", with_password(films), "--name", "films", "--read-only")
    assert (made.code, PASSWORD in made.out + made.err) == (0, False)
    assert "FILMS_PASSWORD" in made.err
    listed = run_command("graph", "connections", "--json").json
    assert [item["name"] for item in listed["connections"]] == ["films"]
    assert films in run_command("graph", "connections").out
    monkeypatch.setenv("FILMS_PASSWORD", PASSWORD)
    statement = "MATCH (f:Film) WHERE f.year < $y RETURN f.title"
    asked = run_command("graph", "query", "films", statement, "--param", "y=1960", "--json")
    assert asked.json["rows"] == [["Silver Lantern"]]
    assert "Silver" in run_command("cypher", statement, "--graph", "films", "--param", "y=1960").out
    refused = run_command("graph", "query", "films", "MATCH (n) DELETE n")
    assert (refused.code, "DELETE" in refused.err) == (2, True)
    wrong = run_command("graph", "connect", films.replace("root@", "root:oops@"), "--name", "x")
    assert (wrong.code, "oops" in wrong.out + wrong.err) == (1, False)
    assert run_command("graph", "disconnect", "films").code == 0
    assert run_command("graph", "connections").err.strip() == "No connected graph."


def test_the_command_line_mirrors_and_verifies(tmp_path, database, monkeypatch):
    note = tmp_path / "note.txt"
    note.write_text("Oriane Keld met Wendel Arrowby in Tarnby.", encoding="utf-8")
    monkeypatch.setenv("KNOTWORK_STORE_PATH", str(tmp_path / "index.knot"))
    monkeypatch.setenv("KNOTWORK_EMBEDDING_MODEL", "none")
    monkeypatch.setenv("KNOTWORK_GRAPH_MIRROR", database)
    monkeypatch.setenv("KNOTWORK_GRAPH_MIRROR_PASSWORD", PASSWORD)
    assert run_command("index", note).code == 0
    behind = run_command("graph", "verify")
    assert behind.code == 1
    assert "differs in" in behind.out
    written = run_command("graph", "mirror", "--json")
    assert written.json["written"] > 0
    assert "up to date" in run_command("graph", "mirror").out
    verified = run_command("graph", "verify", "--json")
    assert verified.code == 0
    assert verified.json["is_current"]
    assert {part["name"] for part in verified.json["parts"]} >= {"Document", "MENTIONS"}
    count = ("cypher", "MATCH (n) RETURN count(n) AS n", "--json")
    on_mirror = run_command(*count, "--set", "graph.cypher=mirror").json
    assert on_mirror["rows"] == run_command(*count).json["rows"]
    assert run_command("explore", "Oriane Keld", "--set", "graph.cypher=mirror").code == 0


def test_without_the_driver_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "neo4j", None)
    with pytest.raises(MissingExtra, match="bolt"):
        BoltConnection(read_address("bolt://h"))


@pytest.fixture
def broken_server() -> Iterator[tuple[int, list[int]]]:
    """A server that ends each connection; its port, and a list with one item for each."""
    met: list[int] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listening.accept()
                    met.append(1)
                    connection.close()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listening.getsockname()[1], met
        listening.shutdown(socket.SHUT_RDWR)
        thread.join()


def test_a_server_that_fails_is_left_out_with_a_note_and_not_asked_again_at_once(
    tmp_path, broken_server, caplog
):
    port, met = broken_server
    (tmp_path / "a.txt").write_text("Ann Lee approves travel abroad.")
    with knotwork.open(tmp_path / "a.knot", embedding_model="none") as kb:
        kb.index(tmp_path / "a.txt")
        url = f"bolt://reader@127.0.0.1:{port}/films"
        connection = {"name": "films", "url": url, "language": "cypher", "server": "Neo4j"}
        kb.store.set_meta({CONNECTIONS_META: json.dumps([connection])})
        first = kb.ask("Who approves travel abroad?")
        asked = len(met)
        second = kb.ask("Who directed Silver Lantern?")
    assert first.answered
    assert not second.answered
    for answer in (first, second):
        (note,) = answer.notes
        assert note.startswith(
            f"The graph `films` was left out: The server {url} cannot be reached"
        )
    assert len(met) == asked > 0
    assert not caplog.records
