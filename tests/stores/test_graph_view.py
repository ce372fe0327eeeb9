"""The walk against a plain reading of its description, on random graphs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork._extensions.testing.graph_contract import add_edges
from knotwork._graph.walk import AdjacentEdge, strongest_edges, walk_graph
from knotwork._stores.urls import open_store
from knotwork.records import Edge, entity_id

pytestmark = pytest.mark.slow


NAMES = "abcdefg"
edges_of_a_graph = st.lists(
    st.tuples(
        st.sampled_from(NAMES), st.sampled_from("rst"), st.sampled_from(NAMES), st.integers(1, 3)
    ),
    max_size=30,
    unique_by=lambda edge: edge[:3],
)


def explore_by_description(
    edges: list[Edge], seeds: list[str], *, direction: str, depth: int, fan: int, limit: int
) -> tuple[list[str], list[Edge]]:
    """Follow the description of `GraphStore.explore` word by word, without regard to cost."""
    nodes, taken, frontier = list(seeds), [], list(seeds)
    for _ in range(depth):
        found = []
        for node in frontier:
            seen = [
                edge
                for edge in edges
                if (direction != "in" and edge.source == node)
                or (direction != "out" and edge.target == node)
            ]
            far = {edge: edge.target if edge.source == node else edge.source for edge in seen}
            ranked = sorted(seen, key=lambda e: (-e.weight, far[e], e.type, e.relation, e.source))
            neighbours = list(dict.fromkeys(far[edge] for edge in ranked))[:fan]
            for edge in ranked:
                if far[edge] in neighbours and edge not in taken:
                    if len(taken) == limit:
                        return nodes, taken
                    taken.append(edge)
                    if far[edge] not in nodes:
                        nodes.append(far[edge])
                        found.append(far[edge])
        frontier = found
    return nodes, taken


@given(
    edges_of_a_graph,
    st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True),
    st.sampled_from(["both", "in", "out"]),
    st.integers(0, 3),
    st.integers(1, 4),
    st.integers(0, 12),
)
def test_explore_does_what_it_says(edges, names, direction, depth, fan, limit):
    store = open_store("memory:")
    add_edges(store, *edges)
    seeds = [key for key in map(entity_id, names) if store.graph.entities([key])]
    options = {"direction": direction, "depth": depth, "fan": fan, "limit": limit}
    found = store.graph.explore([entity_id(name) for name in names], **options)
    relates = list(store.graph.edges(types=["RELATES"]))
    nodes, taken = explore_by_description(relates, seeds, **options)
    assert [node.id for node in found.nodes] == nodes
    assert list(found.edges) == taken


def test_only_as_many_nodes_are_asked_for_as_the_limit_needs() -> None:
    asked: list[int] = []

    def adjacent(nodes):
        for node in nodes:
            asked.append(node)
            yield [
                AdjacentEdge(-1.0, 1_000 * node + n, "RELATES", "", node, 1_000 * node + n)
                for n in range(1, 9)
            ]

    reached = walk_graph(adjacent, [1], depth=4, limit=20)
    assert len(reached.edges) == 20
    assert len(asked) <= 4


@pytest.mark.parametrize(("fan", "expected"), [(None, [5, 5, 4, 4, 1]), (2, [5, 5, 4, 1]), (0, [])])
def test_strongest_keeps_every_link_to_a_chosen_neighbour(fan, expected):
    links = [
        AdjacentEdge(-float(weight), other, "RELATES", relation, 0, other)
        for weight, other, relation in [
            (1, 7, "weak"), (5, 7, "a"), (4, 8, "a"), (4, 9, "a"), (5, 7, "b"), (5, 7, "b"),
        ]
    ]  # fmt: skip
    assert [link.weight for link in strongest_edges(links, fan)] == expected
