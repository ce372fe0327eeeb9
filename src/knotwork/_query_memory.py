"""Share memory between running statements: a ceiling for each one, and one for all of a process.

The memory of Cypher and SQL statements is estimated while they run. A statement reserves what it
needs from the pool of the process, and returns all of it at its end.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

from knotwork._config import QuerySettings
from knotwork.errors import QueryRefused

MB = 1_000_000
_RESERVED_AT_ONCE = 4 * MB


@dataclass(frozen=True, slots=True)
class QueryMemory:
    """Most bytes of one statement, of all that run at the same time, and of one result."""

    statement_bytes: int = 256 * MB
    process_bytes: int = 512 * MB
    result_bytes: int = 16 * MB


class MemoryPool:
    """The memory that the statements of a process have reserved."""

    def __init__(self) -> None:
        self.ceilings = QueryMemory()
        # Reentrant, as collecting garbage may close a reservation at any time.
        self._lock = threading.RLock()
        self._reserved = 0

    def take(self, count: int) -> bool:
        """Reserve bytes; return False if less is left."""
        with self._lock:
            if self._reserved + count > self.ceilings.process_bytes:
                return False
            self._reserved += count
            return True

    def give_back(self, count: int) -> None:
        """Return reserved bytes."""
        with self._lock:
            self._reserved -= count

    @property
    def reserved(self) -> int:
        """The bytes that running statements have reserved."""
        return self._reserved


POOL = MemoryPool()


def set_query_memory(settings: QuerySettings) -> None:
    """Set the ceilings of all statements that this process runs from now on."""
    POOL.ceilings = QueryMemory(
        settings.memory_mb * MB, settings.total_memory_mb * MB, settings.result_mb * MB
    )


class Reservation:
    """The memory that one statement has reserved."""

    __slots__ = ("_limit", "reserved")

    def __init__(self, limit: int) -> None:
        self._limit = min(limit, POOL.ceilings.process_bytes)
        self.reserved = 0

    def grow(self, wanted: int) -> int:
        """Reserve ``wanted`` bytes in all, or a little more, and return how many are reserved.

        Raises QueryRefused above the limit of the statement, and if other statements use the
        memory of the process.
        """
        if wanted > self._limit:
            raise QueryRefused(
                f"The statement needs more than {self._limit / MB:,.0f} MB of memory.",
                fix="Narrow its patterns, or add a LIMIT before it collects or sorts; "
                "or raise query.memory_mb.",
            )
        missing = wanted - self.reserved
        more = min(max(missing, _RESERVED_AT_ONCE), self._limit - self.reserved)
        if missing > 0 and not POOL.take(more):
            raise QueryRefused(
                f"The statements that are running use the {POOL.ceilings.process_bytes / MB:,.0f} "
                "MB of memory that they share.",
                fix="Try again when they have ended, or raise query.total_memory_mb.",
            )
        self.reserved += max(more, 0) if missing > 0 else 0
        return self.reserved

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Return all memory; it is also returned when the reservation is no longer used."""
        POOL.give_back(self.reserved)
        self.reserved = 0


def result_too_large(limit: int) -> QueryRefused:
    """Return the error for a result above ``limit`` bytes."""
    return QueryRefused(
        f"The result is larger than {limit / MB:,g} MB.",
        fix="Return fewer rows or shorter values, or raise query.result_mb.",
    )
