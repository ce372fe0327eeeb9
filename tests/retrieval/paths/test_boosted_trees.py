"""Trees without LightGBM predict what LightGBM predicts."""

import numpy as np
import pytest

from knotwork._extensions.paths.path_features import FEATURES
from knotwork._extensions.paths.path_ranking import shipped_trees
from knotwork._inference.boosted_trees import parse_trees
from knotwork.errors import ConfigError


def rows(count, columns, seed):
    chance = np.random.default_rng(seed)
    return np.where(
        chance.random((count, columns)) < 0.2, 0.0, chance.normal(0, 3, (count, columns))
    )


@pytest.mark.parametrize("seed", [1, 2])
def test_predictions_match_lightgbm(seed):
    lightgbm = pytest.importorskip("lightgbm")
    x = rows(400, 6, seed)
    y = (x[:, 0] * x[:, 1] + x[:, 2] > 0).astype(float)
    parameters = {"objective": "binary", "verbose": -1, "num_threads": 1, "num_leaves": 9}
    model = lightgbm.train(parameters, lightgbm.Dataset(x, y), 25)
    other = rows(200, 6, seed + 10)
    expected = model.predict(other, raw_score=True)
    assert parse_trees(model.model_to_string()).predict(other) == pytest.approx(expected)


def test_the_shipped_model_predicts_as_lightgbm_does():
    lightgbm = pytest.importorskip("lightgbm")
    from importlib.resources import files

    text = files("knotwork._extensions.paths").joinpath("data/relation_paths.model").read_text()
    x = rows(300, len(FEATURES), 3)
    expected = lightgbm.Booster(model_str=f"{text}\nparameters:\nend of parameters\n")
    assert shipped_trees().predict(x) == pytest.approx(expected.predict(x, raw_score=True))


def test_a_tree_of_one_leaf_is_a_constant():
    trees = parse_trees("tree\nfeature_names=a\n\nTree=0\nnum_leaves=1\nleaf_value=0.25\n")
    assert trees.predict(np.zeros((3, 1))).tolist() == [0.25, 0.25, 0.25]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no model",
        "tree\nnum_class=3\nnum_tree_per_iteration=3\nfeature_names=a\n\nTree=0\nleaf_value=1\n",
        """tree
        feature_names=a

        Tree=0
        split_feature=0
        split_gain=1
        threshold=0
        decision_type=1
        left_child=-1
        right_child=-2
        leaf_value=1 2
        """,
    ],
)
def test_other_models_are_refused(text):
    with pytest.raises(ConfigError):
        parse_trees(text)
