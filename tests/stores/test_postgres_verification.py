"""A check of an index on a server finds rows and sums that do not fit together."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import psycopg
import pytest

from knotwork._extensions.postgres.store import PostgresStore
from knotwork._extensions.testing.store_contract import add_document

pytestmark = pytest.mark.slow


@pytest.fixture
def store(new_index: Callable[[], str]) -> Iterator[PostgresStore]:
    opened = PostgresStore.open(new_index(), create=True)
    add_document(opened, "a.md", ["Ada", "Bob"], link=True)
    gone = add_document(opened, "b.md", ["Bob", "Cy"], link=True)
    opened.remove_documents([gone])
    yield opened
    opened.close()


def test_a_sound_index_has_no_fault(store: PostgresStore) -> None:
    assert store.check() == []


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ("DELETE FROM document", "2 chunks without a document"),
        ("UPDATE entity SET chunk_count = chunk_count + 1 WHERE name = 'Ada'", "1 entities with"),
        ("UPDATE entity_form SET times = 9 WHERE name = 'Bob'", "1 names of entities with"),
        ("UPDATE edge SET weight = weight + 1", "1 edges that differ"),
        ("UPDATE relation SET edges = 7", "1 relations with a wrong count"),
        ("DELETE FROM text_chunk_posting", "full text of `chunk`"),
        ("INSERT INTO total (name, value) VALUES ('text_entity.items', 1)", "text of `entity`"),
        ("DELETE FROM vector_1 WHERE place = 0", "0 vectors of `chunk`, not 2"),
    ],
)
def test_mismatches_are_named(
    store: PostgresStore, postgres_server: str, change: str, fault: str
) -> None:
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(f"SET search_path = {store._database.schema}, public")
        connection.execute(change)
    faults = store.check()
    assert any(fault in found for found in faults), faults
