"""Open the store that a URL or file path names."""

from __future__ import annotations

import re
from pathlib import Path

from knotwork._stores.base import Store
from knotwork.errors import UnknownName

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(.*)", re.DOTALL)
_SCHEMES = {
    "memory": "memory:",
    "file": "file:PATH",
}


def open_store(url: str, *, read_only: bool = False, create: bool = False) -> Store:
    """Open the store at ``url``: ``memory:``, or the path of an index file.

    Raises UnknownName for another scheme, StoreNotFound if the file is missing and ``create`` is
    off, SchemaMismatch if the file is not an index that this version can read.
    """
    scheme, rest = _split(url)
    if scheme == "memory":
        from knotwork._stores.memory import MemoryStore

        return MemoryStore()
    if scheme == "file":
        from knotwork._stores.embedded import EmbeddedStore

        return EmbeddedStore.open(Path(rest), read_only=read_only, create=create)
    raise UnknownName("store scheme", scheme, _SCHEMES.values())


def index_file(url: str) -> Path | None:
    """Return the path of the index file that ``url`` names; None for a store of another scheme."""
    scheme, rest = _split(url)
    return Path(rest) if scheme == "file" else None


def _split(url: str) -> tuple[str, str]:
    """Split a URL into scheme and rest. A path, with or without a drive, has the scheme "file"."""
    match = _SCHEME.fullmatch(url)
    if match is None:
        return "file", url
    scheme, rest = match.group(1).lower(), match.group(2)
    if scheme == "file":
        return scheme, rest.removeprefix("//")
    if scheme in _SCHEMES or rest.startswith("//"):
        return scheme, rest
    return "file", url
