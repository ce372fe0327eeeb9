"""Values that cannot be decoded, in an index without checksums, are errors that name the file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.stores.raw_files import change, without_checksums

from knotwork._extensions.testing.store_contract import add_document, snapshot
from knotwork._stores.embedded import EmbeddedStore
from knotwork.errors import IndexDamaged
from knotwork.records import ChunkReading, ReadingStatus

DAMAGE = {
    "compressed text": "UPDATE document SET text = x'0102030405'",
    "text that is not UTF-8": "UPDATE chunk SET text = CAST(x'fffe41' AS TEXT)",
    "outline": "UPDATE document SET outline = x'789c'",
    "metadata": "UPDATE document SET metadata = '{'",
    "sentences": "UPDATE chunk SET sentences = x'0000'",
    "headings": "UPDATE chunk SET headings = '[1'",
    "blocks": "UPDATE chunk SET blocks = x'5b5d5d'",
    "kind of block": "UPDATE chunk SET blocks = CAST('[[99,0,1]]' AS BLOB)",
    "spans": "UPDATE mention SET spans = x'00'",
    "vector": "UPDATE vector_chunk SET data = x'0000'",
    "term counts": "UPDATE text_chunk_counts SET hashes = x'00'",
    "reading": "UPDATE chunk_reading SET status = 'maybe'",
    "raw reply": "UPDATE chunk_reading SET raw = x'00'",
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "index.knot"
    with without_checksums():
        store = EmbeddedStore.open(path, create=True)
        add_document(store, "a.md", ["Ada meets Bob.", "Bob helps Cy."], link=True)
        document = store.documents.document_ids()[0]
        (chunk, *_) = store.documents.chunk_ids_of([document])[document]
        store.readings.put([ChunkReading(chunk, "a.md", ReadingStatus.PARTIAL, raw="{")])
        store.close()
    return path


def read_all(path: Path) -> None:
    store = EmbeddedStore.open(path, read_only=True)
    try:
        snapshot(store)
        held = store.documents.chunk_ids_of(store.documents.document_ids())
        ids = [chunk for chunks in held.values() for chunk in chunks]
        store.readings.readings(ids)
        store.readings.counts()
        store.texts("chunk").occurrences(ids, ["ada"])
        store.vectors("chunk").get(ids)
        store.vectors("chunk").search(np.eye(4, dtype=np.float32)[0], k=3)
    finally:
        store.close()


def test_an_intact_index_can_be_read(path: Path) -> None:
    read_all(path)


@pytest.mark.parametrize("statement", DAMAGE.values(), ids=DAMAGE)
def test_no_decoder_fails_with_an_error_of_its_own(path: Path, statement: str) -> None:
    with without_checksums():
        change(path, statement)
    with pytest.raises(IndexDamaged, match=r"index\.knot") as caught:
        read_all(path)
    assert "knotwork repair" in caught.value.fix
