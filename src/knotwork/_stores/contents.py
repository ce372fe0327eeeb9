"""The optional part of a store that lists everything it holds, as a copy of an index needs it.

The other parts read by id: what they cannot enumerate is here, in pages, so that a reader of the
whole store needs memory for one page only.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from knotwork.records import (
    Community,
    EntitySummary,
    Homonym,
    PropertyNode,
    Relationship,
    SameAs,
)


class TextItem(NamedTuple):
    """An item of a text index, and the number of its terms, with repetitions."""

    id: str
    length: int


class VectorItem(NamedTuple):
    """An item of a vector index: its id, its content key and its rows."""

    id: str
    key: str
    matrix: NDArray[np.float32]


class Contents(Protocol):
    """Everything that a store holds, in pages by ascending key.

    A page has the first ``limit`` items whose key is greater than ``after``; the first page comes
    after "". A page with fewer items is the last one.
    """

    def document_ids(self, after: str, *, limit: int) -> list[str]: ...

    def entity_ids(self, after: str, *, limit: int) -> list[str]:
        """Return ids of entities and keywords."""
        ...

    def text_items(self, name: str, after: str, *, limit: int) -> list[TextItem]:
        """Return items of a text index; none if the index does not exist."""
        ...

    def vector_items(self, name: str, after: str, *, limit: int) -> list[VectorItem]:
        """Return items of a vector index; none if the index does not exist."""
        ...

    def community_ids(self, after: str, *, limit: int) -> list[str]: ...

    def summaries(self, after: str, *, limit: int) -> list[EntitySummary]:
        """Return summaries of entities, by entity id."""
        ...

    def decisions(self, after: tuple[str, str], *, limit: int) -> list[SameAs]:
        """Return decisions by pair, also those about entities that are gone for now."""
        ...

    def touched(self, after: str, *, limit: int) -> list[str]:
        """Return ids of the entities that are marked as changed."""
        ...

    def homonyms(self, after: str, *, limit: int) -> list[Homonym]:
        """Return homonyms as they were stored, by entity id.

        Their senses include chunks that do not mention the entity for now; chunks are ascending.
        """
        ...

    def graph_nodes(self, name: str, start: int, *, limit: int) -> list[PropertyNode]:
        """Return nodes of an imported graph in the order of its import, from position ``start``."""
        ...

    def graph_relationships(self, name: str, start: int, *, limit: int) -> list[Relationship]:
        """Return relationships of an imported graph in the order of its import."""
        ...

    def put_communities(
        self, communities: Iterable[Community], *, stale: Collection[str] = ()
    ) -> None:
        """Add or replace these communities, and mark those of ``stale`` as stale, not the others.

        The other communities and all reports stay, unlike with `CommunityStore.replace`.
        """
