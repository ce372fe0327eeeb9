"""Communities of an index: found, kept, stale, renewed."""

import random

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.indexing.communities.worlds import (
    TOPICS,
    all_documents,
    make_index,
    network_of,
    topic_documents,
)
from tests.stores.minimal_store import MinimalStore

from knotwork._graph.hierarchy import DivisionOptions
from knotwork._indexing.communities.detection import (
    CommunityOptions,
    detect_communities,
    read_network,
    refresh_communities,
    stored_communities,
)
from knotwork.errors import MissingCapability, UnknownName
from knotwork.records import content_id

pytestmark = pytest.mark.slow


def communities_of(base):
    return stored_communities(base.store.communities)


def names_of(base, community):
    return {entity.name for entity in base.store.graph.entities(community.entity_ids).values()}


@st.composite
def worlds(draw):
    """Return mentions and relations of a graph in topics, with names all over the place."""
    shuffle = random.Random(draw(st.integers(0, 10_000)))
    topics, chunks = draw(st.integers(1, 4)), draw(st.integers(4, 25))
    mentions, relations = set(), []
    for number in range(chunks):
        topic, chunk = shuffle.randrange(topics), content_id("chunk", number)
        named = [content_id("e", topic, shuffle.randrange(8)) for _ in range(4)]
        named.append(content_id("hub", shuffle.randrange(3)))
        mentions |= {(entity, chunk) for entity in named}
        relations += [(named[0], named[1], 1.0), (named[2], named[3], 2.0)]
    return sorted(mentions), relations


def test_topics_become_communities_with_their_chunks():
    base = make_index(all_documents())
    changes = refresh_communities(base.store)
    found = communities_of(base)
    assert changes.added == changes.communities == len(found)
    for topic, names in TOPICS.items():
        (community,) = [c for c in found if c.level == 0 and names_of(base, c) & set(names)]
        assert set(names) <= names_of(base, community)
        documents = {
            base.store.documents.documents([chunk.document_id])[chunk.document_id].uri
            for chunk in base.store.documents.chunks(community.chunk_ids).values()
        }
        assert documents == {document.uri for document in topic_documents(topic)}


def test_without_earlier_ones_neither_order_nor_history_matters():
    documents = all_documents()
    base, other = make_index(documents), make_index(documents[::-1])
    extra = next(topic_documents("harbour", 1))
    base.index_documents(
        [type(extra)("extra.txt", extra.text + " Zed Rowan laughed at Mara Quill.")]
    )
    refresh_communities(base.store)
    base.delete("extra.txt")
    refresh_communities(base.store, rebuild=True)
    refresh_communities(other.store)
    assert communities_of(base) == communities_of(other)


def test_nothing_changes_where_nothing_changed():
    base = make_index(all_documents())
    refresh_communities(base.store, CommunityOptions(max_size=4))
    before = communities_of(base)
    changes = refresh_communities(base.store, CommunityOptions(max_size=4))
    assert communities_of(base) == before
    assert (changes.added, changes.removed, changes.changed) == (0, 0, 0)
    assert refresh_communities(base.store).communities != len(before)


def test_a_deletion_marks_its_topic_and_a_refresh_changes_that_alone():
    base = make_index(all_documents())
    refresh_communities(base.store)
    before = {community.id: community for community in communities_of(base)}
    touched = {key for key, c in before.items() if names_of(base, c) & set(TOPICS["kitchen"])}
    base.delete("kitchen-1.txt")
    assert set(base.store.communities.stale()) == touched
    refresh_communities(base.store)
    after = {community.id: community for community in communities_of(base)}
    assert base.store.communities.stale() == []
    assert after.keys() == before.keys()
    assert {key for key in after if after[key] != before[key]} == touched


def test_a_new_topic_gets_a_new_id_and_the_others_keep_theirs():
    base = make_index([*topic_documents("harbour"), *topic_documents("kitchen")])
    refresh_communities(base.store)
    before = {community.id: community for community in communities_of(base)}
    base.index_documents(list(topic_documents("observatory")))
    changes = refresh_communities(base.store)
    after = {community.id: community for community in communities_of(base)}
    assert {key: after[key] for key in before} == before
    (new,) = after.keys() - before.keys()
    assert set(TOPICS["observatory"]) <= names_of(base, after[new])
    assert (changes.added, changes.removed, changes.changed) == (1, 0, 0)


