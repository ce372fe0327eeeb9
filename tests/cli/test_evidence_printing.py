"""Paths, rows of statements and steps of a retriever, on a terminal and as JSON."""

from __future__ import annotations

import contextlib
import io
import json

from knotwork._cli.answers import describe_evidence, show_evidence, show_rows
from knotwork._cli.terminal import Terminal, write_json
from knotwork._stores.urls import open_store
from knotwork.records import Evidence, GraphPath, Hop, Query, QueryResult, Span

HOP = Hop("a", "Ada\x1b[2J", "designed", "b", "Kestrel", False, "c1", Span(3, 9), 2.0)
BACK = Hop("b", "Kestrel", "part of", "d", "Heron", True, "c2")
ROWS = tuple((f"name {n}", None if n else n) for n in range(25))
RESULT = QueryResult(
    "cypher", "MATCH (n)\nRETURN n.name, n.x", ("n.name", "n.x"), ROWS, {"who": "Ada"}
)
EVIDENCE = Evidence(
    Query("who?"),
    "paths",
    paths=(GraphPath((HOP, BACK), 0.5, {"coarse": 0.4}),),
    results=(RESULT,),
    trace=("Looked for Ada.",),
)


def printed(evidence, *, explain):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        described = describe_evidence(evidence, open_store("memory:"))
        show_evidence(Terminal(color="never"), described, explain=explain)
    return out.getvalue()


def test_paths_and_rows_are_printed_and_steps_when_asked():
    text = printed(EVIDENCE, explain=False)
    assert "path 1: Ada\ufffd[2J ←designed- Kestrel -part of→ Heron\n" in text
    assert "→ Heron  0.500" in printed(EVIDENCE, explain=True)
    assert "MATCH (n) RETURN n.name, n.x" in text
    assert "with who = 'Ada'" in text
    assert "name 19" in text
    assert "name 20" not in text
    assert "and 5 more rows" in text
    assert "No passage found" not in text
    assert "Looked for Ada" not in text
    assert "Looked for Ada" in printed(EVIDENCE, explain=True)


def test_cut_off_and_empty_replies_are_reported():
    few = QueryResult("sql", "SELECT 1", ("1",), ((1,),), truncated=True)
    none = QueryResult("sql", "SELECT 2", ("2",), ())
    text = printed(Evidence(Query("?"), "x", results=(few, none)), explain=False)
    assert "and more rows" in text
    assert "no rows" in text


def test_json_has_every_hop_and_row():
    printed = io.StringIO()
    write_json(describe_evidence(EVIDENCE, open_store("memory:")), printed)
    described = json.loads(printed.getvalue())
    (path,) = described["paths"]
    assert path["hops"][0]["span"] == [3, 9]
    assert path["hops"][1]["span"] is None
    assert path["hops"][0]["relation"] == "designed"
    (result,) = described["results"]
    assert result["rows"] == [list(row) for row in ROWS]
    assert result["parameters"] == {"who": "Ada"}
    assert described["trace"] == ["Looked for Ada."]


def test_nodes_and_relations_are_shown_by_their_names():
    ada = {"id": "1", "labels": ["Entity", "Person"], "properties": {"name": "Ada"}}
    bare = {"id": "7", "labels": [], "properties": {}}
    born = {"id": "r", "type": "RELATES", "source": "1", "target": "2"}
    relation = born | {"properties": {"relation": "born in"}}
    plain = born | {"type": "KNOWS", "properties": {}}
    assert show_rows([(ada, bare, relation, plain), (None, "a", 1.5, ["é", 2])]) == [
        ("(:Entity:Person Ada)", "( 7)", "[:RELATES born in]", "[:KNOWS]"),
        ("", "a", "1.5", '["é", 2]'),
    ]
