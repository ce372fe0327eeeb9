"""Repairs: derived parts come back, documents are read again, and what is lost is named."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.knowledge_base.damaged_index import (
    ask,
    build,
    page_kinds,
    rebuild_communities,
    settings,
    write_documents,
)
from tests.stores.raw_files import flip, overwrite_page, page_bytes_of, without_checksums

import knotwork
from knotwork._config import StoreSettings
from knotwork._extensions.agents.fact_memory import FactMemory, RememberedFact
from knotwork._extensions.diagnosis.index import check_index
from knotwork._sqlite_file import is_marked_protected
from knotwork.errors import IndexDamaged, MissingCapability, StoreBusy, StoreNotFound

pytestmark = pytest.mark.slow

DERIVED = [
    "text_chunk_change",
    "text_chunk_counts",
    "text_entity_posting",
    "entity_by_name",
    "edge",
    "edge_out",
    "vector_chunk",
    "vector_sentence",
    "vector_entity",
    "vector_index",
    "state",
    "migration",
    "community_member",
    "report",
    "document_field",
    "meta",
]
DOCUMENTS = [
    "document",
    "section",
    "chunk",
    "chunk_by_document",
    "mention",
    "entity",
    "contribution",
    "ledger",
]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("repairs")
    write_documents(folder / "docs")
    build(folder / "index.knot", folder / "docs")
    return folder


@pytest.fixture(scope="module")
def right(made: Path) -> list[object]:
    return ask(made / "index.knot")


@pytest.fixture
def index(made: Path, tmp_path: Path) -> Path:
    """A copy of the index, whose documents stay where they are."""
    for name in ("index.knot", "index.knot-tables"):
        shutil.copy(made / name, tmp_path / name)
    return tmp_path / "index.knot"


def assert_sound(index: Path) -> None:
    checks = check_index(StoreSettings(path=str(index)), full=True).checks
    assert [check for check in checks if not check.ok] == []


@pytest.mark.parametrize("table", DERIVED)
def test_derived_parts_are_rebuilt(index: Path, right: list[object], table: str) -> None:
    overwrite_page(index, page_kinds(index)[table][-1])
    report = knotwork.repair(index, settings=settings())
    assert report.damaged
    assert (report.reread, report.from_text, report.lost) == ([], [], [])
    assert ask(index) == right
    assert_sound(index)
    assert Path(report.kept[0]).name == "index.knot.damaged"


@pytest.mark.parametrize("table", DOCUMENTS)
def test_documents_that_lost_something_are_read_again(
    index: Path, right: list[object], table: str
) -> None:
    overwrite_page(index, page_kinds(index)[table][-1])
    report = knotwork.repair(index, settings=settings())
    assert report.reread
    assert report.lost == []
    rebuild_communities(index)
    assert ask(index) == right
    assert_sound(index)


def test_without_its_file_a_document_comes_from_its_stored_text(
    index: Path, made: Path, right: list[object], tmp_path: Path
) -> None:
    hidden = made / "docs-elsewhere"
    (made / "docs").rename(hidden)
    try:
        overwrite_page(index, page_kinds(index)["mention"][-1])
        report = knotwork.repair(index, settings=settings())
    finally:
        hidden.rename(made / "docs")
    assert report.from_text
    assert (report.reread, report.lost) == ([], [])
    assert ask(index)[0] == right[0]
    assert_sound(index)


def test_a_document_without_file_and_text_is_named(index: Path, made: Path) -> None:
    hidden = made / "docs-elsewhere"
    (made / "docs").rename(hidden)
    try:
        overwrite_page(index, page_kinds(index)["document"][-1])
        report = knotwork.repair(index, settings=settings())
    finally:
        hidden.rename(made / "docs")
    assert any("the document docs/report-" in item for item in report.lost)
    assert_sound(index)
    with knotwork.open(index, settings=settings()) as kb:
        kb.index(made / "docs")
        assert kb.stats().documents == 15
    assert_sound(index)


def test_vectors_wait_for_their_embedder(index: Path, right: list[object]) -> None:
    overwrite_page(index, page_kinds(index)["vector_chunk"][-1])
    report = knotwork.repair(index, settings=settings(embedder="none"))
    assert any("vectors" in item and "hashing:32" in item for item in report.lost)
    again = knotwork.repair(index, settings=settings())
    assert "vectors" in again.rebuilt
    assert ask(index) == right


def test_an_intact_index_is_left_alone(index: Path) -> None:
    before = index.read_bytes()
    report = knotwork.repair(index, settings=settings())
    assert not report.changed
    assert index.read_bytes() == before
    assert sorted(file.name for file in index.parent.iterdir()) == [
        "index.knot",
        "index.knot-tables",
    ]


def test_an_index_without_checksums_is_named(tmp_path: Path) -> None:
    write_documents(tmp_path / "docs", count=3)
    index = tmp_path / "old.knot"
    with without_checksums():
        build(index, tmp_path / "docs")
    check = check_index(StoreSettings(path=str(index))).checks[1]
    assert check.name == "Checksums"
    assert "none" in check.detail
    assert "knotwork copy" in check.fix
    assert not knotwork.repair(index, settings=settings()).changed
    with knotwork.open(index, settings=settings()) as kb:
        kb.copy(tmp_path / "new.knot")
    assert is_marked_protected(tmp_path / "new.knot")


def test_tables_are_read_again(index: Path, right: list[object]) -> None:
    tables = index.with_name(f"{index.name}-tables")
    page_bytes = page_bytes_of(tables)
    overwrite_page(tables, page_kinds(tables)["ports"][-1], page_bytes=page_bytes)
    report = knotwork.repair(index, settings=settings())
    assert "table file" in report.damaged
    assert report.lost == []
    assert ask(index)[4] == right[4]
    assert_sound(index)


def test_facts_that_can_be_read_stay(index: Path) -> None:
    path = index.with_name(f"{index.name}.memory")
    memory = FactMemory(path)
    for number in range(400):
        memory.learn(RememberedFact(f"person {number}", "knows", f"secret {number}", "2024-01-01"))
    memory.close()
    page_bytes = page_bytes_of(path)
    overwrite_page(path, page_kinds(path)["fact"][2], page_bytes=page_bytes)
    report = knotwork.repair(index, settings=settings())
    assert report.lost == ["some facts stated in conversations"]
    memory = FactMemory(path)
    assert 300 < len(memory.facts()) < 400
    memory.close()


def test_an_index_in_use_is_not_repaired(index: Path) -> None:
    with knotwork.open(index, settings=settings()) as kb:
        kb.stats()
        with pytest.raises(StoreBusy, match="uses the index"):
            knotwork.repair(index, settings=settings())


def test_an_index_of_which_nothing_can_be_read_is_left_as_it_is(index: Path) -> None:
    overwrite_page(index, 1)
    flip(index, 0)
    before = index.read_bytes()
    with pytest.raises((IndexDamaged, knotwork.KnotworkError)):
        knotwork.repair(index, settings=settings())
    assert index.read_bytes() == before
    assert not list(index.parent.glob("*.damaged"))


def test_only_files_are_repaired(tmp_path: Path) -> None:
    with pytest.raises(MissingCapability):
        knotwork.repair("memory:")
    with pytest.raises(StoreNotFound):
        knotwork.repair(tmp_path / "absent.knot")
