"""Turn errors of PostgreSQL into the errors of stores, which say what to do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import psycopg
from psycopg import errors as e

from knotwork._sqlite_file import DamagedValue
from knotwork.errors import (
    IndexDamaged,
    SchemaMismatch,
    StoreBusy,
    StoreError,
    StoreNotFound,
    StoreReadOnly,
    StoreUnavailable,
)


class _Rule(NamedTuple):
    """The error of a store for some errors of psycopg; in both texts, ``label`` and ``said``."""

    kinds: tuple[type[psycopg.Error], ...]
    error: type[StoreError]
    message: str
    fix: str = ""


_LOST = (
    e.AdminShutdown,
    e.CrashShutdown,
    e.CannotConnectNow,
    e.TooManyConnections,
    e.IdleInTransactionSessionTimeout,
    e.IdleSessionTimeout,
)
_IDLE = _Rule(
    (e.IdleInTransactionSessionTimeout,),
    StoreUnavailable,
    "A transaction on `{label}` was idle for longer than store.idle_timeout_s allows, and was "
    "rolled back.",
    "Try again: finished steps are not repeated. Set store.idle_timeout_s to a longer time, or "
    "to 0 for no limit.",
)
_UNAVAILABLE = _Rule(
    _LOST,
    StoreUnavailable,
    "The connection to `{label}` failed: {said}. What was not committed is rolled back.",
    "Check that the server runs and can be reached, then try again: finished steps are not "
    "repeated.",
)
_NO_DATABASE = _Rule(
    (e.InvalidCatalogName,),
    StoreNotFound,
    "There is no database at `{label}`: {said}.",
    "Create it, or check the URL.",
)
_REFUSED = _Rule(
    (e.InvalidPassword, e.InvalidAuthorizationSpecification),
    StoreError,
    "The server of `{label}` refused the login: {said}.",
    "Check the user, and the password in PGPASSWORD, the password file or the URL.",
)
_SAID_ON_CONNECTING = (
    (re.compile(r'database ".*" does not exist'), _NO_DATABASE),
    (re.compile(r'authentication failed|no password supplied|role ".*" does not exist'), _REFUSED),
)
"""What a server says when it refuses a connection, for which libpq has no code."""

_RULES = (
    _NO_DATABASE,
    _REFUSED,
    _Rule(
        # A row that exists already was added by a writer of the same documents meanwhile.
        (e.LockNotAvailable, e.DeadlockDetected, e.SerializationFailure, e.UniqueViolation),
        StoreBusy,
        "Another process is writing to `{label}` ({said}).",
        "Try again. A longer wait is set with store.lock_timeout_s.",
    ),
    _Rule(
        (e.QueryCanceled,),
        StoreError,
        "A statement on `{label}` took longer than store.statement_timeout_s allows.",
        "Set a longer time, or 0 for none.",
    ),
    _Rule(
        (e.ReadOnlySqlTransaction,),
        StoreReadOnly,
        "`{label}` can only be read here: {said}.",
        "Use the primary server, and a store that was opened for writing.",
    ),
    _Rule(
        (e.InsufficientPrivilege,),
        StoreReadOnly,
        "The user of the database lacks a right on `{label}`: {said}.",
        "Grant it (see docs/postgresql.md), or use another user.",
    ),
    _Rule(
        (e.DiskFull, e.OutOfMemory, e.ConfigurationLimitExceeded),
        StoreError,
        "The server has no space or memory left: writing to `{label}` failed, and this step was "
        "rolled back ({said}).",
        "Free some, then try again: finished steps are not repeated.",
    ),
    _Rule(
        (e.UndefinedTable, e.UndefinedColumn),
        SchemaMismatch,
        "`{label}` lacks a table or column that this version of Knotwork needs: {said}.",
        "Open it once with the user that owns the index, which updates it.",
    ),
    _IDLE,
    _UNAVAILABLE,
)


@contextmanager
def translated_errors(label: str) -> Iterator[None]:
    """Raise errors of psycopg as StoreError. ``label`` names the index without a secret."""
    try:
        yield
    except psycopg.Error as error:
        raise translate(error, label) from error


def is_broken(error: Exception) -> bool:
    """Return True if an error means that the connection was lost or never made."""
    if isinstance(error, _LOST):
        return True
    is_of_connection = isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
    return is_of_connection and getattr(error, "sqlstate", None) is None


def translate(error: psycopg.Error, label: str) -> StoreError:
    """Return the error of a store for one of psycopg."""
    said = _first_line(error)
    found = next((rule for rule in _RULES if isinstance(error, rule.kinds)), None)
    if found is None and is_broken(error):
        refusals = (rule for pattern, rule in _SAID_ON_CONNECTING if pattern.search(said))
        found = next(refusals, _UNAVAILABLE)
    if found is None:
        return StoreError(f"`{label}` cannot be used: {said}.")
    return found.error(found.message.format(label=label, said=said), fix=found.fix)


def damaged(label: str, detail: DamagedValue | str) -> IndexDamaged:
    """Return the error for a value that cannot be decoded."""
    return IndexDamaged(
        f"The index `{label}` is damaged: {detail}.",
        path=label,
        fix="Restore a backup of the database, or index the documents again.",
    )


def _first_line(error: psycopg.Error) -> str:
    """Return what the server said, without the statement and its values."""
    said = error.diag.message_primary or str(error).strip().partition("\n")[0]
    return (said or type(error).__name__).rstrip(".")
