"""Index files and the files beside them, opened below the store: changed, damaged, unprotected."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import numpy as np
import pytest

from knotwork._sqlite_file import check_protection, open_connection

PAGE_BYTES = 8_192


def opened(path: Path | str) -> apsw.Connection:
    """Open a file as another program with the same checksums would."""
    connection = open_connection(str(path))
    check_protection(connection)
    return connection


def change(path: Path | str, statements: str) -> None:
    """Run statements on a file, behind the back of the store."""
    connection = opened(path)
    connection.execute(statements)
    connection.close()


@contextmanager
def without_checksums() -> Iterator[None]:
    """Create files as an apsw without the checksum VFS does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("knotwork._sqlite_file._checksum_vfs", lambda: "")
        yield


def flip(path: Path, offset: int, mask: int = 0x01) -> None:
    """Change the bits of a byte of a file."""
    with path.open("r+b") as file:
        file.seek(offset)
        (byte,) = file.read(1)
        file.seek(offset)
        file.write(bytes([byte ^ mask]))


def overwrite_page(path: Path, number: int, *, page_bytes: int = PAGE_BYTES) -> None:
    """Replace a page, numbered from 1, by bytes that no disk would return for it."""
    with path.open("r+b") as file:
        file.seek((number - 1) * page_bytes)
        file.write(b"\xa5" * page_bytes)


def page_bytes_of(path: Path) -> int:
    """Return the page size in the header of a file."""
    return int.from_bytes(path.read_bytes()[16:18], "big")


def find_damaged_pages(path: Path, page_bytes: int = PAGE_BYTES) -> list[int]:
    """Return the numbers, from 1, of the pages that differ from the sum in their last 8 bytes."""
    data = path.read_bytes()
    return [
        number
        for number, start in enumerate(range(0, len(data), page_bytes), start=1)
        if not _is_intact(data[start : start + page_bytes])
    ]


def _is_intact(page: bytes) -> bool:
    words = np.frombuffer(page, "<u4").tolist()
    first = second = 0
    for one, two in zip(words[:-2:2], words[1:-2:2], strict=True):
        first = (first + one + second) & 0xFFFFFFFF
        second = (second + two + first) & 0xFFFFFFFF
    return words[-2:] == [first, second]
