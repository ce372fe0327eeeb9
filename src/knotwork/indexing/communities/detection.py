"""From the network to communities with ids, members by importance, and chunks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence

import numpy as np
from scipy import sparse

from knotwork.graph.hierarchy import DivisionOptions, Earlier, Group, divide
from knotwork.graph.matching import match_groups
from knotwork.graph.pagerank import personalized_pagerank
from knotwork.graph.partition import Labels, Weights
from knotwork.indexing.communities.network import Network
from knotwork.records import Community, Member, content_id

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
    groups = divide(network.adjacency, network.sizes, options, earlier=before)
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
) -> Earlier:
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
    return Earlier(tuple(labels), touched)


def _name_groups(
    network: Network, groups: Sequence[Group], earlier: Sequence[Community]
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


def _importances(network: Network, groups: Sequence[Group]) -> list[list[float]]:
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


def _ranks(adjacency: sparse.csr_array, groups: Sequence[Group], level: int) -> Weights:
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
