"""What every store that `StoresReadings` does with what a model read."""

from __future__ import annotations

from typing import Protocol

import pytest

from knotwork.records import (
    ChunkReading,
    Description,
    EntitySummary,
    ReadingStatus,
    content_id,
    entity_id,
)
from knotwork.stores.base import Store
from knotwork.stores.readings import StoresReadings
from knotwork.testing.store_contract import add_document

_ABSENT = content_id("absent")
_NO_IDS = [_ABSENT, "", "no id", "ffffffffffffffff"]
_CHUNKS = sorted(content_id("chunk", number) for number in range(4))
_HOSTILE = "Ada — 艾达 \x00\n| half a pair: \ud800"


class ReadingHoldingStore(Store, StoresReadings, Protocol):
    """A store with both: what the fixture ``store`` returns."""


def sample_reading(
    chunk_id: str, status: ReadingStatus = ReadingStatus.OK, *, text: str = "why"
) -> ChunkReading:
    """Return a reading with all that a reading of this status has."""
    if status is ReadingStatus.OK:
        return ChunkReading(chunk_id, "model", status)
    complaints = (f"`{text}`: no line", "too short")
    if status is ReadingStatus.PARTIAL:
        return ChunkReading(chunk_id, "model", status, complaints=complaints)
    return ChunkReading(chunk_id, "model", status, text, text, complaints)


def sample_summary(form: str, *, text: str = "All of it.", key: str = "k") -> EntitySummary:
    """Return a summary of the entity with this normal form."""
    return EntitySummary(entity_id(form), text, "model", key)


def reading_snapshot(store: ReadingHoldingStore, *, chunks: list[str], forms: list[str]) -> object:
    """Return all that ``store`` shows of these chunks and entities, to compare two stores."""
    held = store.readings
    entities = [entity_id(form) for form in forms]
    return {
        "readings": held.readings(chunks),
        "quarantined": held.quarantined(),
        "counts": dict(held.counts()),
        "descriptions": held.descriptions(entities),
        "in chunks": held.descriptions_in(chunks),
        "summaries": held.summaries(entities),
        "described": held.described(),
    }


