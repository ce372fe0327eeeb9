"""Powers to read relations closer than `GraphStore` does, which not every store has to have."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from knotwork.records import Relation


@runtime_checkable
class ReadsRelations(Protocol):
    """A graph store that tells which relations each chunk contributes, with their descriptions."""

    def relations(self, chunk_ids: Collection[str]) -> dict[str, list[Relation]]:
        """Return each chunk's relations, ordered by source, relation and target."""


class RelationLink(NamedTuple):
    """A relation or co-occurrence seen from one end; ``forward`` when that end is its source."""

    relation: str
    forward: bool
    other: str
    weight: float


@runtime_checkable
class LinksRelations(Protocol):
    """A graph store that tells relations without the chunks behind them, which is far quicker."""

    def relation_links(
        self, entity_ids: Collection[str], *, limit: int
    ) -> dict[str, list[RelationLink]]:
        """Return the relations and co-occurrences at each entity: out of it, then into it.

        Of either kind the ``limit`` strongest, ordered by weight descending, then by the id of the
        other end; several between the same two ends in the order of the store.
        """

    def relation_chunks(
        self, relations: Sequence[tuple[str, str, str]], *, limit: int
    ) -> list[tuple[str, ...]]:
        """Return the first chunks, by id, that state each (source, relation, target), in order."""
