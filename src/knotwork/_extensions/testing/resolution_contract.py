"""Contract suites for stores of merge decisions (`ResolutionStore`) and homonyms
(`HomonymStore`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

import pytest

from knotwork._extensions.testing.store_contract import add_document, sample_mention
from knotwork._stores.base import Store, require_homonyms, require_resolutions
from knotwork._stores.resolutions import read_senses
from knotwork.records import (
    PERSON_SOURCE,
    RULES_SOURCE,
    Homonym,
    SameAs,
    Verdict,
    content_id,
    entity_id,
)

_NO_IDS = [content_id("absent"), "", "no id", "ffffffffffffffff"]
_HOSTILE_REASON = "an acronym — 缩写 \x00\n| half a pair: \ud800"


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
            sample_decision("lovelace", "cy", undone=True, score=1.0),
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
        require_resolutions(store).put([replace(old, undone=True), new])
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
        apart = sample_decision("ada", "countess", undone=True)
        require_resolutions(store).put([surer, other, apart])
        ada = entity_id("ada")
        assert require_resolutions(store).groups() == {ada: ada, entity_id("lovelace"): ada}
        require_resolutions(store).remove([apart.pair])
        assert len(require_resolutions(store).groups()) == 3
        require_resolutions(store).put([replace(surer, undone=True), replace(other, undone=True)])
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
            sample_decision("ada", "bob", undone=True),
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
        with pytest.raises(ZeroDivisionError):  # noqa: PT012, SIM117  the failure is the point
            with store.transaction():
                require_resolutions(store).put([sample_decision("cy", "bob")])
                assert len(require_resolutions(store).groups()) == 3
                store.remove_documents([document])
                require_resolutions(store).settle([*map(entity_id, forms), entity_id("dee")])
                require_resolutions(store).remove([decision.pair])
                raise ZeroDivisionError
        assert resolution_snapshot(store, forms) == before


def _mention(store: Store, **times: int) -> None:
    """Add a number of chunks that mention each entity."""
    for form, count in times.items():
        chunks = [content_id("mentioning", form, number) for number in range(count)]
        store.graph.upsert(mentions=[sample_mention(chunk, form) for chunk in chunks])


_HOSTILE_HOMONYM_REASON = "types differ — 类型 \x00\n| half a pair: \ud800"


def _homonym(form: str, *senses: Iterable[str], reason: str = "why") -> Homonym:
    return Homonym(entity_id(form), tuple(tuple(sorted(chunks)) for chunks in senses), reason)


def _chunks(store: Store, *uris: str) -> list[str]:
    """Add a document with one chunk that mentions Ada and Bob for each uri; return the chunks."""
    documents = [add_document(store, uri, ["Ada"]) for uri in uris]
    chunks = [ids[0] for ids in store.documents.chunk_ids_of(documents).values()]
    store.graph.upsert(mentions=[sample_mention(chunk, "Bob") for chunk in chunks])
    return chunks


class HomonymStoreContract:
    """Tests of `HomonymStore`. Subclass it and define the fixture ``store``."""

    def test_homonyms_come_back_as_they_were_put(self, store: Store) -> None:
        a, b, c = _chunks(store, "a", "b", "c")
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
        a, b, c = _chunks(store, "a", "b", "c")
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
        a, b, c = _chunks(store, "a", "b", "c")
        document = store.documents.chunks([b])[b].document_id
        ada = _homonym("ada", [a, c], [b])
        require_homonyms(store).replace([ada, _homonym("bob", [a, b], [c])])
        store.remove_documents([document])
        assert require_homonyms(store).read() == {entity_id("bob"): _homonym("bob", [a], [c])}
        assert add_document(store, "b", ["Ada"]) == document
        assert require_homonyms(store).read([entity_id("ada")]) == {entity_id("ada"): ada}

    def test_a_transaction_that_fails_leaves_homonyms_as_they_were(self, store: Store) -> None:
        a, b = _chunks(store, "a", "b")
        ada = _homonym("ada", [a], [b])
        require_homonyms(store).replace([ada])
        with pytest.raises(ZeroDivisionError):  # noqa: PT012, SIM117  the failure is the point
            with store.transaction():
                require_homonyms(store).replace([_homonym("bob", [a], [b])])
                assert list(require_homonyms(store).read()) == [entity_id("bob")]
                raise ZeroDivisionError
        assert require_homonyms(store).read() == {entity_id("ada"): ada}
