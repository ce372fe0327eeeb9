"""Find candidate paths and rank them in two stages: boosted trees, then a model.

The shipped trees were trained on questions of knowledge bases and on questions made of relation
names; `knotwork train paths` trains others. In the precise stage a reranker or an embedder compares
the best paths with the question. Without either, or if the embedder does not support the question's
language, the coarse order stays.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from knotwork._extensions.paths.path_enumeration import (
    LinkReader,
    PathBounds,
    RelationPath,
    enumerate_patterns,
)
from knotwork._extensions.paths.path_features import FEATURES, SHOWN_ANSWERS, PatternFeatures
from knotwork._extensions.paths.path_question import PathSeed, RelationWording, find_seeds
from knotwork._inference.boosted_trees import FeatureRows, Trees, parse_trees
from knotwork._inference.cross_encoders import Reranker
from knotwork._inference.embedder import Embedder, to_similarity
from knotwork._retrieval.evidence_builder import logistic
from knotwork._retrieval.question import can_embed
from knotwork._stores.base import Store
from knotwork._text.relation_words import relation_words
from knotwork.errors import ConfigError

DEFAULT_BOUNDS = PathBounds()
COMPARED_PATTERNS = 300
"""Maximum number of patterns with features, in the order of enumeration."""


@dataclass(frozen=True, slots=True)
class PathCandidates:
    """The patterns of a question and what they were found from; ``names`` maps entity ids to
    names.
    """

    seeds: tuple[PathSeed, ...]
    wording: RelationWording
    reader: LinkReader
    patterns: tuple[RelationPath, ...]
    names: dict[str, str]

    def rows(self) -> FeatureRows:
        """Return the features of the patterns, one row each; see `path_features.FEATURES`."""
        features = PatternFeatures(self.wording, self.names, seed_count=len(self.seeds))
        return features.rows(self.patterns)


def find_candidates(text: str, store: Store, bounds: PathBounds = DEFAULT_BOUNDS) -> PathCandidates:
    """Link a question and enumerate the patterns from and between the entities that it names."""
    seeds = find_seeds(text, store)
    wording = RelationWording(text, [seed.span for seed in seeds])
    reader = LinkReader(store, limit=bounds.links)
    patterns = enumerate_patterns(seeds, reader, wording, bounds)[:COMPARED_PATTERNS]
    shown = {
        entity
        for pattern in patterns
        for entity in (
            *islice(pattern.answers, SHOWN_ANSWERS),
            *pattern.walk(pattern.answers[0]),
        )
    }
    names = {key: entity.name for key, entity in store.graph.entities(shown).items()}
    return PathCandidates(tuple(seeds), wording, reader, tuple(patterns), names)


SHIPPED_MODEL = "data/relation_paths.model"


@dataclass(frozen=True, slots=True)
class RankedPattern:
    """A pattern with the log-odds that it answers the question, and their parts."""

    pattern: RelationPath
    score: float
    scores: dict[str, float]

    @property
    def probability(self) -> float:
        return logistic(self.score)


@cache
def shipped_trees() -> Trees:
    """Return the model shipped with this package."""
    text = files("knotwork._extensions.paths").joinpath(SHIPPED_MODEL).read_text("utf-8")
    return _check_trees(parse_trees(text), SHIPPED_MODEL)


def read_trees(path: Path) -> Trees:
    """Read a model written by `knotwork train paths`. Raises ConfigError for another file."""
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"The model `{path}` cannot be read: {error}.") from error
    return _check_trees(parse_trees(text), str(path))


def _check_trees(trees: Trees, place: str) -> Trees:
    if trees.features != FEATURES:
        raise ConfigError(
            f"The model `{place}` was trained on other features of paths.",
            fix="Train it again with `knotwork train paths`.",
        )
    return trees


def rank_coarsely(candidates: PathCandidates, trees: Trees) -> list[RankedPattern]:
    """Return the patterns of a question, most likely first; ties keep their order."""
    if not candidates.patterns:
        return []
    odds = trees.predict(candidates.rows())
    order = np.argsort(-odds, kind="stable")
    return [
        RankedPattern(candidates.patterns[i], float(odds[i]), {"coarse": float(odds[i])})
        for i in order
    ]


READ_PRECISELY = 12
"""Maximum number of paths in the precise stage."""
COSINE_WEIGHT = 2.0
"""Log-odds for a similarity of 1 above the mean of the compared paths."""
RERANKER_WEIGHT = 1.0
"""Log-odds for a reranker score of one standard deviation above the mean."""
_KEPT_TEXTS = 20_000


class PreciseRanker:
    """Ranks paths by a model that reads them; the vectors of paths are cached."""

    def __init__(self, *, embedder: Embedder | None, reranker: Reranker | None = None) -> None:
        self._embedder = embedder
        self._reranker = reranker
        self._vectors: OrderedDict[str, NDArray[np.float32]] = OrderedDict()

    def rank(
        self, ranked: Sequence[RankedPattern], wording: RelationWording, names: Mapping[str, str]
    ) -> list[RankedPattern]:
        """Return the compared paths in their new order, then the others."""
        read, rest = list(ranked[:READ_PRECISELY]), list(ranked[READ_PRECISELY:])
        gains = self._gains(read, wording, names) if len(read) > 1 else None
        if gains is None:
            return [*read, *rest]
        scored = [
            RankedPattern(one.pattern, one.score + gain, one.scores | {"precise": gain})
            for one, gain in zip(read, gains, strict=True)
        ]
        scored.sort(key=lambda one: -one.score)
        return [*scored, *rest]

    def _gains(
        self, read: Sequence[RankedPattern], wording: RelationWording, names: Mapping[str, str]
    ) -> list[float] | None:
        if self._reranker is not None:
            texts = [_show_pattern(one.pattern, names) for one in read]
            scores = np.array(self._reranker.score(wording.text, texts))
            spread = float(scores.std()) or 1.0
            return list(RERANKER_WEIGHT * (scores - scores.mean()) / spread)
        if self._embedder is None or not can_embed(self._embedder, wording.text):
            return None
        # The relations in words, in the order in which a question states them.
        steps = (reversed(one.pattern.all_steps) for one in read)
        texts = [" of ".join(" ".join(relation_words(r)) for r, _ in hops) for hops in steps]
        vectors = self._embed([wording.without_names, *texts])
        near = to_similarity(vectors[1:] @ vectors[0], self._embedder.name)
        return [float(gain) for gain in COSINE_WEIGHT * (near - near.mean())]

    def _embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        assert self._embedder is not None
        missing = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        if missing:
            self._vectors.update(zip(missing, self._embedder.embed(missing), strict=True))
        found = np.stack([self._vectors[text] for text in texts])
        while len(self._vectors) > _KEPT_TEXTS:
            self._vectors.popitem(last=False)
        return found


def _show_pattern(pattern: RelationPath, names: Mapping[str, str]) -> str:
    """Return one path of a pattern in words, starting at the entity that the question names."""
    walked = pattern.walk(pattern.answers[0])
    parts = [names.get(walked[0], "")]
    for (relation, forward), node in zip(pattern.all_steps, walked[1:], strict=False):
        words = " ".join(relation_words(relation))
        name = names.get(node, "")
        parts.append(f"{words}: {name}" if forward else f"is {words} of {name}")
    return "; ".join(parts)
