"""Opening files: what is an index, what is not, and how one comes up to date."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import numpy as np
import pytest
from tests.stores.raw_files import change, opened

from knotwork._extensions.testing.store_contract import add_document, snapshot
from knotwork._sqlite_file import Migration
from knotwork._stores.base import Store
from knotwork._stores.embedded import EmbeddedStore
from knotwork._stores.embedded.database import MIGRATIONS
from knotwork._stores.urls import open_store
from knotwork.errors import (
    SchemaMismatch,
    StoreError,
    StoreNotFound,
    StoreReadOnly,
    UnknownName,
)

LATER = Migration("0017-later", "CREATE TABLE later (x); INSERT INTO later VALUES (7);")
BROKEN = Migration("0018-broken", "CREATE TABLE half (x); SELECT nonsense;")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "index.knot"


@pytest.fixture
def filled(path: Path) -> Path:
    store = EmbeddedStore.open(path, create=True)
    add_document(store, "a.md", ["Ada", "Bob"], link=True)
    store.close()
    return path


def tables(path: Path) -> set[str]:
    connection = opened(path)
    names = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema")}
    connection.close()
    return names


def test_written_data_is_there_after_reopening(filled: Path) -> None:
    store = EmbeddedStore.open(filled)
    before = snapshot(store)
    store.close()
    assert [entry.name for entry in filled.parent.iterdir()] == [filled.name]
    again = EmbeddedStore.open(filled, read_only=True)
    assert snapshot(again) == before
    again.close()


@pytest.mark.parametrize("options", [{}, {"read_only": True}, {"read_only": True, "create": True}])
def test_no_index_there(path: Path, options: dict[str, bool]) -> None:
    with pytest.raises(StoreNotFound, match=r"index\.knot"):
        EmbeddedStore.open(path, **options)
    assert not path.exists()


def test_no_folder_there(tmp_path: Path) -> None:
    with pytest.raises(StoreNotFound, match="folder"):
        EmbeddedStore.open(tmp_path / "absent" / "index.knot", create=True)


def test_a_folder_is_no_index(tmp_path: Path) -> None:
    with pytest.raises(SchemaMismatch, match="folder"):
        EmbeddedStore.open(tmp_path, create=True)


@pytest.mark.parametrize("create", [True, False])
@pytest.mark.parametrize(
    "content", [b"# Notes\n" * 500, b"x", b"SQLite format 3\x00" + b"z" * 5000]
)
def test_another_file_is_no_index_and_stays_as_it_is(
    path: Path, content: bytes, create: bool
) -> None:
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"index\.knot"):
        EmbeddedStore.open(path, create=create)
    assert path.read_bytes() == content


def test_the_database_of_another_program_is_no_index(path: Path) -> None:
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE notes (text)")
    other.close()
    before = path.read_bytes()
    with pytest.raises(SchemaMismatch, match="not an index"):
        EmbeddedStore.open(path, create=True)
    assert path.read_bytes() == before


def test_an_empty_file_is_filled_only_when_asked(path: Path) -> None:
    path.touch()
    with pytest.raises(SchemaMismatch, match="not an index"):
        EmbeddedStore.open(path)
    EmbeddedStore.open(path, create=True).close()
    EmbeddedStore.open(path).close()


def test_a_reader_may_not_write(filled: Path) -> None:
    store = EmbeddedStore.open(filled, read_only=True)
    before = snapshot(store)
    for write in (
        lambda: store.set_meta({"a": "1"}),
        lambda: add_document(store, "b.md", ["Ada"]),
        lambda: store.remove_documents(store.documents.document_ids()),
        lambda: store.vectors("chunk").put([("0" * 16, "k", np.ones(4, dtype=np.float32))]),
    ):
        with pytest.raises(StoreReadOnly, match="reading only"):
            write()
    assert snapshot(store) == before
    store.close()


def test_a_reader_sees_what_others_commit(filled: Path) -> None:
    reader, writer = EmbeddedStore.open(filled, read_only=True), EmbeddedStore.open(filled)
    generation = reader.generation()
    add_document(writer, "b.md", ["Cy"])
    assert reader.generation() != generation
    assert snapshot(reader) == snapshot(writer)
    reader.close()
    writer.close()


def test_a_file_where_nothing_may_be_written_can_be_read(
    filled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(os, "access", lambda path, mode: mode != os.W_OK)
        store = EmbeddedStore.open(filled, read_only=True)
    assert store.documents.document_count() == 1
    assert [entry.name for entry in filled.parent.iterdir()] == [filled.name]
    store.close()


def test_migrations_run_once_in_order(filled: Path) -> None:
    store = EmbeddedStore.open(filled)
    before = snapshot(store)
    store.close()
    for _ in range(2):
        migrated = EmbeddedStore.open(filled, migrations=[*MIGRATIONS, LATER])
        assert snapshot(migrated) == before
        assert migrated._database.rows("SELECT x FROM later") == [(7,)]
        migrated.close()


def test_a_migration_that_fails_leaves_nothing_of_itself(filled: Path) -> None:
    with pytest.raises(StoreError, match="nonsense"):
        EmbeddedStore.open(filled, migrations=[*MIGRATIONS, LATER, BROKEN])
    assert "later" in tables(filled)
    assert "half" not in tables(filled)
    EmbeddedStore.open(filled, migrations=[*MIGRATIONS, LATER]).close()


def test_an_index_of_a_later_version_is_refused(filled: Path) -> None:
    EmbeddedStore.open(filled, migrations=[*MIGRATIONS, LATER]).close()
    for read_only in (True, False):
        with pytest.raises(SchemaMismatch, match="later version") as caught:
            EmbeddedStore.open(filled, read_only=read_only)
        assert "Upgrade" in caught.value.fix


def test_an_index_of_a_former_layout_is_refused(filled: Path) -> None:
    change(filled, "UPDATE migration SET name = '0015-blocks' WHERE name LIKE '0017-%'")
    for read_only in (True, False):
        with pytest.raises(SchemaMismatch, match="before the first release") as caught:
            EmbeddedStore.open(filled, read_only=read_only)
        assert "index the documents again" in caught.value.fix


def test_a_reader_has_an_index_brought_up_to_date(filled: Path) -> None:
    before = snapshot(EmbeddedStore.open(filled))
    reader = EmbeddedStore.open(filled, read_only=True, migrations=[*MIGRATIONS, LATER])
    assert "later" in tables(filled)
    assert snapshot(reader) == before
    with pytest.raises(StoreReadOnly):
        reader.set_meta({"a": "1"})
    reader.close()


def test_a_reader_of_a_file_that_cannot_be_written_says_what_it_lacks(
    filled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.access", lambda *_: False)  # who runs as root may write anything
    with pytest.raises(SchemaMismatch, match="earlier version") as caught:
        EmbeddedStore.open(filled, read_only=True, migrations=[*MIGRATIONS, LATER])
    assert "writable" in caught.value.fix
    assert "later" not in tables(filled)


def test_a_damaged_page_is_named(filled: Path) -> None:
    content = bytearray(filled.read_bytes())
    content[len(content) // 3 :] = b"\xff" * (len(content) - len(content) // 3)
    filled.write_bytes(content)
    with pytest.raises(StoreError, match=r"index\.knot"):
        snapshot(EmbeddedStore.open(filled))


def test_addresses_name_stores(filled: Path, tmp_path: Path) -> None:
    assert isinstance(open_store("memory:"), Store)
    for address in (str(filled), f"file:{filled}", f"file://{filled}"):
        store = open_store(address, read_only=True)
        assert isinstance(store, EmbeddedStore)
        assert store.url == str(filled)
        store.close()
    created = open_store(str(tmp_path / "a:b.index"), create=True)
    created.close()
    assert (tmp_path / "a:b.index").exists()


@pytest.mark.parametrize("address", ["mysql://host/db", "bolt://host"])
def test_an_unknown_scheme_is_refused(address: str) -> None:
    with pytest.raises(UnknownName, match="memory:"):
        open_store(address)


@pytest.mark.parametrize("name", ["", "Chunk", "next_other", "x; DROP TABLE chunk", "notes"])
def test_an_index_has_one_of_the_known_names(filled: Path, name: str) -> None:
    store = EmbeddedStore.open(filled)
    with pytest.raises(UnknownName, match="text index"):
        store.texts(name)
    with pytest.raises(UnknownName, match="vector index"):
        store.vectors(name)
    store.close()
