"""Walks: their bounds, their best ways, and what they cost to reweigh."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.retrieval.entity.conftest import FACTS, fill_with_facts

from knotwork._extensions.patterns.walk_retrievers import WalkLimits, walk_from
from knotwork._stores.urls import open_store
from knotwork.errors import ConfigError
from knotwork.records import entity_id


def everything(edge, source, target):
    return 1.0


def walk(store, names, gain=everything, **limits):
    seeds = {entity_id(name): score for name, score in names.items()}
    return walk_from(seeds, store=store, gain=gain, limits=WalkLimits(**limits))


def names_of(found):
    return {found.entities[i].name for i in found.scores}


def test_depth_and_direction_bound_a_walk(facts):
    assert names_of(walk(facts, {"silver lantern": 1.0}, depth=0)) == {"Silver Lantern"}
    one = walk(facts, {"silver lantern": 1.0}, depth=1, direction="out")
    assert names_of(one) == {"Silver Lantern", "Marta Ilves"}
    assert names_of(walk(facts, {"silver lantern": 1.0}, depth=3, direction="in")) == {
        "Silver Lantern"
    }
    far = walk(facts, {"silver lantern": 1.0}, depth=3, direction="out")
    assert "Estonia" in names_of(far)
    assert "Narva" not in names_of(far)


def test_scores_decay_by_hop_and_the_way_is_known(facts):
    found = walk(facts, {"silver lantern": 0.8}, depth=2, decay=0.5, direction="out")
    assert found.scores[entity_id("tartu")] == pytest.approx(0.8 * 0.25)
    way = found.path_to(entity_id("tartu"))
    assert [step.edge.relation for step in way] == ["directed by", "born in"]
    assert all(step.forward for step in way)
    assert found.start_of(entity_id("tartu")) == entity_id("silver lantern")


def test_limit_beam_and_fan_bound_a_walk(facts):
    assert len(walk(facts, {"marta ilves": 1.0}, depth=3, limit=2).steps) == 2
    assert len(walk(facts, {"marta ilves": 1.0}, depth=1, fan=1).scores) == 2
    narrow = walk(facts, {"estonia": 1.0}, depth=2, beam=1)
    assert len({step.source for step in narrow.steps}) == 2  # the seed, and one more


def test_an_edge_without_gain_is_not_walked(facts):
    def no_chess(edge, source, target):
        return 0.0 if edge.relation == "plays" else 1.0

    assert "Chess" not in names_of(walk(facts, {"marta ilves": 1.0}, no_chess, depth=4))


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"direction": "sideways"}, "direction"),
        ({"depth": -1}, "depth"),
        ({"fan": 1.5}, "fan"),
        ({"decay": 0.0}, "decay"),
        ({"decay": 1.1}, "decay"),
    ],
)
def test_limits_that_make_no_sense_are_refused(options, what):
    with pytest.raises(ConfigError, match=what):
        WalkLimits(**options)


NODES = [f"n{number}" for number in range(7)]


@given(
    st.sets(st.tuples(st.sampled_from(NODES), st.sampled_from(NODES)), max_size=16),
    st.dictionaries(st.sampled_from(NODES), st.floats(0.1, 1.0), min_size=1, max_size=3),
    st.data(),
)
def test_scores_lie_between_one_hop_and_the_best_walk_of_any_length(edges, seeds, data):
    """What one hop gives is a floor; no way is worth more than the best product over any walk."""
    edges = sorted((a, b) for a, b in edges if a != b)
    gains = {edge: data.draw(st.floats(0.05, 1.0)) for edge in edges}
    store = fill_with_facts(
        open_store("memory:", create=True), [(a, "", "leads to", b, "") for a, b in edges]
    )
    by_id = {(entity_id(a), entity_id(b)): gain for (a, b), gain in gains.items()}
    found = walk(store, seeds, lambda edge, *_: by_id[edge.source, edge.target], decay=0.9)
    floor = {n: score for n, score in seeds.items() if any(n in edge for edge in edges)}
    start = dict(floor)
    steps = [(near, far, gains[a, b]) for a, b in edges for near, far in ((a, b), (b, a))]
    for near, far, worth in steps:
        if near in start:
            floor[far] = max(floor.get(far, 0.0), start[near] * 0.9 * worth)
    best = dict(floor)
    for _ in NODES:
        for near, far, worth in steps:
            if near in best:
                best[far] = max(best.get(far, 0.0), best[near] * 0.9 * worth)
    names = {entity_id(name): name for name in NODES}
    for identifier, score in found.scores.items():
        name = names[identifier]
        assert floor.get(name, 0.0) - 1e-9 <= score <= best[name] + 1e-9
        assert len(found.path_to(identifier)) <= len(NODES)


def test_reweighed_ways_change_with_their_strides(facts):
    found = walk(facts, {"silver lantern": 1.0}, depth=3, direction="out", decay=0.5)
    first = next(n for n, s in enumerate(found.steps) if s.edge.relation == "directed by")
    changed = found.reweighed({first: 0.5})
    for name in ("marta ilves", "tartu", "estonia"):
        assert changed.scores[entity_id(name)] == pytest.approx(0.5 * found.scores[entity_id(name)])
    assert changed.scores[entity_id("silver lantern")] == 1.0
    assert found.reweighed({}).scores == pytest.approx(found.scores)


def test_unknown_seeds_are_left_out(facts):
    assert walk(facts, {"nobody": 1.0}).scores == {}
    assert len(FACTS) == facts.documents.chunk_count()
