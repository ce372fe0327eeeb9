"""Limit the connections of a server: their number, and how slowly clients may send and read.

Nothing here knows what is requested. uvicorn itself waits forever for the rest of a header, a body
or a reader, and accepts connections until the process has no files left.
"""

from __future__ import annotations

import asyncio
import ipaddress
import time
from collections import Counter
from collections.abc import Callable, Container, Iterable
from contextlib import suppress
from dataclasses import dataclass, field

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from knotwork._extensions.server.responses import security_headers
from knotwork.errors import ConfigError

RESERVED_FILES = 320
"""Files left for indexes, uploads, and connections that are accepted but not counted yet."""

ACCEPTED_AT_ONCE = 32
"""Connections that asyncio accepts before it runs anything else."""

_RATE_WINDOW_S = 10.0
_CLOSING_GRACE_S = 5.0


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """The limits of all connections.

    ``proxies`` are addresses to which the limit of one client does not apply. ``bytes_per_s`` is
    the minimum rate at which a client sends a body and reads a response, averaged over
    ``window_s``; 0 for no minimum.
    """

    most: int
    most_per_client: int
    header_timeout_s: float = 10.0
    bytes_per_s: int = 1_000
    window_s: float = _RATE_WINDOW_S
    proxies: Container[str] = ()


@dataclass(slots=True, eq=False)
class _Group:
    """Some of the open connections; those that wait for a request in the order of their waiting."""

    count: int = 0
    unfinished: dict[LimitedProtocol, None] = field(default_factory=dict)
    """Connections without a complete request header."""

    idle: dict[LimitedProtocol, None] = field(default_factory=dict)
    """Connections between two requests."""

    def longest_waiting(self) -> LimitedProtocol | None:
        """Return the connection to close if there must be room for another one."""
        return next(iter(self.unfinished or self.idle), None)

    def forget(self, connection: LimitedProtocol) -> None:
        self.unfinished.pop(connection, None)
        self.idle.pop(connection, None)


class ProxyNetworks:
    """The addresses of trusted reverse proxies. Raises ConfigError for an invalid one."""

    def __init__(self, networks: Iterable[str]) -> None:
        self._networks = []
        for text in networks:
            try:
                self._networks.append(ipaddress.ip_network(text, strict=False))
            except ValueError as error:
                raise ConfigError(
                    f"`{text}` in service.trusted_proxies is not an address or a network.",
                    fix="Write addresses such as 127.0.0.1, or networks such as 10.0.0.0/8.",
                ) from error

    def __contains__(self, address: object) -> bool:
        try:
            found = ipaddress.ip_address(str(address))
        except ValueError:
            return False
        return any(found in network for network in self._networks)