class ReadingStoreContract:
    """Behaviour of `StoresReadings`. Subclass it and supply the fixture ``store``."""

    def test_readings_come_back_as_they_were_put(self, store: ReadingHoldingStore) -> None:
        assert isinstance(store, StoresReadings)
        first, second, third, fourth = _CHUNKS
        readings = [
            sample_reading(fourth, ReadingStatus.QUARANTINED, text=_HOSTILE),
            sample_reading(first, ReadingStatus.QUARANTINED, text=""),
            sample_reading(second),
            sample_reading(third, ReadingStatus.PARTIAL, text=_HOSTILE),
        ]
        store.readings.put(readings)
        assert store.readings.readings([*_CHUNKS, *_NO_IDS]) == {r.chunk_id: r for r in readings}
        assert store.readings.quarantined() == [readings[1], readings[0]]
        counts = store.readings.counts()
        assert counts == {
            ReadingStatus.OK: 1,
            ReadingStatus.PARTIAL: 1,
            ReadingStatus.QUARANTINED: 2,
        }
        assert all(isinstance(status, ReadingStatus) for status in counts)
        assert store.readings.described() == []

    def test_an_empty_store_has_read_nothing(self, store: ReadingHoldingStore) -> None:
        store.readings.put([])
        store.readings.put_summaries([])
        store.readings.remove_chunks(_NO_IDS)
        assert dict(store.readings.counts()) == {}
        assert store.readings.quarantined() == []
        assert store.readings.readings(_CHUNKS) == {}
        assert store.readings.descriptions([entity_id("ada"), *_NO_IDS]) == {}
        assert store.readings.descriptions_in([]) == {}
        assert store.readings.summaries([entity_id("ada"), *_NO_IDS]) == {}

    def test_descriptions_are_found_from_both_sides_in_order(
        self, store: ReadingHoldingStore
    ) -> None:
        given = {
            (chunk, form): Description(chunk, form, f"{_HOSTILE} {form} {number}")
            for number, chunk in enumerate(_CHUNKS[:3])
            for form in ("ada", "bob", "北京")[number:]
        }
        store.readings.put(map(sample_reading, _CHUNKS), reversed(given.values()))
        forms = sorted(("ada", "bob", "北京"), key=entity_id)
        assert store.readings.described() == [entity_id(form) for form in forms]
        assert store.readings.descriptions([*map(entity_id, forms), *_NO_IDS]) == {
            entity_id(form): [given[c, form] for c in _CHUNKS if (c, form) in given]
            for form in forms
        }
        assert store.readings.descriptions_in([*_CHUNKS, *_NO_IDS]) == {
            chunk: [given[chunk, form] for form in forms if (chunk, form) in given]
            for chunk in _CHUNKS[:3]
        }

    def test_reading_a_chunk_again_replaces_all_it_gave(self, store: ReadingHoldingStore) -> None:
        first, second, *_ = _CHUNKS
        kept = Description(second, "ada", "Of another chunk.")
        store.readings.put(
            [sample_reading(first, ReadingStatus.QUARANTINED), sample_reading(second)],
            [Description(first, "ada", "Old."), Description(first, "bob", "Old."), kept],
        )
        store.readings.put_summaries([sample_summary("ada"), sample_summary("bob")])
        again = Description(first, "cy", "New.")
        store.readings.put([sample_reading(first)], [again])
        assert store.readings.counts() == {ReadingStatus.OK: 2}
        assert store.readings.quarantined() == []
        assert store.readings.descriptions_in([first, second]) == {first: [again], second: [kept]}
        forms = ("ada", "bob", "cy")
        assert store.readings.descriptions([entity_id(form) for form in forms]) == {
            entity_id("ada"): [kept],
            entity_id("cy"): [again],
        }
        # Nothing is left of Bob; Ada's summary is old, which its content key tells.
        summaries = store.readings.summaries([entity_id(form) for form in forms])
        assert summaries == {entity_id("ada"): sample_summary("ada")}

    def test_a_description_replaces_the_one_in_its_place(self, store: ReadingHoldingStore) -> None:
        first, second, *_ = _CHUNKS
        other = Description(first, "bob", "Stays.")
        store.readings.put([sample_reading(first)], [Description(first, "ada", "Old."), other])
        new = Description(first, "ada", "New.")
        store.readings.put([], [Description(first, "ada", "Between."), new])
        assert store.readings.descriptions([entity_id("ada"), entity_id("bob")]) == {
            entity_id("ada"): [new],
            entity_id("bob"): [other],
        }
        store.readings.put([sample_reading(second), sample_reading(second, ReadingStatus.PARTIAL)])
        assert store.readings.counts() == {ReadingStatus.OK: 1, ReadingStatus.PARTIAL: 1}

    def test_summaries_are_replaced_by_entity(self, store: ReadingHoldingStore) -> None:
        summary = sample_summary("ada", text=_HOSTILE)
        store.readings.put_summaries([sample_summary("ada"), sample_summary("bob")])
        store.readings.put_summaries([summary])
        assert store.readings.summaries([entity_id("bob"), entity_id("ada"), *_NO_IDS]) == {
            entity_id("ada"): summary,
            entity_id("bob"): sample_summary("bob"),
        }

    def test_removed_chunks_leave_nothing_that_only_they_gave(
        self, store: ReadingHoldingStore
    ) -> None:
        first, second, third, _ = _CHUNKS
        kept = Description(second, "ada", "Stays.")
        store.readings.put(
            [sample_reading(first), sample_reading(second), sample_reading(third)],
            [Description(first, "ada", "Goes."), Description(first, "bob", "Goes."), kept],
        )
        store.readings.put_summaries([sample_summary("ada"), sample_summary("bob")])
        store.readings.remove_chunks([first, third, *_NO_IDS])
        assert list(store.readings.readings(_CHUNKS)) == [second]
        assert store.readings.descriptions_in(_CHUNKS) == {second: [kept]}
        assert store.readings.described() == [entity_id("ada")]
        entities = [entity_id("ada"), entity_id("bob")]
        assert list(store.readings.summaries(entities)) == entities[:1]
        store.readings.remove_chunks([second])
        assert store.readings.summaries(entities) == {}
        assert dict(store.readings.counts()) == {}

    def test_a_removed_document_takes_its_readings_along(
        self, store: ReadingHoldingStore, other_store: ReadingHoldingStore
    ) -> None:
        for held, uris in ((store, "abc"), (other_store, "ca")):
            for uri in uris:
                _add_read_document(held, uri)
        store.readings.put_summaries([sample_summary("bob"), sample_summary("ada")])
        other_store.readings.put_summaries([sample_summary("ada")])
        chunks = [c for i in store.documents.document_ids() for c in store.documents.chunk_ids(i)]
        store.remove_documents([content_id("document", "b")])
        options = {"chunks": chunks, "forms": ["ada", "bob"]}
        shown = reading_snapshot(store, **options)
        assert shown == reading_snapshot(other_store, **options)
        assert store.readings.described() == [entity_id("ada")]

    def test_a_transaction_that_fails_leaves_readings_as_they_were(
        self, store: ReadingHoldingStore
    ) -> None:
        document = _add_read_document(store, "a")
        store.readings.put_summaries([sample_summary("ada")])
        options = {"chunks": store.documents.chunk_ids(document), "forms": ["ada", "bob"]}
        before = reading_snapshot(store, **options)
        with pytest.raises(ZeroDivisionError):  # noqa: PT012, SIM117  the failure is the point
            with store.transaction():
                store.readings.put([], [Description(options["chunks"][0], "bob", "New.")])
                assert reading_snapshot(store, **options) != before
                store.remove_documents([document])
                raise ZeroDivisionError
        assert reading_snapshot(store, **options) == before


def _add_read_document(store: ReadingHoldingStore, uri: str) -> str:
    """Index a document that is read without fault; "b" alone describes Bob, all describe Ada."""
    document = add_document(store, uri, ["Ada", "Bob"])
    ada, bob = store.documents.chunk_ids(document)
    descriptions = [Description(ada, "ada", f"Ada of {uri}.")]
    if uri == "b":
        descriptions.append(Description(bob, "bob", "Bob."))
    readings = [sample_reading(ada), sample_reading(bob, ReadingStatus.QUARANTINED)]
    store.readings.put(readings, descriptions)
    return document
