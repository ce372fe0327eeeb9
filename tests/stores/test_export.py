"""Every export format is read back by an independent reader and compared with the store."""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import networkx as nx
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork._extensions.graphs.export import FORMATS, export_graph, format_literal
from knotwork._stores.base import Store
from knotwork._stores.urls import open_store
from knotwork._text.visible import restore_cell
from knotwork.errors import MissingExtra, StoreBusy, UnknownName
from knotwork.records import (
    Chunk,
    Description,
    Document,
    EdgeType,
    EntitySummary,
    Mention,
    Relation,
    SameAs,
    Section,
    Span,
    Verdict,
    content_id,
    entity_id,
)

HOSTILE = (
    'O\'Brien "Bob" \\ back\\slash',
    "line\nbreak\r\nand\ttab; DROP TABLE x; //",
    "control \x00\x01\x1b[31m\x7f\x85",
    "right-to-left שלום \u202e reversed",
    "<tag attr='x'>&amp;]]></tag> <!-- -->",
    '=HYPERLINK(1),"a",b\'',
    "温青岚 e\u0301 \U0001f426 \ufffe",
    "$row.id}) DETACH DELETE n; MATCH (n {x: '",
)


FORMULAS = (
    '=HYPERLINK("http://example.com/?"&A1,"open")',
    "+cmd|' /C calc'!A0",
    "-2+3+cmd|' /C calc'!A0",
    "@SUM(1+1)*cmd|' /C calc'!A0",
    "\t=1+1",
    "\r=1+1",
    "\n=1+1",
    "  =1+1",
    "\u00a0=1+1",
    "\u200b=1+1",
    "＝1+1",
    "＋1+1",
    "－1+1",
    "＠SUM(1)",
    "'=1+1",
    "''=1+1",
)


def fill(store: Store, names: tuple[str, ...], *, reverse: bool = False) -> None:
    """Index one document a name; neighbours in ``names`` are related."""
    contents = []
    for number, name in enumerate(names):
        document = Document(
            uri=f"{number}.txt", text=f"{name} and more", title=name, metadata={"key": name}
        )
        root = Section(content_id("s", number), document.id, None, 0, 0, name, Span(0, 5))
        inner = Section(content_id("i", number), document.id, root.id, 1, 1, "in", Span(2, 5))
        chunks = [
            Chunk(content_id("c", number, part), document.id, inner.id, part, Span(0, 5), name)
            for part in range(2)
        ]
        contents.append((document, [root, inner], chunks, name))
    for document, sections, chunks, name in reversed(contents) if reverse else contents:
        with store.transaction():
            store.documents.put(document, sections, chunks)
            other = names[0]
            mentions = [
                Mention(chunk.id, form.casefold(), form, spans=(Span(0, 1),), about=0.25)
                for chunk in chunks
                for form in dict.fromkeys((name, other))
            ]
            ends = (entity_id(name.casefold()), entity_id(other.casefold()))
            relations = [Relation(chunk.id, ends[0], name, ends[1]) for chunk in chunks]
            store.graph.upsert(mentions=mentions, relations=relations)


@pytest.fixture
def store() -> Iterator[Store]:
    store = open_store("memory:")
    fill(store, HOSTILE)
    yield store
    store.close()


def expected_edges(store: Store) -> set[tuple[str, str, str, str, float, tuple[str, ...]]]:
    return {
        (e.source, e.type, e.target, e.relation, e.weight, tuple(sorted(e.chunks)))
        for e in store.graph.edges()
    }


def expected_texts(store: Store) -> dict[str, str]:
    """The name of every node by id."""
    ids = {end for edge in store.graph.edges() for end in (edge.source, edge.target)}
    return {node.id: node.name for node in store.graph.nodes(ids).values()}


def clean_for_xml(text: str) -> str:
    return re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]", "\ufffd", text)


def test_the_store_has_every_kind_of_edge_that_one_document_can_have(store):
    types = set(store.graph.schema().edge_types)
    assert types == {str(t) for t in EdgeType} - {"HAS_CHILD", "CO_OCCURS"}


def test_json_holds_every_node_and_edge(store, tmp_path):
    report = export_graph(store, tmp_path / "graph.json", format="json")
    graph = json.loads((tmp_path / "graph.json").read_text(encoding="utf-8"))
    assert {node["id"]: node["name"] for node in graph["nodes"]} == expected_texts(store)
    edges = {
        (
            e["source"],
            e["type"],
            e["target"],
            e.get("relation", ""),
            e["weight"],
            tuple(e["chunks"]),
        )
        for e in graph["edges"]
    }
    assert edges == expected_edges(store)
    assert (report.nodes, report.edges) == (len(graph["nodes"]), len(graph["edges"]))
    documents = [node for node in graph["nodes"] if node["label"] == "Document"]
    assert {node["metadata"]["key"] for node in documents} == set(HOSTILE)
    chunks = {node["text"] for node in graph["nodes"] if node["label"] == "Chunk"}
    assert chunks == set(HOSTILE)


