"""Contract suites for stores of communities, model readings and chunk questions.

They test `CommunityStore`, `ReadingStore` and `QuestionStore`.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from knotwork._extensions.testing.store_contract import add_document
from knotwork._stores.base import Store, require_communities, require_questions, require_readings
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

_ABSENT = content_id("absent")


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
    """Tests of `CommunityStore`. Subclass it and define the fixture ``store``."""

    def test_communities_come_back_as_they_were_put(self, store: Store) -> None:
        top = sample_community("top", of="ada bob cy", chunks=(content_id(1), content_id(2)))
        low = sample_community("low", of="bob cy", chunks=(content_id(2),), level=1, parent="top")
        require_communities(store).replace([low, top])
        assert require_communities(store).communities([top.id, low.id, _ABSENT, "no id"]) == {
            top.id: top,
            low.id: low,
        }
        assert require_communities(store).levels() == [[top.id], [low.id]]
        assert require_communities(store).of_entities(
            [entity_id("bob"), entity_id("ada"), _ABSENT]
        ) == {
            entity_id("bob"): [top.id, low.id],
            entity_id("ada"): [top.id],
        }
        found = require_communities(store).of_chunks([content_id(2), content_id(1), _ABSENT])
        assert found == {content_id(1): [top.id], content_id(2): [top.id, low.id]}
        assert require_communities(store).stale() == []

    def test_parents_are_those_of_the_communities(self, store: Store) -> None:
        assert dict(require_communities(store).parents()) == {}
        top = sample_community("top", of="ada bob cy")
        low = sample_community("low", of="bob cy", level=1, parent="top")
        require_communities(store).replace([top, low])
        parents = require_communities(store).parents()
        assert dict(parents) == {top.id: None, low.id: top.id}
        assert list(parents) == sorted(parents)

    def test_replacing_removes_what_is_gone_with_its_report(self, store: Store) -> None:
        first, second = sample_community("1", of="ada bob"), sample_community("2", of="cy")
        require_communities(store).replace([first, second])
        require_communities(store).put_reports([sample_report(first), sample_report(second)])
        changed = replace(second, members=(Member(entity_id("dee"), 1.0),))
        require_communities(store).replace([changed])
        assert require_communities(store).levels() == [[second.id]]
        assert require_communities(store).communities([second.id]) == {second.id: changed}
        assert require_communities(store).of_entities(
            [entity_id(n) for n in ("ada", "cy", "dee")]
        ) == {entity_id("dee"): [second.id]}
        assert list(require_communities(store).reports([first.id, second.id])) == [second.id]
        require_communities(store).replace([])
        assert require_communities(store).levels() == []
        assert require_communities(store).reports([second.id]) == {}

    def test_reports_come_back_as_they_were_put(self, store: Store) -> None:
        community = sample_community("1", of="ada")
        require_communities(store).replace([community])
        report = sample_report(community, content_id(1), content_id(2), content_id(1))
        require_communities(store).put_reports([report])
        assert require_communities(store).reports([community.id, _ABSENT]) == {community.id: report}
        other = sample_report(community, key="other")
        require_communities(store).put_reports([other])
        assert require_communities(store).reports([community.id]) == {community.id: other}

    def test_a_removed_document_marks_exactly_what_it_touched(self, store: Store) -> None:
        gone, *_ = [add_document(store, uri, names) for uri, names in _DOCUMENTS.items()]
        held = store.documents.chunk_ids_of([content_id("document", uri) for uri in "ab"])
        (chunk, *_), kept = held.values()
        top = sample_community("top", of="ada bob cy dee eve", chunks=(chunk, *kept))
        low = sample_community("low", of="ada bob", chunks=(chunk,), level=1, parent="top")
        lone = sample_community("lone", of="bob", level=2, parent="low")
        solo = sample_community("solo", of="ada", chunks=(chunk,), level=2, parent="low")
        other = sample_community("other", of="cy dee", chunks=tuple(kept), level=1, parent="top")
        communities = [top, low, lone, solo, other]
        require_communities(store).replace(communities)
        require_communities(store).put_reports(
            [sample_report(top, kept[0]), sample_report(low, chunk), sample_report(solo)]
        )
        store.texts("report").add((c.id, "Report about Ada") for c in communities)
        store.remove_documents([gone])
        # Only "a" mentioned Ada; others mention Bob too; "a" never mentioned Cy and Dee.
        assert require_communities(store).stale() == sorted([top.id, low.id, lone.id])
        found = require_communities(store).communities([c.id for c in communities])
        assert found.keys() == {top.id, low.id, lone.id, other.id}
        assert found[other.id] == other
        assert entity_id("ada") not in found[top.id].entity_ids
        assert found[low.id].entity_ids == (entity_id("bob"),)
        assert (found[low.id].chunk_ids, found[top.id].chunk_ids) == ((), tuple(sorted(kept)))
        assert list(require_communities(store).reports([c.id for c in communities])) == [top.id]
        assert store.texts("report").count() == 3
        require_communities(store).replace(found.values())
        assert require_communities(store).stale() == []

    def test_a_transaction_that_fails_leaves_communities_as_they_were(self, store: Store) -> None:
        gone = add_document(store, "a", ["Ada", "Bob"])
        community = sample_community("1", of="ada bob")
        require_communities(store).replace([community])
        report = sample_report(community, *store.documents.chunk_ids_of([gone])[gone])
        require_communities(store).put_reports([report])
        with pytest.raises(ZeroDivisionError):  # noqa: PT012, SIM117  the failure is the point
            with store.transaction():
                store.remove_documents([gone])
                require_communities(store).replace([])
                raise ZeroDivisionError
        assert require_communities(store).communities([community.id]) == {community.id: community}
        assert require_communities(store).reports([community.id]) == {community.id: report}
        assert require_communities(store).stale() == []


_DOCUMENTS = {"a": ["Ada", "Bob"], "b": ["Cy", "Dee"], "c": ["Bob", "Eve"]}


_NO_IDS = [_ABSENT, "", "no id", "ffffffffffffffff"]
_CHUNKS = sorted(content_id("chunk", number) for number in range(4))
_HOSTILE_TEXT = "Ada — 艾达 \x00\n| half a pair: \ud800"


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


def reading_snapshot(store: Store, *, chunks: list[str], forms: list[str]) -> object:
    """Return all readings, descriptions and summaries of chunks and entities, for comparison."""
    held = require_readings(store)
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
    """Tests of `ReadingStore`. Subclass it and define the fixture ``store``."""

    def test_readings_come_back_as_they_were_put(self, store: Store) -> None:
        first, second, third, fourth = _CHUNKS
        readings = [
            sample_reading(fourth, ReadingStatus.QUARANTINED, text=_HOSTILE_TEXT),
            sample_reading(first, ReadingStatus.QUARANTINED, text=""),
            sample_reading(second),
            sample_reading(third, ReadingStatus.PARTIAL, text=_HOSTILE_TEXT),
        ]
        require_readings(store).put(readings)
        assert require_readings(store).readings([*_CHUNKS, *_NO_IDS]) == {
            r.chunk_id: r for r in readings
        }
        assert require_readings(store).quarantined() == [readings[1], readings[0]]
        counts = require_readings(store).counts()
        assert counts == {
            ReadingStatus.OK: 1,
            ReadingStatus.PARTIAL: 1,
            ReadingStatus.QUARANTINED: 2,
        }
        assert all(isinstance(status, ReadingStatus) for status in counts)
        assert require_readings(store).described() == []

    def test_an_empty_store_has_read_nothing(self, store: Store) -> None:
        require_readings(store).put([])
        require_readings(store).put_summaries([])
        require_readings(store).remove_chunks(_NO_IDS)
        assert dict(require_readings(store).counts()) == {}
        assert require_readings(store).quarantined() == []
        assert require_readings(store).readings(_CHUNKS) == {}
        assert require_readings(store).descriptions([entity_id("ada"), *_NO_IDS]) == {}
        assert require_readings(store).descriptions_in([]) == {}
        assert require_readings(store).summaries([entity_id("ada"), *_NO_IDS]) == {}

    def test_descriptions_are_found_from_both_sides_in_order(self, store: Store) -> None:
        given = {
            (chunk, form): Description(chunk, form, f"{_HOSTILE_TEXT} {form} {number}")
            for number, chunk in enumerate(_CHUNKS[:3])
            for form in ("ada", "bob", "北京")[number:]
        }
        require_readings(store).put(map(sample_reading, _CHUNKS), reversed(given.values()))
        forms = sorted(("ada", "bob", "北京"), key=entity_id)
        assert require_readings(store).described() == [entity_id(form) for form in forms]
        assert require_readings(store).descriptions([*map(entity_id, forms), *_NO_IDS]) == {
            entity_id(form): [given[c, form] for c in _CHUNKS if (c, form) in given]
            for form in forms
        }
        assert require_readings(store).descriptions_in([*_CHUNKS, *_NO_IDS]) == {
            chunk: [given[chunk, form] for form in forms if (chunk, form) in given]
            for chunk in _CHUNKS[:3]
        }

    def test_reading_a_chunk_again_replaces_all_it_gave(self, store: Store) -> None:
        first, second, *_ = _CHUNKS
        kept = Description(second, "ada", "Of another chunk.")
        require_readings(store).put(
            [sample_reading(first, ReadingStatus.QUARANTINED), sample_reading(second)],
            [Description(first, "ada", "Old."), Description(first, "bob", "Old."), kept],
        )
        require_readings(store).put_summaries([sample_summary("ada"), sample_summary("bob")])
        again = Description(first, "cy", "New.")
        require_readings(store).put([sample_reading(first)], [again])
        assert require_readings(store).counts() == {ReadingStatus.OK: 2}
        assert require_readings(store).quarantined() == []
        assert require_readings(store).descriptions_in([first, second]) == {
            first: [again],
            second: [kept],
        }
        forms = ("ada", "bob", "cy")
        assert require_readings(store).descriptions([entity_id(form) for form in forms]) == {
            entity_id("ada"): [kept],
            entity_id("cy"): [again],
        }
        # Bob has no description any more; Ada's summary stays, although it is out of date.
        summaries = require_readings(store).summaries([entity_id(form) for form in forms])
        assert summaries == {entity_id("ada"): sample_summary("ada")}

    def test_a_description_replaces_the_one_in_its_place(self, store: Store) -> None:
        first, second, *_ = _CHUNKS
        other = Description(first, "bob", "Stays.")
        require_readings(store).put(
            [sample_reading(first)], [Description(first, "ada", "Old."), other]
        )
        new = Description(first, "ada", "New.")
        require_readings(store).put([], [Description(first, "ada", "Between."), new])
        assert require_readings(store).descriptions([entity_id("ada"), entity_id("bob")]) == {
            entity_id("ada"): [new],
            entity_id("bob"): [other],
        }
        require_readings(store).put(
            [sample_reading(second), sample_reading(second, ReadingStatus.PARTIAL)]
        )
        assert require_readings(store).counts() == {ReadingStatus.OK: 1, ReadingStatus.PARTIAL: 1}

    def test_summaries_are_replaced_by_entity(self, store: Store) -> None:
        summary = sample_summary("ada", text=_HOSTILE_TEXT)
        require_readings(store).put_summaries([sample_summary("ada"), sample_summary("bob")])
        require_readings(store).put_summaries([summary])
        assert require_readings(store).summaries(
            [entity_id("bob"), entity_id("ada"), *_NO_IDS]
        ) == {
            entity_id("ada"): summary,
            entity_id("bob"): sample_summary("bob"),
        }

    def test_removed_chunks_leave_nothing_that_only_they_gave(self, store: Store) -> None:
        first, second, third, _ = _CHUNKS
        kept = Description(second, "ada", "Stays.")
        require_readings(store).put(
            [sample_reading(first), sample_reading(second), sample_reading(third)],
            [Description(first, "ada", "Goes."), Description(first, "bob", "Goes."), kept],
        )
        require_readings(store).put_summaries([sample_summary("ada"), sample_summary("bob")])
        require_readings(store).remove_chunks([first, third, *_NO_IDS])
        assert list(require_readings(store).readings(_CHUNKS)) == [second]
        assert require_readings(store).descriptions_in(_CHUNKS) == {second: [kept]}
        assert require_readings(store).described() == [entity_id("ada")]
        entities = [entity_id("ada"), entity_id("bob")]
        assert list(require_readings(store).summaries(entities)) == entities[:1]
        require_readings(store).remove_chunks([second])
        assert require_readings(store).summaries(entities) == {}
        assert dict(require_readings(store).counts()) == {}

    def test_a_removed_document_takes_its_readings_along(
        self, store: Store, other_store: Store
    ) -> None:
        for held, uris in ((store, "abc"), (other_store, "ca")):
            for uri in uris:
                _add_read_document(held, uri)
        require_readings(store).put_summaries([sample_summary("bob"), sample_summary("ada")])
        require_readings(other_store).put_summaries([sample_summary("ada")])
        stored = store.documents.chunk_ids_of(store.documents.document_ids())
        chunks = [chunk for ids in stored.values() for chunk in ids]
        store.remove_documents([content_id("document", "b")])
        options = {"chunks": chunks, "forms": ["ada", "bob"]}
        shown = reading_snapshot(store, **options)
        assert shown == reading_snapshot(other_store, **options)
        assert require_readings(store).described() == [entity_id("ada")]

    def test_a_transaction_that_fails_leaves_readings_as_they_were(self, store: Store) -> None:
        document = _add_read_document(store, "a")
        require_readings(store).put_summaries([sample_summary("ada")])
        options = {
            "chunks": store.documents.chunk_ids_of([document])[document],
            "forms": ["ada", "bob"],
        }
        before = reading_snapshot(store, **options)
        with pytest.raises(ZeroDivisionError):  # noqa: PT012, SIM117  the failure is the point
            with store.transaction():
                require_readings(store).put([], [Description(options["chunks"][0], "bob", "New.")])
                assert reading_snapshot(store, **options) != before
                store.remove_documents([document])
                raise ZeroDivisionError
        assert reading_snapshot(store, **options) == before


def _add_read_document(store: Store, uri: str) -> str:
    """Index a document with readings; all of them describe Ada, and only "b" describes Bob."""
    document = add_document(store, uri, ["Ada", "Bob"])
    ada, bob = store.documents.chunk_ids_of([document])[document]
    descriptions = [Description(ada, "ada", f"Ada of {uri}.")]
    if uri == "b":
        descriptions.append(Description(bob, "bob", "Bob."))
    readings = [sample_reading(ada), sample_reading(bob, ReadingStatus.QUARANTINED)]
    require_readings(store).put(readings, descriptions)
    return document


_HOSTILE_QUESTION = "谁? | \x00\n half a pair: \ud800 " + "x" * 3_000


class QuestionStoreContract:
    """Tests of `QuestionStore`. Subclass it and define the fixture ``store``."""

    def test_questions_come_back_as_they_were_put(self, store: Store) -> None:
        one, two, three = (content_id(n) for n in range(3))
        require_questions(store).put(
            {one: ["Who?", "When?", "Who?"], two: [_HOSTILE_QUESTION], three: []}
        )
        assert require_questions(store).questions([two, _ABSENT, "no id", one, three]) == {
            two: (_HOSTILE_QUESTION,),
            one: ("Who?", "When?"),
        }
        assert require_questions(store).chunk_ids() == sorted([one, two])

    def test_putting_replaces_the_questions_of_a_chunk(self, store: Store) -> None:
        one, two = content_id(1), content_id(2)
        require_questions(store).put({one: ["Who?", "When?"], two: ["Who?"]})
        require_questions(store).put({one: ["Where?"]})
        assert require_questions(store).questions([one, two]) == {one: ("Where?",), two: ("Who?",)}
        require_questions(store).put({one: []})
        assert require_questions(store).chunk_ids() == [two]

    def test_questions_go_with_their_document(self, store: Store) -> None:
        gone, kept = (add_document(store, uri, ["Ada"]) for uri in ("a.md", "b.md"))
        (first,), (second,) = store.documents.chunk_ids_of([gone, kept]).values()
        require_questions(store).put({first: ["Who?"], second: ["Who?"]})
        store.remove_documents([gone])
        assert require_questions(store).chunk_ids() == [second]
        require_questions(store).remove_chunks([second, _ABSENT, "no id"])
        assert require_questions(store).questions([first, second]) == {}

    def test_a_broken_transaction_leaves_what_was(self, store: Store) -> None:
        one = content_id(1)
        require_questions(store).put({one: ["Who?"]})
        with pytest.raises(ZeroDivisionError):
            _put_and_fail(store, one)
        assert require_questions(store).questions([one]) == {one: ("Who?",)}


def _put_and_fail(store: Store, chunk_id: str) -> None:
    with store.transaction():
        require_questions(store).put({chunk_id: ["When?"]})
        assert require_questions(store).questions([chunk_id]) == {chunk_id: ("When?",)}
        raise ZeroDivisionError
