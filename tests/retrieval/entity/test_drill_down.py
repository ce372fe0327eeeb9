"""The way down through communities, against brute force over the same scores."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from knotwork._extensions.patterns.community_retrievers import descend_communities
from knotwork._retrieval.community_search import CommunityTree, ranked_scores


class FixedScores:
    """Scores by id, in place of those of reports."""

    def __init__(self, scores):
        self._scores = scores

    def best(self, *, most, among=None):
        chosen = self._scores if among is None else {i: self._scores.get(i, 0.0) for i in among}
        return ranked_scores(chosen, most)


PARENTS = {"a": None, "b": None, "a1": "a", "a2": "a", "a11": "a1", "b1": "b", "lost": "gone"}


def test_a_tree_knows_tops_children_and_what_is_around():
    tree = CommunityTree(PARENTS)
    assert tree.top == ["a", "b", "lost"]  # what lay in one that is gone is topmost
    assert tree.children("a") == ["a1", "a2"]
    assert list(tree.around("a11")) == ["a1", "a"]
    assert list(tree.around("lost")) == []


def test_a_good_report_far_below_opens_the_way_to_it():
    scores = FixedScores({"a": 0.1, "b": 0.5, "b1": 0.4, "a11": 0.9})
    levels = descend_communities(scores, CommunityTree(PARENTS), beam=1)
    assert [level.chosen[0].id for level in levels] == ["a", "a1", "a11"]
    assert [level.looked_at for level in levels] == [3, 2, 1]


def test_the_lowest_level_may_be_given():
    scores = FixedScores({"a": 0.1, "b": 0.5, "a11": 0.9})
    levels = descend_communities(scores, CommunityTree(PARENTS), beam=5, lowest=1)
    assert len(levels) == 2
    assert descend_communities(FixedScores({}), CommunityTree(PARENTS), beam=5)[0].chosen == []


@given(st.lists(st.integers(-1, 8), min_size=1, max_size=10), st.data())
def test_a_wide_beam_ends_at_every_leaf_that_has_a_score(above, data):
    """``above[n]`` is the parent of n, any earlier node, or none."""
    parents = {str(n): str(parent) if 0 <= parent < n else None for n, parent in enumerate(above)}
    scores = {i: data.draw(st.floats(0.01, 1.0)) for i in parents}
    levels = descend_communities(FixedScores(scores), CommunityTree(parents), beam=100)
    leaves = set(parents) - {parent for parent in parents.values() if parent}
    assert {item.id for item in levels[-1].chosen} == leaves
    for level in levels:
        values = [item.score for item in level.chosen]
        assert values == sorted(values, reverse=True)