def test_graphml_is_read_by_networkx(store, tmp_path):
    export_graph(store, tmp_path / "graph.graphml", format="graphml")
    graph = nx.read_graphml(tmp_path / "graph.graphml", force_multigraph=True)
    names = expected_texts(store)
    for node_id, name in names.items():
        assert graph.nodes[node_id].get("name", "") == clean_for_xml(name)
    assert set(graph.nodes) == set(names)
    edges = {
        (s, d["type"], t, d.get("relation", ""), d["weight"], tuple(d.get("chunks", "").split()))
        for s, t, d in graph.edges(data=True)
    }
    assert edges == {
        (s, kind, t, clean_for_xml(relation), w, c)
        for s, kind, t, relation, w, c in expected_edges(store)
    }


def read_cells(folder: Path) -> Iterator[str]:
    for file in folder.iterdir():
        with file.open(encoding="utf-8", newline="") as lines:
            for row in csv.reader(lines):
                yield from row


def test_no_cell_of_a_csv_export_is_a_formula(tmp_path):
    store = open_store("memory:")
    fill(store, FORMULAS)
    export_graph(store, tmp_path / "safe", format="csv")
    export_graph(store, tmp_path / "raw", format="csv", raw=True)
    store.close()
    safe, raw = list(read_cells(tmp_path / "safe")), list(read_cells(tmp_path / "raw"))
    assert not [
        cell for cell in safe if re.match(r"\W*[=+\-@\t\r\n＝＋－＠]", cell) and cell[0] != "'"
    ]
    assert set(FORMULAS) <= set(raw)
    assert [restore_cell(cell) for cell in safe] == raw


def test_csv_is_read_by_the_standard_reader(store, tmp_path):
    export_graph(store, tmp_path / "tables", format="csv", raw=True)
    with (tmp_path / "tables" / "nodes.csv").open(encoding="utf-8", newline="") as file:
        nodes = {row["id"]: row["name"] for row in csv.DictReader(file)}
    with (tmp_path / "tables" / "edges.csv").open(encoding="utf-8", newline="") as file:
        edges = {
            (
                row["source"],
                row["type"],
                row["target"],
                row["relation"],
                float(row["weight"]),
                tuple(row["chunks"].split()),
            )
            for row in csv.DictReader(file)
        }
    assert nodes == expected_texts(store)
    assert edges == expected_edges(store)


def test_parquet_is_read_by_pyarrow(store, tmp_path):
    export_graph(store, tmp_path / "tables", format="parquet")
    nodes = pq.read_table(tmp_path / "tables" / "nodes.parquet").to_pylist()
    edges = pq.read_table(tmp_path / "tables" / "edges.parquet").to_pylist()
    assert {row["id"]: row["name"] for row in nodes} == expected_texts(store)
    assert {
        (e["source"], e["type"], e["target"], e["relation"] or "", e["weight"], tuple(e["chunks"]))
        for e in edges
    } == expected_edges(store)


def test_parquet_names_its_extra_when_it_is_absent(store, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match=r"knotwork\[parquet\]"):
        export_graph(store, tmp_path / "tables", format="parquet")
    assert not (tmp_path / "tables").exists()


CYPHER_STRING = re.compile(r"'(?:[^'\\]|\\.)*'", re.DOTALL)


def read_cypher_string(literal: str) -> str:
    """Read a string literal by the rules of openCypher."""
    escapes = {"\\": "\\", "'": "'", '"': '"', "n": "\n", "t": "\t", "r": "\r"}

    def read(match: re.Match[str]) -> str:
        return chr(int(match[2], 16)) if match[2] else escapes[match[1]]

    return re.sub(r"\\(u([0-9a-fA-F]{4})|.)", read, literal[1:-1], flags=re.DOTALL)


def test_cypher_strings_hold_all_names_and_nothing_escapes_from_them(store, tmp_path):
    report = export_graph(store, tmp_path / "graph.cypher", format="cypher")
    script = (tmp_path / "graph.cypher").read_text(encoding="utf-8")
    texts = {read_cypher_string(match[0]) for match in CYPHER_STRING.finditer(script)}
    assert texts >= {name for name in expected_texts(store).values() if name}
    bare = CYPHER_STRING.sub("''", script)
    assert not re.search("DROP|DETACH|DELETE|HYPERLINK", bare)
    statements = [part for part in bare.split(";") if part.strip()]
    keywords = {statement.split()[0] for statement in statements}
    assert keywords == {"CREATE", "UNWIND"}
    rows = sum(line.lstrip().startswith("{") for line in bare.splitlines())
    assert rows == report.nodes + report.edges


def test_cypher_matches_the_labels_that_edges_have(store, tmp_path):
    export_graph(store, tmp_path / "graph.cypher", format="cypher")
    bare = CYPHER_STRING.sub("''", (tmp_path / "graph.cypher").read_text(encoding="utf-8"))
    patterns = set(re.findall(r"\(a:(\w+) .*\(b:(\w+) .*\nMERGE \(a\)-\[r:(\w+)", bare))
    assert patterns == {
        ("Document", "Section", "HAS_SECTION"),
        ("Section", "Section", "HAS_SECTION"),
        ("Section", "Chunk", "HAS_CHUNK"),
        ("Chunk", "Chunk", "NEXT"),
        ("Chunk", "Entity", "MENTIONS"),
        ("Chunk", "Entity", "ABOUT"),
        ("Entity", "Entity", "RELATES"),
    }


