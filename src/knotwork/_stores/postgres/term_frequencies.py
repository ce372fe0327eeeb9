"""The numbers of items that have a term, cached until the index changes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from knotwork._stores.sql.database import SqlDatabase

_MOST_CACHED = 50_000


class _Cached(NamedTuple):
    """Document frequencies of terms in one generation of the index."""

    generation: int
    frequencies: dict[str, int]


class TermFrequencies:
    """Document frequencies of one text index, read with ``count`` where they are not cached.

    ``count`` may leave out terms that no item has. Inside a write transaction nothing is cached.
    """

    def __init__(
        self, database: SqlDatabase, count: Callable[[Sequence[str]], Mapping[str, int]]
    ) -> None:
        self._database = database
        self._count = count
        self._cached = _Cached(-1, {})

    def of(self, asked: Collection[str]) -> dict[str, int]:
        """Return the frequencies in the order of ``asked``, without terms that do not occur."""
        cached = _Cached(-1, {})
        if not self._database.writing:
            generation = self._database.generation()
            cached = self._cached
            if cached.generation != generation or len(cached.frequencies) > _MOST_CACHED:
                cached = self._cached = _Cached(generation, {})
        known = cached.frequencies
        distinct = dict.fromkeys(asked)
        if missing := [term for term in distinct if term not in known]:
            known |= dict.fromkeys(missing, 0) | dict(self._count(missing))
        return {term: known[term] for term in distinct if known[term]}
