"""Bringing the communities of an index up to date with its graph."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from knotwork.config import CommunitySettings
from knotwork.errors import StoreError
from knotwork.graph.hierarchy import DivisionOptions
from knotwork.indexing.communities.detection import detect_communities
from knotwork.indexing.communities.network import read_network
from knotwork.records import Community, content_id
from knotwork.stores.base import Store
from knotwork.stores.communities import CommunityStore, StoresCommunities
from knotwork.stores.homonyms import read_senses
from knotwork.stores.resolutions import StoresResolutions, read_groups
from knotwork.stores.staging import remove_vectors

OPTIONS_META = "communities"
"""Setting of an index that says with which options its communities were made."""

NAMES_META = "communities_names"
"""Setting of an index that says which names were one when its communities were found."""

FOREIGN_NAMES = "foreign"
"""Value of it where communities came from elsewhere: these stay until documents change."""

USUAL_SIZE = 50
"""Entities from which a community is divided, unless the index is small."""
_FEWEST_COMMUNITIES = 8
"""A small index has communities of this part of its entities, so that it has levels too."""
_SMALLEST_SIZE = 8


@dataclass(frozen=True, slots=True)
class CommunityOptions:
    """How communities are found.

    ``algorithm`` is a name of `knotwork.graph.communities`. A community of more than ``max_size``
    entities is divided; 0 is `USUAL_SIZE`, and fewer in a small index. There are at most ``levels``
    levels, any number with 0. ``tolerance`` is the modularity given up so that communities stay.
    """

    algorithm: str = "leiden"
    max_size: int = 0
    resolution: float = 1.0
    seed: int = 0
    tolerance: float = 0.01
    levels: int = 0

    @classmethod
    def of(cls, settings: CommunitySettings) -> CommunityOptions:
        """Return the options that settings ask for."""
        return cls(**asdict(settings))

    def division(self, entities: int) -> DivisionOptions:
        """Return how to divide a graph of so many entities."""
        usual = min(USUAL_SIZE, max(entities // _FEWEST_COMMUNITIES, _SMALLEST_SIZE))
        return DivisionOptions(**{**asdict(self), "max_size": float(self.max_size or usual)})

    @property
    def fingerprint(self) -> str:
        """Change whenever the communities of an equal graph would.

        What was usual before sizes and levels could be set keeps its value, so that the communities
        of older indexes stay.
        """
        size = f"at most {self.max_size}" if self.max_size else str(USUAL_SIZE)
        values = (self.algorithm, size, self.resolution, self.seed, self.tolerance)
        levels = (f"levels {self.levels}",) if self.levels else ()
        return content_id("communities-1", *map(str, values), *levels)


@dataclass(frozen=True, slots=True)
class CommunityChanges:
    """What a refresh did: communities in all, new, gone, and changed with their id kept."""

    communities: int
    levels: int
    added: int
    removed: int
    changed: int
    seconds: float


def community_store(store: Store) -> CommunityStore:
    """Return the part of a store that holds communities; raise StoreError where it has none."""
    if isinstance(store, StoresCommunities):
        return store.communities
    raise StoreError(
        f"The store `{store.url}` cannot hold communities.",
        fix="Use an index file, or give the store the shape of `StoresCommunities`.",
    )


def refresh_communities(
    store: Store, options: CommunityOptions | None = None, *, rebuild: bool = False
) -> CommunityChanges:
    """Find the communities of the graph as it is, and store them in one transaction.

    Those that still fit stay, with their ids; ``rebuild``, other options than last time, or none
    stored make them anew, and then they depend on the graph and on which names are one alone,
    whatever came before. Raises StoreError when the store cannot hold communities, UnknownName for
    an unknown algorithm.
    """
    wanted = options or CommunityOptions()
    begun = time.monotonic()
    held = community_store(store)
    with store.transaction():
        before = stored_communities(held)
        same = store.meta().get(OPTIONS_META) == wanted.fingerprint
        found = detect_communities(
            read_network(store),
            wanted.division(store.graph.entity_count()),
            earlier=before if same and not rebuild else (),
            stale=held.stale(),
            relinked=_relinked(store, before),
        )
        held.replace(found)
        store.set_meta({OPTIONS_META: wanted.fingerprint, NAMES_META: names_key(store)})
        _remove_lost_texts(store, before, found)
    old = {community.id: community for community in before}
    new = {community.id: community for community in found}
    return CommunityChanges(
        communities=len(new),
        levels=max((community.level for community in found), default=-1) + 1,
        added=len(new.keys() - old.keys()),
        removed=len(old.keys() - new.keys()),
        changed=sum(key in old and old[key] != community for key, community in new.items()),
        seconds=time.monotonic() - begun,
    )


def names_key(store: Store) -> str:
    """Return what changes with which names are one, however that is decided, and with which mean
    several things; "" where none do.
    """
    joined = [f"{one} {other}" for one, other in read_groups(store).items()]
    parted = [
        f"{entity} {chunk} {number}"
        for entity, senses in read_senses(store).items()
        for chunk, number in senses.items()
    ]
    return content_id(*joined, *parted) if joined or parted else ""


def _relinked(store: Store, before: Sequence[Community]) -> set[str]:
    """Return the entities whose community may not fit any more, for their names were decided upon.

    These are the names of one thing that lie in different lowest communities, and those in one
    whose being the same was undone.
    """
    if not isinstance(store, StoresResolutions):
        return set()
    if store.meta().get(NAMES_META, "") in {FOREIGN_NAMES, names_key(store)}:
        return set()
    lowest = _lowest_communities(before)
    joined = [p for p in read_groups(store).items() if lowest.get(p[0]) != lowest.get(p[1])]
    undone = (d.pair for d in store.resolutions.decisions() if d.undone)
    parted = [p for p in undone if lowest.get(p[0]) == lowest.get(p[1])]
    return {entity for pair in (*joined, *parted) for entity in pair}


def _lowest_communities(communities: Sequence[Community]) -> Mapping[str, str]:
    ordered = sorted(communities, key=lambda community: community.level)
    return {member.entity_id: c.id for c in ordered for member in c.members}


def stored_communities(held: CommunityStore) -> list[Community]:
    """Return all communities of a store, the topmost first, each level by id."""
    ids = [key for level in held.levels() for key in level]
    return list(held.communities(ids).values())


def _remove_lost_texts(
    store: Store, before: Sequence[Community], found: Sequence[Community]
) -> None:
    gone = {community.id for community in before} - {community.id for community in found}
    store.texts("report").remove(gone)
    remove_vectors(store, "report", gone)
