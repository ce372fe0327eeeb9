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
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import NamedTuple

import numpy as np
from scipy import sparse

from knotwork.config import CommunitySettings
from knotwork.errors import StoreError
from knotwork.graph.communities import Labels, Weights, undirected_adjacency
from knotwork.graph.hierarchy import (
    DividedCommunity,
    DivisionOptions,
    PreviousDivision,
    divide_communities,
    match_groups,
)
from knotwork.graph.pagerank import personalized_pagerank
from knotwork.records import ENTITY_EDGES, Community, EdgeType, Member, content_id
from knotwork.stores.base import Store
from knotwork.stores.extensions import CommunityStore, StoresCommunities
from knotwork.stores.removal import remove_vectors
from knotwork.stores.resolutions import StoresResolutions, read_groups, read_senses

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


_DAMPING = 0.85
_ROUNDS = 100
_DIGITS = 6
"""Importances are rounded so that a sum in another order does not make another community."""


def detect_communities(
    network: Network,
    options: DivisionOptions,
    *,
    earlier: Sequence[Community] = (),
    stale: Collection[str] = (),
    relinked: Collection[str] = (),
) -> list[Community]:
    """Return the communities of a network, parents before children.

    They continue the ``earlier`` ones as far as these still fit: the graph around members of the
    ``stale`` ones, of the ``relinked`` entities and around new nodes is looked at again, and the
    others keep their id. Without earlier ones the result depends on the network alone.
    """
    before = _labels_before(network, earlier, stale, relinked) if earlier else None
    groups = divide_communities(network.adjacency, network.sizes, options, earlier=before)
    ids = _name_groups(network, groups, earlier)
    importance = _importances(network, groups)
    entities = len(network.entity_ids)
    found: list[Community] = []
    for group, key, ranks in zip(groups, ids, importance, strict=True):
        members = group.nodes[group.nodes < entities]
        if not len(members):
            continue
        shares: defaultdict[str, float] = defaultdict(float)  # senses of a name may be in one
        for node, rank in zip(members.tolist(), ranks[: len(members)], strict=True):
            shares[network.entity_ids[node]] += rank
        ranked = [Member(*share) for share in shares.items()]
        ranked.sort(key=lambda member: (-member.importance, member.entity_id))
        parent = None if group.parent is None else ids[group.parent]
        chunks = group.nodes[group.nodes >= entities]
        names = tuple(network.chunk_ids[node - entities] for node in chunks.tolist())
        found.append(Community(key, group.level, parent, tuple(ranked), names))
    return found


def _labels_before(
    network: Network,
    earlier: Sequence[Community],
    stale: Collection[str],
    relinked: Collection[str],
) -> PreviousDivision:
    """Return which earlier community each node was in, and which nodes to look at again."""
    nodes = len(network.node_ids)
    # Which of its communities a sense of a name was in is not known: it is looked at again.
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
    for position, community in sorted(enumerate(earlier), key=lambda item: item[1].level):
        held = [place[m.entity_id] for m in community.members if m.entity_id in place]
        held += [chunk_place[chunk] for chunk in community.chunk_ids if chunk in chunk_place]
        labels[community.level][held] = position
        touched[held] = community.id in marked  # lower levels come last and decide
    touched[[place[entity] for entity in relinked if entity in place]] = True
    new = labels[0] < 0
    touched |= new
    touched[network.plain[np.flatnonzero(new)].indices] = True
    return PreviousDivision(tuple(labels), touched)


def _name_groups(
    network: Network, groups: Sequence[DividedCommunity], earlier: Sequence[Community]
) -> list[str]:
    """Return the id of each group: that of the community it continues, or a new one."""
    names = network.node_ids
    nodes = [[names[node] for node in group.nodes.tolist()] for group in groups]
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

    PageRank of each community by itself, on all those of a level at once: edges between them are
    left out, so that none depends on the others.
    """
    entities = len(network.entity_ids)
    depth = max((group.level for group in groups), default=-1) + 1
    ranks = [_ranks(network.plain, groups, level) for level in range(depth)]
    found: list[list[float]] = []
    for group in groups:
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
    alone = np.flatnonzero(~linked)  # a loop keeps a walker there, and so out of the others
    rows = np.concatenate([edges.row[inside], alone])
    columns = np.concatenate([edges.col[inside], alone])
    weights = np.concatenate([edges.data[inside], np.ones(len(alone))])
    within = sparse.coo_array((weights, (rows, columns)), shape=adjacency.shape).tocsr()
    # A fixed number of rounds: when to stop must not depend on the other communities either.
    return personalized_pagerank(
        within, np.ones(len(labels)), damping=_DAMPING, tolerance=0.0, max_iterations=_ROUNDS
    )


MENTION_WEIGHT = 2.0
"""Weight of a mention, where a relation found once weighs 1."""
NAME_WEIGHT = 4 * MENTION_WEIGHT
"""Weight of the edge between an entity and the one that stands for its group."""
DAMPING_OF_HUBS = 0.25
"""Power of the number of an entity's chunks by which its edges are divided."""


class Meaning(NamedTuple):
    """An entity in the sense of this number; most have but one, 0."""

    entity_id: str
    sense: int = 0


Senses = Mapping[str, Mapping[str, int]]
"""The number of the sense that each chunk means, by entity; see `read_senses`."""


