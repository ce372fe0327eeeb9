"""What a map of a graph holds: arrays of communities, entities and relations, by position.

A view of a map reads nothing but these, so that it costs a few milliseconds however large the
index. 127,000 entities with 540,000 relations take some 30 MB.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from knotwork.records import id_to_int, int_to_id

Floats = NDArray[np.float32]
Ints = NDArray[np.int32]
Keys = NDArray[np.int64]
Mask = NDArray[np.bool_]
NOWHERE = -1


@dataclass(frozen=True, slots=True)
class Words:
    """Many texts in one array of bytes: ``ends`` says where each ends."""

    data: NDArray[np.uint8]
    ends: Keys

    @classmethod
    def of(cls, texts: Sequence[str]) -> Words:
        """Put texts together."""
        encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
        lengths = np.array([len(part) for part in encoded], dtype=np.int64)
        return cls(np.frombuffer(b"".join(encoded), dtype=np.uint8), np.cumsum(lengths))

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, position: int) -> str:
        start = int(self.ends[position - 1]) if position else 0
        data = self.data[start : int(self.ends[position])].tobytes()
        return data.decode("utf-8", "surrogatepass")

    def all(self) -> list[str]:
        """Return all texts."""
        return [self[position] for position in range(len(self))]


@dataclass(frozen=True, slots=True)
class GraphMap:
    """A map. Communities come level by level, the topmost first; entities by id.

    ``chains`` (levels, entities) has the community of each entity at each level: where there is
    none so low, the lowest above. ``importance`` (levels, entities) is that in these communities.
    Relations are those of the graph, each once; ``relations`` are their names.
    """

    key: str
    radius: float
    community_keys: Keys
    community_levels: Ints
    community_parents: Ints
    community_sizes: Ints
    community_places: Floats
    """x, y and radius, of shape (communities, 3)."""
    entity_keys: Keys
    entity_names: Words
    entity_types: Ints
    entity_chunks: Ints
    entity_places: Floats
    chains: Ints
    importance: Floats
    types: Words
    relations: Words
    edge_sources: Ints
    edge_targets: Ints
    edge_weights: Floats
    edge_relations: Ints
    _touching: list[tuple[Keys, Keys]] = field(default_factory=list, compare=False, repr=False)

    @property
    def levels(self) -> int:
        """The number of levels."""
        return len(self.chains)

    def find_entities(self, ids: Sequence[str]) -> list[int]:
        """Return the positions of entities; those that are not on the map are left out."""
        keys = np.array([id_to_int(key) for key in ids if _is_id(key)], dtype=np.int64)
        return _find(self.entity_keys, keys)

    def find_community(self, identifier: str) -> int | None:
        """Return the position of a community; None where it is not on the map."""
        if not _is_id(identifier):
            return None
        found = np.flatnonzero(self.community_keys == id_to_int(identifier))
        return int(found[0]) if len(found) else None

    def community_id(self, position: int) -> str:
        """Return the id of a community."""
        return int_to_id(int(self.community_keys[position]))

    def entity_id(self, position: int) -> str:
        """Return the id of an entity."""
        return int_to_id(int(self.entity_keys[position]))

    def homes(self) -> Ints:
        """Return the lowest community of each entity, -1 where it has none."""
        if not self.levels:
            return np.full(len(self.entity_keys), NOWHERE, dtype=np.int32)
        return np.asarray(self.chains[-1])

    def inside(self, community: int) -> Keys:
        """Return the positions of the entities that lie in a community, ascending."""
        level = int(self.community_levels[community])
        return np.flatnonzero(self.chains[level] == community)

    def around(self, community: int) -> list[int]:
        """Return the communities that hold one, the topmost first."""
        found: list[int] = []
        above = int(self.community_parents[community])
        while above != NOWHERE:
            found.append(above)
            above = int(self.community_parents[above])
        return found[::-1]

    def edges_at(self, entity: int) -> Keys:
        """Return the positions of the relations of an entity."""
        if not self._touching:
            ends = np.concatenate([self.edge_sources, self.edge_targets])
            order = np.argsort(ends, kind="stable")
            starts = np.searchsorted(ends[order], np.arange(len(self.entity_keys) + 1))
            self._touching.append((starts, order % max(len(self.edge_sources), 1)))
        starts, edges = self._touching[0]
        return edges[starts[entity] : starts[entity + 1]]


def _find(known: Keys, wanted: Keys) -> list[int]:
    if not len(known):
        return []
    places = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    return [int(place) for place in places[known[places] == wanted]]


def _is_id(text: str) -> bool:
    return (
        len(text) == 16
        and text.isascii()
        and all(c in "0123456789abcdef" for c in text)
        and (text < "8")
    )
