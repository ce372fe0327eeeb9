"""Checksums of SQLite pages: connections that write and verify them.

A protected file keeps the sum of each page in its last 8 bytes. SQLite's checksum VFS, which the
wheels of apsw include, writes it with the page and compares it whenever a page is read
(https://sqlite.org/cksumvfs.html). ``user_version`` marks protected files: the VFS itself relies on
one byte of the header, and damage of that byte would switch it off.
"""

from __future__ import annotations

import threading
from functools import cache
from pathlib import Path

import apsw

_VFS = "cksmvfs"
_PROTECTED = 1
"""The ``user_version`` of a protected file."""

SUM_BYTES = 8
_HEADER_BYTES = 100

READ_WRITE = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE


class HiddenChecksums(Exception):
    """The header of a protected file says that its pages have no checksums."""


class MissingChecksumVfs(Exception):
    """The file is protected, and this build of apsw cannot verify it."""


_loading = threading.Lock()


@cache
def _checksum_vfs() -> str:
    """Load SQLite's checksum VFS and return its name; empty if this build of apsw lacks it.

    Connections of other code keep their default VFS.
    """
    with _loading:
        if _VFS in apsw.vfs_names():
            return _VFS
        default = apsw.vfs_names()[0]
        connection = apsw.Connection(":memory:")
        try:
            from apsw import sqlite_extra

            sqlite_extra.load(connection, "cksumvfs")
        except (ImportError, LookupError, apsw.Error, sqlite_extra.NotAvailable):
            return ""
        finally:
            connection.close()
        apsw.set_default_vfs(default)  # the extension makes itself the default
        return _VFS


def open_connection(filename: str, *, flags: int = READ_WRITE) -> apsw.Connection:
    """Open a connection that verifies checksums. Call `protect_new` or `check_protection` on it."""
    return apsw.Connection(filename, flags=flags, vfs=_checksum_vfs() or None)


def protect_new(connection: apsw.Connection) -> None:
    """Give a file that is still empty checksums, and check that those of another are verified.

    Raises as `check_protection`.
    """
    if _checksum_vfs() and not connection.pragma("page_count"):
        connection.reserve_bytes("main", SUM_BYTES)
        connection.pragma("user_version", _PROTECTED)
    check_protection(connection)


def check_protection(connection: apsw.Connection) -> bool:
    """Return True if the open file is protected.

    Raises HiddenChecksums if its header is damaged so that nothing would be verified, or if another
    process filled the file since it was opened: the VFS looks at the header then. Raises
    MissingChecksumVfs if this build of apsw cannot verify it.
    """
    if connection.pragma("user_version") != _PROTECTED:
        return False
    if not _checksum_vfs():
        raise MissingChecksumVfs
    if connection.filename and connection.pragma("checksum_verification") != "1":
        raise HiddenChecksums
    return True


def is_marked_protected(path: Path) -> bool:
    """Return True if the header of a file says that its pages have checksums, in either place."""
    with path.open("rb") as file:
        header = file.read(_HEADER_BYTES)
    mark = int.from_bytes(header[60:64], "big")
    return len(header) == _HEADER_BYTES and (mark == _PROTECTED or header[20] == SUM_BYTES)
