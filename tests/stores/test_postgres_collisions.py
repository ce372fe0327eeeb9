"""Ids that collide among writers side by side, who do not see what the others write."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from itertools import count

import pytest

from knotwork._extensions.postgres.store import PostgresStore
from knotwork._extensions.testing.short_ids import short_ids
from knotwork._extensions.testing.store_contract import sample_document, sample_mention, snapshot
from knotwork._stores.base import Store
from knotwork._stores.urls import open_store
from knotwork.errors import IdCollision, StoreBusy
from knotwork.records import Chunk, Document, Relation, Section, content_id, entity_id

pytestmark = pytest.mark.slow

Parts = tuple[Document, list[Section], list[Chunk]]


@pytest.fixture
def store(postgres_url: str) -> Iterator[PostgresStore]:
    with closing(PostgresStore.open(postgres_url, create=True)) as opened:
        yield opened


@pytest.fixture
def other(store: PostgresStore, postgres_url: str) -> Iterator[PostgresStore]:
    """The same index, as another process opens it."""
    with closing(PostgresStore.open(postgres_url)) as opened:
        yield opened


def with_chunk(uri: str, identifier: str) -> Parts:
    document, sections, chunks = sample_document(uri, ["one", "two"])
    return document, sections, [chunks[0], replace(chunks[1], id=identifier)]


def with_section(uri: str, identifier: str) -> Parts:
    document, sections, chunks = sample_document(uri, ["three", "four"])
    return document, [sections[0], replace(sections[1], id=identifier)], chunks


def contents(store: Store) -> list[object]:
    """Return the documents and entities of a store."""
    found = snapshot(store)
    return [found[name] for name in ("documents", "sections", "chunks", "entities")]


def put_chunk(store: Store) -> None:
    store.documents.put(*with_chunk("a.md", entity_id("ada")))


def put_section(store: Store) -> None:
    store.documents.put(*with_section("b.md", entity_id("ada")))


def put_entity(store: Store) -> None:
    store.graph.upsert(mentions=[sample_mention(content_id("chunk"), "ada")])


@pytest.mark.parametrize(
    ("late", "early", "new", "held"),
    [
        (put_chunk, put_entity, "a chunk of `a.md`", "the entity `ada`"),
        (put_entity, put_chunk, "the entity `ada`", "a chunk of `a.md`"),
        (put_section, put_entity, "a section of `b.md`", "the entity `ada`"),
        (put_section, put_chunk, "a section of `b.md`", "a chunk of `a.md`"),
        (put_chunk, put_section, "a chunk of `a.md`", "a section of `b.md`"),
    ],
)
def test_the_later_of_two_writers_is_refused(
    store: PostgresStore,
    other: PostgresStore,
    late: Callable[[Store], None],
    early: Callable[[Store], None],
    new: str,
    held: str,
) -> None:
    def write_while_the_other_does() -> None:
        with store.transaction():
            late(store)
            early(other)

    with pytest.raises(IdCollision) as caught:
        write_while_the_other_does()
    assert (caught.value.new, caught.value.held) == (new, held)
    alone = open_store("memory:")
    early(alone)
    assert contents(store) == contents(alone)
    early(store)  # the ids that were refused are forgotten


def test_two_names_of_one_entity_or_relation_are_refused(
    store: PostgresStore, other: PostgresStore
) -> None:
    chunk, later = content_id("one"), content_id("two")
    with short_ids(8):
        name = colliding("ada", entity_id)
        relation = colliding("of", lambda n: content_id("relation", n))
        ends = entity_id("bob"), entity_id("cy")

        def mention(names: tuple[str, str]) -> None:
            with store.transaction():
                store.graph.upsert(mentions=[sample_mention(later, names[0])])
                other.graph.upsert(mentions=[sample_mention(chunk, names[1])])

        def relate() -> None:
            with store.transaction():
                store.graph.upsert(relations=[Relation(later, ends[0], relation, ends[1])])
                other.graph.upsert(
                    mentions=[sample_mention(chunk, n) for n in ("bob", "cy")],
                    relations=[Relation(chunk, ends[0], "of", ends[1])],
                )

        with pytest.raises(IdCollision, match=f"the entity `{name}` is also that of the entity"):
            mention((name, "ada"))
        with pytest.raises(IdCollision, match=f"the relation `{relation}` is also that of"):
            relate()
        assert store.graph.relations([chunk, later]).keys() == {chunk}
        assert store.graph.mentions([chunk, later]).keys() == {chunk}
    assert all("without a chunk" in fault for fault in store.check())


def test_two_writers_of_one_chunk_wait_for_each_other(
    store: PostgresStore, other: PostgresStore
) -> None:
    taken = content_id("chunk")
    errors: list[Exception] = []

    def put_later() -> None:
        try:
            other.documents.put(*with_chunk("b.md", taken))
        except StoreBusy as error:
            errors.append(error)

    waiting = threading.Thread(target=put_later)
    with store.transaction():
        store.documents.put(*with_chunk("a.md", taken))
        waiting.start()
        wait_for_a_lock(store)
    waiting.join()
    assert "Try again" in str(errors[0])
    with pytest.raises(IdCollision, match=r"a chunk of `b\.md` is also that of a chunk of `a\.md`"):
        other.documents.put(*with_chunk("b.md", taken))


def wait_for_a_lock(store: PostgresStore) -> None:
    """Wait until some transaction waits for another one."""
    while not store._database.rows("SELECT 1 FROM pg_locks WHERE NOT granted"):
        pass


def colliding(of: str, id_of: Callable[[str], str]) -> str:
    """Return another name with the id of ``of``."""
    return next(name for name in map("name {}".format, count()) if id_of(name) == id_of(of))
