"""Contract of every store that `StoresQuestions`: the questions that chunks answer."""

from __future__ import annotations

from typing import Protocol

import pytest

from knotwork.records import content_id
from knotwork.stores.base import Store
from knotwork.stores.questions import StoresQuestions
from knotwork.testing.store_contract import add_document

_ABSENT = content_id("absent")
_HOSTILE = "谁? | \x00\n half a pair: \ud800 " + "x" * 3_000


class QuestionHoldingStore(Store, StoresQuestions, Protocol):
    """A store with both: what the fixture ``store`` returns."""


class QuestionStoreContract:
    """Behaviour of `StoresQuestions`. Subclass it and supply the fixture ``store``."""

    def test_questions_come_back_as_they_were_put(self, store: QuestionHoldingStore) -> None:
        one, two, three = (content_id(n) for n in range(3))
        store.questions.put({one: ["Who?", "When?", "Who?"], two: [_HOSTILE], three: []})
        assert store.questions.questions([two, _ABSENT, "no id", one, three]) == {
            two: (_HOSTILE,),
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
