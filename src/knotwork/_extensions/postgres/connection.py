"""Connections to a PostgreSQL server: their URLs, settings, pool and errors, and how they stop.

``postgresql://user:password@host:5432/database?index=NAME&sslmode=verify-full`` is a URL of libpq
with one parameter more: ``index`` names the index, which is one schema of the database.

PostgreSQL stores neither the character NUL nor a lone surrogate. Both are escaped in every text,
with U+0001 as the escape character, so that what a store returns is what it was given. The code of
NUL and U+0001 keeps the order of texts: NUL becomes 01 01, and U+0001 becomes 01 02.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any, NamedTuple, Self
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

import numpy as np
import psycopg
from numpy.typing import NDArray
from psycopg import RawCursor, RawServerCursor, adapters
from psycopg import errors as e
from psycopg.abc import Buffer
from psycopg.adapt import AdaptersMap, Dumper, Loader
from psycopg.pq import Format
from psycopg.rows import TupleRow
from psycopg.types.array import ListBinaryDumper
from psycopg.types.numeric import Int8BinaryDumper
from psycopg_pool import ConnectionPool, PoolTimeout

from knotwork._cancellation import Cancellation, Cancelled, check_cancelled, current_cancellation
from knotwork._config import StoreSettings
from knotwork._sqlite_file import FULL, DamagedValue
from knotwork.errors import (
    ConfigError,
    IndexDamaged,
    SchemaMismatch,
    StoreBusy,
    StoreError,
    StoreNotFound,
    StoreReadOnly,
    StoreUnavailable,
)

SCHEMES = ("postgresql", "postgres")
DEFAULT_INDEX = "knotwork"

_INDEX = "index"
_NAME = re.compile(r"[a-z][a-z0-9_]{0,47}")
_PLACE = ("host", "hostaddr", "port")
"""Parameters of libpq that say where a server is; all others are left out of the label."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where an index is: the connection string of libpq, and the name of the schema.

    ``conninfo`` may hold a password. ``label`` holds neither user nor password.
    """

    conninfo: str
    schema: str
    label: str

    def __repr__(self) -> str:
        return f"Address({self.label!r})"


def read_address(url: str) -> Address:
    """Return the address that a URL names. Raises ConfigError, which never repeats the URL."""
    try:
        parts = urlsplit(url)
        given = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    except ValueError:
        raise _malformed() from None
    # An @ after the first slash is that of a password with a slash that is not escaped.
    if parts.scheme.lower() not in SCHEMES or parts.fragment or "@" in parts.path:
        raise _malformed()
    names = [value for key, value in given if key == _INDEX]
    name = names[-1] if names else DEFAULT_INDEX
    if not _NAME.fullmatch(name) or name.startswith("pg_"):
        raise ConfigError(
            f"`{name}` is not a valid name of an index in a database.",
            fix="Use up to 48 lower-case letters, digits and underscores, starting with a letter "
            "and not with pg_, as in postgresql://host/database?index=films.",
        )
    rest = [(key, value) for key, value in given if key != _INDEX]
    conninfo = urlunsplit(
        ("postgresql", parts.netloc, parts.path, urlencode(rest, quote_via=quote), "")
    )
    shown = [(key, value) for key, value in rest if key in _PLACE]
    query = urlencode([*shown, (_INDEX, name)], safe="/,", quote_via=quote)
    place = parts.netloc.rpartition("@")[2]
    label = f"postgresql://{place}{parts.path}?{query}"
    return Address(conninfo, name, label)


def _malformed() -> ConfigError:
    return ConfigError(
        "The URL of the PostgreSQL server cannot be read.",
        fix="Write it as postgresql://USER@HOST:PORT/DATABASE?index=NAME. Percent-encode special "
        "characters of a password, or leave it to PGPASSWORD or a password file.",
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
    said = error.diag.message_primary or str(error).strip().partition("\n")[0]
    return (said or type(error).__name__).rstrip(".")


_ESCAPE = "\x01"
_SPECIAL = re.compile("[\x00\x01\ud800-\udfff]")
_ESCAPED = re.compile("\x01(\x01|\x02|\x03[0-9a-f]{4})")
_TEXT_OID, _INT8_OID = 25, 20


def encode_text(text: str) -> bytes:
    """Return a text as UTF-8, with what PostgreSQL does not store escaped."""
    if "\x00" not in text and _ESCAPE not in text:
        try:
            return text.encode()
        except UnicodeEncodeError:
            pass
    return _SPECIAL.sub(_escape, text).encode()


def decode_text(data: bytes) -> str:
    """Return the text that `encode_text` encoded."""
    text = data.decode()
    return _ESCAPED.sub(_restore, text) if _ESCAPE in text else text


def _escape(found: re.Match[str]) -> str:
    character = found.group()
    if character == "\x00":
        return f"{_ESCAPE}\x01"
    return f"{_ESCAPE}\x02" if character == _ESCAPE else f"{_ESCAPE}\x03{ord(character):04x}"


def _restore(found: re.Match[str]) -> str:
    code = found.group(1)
    if code == "\x01":
        return "\x00"
    return _ESCAPE if code == "\x02" else chr(int(code[1:], 16))


class _TextDumper(Dumper):
    """Sends a text without a type, so that the server takes that of the column."""

    format = Format.TEXT
    oid = 0

    def dump(self, obj: str) -> bytes:
        return encode_text(obj)


class _TypedTextDumper(_TextDumper):
    """Sends a text in a list, whose elements need a type."""

    format = Format.BINARY
    oid = _TEXT_OID


class _BoolDumper(Dumper):
    """Sends a truth value as a number: columns of SQLite have no other type for it.

    COPY uses it for all numbers of its type.
    """

    format = Format.BINARY
    oid = _INT8_OID

    def dump(self, obj: bool) -> bytes:
        return int(obj).to_bytes(8, "big", signed=True)


class _TextLoader(Loader):
    def load(self, data: Buffer) -> str:
        return decode_text(bytes(data))


class _BinaryTextLoader(_TextLoader):
    format = Format.BINARY


def make_adapters() -> AdaptersMap:
    """Return the adapters of all connections.

    Whole numbers are bigint whatever their size, also in lists, so that a statement has one plan.
    """
    made = AdaptersMap(adapters)
    made.register_dumper(str, _TypedTextDumper)
    made.register_dumper(str, _TextDumper)
    made.register_dumper(int, Int8BinaryDumper)
    made.register_dumper(list, ListBinaryDumper)
    made.register_dumper(bool, _BoolDumper)
    for name in ("text", "varchar", "name"):
        made.register_loader(name, _TextLoader)
        made.register_loader(name, _BinaryTextLoader)
    return made


_COPY_HEADER = b"PGCOPY\n\xff\r\n\x00" + bytes(8)
_COPY_TRAILER = b"\xff\xff"


def number_rows(*columns: NDArray[np.signedinteger]) -> bytes:
    """Return rows for a binary COPY from one array for each column, of int64 or int32."""
    fields: list[tuple[str, str]] = [("fields", ">i2")]
    for place, column in enumerate(columns):
        fields += [(f"n{place}", ">i4"), (f"v{place}", f">i{column.dtype.itemsize}")]
    rows = np.empty(len(columns[0]), dtype=fields)
    rows["fields"] = len(columns)
    for place, column in enumerate(columns):
        rows[f"n{place}"] = column.dtype.itemsize
        rows[f"v{place}"] = column
    return _COPY_HEADER + rows.tobytes() + _COPY_TRAILER


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


class Pool(ConnectionPool[Connection]):
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
        super().__init__(
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
        self.open()

    def take(self) -> Connection:
        """Return a connection for this thread. Raises StoreUnavailable if none is free in time."""
        end = time.monotonic() + self._retry_s
        while True:
            check_cancelled()
            try:
                return self.getconn(timeout=min(_POOL_WAIT_S, self._retry_s))
            except PoolTimeout:
                if time.monotonic() >= end:
                    raise StoreUnavailable(
                        f"There is no free connection to `{self._label}` (waited "
                        f"{self._retry_s:g} s).",
                        fix="Check that the server runs and can be reached, or allow more "
                        "connections with store.pool_size.",
                    ) from None
