"""Checksums of SQLite pages: connections that write and verify them, and sums of raw pages.

A protected file keeps the sum of each page in its last 8 bytes. SQLite's checksum VFS, which the
wheels of apsw include, writes it with the page and compares it whenever a page is read
(https://sqlite.org/cksumvfs.html). ``user_version`` marks protected files: the VFS itself relies on
one byte of the header, and damage of that byte would switch it off.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import apsw
import numpy as np
from numpy.typing import NDArray

_VFS = "cksmvfs"
_PROTECTED = 1
"""The ``user_version`` of a protected file."""

SUM_BYTES = 8
PAGE_SIZES = (8_192, 4_096)
"""The page sizes of the files of Knotwork, in bytes."""

_HEADER_BYTES = 100
_BLOCK_BYTES = 8 << 20
_READINGS = 3
"""How often a page is read before it counts as damaged: another process may be writing it."""

READ_WRITE = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE

Bytes = NDArray[np.uint8]
Words = NDArray[np.uint32]


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


@cache
def _weights(page_bytes: int) -> Words:
    """Return the weight of each word of a page in both sums, of shape (words, 2).

    The VFS adds pairs of words (a, b) by s1 += a + s2, s2 += b + s1, modulo 2**32. That is linear,
    so each sum is a dot product of the words with fixed weights.
    """
    words = (page_bytes - SUM_BYTES) // 4
    found = np.zeros((words, 2), dtype=np.uint32)
    first, second = (1, 1), (0, 1)
    for place in range(words - 2, -1, -2):
        found[place], found[place + 1] = first, second
        first, second = (
            ((x + y) & 0xFFFFFFFF, (x + 2 * y) & 0xFFFFFFFF) for x, y in (first, second)
        )
    return found


def _differences(pages: Bytes) -> Words:
    """Return stored minus computed sums of pages, of shape (pages, 2), modulo 2**32."""
    words = pages.view("<u4")
    computed = words[:, :-2].astype(np.uint32) @ _weights(pages.shape[1])
    return np.asarray(words[:, -2:] - computed, dtype=np.uint32)


def page_bytes_of(path: Path) -> int:
    """Return the page size in the header of a file; 0 if the header has no valid one."""
    with path.open("rb") as file:
        header = file.read(_HEADER_BYTES)
    size = int.from_bytes(header[16:18], "big")
    size = 65_536 if size == 1 else size
    return size if len(header) == _HEADER_BYTES and size.bit_count() == 1 and size >= 512 else 0


def is_marked_protected(path: Path) -> bool:
    """Return True if the header of a file says that its pages have checksums, in either place."""
    with path.open("rb") as file:
        header = file.read(_HEADER_BYTES)
    mark = int.from_bytes(header[60:64], "big")
    return len(header) == _HEADER_BYTES and (mark == _PROTECTED or header[20] == SUM_BYTES)


def correct_pages(path: Path) -> int:
    """Correct the pages of a protected file of which one byte changed; return their number.

    Call this on a copy that no process has open.
    """
    if not is_marked_protected(path):
        return 0
    sizes = dict.fromkeys(size for size in (page_bytes_of(path), *PAGE_SIZES) if size)
    for page_bytes in sizes:
        corrected = 0
        damaged = find_damaged_pages(path, page_bytes)
        if len(damaged) * page_bytes > path.stat().st_size // 2:
            continue  # a wrong page size
        with path.open("r+b") as file:
            for number in damaged:
                file.seek((number - 1) * page_bytes)
                page = correct_page(file.read(page_bytes))
                if page is not None:
                    file.seek((number - 1) * page_bytes)
                    file.write(page)
                    corrected += 1
        return corrected
    return 0


def find_damaged_pages(path: Path, page_bytes: int) -> list[int]:
    """Return the numbers, from 1, of the pages of a protected file that differ from their sum.

    Reads the file itself, without the journal beside it.
    """
    found: list[int] = []
    for start, pages in _read_pages(path, page_bytes):
        damaged = np.flatnonzero(_differences(pages).any(axis=1))
        numbers = (start + int(place) for place in damaged)
        found += [number for number in numbers if not _is_intact(path, page_bytes, number)]
    return found


def _read_pages(path: Path, page_bytes: int) -> Iterator[tuple[int, Bytes]]:
    """Yield the pages of a file in blocks, each with the number of its first page."""
    per_block = _BLOCK_BYTES // page_bytes
    number = 1
    with path.open("rb") as file:
        while data := file.read(per_block * page_bytes):
            whole = len(data) // page_bytes
            pages = np.frombuffer(data[: whole * page_bytes], np.uint8).reshape(whole, page_bytes)
            yield number, pages
            number += whole


def _is_intact(path: Path, page_bytes: int, number: int) -> bool:
    """Read a page again, and return True if it is intact: another process was writing it."""
    with path.open("rb") as file:
        for _ in range(_READINGS):
            file.seek((number - 1) * page_bytes)
            data = file.read(page_bytes)
            if len(data) == page_bytes and not _differences(_as_page(data)).any():
                return True
    return False


def _as_page(data: bytes) -> Bytes:
    return np.frombuffer(data, np.uint8).reshape(1, -1)


def correct_page(data: bytes) -> bytes | None:
    """Return a damaged page as it was if only one of its bytes changed; None if that is not sure.

    A change d of the word with the weights (v, w) changes the sums by (d·v, d·w). One of the
    weights is odd, so the difference of the sums gives one d for each word, and it must fit both
    sums and one byte. The weights repeat modulo 256, so a change of the highest byte of a word,
    which is one in four, fits several words; it is not corrected.
    """
    page = _as_page(data)
    difference = _differences(page)[0]
    in_sum = np.count_nonzero(difference.view(np.uint8)) == 1
    words = page.view("<u4")[0, :-2].astype(np.uint32)
    weights = _weights(len(data))
    odd = weights[:, 0] % 2 == 1
    weight = np.where(odd, weights[:, 0], weights[:, 1])
    needed = np.where(odd, difference[0], difference[1])
    change = needed * _inverse(weight)
    fits = ((change[:, np.newaxis] * weights) == difference).all(axis=1)
    former = words + change
    flipped = (words ^ former).astype("<u4").view(np.uint8).reshape(-1, 4)
    places = np.flatnonzero(fits & (np.count_nonzero(flipped, axis=1) == 1))
    if len(places) + in_sum != 1:
        return None
    if in_sum:
        return data[:-SUM_BYTES] + bytes(page.view("<u4")[0, -2:] - difference)
    words[places[0]] = former[places[0]]
    return bytes(words.astype("<u4")) + data[-SUM_BYTES:]


def _inverse(odd: Words) -> Words:
    """Return the inverses of odd numbers modulo 2**32, by Newton's iteration."""
    found = odd.copy()
    for _ in range(5):
        found = found * (np.uint32(2) - odd * found)
    return found
