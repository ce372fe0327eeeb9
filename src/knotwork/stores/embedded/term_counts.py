"""How often the terms of a question occur in given items.

FTS5 answers "which items hold this term", from the side of the term. Retrieval also asks the other
way, "which of these terms does this item hold", for a few hundred items at once. For that each item
keeps its distinct terms as sorted 64-bit hashes, with their counts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int32]

_HASH = np.dtype("<u8")
_COUNT = np.dtype("<u2")
_MOST = int(np.iinfo(np.uint16).max)
_VOCABULARY_SIZE = 1 << 17


@lru_cache(maxsize=_VOCABULARY_SIZE)
def _hash(term: str) -> int:
    data = term.encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "little")


def pack_terms(terms: Iterable[str]) -> tuple[bytes, bytes]:
    """Return the hashes of the distinct terms and how often each occurs."""
    found = np.fromiter(map(_hash, terms), dtype=_HASH)
    hashes, times = np.unique(found, return_counts=True)
    return hashes.tobytes(), times.clip(max=_MOST).astype(_COUNT).tobytes()


def count_terms(packed: Sequence[tuple[bytes, bytes]], terms: Collection[str]) -> Counts:
    """Return how often each term occurs in each packed item, of shape (items, terms)."""
    result = np.zeros((len(packed), len(terms)), dtype=np.int32)
    lengths = [len(hashes) // _HASH.itemsize for hashes, _ in packed]
    if not sum(lengths) or not terms:
        return result
    hashes = np.frombuffer(b"".join(item[0] for item in packed), dtype=_HASH)
    times = np.frombuffer(b"".join(item[1] for item in packed), dtype=_COUNT)
    rows = np.repeat(np.arange(len(packed)), lengths)
    wanted = np.array([_hash(term) for term in terms], dtype=_HASH)
    order = np.argsort(wanted)
    places = np.searchsorted(wanted[order], hashes).clip(max=len(wanted) - 1)
    hit = wanted[order][places] == hashes
    result[rows[hit], order[places[hit]]] = times[hit]
    return result
