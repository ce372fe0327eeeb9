"""Connections: how many there may be, and how slowly clients may send and read."""

from __future__ import annotations

import asyncio
import resource
from contextlib import contextmanager

import pytest
import uvicorn
from uvicorn.server import ServerState

from knotwork._extensions.server.connections import (
    RESERVED_FILES,
    ConnectionLimits,
    ConnectionTable,
    ProxyNetworks,
    fit_file_limit,
    protocol_of,
)
from knotwork.errors import ConfigError

HALF = b"GET / HTTP/1.1\r\nHost: a\r\nX-Ha"
WHOLE = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
BODY = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n"
FAR = "192.0.2.7"


class Transport(asyncio.Transport):
    """A transport that keeps what is sent, and whose client may stop reading."""

    def __init__(self, address):
        super().__init__()
        self.address = address
        self.sent = b""
        self.unread = 0
        self.is_open = True
        self.aborted = False

    def get_extra_info(self, name, default=None):
        return (self.address, 5) if name == "peername" else default

    def write(self, data):
        self.sent += data

    def get_write_buffer_size(self):
        return self.unread

    def pause_reading(self):
        pass

    def resume_reading(self):
        pass

    def is_closing(self):
        return not self.is_open

    def close(self):
        self.is_open = False

    def abort(self):
        self.is_open = False
        self.aborted = True


class Site:
    """A server without sockets, whose clock stands still."""

    def __init__(self, app, limits):
        self.now_s = 0.0
        self.table = ConnectionTable(limits, clock=lambda: self.now_s)
        self._config = uvicorn.Config(app, http=protocol_of(self.table), log_config=None)
        self._config.load()
        self._state = ServerState()

    def connect(self, *, address=FAR):
        protocol = self._config.http_protocol_class(
            config=self._config, server_state=self._state, app_state={}
        )
        transport = Transport(address)
        protocol.connection_made(transport)
        return protocol, transport

    def pass_time(self, seconds):
        self.now_s += seconds
        self.table.sweep()


async def answer(_scope, _receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"done"})


async def hang(_scope, receive, _send):
    while (await receive())["type"] != "http.disconnect":
        pass


async def settle():
    for _ in range(10):
        await asyncio.sleep(0)


def site_of(app=answer, **limits):
    return Site(app, ConnectionLimits(**{"most": 10, "most_per_client": 10, **limits}))


def test_half_a_header_is_closed_in_time_and_a_connection_between_requests_is_not():
    async def work():
        site = site_of(header_timeout_s=10)
        silent, (half, sent), (done, answered) = (
            site.connect(),
            site.connect(),
            site.connect(),
        )
        half.data_received(HALF)
        done.data_received(WHOLE)
        await settle()
        assert answered.sent.startswith(b"HTTP/1.1 200")
        site.pass_time(9)
        half.data_received(b"lf: 1")  # a byte now and then does not help
        assert silent[1].is_open
        assert sent.is_open
        site.pass_time(2)
        assert not silent[1].is_open
        assert not silent[1].sent
        assert sent.sent.startswith(b"HTTP/1.1 408")
        assert b"nosniff" in sent.sent
        assert not sent.is_open
        assert answered.is_open
        done.data_received(HALF)
        site.pass_time(9)
        assert answered.is_open
        site.pass_time(2)
        assert not answered.is_open

    asyncio.run(work())


def test_a_new_connection_takes_the_place_of_the_one_that_waits_longest_for_a_request():
    async def work():
        site = site_of(most_per_client=3)
        waiting = [site.connect() for _ in range(3)]
        for protocol, _ in waiting:
            protocol.data_received(HALF)
        other, kept = site.connect(address="192.0.2.8")
        other.data_received(HALF)
        honest, answered = site.connect()
        assert [transport.aborted for _, transport in waiting] == [True, False, False]
        assert kept.is_open
        honest.data_received(WHOLE)
        await settle()
        assert b"200" in answered.sent
        assert site.table.closed == {"replaced": 1}

    asyncio.run(work())


def test_the_limit_of_all_clients_holds_over_their_addresses():
    async def work():
        site = site_of(most=4, most_per_client=4)
        opened = [site.connect(address=f"192.0.2.{n}") for n in range(40)]
        for protocol, _ in opened:
            protocol.data_received(HALF)
        assert sum(transport.is_open for _, transport in opened) == 4
        assert len(site.table.open) == 4
        for protocol, transport in opened:
            if transport.is_open:
                transport.close()
            protocol.connection_lost(None)
        assert not site.table.open
        assert site.connect()[1].is_open

    asyncio.run(work())


