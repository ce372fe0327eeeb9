"""Predict the kind of answer that a question expects, in English and Chinese.

A multinomial logistic regression on hashed words, characters and forms of the question. Its weights
ship with this package; see training/question_kinds/README.md.
"""

from __future__ import annotations

import zlib
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from knotwork._questions.question_features import name_features
from knotwork.errors import ConfigError


class QuestionKind(StrEnum):
    """A kind of answer that a question expects."""

    VALUE = "value"
    """A fact: a name, a number, a date, a place, a default."""
    YES_NO = "yes_no"
    DEFINITION = "definition"
    """What something is, or what a term, option or sign means."""
    LIST = "list"
    STEPS = "steps"
    """What to do, or the stages in which something happens."""
    TABLE_ROWS = "table_rows"
    """Entries of a table."""
    CODE = "code"
    """Code, a command, a query, an example of a configuration."""
    REASON = "reason"
    COMPARISON = "comparison"
    SUMMARY_ONE = "summary_one"
    """What one document, chapter or thing is about."""
    SUMMARY_ALL = "summary_all"
    """What all documents are about."""
    COUNT = "count"
    """How many documents, or things in all documents, there are."""


KINDS = tuple(QuestionKind)
"""The kinds in the order of the columns of the weights."""


class _Weights(NamedTuple):
    """The weights of the features with a column for each kind, and those of the kinds alone.

    ``hashes`` has those of the names of the features, in order.
    """

    hashes: NDArray[np.uint32]
    features: NDArray[np.float32]
    biases: NDArray[np.float32]


def read_kinds(question: str) -> dict[QuestionKind, float]:
    """Return the probability of each kind, the most probable first.

    A question without letters and digits is one for a value.
    """
    hashes = hash_features(question)
    if not len(hashes):
        return {kind: float(kind is QuestionKind.VALUE) for kind in KINDS}
    weights = _read_weights()
    places = np.minimum(np.searchsorted(weights.hashes, hashes), len(weights.hashes) - 1)
    places = places[weights.hashes[places] == hashes]
    odds = weights.features[places].sum(axis=0) / max(len(places), 1) ** 0.5 + weights.biases
    powers = np.exp((odds - odds.max()).astype(np.float64))
    shares = (powers / powers.sum()).tolist()
    ranked = sorted(zip(KINDS, shares, strict=True), key=lambda pair: -pair[1])
    return dict(ranked)


def hash_features(question: str) -> NDArray[np.uint32]:
    """Return the hashes of the features that a question has, in order and each once."""
    hashes = sorted({zlib.crc32(name.encode()) for name in name_features(question)})
    return np.array(hashes, dtype=np.uint32)


@cache
def _read_weights() -> _Weights:
    """Return the weights that ship with this package.

    Raises ConfigError if they are of other kinds.
    """
    place = files("knotwork._questions").joinpath("kinds.npz")
    with place.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
        hashes, steps, scales, biases = (
            file[name] for name in ("hashes", "steps", "scales", "biases")
        )
        names = tuple(file["kinds"].tolist())
    if steps.shape != (len(hashes), len(KINDS)) or names != KINDS:
        raise ConfigError(
            "The weights `kinds.npz` were trained on other kinds of questions.",
            fix="Train them again: see training/question_kinds/README.md.",
        )
    features = steps.astype(np.float32) * scales.astype(np.float32)
    return _Weights(hashes, np.ascontiguousarray(features), biases.astype(np.float32))
