"""Diversity: rank what says something new before what repeats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from knotwork.errors import ConfigError
from knotwork.inference.embedder import Embedder, to_similarity
from knotwork.records import Evidence, Hit, Query
from knotwork.retrieval.base import Retriever
from knotwork.stores.base import Store
from knotwork.text.terms import content_terms

CANDIDATES_FOR_EACH = 3
"""Hits among which each place is given, for every place wanted."""


class Diversify:
    """Hits in the order of maximal marginal relevance (Carbonell and Goldstein, SIGIR 1998).

    The next hit is the one whose score, less ``strength`` times its similarity to the most similar
    hit before it, is best: as a factor, so that scores stay above 0. Two passages are as similar as
    the similarity of their vectors, or, where one has none, as the share of their terms in common.
    """

    name = "diversify"

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Options:
        """Options of this step in a specification."""

        strength: float = 0.3

    def __init__(
        self,
        *,
        store: Store,
        base: Retriever,
        embedder: Embedder | None = None,
        options: Options | None = None,
    ) -> None:
        options = options or self.Options()
        if not 0 <= options.strength <= 1:
            raise ConfigError(f"`strength` is `{options.strength}`, but must be from 0 to 1.")
        self._store = store
        self._embedder_name = embedder.name if embedder is not None else ""
        self._base = base
        self._strength = options.strength
        self.requires = base.requires

    def retrieve(self, query: Query) -> Evidence:
        """Return the best hits, each as it adds to those before it."""
        evidence = self._base.retrieve(Query(query.text, query.k * CANDIDATES_FOR_EACH))
        hits = evidence.hits
        if not hits:
            return replace(evidence, query=query)
        alike = similarities(hits, self._store, embedder=self._embedder_name)
        scores = np.array([max(hit.score, 0.0) for hit in hits])
        nearest = np.zeros(len(hits))
        open_places = np.ones(len(hits), dtype=np.bool_)
        chosen: list[Hit] = []
        for _ in range(min(max(query.k, 0), len(hits))):
            worths = np.where(open_places, scores * (1 - self._strength * nearest), -1.0)
            place = int(np.argmax(worths))
            value = float(worths[place])
            hit = hits[place]
            parts = hit.scores | {"repeats": value - hit.score}
            chosen.append(replace(hit, score=value, scores=parts))
            open_places[place] = False
            nearest = np.maximum(nearest, alike[place])
        return replace(evidence, query=query, hits=tuple(chosen))


def similarities(hits: Sequence[Hit], store: Store, *, embedder: str = "") -> NDArray[np.float64]:
    """Return how alike each two hits are, from 0 to 1, of shape (n, n).

    ``embedder`` is the name of the one that the vectors are from.
    """
    ids = [hit.chunk.id for hit in hits]
    vectors = store.vectors("chunk").get(ids)
    alike = np.zeros((len(hits), len(hits)))
    known = [place for place, identifier in enumerate(ids) if identifier in vectors]
    if known:
        rows = np.concatenate([vectors[ids[place]][:1] for place in known]).astype(np.float64)
        alike[np.ix_(known, known)] = np.clip(to_similarity(rows @ rows.T, embedder), 0.0, 1.0)
    without = [place for place in range(len(hits)) if ids[place] not in vectors]
    if without:
        shared = _shared_words([hit.chunk.text for hit in hits])
        alike[without, :], alike[:, without] = shared[without, :], shared[:, without]
    return alike


def _shared_words(texts: Sequence[str]) -> NDArray[np.float64]:
    """Return the share of their words that each two texts have in common (Jaccard), (n, n)."""
    columns: dict[str, int] = {}
    rows = [
        [columns.setdefault(term, len(columns)) for term in set(content_terms(text))]
        for text in texts
    ]
    sizes = np.array([len(row) for row in rows])
    flat = [column for row in rows for column in row]
    ends = np.concatenate([[0], np.cumsum(sizes)])
    shape = (len(rows), max(len(columns), 1))
    held = csr_matrix((np.ones(len(flat)), flat, ends), shape=shape)
    both = (held @ held.T).toarray()
    shares: NDArray[np.float64] = both / np.maximum(sizes[:, None] + sizes[None, :] - both, 1)
    return shares
