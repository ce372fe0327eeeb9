"""The names of text indexes, and the terms of an item as sorted hashes with their counts."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from knotwork._sqlite_file import DamagedValue
from knotwork.errors import StoreError

_NAME = re.compile(r"[a-z][a-z0-9_]{0,40}")

MAX_COUNT = int(np.iinfo(np.uint16).max)
"""The largest count of a term in an item; more occurrences count as so many."""


def check_index_name(name: str) -> None:
    """Raise StoreError if ``name`` is not a valid name of a text or vector index."""
    if not _NAME.fullmatch(name):
        raise StoreError(
            f"`{name}` is not a valid name of a text or vector index.",
            fix="Use up to 41 lower-case letters, digits and underscores, starting with a letter.",
        )


TermCounts = NDArray[np.int32]

_HASH = np.dtype("<u8")
_COUNT = np.dtype("<u2")
_VOCABULARY_SIZE = 1 << 17


@lru_cache(maxsize=_VOCABULARY_SIZE)
def term_hash(term: str) -> int:
    """Return the unsigned 64-bit hash of a term."""
    data = term.encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "little")


def signed_hash(term: str) -> int:
    """Return the hash of a term as databases store it, whose integers have a sign."""
    number = term_hash(term)
    return number - (1 << 64) if number >= 1 << 63 else number


def pack_terms(terms: Iterable[str]) -> tuple[bytes, bytes]:
    """Return the sorted hashes of the distinct terms and the count of each, as bytes."""
    found = np.fromiter(map(term_hash, terms), dtype=_HASH)
    hashes, times = np.unique(found, return_counts=True)
    return hashes.tobytes(), times.clip(max=MAX_COUNT).astype(_COUNT).tobytes()


def count_terms(packed: Sequence[tuple[bytes, bytes]], terms: Collection[str]) -> TermCounts:
    """Return how often each term occurs in each packed item, of shape (items, terms)."""
    result = np.zeros((len(packed), len(terms)), dtype=np.int32)
    lengths = [len(hashes) // _HASH.itemsize for hashes, _ in packed]
    if any(
        (length * _HASH.itemsize, length * _COUNT.itemsize) != (len(hashes), len(times))
        for length, (hashes, times) in zip(lengths, packed, strict=True)
    ):
        raise DamagedValue("the terms of a text cannot be decoded (wrong length)")
    if not sum(lengths) or not terms:
        return result
    hashes = np.frombuffer(b"".join(item[0] for item in packed), dtype=_HASH)
    times = np.frombuffer(b"".join(item[1] for item in packed), dtype=_COUNT)
    rows = np.repeat(np.arange(len(packed)), lengths)
    wanted = np.array([term_hash(term) for term in terms], dtype=_HASH)
    order = np.argsort(wanted)
    places = np.searchsorted(wanted[order], hashes).clip(max=len(wanted) - 1)
    hit = wanted[order][places] == hashes
    result[rows[hit], order[places[hit]]] = times[hit]
    return result


def count_occurrences(
    ids: Sequence[str],
    keys: Mapping[str, int],
    rows: Sequence[tuple[int, bytes, bytes]],
    terms: Sequence[str],
) -> TermCounts:
    """Return the occurrences of terms in items, from rows of (key, hashes, times).

    An item without a row has zeros. ``keys`` are those of the ids that can be stored.
    """
    result = np.zeros((len(ids), len(terms)), dtype=np.int32)
    counts = count_terms([row[1:] for row in rows], terms)
    places = {row[0]: place for place, row in enumerate(rows)}
    found = [places.get(keys.get(identifier, -1), -1) for identifier in ids]
    there = np.array(found, dtype=np.intp) >= 0
    result[there] = counts[[place for place in found if place >= 0]]
    return result
