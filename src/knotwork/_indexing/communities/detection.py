"""Find the communities of an index and keep them up to date with its graph.

The network has a node for each entity and each chunk. Relations alone leave a third of the entities
that rules extract without an edge, because most are found within one sentence. Linking all pairs of
a chunk's entities makes two to four times as many edges as a node per chunk, and hardly better
communities. On the documents of three corpora, with a fifth held out, the share of pairs of names
in held-out documents that are in one lowest community, above chance, rises from 0.048, 0.039 and
0.063 (relations alone) to 0.079, 0.108 and 0.075 (MuSiQue, Chinese company reports, ten novels); it
is 0.099, 0.111 and 0.076 with all pairs.

A name that occurs everywhere says little about any place. Each edge is divided by the fourth root
of the number of chunks of its entity, or of both: the largest community then shrinks from 1,016 to
385, from 2,298 to 1,468 and from 1,789 to 1,518 entities, at no loss. With the square root, small
groups of rare names split off.

Merged names (`ResolutionStore.groups`) remain separate nodes: as one node, one wrong decision would
join two topics. An edge to the canonical entity holds them together. Without it 80, 34 and 13 % of
them are in its lowest community (162, 96 and 6 groups of news, Chinese company reports and two
repositories); with it 100, 97 and 100 %, and modularity over the edges from texts falls by 0.001 at
the topmost level and 0.0016 at the lowest. With twice the weight the lowest falls by up to 0.006.
Importance within a community is computed without these edges.

A homonym (`HomonymStore`) is a node for each of its meanings, with the edges of the chunks that
mean it, so that the film and the river of one name do not join two topics. Chunks of unknown
meaning count for the meaning of most chunks.
"""

from __future__ import annotations

import time
from array import array
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from knotwork._cancellation import check_cancelled, checked
from knotwork._config import CommunitySettings
from knotwork._graph.communities import Labels, Weights, undirected_adjacency
from knotwork._graph.hierarchy import (
    DividedCommunity,
    DivisionOptions,
    PreviousDivision,
    divide_communities,
    match_groups,
)
from knotwork._graph.pagerank import personalized_pagerank
from knotwork._stores.base import Store, require_communities
from knotwork._stores.capabilities import CommunityStore
from knotwork._stores.removal import remove_vectors
from knotwork._stores.resolutions import read_groups, read_senses
from knotwork.records import ENTITY_EDGES, Community, Edge, EdgeType, Member, content_id

OPTIONS_META = "communities"
"""Index setting: the fingerprint of the options that its communities were found with."""

NAMES_META = "communities_names"
"""Index setting: the fingerprint of merged names and homonyms when communities were found."""

FOREIGN_NAMES = "foreign"
"""Value of `NAMES_META` for imported communities, which stay until documents change."""

USUAL_SIZE = 50
"""Entities above which a community is divided, unless the index is small."""
_FEWEST_COMMUNITIES = 8
"""A small index divides communities above this fraction of its entities, to have levels too."""
_SMALLEST_SIZE = 8


