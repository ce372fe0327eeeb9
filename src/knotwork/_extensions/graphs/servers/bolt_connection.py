"""Connect to a graph database over Bolt, with time limits that do not depend on the server.

This is a thin layer over Neo4j's driver (extra `bolt`). Statements run on an event loop in a
separate thread, because only the asynchronous driver can stop waiting for a server. The rows are
converted to plain values, as a statement on the index returns them.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from sys import getsizeof
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from knotwork._cancellation import sleep, wait_for
from knotwork._extensions.graphs.servers.dialects import Dialect, find_dialect
from knotwork._extensions.graphs.servers.server_address import ServerAddress
from knotwork._query_memory import POOL, result_too_large
from knotwork.errors import (
    GraphServerError,
    GraphServerUnavailable,
    QueryRefused,
    QuerySyntaxError,
    QueryTimeout,
    required,
)
from knotwork.records import PropertyValue

if TYPE_CHECKING:
    from neo4j import AsyncDriver, AsyncSession, AsyncTransaction, ResultSummary
    from neo4j.graph import Node, Relationship


_MAX_DEPTH = 60
_SCALAR_BYTES = 40
_MAP_BYTES = 220

NodeIds = Callable[["Node"], str | None]
"""Returns the id of a node, or None if the node came without what it follows from."""


def element_id(node: Node) -> str:
    """Return the id that a database gave to a node."""
    return str(node.element_id)


def own_id(node: Node) -> str | None:
    """Return the id of a node of a mirror: its property."""
    found = node.get("id")
    return None if found is None else str(found)


class ValueConverter:
    """Converts the rows of one result. Raises QueryRefused if they are too large in all.

    ``node_id`` returns the ids of nodes. The ends of relationships are of the ``ends``, by element
    id, if they came without properties. ``unlimited`` is for results that no user asked for.
    """

    def __init__(
        self, node_id: NodeIds, ends: Mapping[str, str] | None = None, *, unlimited: bool = False
    ) -> None:
        self._node_id = node_id
        self._limit = None if unlimited else POOL.ceilings.result_bytes
        self._ends = ends or {}
        self._size = 0

    def row(self, values: Iterable[Any]) -> tuple[PropertyValue, ...]:
        """Return the plain values of a row."""
        return tuple(self.plain(value) for value in values)

    def plain(self, value: Any, depth: int = 0) -> PropertyValue:  # noqa: ANN401, PLR0911 - one a kind
        """Return a plain value."""
        from neo4j.graph import Node, Path, Relationship

        if depth > _MAX_DEPTH:
            raise QueryRefused("A value nests too deeply to be returned.")
        if isinstance(value, str):
            return self._counted(value, getsizeof(value))
        if value is None or isinstance(value, bool | int | float):
            return self._counted(value, _SCALAR_BYTES)
        if isinstance(value, Node):
            return self._node(value, depth)
        if isinstance(value, Relationship):
            return self._relationship(value, depth)
        if isinstance(value, Path):
            return {
                "nodes": [self.plain(node, depth + 1) for node in value.nodes],
                "relationships": [self.plain(edge, depth + 1) for edge in value.relationships],
            }
        if isinstance(value, Mapping):
            self._counted(value, _MAP_BYTES)
            return {str(key): self.plain(item, depth + 1) for key, item in value.items()}
        if isinstance(value, list | tuple) and type(value) in (list, tuple):
            self._counted(value, getsizeof(value))
            return [self.plain(item, depth + 1) for item in value]
        return self._other(value)

    def _counted(self, value: PropertyValue, count: int) -> PropertyValue:
        self._size += count
        if self._limit is not None and self._size > self._limit:
            raise result_too_large(self._limit)
        return value

    def _node(self, node: Node, depth: int) -> PropertyValue:
        self._counted(None, _MAP_BYTES)
        return {
            "id": self._id_of(node),
            "labels": sorted(node.labels),
            "properties": self._properties(node, depth),
        }

    def _relationship(self, edge: Relationship, depth: int) -> PropertyValue:
        self._counted(None, _MAP_BYTES)
        source = self._id_of(edge.start_node) if edge.start_node is not None else ""
        target = self._id_of(edge.end_node) if edge.end_node is not None else ""
        if self._node_id is own_id:
            parts = (source, edge.type, target, str(edge.get("relation") or ""))
            key = ":".join(part for part in parts if part)
        else:
            key = str(edge.element_id)
        return {
            "id": key,
            "type": edge.type,
            "source": source,
            "target": target,
            "properties": self._properties(edge, depth),
        }

    def _properties(self, item: Node | Relationship, depth: int) -> dict[str, PropertyValue]:
        return {str(key): self.plain(value, depth + 1) for key, value in item.items()}

    def _id_of(self, node: Node) -> str:
        found = self._node_id(node)
        return self._ends.get(node.element_id, "") if found is None else found

    def _other(self, value: Any) -> PropertyValue:  # noqa: ANN401 - of the driver
        """Return a time, duration or point as text or a map, and bytes as hexadecimal digits."""
        if isinstance(value, bytes | bytearray):
            return self._counted(value.hex(), getsizeof(value) * 2)
        if hasattr(value, "iso_format"):
            return self._counted(str(value.iso_format()), _MAP_BYTES)
        if hasattr(value, "srid"):
            names = ("x", "y", "z")
            coordinates = dict(zip(names, map(float, value), strict=False))
            return self._counted({"srid": value.srid, **coordinates}, _MAP_BYTES)
        raise QueryRefused(f"A value of the type {type(value).__name__} cannot be returned.")


def unknown_ends(values: Iterable[Any], node_id: NodeIds) -> set[str]:
    """Return the element ids of the ends of relationships that came without their properties."""
    from neo4j.graph import Path, Relationship

    found: set[str] = set()
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        if isinstance(value, Relationship):
            ends = (end for end in value.nodes if end is not None and node_id(end) is None)
            found.update(str(end.element_id) for end in ends)
        elif isinstance(value, Path):
            waiting += value.relationships
        elif isinstance(value, Mapping):
            waiting += value.values()
        elif isinstance(value, list | tuple):
            waiting += value
    return found


Result = TypeVar("Result")

RETRY_S = 30.0
"""How long a managed transaction is repeated after errors that may pass."""

WRITE_TIMEOUT_S = 600.0
READ_ATTEMPTS = 3
_PAUSE_S = 0.1
_CONNECT_TIMEOUT_S = 10.0
_GRACE_S = 2.0
"""How long a server may be late to end a statement at its time limit before we stop waiting."""


class Rows(NamedTuple):
    """Rows of a statement in the types of the driver, and its columns.

    ``truncated`` is True if there were more rows than the limit.
    """

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    truncated: bool


@dataclass(frozen=True, slots=True)
class BoltStatement:
    """A statement with its parameters, and a limit of its own in place of that of `read`."""

    text: str
    parameters: Mapping[str, Any]
    row_limit: int | None = None


Check = Callable[[Dialect, "ResultSummary", str], None]
"""Raises QueryRefused if the plan of a statement writes; takes its dialect, summary and text."""


class BoltConnection:
    """A connection to one database, opened on first use. Safe for many threads.

    Raises MissingExtra without the driver.
    """

    def __init__(self, address: ServerAddress) -> None:
        with required("A graph database over Bolt", "bolt"):
            import neo4j  # noqa: F401 - its absence is reported now and not with the first use
        self.address = address
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._driver: AsyncDriver | None = None
        self._dialect: Dialect | None = None
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        """The URL of the server, without a password."""
        return self.address.url

    def dialect(self) -> Dialect:
        """Return the dialect of the server. Raises GraphServerError if it cannot be reached."""
        if self._dialect is None:
            self._dialect = self._run(self._ask_dialect, timeout_s=_CONNECT_TIMEOUT_S + _GRACE_S)
        return self._dialect

    def read(
        self,
        statements: Sequence[BoltStatement],
        *,
        row_limit: int,
        timeout_s: float,
        check: Check | None = None,
    ) -> list[Rows]:
        """Run statements in one transaction for reading, which is rolled back at its end.

        ``check`` judges the plan of each statement before it runs. Errors that may pass are
        repeated within the time limit. Raises QueryTimeout, QuerySyntaxError, QueryRefused and
        GraphServerError.
        """
        dialect = self.dialect()

        async def work(driver: AsyncDriver) -> list[Rows]:
            async with self._session(driver, access="READ") as session:
                transaction = await session.begin_transaction(timeout=timeout_s)
                try:
                    if check is not None:
                        for statement in statements:
                            summary, text = await _explain(transaction, statement)
                            check(dialect, summary, text)
                    return [
                        await _fetch(
                            transaction,
                            one,
                            row_limit if one.row_limit is None else one.row_limit,
                        )
                        for one in statements
                    ]
                finally:
                    if not transaction.closed():
                        await transaction.rollback()

        return self._repeat(work, timeout_s=timeout_s)

    def write(
        self, statements: Sequence[BoltStatement], *, on_first: Callable[[Rows], None] | None = None
    ) -> list[Rows]:
        """Run statements in one managed transaction, and return their rows.

        The driver repeats the whole transaction after errors that may pass, so that statements
        must have the same effect if they run twice. ``on_first`` takes the rows of the first one;
        an error that it raises undoes the transaction. Raises GraphServerError.
        """

        async def in_transaction(transaction: Any) -> list[Rows]:  # noqa: ANN401 - of the driver
            found: list[Rows] = []
            for statement in statements:
                found.append(await _fetch(transaction, statement, None))
                if len(found) == 1 and on_first is not None:
                    on_first(found[0])
            return found

        async def work(driver: AsyncDriver) -> list[Rows]:
            async with self._session(driver, access="WRITE") as session:
                return await session.execute_write(in_transaction)

        return self._run(work, timeout_s=WRITE_TIMEOUT_S)

    def create_indexes(self, labels: Iterable[str]) -> None:
        """Create the missing indexes on the property `id` of these labels."""
        dialect = self.dialect()

        async def work(driver: AsyncDriver) -> None:
            from neo4j.exceptions import Neo4jError

            async with self._session(driver, access="WRITE") as session:
                for label in labels:
                    try:
                        result = await session.run(dialect.index.format(label=label))
                        await result.consume()
                    except Neo4jError as error:
                        if not dialect.exists or dialect.exists not in str(error):
                            raise

        self._run(work, timeout_s=WRITE_TIMEOUT_S)

    def close(self) -> None:
        """Close the connection; a later call opens it again."""
        with self._lock:
            loop, thread, driver = self._loop, self._thread, self._driver
            self._loop = self._thread = self._driver = None
        if loop is None or thread is None:
            return
        if driver is not None:
            asyncio.run_coroutine_threadsafe(driver.close(), loop).result(_CONNECT_TIMEOUT_S)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()

    async def _ask_dialect(self, driver: AsyncDriver) -> Dialect:
        # A statement, as a server may greet before it checks the login and the database.
        async with self._session(driver, access="READ") as session:
            result = await session.run("RETURN 1")
            summary = await result.consume()
        return find_dialect(summary.server.agent)

    def _session(self, driver: AsyncDriver, *, access: str) -> AsyncSession:
        return driver.session(default_access_mode=access, database=self.address.database or None)

    def _repeat(
        self, work: Callable[[AsyncDriver], Coroutine[Any, Any, Result]], *, timeout_s: float
    ) -> Result:
        ends_s = time.monotonic() + timeout_s
        for attempt in range(1, READ_ATTEMPTS + 1):
            try:
                left_s = max(ends_s - time.monotonic(), 0) + _GRACE_S
                return self._run(work, timeout_s=left_s, limit_s=timeout_s)
            except GraphServerUnavailable:
                if attempt == READ_ATTEMPTS or time.monotonic() >= ends_s:
                    raise
            sleep(_PAUSE_S * attempt)
        raise AssertionError("the last attempt returns or raises")

    def _run(
        self,
        work: Callable[[AsyncDriver], Coroutine[Any, Any, Result]],
        *,
        timeout_s: float,
        limit_s: float | None = None,
    ) -> Result:
        """Run work on the event loop. Raises QueryTimeout after ``timeout_s``.

        The error names ``limit_s`` instead if it is given.
        """
        loop, driver = self._open()
        job = asyncio.run_coroutine_threadsafe(asyncio.wait_for(work(driver), timeout_s), loop)
        try:
            return wait_for(job)
        except TimeoutError:
            raise QueryTimeout(
                f"The server {self.url} did not answer within {limit_s or timeout_s:g} s.",
                fix="Narrow the statement, or raise the time limit.",
            ) from None
        except Exception as error:
            raise explain_error(error, self.address) from error
        finally:
            job.cancel()

    def _open(self) -> tuple[asyncio.AbstractEventLoop, AsyncDriver]:
        with self._lock:
            if self._loop is None or self._driver is None:
                credentials = self.address.credentials()
                loop = asyncio.new_event_loop()
                thread = threading.Thread(
                    target=loop.run_forever, name="knotwork-bolt", daemon=True
                )
                thread.start()
                try:
                    self._driver = asyncio.run_coroutine_threadsafe(
                        self._connect(credentials), loop
                    ).result()
                except Exception as error:  # noqa: BLE001 - the loop must not outlive it
                    loop.call_soon_threadsafe(loop.stop)
                    thread.join()
                    loop.close()
                    raise explain_error(error, self.address) from None
                self._loop, self._thread = loop, thread
            return self._loop, self._driver

    async def _connect(self, credentials: tuple[str, str] | None) -> AsyncDriver:
        from neo4j import AsyncGraphDatabase

        return AsyncGraphDatabase.driver(
            self.address.endpoint,
            auth=credentials,
            connection_timeout=_CONNECT_TIMEOUT_S,
            connection_acquisition_timeout=_CONNECT_TIMEOUT_S,
            max_transaction_retry_time=RETRY_S,
            keep_alive=True,
            user_agent="knotwork",
        )


async def _explain(
    transaction: AsyncTransaction, statement: BoltStatement
) -> tuple[ResultSummary, str]:
    """Return the summary of the plan of a statement, and its text, rows and all."""
    explained = "EXPLAIN " + statement.text
    result = await transaction.run(explained, dict(statement.parameters))
    rows = [str(value) for record in await result.fetch(1_000) for value in record.values()]
    summary = await result.consume()
    plan = summary.plan or {}
    return summary, "\n".join([*rows, *_plan_texts(plan)])


def _plan_texts(plan: Mapping[str, Any]) -> Iterable[str]:
    yield str(plan.get("operatorType", ""))
    yield from (str(value) for value in (plan.get("args") or {}).values())
    for child in plan.get("children") or ():
        yield from _plan_texts(child)


async def _fetch(
    transaction: AsyncTransaction, statement: BoltStatement, row_limit: int | None
) -> Rows:
    result = await transaction.run(statement.text, dict(statement.parameters))
    columns = tuple(result.keys())
    if row_limit is None:
        return Rows(columns, [tuple(record.values()) async for record in result], truncated=False)
    found = await result.fetch(row_limit + 1)
    summary = await result.consume()
    if summary.counters.contains_updates or summary.counters.contains_system_updates:
        raise GraphServerError(
            "A statement that was to read changed the graph; the change was rolled back.",
            fix="Give the connection a user of the database that may only read.",
        )
    rows = [tuple(record.values()) for record in found[:row_limit]]
    return Rows(columns, rows, truncated=len(found) > row_limit)


_LONGEST = 500


def explain_error(error: Exception, address: ServerAddress) -> Exception:  # noqa: PLR0911 - one a kind
    """Return our error for one of the driver or of the network, and any other as it is.

    No message has a password.
    """
    from neo4j import exceptions as driver

    place, words = address.url, _words(error, address)
    if isinstance(error, driver.AuthError):
        return GraphServerError(
            f"The server {place} did not accept the login: {words}.",
            fix="Check the user in the URL, and the variable with the password.",
        )
    if isinstance(error, driver.CypherSyntaxError):
        return QuerySyntaxError(f"The server {place} cannot parse the statement: {words}.")
    if isinstance(error, driver.Neo4jError):
        code = error.code or ""
        if "TimedOut" in code or "timeout" in words.lower():
            return QueryTimeout(
                f"The server {place} ended the statement at its time limit: {words}.",
                fix="Narrow the statement, or raise the time limit.",
            )
        if error.is_retryable():
            return GraphServerUnavailable(f"The server {place} is busy: {words}.", fix="Try again.")
        if isinstance(error, driver.Forbidden) or "AccessMode" in code:
            return QueryRefused(f"The server {place} refused the statement: {words}.")
        if ".Statement." in code:
            return QuerySyntaxError(f"The server {place} cannot run the statement: {words}.")
        return GraphServerError(f"The server {place} failed: {words}.")
    if isinstance(error, driver.ConfigurationError):
        return GraphServerError(f"The connection to {place} cannot be set up: {words}.")
    if isinstance(error, driver.DriverError | OSError):
        return GraphServerUnavailable(
            f"The server {place} cannot be reached: {words}.",
            fix="Check that it runs, its port, and whether it requires encryption (bolt+s).",
        )
    return error


def _words(error: Exception, address: ServerAddress) -> str:
    """Return the message of an error on one line, shortened, without the password."""
    text = getattr(error, "message", None) or str(error) or type(error).__name__
    line = " ".join(str(text).split()).rstrip(".")
    if address.password:
        line = line.replace(address.password, "…")
    return line if len(line) <= _LONGEST else line[:_LONGEST] + "…"
