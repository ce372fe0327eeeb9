"""Identifiers: content hashes, so that the same input has the same id in every index.

An id is 16 hexadecimal digits of a 63-bit number. It fits a signed 64-bit integer key, and the
order of the strings is the order of the numbers: every store breaks ties in the same way.
"""

from __future__ import annotations

from hashlib import blake2b

_MASK = (1 << 63) - 1


def content_id(*parts: str | int) -> str:
    """Hash the parts, in order and without ambiguity at their borders, to an id."""
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
