"""Compute ids as content hashes, so that the same input has the same id in every index.

An id is a 63-bit number, written as 16 hexadecimal digits. It fits a signed 64-bit integer key.
Strings and numbers have the same order, so all stores break ties in the same way.
"""

from __future__ import annotations

from hashlib import blake2b

_MASK = (1 << 63) - 1


def content_id(*parts: str | int) -> str:
    """Return the id of a sequence of parts. Their lengths are hashed too, so that ("ab", "c") and
    ("a", "bc") have different ids.
    """
    digest = blake2b(digest_size=8)
    for part in parts:
        data = str(part).encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return f"{int.from_bytes(digest.digest(), 'big') & _MASK:016x}"


def id_to_int(identifier: str) -> int:
    """Return the integer key of an id."""
    return int(identifier, 16)


def int_to_id(key: int) -> str:
    """Return the id of an integer key."""
    return f"{key:016x}"
