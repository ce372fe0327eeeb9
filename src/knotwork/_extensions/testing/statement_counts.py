"""Count the statements that a store sends to its database, on every kind of store.

Tests and benchmarks use it. Everything counts that is a message to a server: queries, writes, and
the begin and the end of a transaction. `executemany` counts once, as a server takes its rows in one
batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol, cast

import apsw

from knotwork._stores.base import Store
from knotwork._stores.embedded import EmbeddedStore


@contextmanager
def _sent_to_sqlite(store: EmbeddedStore) -> Iterator[list[str]]:
    """Trace the connections that are open, and those that other threads open meanwhile."""
    sent: list[str] = []
    last: list[Any] = [None, None]

    def trace(cursor: apsw.Cursor, sql: str, _bindings: object) -> bool:
        if last != [cursor, sql]:  # the rows of `executemany` come from one cursor
            sent.append(sql)
            last[:] = [cursor, sql]
        return True

    def watch(connection: apsw.Connection) -> None:
        if connection.filename == str(store.url):
            connection.exec_trace = trace

    opened = store.connections()
    for connection in opened:
        connection.exec_trace = trace
    apsw.connection_hooks.append(watch)
    try:
        yield sent
    finally:
        apsw.connection_hooks.remove(watch)
        for connection in store.connections():
            connection.exec_trace = None


class WatchedStore(Protocol):
    """A store that can list the statements that it sends, such as one on a server."""

    def watched(self) -> AbstractContextManager[list[str]]:
        """Return a block that collects the statements sent in it."""
        ...


def count_statements(store: Store) -> AbstractContextManager[list[str]]:
    """Return a block that collects the statements sent in it, for a store with a database."""
    if isinstance(store, EmbeddedStore):
        return _sent_to_sqlite(store)
    return cast(WatchedStore, store).watched()
