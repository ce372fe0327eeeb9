"""Read boosted trees from LightGBM's text format and run them without LightGBM.

Only trees with numerical splits on finite values are supported. The sum of the leaves is the raw
prediction of LightGBM.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from knotwork.errors import ConfigError

FeatureRows = NDArray[np.float64]
Numbers = NDArray[np.intp]
_CATEGORICAL_BIT = 1


@dataclass(frozen=True, slots=True)
class Trees:
    """Trees over the columns ``features``, with the total split gain of each in ``gains``.

    The splits of all trees are numbered together, and so are their ``leaves``. A row at a split
    goes to its left child if the value of its column is at most the threshold; a negative child, or
    root, is the leaf ``-1 - child``.
    """

    features: tuple[str, ...]
    gains: tuple[float, ...]
    columns: Numbers
    thresholds: FeatureRows
    left: Numbers
    right: Numbers
    leaves: FeatureRows
    roots: Numbers

    def predict(self, rows: FeatureRows) -> FeatureRows:
        """Return the raw score of each row, of shape (rows,); for a binary model the log-odds."""
        nodes = np.tile(self.roots, len(rows))
        numbers = np.repeat(np.arange(len(rows)), len(self.roots))
        walking = np.flatnonzero(nodes >= 0)
        while walking.size:
            at = nodes[walking]
            goes_left = rows[numbers[walking], self.columns[at]] <= self.thresholds[at]
            nodes[walking] = np.where(goes_left, self.left[at], self.right[at])
            walking = walking[nodes[walking] >= 0]
        scores: FeatureRows = self.leaves[-1 - nodes].reshape(len(rows), -1).sum(axis=1)
        return scores


def parse_trees(text: str) -> Trees:
    """Parse a model in LightGBM's text format.

    Raises ConfigError for another format, several classes, categorical splits, or damage.
    """
    parts = re.split(r"^[ \t]*(?=Tree=)", text.partition("end of trees")[0], flags=re.MULTILINE)
    head, *sections = (
        dict(line.strip().split("=", 1) for line in part.splitlines() if "=" in line)
        for part in parts
    )
    if "feature_names" not in head:
        raise ConfigError("The model is not in LightGBM's text format.")
    if head.get("num_class", "1") != "1" or head.get("num_tree_per_iteration", "1") != "1":
        raise ConfigError("A model of several classes is not supported.")
    names = tuple(head["feature_names"].split())
    try:
        return _join(names, sections)
    except (ValueError, OverflowError) as error:
        raise ConfigError(f"The model is damaged: {error}.") from error


def _join(names: tuple[str, ...], sections: list[dict[str, str]]) -> Trees:
    """Return the trees in ``sections``. Raises ValueError unless each walk ends at a leaf."""
    gains, roots = np.zeros(len(names)), list[int]()
    found: dict[str, list[NDArray[Any]]] = {key: [np.zeros(0, kind)] for key, kind in _KEYS.items()}
    splits = leaves = 0
    for section in sections:
        tree = {k: np.array(section.get(k, "").split(), kind) for k, kind in _KEYS.items()}
        if (tree["decision_type"] & _CATEGORICAL_BIT).any():
            raise ConfigError("A model with categorical splits is not supported.")
        columns = tree["split_feature"]
        size, ends = len(columns), len(tree["leaf_value"])
        if {len(tree[key]) for key in ("threshold", "left_child", "right_child")} != {size}:
            raise ValueError("the arrays of a tree have different lengths")
        if not np.isin(columns, np.arange(len(names))).all():
            raise ValueError("a tree splits by an unknown feature")
        for side in ("left_child", "right_child"):
            child = tree[side]
            if (child >= size).any() or (child < -ends).any() or not ends:
                raise ValueError("a tree has a missing child")
            if ((child >= 0) & (child <= np.arange(size))).any():  # children follow their parents
                raise ValueError("a tree has a circle")
            tree[side] = np.where(child < 0, child - leaves, child + splits)
        np.add.at(gains, columns, tree["split_gain"])
        roots.append(splits if size else -1 - leaves)
        splits, leaves = splits + size, leaves + ends
        for key, values in tree.items():
            found[key].append(values)
    joined = {key: np.concatenate(arrays) for key, arrays in found.items()}
    return Trees(
        features=names,
        gains=tuple(gains.tolist()),
        columns=joined["split_feature"],
        thresholds=joined["threshold"],
        left=joined["left_child"],
        right=joined["right_child"],
        leaves=joined["leaf_value"],
        roots=np.array(roots, dtype=np.intp),
    )


_KEYS: dict[str, type[np.generic]] = {
    "split_feature": np.intp,
    "threshold": np.float64,
    "left_child": np.intp,
    "right_child": np.intp,
    "leaf_value": np.float64,
    "split_gain": np.float64,
    "decision_type": np.intp,
}
"""The arrays of a tree, and their types."""
