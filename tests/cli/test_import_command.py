"""`import`, and `graph export` to the tables of another system."""

from __future__ import annotations

import sys

import pytest
from tests.cli.running import knotwork
from tests.indexing.foreign_indexes.foreign_files import (
    current_tables,
    write_lightrag,
    write_tables,
)


@pytest.fixture
def folder(tmp_path):
    return write_tables(tmp_path / "ragtest" / "output", current_tables())


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("KNOTWORK_STORE_PATH", str(tmp_path / "index.knot"))
    monkeypatch.setenv("KNOTWORK_EMBEDDING_MODEL", "none")
    return tmp_path / "index.knot"


def test_imported_and_skipped_parts_are_reported(store, folder):
    outcome = knotwork("import", folder)
    assert outcome.code == 0, outcome.err
    assert "Imported graphrag index ragtest" in outcome.out
    lines = [line.split() for line in outcome.out.splitlines()]
    assert ["relations", "5", "4"] in lines
    assert ["reports", "2", "2"] in lines
    assert "1 claims: it is marked as false" in outcome.out
    assert store.is_file()


def test_the_object_holds_all_counts(store, folder):
    payload = knotwork("import", folder.parent, "--format", "graphrag", "--json").json
    assert payload["held"]["entities"] == 6
    assert payload["brought"]["documents"] == 2
    assert {"kind": "claims", "reason": "it is marked as false", "count": 1} in payload["dropped"]
    assert payload["embedder"] == ""
    documents = knotwork("documents", "--json").json["documents"]
    assert [d["uri"] for d in documents] == [
        "graphrag:ragtest/letter.txt",
        "graphrag:ragtest/squad.txt",
    ]


def test_the_imported_index_is_used_like_any_other(store, folder, tmp_path):
    assert knotwork("import", folder).code == 0
    assert "Ada Stone" in knotwork("ask", "Who leads the Night Squad?").out
    assert "Finding communities" not in knotwork("communities").err
    assert "The squad" in knotwork("communities").out
    assert "Bo Finch" in knotwork("explore", "Ada Stone").out
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("The harbour was quiet.", "utf-8")
    assert knotwork("index", notes).code == 0
    assert len(knotwork("documents", "--json").json["documents"]) == 3
    removed = knotwork("delete", "graphrag:ragtest/", "--json").json["removed"]
    assert len(removed) == 2
    assert knotwork("doctor", "--json").json["checks"]


def test_lightrag_is_recognised(store, tmp_path):
    write_lightrag(tmp_path / "book" / "rag_storage")
    payload = knotwork("import", tmp_path / "book", "--json").json
    assert (payload["format"], payload["name"]) == ("lightrag", "book")
    assert payload["notes"] == ["The index has no communities; they are detected on first use."]


def test_tables_round_trip(store, folder, tmp_path, monkeypatch):
    before = knotwork("import", folder, "--json").json
    payload = knotwork("graph", "export", "--format", "graphrag", "-o", "out", "--json").json
    assert payload["rows"]["entities"] == before["brought"]["entities"]
    assert len(payload["files"]) == 6
    shown = knotwork("graph", "export", "--format", "graphrag", "--output", "out")
    assert "rows to out/entities.parquet" in shown.out
    monkeypatch.setenv("KNOTWORK_STORE_PATH", str(tmp_path / "other.knot"))
    after = knotwork("import", "out", "--json").json
    assert after["dropped"] == []
    for kind in ("entities", "mentions", "communities"):
        assert after["brought"][kind] == before["brought"][kind]


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        (["import", "absent"], 1, "`absent` is not a folder"),
        (["import", "."], 1, "neither the tables of Microsoft GraphRAG nor a LightRAG index"),
        (["import", ".", "--format", "lightrag"], 1, "has no `kv_store_full_docs.json`"),
        (["import", ".", "--format", "graphrga"], 2, "Did you mean `graphrag`?"),
        (["graph", "export", "--format", "graphrag"], 2, "An export as graphrag requires --output"),
    ],
)
def test_mistakes_are_explained_and_leave_no_index(store, line, code, message):
    outcome = knotwork(*line)
    assert (outcome.code, outcome.out) == (code, "")
    assert message in outcome.err
    assert not store.exists()


def test_a_missing_library_is_named_with_its_extra(store, folder, monkeypatch):
    for name in ("pyarrow", "pyarrow.parquet"):
        monkeypatch.setitem(sys.modules, name, None)
    outcome = knotwork("import", folder)
    assert outcome.code == 2
    assert "pip install 'knotwork[parquet]'" in outcome.err
    assert not store.exists()
