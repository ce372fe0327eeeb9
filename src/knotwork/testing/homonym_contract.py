"""What every store that `StoresHomonyms` does with names that mean several things."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import pytest

from knotwork.records import Homonym, content_id, entity_id
from knotwork.stores.base import Store
from knotwork.stores.homonyms import StoresHomonyms, read_senses
from knotwork.testing.samples import sample_mention
from knotwork.testing.store_contract import add_document

_HOSTILE = "types differ — 类型 \x00\n| half a pair: \ud800"


class HomonymHoldingStore(Store, StoresHomonyms, Protocol):
    """A store with both: what the fixture ``store`` returns."""


def _homonym(form: str, *senses: Iterable[str], reason: str = "why") -> Homonym:
    return Homonym(entity_id(form), tuple(tuple(sorted(chunks)) for chunks in senses), reason)


def _chunks(store: Store, *uris: str) -> list[str]:
    """Let a document of one chunk mention Ada and Bob under each uri; return the chunks."""
    documents = [add_document(store, uri, ["Ada"]) for uri in uris]
    chunks = [store.documents.chunk_ids(document)[0] for document in documents]
    store.graph.upsert(mentions=[sample_mention(chunk, "Bob") for chunk in chunks])
    return chunks


class HomonymStoreContract:
    """Behaviour of `StoresHomonyms`. Subclass it and supply the fixture ``store``."""

    def test_homonyms_come_back_as_they_were_put(self, store: HomonymHoldingStore) -> None:
        a, b, c = _chunks(store, "a", "b", "c")
        ada, bob = _homonym("ada", [a, b], [c], reason=_HOSTILE), _homonym("bob", [a], [b])
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
