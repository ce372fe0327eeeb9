"""Which entities are the same, in an index file: kept, brought up to date, and shut to readers."""

from __future__ import annotations

from pathlib import Path

import pytest

from knotwork._extensions.testing.resolution_contract import resolution_snapshot, sample_decision
from knotwork._extensions.testing.store_contract import add_document
from knotwork._stores.embedded import EmbeddedStore
from knotwork.errors import StoreReadOnly
from knotwork.records import entity_id

FORMS = ["ada", "bob", "cy"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "index.knot"


def fill(store: EmbeddedStore) -> None:
    store.resolutions.put([sample_decision("ada", "bob"), sample_decision("bob", "cy")])
    store.resolutions.touch([entity_id("ada"), entity_id("gone")])


def test_decisions_are_there_after_reopening(path: Path) -> None:
    store = EmbeddedStore.open(path, create=True)
    add_document(store, "a.md", ["Ada", "Bob", "Cy"])
    fill(store)
    before = resolution_snapshot(store, FORMS)
    assert len(store.resolutions.groups()) == 3
    assert store.check() == []
    store.close()
    again = EmbeddedStore.open(path, read_only=True)
    assert resolution_snapshot(again, FORMS) == before
    again.close()


def test_groups_follow_what_others_commit(path: Path) -> None:
    writer = EmbeddedStore.open(path, create=True)
    add_document(writer, "a.md", ["Ada", "Bob", "Cy"])
    reader = EmbeddedStore.open(path, read_only=True)
    assert reader.resolutions.groups() == {}
    fill(writer)
    groups = reader.resolutions.groups()
    assert groups.keys() == set(map(entity_id, FORMS))
    groups.clear()  # what a caller does to them is its own affair
    assert len(reader.resolutions.groups()) == 3
    writer.remove_documents(writer.documents.document_ids())
    assert reader.resolutions.groups() == {}
    reader.close()
    writer.close()


def test_a_reader_may_not_write_decisions(path: Path) -> None:
    store = EmbeddedStore.open(path, create=True)
    add_document(store, "a.md", ["Ada", "Bob", "Cy"])
    fill(store)
    store.close()
    reader = EmbeddedStore.open(path, read_only=True)
    before = resolution_snapshot(reader, FORMS)
    for write in (
        lambda: reader.resolutions.put([sample_decision("ada", "cy")]),
        lambda: reader.resolutions.remove([sample_decision("ada", "bob").pair]),
        lambda: reader.resolutions.touch([entity_id("cy")]),
        lambda: reader.resolutions.settle([entity_id("ada")]),
    ):
        with pytest.raises(StoreReadOnly, match="reading only"):
            write()
    assert resolution_snapshot(reader, FORMS) == before
    reader.close()