def test_where_all_connections_are_at_work_the_newest_is_refused():
    async def work():
        site = site_of(hang, most=2)
        working = [site.connect() for _ in range(2)]
        for protocol, _ in working:
            protocol.data_received(WHOLE)
        await settle()
        late, refused = site.connect()
        assert refused.sent.startswith(b"HTTP/1.1 503")
        assert b"Retry-After" in refused.sent
        assert not refused.is_open
        late.data_received(WHOLE)
        assert all(transport.is_open for _, transport in working)
        for protocol, _ in working:
            protocol.connection_lost(None)
        await settle()

    asyncio.run(work())


def test_connections_of_a_trusted_proxy_count_as_many_clients():
    async def work():
        site = site_of(most_per_client=1, proxies=ProxyNetworks(["10.0.0.0/8", "::1"]))
        assert all(site.connect(address="10.1.2.3")[1].is_open for _ in range(3))
        first, _ = site.connect(), site.connect()
        assert not first[1].is_open

    asyncio.run(work())
    with pytest.raises(ConfigError, match="not an address"):
        ProxyNetworks(["*"])


def test_a_body_that_arrives_too_slowly_is_not_waited_for():
    async def work():
        site = site_of(hang, bytes_per_s=1_000, window_s=10)
        (slow, refused), (quick, kept) = site.connect(), site.connect()
        for protocol in (slow, quick):
            protocol.data_received(BODY)
        await settle()
        for _ in range(12):
            slow.data_received(b"x" * 100)
            quick.data_received(b"x" * 2_000)
            await settle()
            site.pass_time(1)
        assert refused.sent.startswith(b"HTTP/1.1 408")
        assert not refused.is_open
        assert kept.is_open
        quick.connection_lost(None)
        slow.connection_lost(None)
        await settle()
        assert slow.cycle.disconnected

    asyncio.run(work())


def test_time_between_two_requests_is_not_body_time():
    async def work():
        site = site_of(bytes_per_s=1_000, window_s=10)
        protocol, transport = site.connect()
        protocol.data_received(WHOLE)
        await settle()
        site.pass_time(25)
        protocol.data_received(BODY)
        site.pass_time(1)
        assert transport.is_open
        protocol.connection_lost(None)
        await settle()

    asyncio.run(work())


def test_a_client_that_waits_for_the_server_is_not_slow():
    async def busy(_scope, _receive, _send):
        await asyncio.get_running_loop().create_future()

    async def work():
        site = site_of(busy, bytes_per_s=1_000, window_s=10)
        protocol, transport = site.connect()
        protocol.data_received(BODY + b"x" * 100_000)  # more than uvicorn takes unasked
        await settle()
        for _ in range(100):
            site.pass_time(1)
        assert transport.is_open

    asyncio.run(work())


def test_a_response_that_nobody_reads_is_dropped():
    async def work():
        site = site_of(hang, bytes_per_s=1_000, window_s=10)
        (lazy, dropped), (slow, kept) = site.connect(), site.connect()
        for protocol, transport in ((lazy, dropped), (slow, kept)):
            protocol.data_received(WHOLE)
            await settle()
            transport.unread = 200_000
            protocol.pause_writing()
        for _ in range(12):
            kept.unread -= 2_000
            site.pass_time(1)
        assert dropped.aborted
        assert kept.is_open
        for protocol in (lazy, slow):
            protocol.connection_lost(None)
        await settle()

    asyncio.run(work())


def test_a_closed_connection_does_not_wait_for_its_reader_forever():
    async def work():
        site = site_of()
        _, transport = site.connect()
        transport.close()
        site.pass_time(1)
        assert not transport.aborted
        site.pass_time(10)
        assert transport.aborted

    asyncio.run(work())


def test_requests_that_are_not_http_get_the_usual_headers():
    async def work():
        protocol, transport = site_of().connect()
        protocol.data_received(b"\x16\x03\x01 hello\r\n\r\n")
        assert transport.sent.startswith(b"HTTP/1.1 400")
        for name in (b"nosniff", b"Content-Security-Policy", b"no-store", b"no-referrer"):
            assert name in transport.sent
        assert not transport.is_open

    asyncio.run(work())


@contextmanager
def file_limits(monkeypatch, soft, hard):
    limits = [soft, hard]
    with monkeypatch.context() as patched:
        patched.setattr(resource, "getrlimit", lambda _: tuple(limits))
        patched.setattr(resource, "setrlimit", lambda _, new: limits.__setitem__(slice(2), new))
        yield limits


def test_connections_leave_files_for_everything_else(monkeypatch):
    with file_limits(monkeypatch, 1_024, 1_024):
        assert fit_file_limit(1_000) == 1_024 - RESERVED_FILES
    with file_limits(monkeypatch, 1_024, 4_096) as limits:
        assert fit_file_limit(1_000) == 1_000
        assert limits == [1_000 + RESERVED_FILES, 4_096]
    with file_limits(monkeypatch, 100, 100):
        assert fit_file_limit(1_000) == 50
    with file_limits(monkeypatch, resource.RLIM_INFINITY, resource.RLIM_INFINITY):
        assert fit_file_limit(1_000) == 1_000
