"""The precise ranking: the best paths of the coarse one, read beside the question by a model.

A reranker reads question and path together; an embedder gives the cosine of the two. Without
either, or where the embedder does not read the question's language, the coarse order stands.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from knotwork.inference.base import Embedder
from knotwork.inference.reranking import Reranker
from knotwork.inference.similarity import to_similarity
from knotwork.retrieval.paths.coarse import Ranked
from knotwork.retrieval.paths.enumeration import Pattern
from knotwork.retrieval.paths.wording import Wording, relation_words
from knotwork.retrieval.question import can_embed

READ = 12
"""Paths that are read, at most."""
COSINE_WEIGHT = 2.0
"""Log-odds for a similarity 1 better than the mean of the paths read."""
RERANKER_WEIGHT = 1.0
"""Log-odds for a reranker's score one standard deviation better than their mean."""
_KEPT_TEXTS = 20_000


class PreciseRanker:
    """Ranks paths by a model that reads them; vectors of paths are kept for later questions."""

    def __init__(self, *, embedder: Embedder | None, reranker: Reranker | None = None) -> None:
        self._embedder = embedder
        self._reranker = reranker
        self._vectors: OrderedDict[str, NDArray[np.float32]] = OrderedDict()

    def rank(
        self, ranked: Sequence[Ranked], wording: Wording, names: Mapping[str, str]
    ) -> list[Ranked]:
        """Return the paths in their new order: those that were read first, then the others."""
        read, rest = list(ranked[:READ]), list(ranked[READ:])
        if len(read) < 2:
            return [*read, *rest]
        gains = self._gains(read, wording, names)
        if gains is None:
            return [*read, *rest]
        scored = [
            Ranked(one.pattern, one.score + gain, one.scores | {"precise": gain})
            for one, gain in zip(read, gains, strict=True)
        ]
        scored.sort(key=lambda one: -one.score)
        return [*scored, *rest]

    def _gains(
        self, read: Sequence[Ranked], wording: Wording, names: Mapping[str, str]
    ) -> list[float] | None:
        if self._reranker is not None:
            texts = [show_pattern(one.pattern, names) for one in read]
            scores = np.array(self._reranker.score(wording.text, texts))
            spread = float(scores.std()) or 1.0
            return list(RERANKER_WEIGHT * (scores - scores.mean()) / spread)
        if self._embedder is None or not can_embed(self._embedder, wording.text):
            return None
        texts = [show_relations(one.pattern) for one in read]
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


def show_relations(pattern: Pattern) -> str:
    """Return the relations of a pattern in words, in the order in which a question states them."""
    return " of ".join(
        " ".join(relation_words(relation)) for relation, _ in reversed(pattern.all_steps)
    )


def show_pattern(pattern: Pattern, names: Mapping[str, str]) -> str:
    """Return one path of a pattern in words, from the entity that the question names."""
    walked = pattern.walk(pattern.answers[0])
    parts = [names.get(walked[0], "")]
    for (relation, forward), node in zip(pattern.all_steps, walked[1:], strict=False):
        words = " ".join(relation_words(relation))
        name = names.get(node, "")
        parts.append(f"{words}: {name}" if forward else f"is {words} of {name}")
    return "; ".join(parts)