@given(st.text())
def test_a_cypher_literal_reads_back(text):
    literal = format_literal(text)
    assert CYPHER_STRING.fullmatch(literal)
    assert read_cypher_string(literal) == re.sub("[\ud800-\udfff]", "\ufffd", text)


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_equal_indexes_give_equal_bytes(name, store, tmp_path):
    other = open_store("memory:")
    fill(other, HOSTILE, reverse=True)
    first = export_graph(store, tmp_path / "first", format=name)
    second = export_graph(other, tmp_path / "second", format=name)
    for one, two in zip(first.files, second.files, strict=True):
        assert one.read_bytes() == two.read_bytes()


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_an_empty_index_is_exported(name, tmp_path):
    report = export_graph(open_store("memory:"), tmp_path / "empty", format=name)
    assert (report.nodes, report.edges) == (0, 0)
    assert all(file.exists() for file in report.files)


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_a_write_during_the_export_leaves_the_old_file(name, store, tmp_path, monkeypatch):
    report = export_graph(store, tmp_path / "graph", format=name)
    before = report.files[-1].read_bytes()
    generations = iter(range(100))
    monkeypatch.setattr(store, "generation", lambda: next(generations), raising=False)
    with pytest.raises(StoreBusy):
        export_graph(store, tmp_path / "graph", format=name)
    assert report.files[-1].read_bytes() == before
    left = [file.name for file in tmp_path.rglob("*") if file.name.startswith(".")]
    assert left == []


def test_an_unknown_format_is_refused(store, tmp_path):
    with pytest.raises(UnknownName, match="Did you mean `graphml`"):
        export_graph(store, tmp_path / "graph", format="graphmll")


def test_files_are_readable_by_the_group_as_the_mask_allows(store, tmp_path):
    plain = tmp_path / "plain"
    plain.touch()
    export_graph(store, tmp_path / "graph.json", format="json")
    assert (tmp_path / "graph.json").stat().st_mode == plain.stat().st_mode


@pytest.mark.parametrize("reverse", [False, True])
def test_an_entity_has_what_a_model_says_of_it(tmp_path, reverse):
    store = open_store("memory:")
    fill(store, ("Ada", "Bob"))
    first, second, third = sorted(content_id("c", *place) for place in ((0, 0), (0, 1), (1, 0)))
    descriptions = [
        Description(first, "ada", "A countess."),
        Description(second, "ada", "Wrote programs \ud800."),
        Description(third, "ada", "A countess."),
        Description(third, "bob", "A | builder."),
    ]
    store.readings.put([], reversed(descriptions) if reverse else descriptions)
    store.readings.put_summaries([EntitySummary(entity_id("bob"), "Builds.", "model", "key")])
    export_graph(store, tmp_path / "graph.json", format="json")
    graph = json.loads((tmp_path / "graph.json").read_bytes().decode("utf-8"))
    described = {
        node["name"]: node["description"] for node in graph["nodes"] if "description" in node
    }
    assert described == {"Ada": "A countess.\nWrote programs \ud800.", "Bob": "Builds."}
    export_graph(store, tmp_path, format="csv")
    with (tmp_path / "nodes.csv").open(encoding="utf-8", newline="") as file:
        rows = {
            row["name"]: row["description"]
            for row in csv.DictReader(file)
            if row["label"] == "Entity"
        }
    assert rows == {"Ada": "A countess.\nWrote programs \\ud800.", "Bob": "Builds."}
    export_graph(store, tmp_path / "again.json", format="json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "graph.json").read_bytes()


def test_an_entity_under_another_name_leads_to_the_one_that_stands_for_it(tmp_path):
    store = open_store("memory:")
    fill(store, ("Ada", "Ada Lovelace", "Bob", "Bobby"))
    first, second = sorted(map(entity_id, ("ada", "ada lovelace")))
    apart = sorted(map(entity_id, ("bob", "bobby")))
    store.resolutions.put(
        [
            SameAs(first, second, Verdict.SAME, "rules"),
            SameAs(*apart, Verdict.DIFFERENT, "person"),
        ]
    )
    standing = store.resolutions.groups()[first]
    wanted = {"Ada": standing, "Ada Lovelace": standing}
    export_graph(store, tmp_path / "graph.json", format="json")
    graph = json.loads((tmp_path / "graph.json").read_text(encoding="utf-8"))
    assert {n["name"]: n["same_as"] for n in graph["nodes"] if "same_as" in n} == wanted
    export_graph(store, tmp_path, format="csv")
    with (tmp_path / "nodes.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["name"]: row["same_as"] for row in csv.DictReader(file) if row["same_as"]}
    assert rows == wanted
