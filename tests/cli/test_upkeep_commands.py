"""`knotwork backup`, `restore`, `repair`, `copy` and `doctor --full` on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.running import knotwork
from tests.knowledge_base.damaged_index import build, page_kinds, write_documents
from tests.stores.raw_files import overwrite_page

from knotwork._extensions.upkeep.copies import copy_index

pytestmark = pytest.mark.slow

EMBEDDER = ("--set", "embedding.model=hashing:32")


@pytest.fixture
def index(tmp_path: Path) -> Path:
    write_documents(tmp_path / "docs", count=4)
    build(tmp_path / "index.knot", tmp_path / "docs")
    return tmp_path / "index.knot"


def test_a_backup_is_made_and_restored(index: Path, tmp_path: Path) -> None:
    made = knotwork("backup", index, tmp_path / "backup")
    assert made.code == 0
    assert "5 documents" in made.out
    assert "verified" in made.out
    again = knotwork("backup", index, tmp_path / "backup")
    assert again.code == 1
    assert "--force" in again.err
    forced = knotwork("backup", index, tmp_path / "backup", "--force", "--json")
    assert [file["kind"] for file in forced.json["files"]] == ["index", "table file"]
    restored = knotwork("restore", tmp_path / "backup", tmp_path / "new.knot", "--json")
    assert restored.json["restored"] == str(tmp_path / "new.knot")
    counts = knotwork("documents", "--store", tmp_path / "new.knot", "--json").json
    assert len(counts["documents"]) == 5
    refused = knotwork("restore", tmp_path / "backup", tmp_path / "new.knot")
    assert refused.code == 1
    assert "exists" in refused.err


def test_a_damaged_index_is_reported_and_repaired(index: Path) -> None:
    overwrite_page(index, page_kinds(index)["document"][-1])
    options = ("--store", index, *EMBEDDER)
    shown = knotwork("documents", *options)
    assert shown.code == 1
    assert "is damaged: documents (documents `docs/" in shown.err
    assert f"knotwork repair {index}" in shown.err
    doctor = knotwork("doctor", "--full", *options)
    assert doctor.code == 1
    assert "damaged" in doctor.out
    repaired = knotwork("repair", index, *EMBEDDER)
    assert repaired.code == 0, repaired.err
    assert "Damaged: documents" in repaired.out
    assert "Read again: docs/" in repaired.out
    assert knotwork("doctor", "--full", *options).code == 0
    again = knotwork("repair", index, *EMBEDDER, "--json")
    assert again.json["changed"] is False
    assert again.json["damaged"] == again.json["lost"] == []


def test_a_repair_that_loses_something_says_what(index: Path, tmp_path: Path) -> None:
    (tmp_path / "docs").rename(tmp_path / "elsewhere")
    overwrite_page(index, page_kinds(index)["document"][-1])
    outcome = knotwork("repair", index, *EMBEDDER)
    assert outcome.code == 1
    assert "Lost: the document docs/" in outcome.out


def test_missing_things_are_named(tmp_path: Path) -> None:
    for line in (
        ("backup", tmp_path / "absent.knot", tmp_path / "backup"),
        ("repair", tmp_path / "absent.knot"),
        ("restore", tmp_path / "absent", tmp_path / "index.knot"),
    ):
        outcome = knotwork(*line)
        assert outcome.code == 2, outcome
        assert "absent" in outcome.err
    assert list(tmp_path.iterdir()) == []


def test_an_index_is_copied_and_answers_alike(index: Path, tmp_path: Path) -> None:
    target = tmp_path / "moved.knot"
    index.with_name("index.knot.memory").touch()
    made = knotwork("copy", index, target, "--json")
    assert made.code == 0, made.err
    assert (made.json["documents"], made.json["resumed"], made.json["left_out"]) == (5, False, [])
    assert made.json["beside"] == ["file of facts"]
    assert made.json["parts"]["documents"] == 5
    for path in (index, target):
        doctor = knotwork("doctor", "--full", "--store", path, *EMBEDDER)
        assert doctor.code == 0, doctor.out
        assert made.json["hash"] in doctor.out
    found = [
        knotwork("search", "port", "--store", path, *EMBEDDER, "--json").json["hits"]
        for path in (index, target)
    ]
    assert found[0] == found[1] != []
    refused = knotwork("copy", index, target)
    assert refused.code == 1
    assert "is not empty: it holds 5 documents" in refused.err
    partial = knotwork("copy", index, tmp_path / "part.knot", "--without", "communities")
    assert partial.code == 0
    assert "5 documents, verified" in partial.out
    assert "Left out: communities" in partial.out
    assert "Not copied: file of facts" in partial.err


def test_a_copy_of_nothing_creates_nothing(index: Path, tmp_path: Path) -> None:
    missing = knotwork("copy", tmp_path / "missing.knot", tmp_path / "new.knot")
    assert missing.code == 2
    unknown = knotwork("copy", index, tmp_path / "new.knot", "--without", "graph")
    assert unknown.code == 2
    assert "property_graphs" in unknown.err
    assert not (tmp_path / "new.knot").exists()


def test_an_unfinished_copy_is_not_used(index: Path, tmp_path: Path) -> None:
    target = tmp_path / "moved.knot"
    running = copy_index.run(str(index), str(target))
    for _ in range(3):
        next(running)
    running.close()
    for command in (("documents",), ("ask", "What is there?"), ("index", tmp_path / "docs")):
        refused = knotwork(*command, "--store", target, *EMBEDDER)
        assert refused.code == 1
        assert f"unfinished copy of `{index}`" in refused.err
        assert "knotwork copy" in refused.err
    doctor = knotwork("doctor", "--store", target, *EMBEDDER)
    assert doctor.code == 1
    assert "unfinished copy" in doctor.out
    again = knotwork("copy", index, target, "--json")
    assert again.json["resumed"] is True
    assert knotwork("documents", "--store", target).code == 0
