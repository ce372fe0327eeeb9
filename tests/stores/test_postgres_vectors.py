"""Above a size, HNSW finds vectors on a server: nearly all of the nearest, with exact scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from knotwork._extensions.postgres.store import PostgresStore
from knotwork._extensions.postgres.vector_index import PostgresVectors
from knotwork._extensions.testing.index_contracts import unit_rows
from knotwork._extensions.upkeep.copies import copy_store
from knotwork._stores.base import Store
from knotwork.records import content_id
from knotwork.testing import (
    ApproximateVectorIndexContract,
    ApproximateVectorReplacementContract,
)

pytestmark = pytest.mark.slow

_EXACT_ROWS = 20


class LowThreshold(PostgresStore):
    """A store that uses HNSW for more than a few rows."""

    def vectors(self, name: str) -> PostgresVectors:
        with self._creating:
            if name not in self._vectors:
                self._vectors[name] = PostgresVectors(self._database, name, exact_rows=_EXACT_ROWS)
            return self._vectors[name]


@pytest.fixture
def store(new_index: Callable[[], str]) -> Iterator[Store]:
    opened = LowThreshold.open(new_index(), create=True)
    yield opened
    opened.close()


class TestApproximateVectors(ApproximateVectorIndexContract):
    pass


class TestApproximateReplacement(ApproximateVectorReplacementContract):
    pass


def test_a_large_index_is_searched_by_hnsw_and_a_filter_exactly(store: PostgresStore) -> None:
    ids = sorted(content_id("many", n) for n in range(400))
    rows = unit_rows(400, 24)
    index = store.vectors("chunk")
    index.put((i, i, row) for i, row in zip(ids, rows, strict=True))
    statements: list[str] = []
    read = store._database.rows
    store._database.rows = lambda sql, bindings=(): statements.append(sql) or read(sql, bindings)
    found = index.search(rows[7], k=5)
    exactly = index.search(rows[7], k=5, where=ids)
    assert found[0].id == ids[7]
    assert found[0] == exactly[0]
    assert ["LIMIT $2" in sql for sql in statements if "<#>" in sql] == [True, False]


def test_earlier_vectors_are_dropped_after_the_next_replacement(store: PostgresStore) -> None:
    def tables() -> int:
        ((count,),) = store._database.rows(
            "SELECT count(*) FROM pg_tables WHERE schemaname = current_schema()"
            " AND tablename LIKE 'vector\\_%' AND tablename <> 'vector_garbage'"
            " AND tablename <> 'vector_index'"
        )
        return count

    before = tables()
    for number in range(4):
        store.vectors("next_chunk").put([(content_id("a"), "key", unit_rows(1, 8 + number))])
        store.replace_vectors("chunk", "next_chunk")
        assert store.vectors("chunk").count() == 1
        assert tables() <= before + 2


def has_hnsw(store: PostgresStore) -> bool:
    sql = "SELECT 1 FROM pg_indexes WHERE schemaname = current_schema() AND indexname LIKE '%hnsw'"
    return bool(store._database.rows(sql))


@pytest.mark.parametrize("is_stopped", [False, True])
def test_a_copy_in_one_database_builds_hnsw_when_it_is_finished(
    store: PostgresStore, new_index: Callable[[], str], *, is_stopped: bool
) -> None:
    rows = unit_rows(3 * _EXACT_ROWS, 8)
    ids = [content_id("many", n) for n in range(len(rows))]
    store.vectors("chunk").put((i, i, row) for i, row in zip(ids, rows, strict=True))
    assert has_hnsw(store)
    url = new_index()
    with closing(LowThreshold.open(url, create=True)) as target:
        steps = copy_store.run(store, target)
        while next(steps).stage != "verifying " + store.url:
            assert not has_hnsw(target)
        if is_stopped:
            steps.close()
        else:
            assert steps.result().parts["chunk vectors"] == len(rows)
            assert has_hnsw(target)
    with closing(LowThreshold.open(url)) as again:
        if is_stopped:
            assert not has_hnsw(again)
            assert copy_store(store, again).parts["chunk vectors"] == len(rows)
        assert has_hnsw(again)
