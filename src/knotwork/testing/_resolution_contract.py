"""Contract suites for stores of merge decisions (`StoresResolutions`) and homonyms
(`StoresHomonyms`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Protocol

import pytest

from knotwork._stores.base import Store
from knotwork._stores.resolutions import StoresHomonyms, StoresResolutions, read_senses
from knotwork.records import (
    PERSON_SOURCE,
    RULES_SOURCE,
    Homonym,
    SameAs,
    Verdict,
    content_id,
    entity_id,
)
from knotwork.testing._store_contract import add_document, sample_mention

_NO_IDS = [content_id("absent"), "", "no id", "ffffffffffffffff"]
_HOSTILE_REASON = "an acronym — 缩写 \x00\n| half a pair: \ud800"


class ResolutionHoldingStore(Store, StoresResolutions, Protocol):
    """The type of the fixture ``store``."""


def sample_decision(
    one: str,
    other: str,
    verdict: Verdict = Verdict.SAME,
    *,
    source: str = RULES_SOURCE,
    reason: str = "why",
    score: float = 0.75,
    undone: bool = False,
) -> SameAs:
    """Return a decision about two entities, given by their normal forms in any order."""
    first, second = sorted((entity_id(one), entity_id(other)))
    return SameAs(first, second, verdict, source, reason, score, f"{one}/{other}", undone)


def resolution_snapshot(store: ResolutionHoldingStore, forms: Collection[str]) -> object:
    """Return all decisions and groups of these entities, for comparison."""
    held = store.resolutions
    ends = held.of_entities([entity_id(form) for form in forms])
    return [held.decisions(), ends, held.groups(), held.touched()]


class ResolutionStoreContract:
    """Tests of `StoresResolutions`. Subclass it and define the fixture ``store``."""

    def test_decisions_come_back_as_they_were_put(self, store: ResolutionHoldingStore) -> None:
        assert isinstance(store, StoresResolutions)
        _mention(store, ada=1, lovelace=1, bob=1, cy=1)
        decisions = [
            sample_decision("ada", "lovelace", source="model", reason=_HOSTILE_REASON, score=1 / 3),
            sample_decision("ada", "bob", Verdict.DIFFERENT, source=PERSON_SOURCE, reason=""),
            sample_decision("lovelace", "cy", undone=True, score=1.0),
        ]
        store.resolutions.put(iter(decisions))
        ordered = sorted(decisions, key=lambda decision: decision.pair)
        assert store.resolutions.decisions() == ordered
        ids = {form: entity_id(form) for form in ("ada", "lovelace", "bob", "cy")}
        assert store.resolutions.of_entities([ids["ada"], ids["cy"], ids["bob"], *_NO_IDS]) == {
            ids["ada"]: [d for d in ordered if ids["ada"] in d.pair],
            ids["bob"]: [decisions[1]],
            ids["cy"]: [decisions[2]],
        }

    def test_an_empty_store_has_decided_nothing(self, store: ResolutionHoldingStore) -> None:
        _mention(store, ada=1)
        store.resolutions.put([])
        store.resolutions.remove([(_NO_IDS[0], entity_id("ada")), ("", "no id")])
        store.resolutions.settle(_NO_IDS)
        assert store.resolutions.of_entities([entity_id("ada"), *_NO_IDS]) == {}
        assert resolution_snapshot(store, ["ada"]) == [[], {}, {}, []]

    def test_a_pair_has_one_decision_until_it_is_removed(
        self, store: ResolutionHoldingStore
    ) -> None:
        _mention(store, ada=1, bob=1, cy=1)
        old, kept = sample_decision("ada", "bob"), sample_decision("bob", "cy")
        new = replace(old, verdict=Verdict.DIFFERENT, source="model", score=0.25)
        store.resolutions.put([old, kept])
        store.resolutions.put([replace(old, undone=True), new])
        assert store.resolutions.decisions() == sorted([new, kept], key=lambda d: d.pair)
        reverse = (old.second, old.first)
        store.resolutions.remove([reverse, (_NO_IDS[0], old.first), (old.first, "no id")])
        assert len(store.resolutions.decisions()) == 2
        store.resolutions.remove([old.pair])
        assert store.resolutions.decisions() == [kept]

    def test_a_group_has_its_most_mentioned_entity_for_all(
        self, store: ResolutionHoldingStore
    ) -> None:
        _mention(store, ada=1, lovelace=3, countess=2, bob=2, robert=2, cy=1)
        store.resolutions.put(
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
        assert store.resolutions.groups() == first | second
        _mention(store, robert=3)
        with store.transaction():
            _mention(store, ada=4)
            moved = dict.fromkeys(first, entity_id("ada"))
            both = moved | dict.fromkeys(second, entity_id("robert"))
            assert store.resolutions.groups() == both
        assert store.resolutions.groups() == both

    def test_what_is_held_apart_is_not_joined(self, store: ResolutionHoldingStore) -> None:
        _mention(store, ada=2, lovelace=1, countess=1)
        surer = sample_decision("ada", "lovelace", score=0.9)
        other = sample_decision("lovelace", "countess", score=0.8)
        apart = sample_decision("ada", "countess", undone=True)
        store.resolutions.put([surer, other, apart])
        ada = entity_id("ada")
        assert store.resolutions.groups() == {ada: ada, entity_id("lovelace"): ada}
        store.resolutions.remove([apart.pair])
        assert len(store.resolutions.groups()) == 3
        store.resolutions.put([replace(surer, undone=True), replace(other, undone=True)])
        assert store.resolutions.groups() == {}
        store.resolutions.put([surer])
        assert store.resolutions.groups() == {ada: ada, entity_id("lovelace"): ada}

    def test_a_decision_waits_for_its_entities(self, store: ResolutionHoldingStore) -> None:
        names = ["Ada", "Lovelace"]
        document = add_document(store, "a", names)
        add_document(store, "b", ["Ada"])
        store.resolutions.put([sample_decision("ada", "lovelace")])
        before = resolution_snapshot(store, ["ada", "lovelace"])
        store.remove_documents([document])
        touched = sorted(map(entity_id, ("ada", "lovelace")))
        assert resolution_snapshot(store, ["ada", "lovelace"]) == [[], {}, {}, touched]
        add_document(store, "a", names)
        store.resolutions.settle(touched)
        assert resolution_snapshot(store, ["ada", "lovelace"]) == before

    def test_settling_forgets_decisions_on_what_is_gone_but_those_of_persons(
        self, store: ResolutionHoldingStore
    ) -> None:
        document = add_document(store, "a", ["Ada", "Bob"])
        _mention(store, cy=1, dee=1)
        lasting = [
            sample_decision("ada", "bob", undone=True),
            sample_decision("ada", "cy", Verdict.DIFFERENT, source=PERSON_SOURCE),
            sample_decision("cy", "dee"),
        ]
        passing = [sample_decision("ada", "dee", source="model"), sample_decision("cy", "bob")]
        store.resolutions.put([*lasting, *passing])
        store.remove_documents([document])
        assert store.resolutions.decisions() == [lasting[2]]
        store.resolutions.touch([entity_id("eve")])
        assert store.resolutions.touched() == sorted(map(entity_id, ("ada", "bob", "eve")))
        store.resolutions.settle([entity_id("ada"), entity_id("cy"), *_NO_IDS])
        assert store.resolutions.touched() == sorted(map(entity_id, ("bob", "eve")))
        _mention(store, ada=1, bob=1)
        expected = sorted([*lasting, passing[1]], key=lambda decision: decision.pair)
        assert store.resolutions.decisions() == expected  # Bob was not settled while absent

    def test_a_transaction_that_fails_leaves_decisions_as_they_were(
        self, store: ResolutionHoldingStore
    ) -> None:
        document = add_document(store, "a", ["Ada", "Bob", "Cy"])
        decision = sample_decision("ada", "bob")
        store.resolutions.put([decision])
        store.resolutions.touch([entity_id("dee")])
        forms = ["ada", "bob", "cy"]
        before = resolution_snapshot(store, forms)
        with pytest.raises(ZeroDivisionError):  # noqa: PT012, SIM117  the failure is the point
            with store.transaction():
                store.resolutions.put([sample_decision("cy", "bob")])
                assert len(store.resolutions.groups()) == 3
                store.remove_documents([document])
                store.resolutions.settle([*map(entity_id, forms), entity_id("dee")])
                store.resolutions.remove([decision.pair])
                raise ZeroDivisionError
        assert resolution_snapshot(store, forms) == before


def _mention(store: Store, **times: int) -> None:
    """Add a number of chunks that mention each entity."""
    for form, count in times.items():
        chunks = [content_id("mentioning", form, number) for number in range(count)]
        store.graph.upsert(mentions=[sample_mention(chunk, form) for chunk in chunks])


_HOSTILE_HOMONYM_REASON = "types differ — 类型 \x00\n| half a pair: \ud800"


class HomonymHoldingStore(Store, StoresHomonyms, Protocol):
    """The type of the fixture ``store``."""


def _homonym(form: str, *senses: Iterable[str], reason: str = "why") -> Homonym:
    return Homonym(entity_id(form), tuple(tuple(sorted(chunks)) for chunks in senses), reason)


def _chunks(store: Store, *uris: str) -> list[str]:
    """Add a document with one chunk that mentions Ada and Bob for each uri; return the chunks."""
    documents = [add_document(store, uri, ["Ada"]) for uri in uris]
    chunks = [store.documents.chunk_ids(document)[0] for document in documents]
    store.graph.upsert(mentions=[sample_mention(chunk, "Bob") for chunk in chunks])
    return chunks


class HomonymStoreContract:
    """Tests of `StoresHomonyms`. Subclass it and define the fixture ``store``."""

    def test_homonyms_come_back_as_they_were_put(self, store: HomonymHoldingStore) -> None:
        a, b, c = _chunks(store, "a", "b", "c")
        ada, bob = (
            _homonym("ada", [a, b], [c], reason=_HOSTILE_HOMONYM_REASON),
            _homonym("bob", [a], [b]),
        )
        assert store.homonyms.read() == {}
        store.homonyms.replace(iter([ada, bob]))
        both = {entity_id("ada"): ada, entity_id("bob"): bob}
        assert list(store.homonyms.read().items()) == sorted(both.items())
        wanted = [entity_id("bob"), content_id("absent"), "", "no id"]
        assert store.homonyms.read(wanted) == {entity_id("bob"): bob}
        assert store.homonyms.read([]) == {}
        assert read_senses(store, wanted) == {entity_id("bob"): {a: 0, b: 1}}

    def test_what_is_replaced_goes_and_the_rest_stays(self, store: HomonymHoldingStore) -> None:
        a, b, c = _chunks(store, "a", "b", "c")
        ada, bob = _homonym("ada", [a], [b]), _homonym("bob", [a], [b])
        store.homonyms.replace([ada, bob])
        store.homonyms.replace([], among=[entity_id("ada"), "no id"])
        assert store.homonyms.read() == {entity_id("bob"): bob}
        other = _homonym("bob", [a, c], [b])
        store.homonyms.replace([other], among=[])
        assert store.homonyms.read() == {entity_id("bob"): other}
        store.homonyms.replace([ada])
        assert store.homonyms.read() == {entity_id("ada"): ada}

    def test_a_sense_has_the_chunks_that_mention_the_name_today(
        self, store: HomonymHoldingStore
    ) -> None:
        a, b, c = _chunks(store, "a", "b", "c")
        document = store.documents.chunks([b])[b].document_id
        ada = _homonym("ada", [a, c], [b])
        store.homonyms.replace([ada, _homonym("bob", [a, b], [c])])
        store.remove_documents([document])
        assert store.homonyms.read() == {entity_id("bob"): _homonym("bob", [a], [c])}
        assert add_document(store, "b", ["Ada"]) == document
        assert store.homonyms.read([entity_id("ada")]) == {entity_id("ada"): ada}

    def test_a_transaction_that_fails_leaves_homonyms_as_they_were(
        self, store: HomonymHoldingStore
    ) -> None:
        a, b = _chunks(store, "a", "b")
        ada = _homonym("ada", [a], [b])
        store.homonyms.replace([ada])
        with pytest.raises(ZeroDivisionError):  # noqa: PT012, SIM117  the failure is the point
            with store.transaction():
                store.homonyms.replace([_homonym("bob", [a], [b])])
                assert list(store.homonyms.read()) == [entity_id("bob")]
                raise ZeroDivisionError
        assert store.homonyms.read() == {entity_id("ada"): ada}
