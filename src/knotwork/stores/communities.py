"""The power to store communities and their reports, which not every store has to have."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Protocol, runtime_checkable

from knotwork.records import Community, CommunityReport


class CommunityStore(Protocol):
    """Communities of the graph and their reports, in the transactions of their store."""

    def replace(self, communities: Iterable[Community]) -> None:
        """Put these in the place of all communities there are; none of them is stale then.

        Reports of communities that are gone go too; the others stay as they are.
        """

    def communities(self, ids: Collection[str]) -> dict[str, Community]: ...

    def levels(self) -> list[list[str]]:
        """Return the ids of the communities of each level, the topmost first, each ascending."""

    def of_entities(self, entity_ids: Collection[str]) -> dict[str, list[str]]:
        """Return the communities of each entity, from the topmost to the lowest."""

    def of_chunks(self, chunk_ids: Collection[str]) -> dict[str, list[str]]:
        """Return the communities that hold each chunk, from the topmost to the lowest."""

    def stale(self) -> list[str]:
        """Return the ids of the communities that a removal touched since `replace`, ascending."""

    def forget(
        self, chunk_ids: Collection[str], *, mentioned: Collection[str], vanished: Collection[str]
    ) -> list[str]:
        """Forget removed chunks: return the ids of the communities whose reports went, ascending.

        Communities that hold one of the chunks, or one of the ``mentioned`` entities of these, are
        stale from now on. The chunks leave them, and so do the ``vanished`` entities; a community
        without members goes. A report goes when it cites one of the chunks.
        """

    def put_reports(self, reports: Iterable[CommunityReport]) -> None:
        """Add or replace the reports of communities."""

    def remove_reports(self, community_ids: Collection[str]) -> None: ...

    def reports(self, community_ids: Collection[str]) -> dict[str, CommunityReport]:
        """Return the reports of these communities, by community id."""


@runtime_checkable
class TellsParents(Protocol):
    """A community store that tells how communities lie in each other without reading them."""

    def parents(self) -> Mapping[str, str | None]:
        """Return the parent of each community, None for the topmost, by ascending id."""
        ...


def read_parents(held: CommunityStore) -> Mapping[str, str | None]:
    """Return the parent of each community; a store that does not tell is read whole."""
    if isinstance(held, TellsParents):
        return held.parents()
    ids = sorted(key for level in held.levels() for key in level)
    return {key: community.parent_id for key, community in held.communities(ids).items()}


@runtime_checkable
class StoresCommunities(Protocol):
    """A store that can hold communities."""

    @property
    def communities(self) -> CommunityStore: ...