class ConnectionTable:
    """The open connections of one server. Use it in one event loop only."""

    def __init__(
        self, limits: ConnectionLimits, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.limits = limits
        self.clock = clock
        self.open: set[LimitedProtocol] = set()
        self.closed: Counter[str] = Counter()
        """The number of connections closed by the server, by reason."""

        self._all = _Group()
        self._clients: dict[str, _Group] = {}

    def admit(self, connection: LimitedProtocol) -> bool:
        """Count a new connection, and return True if there is room for it.

        If a limit is reached, the connection that has waited longest for a request is closed
        instead. An honest client sends its header at once, so a flood of unfinished requests
        closes only its own.
        """
        client = self._clients.get(connection.address) or _Group()
        is_limited = connection.address not in self.limits.proxies
        group = None
        if is_limited and client.count >= self.limits.most_per_client:
            group = client
        elif self._all.count >= self.limits.most:
            group = self._all
        if group is not None:
            replaced = group.longest_waiting()
            if replaced is None:
                self.closed["refused"] += 1
                return False
            replaced.drop("replaced")
        self.open.add(connection)
        client = self._clients.setdefault(connection.address, client)
        client.count += 1
        self._all.count += 1
        return True

    def remove(self, connection: LimitedProtocol) -> None:
        """Forget a closed connection."""
        if connection not in self.open:
            return
        self.open.remove(connection)
        client = self._clients[connection.address]
        for group in (client, self._all):
            group.forget(connection)
            group.count -= 1
        if not client.count:
            del self._clients[connection.address]

    def note_waiting(self, connection: LimitedProtocol, *, idle: bool) -> None:
        """Note that a connection waits for a request, or for the rest of its header."""
        for group in self._groups(connection):
            group.forget(connection)
            (group.idle if idle else group.unfinished)[connection] = None

    def note_working(self, connection: LimitedProtocol) -> None:
        """Note that a connection has sent a complete request header."""
        for group in self._groups(connection):
            group.forget(connection)

    def sweep(self) -> None:
        """Close the connections that are too slow."""
        now = self.clock()
        for connection in list(self.open):
            connection.check_speed(now)

    def _groups(self, connection: LimitedProtocol) -> tuple[_Group, ...]:
        if connection not in self.open:
            return ()
        return self._clients[connection.address], self._all


class LimitedProtocol(H11Protocol):
    """The HTTP/1.1 protocol of uvicorn within the limits of a `ConnectionTable`."""

    table: ConnectionTable
    """Set by `protocol_of`."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        now = self.table.clock()
        self.address = self.client[0] if self.client else ""
        self._is_refused = False
        self._is_idle = False
        self._waiting_s: float | None = now
        self._closing_s: float | None = None
        self._received = 0
        self._window = _Window(now)
        self._unsent = _Window(now)
        if self.table.admit(self):
            self.table.note_waiting(self, idle=False)
        else:
            self._is_refused = True
            self._send_plain(503, "Too many connections.", {"Retry-After": "2"})

    def connection_lost(self, exc: Exception | None) -> None:
        self.table.remove(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._is_refused or self.transport.is_closing():
            return
        self._received += len(data)
        super().data_received(data)
        self._note_state()

    def pause_writing(self) -> None:
        super().pause_writing()
        left = self.transport.get_write_buffer_size()
        self._unsent = _Window(self.table.clock(), -left)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._note_state(between_requests=True)

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP, with the headers of all responses."""
        self._is_refused = True
        self._send_plain(400, msg, {})

    def drop(self, reason: str) -> None:
        """Close the connection now, without a response, and forget it."""
        self.table.closed[reason] += 1
        self._is_refused = True
        self.table.remove(self)
        self.transport.abort()

    def check_speed(self, now: float) -> None:
        """Close the connection if its client is slower than the limits allow."""
        limits = self.table.limits
        if self.transport.is_closing():
            self._closing_s = now if self._closing_s is None else self._closing_s
            if now - self._closing_s >= _CLOSING_GRACE_S:
                self.drop("unread")
        elif self._waiting_s is not None:
            if not self._is_idle and now - self._waiting_s >= limits.header_timeout_s:
                self._time_out()
        elif limits.bytes_per_s and self._is_slow_sender(now):
            self._time_out()
        elif limits.bytes_per_s and self._is_slow_reader(now):
            self.drop("slow response")

    def _is_slow_sender(self, now: float) -> bool:
        """Return True if the body that the application waits for arrives too slowly."""
        if self.conn.their_state is not h11.SEND_BODY or self.flow.read_paused:
            self._window = _Window(now, self._received)
            return False
        return self._window.is_slow(now, self._received, self.table.limits)

    def _is_slow_reader(self, now: float) -> bool:
        """Return True if a response that waits for its reader is read too slowly."""
        left = self.transport.get_write_buffer_size()
        # While writing is paused, nothing is added: what is sent is what the buffer loses.
        return self.flow.write_paused and self._unsent.is_slow(now, -left, self.table.limits)

    def _note_state(self, *, between_requests: bool = False) -> None:
        """Update whether the connection waits for a request, in the table too."""
        waits = self.conn.their_state is h11.IDLE and not self.transport.is_closing()
        if not waits:
            if self._waiting_s is not None:
                self._window = _Window(self.table.clock(), self._received)
            self._waiting_s = None
            self.table.note_working(self)
        elif self._waiting_s is None or (self._is_idle and not between_requests):
            self._is_idle = between_requests
            self._waiting_s = self.table.clock()
            self.table.note_waiting(self, idle=between_requests)

    def _time_out(self) -> None:
        self.table.closed["slow request"] += 1
        if self._received and not (self.cycle and self.cycle.response_started):
            self._send_plain(408, "The request arrived too slowly.", {})
        else:
            self.transport.abort()

    def _send_plain(self, status: int, text: str, headers: dict[str, str]) -> None:
        """Send a short response, and close the connection."""
        if self.cycle is not None:
            # The application sees a disconnect, and may not send a second response.
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        sent = {
            **security_headers(),
            "Connection": "close",
            "Content-Type": "text/plain; charset=utf-8",
            "Content-Length": str(len(text)),
            **headers,
        }
        with suppress(h11.LocalProtocolError):
            response = h11.Response(status_code=status, headers=list(sent.items()))
            for event in (response, h11.Data(data=text.encode()), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()


@dataclass(slots=True)
class _Window:
    """A stretch of time over which the rate of a client is averaged."""

    start_s: float
    count: int = 0

    def is_slow(self, now: float, count: int, limits: ConnectionLimits) -> bool:
        """Return True if a whole window brought too few bytes, and begin the next one."""
        passed = now - self.start_s
        if passed < limits.window_s:
            return False
        is_slow = count - self.count < passed * limits.bytes_per_s
        self.start_s, self.count = now, count
        return is_slow


def protocol_of(table: ConnectionTable) -> type[LimitedProtocol]:
    """Return the protocol class of one server, which uvicorn creates for each connection."""
    return type("ServerProtocol", (LimitedProtocol,), {"table": table})


def fit_file_limit(connections: int) -> int:
    """Return how many of these connections the process may have, at least 8.

    Raises the soft limit of open files as far as the hard limit allows, and leaves
    `RESERVED_FILES` for everything else.
    """
    try:
        import resource
    except ImportError:  # Windows limits no files
        return connections
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = connections + RESERVED_FILES
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return connections
    allowed = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    with suppress(ValueError, OSError):  # macOS has another limit below the hard one
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
        soft = allowed
    return max(8, min(connections, soft - min(RESERVED_FILES, soft // 2)))
