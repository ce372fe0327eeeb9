"""Connections to a PostgreSQL server: their settings, their pool, and how statements stop."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import count
from typing import Any, Self

import psycopg
from psycopg import RawCursor, RawServerCursor
from psycopg.adapt import AdaptersMap
from psycopg.rows import TupleRow
from psycopg_pool import ConnectionPool, PoolTimeout

from knotwork._cancellation import Cancellation, Cancelled, check_cancelled, current_cancellation
from knotwork._config import StoreSettings
from knotwork._extensions.postgres.adaptation import make_adapters
from knotwork._extensions.postgres.address import Address
from knotwork._sqlite_file import FULL
from knotwork.errors import StoreUnavailable

# What the pool does about a lost connection is reported by errors, and not printed as well.
logging.getLogger("psycopg").addHandler(logging.NullHandler())

_CONNECT_TIMEOUT_S = 10
_STREAMED_ROWS = 10_000
_stream_numbers = count()
_POOL_WAIT_S = 0.25
_PREPARED_STATEMENTS = 400
_APPLICATION = "knotwork"

HNSW_SEARCHED = 400
"""The rows that a search of an HNSW index keeps in view, and the most that it returns."""


class _Context:
    """What psycopg asks for the adapters of a new connection."""

    def __init__(self) -> None:
        self.adapters: AdaptersMap = make_adapters()
        self.connection = None


class _Watched:
    """The generator of a statement, which raises Cancelled if its work must stop.

    psycopg then cancels the statement on the server, and lets the generator go on to its end.
    """

    def __init__(self, generator: Any, current: Cancellation) -> None:  # noqa: ANN401
        self._generator = generator
        self._current: Cancellation | None = current

    def __iter__(self) -> _Watched:
        return self

    def __next__(self) -> Any:  # noqa: ANN401
        return next(self._generator)

    def send(self, ready: Any) -> Any:  # noqa: ANN401
        if self._current is not None and self._current.is_due:
            self._current = None
            raise Cancelled("The work was cancelled.")
        return self._generator.send(ready)


class _Cursor(RawCursor[TupleRow]):
    """A cursor whose statements are added to the lists of those who watch the connection."""

    def execute(self, query: Any, *args: Any, **options: Any) -> Self:  # noqa: ANN401
        self._note(query)
        return super().execute(query, *args, **options)

    def executemany(self, query: Any, *args: Any, **options: Any) -> None:  # noqa: ANN401
        self._note(query)
        super().executemany(query, *args, **options)

    def copy(self, statement: Any, *args: Any, **options: Any) -> Any:  # noqa: ANN401
        self._note(statement)
        return super().copy(statement, *args, **options)

    def _note(self, statement: object) -> None:
        connection: Any = self.connection
        for sent in connection.watchers:
            sent.append(str(statement))


class Connection(psycopg.Connection[TupleRow]):
    """A connection whose running statement is cancelled with the work of its thread.

    ``watchers`` are lists that get the statements sent.
    """

    watchers: Sequence[list[str]] = ()

    def wait(self, gen: Any, *args: Any, **options: Any) -> Any:  # noqa: ANN401
        """Wait for a statement, as psycopg does."""
        watched: Any = _Watched(gen, current_cancellation())
        return super().wait(watched, *args, **options)


def connection_options() -> dict[str, Any]:
    """Return the options of `psycopg.connect` for every connection."""
    return {
        "autocommit": True,
        "context": _Context(),
        "cursor_factory": _Cursor,
        "prepare_threshold": 3,
        "connect_timeout": _CONNECT_TIMEOUT_S,
        "application_name": _APPLICATION,
    }


def streaming_cursor(connection: Connection) -> RawServerCursor[TupleRow]:
    """Return a cursor that fetches rows as they are read; use it inside a transaction."""
    cursor: RawServerCursor[TupleRow] = RawServerCursor(
        connection, f"stream_{next(_stream_numbers)}"
    )
    cursor.itersize = _STREAMED_ROWS
    return cursor


def connect(address: Address) -> Connection:
    """Open one connection outside of the pool, without the settings of a store."""
    return Connection.connect(address.conninfo, **connection_options())


def configure(
    connection: Connection, *, schema: str, extensions: str, limits: StoreSettings, read_only: bool
) -> None:
    """Set what all statements of a store rely on, for the whole session."""
    settings = {
        "search_path": f'"{schema}", "{extensions}"',
        "statement_timeout": _milliseconds(limits.statement_timeout_s),
        "lock_timeout": _milliseconds(limits.lock_timeout_s),
        "idle_in_transaction_session_timeout": _milliseconds(limits.idle_timeout_s),
        "default_transaction_read_only": "on" if read_only else "off",
        "synchronous_commit": "on" if limits.synchronous == FULL else "off",
        "jit": "off",
        "hnsw.ef_search": str(HNSW_SEARCHED),
        "client_encoding": "UTF8",
    }
    calls = ", ".join(
        f"set_config(${2 * n + 1}, ${2 * n + 2}, false)" for n in range(len(settings))
    )
    values = [word for pair in settings.items() for word in pair]
    connection.execute(f"SELECT {calls}", values, prepare=False)
    connection.prepared_max = _PREPARED_STATEMENTS


def _milliseconds(seconds: float) -> str:
    return str(round(seconds * 1_000))


class Pool:
    """The connections of one process to one index."""

    def __init__(
        self,
        address: Address,
        *,
        limits: StoreSettings,
        configured: Callable[[Connection], None],
    ) -> None:
        self._label = address.label
        self._retry_s = limits.retry_s
        self._pool: ConnectionPool[Connection] = ConnectionPool(
            address.conninfo,
            connection_class=Connection,
            kwargs=connection_options(),
            configure=configured,
            min_size=0,
            max_size=max(limits.pool_size, 1),
            open=False,
            name=f"knotwork-{address.schema}",
            reconnect_timeout=limits.retry_s,
            num_workers=1,
        )
        self._pool.open()

    def take(self) -> Connection:
        """Return a connection for this thread. Raises StoreUnavailable if none is free in time."""
        end = time.monotonic() + self._retry_s
        while True:
            check_cancelled()
            try:
                return self._pool.getconn(timeout=min(_POOL_WAIT_S, self._retry_s))
            except PoolTimeout:
                if time.monotonic() >= end:
                    raise StoreUnavailable(
                        f"There is no free connection to `{self._label}` (waited "
                        f"{self._retry_s:g} s).",
                        fix="Check that the server runs and can be reached, or allow more "
                        "connections with store.pool_size.",
                    ) from None

    def give_back(self, connection: Connection) -> None:
        """Return a connection; a broken one is closed."""
        self._pool.putconn(connection)

    def close(self) -> None:
        """Close all connections."""
        with suppress(psycopg.Error):
            self._pool.close(timeout=1.0)
