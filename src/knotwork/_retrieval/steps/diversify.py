"""The diversity step: rank passages that add something before those that repeat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from knotwork._inference.embedder import to_similarity
from knotwork._retrieval.wrapping_retriever import WrappingRetriever
from knotwork._stores.base import Store
from knotwork._text.terms import content_terms
from knotwork.errors import ConfigError
from knotwork.records import Evidence, Hit, Query

CANDIDATES_FOR_EACH = 3
"""Hits requested for each hit to return."""


class Diversify(WrappingRetriever):
    """Reorders hits by maximal marginal relevance (Carbonell and Goldstein, SIGIR 1998).

    The next hit is the one with the best score times ``1 - strength * similarity`` to the most
    similar hit before it; as a factor, so that scores stay above 0. The similarity of two passages
    is that of their vectors or, if one has none, the share of their common terms.
    """

    name = "diversify"
    precedes = False
    searches = 1

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Options:
        """Options of this step in a specification."""

        strength: float = 0.3

        def __post_init__(self) -> None:
            if not 0 <= self.strength <= 1:
                raise ConfigError(f"`strength` is `{self.strength}`, but must be from 0 to 1.")

    options: Options

    def retrieve(self, query: Query) -> Evidence:
        """Return the best hits, each with its score after those before it."""
        evidence = self._base.retrieve(Query(query.text, query.k * CANDIDATES_FOR_EACH))
        hits = evidence.hits
        if not hits:
            return replace(evidence, query=query)
        embedder = self._embedder.name if self._embedder is not None else ""
        similarity = similarities(hits, self._store, embedder=embedder)
        scores = np.array([max(hit.score, 0.0) for hit in hits])
        nearest = np.zeros(len(hits))
        is_open = np.ones(len(hits), dtype=np.bool_)
        chosen: list[Hit] = []
        for _ in range(min(max(query.k, 0), len(hits))):
            worths = np.where(is_open, scores * (1 - self.options.strength * nearest), -1.0)
            best = int(np.argmax(worths))
            value = float(worths[best])
            hit = hits[best]
            parts = hit.scores | {"repeats": value - hit.score}
            chosen.append(replace(hit, score=value, scores=parts))
            is_open[best] = False
            nearest = np.maximum(nearest, similarity[best])
        return replace(evidence, query=query, hits=tuple(chosen))


def similarities(hits: Sequence[Hit], store: Store, *, embedder: str = "") -> NDArray[np.float64]:
    """Return the pairwise similarity of hits from 0 to 1, of shape (n, n).

    ``embedder`` is the name of the model that the vectors come from.
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
    """Return the pairwise Jaccard similarity of the texts' terms, of shape (n, n)."""
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
