"""The power to give back relations as they were contributed, which not every store has to have."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol, runtime_checkable

from knotwork.records import Relation


@runtime_checkable
class ReadsRelations(Protocol):
    """A graph store that tells which relations each chunk contributes, with their descriptions."""

    def relations(self, chunk_ids: Collection[str]) -> dict[str, list[Relation]]:
        """Return each chunk's relations, ordered by source, relation and target."""
