"""Checksums of pages: damage is an error, and files without any open."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest
from tests.stores.raw_files import (
    PAGE_BYTES,
    change,
    find_damaged_pages,
    flip,
    overwrite_page,
    page_bytes_of,
    without_checksums,
)

from knotwork._extensions.tables.table_file import TableFile
from knotwork._extensions.testing.store_contract import add_document, snapshot
from knotwork._extensions.upkeep.damage import locate_damage
from knotwork._sqlite_file import is_marked_protected, protect_new
from knotwork._stores.embedded import EmbeddedStore
from knotwork.errors import IndexDamaged, SchemaMismatch, StoreError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """An index with some pages of each kind."""
    path = tmp_path / "index.knot"
    store = EmbeddedStore.open(path, create=True)
    for number in range(12):
        add_document(store, f"{number}.md", ["Ada and Bob meet " * 40] * 3, link=True)
    store.close()
    return path


def pages_of(path: Path, table: str) -> list[int]:
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    found = connection.execute("SELECT pageno FROM dbstat WHERE name = ?", (table,)).fetchall()
    connection.close()
    return [int(str(page)) for (page,) in found]


def test_every_page_of_a_new_index_has_its_checksum(path: Path) -> None:
    assert is_marked_protected(path)
    assert page_bytes_of(path) == PAGE_BYTES
    assert find_damaged_pages(path, PAGE_BYTES) == []


@pytest.mark.parametrize("mask", [0x01, 0x80, 0xFF])
def test_one_changed_byte_of_a_page_that_is_read_is_an_error(path: Path, mask: int) -> None:
    page = pages_of(path, "document")[0]
    flip(path, (page - 1) * PAGE_BYTES + 5_000, mask)
    assert find_damaged_pages(path, PAGE_BYTES) == [page]
    with pytest.raises(IndexDamaged, match="documents") as caught:
        snapshot(EmbeddedStore.open(path, read_only=True))
    assert caught.value.path == str(path)
    assert "knotwork repair" in caught.value.fix


@pytest.mark.parametrize("offset", [*range(40), *range(56, 72), 92, 96, 99])
def test_a_damaged_header_is_an_error(path: Path, offset: int) -> None:
    flip(path, offset, 0x04)
    with pytest.raises(StoreError):
        snapshot(EmbeddedStore.open(path, read_only=True))


def test_the_error_names_the_part_and_the_documents(path: Path) -> None:
    overwrite_page(path, pages_of(path, "document")[-1])
    place = locate_damage(path)
    assert place.startswith("documents (documents `")
    assert ".md`" in place
    with pytest.raises(IndexDamaged) as caught:
        snapshot(EmbeddedStore.open(path, read_only=True))
    assert caught.value.place == place


def test_a_writer_does_not_write_on_a_damaged_page(path: Path) -> None:
    before = pages_of(path, "chunk")
    flip(path, (before[-1] - 1) * PAGE_BYTES + 4_000)
    store = EmbeddedStore.open(path)
    with pytest.raises(IndexDamaged):
        store.remove_documents(store.documents.document_ids())
    store.close()


def test_the_tables_beside_an_index_are_protected_too(tmp_path: Path) -> None:
    file = TableFile(tmp_path / "index.knot-tables")
    file.put("sales", [("region", "text")], [(f"North {n}",) for n in range(3_000)])
    assert is_marked_protected(file.path)
    page_bytes = page_bytes_of(file.path)
    flip(file.path, (pages_of(file.path, "sales")[-1] - 1) * page_bytes + 2_000)
    with pytest.raises(IndexDamaged, match="table file"):
        file.run("SELECT region FROM sales ORDER BY region", row_limit=5_000)


def test_a_file_without_checksums_is_used_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "index.knot"
    with without_checksums():
        store = EmbeddedStore.open(path, create=True)
        add_document(store, "a.md", ["Ada", "Bob"], link=True)
        before = snapshot(store)
        store.close()
    store = EmbeddedStore.open(path)
    assert snapshot(store) == before
    add_document(store, "b.md", ["Cy"])
    store.close()
    assert not is_marked_protected(path)


def test_a_build_of_apsw_that_cannot_verify_refuses_a_protected_index(
    path: Path, tmp_path: Path
) -> None:
    with without_checksums():
        with pytest.raises(StoreError, match="cannot verify") as caught:
            EmbeddedStore.open(path)
        EmbeddedStore.open(tmp_path / "new.knot", create=True).close()
    assert "wheel" in caught.value.fix


def test_another_process_may_fill_a_file_while_it_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "index.knot"
    others: list[EmbeddedStore] = []

    def fill_first(connection: apsw.Connection) -> None:
        monkeypatch.undo()
        others.append(EmbeddedStore.open(path, create=True))
        add_document(others[0], "first.md", ["Ada met Bob."])
        protect_new(connection)

    monkeypatch.setattr("knotwork._sqlite_file.protect_new", fill_first)
    store = EmbeddedStore.open(path, create=True)
    add_document(store, "second.md", ["Bob met Ada."])
    assert store.documents.document_count() == 2
    for opened_store in (store, *others):
        opened_store.close()
    assert find_damaged_pages(path, PAGE_BYTES) == []


def test_the_connections_of_other_code_keep_their_file_system(path: Path) -> None:
    EmbeddedStore.open(path).close()
    assert apsw.vfs_names()[0] != "cksmvfs"


def test_damage_of_another_application_id_is_foreign(path: Path) -> None:
    change(path, "PRAGMA application_id = 7")
    with pytest.raises(SchemaMismatch, match="not an index"):
        EmbeddedStore.open(path)