@dataclass(frozen=True, slots=True)
class Network:
    """Entities, then chunks, each by ascending id, and the edges among them.

    An entity of several senses stands there once for each. ``plain`` holds the weights as they were
    found, ``adjacency`` those with hubs held back, and the edges between names of one thing. What
    is computed from ``plain`` inside a community depends on that community alone.
    """

    entity_ids: tuple[str, ...]
    chunk_ids: tuple[str, ...]
    plain: sparse.csr_array
    adjacency: sparse.csr_array

    @property
    def homonyms(self) -> frozenset[str]:
        """The entities that stand here more than once."""
        counts = Counter(self.entity_ids)
        return frozenset(entity for entity, count in counts.items() if count > 1)

    @property
    def node_ids(self) -> tuple[str, ...]:
        """The ids of what the nodes are, in order."""
        return self.entity_ids + self.chunk_ids

    @property
    def sizes(self) -> Weights:
        """What each node adds to a community's size: entities 1, chunks 0."""
        return np.repeat([1.0, 0.0], [len(self.entity_ids), len(self.chunk_ids)])


def read_network(store: Store) -> Network:
    """Read the graph of an index: each mention and each relation, with its weight, and names."""
    senses = read_senses(store)
    mentions = [(e.target, e.source) for e in store.graph.edges(types=[EdgeType.MENTIONS])]
    relations: list[tuple[Meaning, Meaning, float]] = []
    for edge in store.graph.edges(types=ENTITY_EDGES):
        ends = edge.source, edge.target
        relations += _relations(*ends, edge.weight, edge.chunks, senses)
    return _make_network(_mentions(mentions, senses), relations, read_groups(store))


def make_network(
    mentions: Sequence[tuple[str, str]],
    relations: Sequence[tuple[str, str, float]],
    groups: Mapping[str, str] | None = None,
) -> Network:
    """Return the network of (entity, chunk) mentions and weighted (entity, entity) relations.

    ``groups`` lead from the names of a thing to the canonical one. An edge with an end that no
    chunk mentions, which a store should not hold, is left out.
    """
    meant = [(Meaning(one), Meaning(other), weight) for one, other, weight in relations]
    return _make_network(_mentions(mentions, {}), meant, groups or {})


def _mentions(mentions: Iterable[tuple[str, str]], senses: Senses) -> list[tuple[Meaning, str]]:
    """Return which meanings chunks mention."""
    return [
        (Meaning(entity, senses[entity].get(chunk, 0) if entity in senses else 0), chunk)
        for entity, chunk in mentions
    ]


def _relations(
    source: str, target: str, weight: float, chunks: Sequence[str], senses: Senses
) -> Iterator[tuple[Meaning, Meaning, float]]:
    """Yield a relation between meanings: the weight is shared by the chunks that state it."""
    if source not in senses and target not in senses:
        yield Meaning(source), Meaning(target), weight
        return
    stated = Counter(
        tuple(Meaning(end, senses.get(end, {}).get(chunk, 0)) for end in (source, target))
        for chunk in chunks
    )
    for (one, other), times in sorted(stated.items()):
        yield one, other, weight * times / len(chunks)


def _make_network(
    mentions: Sequence[tuple[Meaning, str]],
    relations: Sequence[tuple[Meaning, Meaning, float]],
    groups: Mapping[str, str],
) -> Network:
    entities = sorted({entity for entity, _ in mentions})
    chunks = sorted({chunk for _, chunk in mentions})
    place = {entity: position for position, entity in enumerate(entities)}
    chunk_place = {chunk: position for position, chunk in enumerate(chunks, start=len(entities))}
    nodes = len(entities) + len(chunks)
    relations = [relation for relation in relations if place.keys() >= set(relation[:2])]
    named: Labels = np.array([place[entity] for entity, _ in mentions], dtype=np.int64)
    holding: Labels = np.array([chunk_place[chunk] for _, chunk in mentions], dtype=np.int64)
    sources: Labels = np.array([place[source] for source, _, _ in relations], dtype=np.int64)
    targets: Labels = np.array([place[target] for _, target, _ in relations], dtype=np.int64)
    found: Weights = np.array([weight for _, _, weight in relations], dtype=np.float64)
    counts = np.bincount(named, minlength=nodes).astype(np.float64)
    held_back = np.power(np.maximum(counts, 1.0), -DAMPING_OF_HUBS)
    ends = np.concatenate([named, sources]), np.concatenate([holding, targets])
    weights = np.concatenate([np.full(len(named), MENTION_WEIGHT), found])
    damped = weights * held_back[ends[0]] * held_back[ends[1]]
    names = [
        (place[Meaning(entity)], place[Meaning(standing)])
        for entity, standing in sorted(groups.items())
        if entity != standing and Meaning(entity) in place and Meaning(standing) in place
    ]
    joined: Labels = np.array(names, dtype=np.int64).reshape(-1, 2)
    linked = np.concatenate([ends[0], joined[:, 0]]), np.concatenate([ends[1], joined[:, 1]])
    damped = np.concatenate([damped, np.full(len(joined), NAME_WEIGHT)])
    return Network(
        tuple(meaning.entity_id for meaning in entities),
        tuple(chunks),
        undirected_adjacency(*ends, weights, nodes=nodes),
        undirected_adjacency(*linked, damped, nodes=nodes),
    )
