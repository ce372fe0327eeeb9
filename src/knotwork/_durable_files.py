"""Files that are on the disk, whole, before they get their names.

A program that is killed, or a power failure, leaves the earlier file or the new one: without the
calls to `os.fsync`, a renamed file may be empty after a power failure.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

PUBLIC_MODE = 0o666
"""The mode of new files before the umask of the process applies."""


def sync_file(path: Path) -> None:
    """Wait until the content of a file is on the disk. Raises OSError."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk. Raises OSError."""
    if os.name == "nt":  # folders cannot be synchronized there
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def move_file(source: Path, target: Path) -> None:
    """Move a file in its file system, and replace the file that has the name. Raises OSError."""
    sync_file(source)
    source.replace(target)
    sync_folder(target.parent)


def move_folder(source: Path, target: Path) -> None:
    """Give a folder that is finished, with its files, its name. Raises OSError."""
    for path in source.iterdir():
        sync_file(path)
    sync_folder(source)
    source.rename(target)
    sync_folder(target.parent)


@contextmanager
def replace_file(path: Path, *, mode: int = PUBLIC_MODE) -> Iterator[BinaryIO]:
    """Yield a new file that takes the place of ``path`` if the block ends without an error.

    ``mode`` is that of the new file, of which the umask removes what it forbids. Raises OSError.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            yield stream
        move_file(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
