"""Files and folders of the server, which only its user can read."""

from __future__ import annotations

import json
import logging
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from knotwork._durable_files import replace_file
from knotwork.errors import ConfigError

FILE_MODE = 0o600
FOLDER_MODE = 0o700

_log = logging.getLogger("knotwork.service")


def open_private(path: Path, *, append: bool = False) -> BinaryIO:
    """Create a file that only its owner can read, and open it for writing.

    With ``append``, a file that exists is opened for reading and for writing at its end. Raises
    OSError, and FileExistsError unless ``append`` is set.
    """
    flags = os.O_RDWR | os.O_CREAT | (os.O_APPEND if append else os.O_EXCL)
    return os.fdopen(os.open(path, flags, FILE_MODE), "a+b" if append else "wb")


def write_private(path: Path, content: bytes) -> None:
    """Replace a file that only its owner can read; its folder is made. Raises OSError."""
    make_private_folder(path.parent)
    with replace_file(path, mode=FILE_MODE) as file:
        file.write(content)


class PrivateJson:
    """A JSON object in a file that only its owner can read. Not thread-safe."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> dict[str, Any]:
        """Return the object; an empty one if the file is missing or, with a warning, unreadable."""
        try:
            found = json.loads(self._path.read_text("utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            _log.warning("cannot read `%s`: %s", self._path, error)
            return {}
        return found if isinstance(found, dict) else {}

    def write(self, value: Mapping[str, Any]) -> None:
        """Replace the object. Raises OSError."""
        body = json.dumps(value, ensure_ascii=False)
        write_private(self._path, body.encode("utf-8", "replace"))


def place_name(path: Path) -> str:
    """Return a name for the folder of a file: that in the file, which the first call writes.

    Servers with one folder have one name, whatever the machines call it. Raises ConfigError.
    """
    try:
        with suppress(FileExistsError), open_private(path) as file:
            file.write(secrets.token_hex(8).encode())
        return path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"Cannot use `{path}`, which names the folder of the server's files: {error}.",
            fix="Check that the folder is writable, and remove the file if it is damaged.",
        ) from error


def make_private_folder(path: Path) -> None:
    """Create a folder that only its owner can enter, and those above it; it may exist.

    Folders that exist keep their mode. Raises OSError.
    """
    for folder in (*reversed(path.parents), path):
        if not folder.is_dir():
            folder.mkdir(mode=FOLDER_MODE, exist_ok=True)
