"""Refuse uploads by their headers, limit those in progress, and end requests of removed keys."""

from __future__ import annotations

import socket
import stat
import threading
import time
from contextlib import ExitStack
from dataclasses import replace
from urllib.parse import urlsplit

import httpx2 as httpx
import pytest
from tests.service.serving import (
    API,
    QUESTION,
    add_key,
    make_settings,
    open_client,
    run_server,
    upload,
    wait_until,
)

from knotwork._extensions.server.keys import KeyFile
from knotwork._extensions.server.limits import ByteQuota
from knotwork._extensions.server.server import ServerConfig
from knotwork._knowledge_base import KnowledgeBase
from knotwork._run import Verb
from knotwork.errors import Overloaded, TooManyRequests

pytestmark = pytest.mark.slow

OPEN = f"{API}/workspaces/open"
PART = b"words " * 20_000
HEAD = b'--x\r\nContent-Disposition: form-data; name="files"; filename="a.txt"\r\n\r\n'


def connect(address):
    parts = urlsplit(address)
    return socket.create_connection((parts.hostname, parts.port), timeout=20)


def begin_upload(connection, path, size, headers):
    lines = [
        f"POST {path} HTTP/1.1",
        "Host: 127.0.0.1",
        "Content-Type: multipart/form-data; boundary=x",
        f"Content-Length: {size}",
        *(f"{name}: {value}" for name, value in headers.items()),
    ]
    connection.sendall("\r\n".join([*lines, "", ""]).encode() + HEAD)


def send_upload(address, path, size, headers):
    """Send an upload as far as the server takes it; return the bytes sent and the reply."""
    sent, reply = 0, b""
    with connect(address) as connection:
        begin_upload(connection, path, size, headers)
        try:
            while sent < size:
                connection.sendall(PART)
                sent += len(PART)
        except OSError:
            pass  # the server closed the connection
        try:
            while data := connection.recv(65_536):
                reply += data
        except OSError:
            pass
    return sent, reply


def test_uploads_that_may_not_be_are_refused_by_their_headers(place):
    writer, reader = add_key(place, "w", "write", "open"), add_key(place, "r", "read", "*")
    size = 190_000_000
    with run_server(place) as address:
        for path, headers, status in (
            (f"{OPEN}/documents", {}, 401),
            (f"{OPEN}/documents", {"Authorization": "Bearer unknown"}, 401),
            (f"{OPEN}/documents", reader, 403),
            (f"{OPEN}/graphs", reader, 403),
            (f"{API}/workspaces/hidden/documents", writer, 404),
            (f"{API}/workspaces/absent/documents", writer, 404),
            (f"{API}/nowhere", writer, 404),
            (f"{OPEN}/evaluations", writer, 413),
            (f"{OPEN}/ask", writer, 413),
        ):
            sent, reply = send_upload(address, path, size, headers)
            assert reply.startswith(f"HTTP/1.1 {status} ".encode()), (path, status, reply[:100])
            assert b"connection: close" in reply.lower()
            assert b"\r\n\r\n{" in reply
            # What the system buffers between the two, and what the server discards to be heard.
            assert sent < 25_000_000, (path, status)
    assert not list(place.path.glob("*.files/*"))


def test_a_broken_off_upload_leaves_nothing(place):
    headers = add_key(place, "w", "write", "open")
    files = place.path / "open.files"
    with run_server(place) as address:
        with connect(address) as connection:
            begin_upload(connection, f"{OPEN}/documents", 5_000_000, headers)
            for _ in range(20):
                connection.sendall(PART)
            wait_until(lambda: any(file.stat().st_size for file in files.glob("incoming-*/*")))
            held = next(files.glob("incoming-*/*"))
            assert stat.S_IMODE(held.stat().st_mode) == 0o600
            assert stat.S_IMODE(held.parent.stat().st_mode) == 0o700
        wait_until(lambda: not list(files.glob("incoming-*")))
        with httpx.Client(base_url=address, headers=headers) as client:
            assert client.get(f"{OPEN}/documents").status_code == 200


