"""Contract suites for stores of communities, model readings and chunk questions.

They test `StoresCommunities`, `StoresReadings` and `StoresQuestions`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

import pytest

from knotwork._stores.base import Store
from knotwork._stores.extensions import (
    StoresCommunities,
    StoresQuestions,
    StoresReadings,
    read_parents,
)
from knotwork.records import (
    ChunkReading,
    Community,
    CommunityReport,
    Description,
    EntitySummary,
    Finding,
    Member,
    ReadingStatus,
    Span,
    Support,
    content_id,
    entity_id,
)
from knotwork.testing._store_contract import add_document

_ABSENT = content_id("absent")


class CommunityHoldingStore(Store, StoresCommunities, Protocol):
    """The type of the fixture ``store``."""


def sample_community(
    name: str, *, of: str, chunks: tuple[str, ...] = (), level: int = 0, parent: str | None = None
) -> Community:
    """Return a community of entities, given by name in the order of importance."""
    forms = of.lower().split()
    shares = [len(forms) - place for place in range(len(forms))]
    members = tuple(
        Member(entity_id(form), share / sum(shares))
        for form, share in zip(forms, shares, strict=True)
    )
    key = content_id("community", name)
    above = None if parent is None else content_id("community", parent)
    return Community(key, level, above, members, tuple(sorted(chunks)))


def sample_report(community: Community, *chunks: str, key: str = "k") -> CommunityReport:
    """Return a report that cites these chunks, one in each finding."""
    findings = tuple(
        Finding(f"Finding {n} — 发现", (Support(chunk, Span(n, n + 5)),))
        for n, chunk in enumerate(chunks)
    )
    return CommunityReport(
        community.id, "Title", "Summary\n摘要", findings, 2.5, "en", "extractive", key
    )


class CommunityStoreContract:
    """Tests of `StoresCommunities`. Subclass it and define the fixture ``store``."""

    def test_communities_come_back_as_they_were_put(self, store: CommunityHoldingStore) -> None:
        top = sample_community("top", of="ada bob cy", chunks=(content_id(1), content_id(2)))
        low = sample_community("low", of="bob cy", chunks=(content_id(2),), level=1, parent="top")
        store.communities.replace([low, top])
        assert store.communities.communities([top.id, low.id, _ABSENT, "no id"]) == {
            top.id: top,
            low.id: low,
        }
        assert store.communities.levels() == [[top.id], [low.id]]
        assert store.communities.of_entities([entity_id("bob"), entity_id("ada"), _ABSENT]) == {
            entity_id("bob"): [top.id, low.id],
            entity_id("ada"): [top.id],
        }
        found = store.communities.of_chunks([content_id(2), content_id(1), _ABSENT])
        assert found == {content_id(1): [top.id], content_id(2): [top.id, low.id]}
        assert store.communities.stale() == []

    def test_parents_are_those_of_the_communities(self, store: CommunityHoldingStore) -> None:
        assert dict(read_parents(store.communities)) == {}
        top = sample_community("top", of="ada bob cy")
        low = sample_community("low", of="bob cy", level=1, parent="top")
        store.communities.replace([top, low])
        parents = read_parents(store.communities)
        assert dict(parents) == {top.id: None, low.id: top.id}
        assert list(parents) == sorted(parents)

    def test_replacing_removes_what_is_gone_with_its_report(
        self, store: CommunityHoldingStore
    ) -> None:
        first, second = sample_community("1", of="ada bob"), sample_community("2", of="cy")
        store.communities.replace([first, second])
        store.communities.put_reports([sample_report(first), sample_report(second)])
        changed = replace(second, members=(Member(entity_id("dee"), 1.0),))
        store.communities.replace([changed])
        assert store.communities.levels() == [[second.id]]
        assert store.communities.communities([second.id]) == {second.id: changed}
        assert store.communities.of_entities([entity_id(n) for n in ("ada", "cy", "dee")]) == {
            entity_id("dee"): [second.id]
        }
        assert list(store.communities.reports([first.id, second.id])) == [second.id]
        store.communities.replace([])
        assert store.communities.levels() == []
        assert store.communities.reports([second.id]) == {}

    def test_reports_come_back_as_they_were_put(self, store: CommunityHoldingStore) -> None:
        community = sample_community("1", of="ada")
        store.communities.replace([community])
        report = sample_report(community, content_id(1), content_id(2), content_id(1))
        store.communities.put_reports([report])
        assert store.communities.reports([community.id, _ABSENT]) == {community.id: report}
        other = sample_report(community, key="other")
        store.communities.put_reports([other])
        assert store.communities.reports([community.id]) == {community.id: other}
        store.communities.remove_reports([community.id, _ABSENT])
        assert store.communities.reports([community.id]) == {}

    def test_a_removed_document_marks_exactly_what_it_touched(
        self, store: CommunityHoldingStore
    ) -> None:
        gone, *_ = [add_document(store, uri, names) for uri, names in _DOCUMENTS.items()]
        (chunk, *_), kept = (store.documents.chunk_ids(content_id("document", u)) for u in "ab")
        top = sample_community("top", of="ada bob cy dee eve", chunks=(chunk, *kept))
        low = sample_community("low", of="ada bob", chunks=(chunk,), level=1, parent="top")
        lone = sample_community("lone", of="bob", level=2, parent="low")
        solo = sample_community("solo", of="ada", chunks=(chunk,), level=2, parent="low")
        other = sample_community("other", of="cy dee", chunks=tuple(kept), level=1, parent="top")
        communities = [top, low, lone, solo, other]
        store.communities.replace(communities)
        store.communities.put_reports(
            [sample_report(top, kept[0]), sample_report(low, chunk), sample_report(solo)]
        )
        store.texts("report").add((c.id, "Report about Ada") for c in communities)
        store.remove_documents([gone])
        # Only "a" mentioned Ada; others mention Bob too; "a" never mentioned Cy and Dee.
        assert store.communities.stale() == sorted([top.id, low.id, lone.id])
        found = store.communities.communities([c.id for c in communities])
        assert found.keys() == {top.id, low.id, lone.id, other.id}
        assert found[other.id] == other
        assert entity_id("ada") not in found[top.id].entity_ids
        assert found[low.id].entity_ids == (entity_id("bob"),)
        assert (found[low.id].chunk_ids, found[top.id].chunk_ids) == ((), tuple(sorted(kept)))
        assert list(store.communities.reports([c.id for c in communities])) == [top.id]
        assert store.texts("report").count() == 3
        store.communities.replace(found.values())
        assert store.communities.stale() == []

    def test_a_transaction_that_fails_leaves_communities_as_they_were(
        self, store: CommunityHoldingStore
    ) -> None:
        gone = add_document(store, "a", ["Ada", "Bob"])
        community = sample_community("1", of="ada bob")
        store.communities.replace([community])
        report = sample_report(community, *store.documents.chunk_ids(gone))
        store.communities.put_reports([report])
        with pytest.raises(ZeroDivisionError):  # noqa: PT012, SIM117  the failure is the point
            with store.transaction():
                store.remove_documents([gone])
                store.communities.replace([])
                raise ZeroDivisionError
        assert store.communities.communities([community.id]) == {community.id: community}
        assert store.communities.reports([community.id]) == {community.id: report}
        assert store.communities.stale() == []


_DOCUMENTS = {"a": ["Ada", "Bob"], "b": ["Cy", "Dee"], "c": ["Bob", "Eve"]}


_NO_IDS = [_ABSENT, "", "no id", "ffffffffffffffff"]
_CHUNKS = sorted(content_id("chunk", number) for number in range(4))
_HOSTILE_TEXT = "Ada — 艾达 \x00\n| half a pair: \ud800"


class ReadingHoldingStore(Store, StoresReadings, Protocol):
    """The type of the fixture ``store``."""


def sample_reading(
    chunk_id: str, status: ReadingStatus = ReadingStatus.OK, *, text: str = "why"
) -> ChunkReading:
    """Return a reading with all fields that a reading of this status has."""
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
    """Return all readings, descriptions and summaries of chunks and entities, for comparison."""
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
    """Tests of `StoresReadings`. Subclass it and define the fixture ``store``."""

    def test_readings_come_back_as_they_were_put(self, store: ReadingHoldingStore) -> None:
        assert isinstance(store, StoresReadings)
        first, second, third, fourth = _CHUNKS
        readings = [
            sample_reading(fourth, ReadingStatus.QUARANTINED, text=_HOSTILE_TEXT),
            sample_reading(first, ReadingStatus.QUARANTINED, text=""),
            sample_reading(second),
            sample_reading(third, ReadingStatus.PARTIAL, text=_HOSTILE_TEXT),
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
            (chunk, form): Description(chunk, form, f"{_HOSTILE_TEXT} {form} {number}")
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
        # Bob has no description any more; Ada's summary stays, although it is out of date.
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
        summary = sample_summary("ada", text=_HOSTILE_TEXT)
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
    """Index a document with readings; all of them describe Ada, and only "b" describes Bob."""
    document = add_document(store, uri, ["Ada", "Bob"])
    ada, bob = store.documents.chunk_ids(document)
    descriptions = [Description(ada, "ada", f"Ada of {uri}.")]
    if uri == "b":
        descriptions.append(Description(bob, "bob", "Bob."))
    readings = [sample_reading(ada), sample_reading(bob, ReadingStatus.QUARANTINED)]
    store.readings.put(readings, descriptions)
    return document


_HOSTILE_QUESTION = "谁? | \x00\n half a pair: \ud800 " + "x" * 3_000


class QuestionHoldingStore(Store, StoresQuestions, Protocol):
    """The type of the fixture ``store``."""


class QuestionStoreContract:
    """Tests of `StoresQuestions`. Subclass it and define the fixture ``store``."""

    def test_questions_come_back_as_they_were_put(self, store: QuestionHoldingStore) -> None:
        one, two, three = (content_id(n) for n in range(3))
        store.questions.put({one: ["Who?", "When?", "Who?"], two: [_HOSTILE_QUESTION], three: []})
        assert store.questions.questions([two, _ABSENT, "no id", one, three]) == {
            two: (_HOSTILE_QUESTION,),
            one: ("Who?", "When?"),
        }
        assert store.questions.chunk_ids() == sorted([one, two])

    def test_putting_replaces_the_questions_of_a_chunk(self, store: QuestionHoldingStore) -> None:
        one, two = content_id(1), content_id(2)
        store.questions.put({one: ["Who?", "When?"], two: ["Who?"]})
        store.questions.put({one: ["Where?"]})
        assert store.questions.questions([one, two]) == {one: ("Where?",), two: ("Who?",)}
        store.questions.put({one: []})
        assert store.questions.chunk_ids() == [two]

    def test_questions_go_with_their_document(self, store: QuestionHoldingStore) -> None:
        gone, kept = (add_document(store, uri, ["Ada"]) for uri in ("a.md", "b.md"))
        (first,), (second,) = store.documents.chunk_ids(gone), store.documents.chunk_ids(kept)
        store.questions.put({first: ["Who?"], second: ["Who?"]})
        store.remove_documents([gone])
        assert store.questions.chunk_ids() == [second]
        store.questions.remove_chunks([second, _ABSENT, "no id"])
        assert store.questions.questions([first, second]) == {}

    def test_a_broken_transaction_leaves_what_was(self, store: QuestionHoldingStore) -> None:
        one = content_id(1)
        store.questions.put({one: ["Who?"]})
        with pytest.raises(ZeroDivisionError):
            _put_and_fail(store, one)
        assert store.questions.questions([one]) == {one: ("Who?",)}


def _put_and_fail(store: QuestionHoldingStore, chunk_id: str) -> None:
    with store.transaction():
        store.questions.put({chunk_id: ["When?"]})
        assert store.questions.questions([chunk_id]) == {chunk_id: ("When?",)}
        raise ZeroDivisionError
