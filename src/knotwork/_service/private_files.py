"""Files and folders of the server, which only its user can read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

FILE_MODE = 0o600
FOLDER_MODE = 0o700


def open_private(path: Path, *, append: bool = False) -> BinaryIO:
    """Create a file that only its owner can read, and open it for writing.

    With ``append``, a file that exists is opened for reading and for writing at its end. Raises
    OSError, and FileExistsError unless ``append`` is set.
    """
    flags = os.O_RDWR | os.O_CREAT | (os.O_APPEND if append else os.O_EXCL)
    return os.fdopen(os.open(path, flags, FILE_MODE), "a+b" if append else "wb")


def make_private_folder(path: Path) -> None:
    """Create a folder that only its owner can enter, and those above it; it may exist.

    Folders that exist keep their mode. Raises OSError.
    """
    for folder in (*reversed(path.parents), path):
        if not folder.is_dir():
            folder.mkdir(mode=FOLDER_MODE, exist_ok=True)