@dataclass(frozen=True, slots=True)
class CommunityOptions:
    """Options of community detection.

    ``algorithm`` is a name of `knotwork._graph.communities`. A community of more than ``max_size``
    entities is divided; 0 means `USUAL_SIZE`, or fewer in a small index. There are at most
    ``levels`` levels; 0 means no limit. ``tolerance`` is the loss of modularity accepted to keep
    communities stable in an update.
    """

    algorithm: str = "leiden"
    max_size: int = 0
    resolution: float = 1.0
    seed: int = 0
    tolerance: float = 0.01
    levels: int = 0

    @classmethod
    def of(cls, settings: CommunitySettings) -> CommunityOptions:
        """Return the options of the settings."""
        return cls(**asdict(settings))

    def division(self, entities: int) -> DivisionOptions:
        """Return the division options for a graph of ``entities`` entities."""
        usual = min(USUAL_SIZE, max(entities // _FEWEST_COMMUNITIES, _SMALLEST_SIZE))
        return DivisionOptions(**{**asdict(self), "max_size": float(self.max_size or usual)})

    @property
    def fingerprint(self) -> str:
        """Fingerprint that changes whenever the communities of an equal graph would."""
        return content_id("communities-1", *map(str, (USUAL_SIZE, *astuple(self))))


@dataclass(frozen=True, slots=True)
class CommunityChanges:
    """Counts of a refresh; ``changed`` communities kept their id but not their content."""

    communities: int
    levels: int
    added: int
    removed: int
    changed: int
    seconds: float


def refresh_communities(
    store: Store, options: CommunityOptions | None = None, *, rebuild: bool = False
) -> CommunityChanges:
    """Find the communities of the current graph and store them in one transaction.

    Communities that still fit keep their ids. With ``rebuild``, with other options than last time
    or without stored communities, detection starts from scratch: the result then depends only on
    the graph and the merged names. Raises MissingCapability if the store cannot hold communities,
    UnknownName for an unknown algorithm.
    """
    wanted = options or CommunityOptions()
    begun = time.monotonic()
    held = require_communities(store)
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
        old = {community.id: community for community in before}
        new = {community.id: community for community in found}
        gone = old.keys() - new.keys()
        store.texts("report").remove(gone)
        remove_vectors(store, "report", gone)
    return CommunityChanges(
        communities=len(new),
        levels=max((community.level for community in found), default=-1) + 1,
        added=len(new.keys() - old.keys()),
        removed=len(gone),
        changed=sum(key in old and old[key] != community for key, community in new.items()),
        seconds=time.monotonic() - begun,
    )


def names_key(store: Store) -> str:
    """Return a fingerprint of the merged names and the homonyms, or "" without either.

    It depends on the resulting groups alone, not on how they were decided.
    """
    merged = [f"{one} {other}" for one, other in read_groups(store).items()]
    split = [
        f"{entity} {chunk} {number}"
        for entity, senses in read_senses(store).items()
        for chunk, number in senses.items()
    ]
    return content_id(*merged, *split) if merged or split else ""


def _relinked(store: Store, before: Sequence[Community]) -> set[str]:
    """Return the entities whose community may no longer fit after a change of merge decisions.

    These are merged entities in different lowest communities, and entities in the same lowest
    community that a person keeps apart.
    """
    resolutions = store.capabilities.resolutions
    if resolutions is None:
        return set()
    if store.meta().get(NAMES_META, "") in {FOREIGN_NAMES, names_key(store)}:
        return set()
    downwards = sorted(before, key=lambda community: community.level)
    lowest = {member.entity_id: c.id for c in downwards for member in c.members}
    merged = [p for p in read_groups(store).items() if lowest.get(p[0]) != lowest.get(p[1])]
    apart = (d.pair for d in resolutions.decisions() if d.by_person and not d.joins)
    split = [p for p in apart if lowest.get(p[0]) == lowest.get(p[1])]
    return {entity for pair in (*merged, *split) for entity in pair}


def stored_communities(held: CommunityStore) -> list[Community]:
    """Return all communities of a store, the topmost first, each level by id."""
    ids = [key for level in held.levels() for key in level]
    return list(held.communities(ids).values())


_DAMPING = 0.85
_ROUNDS = 100
_DIGITS = 6
"""Importances are rounded so that the order of a sum cannot change a community."""


def detect_communities(
    network: Network,
    options: DivisionOptions,
    *,
    earlier: Sequence[Community] = (),
    stale: Collection[str] = (),
    relinked: Collection[str] = (),
) -> list[Community]:
    """Return the communities of a network, parents before children.

    They continue the ``earlier`` ones as far as these still fit: only the neighbourhoods of members
    of ``stale`` communities, of ``relinked`` entities and of new nodes are examined again, and
    other communities keep their id. Without ``earlier``, the result depends on the network alone.
    """
    before = _previous_division(network, earlier, stale, relinked) if earlier else None
    groups = divide_communities(network.adjacency, network.sizes, options, earlier=before)
    ids = _group_ids(network, groups, earlier)
    importance = _importances(network, groups)
    entities = len(network.entity_ids)
    found: list[Community] = []
    for group, key, ranks in checked(zip(groups, ids, importance, strict=True)):
        members = group.nodes[group.nodes < entities]
        if not len(members):
            continue
        shares: defaultdict[str, float] = defaultdict(float)  # one may hold several meanings
        for node, rank in zip(members.tolist(), ranks[: len(members)], strict=True):
            shares[network.entity_ids[node]] += rank
        ranked = [Member(*share) for share in shares.items()]
        ranked.sort(key=lambda member: (-member.importance, member.entity_id))
        parent = None if group.parent is None else ids[group.parent]
        chunks = group.nodes[group.nodes >= entities]
        names = tuple(network.chunk_ids[node - entities] for node in chunks.tolist())
        found.append(Community(key, group.level, parent, tuple(ranked), names))
    return found


def _previous_division(
    network: Network,
    earlier: Sequence[Community],
    stale: Collection[str],
    relinked: Collection[str],
) -> PreviousDivision:
    """Return the earlier community of each node, and which nodes to examine again."""
    nodes = len(network.node_ids)
    # Communities do not record which meaning of a homonym they hold: examine all of them again.
    homonyms = network.homonyms
    place = {
        node: position for position, node in enumerate(network.entity_ids) if node not in homonyms
    }
    chunk_place = {
        node: position for position, node in enumerate(network.chunk_ids, len(network.entity_ids))
    }
    depth = max(community.level for community in earlier) + 1
    labels = [np.full(nodes, -1, dtype=np.int64) for _ in range(depth)]
    touched = np.zeros(nodes, dtype=np.bool_)
    marked = set(stale)
    ordered = sorted(enumerate(earlier), key=lambda item: item[1].level)
    for position, community in checked(ordered):
        held = [place[m.entity_id] for m in community.members if m.entity_id in place]
        held += [chunk_place[chunk] for chunk in community.chunk_ids if chunk in chunk_place]
        labels[community.level][held] = position
        touched[held] = community.id in marked  # lower levels come last and decide
    touched[[place[entity] for entity in relinked if entity in place]] = True
    new = labels[0] < 0
    touched |= new
    touched[network.plain[np.flatnonzero(new)].indices] = True
    return PreviousDivision(tuple(labels), touched)


def _group_ids(
    network: Network, groups: Sequence[DividedCommunity], earlier: Sequence[Community]
) -> list[str]:
    """Return the id of each group: the id of the community that it continues, or a new one."""
    names = network.node_ids
    nodes = [[names[node] for node in group.nodes.tolist()] for group in checked(groups)]
    at_level: defaultdict[int, list[int]] = defaultdict(list)
    for position, group in enumerate(groups):
        at_level[group.level].append(position)
    ids: dict[int, str] = {}
    for level, positions in at_level.items():
        old = {c.id: (*c.entity_ids, *c.chunk_ids) for c in earlier if c.level == level}
        matched = match_groups([nodes[position] for position in positions], old)
        ids.update((positions[place], key) for place, key in matched.items())
    taken = set(ids.values())
    for position, group in enumerate(groups):
        if position not in ids:
            key = content_id("community", group.level, *nodes[position])
            while key in taken:
                key = content_id(key)
            ids[position] = key
            taken.add(key)
    return [ids[position] for position in range(len(groups))]


def _importances(network: Network, groups: Sequence[DividedCommunity]) -> list[list[float]]:
    """Return the importance of the entities of each group, in the order of its nodes.

    This is the PageRank within each community. Those of a level are computed in one run without the
    edges between them, so that none depends on the others.
    """
    entities = len(network.entity_ids)
    depth = max((group.level for group in groups), default=-1) + 1
    ranks = [_ranks(network.plain, groups, level) for level in range(depth)]
    found: list[list[float]] = []
    for group in checked(groups):
        own = ranks[group.level][group.nodes[group.nodes < entities]]
        shares = own / own.sum() if len(own) else own
        found.append([round(share, _DIGITS) for share in shares.tolist()])
    return found


def _ranks(adjacency: sparse.csr_array, groups: Sequence[DividedCommunity], level: int) -> Weights:
    labels: Labels = np.full(adjacency.shape[0], -1, dtype=np.int64)
    for position, group in enumerate(groups):
        if group.level == level:
            labels[group.nodes] = position
    edges = adjacency.tocoo()
    inside = (labels[edges.row] == labels[edges.col]) & (labels[edges.row] >= 0)
    linked = np.zeros(len(labels), dtype=np.bool_)
    linked[edges.row[inside]] = True
    alone = np.flatnonzero(~linked)  # a loop keeps the walker there, out of other communities
    rows = np.concatenate([edges.row[inside], alone])
    columns = np.concatenate([edges.col[inside], alone])
    weights = np.concatenate([edges.data[inside], np.ones(len(alone))])
    within = sparse.coo_array((weights, (rows, columns)), shape=adjacency.shape).tocsr()
    # The number of rounds is fixed, since a stop criterion would depend on other communities.
    return personalized_pagerank(
        within, np.ones(len(labels)), damping=_DAMPING, tolerance=0.0, max_iterations=_ROUNDS
    )


MENTION_WEIGHT = 2.0
"""Weight of a mention; a relation stated once weighs 1."""
NAME_WEIGHT = 4 * MENTION_WEIGHT
"""Weight of the edge between a merged entity and its canonical entity."""
DAMPING_OF_HUBS = 0.25
"""Exponent: edges are divided by this power of the number of chunks of their entity."""


class Meaning(NamedTuple):
    """An entity in one of its meanings; all but homonyms have only meaning 0."""

    entity_id: str
    sense: int = 0


Senses = Mapping[str, Mapping[str, int]]
"""The number of the meaning in each chunk, by homonym; see `read_senses`."""


@dataclass(frozen=True, slots=True)
class Network:
    """A graph of entities, then chunks, each by ascending id.

    A homonym has one node for each meaning. ``plain`` holds the original edge weights;
    ``adjacency`` damps those of hubs and links merged entities. A value computed from ``plain``
    within a community depends on that community alone.
    """

    entity_ids: tuple[str, ...]
    chunk_ids: tuple[str, ...]
    plain: sparse.csr_array
    adjacency: sparse.csr_array

    @property
    def homonyms(self) -> frozenset[str]:
        """The entities with more than one node."""
        counts = Counter(self.entity_ids)
        return frozenset(entity for entity, count in counts.items() if count > 1)

    @property
    def node_ids(self) -> tuple[str, ...]:
        """The ids of the entities and chunks, in the order of the nodes."""
        return self.entity_ids + self.chunk_ids

    @property
    def sizes(self) -> Weights:
        """The share of each node in a community's size: 1 for entities, 0 for chunks."""
        return np.repeat([1.0, 0.0], [len(self.entity_ids), len(self.chunk_ids)])


def read_network(store: Store) -> Network:
    """Return the network of an index: its mentions, weighted relations and merged names."""
    senses = read_senses(store)
    mentions = (
        (Meaning(edge.target, senses.get(edge.target, {}).get(edge.source, 0)), edge.source)
        for edge in checked(store.graph.edges(types=[EdgeType.MENTIONS]))
    )
    relations = (
        relation
        for edge in checked(store.graph.edges(types=ENTITY_EDGES))
        for relation in _relations_of_meanings(edge, senses)
    )
    return make_network(mentions, relations, read_groups(store))


def _relations_of_meanings(edge: Edge, senses: Senses) -> Iterator[tuple[Meaning, Meaning, float]]:
    """Yield a relation once for each pair of meanings, with weights by the number of chunks."""
    ends = edge.source, edge.target
    if not any(end in senses for end in ends):
        yield Meaning(edge.source), Meaning(edge.target), edge.weight
        return
    stated = Counter(
        tuple(Meaning(end, senses.get(end, {}).get(chunk, 0)) for end in ends)
        for chunk in edge.chunks
    )
    for (one, other), times in sorted(stated.items()):
        yield one, other, edge.weight * times / len(edge.chunks)


Name = TypeVar("Name")
Nodes = NDArray[np.int32]


class _Numbers(dict[Name, int]):
    """Numbers names in the order in which they are first looked up."""

    def __missing__(self, name: Name) -> int:
        number = self[name] = len(self)
        return number

    def places(self, ordered: Sequence[Name]) -> Nodes:
        """Return the place of each number among the ordered names."""
        places: Nodes = np.empty(len(ordered), dtype=np.int32)
        places[np.fromiter((self[name] for name in ordered), np.int32)] = np.arange(len(ordered))
        return places


def make_network(
    mentions: Iterable[tuple[Meaning, str]],
    relations: Iterable[tuple[Meaning, Meaning, float]],
    groups: Mapping[str, str],
) -> Network:
    """Return the network of (entity, chunk) mentions and weighted (entity, entity) relations.

    ``groups`` map merged entities to their canonical entity. Relations of an entity without a
    mention, which a store should not hold, are left out. Edges take a few bytes each while they are
    read: there may be millions.
    """
    entity_numbers: _Numbers[Meaning] = _Numbers()
    chunk_numbers: _Numbers[str] = _Numbers()
    lists = array("i"), array("i"), array("i"), array("i"), array("d")
    for entity, chunk in mentions:
        lists[0].append(entity_numbers[entity])
        lists[1].append(chunk_numbers[chunk])
    for source, target, weight in relations:
        if source in entity_numbers and target in entity_numbers:
            lists[2].append(entity_numbers[source])
            lists[3].append(entity_numbers[target])
            lists[4].append(weight)
    named, holding, sources, targets, stated = map(np.asarray, lists)
    entities, chunks = sorted(entity_numbers), sorted(chunk_numbers)
    check_cancelled()
    place, chunk_place = entity_numbers.places(entities), chunk_numbers.places(chunks)
    nodes = len(entities) + len(chunks)
    ends = (
        np.concatenate([place[named], place[sources]]),
        np.concatenate([chunk_place[holding] + np.int32(len(entities)), place[targets]]),
    )
    weights = np.concatenate([np.full(len(named), MENTION_WEIGHT), stated])
    plain = undirected_adjacency(*ends, weights, nodes=nodes)
    check_cancelled()
    counts = np.bincount(ends[0][: len(named)], minlength=nodes).astype(np.float64)
    damping = np.power(np.maximum(counts, 1.0), -DAMPING_OF_HUBS)
    weights *= damping[ends[0]]
    weights *= damping[ends[1]]
    pairs = [
        (place[entity_numbers[one]], place[entity_numbers[other]])
        for one, other in ((Meaning(e), Meaning(c)) for e, c in sorted(groups.items()))
        if one != other and one in entity_numbers and other in entity_numbers
    ]
    merged: Nodes = np.array(pairs, dtype=np.int32).reshape(-1, 2)
    adjacency = undirected_adjacency(
        np.concatenate([ends[0], merged[:, 0]]),
        np.concatenate([ends[1], merged[:, 1]]),
        np.concatenate([weights, np.full(len(merged), NAME_WEIGHT)]),
        nodes=nodes,
    )
    names = tuple(meaning.entity_id for meaning in entities)
    return Network(names, tuple(chunks), plain, adjacency)
