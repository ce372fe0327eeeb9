"""Contract suites for the stores of what is made of documents.

They test `ResolutionStore`, `CorrectionStore`, `HomonymStore`, `CommunityStore`, `ReadingStore` and
`QuestionStore`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any

import pytest

from knotwork._extensions.testing.store_contract import (
    add_document,
    sample_mention,
    sample_relation,
    snapshot,
    undone,
)
from knotwork._stores.base import (
    Store,
    require_communities,
    require_corrections,
    require_homonyms,
    require_questions,
    require_readings,
    require_resolutions,
)
from knotwork._stores.resolutions import read_senses
from knotwork.records import (
    PERSON_SOURCE,
    RULES_SOURCE,
    ChunkReading,
    Community,
    CommunityReport,
    Correction,
    Description,
    Document,
    EntitySummary,
    Finding,
    Homonym,
    Member,
    ReadingStatus,
    SameAs,
    Span,
    Support,
    Verdict,
    content_id,
    entity_id,
)

_HOSTILE_REASON = "an acronym — 缩写 \x00\n| half a pair: \ud800"


def sample_decision(
    one: str,
    other: str,
    verdict: Verdict = Verdict.SAME,
    *,
    source: str = RULES_SOURCE,
    reason: str = "why",
    score: float = 0.75,
) -> SameAs:
    """Return a decision about two entities, given by their normal forms in any order."""
    first, second = sorted((entity_id(one), entity_id(other)))
    return SameAs(first, second, verdict, source, reason, score, f"{one}/{other}")


def resolution_snapshot(store: Store, forms: Collection[str]) -> object:
    """Return all decisions and groups of these entities, for comparison."""
    held = require_resolutions(store)
    ends = held.of_entities([entity_id(form) for form in forms])
    return [held.decisions(), ends, held.groups(), held.touched()]


class ResolutionStoreContract:
    """Tests of `ResolutionStore`. Subclass it and define the fixture ``store``."""

    def test_decisions_come_back_as_they_were_put(self, store: Store) -> None:
        _mention(store, ada=1, lovelace=1, bob=1, cy=1)
        decisions = [
            sample_decision("ada", "lovelace", source="model", reason=_HOSTILE_REASON, score=1 / 3),
            sample_decision("ada", "bob", Verdict.DIFFERENT, source=PERSON_SOURCE, reason=""),
            sample_decision("lovelace", "cy", score=1.0),
        ]
        require_resolutions(store).put(iter(decisions))
        ordered = sorted(decisions, key=lambda decision: decision.pair)
        assert require_resolutions(store).decisions() == ordered
        ids = {form: entity_id(form) for form in ("ada", "lovelace", "bob", "cy")}
        assert require_resolutions(store).of_entities(
            [ids["ada"], ids["cy"], ids["bob"], *_NO_IDS]
        ) == {
            ids["ada"]: [d for d in ordered if ids["ada"] in d.pair],
            ids["bob"]: [decisions[1]],
            ids["cy"]: [decisions[2]],
        }

    def test_an_empty_store_has_decided_nothing(self, store: Store) -> None:
        _mention(store, ada=1)
        require_resolutions(store).put([])
        require_resolutions(store).remove([(_NO_IDS[0], entity_id("ada")), ("", "no id")])
        require_resolutions(store).settle(_NO_IDS)
        assert require_resolutions(store).of_entities([entity_id("ada"), *_NO_IDS]) == {}
        assert resolution_snapshot(store, ["ada"]) == [[], {}, {}, []]

    def test_a_pair_has_one_decision_until_it_is_removed(self, store: Store) -> None:
        _mention(store, ada=1, bob=1, cy=1)
        old, kept = sample_decision("ada", "bob"), sample_decision("bob", "cy")
        new = replace(old, verdict=Verdict.DIFFERENT, source="model", score=0.25)
        require_resolutions(store).put([old, kept])
        require_resolutions(store).put([replace(old, score=1.0), new])
        assert require_resolutions(store).decisions() == sorted([new, kept], key=lambda d: d.pair)
        reverse = (old.second, old.first)
        require_resolutions(store).remove([reverse, (_NO_IDS[0], old.first), (old.first, "no id")])
        assert len(require_resolutions(store).decisions()) == 2
        require_resolutions(store).remove([old.pair])
        assert require_resolutions(store).decisions() == [kept]

    def test_a_group_has_its_most_mentioned_entity_for_all(self, store: Store) -> None:
        _mention(store, ada=1, lovelace=3, countess=2, bob=2, robert=2, cy=1)
        require_resolutions(store).put(
            [
                sample_decision("ada", "lovelace"),
                sample_decision("ada", "countess"),
                sample_decision("bob", "robert"),
                sample_decision("cy", "bob", Verdict.DIFFERENT),
            ]
        )
        lovelace, least = entity_id("lovelace"), min(entity_id("bob"), entity_id("robert"))
        first = dict.fromkeys(map(entity_id, ("ada", "lovelace", "countess")), lovelace)
        second = {entity_id("bob"): least, entity_id("robert"): least}
        assert require_resolutions(store).groups() == first | second
        _mention(store, robert=3)
        with store.transaction():
            _mention(store, ada=4)
            moved = dict.fromkeys(first, entity_id("ada"))
            both = moved | dict.fromkeys(second, entity_id("robert"))
            assert require_resolutions(store).groups() == both
        assert require_resolutions(store).groups() == both

    def test_what_is_held_apart_is_not_joined(self, store: Store) -> None:
        _mention(store, ada=2, lovelace=1, countess=1)
        surer = sample_decision("ada", "lovelace", score=0.9)
        other = sample_decision("lovelace", "countess", score=0.8)
        apart = sample_decision("ada", "countess", Verdict.DIFFERENT)
        require_resolutions(store).put([surer, other, apart])
        ada = entity_id("ada")
        assert require_resolutions(store).groups() == {ada: ada, entity_id("lovelace"): ada}
        require_resolutions(store).remove([apart.pair])
        assert len(require_resolutions(store).groups()) == 3
        different = [replace(one, verdict=Verdict.DIFFERENT) for one in (surer, other)]
        require_resolutions(store).put(different)
        assert require_resolutions(store).groups() == {}
        require_resolutions(store).put([surer])
        assert require_resolutions(store).groups() == {ada: ada, entity_id("lovelace"): ada}

    def test_a_decision_waits_for_its_entities(self, store: Store) -> None:
        names = ["Ada", "Lovelace"]
        document = add_document(store, "a", names)
        add_document(store, "b", ["Ada"])
        require_resolutions(store).put([sample_decision("ada", "lovelace")])
        before = resolution_snapshot(store, ["ada", "lovelace"])
        store.remove_documents([document])
        touched = sorted(map(entity_id, ("ada", "lovelace")))
        assert resolution_snapshot(store, ["ada", "lovelace"]) == [[], {}, {}, touched]
        add_document(store, "a", names)
        require_resolutions(store).settle(touched)
        assert resolution_snapshot(store, ["ada", "lovelace"]) == before

    def test_settling_forgets_decisions_on_what_is_gone_but_those_of_persons(
        self, store: Store
    ) -> None:
        document = add_document(store, "a", ["Ada", "Bob"])
        _mention(store, cy=1, dee=1)
        lasting = [
            sample_decision("ada", "bob", source=PERSON_SOURCE),
            sample_decision("ada", "cy", Verdict.DIFFERENT, source=PERSON_SOURCE),
            sample_decision("cy", "dee"),
        ]
        passing = [sample_decision("ada", "dee", source="model"), sample_decision("cy", "bob")]
        require_resolutions(store).put([*lasting, *passing])
        store.remove_documents([document])
        assert require_resolutions(store).decisions() == [lasting[2]]
        require_resolutions(store).touch([entity_id("eve")])
        assert require_resolutions(store).touched() == sorted(map(entity_id, ("ada", "bob", "eve")))
        require_resolutions(store).settle([entity_id("ada"), entity_id("cy"), *_NO_IDS])
        assert require_resolutions(store).touched() == sorted(map(entity_id, ("bob", "eve")))
        _mention(store, ada=1, bob=1)
        expected = sorted([*lasting, passing[1]], key=lambda decision: decision.pair)
        assert (
            require_resolutions(store).decisions() == expected
        )  # Bob was not settled while absent

    def test_a_transaction_that_fails_leaves_decisions_as_they_were(self, store: Store) -> None:
        document = add_document(store, "a", ["Ada", "Bob", "Cy"])
        decision = sample_decision("ada", "bob")
        require_resolutions(store).put([decision])
        require_resolutions(store).touch([entity_id("dee")])
        forms = ["ada", "bob", "cy"]
        before = resolution_snapshot(store, forms)
        with undone(store):
            require_resolutions(store).put([sample_decision("cy", "bob")])
            assert len(require_resolutions(store).groups()) == 3
            store.remove_documents([document])
            require_resolutions(store).settle([*map(entity_id, forms), entity_id("dee")])
            require_resolutions(store).remove([decision.pair])
        assert resolution_snapshot(store, forms) == before


def _mention(store: Store, **times: int) -> None:
    """Add a number of chunks that mention each entity."""
    for form, count in times.items():
        chunks = [content_id("mentioning", form, number) for number in range(count)]
        store.graph.upsert(mentions=[sample_mention(chunk, form) for chunk in chunks])


_HOSTILE_HOMONYM_REASON = "types differ — 类型 \x00\n| half a pair: \ud800"


def _homonym(form: str, *senses: Iterable[str], reason: str = "why") -> Homonym:
    return Homonym(entity_id(form), tuple(tuple(sorted(chunks)) for chunks in senses), reason)


def _mentioning_chunks(store: Store, *uris: str) -> list[str]:
    """Add a document with one chunk that mentions Ada and Bob for each uri; return the chunks."""
    documents = [add_document(store, uri, ["Ada"]) for uri in uris]
    chunks = [ids[0] for ids in store.documents.chunk_ids_of(documents).values()]
    store.graph.upsert(mentions=[sample_mention(chunk, "Bob") for chunk in chunks])
    return chunks


def sample_correction(
    kind: str,
    entity: str,
    other: str = "",
    **said: Any,  # noqa: ANN401  fields
) -> Correction:
    """Return a correction of entities, given by their normal forms."""
    identifier = content_id(kind, entity, other, *map(str, said.values()))
    fields: dict[str, Any] = {**said, "made": "2026-03-01T12:00:00Z", "forms": (entity,)}
    others = (other,) if other else ()
    return Correction(identifier, kind, entity, other, other_forms=others, **fields)


class CorrectionStoreContract:
    """Tests of `CorrectionStore`. Subclass it and define the fixture ``store``."""

    CORRECTIONS = (
        sample_correction("rename", "ada", name="伯爵夫人", was="Ada", author="Ann"),
        sample_correction("retype", "bob", type="ROBOT"),
        sample_correction("hide", "hub"),
        sample_correction("remove_relation", "ada", "bob", relation="knows"),
        sample_correction("pin", "bob"),
    )

    @pytest.fixture
    def graph(self, store: Store) -> Store:
        """A store with Ada, Bob and a hub that both are linked to."""
        add_document(store, "a.md", ["Ada", "Bob"], link=True)
        add_document(store, "b.md", ["Bob", "Ada"], link=True)
        _add_relation(store, "a.md")
        return store

    @pytest.mark.parametrize("correction", CORRECTIONS, ids=lambda made: made.kind)
    def test_a_removed_correction_leaves_the_graph_as_it_was(
        self, graph: Store, correction: Correction
    ) -> None:
        before, held = snapshot(graph), require_corrections(graph)
        held.put(correction, kept="to keep 'é'")
        assert (snapshot(graph) == before) is (correction.kind == "pin")
        assert held.corrections() == [correction]
        assert held.kept(correction.id) == "to keep 'é'"
        held.remove([correction.id, content_id("absent"), "no id"])
        assert snapshot(graph) == before
        assert (held.corrections(), held.kept(correction.id)) == ([], "")

    def test_a_hidden_entity_is_nowhere(self, graph: Store) -> None:
        hub, held = entity_id("hub"), require_corrections(graph)
        held.put(sample_correction("hide", "hub"))
        ids = graph.documents.chunk_ids_of(graph.documents.document_ids())
        chunks = [chunk for found in ids.values() for chunk in found]
        mentioned = [m.entity_id for found in graph.graph.mentions(chunks).values() for m in found]
        assert hub not in mentioned
        assert graph.graph.entities([hub]) == graph.graph.lookup(["hub"]) == {}
        assert graph.graph.find(name="Hub") == []
        assert all(hub not in (edge.source, edge.target) for edge in graph.graph.edges())
        assert hub not in [node.id for node in graph.graph.explore([entity_id("ada")]).nodes]
        assert graph.graph.schema().relations == {"knows": 1}
        assert held.set_aside().entities == {hub}
        assert {relation for _, relation, _ in held.set_aside().relations} == {"of"}

    def test_documents_that_come_later_follow_the_corrections(self, graph: Store) -> None:
        held = require_corrections(graph)
        for correction in self.CORRECTIONS:
            held.put(correction)
        add_document(graph, "c.md", ["Hub", "Ada", "Bob"], link=True)
        _add_relation(graph, "c.md")
        found = graph.graph.lookup(["ada", "bob", "hub", "伯爵夫人"])
        assert found.keys() == {"ada", "bob", "伯爵夫人"}
        assert found["ada"] == found["伯爵夫人"]
        assert (found["ada"].name, found["bob"].type) == ("伯爵夫人", "ROBOT")
        assert found["ada"].chunk_count == 4
        assert list(graph.graph.edges(types=["RELATES"])) == []
        corrected = snapshot(graph)
        graph.remove_documents([_document_id("c.md")])
        add_document(graph, "c.md", ["Hub", "Ada", "Bob"], link=True)
        _add_relation(graph, "c.md")
        assert snapshot(graph) == corrected
        held.remove([correction.id for correction in self.CORRECTIONS])
        uncorrected = graph.graph.lookup(["ada", "bob", "hub", "伯爵夫人"])
        assert [uncorrected[form].name for form in ("ada", "bob", "hub")] == ["Ada", "Bob", "Hub"]
        assert uncorrected["hub"].chunk_count == 3
        assert len(list(graph.graph.edges(types=["RELATES"]))) == 4

    def test_documents_that_are_removed_take_what_was_set_aside(self, graph: Store) -> None:
        held = require_corrections(graph)
        for correction in self.CORRECTIONS:
            held.put(correction)
        graph.remove_documents(graph.documents.document_ids())
        assert held.set_aside() == (frozenset(), frozenset())
        held.remove([correction.id for correction in self.CORRECTIONS])
        assert list(graph.graph.edges()) == []
        assert graph.graph.find() == []

    def test_the_last_correction_of_a_thing_is_in_effect(self, graph: Store) -> None:
        held = require_corrections(graph)
        first, second = (sample_correction("rename", "ada", name=name) for name in ("X", "Y"))
        for correction in (first, second):
            held.put(correction)
        assert graph.graph.lookup(["ada"])["ada"].name == "Y"
        held.put(first)  # now it is the newest
        assert held.corrections() == [second, first]
        assert graph.graph.lookup(["ada"])["ada"].name == "X"
        held.remove([first.id])
        assert graph.graph.lookup(["ada"])["ada"].name == "Y"

    def test_what_two_corrections_set_aside_returns_with_the_second(self, graph: Store) -> None:
        before, held = snapshot(graph), require_corrections(graph)
        hidden = [sample_correction("hide", form) for form in ("hub", "ada")]
        removed = sample_correction("remove_relation", "bob", "hub", relation="of")
        for correction in (*hidden, removed):
            held.put(correction)
        held.remove([hidden[0].id])
        assert list(graph.graph.edges(types=["RELATES"])) == []
        held.remove([hidden[1].id])
        assert len(list(graph.graph.edges(types=["RELATES"]))) == 2
        held.remove([removed.id])
        assert snapshot(graph) == before

    def test_documents_may_mean_another_entity(self, graph: Store) -> None:
        before, held = snapshot(graph), require_corrections(graph)
        made = sample_correction("divide", "ada", "ada ship", name="Ada, ship", documents=("b.md",))
        held.put(made)
        found = graph.graph.lookup(["ada", "ada ship"])
        assert found["ada ship"].name == "Ada, ship"
        assert [found[form].chunk_count for form in ("ada", "ada ship")] == [1, 1]
        removed = sample_correction("remove_relation", "bob", "hub", relation="of")
        hidden = sample_correction("hide", "ada ship")
        for further in (hidden, removed):
            held.put(further)
        graph.remove_documents([_document_id("b.md")])
        add_document(graph, "b.md", ["Bob", "Ada"], link=True)
        assert set(graph.graph.lookup(["ada", "ada ship"])) == {"ada"}
        held.remove([hidden.id, removed.id])
        assert graph.graph.lookup(["ada ship"])["ada ship"] == found["ada ship"]
        held.remove([made.id])
        assert snapshot(graph) == before

    def test_a_correction_joins_the_transaction(self, graph: Store) -> None:
        before = snapshot(graph)
        with undone(graph):
            for correction in self.CORRECTIONS:
                require_corrections(graph).put(correction)
        assert snapshot(graph) == before
        assert require_corrections(graph).corrections() == []

    def test_what_is_unknown_can_be_corrected(self, store: Store) -> None:
        held = require_corrections(store)
        for correction in self.CORRECTIONS:
            held.put(correction)
        assert store.graph.find() == []
        add_document(store, "a.md", ["Ada", "Bob"], link=True)
        assert {node.name for node in store.graph.find(label="Entity")} == {
            self.CORRECTIONS[0].name,
            "Bob",
        }


def _add_relation(store: Store, uri: str) -> None:
    chunk = store.documents.chunk_ids_of([_document_id(uri)])[_document_id(uri)][0]
    mentions = [sample_mention(chunk, name) for name in ("Ada", "Bob")]
    relation = sample_relation(chunk, "ada", "knows", "bob")
    store.graph.upsert(mentions=mentions, relations=[relation])


def _document_id(uri: str) -> str:
    return Document(uri, "").id


class HomonymStoreContract:
    """Tests of `HomonymStore`. Subclass it and define the fixture ``store``."""

    def test_homonyms_come_back_as_they_were_put(self, store: Store) -> None:
        a, b, c = _mentioning_chunks(store, "a", "b", "c")
        ada, bob = (
            _homonym("ada", [a, b], [c], reason=_HOSTILE_HOMONYM_REASON),
            _homonym("bob", [a], [b]),
        )
        assert require_homonyms(store).read() == {}
        require_homonyms(store).replace(iter([ada, bob]))
        both = {entity_id("ada"): ada, entity_id("bob"): bob}
        assert list(require_homonyms(store).read().items()) == sorted(both.items())
        wanted = [entity_id("bob"), content_id("absent"), "", "no id"]
        assert require_homonyms(store).read(wanted) == {entity_id("bob"): bob}
        assert require_homonyms(store).read([]) == {}
        assert read_senses(store, wanted) == {entity_id("bob"): {a: 0, b: 1}}

    def test_what_is_replaced_goes_and_the_rest_stays(self, store: Store) -> None:
        a, b, c = _mentioning_chunks(store, "a", "b", "c")
        ada, bob = _homonym("ada", [a], [b]), _homonym("bob", [a], [b])
        require_homonyms(store).replace([ada, bob])
        require_homonyms(store).replace([], among=[entity_id("ada"), "no id"])
        assert require_homonyms(store).read() == {entity_id("bob"): bob}
        other = _homonym("bob", [a, c], [b])
        require_homonyms(store).replace([other], among=[])
        assert require_homonyms(store).read() == {entity_id("bob"): other}
        require_homonyms(store).replace([ada])
        assert require_homonyms(store).read() == {entity_id("ada"): ada}

    def test_a_sense_has_the_chunks_that_mention_the_name_today(self, store: Store) -> None:
        a, b, c = _mentioning_chunks(store, "a", "b", "c")
        document = store.documents.chunks([b])[b].document_id
        ada = _homonym("ada", [a, c], [b])
        require_homonyms(store).replace([ada, _homonym("bob", [a, b], [c])])
        store.remove_documents([document])
        assert require_homonyms(store).read() == {entity_id("bob"): _homonym("bob", [a], [c])}
        assert add_document(store, "b", ["Ada"]) == document
        assert require_homonyms(store).read([entity_id("ada")]) == {entity_id("ada"): ada}

    def test_a_transaction_that_fails_leaves_homonyms_as_they_were(self, store: Store) -> None:
        a, b = _mentioning_chunks(store, "a", "b")
        ada = _homonym("ada", [a], [b])
        require_homonyms(store).replace([ada])
        with undone(store):
            require_homonyms(store).replace([_homonym("bob", [a], [b])])
            assert list(require_homonyms(store).read()) == [entity_id("bob")]
        assert require_homonyms(store).read() == {entity_id("ada"): ada}


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
        with undone(store):
            store.remove_documents([gone])
            require_communities(store).replace([])
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
        with undone(store):
            require_readings(store).put([], [Description(options["chunks"][0], "bob", "New.")])
            assert reading_snapshot(store, **options) != before
            store.remove_documents([document])
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
        with undone(store):
            require_questions(store).put({one: ["When?"]})
            assert require_questions(store).questions([one]) == {one: ("When?",)}
        assert require_questions(store).questions([one]) == {one: ("Who?",)}
