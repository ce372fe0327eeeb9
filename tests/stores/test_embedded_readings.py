"""Readings by a model in an index file: stored, updated, checked, and closed to readers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw
import pytest

from knotwork._extensions.testing.enrichment_contract import (
    reading_snapshot,
    sample_reading,
    sample_summary,
)
from knotwork._extensions.testing.store_contract import add_document
from knotwork._stores.base import was_read_by_model
from knotwork._stores.embedded import EmbeddedStore
from knotwork.errors import StoreReadOnly
from knotwork.records import Description, ReadingStatus, content_id

FORMS = ["ada", "bob"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "index.knot"


def fill(store: EmbeddedStore) -> list[str]:
    """Read the chunks of a document; return their ids."""
    (chunks,) = store.documents.chunk_ids_of([content_id("document", "a.md")]).values()
    store.readings.put(
        [sample_reading(chunks[0]), sample_reading(chunks[1], ReadingStatus.QUARANTINED)],
        [Description(chunks[0], form, f"About {form}.") for form in FORMS],
    )
    store.readings.put_summaries([sample_summary("ada")])
    return chunks


def test_readings_are_there_after_reopening(path: Path) -> None:
    store = EmbeddedStore.open(path, create=True)
    add_document(store, "a.md", ["Ada", "Bob"])
    chunks = fill(store)
    before = reading_snapshot(store, chunks=chunks, forms=FORMS)
    assert store.check() == []
    store.close()
    again = EmbeddedStore.open(path, read_only=True)
    assert reading_snapshot(again, chunks=chunks, forms=FORMS) == before
    again.close()


def test_a_reader_may_not_write_readings(path: Path) -> None:
    store = EmbeddedStore.open(path, create=True)
    add_document(store, "a.md", ["Ada", "Bob"])
    chunks = fill(store)
    store.close()
    reader = EmbeddedStore.open(path, read_only=True)
    before = reading_snapshot(reader, chunks=chunks, forms=FORMS)
    for write in (
        lambda: reader.readings.put([sample_reading(chunks[1])]),
        lambda: reader.readings.put_summaries([sample_summary("bob")]),
        lambda: reader.readings.remove_chunks(chunks),
    ):
        with pytest.raises(StoreReadOnly, match="reading only"):
            write()
    assert reading_snapshot(reader, chunks=chunks, forms=FORMS) == before
    reader.close()


def test_orphans_are_named(path: Path) -> None:
    store = EmbeddedStore.open(path, create=True)
    chunk = content_id("of no document")
    store.readings.put([sample_reading(chunk)], [Description(chunk, "ada", "Ada.")])
    store.readings.put_summaries([sample_summary("bob")])
    assert store.check() == [
        "1 readings without a chunk",
        "1 descriptions without a chunk",
        "1 summaries of entities without a description",
    ]
    store.close()


def test_asking_whether_a_model_read_costs_one_row(path: Path) -> None:
    store = EmbeddedStore.open(path, create=True)
    assert not was_read_by_model(store)
    steps: list[int] = []

    def note(event: dict[str, Any]) -> None:
        steps.append(event["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"])

    for numbers in ([0], range(1, 2_000)):
        store.readings.put(sample_reading(content_id("chunk", number)) for number in numbers)
        connection = store._database.connection()
        connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, note)
        assert was_read_by_model(store)
        connection.trace_v2(0, None)
    assert sum(store.readings.counts().values()) == 2_000
    with_one, with_many = steps  # one statement each
    assert with_one == with_many < 20
    store.close()
