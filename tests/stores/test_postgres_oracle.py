"""The store on a server shows the same as the memory store after any sequence of operations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.stores.test_oracle import (
    NAMES,
    SEEDS,
    URIS,
    Operation,
    compare,
    compare_around_a_rollback,
    explorations,
    operations,
    texts,
)

from knotwork._extensions.postgres.store import PostgresStore
from knotwork._extensions.testing.store_contract import add_document
from knotwork._stores.base import Store, require_resolutions
from knotwork._stores.urls import open_store
from knotwork.records import content_id

pytestmark = pytest.mark.slow

_SHARED_FIXTURE = [HealthCheck.function_scoped_fixture]


@pytest.fixture
def both_stores(new_index: Callable[[], str]) -> Callable[..., object]:
    @contextmanager
    def open_both() -> Iterator[tuple[Store, Store]]:
        server = PostgresStore.open(new_index(), create=True)
        try:
            yield open_store("memory:"), server
        finally:
            server.close()

    return open_both


@settings(max_examples=settings().max_examples // 3, suppress_health_check=_SHARED_FIXTURE)
@given(st.lists(operations, max_size=12), explorations, texts)
def test_after_any_operations(
    both_stores, steps: list[Operation], options: dict[str, object], query: str
) -> None:
    with both_stores() as (memory, server):
        for step in steps:
            step(memory)
            step(server)
        compare(memory, server, options, query)


@settings(max_examples=settings().max_examples // 4, suppress_health_check=_SHARED_FIXTURE)
@given(st.lists(operations, max_size=5), st.lists(operations, min_size=1, max_size=5), explorations)
def test_a_rollback_leaves_what_was(
    both_stores, before: list[Operation], abandoned: list[Operation], options: dict[str, object]
) -> None:
    with both_stores() as (memory, server):
        compare_around_a_rollback(memory, server, before, abandoned, options)


@settings(max_examples=settings().max_examples // 5, suppress_health_check=_SHARED_FIXTURE)
@given(st.permutations(URIS), st.sets(st.sampled_from(URIS)))
def test_order_and_removal_do_not_matter(both_stores, order: list[str], gone: set[str]) -> None:
    names = {uri: [NAMES[n], NAMES[n + 1]] for n, uri in enumerate(URIS, start=1)}
    with both_stores() as (memory, server):
        for uri in order:
            add_document(server, uri, names[uri], link=True)
        server.remove_documents([content_id("document", uri) for uri in gone])
        require_resolutions(server).settle(SEEDS)  # a removal touches entities until then
        for uri in URIS:
            if uri not in gone:
                add_document(memory, uri, names[uri], link=True)
        compare(memory, server, {}, "About Ada")
