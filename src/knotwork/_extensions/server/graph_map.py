"""The map of a graph: positions of communities and entities, its layout, and its cache file.

Views read only these arrays, so they take milliseconds; 127,000 entities with 540,000 relations
need 40 MB. The file beside the index is a cache with a key. It is written atomically, and rebuilt
if it is stale or unreadable. It is not part of the index, because viewing a page must not write to
an index.
"""

from __future__ import annotations

import json
import logging
import re
import threading
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from knotwork._durable_files import replace_file
from knotwork._extensions.server.map_layout import lay_out
from knotwork._extensions.server.private_files import FILE_MODE
from knotwork._graph.communities import undirected_adjacency
from knotwork._indexing.commit import CONTENT_META
from knotwork._indexing.communities.detection import NAMES_META
from knotwork._shapes.base import Json
from knotwork._stores.base import Store
from knotwork._stores.corrections import read_corrections
from knotwork.records import ENTITY_EDGES, Community, content_id, id_to_int, int_to_id

Floats = NDArray[np.float32]
Ints = NDArray[np.int32]
Keys = NDArray[np.int64]
Mask = NDArray[np.bool_]
Names = tuple[str, ...]
NOWHERE = -1


@dataclass(frozen=True)
class GraphMap:
    """A map as columns: communities by level from the top, entities by id, each relation once.

    ``chains`` (levels, entities) is the community of each entity at each level, or the lowest one
    above if the entity has none at that level. ``importance`` (levels, entities) is the importance
    of the entity in that community. ``types`` and ``relations`` are the names that the columns
    ``entity_types`` and ``edge_relations`` refer to by position.
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
    entity_names: Names
    entity_types: Ints
    entity_chunks: Ints
    entity_places: Floats
    chains: Ints
    importance: Floats
    types: Names
    relations: Names
    edge_sources: Ints
    edge_targets: Ints
    edge_weights: Floats
    edge_relations: Ints

    @property
    def levels(self) -> int:
        """The number of community levels."""
        return len(self.chains)

    def find_entities(self, ids: Sequence[str]) -> list[int]:
        """Return the positions of entities, without those that are not on the map."""
        wanted = np.array([id_to_int(key) for key in ids if _ID.fullmatch(key)], dtype=np.int64)
        known = self.entity_keys
        if not len(known):
            return []
        places = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
        return [int(place) for place in places[known[places] == wanted]]

    def find_community(self, identifier: str) -> int | None:
        """Return the position of a community, or None if it is not on the map."""
        if not _ID.fullmatch(identifier):
            return None
        found = np.flatnonzero(self.community_keys == id_to_int(identifier))
        return int(found[0]) if len(found) else None

    def community_id(self, position: int) -> str:
        """Return the id of the community at a position."""
        return int_to_id(int(self.community_keys[position]))

    def entity_id(self, position: int) -> str:
        """Return the id of the entity at a position."""
        return int_to_id(int(self.entity_keys[position]))

    def homes(self) -> Ints:
        """Return the lowest community of each entity, or -1 for none."""
        if not self.levels:
            return np.full(len(self.entity_keys), NOWHERE, dtype=np.int32)
        return np.asarray(self.chains[-1])

    def inside(self, community: int) -> Keys:
        """Return the positions of the entities in a community, ascending."""
        level = int(self.community_levels[community])
        return np.flatnonzero(self.chains[level] == community)

    def around(self, community: int) -> list[int]:
        """Return the ancestors of a community, from the top level down."""
        ancestors: list[int] = []
        parent = int(self.community_parents[community])
        while parent != NOWHERE:
            ancestors.append(parent)
            parent = int(self.community_parents[parent])
        return ancestors[::-1]

    def edges_at(self, entity: int) -> Keys:
        """Return the positions of the relations at an entity, in either direction."""
        starts, edges = self._touching
        return edges[starts[entity] : starts[entity + 1]]

    @cached_property
    def _touching(self) -> tuple[Keys, Keys]:
        ends = np.concatenate([self.edge_sources, self.edge_targets])
        order = np.argsort(ends, kind="stable")
        starts = np.searchsorted(ends[order], np.arange(len(self.entity_keys) + 1))
        return starts, order % max(len(self.edge_sources), 1)


_ID = re.compile(r"[0-7][0-9a-f]{15}")
"""An id has 63 bits."""

LAYOUT_VERSION = "circles-1"
"""Change it whenever the same graph would be drawn differently."""


def map_key(store: Store) -> str:
    """Return a hash that changes whenever communities or corrections do, and with them the map."""
    communities = store.capabilities.communities
    if communities is None:
        return content_id(LAYOUT_VERSION)
    meta = store.meta()
    levels = (" ".join(level) for level in communities.levels())
    corrected = " ".join(correction.id for correction in read_corrections(store))
    built = meta.get(CONTENT_META, ""), meta.get(NAMES_META, ""), corrected
    return content_id(LAYOUT_VERSION, *built, *levels)


def build_map(store: Store, key: str) -> GraphMap:
    """Read the graph of an index and its communities, and compute the layout."""
    communities = _read_communities(store)
    ids = sorted({key for community in communities for key in community.entity_ids})
    found = store.graph.entities(ids)
    entities = [found[key] for key in ids if key in found and not found[key].is_keyword]
    position = {entity.id: place for place, entity in enumerate(entities)}
    types: dict[str, int] = {}
    relations: dict[str, int] = {}

    def edges() -> Iterator[tuple[int, int, float, int]]:
        for edge in store.graph.edges(types=ENTITY_EDGES) if position else ():
            source, target = position.get(edge.source), position.get(edge.target)
            if source is not None and target is not None and source != target:
                name = relations.setdefault(edge.relation, len(relations))
                yield source, target, edge.weight, name

    table = np.fromiter(edges(), np.dtype("i4, i4, f4, i4"))
    sources, targets, weights = table["f0"], table["f1"], table["f2"]
    known = {community.id: place for place, community in enumerate(communities)}
    parents = [known.get(c.parent_id or "", NOWHERE) for c in communities]
    chains, importance = _community_chains(communities, parents, position)
    levels = np.array([c.level for c in communities], dtype=np.int32)
    layout = lay_out(
        undirected_adjacency(sources, targets, weights.astype(np.float64), nodes=len(entities)),
        homes=(chains[-1] if len(chains) else np.full(len(entities), NOWHERE)).astype(np.int64),
        parents=np.array(parents, dtype=np.int64),
        importance=importance.max(axis=0, initial=0.0).astype(np.float64),
    )
    return GraphMap(
        key=key,
        radius=layout.radius,
        community_keys=np.array([id_to_int(c.id) for c in communities], dtype=np.int64),
        community_levels=levels,
        community_parents=np.array(parents, dtype=np.int32),
        community_sizes=count_members(chains, levels),
        community_places=np.column_stack([layout.middles, layout.radii]).astype(np.float32),
        entity_keys=np.array([id_to_int(entity.id) for entity in entities], dtype=np.int64),
        entity_names=tuple(entity.name for entity in entities),
        entity_types=np.array(
            [types.setdefault(entity.type, len(types)) for entity in entities], dtype=np.int32
        ),
        entity_chunks=np.array([entity.chunk_count for entity in entities], dtype=np.int32),
        entity_places=layout.nodes.astype(np.float32),
        chains=chains,
        importance=importance,
        types=tuple(types),
        relations=tuple(relations),
        edge_sources=sources,
        edge_targets=targets,
        edge_weights=weights,
        edge_relations=table["f3"],
    )


def _read_communities(store: Store) -> list[Community]:
    communities = store.capabilities.communities
    if communities is None:
        return []
    ids = [key for level in communities.levels() for key in level]
    found = communities.communities(ids)
    return [found[key] for key in ids if key in found]


def _community_chains(
    communities: Sequence[Community], parents: Sequence[int], position: dict[str, int]
) -> tuple[Ints, Floats]:
    """Return the community of each entity at each level, and its importance there.

    The entity of an ambiguous name can be in several communities. On the map it has one place:
    the lowest community in which it is most important, and the ancestors of that community.
    """
    levels = 1 + max((community.level for community in communities), default=-1)
    homes: dict[int, tuple[int, float, int]] = {}
    memberships: list[dict[int, float]] = []
    for place, community in enumerate(communities):
        members = ((position.get(m.entity_id), m.importance) for m in community.members)
        memberships.append({entity: weight for entity, weight in members if entity is not None})
        for entity, weight in memberships[place].items():
            claim = (community.level, weight, -place)
            homes[entity] = max(homes.get(entity, claim), claim)
    chains = np.full((levels, len(position)), NOWHERE, dtype=np.int32)
    weights = np.zeros((levels, len(position)), dtype=np.float32)
    for entity, (_, _, home) in homes.items():
        above = -home
        while above != NOWHERE:
            level = communities[above].level
            chains[level, entity] = above
            weights[level, entity] = memberships[above].get(entity, 0.0)
            above = parents[above]
    for level in range(1, levels):
        missing = chains[level] == NOWHERE
        chains[level, missing] = chains[level - 1, missing]
        weights[level, missing] = weights[level - 1, missing]
    return chains, weights


def count_members(chains: Ints, levels: Ints, chosen: Mask | None = None) -> Ints:
    """Return the number of entities in each community; of those ``chosen``, if given."""
    counts = np.zeros(len(levels), dtype=np.int32)
    for level, chain in enumerate(chains):
        homes = chain[chain >= 0 if chosen is None else chosen & (chain >= 0)]
        here = levels == level
        counts[here] = np.bincount(homes, minlength=len(levels))[here]
    return counts


MAP_SUFFIX = ".map"
_MOST_CACHED_VIEWS = 32
"""Overviews kept in memory, because every visitor starts with the same ones."""

_log = logging.getLogger("knotwork.service")


class MapCache:
    """Cache the map of one index in memory and in a file, if it has a path. Thread-safe."""

    def __init__(self, path: Path | None, *, writes: bool = True) -> None:
        self._path = path
        self._writes = writes
        self._lock = threading.Lock()
        self._map: GraphMap | None = None
        self._generation = -1
        self._views: OrderedDict[str, Json] = OrderedDict()
        self._views_lock = threading.Lock()

    def current(self, store: Store) -> GraphMap:
        """Return the map of the current index. It is built at most once for each state."""
        with self._lock:
            generation = store.generation()
            if self._map is None or generation != self._generation:
                self._map = self._load_or_build(store, map_key(store))
                self._generation = generation
            return self._map

    def recall(self, tag: str, make: Callable[[], Json]) -> Json:
        """Return the view with this tag, from the cache or by calling ``make``.

        A tag must change with everything the view depends on, and belong to one kind of view. The
        `_MOST_CACHED_VIEWS` most recently used views are kept.
        """
        with self._views_lock:
            if tag in self._views:
                self._views.move_to_end(tag)
                return self._views[tag]
        made = make()
        with self._views_lock:
            self._views[tag] = made
            while len(self._views) > _MOST_CACHED_VIEWS:
                self._views.popitem(last=False)
        return made

    def forget(self) -> None:
        """Drop the map and the views from memory."""
        with self._lock, self._views_lock:
            self._map = None
            self._views.clear()

    def _load_or_build(self, store: Store, key: str) -> GraphMap:
        if self._map is not None and self._map.key == key:
            return self._map
        loaded = load_map(self._path) if self._path else None
        if loaded is not None and loaded.key == key:
            return loaded
        built = build_map(store, key)
        if self._writes and self._path:
            try:
                save_map(built, self._path)
            except OSError as error:
                _log.warning("cannot write the map `%s`: %s", self._path, error)
        return built


def save_map(graph_map: GraphMap, path: Path) -> None:
    """Write a map to a file atomically. Raises OSError."""
    parts: dict[str, np.ndarray] = {}
    for part in fields(graph_map):
        value = getattr(graph_map, part.name)
        if part.type == "Names":
            parts[part.name] = np.frombuffer(json.dumps(value).encode(), dtype=np.uint8)
        else:
            parts[part.name] = np.asarray(value)
    with replace_file(path, mode=FILE_MODE) as file:
        np.savez(file, allow_pickle=False, **parts)


def load_map(path: Path) -> GraphMap | None:
    """Read a map from a file. Return None if the file is missing or unreadable."""
    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            parts = {name: file[name] for name in file.files}
        values: dict[str, object] = {}
        for field in fields(GraphMap):
            if field.type == "Names":
                values[field.name] = tuple(json.loads(parts[field.name].tobytes()))
            elif field.type in ("str", "float"):
                values[field.name] = parts[field.name].item()
            else:
                values[field.name] = parts[field.name]
        return GraphMap(**values)  # type: ignore[arg-type]
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        _log.warning("cannot read the map `%s`, rebuilding it: %s", path, error)
        return None
