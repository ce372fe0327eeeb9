"""Ids that collide: stores refuse them, and a run over many documents leaves a few out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest

import knotwork
from knotwork import KnowledgeBase
from knotwork._extensions.testing.store_contract import (
    IdCollisionContract,
    sample_mention,
    short_ids,
)
from knotwork._extensions.upkeep.copies import store_digest
from knotwork._stores.base import Store
from knotwork._stores.embedded import EmbeddedStore
from knotwork._stores.graph_view import question_id
from knotwork.errors import IdCollision
from knotwork.records import Relation, content_id, entity_id

pytestmark = pytest.mark.slow

BITS = 12
DOCUMENTS = 60
PLACES = ["Lisbon", "Oslo", "Turin", "Quito", "Perth", "Dakar", "Hanoi", "Lyon"]
PEOPLE = ["Ada Byron", "Alan Moore", "Grace Hill", "Tim Lee", "Joan Clarke", "Max Born"]


class TestEmbedded(IdCollisionContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        with closing(EmbeddedStore.open(tmp_path / "index.knot", create=True)) as store:
            yield store

    def test_relations_with_one_key_are_not_merged(self, store: Store) -> None:
        with short_ids(8):
            taken = content_id("relation", "of")
            other = next(n for n in map(str, count()) if content_id("relation", n) == taken)
            chunk, ends = content_id("chunk"), (entity_id("ada"), entity_id("bob"))
            mentions = [sample_mention(chunk, name) for name in ("ada", "bob")]
            stated = Relation(chunk, ends[0], "of", ends[1])
            store.graph.upsert(mentions=mentions, relations=[stated])
            with pytest.raises(IdCollision) as caught:
                store.graph.upsert(relations=[Relation(content_id("b"), ends[0], other, ends[1])])
            assert caught.value.held == "the relation `of`"
            assert caught.value.new == f"the relation `{other}`"
            assert store.graph.relations([chunk, content_id("b")]) == {chunk: [stated]}

    def test_questions_with_one_id_are_not_merged(self, store: Store) -> None:
        questions = store.capabilities.questions
        assert questions is not None
        with short_ids(8):
            first, second = content_id("one"), content_id("two")
            taken = question_id(first, "Who?")
            other = next(n for n in map(str, count()) if question_id(second, n) == taken)
            questions.put({first: ["Who?"]})
            with pytest.raises(IdCollision, match=f"a question of the chunk {second}"):
                questions.put({second: [other]})
            assert questions.questions([first, second]) == {first: ("Who?",)}


def write_documents(folder: Path) -> None:
    folder.mkdir()
    for number in range(DOCUMENTS):
        place, person = PLACES[number % 8], PEOPLE[number % 6]
        said = f"{person} visited {place} in {1900 + number}. {person} knew {PEOPLE[number % 5]}."
        text = f"# Visit {number}\n\n{said}\n"
        (folder / f"visit {number}.md").write_text(text, encoding="utf-8")


def open_index() -> KnowledgeBase:
    return knotwork.open("memory:", embedding_model="none")


def test_a_run_leaves_out_what_collides_and_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    write_documents(folder)
    with short_ids(BITS):
        with open_index() as kb:
            report = kb.index(folder)
            failed = [failure.uri for failure in report.failures]
            assert 3 < len(failed) < DOCUMENTS - 3
            assert {failure.reason for failure in report.failures} == {"id_collision"}
            assert all("is also that of" in failure.message for failure in report.failures)
            assert report.added == report.total_documents == DOCUMENTS - len(failed)
            digest = store_digest(kb.store)
            again = kb.index(folder)
            assert sorted(failure.uri for failure in again.failures) == sorted(failed)
            assert (again.added, again.unchanged) == (0, report.added)
            retried = kb.index(folder, retry=True)
            assert sorted(failure.uri for failure in retried.failures) == sorted(failed)
            assert store_digest(kb.store).differing(digest) in ((), ("ledger",))
            assert isinstance(kb.store, EmbeddedStore)
            assert kb.store.check_fully() == []
        for uri in failed:
            (folder / Path(uri).name).unlink()
        with open_index() as rest:
            assert rest.index(folder).failures == ()
            assert set(store_digest(rest.store).differing(digest)) <= {"ledger", "settings"}
