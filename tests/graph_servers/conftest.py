"""A real graph database that speaks Bolt, from a wheel with its own Java: one for all tests."""

from __future__ import annotations

import base64
import importlib.util
import itertools
import json
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

PASSWORD = "only-for-tests"
_STARTS_WITHIN_S = 120


@dataclass
class ArcadeServer:
    """A server of ArcadeDB, which can be killed and started again with its data."""

    home: Path
    folder: Path
    http_port: int
    bolt_port: int
    process: subprocess.Popen[bytes] | None = None
    numbers: Iterator[int] = field(default_factory=itertools.count)

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        options = {
            "server.rootPath": self.folder,
            "server.rootPassword": PASSWORD,
            "server.httpIncomingHost": "127.0.0.1",
            "server.httpIncomingPort": self.http_port,
            "bolt.host": "127.0.0.1",
            "bolt.port": self.bolt_port,
            "server.plugins": "Bolt:com.arcadedb.bolt.BoltProtocolPlugin",
        }
        # Tests end before what a thorough compiler makes of the server would repay its work.
        java = [self.home / "jre" / "bin" / "java", "-Xmx512m"]
        java += ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
        java += ["--add-modules", "jdk.incubator.vector", "-cp", f"{self.home}/jars/*"]
        java += [f"-Darcadedb.{name}={value}" for name, value in options.items()]
        with (self.folder / "server.log").open("ab") as log:
            self.process = subprocess.Popen(
                [*map(str, java), "com.arcadedb.server.ArcadeDBServer"],
                stdout=log,
                stderr=log,
                cwd=self.folder,
            )
        ends_s = time.monotonic() + _STARTS_WITHIN_S
        while True:
            try:
                with socket.create_connection(("127.0.0.1", self.bolt_port), 1):
                    self.command("list databases")
                    return
            except OSError:
                assert self.process.poll() is None, (self.folder / "server.log").read_text()
                assert time.monotonic() < ends_s, "the server did not start"
                time.sleep(0.1)

    def kill(self) -> None:
        """End the server at once."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def command(self, text: str) -> None:
        """Run a command of the server."""
        packed = base64.b64encode(f"root:{PASSWORD}".encode()).decode()
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.http_port}/api/v1/server",
            json.dumps({"command": text}).encode(),
            {"Authorization": f"Basic {packed}"},
        )
        with urllib.request.urlopen(request, timeout=30):
            pass

    def new_database(self) -> str:
        """Create an empty database, and return its URL without the password."""
        name = f"d{next(self.numbers)}"
        self.command(f"create database {name}")
        return f"bolt://root@127.0.0.1:{self.bolt_port}/{name}"


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


@dataclass
class Line:
    """A way to a Bolt server that can be cut, and mended."""

    server: ArcadeServer
    port: int = field(default_factory=_free_port)
    ends: list[socket.socket] = field(default_factory=list)

    def start(self) -> None:
        """Let connections through."""
        waiting = socket.create_server(("127.0.0.1", self.port))
        self.ends = [waiting]
        threading.Thread(target=self._accept, args=(waiting, self.ends), daemon=True).start()

    def kill(self) -> None:
        """Cut all connections, and take no new ones."""
        for end in self.ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def new_database(self) -> str:
        """Create an empty database, and return its URL on this line, without the password."""
        return self.server.new_database().replace(f":{self.server.bolt_port}/", f":{self.port}/")

    def _accept(self, waiting: socket.socket, ends: list[socket.socket]) -> None:
        with suppress(OSError):
            while True:
                one, _ = waiting.accept()
                other = socket.create_connection(("127.0.0.1", self.server.bolt_port))
                ends += [one, other]
                for pair in ((one, other), (other, one)):
                    threading.Thread(target=self._pass_on, args=pair, daemon=True).start()

    @staticmethod
    def _pass_on(one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while data := one.recv(65_536):
                other.sendall(data)
            other.shutdown(socket.SHUT_RDWR)


def with_password(url: str) -> str:
    """Return the URL of a database with its password."""
    return url.replace("root@", f"root:{PASSWORD}@")


@pytest.fixture(scope="session")
def start_arcade(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], ArcadeServer]]:
    """Start servers, and end them with the session."""
    found = importlib.util.find_spec("arcadedb_embedded")
    if found is None or found.origin is None:
        pytest.skip("the wheel arcadedb-embedded, a server to test against, is not installed")
    home, started = Path(found.origin).parent, list[ArcadeServer]()

    def start() -> ArcadeServer:
        folder = tmp_path_factory.mktemp("arcadedb")
        server = ArcadeServer(home, folder, _free_port(), _free_port())
        started.append(server)
        server.start()
        return server

    yield start
    for server in started:
        server.kill()


@pytest.fixture(scope="session")
def arcade(start_arcade: Callable[[], ArcadeServer]) -> ArcadeServer:
    """Return the server that tests share."""
    return start_arcade()


@pytest.fixture
def database(arcade: ArcadeServer) -> str:
    """Return the URL of an empty database, without its password."""
    return arcade.new_database()
