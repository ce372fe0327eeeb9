"""Read boosted trees from LightGBM's text format and run them without LightGBM.

Only trees with numerical splits on finite values are supported: at a node a row goes left if its
value is at most the threshold. The sum of the leaves is the raw prediction of LightGBM.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from knotwork.errors import ConfigError

FeatureRows = NDArray[np.float64]
_CATEGORICAL_BIT = 1


@dataclass(frozen=True, slots=True)
class Tree:
    """Splits by number; a negative child is the leaf ``-1 - child``."""

    features: NDArray[np.intp]
    thresholds: FeatureRows
    left: NDArray[np.intp]
    right: NDArray[np.intp]
    leaves: FeatureRows


@dataclass(frozen=True)
class Trees:
    """A model: ``features`` are the names of its columns, ``gains`` the total split gain of
    each.
    """

    features: tuple[str, ...]
    trees: tuple[Tree, ...]
    gains: tuple[float, ...]

    def predict(self, rows: FeatureRows) -> FeatureRows:
        """Return the raw score of each row, of shape (rows,); for a binary model the log-odds."""
        forest, roots = self._forest
        nodes = np.tile(roots, len(rows))
        numbers = np.repeat(np.arange(len(rows)), len(roots))
        walking = np.flatnonzero(nodes >= 0)
        while walking.size:
            at = nodes[walking]
            goes_left = rows[numbers[walking], forest.features[at]] <= forest.thresholds[at]
            nodes[walking] = np.where(goes_left, forest.left[at], forest.right[at])
            walking = walking[nodes[walking] >= 0]
        scores: FeatureRows = forest.leaves[-1 - nodes].reshape(len(rows), -1).sum(axis=1)
        return scores

    @cached_property
    def _forest(self) -> tuple[Tree, NDArray[np.intp]]:
        """The splits and leaves of all trees in one, so that they are walked together, and the
        roots.
        """
        splits = np.cumsum([0, *(len(tree.features) for tree in self.trees)])
        leaves = np.cumsum([0, *(len(tree.leaves) for tree in self.trees)])

        def join(parts: Iterable[NDArray[Any]], empty: type) -> NDArray[Any]:
            return np.concatenate([np.zeros(0, dtype=empty), *parts])

        def moved(children: NDArray[np.intp], number: int) -> NDArray[np.intp]:
            steps: NDArray[np.intp] = np.where(children < 0, -leaves[number], splits[number])
            return children + steps

        numbered = list(enumerate(self.trees))
        forest = Tree(
            features=join((tree.features for tree in self.trees), np.intp),
            thresholds=join((tree.thresholds for tree in self.trees), np.float64),
            left=join((moved(tree.left, number) for number, tree in numbered), np.intp),
            right=join((moved(tree.right, number) for number, tree in numbered), np.intp),
            leaves=join((tree.leaves for tree in self.trees), np.float64),
        )
        roots = [
            splits[number] if len(tree.features) else -1 - leaves[number]
            for number, tree in numbered
        ]
        return forest, np.array(roots, dtype=np.intp)


def parse_trees(text: str) -> Trees:
    """Parse a model in LightGBM's text format.

    Raises ConfigError for another format, several classes, categorical splits, or damage.
    """
    sections = list(_sections(text))
    if not sections or "feature_names" not in sections[0]:
        raise ConfigError("The model is not in LightGBM's text format.")
    head, *rest = sections
    if head.get("num_class", "1") != "1" or head.get("num_tree_per_iteration", "1") != "1":
        raise ConfigError("A model of several classes is not supported.")
    names = tuple(head["feature_names"].split())
    found = [section for section in rest if "Tree" in section]
    gains = np.zeros(len(names))
    try:
        trees = tuple(map(_tree, found))
        for section, tree in zip(found, trees, strict=True):
            _check_tree(tree, len(names))
            np.add.at(gains, tree.features, _numbers(section, "split_gain"))
    except (ValueError, OverflowError) as error:
        raise ConfigError(f"The model is damaged: {error}.") from error
    return Trees(names, trees, tuple(gains.tolist()))


def _sections(text: str) -> Iterator[dict[str, str]]:
    """Yield the header and each tree as a mapping of their lines."""
    current: dict[str, str] = {}
    for line in text.splitlines():
        key, mark, value = line.strip().partition("=")
        if key == "end of trees":
            break
        if key == "Tree" and current:
            yield current
            current = {}
        if mark:
            current[key] = value
    if current:
        yield current


def _numbers(section: dict[str, str], key: str) -> FeatureRows:
    return np.array(section.get(key, "").split(), dtype=np.float64)


def _integers(section: dict[str, str], key: str) -> NDArray[np.intp]:
    return np.array([int(text) for text in section.get(key, "").split()], dtype=np.intp)


def _check_tree(tree: Tree, features: int) -> None:
    """Raise ValueError unless each walk from the root ends at a leaf: children follow parents."""
    nodes = np.arange(len(tree.features))
    if {len(tree.thresholds), len(tree.left), len(tree.right)} != {len(nodes)}:
        raise ValueError("the arrays of a tree have different lengths")
    if not np.isin(tree.features, np.arange(features)).all():
        raise ValueError("a tree splits by an unknown feature")
    for children in (tree.left, tree.right):
        is_leaf = children < 0
        leaves, inner = -(children[is_leaf] + 1), children[~is_leaf]
        if (leaves >= len(tree.leaves)).any() or (inner >= len(nodes)).any():
            raise ValueError("a tree has a missing child")
        if (inner <= nodes[~is_leaf]).any():
            raise ValueError("a tree has a circle")


def _tree(section: dict[str, str]) -> Tree:
    kinds: Sequence[int] = _integers(section, "decision_type").tolist()
    if any(kind & _CATEGORICAL_BIT for kind in kinds):
        raise ConfigError("A model with categorical splits is not supported.")
    return Tree(
        features=_integers(section, "split_feature"),
        thresholds=_numbers(section, "threshold"),
        left=_integers(section, "left_child"),
        right=_integers(section, "right_child"),
        leaves=_numbers(section, "leaf_value"),
    )
