"""Paths are all the simple ones there are, as an exhaustive search finds them."""

from itertools import product

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.retrieval.paths.films import FILMS, put_triples

from knotwork._extensions.paths.path_enumeration import (
    LinkReader,
    PathBounds,
    complete_pattern,
    enumerate_patterns,
)
from knotwork._extensions.paths.path_question import RelationWording, find_seeds
from knotwork._stores.urls import open_store
from knotwork._text.names import normal_form
from knotwork.records import entity_id

WIDE = PathBounds(beam=10_000, kept=1_000, walked=1_000, patterns=10_000)
NAMES = ["Alder Hall", "Birch Hall", "Cedar Hall", "Dogwood Hall", "Elder Hall"]


def patterns_of(store, text, bounds=WIDE):
    seeds = find_seeds(text, store)
    wording = RelationWording(text, [seed.span for seed in seeds])
    reader = LinkReader(store, limit=bounds.links)
    return enumerate_patterns(seeds, reader, wording, bounds), reader


def expected_ends(triples, start, hops):
    """Return the ends of all simple paths by their steps, found by brute force."""
    graph = nx.MultiDiGraph()
    for source, relation, target in triples:
        graph.add_edge(source, target, (relation, True))
        graph.add_edge(target, source, (relation, False))
    found = {}
    paths = [((start,), ())]
    for _ in range(hops):
        paths = [
            ((*nodes, other), (*steps, step))
            for nodes, steps in paths
            for _, other, step in graph.out_edges(nodes[-1], keys=True)
            if other not in nodes
        ]
        for nodes, steps in paths:
            found.setdefault(steps, set()).add(entity_id(normal_form(nodes[-1])))
    return found


def test_all_simple_paths_are_found(films):
    patterns, _ = patterns_of(films, "Silver Lantern")
    found = {p.steps: set(p.answers) for p in patterns if p.tail is None}
    assert found == expected_ends(FILMS, "Silver Lantern", 3)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(NAMES), st.sampled_from(["owns", "near"]), st.sampled_from(NAMES)
        ),
        min_size=1,
        max_size=12,
        unique=True,
    )
)
def test_any_graph_is_walked_as_by_brute_force(triples):
    triples = [t for t in triples if t[0] != t[2]]
    store = put_triples(open_store("memory:", create=True), triples)
    patterns, reader = patterns_of(store, NAMES[0])
    found = {p.steps: set(p.answers) for p in patterns if p.tail is None}
    expected = expected_ends(triples, NAMES[0], 3) if any(NAMES[0] in t for t in triples) else {}
    # One entity before each is kept: what only another way round reaches may be missing.
    assert found.keys() <= expected.keys()
    assert all(found[steps] <= expected[steps] for steps in found)
    for hops in (1, 2):
        shorter = {s: e for s, e in expected.items() if len(s) == hops}
        assert {s: e for s, e in found.items() if len(s) == hops} == shorter
    for pattern in patterns:
        walked = pattern.walk(pattern.answers[0])
        is_round = pattern.tail is not None and walked[0] == walked[-1]
        assert len(set(walked)) == len(walked) - is_round
        assert set(pattern.answers) <= set(complete_pattern(pattern, reader, most=100))


def test_two_named_entities_are_joined(films):
    patterns, _ = patterns_of(films, "Copper Kettle and Paper Moon Boat")
    between = {
        (p.all_steps, frozenset(p.answers))
        for p in patterns
        if p.tail is not None and p.tail.seed.entity.id != p.seed.entity.id
    }
    kersti = frozenset({entity_id(normal_form("Kersti Pihl"))})
    assert ((("starred_actors", True), ("starred_actors", False)), kersti) in between


@pytest.mark.parametrize(("beam", "reads"), [(1, 1_500), (24, 2), (1, 1)])
def test_bounds_hold(films, beam, reads):
    bounds = PathBounds(beam=beam, reads=reads, kept=2, walked=1, patterns=7)
    patterns, reader = patterns_of(films, "who wrote Silver Lantern and Copper Kettle", bounds)
    assert len(patterns) <= 7
    assert reader.count <= reads
    assert all(len(layer) <= 2 for p in patterns for layer in p.layers)


def test_a_cut_pattern_is_completed(films):
    bounds = PathBounds(kept=1, walked=1)
    patterns, reader = patterns_of(films, "Marta Ilves", bounds)
    (directed,) = [p for p in patterns if p.steps == (("directed_by", False),)]
    assert len(directed.answers) == 1
    names = {"Silver Lantern", "Copper Kettle", "Iron Anchor"}
    wanted = {entity_id(normal_form(name)) for name in names}
    assert set(complete_pattern(directed, reader, most=10)) == wanted
    assert len(complete_pattern(directed, reader, most=2)) == 2


def test_stores_enumerate_alike(tmp_path):
    found = []
    for url in ("memory:", str(tmp_path / "films.knot")):
        store = put_triples(open_store(url, create=True), FILMS)
        patterns, _ = patterns_of(store, "Silver Lantern", PathBounds(kept=2, walked=1, beam=4))
        found.append([(p.key, p.answers, p.sizes) for p in patterns])
        store.close()
    assert found[0] == found[1]


def test_nothing_named_has_no_paths(films):
    for text, limit in product(("", "who wrote it?", "???"), (1, 400)):
        patterns, _ = patterns_of(films, text, PathBounds(links=limit))
        assert patterns == []
