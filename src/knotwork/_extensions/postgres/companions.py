"""The companions of an index on a server: tables of cached calls, facts and jobs in its schema."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

import psycopg
from psycopg.pq import TransactionStatus

from knotwork._companions import Bindings, Companion
from knotwork._extensions.postgres.connection import (
    Connection,
    damaged,
    is_broken,
    translated_errors,
)
from knotwork._extensions.postgres.database import SHARED_LOCK, PostgresDatabase
from knotwork._stores.sql.database import Row
from knotwork.errors import StoreError, StoreReadOnly
from knotwork.records import content_id

T = TypeVar("T")

COMPANION_LOCK = SHARED_LOCK + 3
"""The lock of one writer at a time, as a file has it."""

CLAIM_LOCK = SHARED_LOCK + 4
"""The locks of names that processes hold."""

_LOCK = "SELECT pg_advisory_xact_lock($1::int, $2::int)"
_CLAIM = "SELECT pg_advisory_lock_shared($1::int, $2::int)"
_RELEASE = "SELECT pg_advisory_unlock_all()"
_CLAIMS = (
    "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted"
    " AND classid::bigint = $1 AND objid::bigint = $2"
    " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)
_IS_WRITABLE = (
    "SELECT has_table_privilege('reply', 'INSERT') AND NOT pg_is_in_recovery()"
    " AND current_setting('default_transaction_read_only') = 'off'"
)
_WRITE_ALSO_READERS = "SELECT set_config('default_transaction_read_only', 'off', false)"


class PostgresCompanions:
    """The companions of an index on a server: `Companions` over its schema."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    def open(self, companion: Companion) -> PostgresCompanion:
        """Open a companion. Raises StoreReadOnly if the user may not write it."""
        found = PostgresCompanion(self._database, companion.kind)
        try:
            found.check_writable()
        except BaseException:
            found.close()
            raise
        return found

    def has(self, companion: Companion) -> bool:  # noqa: ARG002 - of the protocol
        return True


class PostgresCompanion:
    """A `CompanionDatabase` on a server: one connection, used by one thread at a time.

    It writes also where the index was opened for reading only. A broken connection is replaced
    before the next statement.
    """

    path = None

    def __init__(self, database: PostgresDatabase, kind: str) -> None:
        """``kind`` is that of a `Companion`, or what else errors name."""
        self.label = database.label
        self._database = database
        self._kind = kind
        self._lock = threading.RLock()
        self._process = os.getpid()
        self._of_parent_process: list[Connection] = []
        self._open: Connection | None = None
        self._claimed: list[str] = []

    def rows(self, sql: str, bindings: Bindings = ()) -> list[Row]:
        with self._lock, translated_errors(self.label):
            return self._repeated(
                lambda connection: connection.execute(sql, bindings, binary=True).fetchall()
            )

    def change(self, sql: str, bindings: Bindings = ()) -> int:
        with self._lock, translated_errors(self.label):
            return self._connection().execute(sql, bindings, binary=True).rowcount

    @contextmanager
    def transaction(self, *, durable: bool = True) -> Iterator[None]:
        with self._lock, translated_errors(self.label):
            if self._is_in_transaction:
                yield
                return
            connection = self._repeated(_begin)
            try:
                connection.execute(_LOCK, (COMPANION_LOCK, self._database.number))
                if not durable:
                    connection.execute("SET LOCAL synchronous_commit = off", prepare=False)
                yield
                connection.execute("COMMIT", prepare=False)
            finally:
                if connection.info.transaction_status != TransactionStatus.IDLE:
                    with suppress(psycopg.Error):
                        connection.execute("ROLLBACK", prepare=False)

    def check_writable(self) -> None:
        """Raise StoreReadOnly if the user may not write the tables of companions."""
        ((is_writable,),) = self.rows(_IS_WRITABLE)
        if not is_writable:
            raise StoreReadOnly(
                f"The user of the database may not write the {self._kind} of `{self.label}`.",
                fix="Grant it (see docs/postgresql.md), or use another user.",
            )

    def claim(self, name: str) -> None:
        with self._lock, translated_errors(self.label):
            if name not in self._claimed:
                self._repeated(lambda connection: connection.execute(_CLAIM, self._claim_key(name)))
                self._claimed.append(name)

    def claims(self, name: str) -> int:
        ((found,),) = self.rows(_CLAIMS, self._claim_key(name))
        return int(found)

    def _claim_key(self, name: str) -> tuple[int, int]:
        text = f"{self._database.number} {name}"
        return CLAIM_LOCK, int(content_id(text), 16) % 2**31

    def check(self) -> list[str]:
        return []

    def damaged(self, detail: object) -> StoreError:
        return damaged(self.label, str(detail))

    def close(self) -> None:
        if self._process == os.getpid():
            with self._lock:
                if self._open is not None:
                    if self._claimed:
                        # The server ends a session, and its claims, some time after the client
                        # left. Another server that asks meanwhile must not find them.
                        with suppress(psycopg.Error):
                            self._open.execute(_RELEASE, prepare=False)
                    self._open.close()
        self._open, self._process = None, 0

    @property
    def _is_in_transaction(self) -> bool:
        return (
            self._open is not None
            and self._process == os.getpid()
            and self._open.info.transaction_status
            in (TransactionStatus.INTRANS, TransactionStatus.INERROR)
        )

    def _repeated(self, use: Callable[[Connection], T]) -> T:
        """Use the connection, and a new one if it turns out to be broken outside a transaction."""
        is_alone = not self._is_in_transaction
        try:
            return use(self._connection())
        except psycopg.Error as error:
            if not is_alone or not is_broken(error):
                raise
        return use(self._connection())

    def _connection(self) -> Connection:
        if self._process == 0:
            raise StoreError(f"The {self._kind} of `{self.label}` is closed.", fix="Open it again.")
        if self._process != os.getpid():
            # A connection must not cross a fork, nor be closed by the child.
            if self._open is not None:
                self._of_parent_process.append(self._open)
            self._open, self._process = None, os.getpid()
        if self._open is None or self._open.closed:
            connection = self._database.separate()
            connection.execute(_WRITE_ALSO_READERS, prepare=False)
            for name in self._claimed:
                connection.execute(_CLAIM, self._claim_key(name))
            self._open = connection
        return self._open


def _begin(connection: Connection) -> Connection:
    connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE", prepare=False)
    return connection
