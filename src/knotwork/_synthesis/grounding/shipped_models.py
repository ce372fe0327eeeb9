"""Read the trees that ship with this package for checking statements."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from knotwork._retrieval.paths.boosted_trees import Trees, parse_trees
from knotwork.errors import ConfigError


@cache
def read_model(name: str, features: tuple[str, ...]) -> Trees:
    """Return the model with a name, trained on these features.

    Raises ConfigError if its file is damaged or of other features.
    """
    place = f"data/{name}.model"
    text = files("knotwork._synthesis.grounding").joinpath(place).read_text("utf-8")
    trees = parse_trees(text)
    if trees.features != features:
        raise ConfigError(
            f"The model `{place}` was trained on other features of statements.",
            fix="Train it again: see training/grounding/README.md.",
        )
    return trees
