"""Paths between two things are the shortest there are, as an independent search finds them."""

from __future__ import annotations

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork._retrieval.graph_paths import MOST_HOPS, find_shortest_paths
from knotwork._stores.urls import open_store
from knotwork.records import (
    CO_OCCURRENCE_RELATION,
    Chunk,
    Document,
    Mention,
    Relation,
    Section,
    Span,
    entity_id,
)

pytestmark = pytest.mark.slow


NAMES = [f"thing {n}" for n in range(9)]
PAIRS = st.sets(
    st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)).filter(lambda p: p[0] != p[1]),
    max_size=16,
)


def build(relations):
    """Return a store in memory with one chunk that states these relations."""
    store = open_store("memory:", create=True)
    document = Document("a.md", "x")
    section = Section("1" * 16, document.id, None, 0, 0, "", Span(0, 1))
    chunk = Chunk("2" * 16, document.id, section.id, 0, Span(0, 1), "x")
    with store.transaction():
        store.documents.put(document, [section], [chunk])
        store.graph.upsert(
            mentions=[Mention(chunk.id, name, name) for name in NAMES],
            relations=[
                Relation(chunk.id, entity_id(a), relation, entity_id(b), weight)
                for a, relation, b, weight in relations
            ],
        )
    return store


@given(PAIRS)
def test_they_are_all_of_the_shortest_length_and_all_of_them(pairs):
    store = build([(a, "knows", b, 1) for a, b in pairs])
    graph = nx.Graph([(entity_id(a), entity_id(b)) for a, b in pairs])
    graph.add_nodes_from(map(entity_id, NAMES))
    ends = entity_id(NAMES[0]), entity_id(NAMES[1])
    found = find_shortest_paths(store, [ends[0]], [ends[1]], limit=1_000)
    expected = set()
    if nx.has_path(graph, *ends):
        expected = {tuple(p) for p in nx.all_shortest_paths(graph, *ends)}
        if len(next(iter(expected))) - 1 > MOST_HOPS:
            expected = set()
    assert {path.entity_ids for path in found} == expected
    assert len(found) == len(expected)
    store.close()


def test_stated_relations_come_before_names_that_stand_together():
    a, b, c, d = NAMES[:4]
    store = build(
        [
            (a, CO_OCCURRENCE_RELATION, c, 9),
            (c, CO_OCCURRENCE_RELATION, b, 9),
            (a, "founded", d, 1),
            (b, "leads", d, 1),
        ]
    )
    first, second = find_shortest_paths(store, [entity_id(a)], [entity_id(b)], limit=5)
    assert first.text == f"{a} -founded→ {d} ←leads- {b}"
    assert [hop.chunk_id for hop in first.hops] == ["2" * 16] * 2
    assert second.entity_ids[1] == entity_id(c)
    assert find_shortest_paths(store, [entity_id(a)], [entity_id(b)], limit=1) == [first]
    assert find_shortest_paths(store, [entity_id(a)], [entity_id(a)], limit=1) == []
    store.close()