def test_uploads_of_a_client_are_limited_together_while_they_are_received(place):
    one, two, three = (add_key(place, name, "write", "*") for name in ("one", "two", "three"))
    small = replace(place, settings=make_settings(max_upload_mb=2))
    text = "x " * 900_000
    with (
        run_server(small) as address,
        ExitStack() as holding,
        httpx.Client(base_url=address) as client,
    ):
        for key in (one, one, two, two, three):
            connection = holding.enter_context(connect(address))
            begin_upload(connection, f"{OPEN}/documents", 1_900_000, key)
            for _ in range(15):
                connection.sendall(PART)
        files = place.path / "open.files"
        wait_until(lambda: sum(f.stat().st_size for f in files.glob("incoming-*/*")) > 8_000_000)
        refused = upload(client, "open", {"a.md": text}, headers=one)
        assert (refused.status_code, refused.json()["error"]["code"]) == (429, "too_many_requests")
        assert refused.headers["retry-after"]
        crowded = upload(client, "open", {"a.md": text}, headers=three)
        assert (crowded.status_code, crowded.json()["error"]["code"]) == (503, "overloaded")
        holding.close()
        wait_until(lambda: not list(files.glob("incoming-*")))
        assert upload(client, "open", {"a.md": text}, headers=one).status_code == 202


def test_bytes_are_counted_until_they_are_released():
    quota = ByteQuota(100, 60, "uploads")
    with quota.hold("a") as one, quota.hold("b") as two:
        one.add(60)
        with pytest.raises(TooManyRequests):
            one.add(1)
        with pytest.raises(Overloaded):
            two.add(41)
        one.release(30)
        two.add(41)
        assert quota.held == 71
    assert quota.held == 0


@pytest.mark.parametrize(
    ("path", "asked"),
    [
        (f"{OPEN}/ask/stream", {"question": QUESTION}),
        (
            "/v1/chat/completions",
            {
                "model": "open",
                "stream": True,
                "messages": [{"role": "user", "content": QUESTION}],
            },
        ),
    ],
)
def test_a_removed_key_ends_its_streams(place, monkeypatch, path, asked):
    monkeypatch.setattr("knotwork._extensions.server.keys.CHECK_INTERVAL_S", 0.05)
    whole, go_on = KnowledgeBase.ask, threading.Event()

    def held(self, question, **options):
        events = whole.run(self, question, **options)
        yield next(events)
        go_on.wait(30)
        return (yield from events)

    monkeypatch.setattr(KnowledgeBase, "ask", Verb(held))
    headers, other = add_key(place, "mine", "read", "*"), add_key(place, "other", "read", "*")
    begun = time.monotonic()
    with (
        run_server(place) as address,
        httpx.Client(base_url=address, timeout=30) as client,
        client.stream("POST", path, json=asked, headers=headers) as response,
    ):
        assert response.status_code == 200
        lines = response.iter_lines()
        first = next(lines)
        KeyFile(place.keys_path).remove("mine")
        text = "\n".join([first, *lines])
        ended_s = time.monotonic() - begun
        go_on.set()
        assert "not_authenticated" in text
        assert "[DONE]" not in text
        assert ended_s < 20
        assert client.get(f"{API}/workspaces", headers=other).status_code == 200


def test_a_removed_key_gets_no_answer_to_what_it_asked_before(place, monkeypatch):
    monkeypatch.setattr("knotwork._extensions.server.keys.CHECK_INTERVAL_S", 0.05)
    begun, go_on = threading.Event(), threading.Event()

    def held(*_, **__):
        begun.set()
        go_on.wait(30)

    monkeypatch.setattr(KnowledgeBase, "search", held)
    headers = add_key(place, "mine", "read", "*")
    with run_server(place) as address, httpx.Client(base_url=address, timeout=30) as client:
        removing = threading.Thread(
            target=lambda: begun.wait(20) and KeyFile(place.keys_path).remove("mine")
        )
        removing.start()
        found = client.post(f"{OPEN}/search", json={"question": QUESTION}, headers=headers)
        removing.join()
        go_on.set()
    assert found.status_code == 401


@pytest.mark.parametrize(
    ("proxies", "status"),
    [((), 200), (("127.0.0.1",), 401), (("192.0.2.0/24",), 200)],
)
def test_the_address_that_a_proxy_forwards_counts_only_if_the_proxy_is_trusted(
    place, proxies, status
):
    behind = replace(place, settings=make_settings(trusted_proxies=proxies))
    with open_client(behind) as client:
        for forwarded in ("198.51.100.7", "127.0.0.1, 198.51.100.7"):
            found = client.get(f"{API}/workspaces", headers={"X-Forwarded-For": forwarded})
            assert found.status_code == status


def test_a_proxy_must_be_an_address(place):
    wrong = ServerConfig(place.path, make_settings(trusted_proxies=("*",)))
    with pytest.raises(Exception, match="not an address or a network"):
        wrong.check()