@given(worlds(), st.randoms(use_true_random=False), st.integers(3, 12))
def test_communities_depend_on_the_graph_alone(world, shuffle, max_size):
    mentions, relations = world
    options = DivisionOptions(max_size=max_size)
    found = detect_communities(network_of(mentions, relations), options)
    shuffle.shuffle(mentions)
    shuffle.shuffle(relations)
    assert detect_communities(network_of(mentions, relations), options) == found
    parents = {community.parent_id for community in found}
    lowest = [community for community in found if community.id not in parents]
    held = sorted(entity for community in lowest for entity in community.entity_ids)
    assert held == sorted({entity for entity, _ in mentions})
    assert len({community.id for community in found}) == len(found)
    by_id = {community.id: community for community in found}
    chunks = sorted(chunk for community in lowest for chunk in community.chunk_ids)
    assert chunks == sorted({chunk for _, chunk in mentions})
    for community in found:
        assert sum(m.importance for m in community.members) == pytest.approx(1.0, abs=1e-4)
        if community.parent_id is not None:
            assert set(community.entity_ids) < set(by_id[community.parent_id].entity_ids)


@given(worlds(), worlds(), st.integers(3, 12))
def test_an_update_is_a_partition_too_and_settles(world, other, max_size):
    options = DivisionOptions(max_size=max_size)
    before = detect_communities(network_of(*world), options)
    changed = network_of(sorted({*world[0], *other[0]}), world[1] + other[1])
    stale = [community.id for community in before]
    after = detect_communities(changed, options, earlier=before, stale=stale)
    parents = {community.parent_id for community in after}
    held = [e for c in after if c.id not in parents for e in c.entity_ids]
    assert sorted(held) == sorted(changed.entity_ids)
    assert len({community.id for community in after}) == len(after)
    again = detect_communities(changed, options, earlier=after)
    assert again == after


@given(worlds(), st.integers(3, 12))
def test_importance_is_the_pagerank_of_the_community_alone(world, max_size):
    network = network_of(*world)
    place = {node: position for position, node in enumerate(network.node_ids)}
    for community in detect_communities(network, DivisionOptions(max_size=max_size)):
        nodes = [place[node] for node in (*community.entity_ids, *community.chunk_ids)]
        inside = nx.from_scipy_sparse_array(network.plain).subgraph(nodes)
        ranks = nx.pagerank(inside, alpha=0.85, tol=1e-10, max_iter=500)
        whole = sum(ranks[place[entity]] for entity in community.entity_ids)
        for member in community.members:
            expected = ranks[place[member.entity_id]] / whole
            assert member.importance == pytest.approx(expected, abs=1e-5)


def test_edges_of_hubs_weigh_less():
    mentions = [("hub", f"c{n}") for n in range(16)] + [("rare", "c0")]
    network = network_of(mentions, [("hub", "rare", 3.0)])
    dense = network.adjacency.toarray()
    assert dense[0, 1] == pytest.approx(3.0 / 2)
    assert np.allclose(network.plain.toarray()[0, 1], 3.0)
    assert network.sizes.sum() == 2


def test_relations_of_names_that_nothing_mentions_are_left_out():
    network = network_of([("a", "c0")], [("a", "lost", 1.0), ("lost", "gone", 1.0)])
    assert network.entity_ids == ("a",)
    assert network.plain.nnz == 2


def test_an_empty_index_has_no_communities():
    base = make_index([])
    assert refresh_communities(base.store).communities == 0
    assert read_network(base.store).node_ids == ()


def test_impossible_requests_are_explained():
    base = make_index(all_documents(1))
    with pytest.raises(UnknownName, match="community algorithm"):
        refresh_communities(base.store, CommunityOptions(algorithm="magic"))
    assert base.store.communities.levels() == []

    with pytest.raises(MissingCapability, match="does not support communities"):
        refresh_communities(MinimalStore())
