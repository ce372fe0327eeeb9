"""The map of a graph: entities with their importance and places, relations, and communities.

Views read only these arrays, so they take milliseconds. The map is read again whenever the index
changes. Only the places are stored, in a file beside the index, so that an entity stays where
people know it. The file is not part of the index, because viewing a page must not write to an
index.
"""

from __future__ import annotations

import logging
import re
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from knotwork._extensions.server.map_layout import lay_out
from knotwork._extensions.server.private_files import PrivateJson
from knotwork._graph.communities import undirected_adjacency
from knotwork._retrieval.chunk_entities import read_merged_entities
from knotwork._stores.base import Store
from knotwork._stores.corrections import read_corrections
from knotwork.records import (
    CO_OCCURRENCE_RELATION,
    ENTITY_EDGES,
    Label,
    Node,
    content_id,
    id_to_int,
    int_to_id,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
Names = tuple[str, ...]
NOWHERE = -1

_MINOR_TYPES = frozenset(
    {"DATE", "TIME", "NUMBER", "MONEY", "QUANTITY", "PERCENT", "IDENTIFIER", "FILE", "URL", "EMAIL"}
)
_MINOR_NAME = re.compile(
    r"^\W*\d|^--?\w|^\S*[/\\]\S*$|^\S+\.[A-Za-z]\w{0,4}$|\b[A-Z]+ \d$|^\W*\w?\W*$"
)
"""Numbers, options, paths, file names, values such as "DEBUG 0", and single letters."""
_CO_OCCURRENCE_PULL = 0.15
"""How much a co-occurrence draws two entities together, relative to a stated relation."""
MAP_SUFFIX = ".map"
LAYOUT_VERSION = "forces-1"
"""Change it if places of an earlier version must not be used."""

_log = logging.getLogger("knotwork.service")


@dataclass(frozen=True)
class GraphMap:
    """A map as columns: entities by id, relations, and communities of the topmost level by size.

    Merged entities are one. ``types`` and ``relations`` are the names that ``entity_types`` and
    ``edge_relations`` refer to by position. ``homes`` is the community of each entity, or -1.
    """

    key: str
    entity_keys: Ints
    entity_names: Names
    entity_types: Ints
    entity_chunks: Ints
    entity_places: Floats
    homes: Ints
    types: Names
    community_ids: Names
    edge_sources: Ints
    edge_targets: Ints
    edge_weights: Floats
    edge_relations: Ints
    relations: Names
    canonical: dict[str, str]
    """The canonical entity of each merged one, by id."""
    is_pinned: Mask
    """The mask of the entities that a person wants to see."""

    @cached_property
    def is_stated(self) -> Mask:
        """The mask of the relations that a document states: all but co-occurrences."""
        if CO_OCCURRENCE_RELATION not in self.relations:
            return np.ones(len(self.edge_sources), dtype=np.bool_)
        return np.asarray(self.edge_relations != self.relations.index(CO_OCCURRENCE_RELATION))

    @cached_property
    def degrees(self) -> Ints:
        """The number of entities that each entity has a stated relation with."""
        return self.count_neighbours(self.is_stated)

    @cached_property
    def importance(self) -> Floats:
        """The importance of each entity: the root of its passages, times its stated relations.

        A word can be frequent without saying anything, so relations count in full. Passages count
        by their root, because they grow with the length of the documents, and relations do not.
        """
        return np.asarray(np.sqrt(self.entity_chunks) * (1.0 + self.degrees))

    @cached_property
    def is_typed(self) -> Mask:
        """The mask of the entities with a type."""
        return self._of_types(lambda name: name != "")

    @cached_property
    def is_minor(self) -> Mask:
        """The mask of dates, numbers, file names and the like."""
        is_named = [bool(_MINOR_NAME.search(name)) for name in self.entity_names]
        is_minor = self._of_types(lambda name: name.upper() in _MINOR_TYPES)
        return is_minor | (~self.is_typed & np.array(is_named, dtype=np.bool_))

    def _of_types(self, fits: Callable[[str], bool]) -> Mask:
        fitting = np.array([fits(name) for name in self.types], dtype=np.bool_)
        return fitting[self.entity_types]

    def find_entities(self, ids: Sequence[str]) -> list[int]:
        """Return the positions of entities, without those that are not on the map.

        A merged entity has the position of its canonical one.
        """
        wanted = np.array(
            [id_to_int(self.canonical.get(key, key)) for key in ids if _ID.fullmatch(key)],
            dtype=np.int64,
        )
        known = self.entity_keys
        if not len(known):
            return []
        places = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
        return [int(place) for place in places[known[places] == wanted]]

    def entity_id(self, position: int) -> str:
        """Return the id of the entity at a position."""
        return int_to_id(int(self.entity_keys[position]))

    def edges_at(self, entities: Sequence[int] | Ints) -> Ints:
        """Return the positions of the relations at entities, in either direction."""
        starts, edges = self._touching
        parts = [edges[starts[entity] : starts[entity + 1]] for entity in entities]
        return np.unique(np.concatenate(parts)) if parts else np.zeros(0, dtype=np.int64)

    def count_neighbours(self, edges: Mask) -> Ints:
        """Return the number of neighbours of each entity over some relations."""
        count = len(self.entity_keys)
        one, other = self.edge_sources[edges], self.edge_targets[edges]
        pairs = np.unique(np.minimum(one, other) * count + np.maximum(one, other))
        ends = np.concatenate([pairs // max(count, 1), pairs % max(count, 1)])
        return np.bincount(ends, minlength=count)

    @cached_property
    def _touching(self) -> tuple[Ints, Ints]:
        ends = np.concatenate([self.edge_sources, self.edge_targets])
        order = np.argsort(ends, kind="stable")
        starts = np.searchsorted(ends[order], np.arange(len(self.entity_keys) + 1))
        return starts, order % max(len(self.edge_sources), 1)


_ID = re.compile(r"[0-7][0-9a-f]{15}")
"""An id has 63 bits."""

Places = dict[int, tuple[float, float]]
"""The places of entities by their number."""


def build_map(store: Store, known: Places | None = None) -> GraphMap:
    """Read the graph of an index, and place its entities. Those with a ``known`` place keep it."""
    merged = read_merged_entities(store)
    groups: defaultdict[str, list[Node]] = defaultdict(list)
    for node in store.graph.find(label=Label.ENTITY, limit=store.graph.entity_count()):
        groups[merged.canonical(node.id)].append(node)
    for key, nodes in groups.items():
        nodes.sort(key=lambda node: (node.id != key, -_chunks(node), node.id))
    ids = sorted(groups, key=id_to_int)
    position = {key: place for place, key in enumerate(ids)}
    canonical = {node.id: key for key, nodes in groups.items() for node in nodes if node.id != key}
    types: dict[str, int] = {}
    relations: dict[str, int] = {}
    edges = _read_edges(store, position, canonical, relations)
    communities, homes = _read_homes(store, position, canonical)
    kinds = [next(filter(None, map(_type, groups[key])), "") for key in ids]
    chunks = [sum(_chunks(node) for node in groups[key]) for key in ids]
    drawn = GraphMap(
        key="",
        entity_keys=np.array([id_to_int(key) for key in ids], dtype=np.int64),
        entity_names=tuple(groups[key][0].name for key in ids),
        entity_types=np.array(
            [types.setdefault(kind, len(types)) for kind in kinds], dtype=np.int64
        ),
        entity_chunks=np.array(chunks, dtype=np.int64),
        entity_places=np.zeros((len(ids), 2)),
        homes=homes,
        types=tuple(types),
        community_ids=communities,
        edge_sources=edges[0],
        edge_targets=edges[1],
        edge_weights=edges[2],
        edge_relations=edges[3],
        relations=tuple(relations),
        canonical=canonical,
        is_pinned=_read_pinned(store, position, canonical),
    )
    names = (*drawn.entity_names, *drawn.types, *drawn.relations, *ids, *communities)
    columns = (drawn.entity_chunks, drawn.entity_types, homes, drawn.is_pinned, *edges)
    key = content_id(LAYOUT_VERSION, *names, *(column.tobytes().hex() for column in columns))
    return replace(drawn, key=key, entity_places=_place(drawn, known or {}))


def _read_edges(
    store: Store, position: dict[str, int], canonical: dict[str, str], relations: dict[str, int]
) -> tuple[Ints, Ints, Floats, Ints]:
    """Return sources, targets, weights and relations; ``relations`` gets their names.

    Relations that became equal because their ends were merged are added up.
    """

    def read() -> Iterator[tuple[int, int, int, float]]:
        for edge in store.graph.edges(types=ENTITY_EDGES) if position else ():
            source = position.get(canonical.get(edge.source, edge.source))
            target = position.get(canonical.get(edge.target, edge.target))
            if source is not None and target is not None and source != target:
                yield (
                    source,
                    target,
                    relations.setdefault(edge.relation, len(relations)),
                    edge.weight,
                )

    table = np.fromiter(read(), np.dtype("i8, i8, i8, f8"))
    nodes, kinds = max(len(position), 1), max(len(relations), 1)
    number = (table["f0"] * nodes + table["f1"]) * kinds + table["f2"]
    edges, first = np.unique(number, return_inverse=True)
    weights = np.zeros(len(edges))
    np.add.at(weights, first, table["f3"])
    ends: Ints = edges // kinds
    return ends // nodes, ends % nodes, weights, edges % kinds


def _chunks(node: Node) -> int:
    return int(str(node.properties.get("chunk_count") or 0))


def _type(node: Node) -> str:
    return str(node.properties.get("type") or "")


def _read_homes(
    store: Store, position: dict[str, int], canonical: dict[str, str]
) -> tuple[Names, Ints]:
    """Return the ids of the communities of the topmost level, largest first, and the one of each
    entity: of several, that in which it is most important.
    """
    homes = np.full(len(position), NOWHERE, dtype=np.int64)
    communities = store.capabilities.communities
    levels = communities.levels() if communities is not None else []
    if communities is None or not levels:
        return (), homes
    found = communities.communities(levels[0])
    ids = sorted(found, key=lambda key: (-found[key].size, key))
    best = np.full(len(position), -np.inf)
    for number, key in enumerate(ids):
        for entity, importance in found[key].members:
            place = position.get(canonical.get(entity, entity))
            if place is not None and importance > best[place]:
                best[place], homes[place] = importance, number
    return tuple(ids), homes


def _read_pinned(store: Store, position: dict[str, int], canonical: dict[str, str]) -> Mask:
    pinned = np.zeros(len(position), dtype=np.bool_)
    for correction in read_corrections(store):
        place = position.get(canonical.get(correction.entity_ids[0], correction.entity_ids[0]))
        if correction.kind == "pin" and place is not None:
            pinned[place] = True
    return pinned


def _place(drawn: GraphMap, known: Places) -> Floats:
    count = len(drawn.entity_keys)
    pull = np.where(drawn.is_stated, 1.0, _CO_OCCURRENCE_PULL) * np.log1p(drawn.edge_weights)
    adjacency = undirected_adjacency(drawn.edge_sources, drawn.edge_targets, pull, nodes=count)
    # A hub would draw everything onto itself: the pull of a relation is shared by its ends.
    totals = np.sqrt(np.maximum(np.asarray(adjacency.sum(axis=1)).reshape(-1), 1.0))
    entries = adjacency.tocoo()
    adjacency.data = entries.data / (totals[entries.row] * totals[entries.col])
    places = np.full((count, 2), np.nan)
    for number, key in enumerate(drawn.entity_keys.tolist()):
        places[number] = known.get(key, np.nan)
    return lay_out(adjacency, importance=drawn.importance, keys=drawn.entity_keys, known=places)


class MapCache:
    """Cache the map of one index in memory, and its places in a file, if it has a path.

    Thread-safe.
    """

    def __init__(self, path: Path | None, *, writes: bool = True) -> None:
        self._path = path
        self._writes = writes
        self._lock = threading.Lock()
        self._map: GraphMap | None = None
        self._generation = -1

    def current(self, store: Store) -> GraphMap:
        """Return the map of the current index. It is built at most once for each state."""
        with self._lock:
            generation = store.generation()
            if self._map is None or generation != self._generation:
                self._map = self._build(store)
                self._generation = generation
            return self._map

    def forget(self) -> None:
        """Drop the map from memory."""
        with self._lock:
            self._map = None

    def _build(self, store: Store) -> GraphMap:
        known = load_places(self._path) if self._path else {}
        if self._map is not None:
            known |= _places_of(self._map)
        built = build_map(store, known)
        places = _places_of(built)
        # Places of entities that were removed stay: a document may be read again.
        if self._writes and self._path and not places.items() <= known.items():
            try:
                PrivateJson(self._path).write({LAYOUT_VERSION: known | places})
            except OSError as error:
                _log.warning("cannot write the map `%s`: %s", self._path, error)
        return built


def _places_of(drawn: GraphMap) -> Places:
    keys, places = drawn.entity_keys.tolist(), drawn.entity_places.tolist()
    return {key: (x, y) for key, (x, y) in zip(keys, places, strict=True)}


def load_places(path: Path) -> Places:
    """Read places from a file; none if it is missing, unreadable, or of another version."""
    found = PrivateJson(path).read().get(LAYOUT_VERSION, {})
    return {int(key): (x, y) for key, (x, y) in found.items()}
