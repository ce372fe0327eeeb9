"""Store large sets of ids as sorted arrays of their integer keys."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from knotwork.records import id_to_int, int_to_id

_DIGITS = 16


class IdSet(Collection[str]):
    """An immutable set of ids, which stores use without converting each id to its key.

    ``keys`` are the integer keys, ascending and distinct.
    """

    __slots__ = ("keys",)

    def __init__(self, keys: Iterable[int] | NDArray[np.int64]) -> None:
        given = keys if isinstance(keys, np.ndarray) else np.fromiter(keys, np.int64)
        self.keys: NDArray[np.int64] = np.unique(given.astype(np.int64, copy=False))
        self.keys.setflags(write=False)

    @classmethod
    def of(cls, ids: Iterable[str]) -> IdSet:
        """Return the set of these ids."""
        return cls(id_to_int(identifier) for identifier in ids)

    def __contains__(self, identifier: object) -> bool:
        if not isinstance(identifier, str) or len(identifier) != _DIGITS:
            return False
        try:
            key = id_to_int(identifier)
        except ValueError:
            return False
        place = int(np.searchsorted(self.keys, key))
        return place < len(self.keys) and int(self.keys[place]) == key

    def __iter__(self) -> Iterator[str]:
        return map(int_to_id, self.keys.tolist())

    def __len__(self) -> int:
        return len(self.keys)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IdSet) and np.array_equal(self.keys, other.keys)

    def __hash__(self) -> int:
        return hash(self.keys.tobytes())

    def __and__(self, other: Collection[str]) -> IdSet:
        """Return the intersection."""
        if isinstance(other, IdSet):
            return IdSet(np.intersect1d(self.keys, other.keys, assume_unique=True))
        return IdSet.of(identifier for identifier in set(other) if identifier in self)

    def __or__(self, other: IdSet) -> IdSet:
        return IdSet(np.union1d(self.keys, other.keys))

    def __sub__(self, other: IdSet) -> IdSet:
        return IdSet(np.setdiff1d(self.keys, other.keys, assume_unique=True))


def is_among(keys: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return a mask of the keys that are wanted; faster than `np.isin` if few are."""
    if not len(wanted):
        return np.zeros(len(keys), dtype=np.bool_)
    ordered = np.sort(wanted)
    places = np.minimum(np.searchsorted(ordered, keys), len(ordered) - 1)
    found: NDArray[np.bool_] = ordered[places] == keys
    return found
