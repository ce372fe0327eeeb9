"""Steps on the evidence of a retriever: rerank it, prune it, cut it to a budget, diversify it.

The last ranks passages that add something before those that repeat.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from knotwork._inference.chat import ChatModel
from knotwork._inference.cross_encoders import Reranker
from knotwork._inference.embedder import Embedder, to_similarity
from knotwork._retrieval.base import (
    Bounds,
    OneOf,
    Positive,
    Retriever,
    Share,
    WrappingRetriever,
    attempt,
    bounded,
)
from knotwork._retrieval.evidence_builder import sentence_coverage
from knotwork._retrieval.fusion import keep_within, lift_hit
from knotwork._retrieval.question import Question, read_question
from knotwork._retrieval.steps.query_transformation import ModelStep, ask_ratings
from knotwork._stores.base import Store
from knotwork._text.terms import content_terms
from knotwork.errors import RetrievalError
from knotwork.records import Evidence, Hit, Query

RERANKING_WAYS = ("auto", "features", "encoder", "model")

TEXT_CHARACTERS = 2_000
"""Number of characters of a passage that a model reads."""


class Rerank(ModelStep):
    """Reorders the ``depth`` best hits; later hits stay after them.

    A hit's score becomes ``(1 - weight)`` of its own, relative to the best, plus ``weight`` of a
    second judgement. ``by="features"`` judges whether the question's words occur in one sentence,
    in their order and in the titles. ``"encoder"`` uses ``reranker``, the configured cross-encoder.
    ``"model"`` uses ratings of a language model from a single request. ``"auto"`` is "encoder" if
    one is configured, else "features". A specification cannot name the encoder: a text from outside
    must not choose the server that reads passages.
    """

    name = "rerank"

    @bounded
    class Options:
        by: Annotated[str, OneOf(RERANKING_WAYS, "method of reranking")] = "auto"
        depth: Positive = 20
        weight: Annotated[float, Bounds(-1, 1)] = -1.0

    options: Options

    def __init__(
        self,
        *,
        store: Store,
        base: Retriever,
        embedder: Embedder | None = None,
        model: ChatModel | None = None,
        reranker: Reranker | None = None,
        options: Options | None = None,
    ) -> None:
        super().__init__(store=store, base=base, embedder=embedder, model=model, options=options)
        if self.options.by == "encoder" and reranker is None:
            raise RetrievalError(
                "`rerank(by=encoder)` needs a reranking model, but none is configured.",
                fix="Set rerank.model, or use by=features.",
            )
        self._reranker = reranker if self.options.by in {"auto", "encoder"} else None
        usual = 0.2 if self._reranker is None and self._model is None else 0.7
        self._weight = self.options.weight if self.options.weight >= 0 else usual

    def retrieve(self, query: Query) -> Evidence:
        """Return the evidence with its best hits reordered."""
        evidence = self.base.retrieve(Query(query.text, max(query.k, self.options.depth)))
        hits = list(evidence.hits)
        head, tail = hits[: self.options.depth], hits[self.options.depth :]
        notes: list[str] = []
        judged: Sequence[float] = ()
        if head:
            judged = attempt("Reranking", lambda: self._judge(query.text, head), judged, notes)
        if judged:
            hits = self._merge(head, judged) + tail
        return replace(
            evidence,
            query=query,
            hits=tuple(hits[: max(query.k, 0)]),
            notes=(*evidence.notes, *notes),
        )

    def _merge(self, head: Sequence[Hit], judged: Sequence[float]) -> list[Hit]:
        """Return the hits by both scores, within the range of their own scores."""
        least = min(hit.score for hit in head)
        width = max(hit.score for hit in head) - least
        found = []
        for hit, value in zip(head, judged, strict=True):
            own = (hit.score - least) / width if width > 0 else 1.0
            score = least + width * ((1 - self._weight) * own + self._weight * value)
            found.append(replace(lift_hit(hit, score - hit.score, "rerank"), score=score))
        return sorted(found, key=lambda hit: (-hit.score, hit.chunk.id))

    def _judge(self, text: str, hits: Sequence[Hit]) -> list[float]:
        """Return the worth of each hit, from 0 (worst) to 1 (best) unless a model rated it."""
        if self._reranker is not None or self._model is not None:
            texts = [f"{hit.chunk.context}\n{hit.chunk.text}"[:TEXT_CHARACTERS] for hit in hits]
            if self._reranker is not None:
                return _spread(np.array(self._reranker.score(text, texts)))
            assert self._model is not None
            return ask_ratings(text, texts, self._model)
        question = read_question(text, store=self._store, link=False)
        return _spread(np.array([judge_by_features(question, hit) for hit in hits]))


def judge_by_features(question: Question, hit: Hit) -> float:
    """Return a score for the question's words in one sentence, in order, and in the titles."""
    if not question.terms:
        return 0.0
    masks = sentence_coverage(question, {hit.chunk.id: hit.chunk})[hit.chunk.id]
    together = max((float(mask @ question.weights) for mask in masks), default=0.0)
    text = content_terms(f"{hit.chunk.context} {hit.chunk.text}")
    asked = set(pairwise(content_terms(question.text)))
    in_order = len(asked & set(pairwise(text))) / max(len(asked), 1)
    titles = set(content_terms(hit.chunk.context))
    shares = zip(question.terms, question.weights, strict=True)
    titled = sum(weight for term, weight in shares if term in titles)
    return together + 0.5 * in_order + 0.3 * float(titled)


def _spread(values: NDArray[np.float64]) -> list[float]:
    low, high = float(values.min()), float(values.max())
    return [(float(value) - low) / (high - low) if high > low else 1.0 for value in values]


class Prune(WrappingRetriever):
    """Removes weak hits, and weak sentences of the others.

    Hits need ``share`` of the best hit's score, sentences ``sentences`` of the relevance of their
    hit's best sentence. Answers get shorter, and a question that one passage answers keeps one.
    """

    name = "prune"

    @bounded
    class Options:
        share: Share = 0.25
        sentences: Share = 0.5

    options: Options

    def retrieve(self, query: Query) -> Evidence:
        """Return the evidence without weak hits and sentences."""
        evidence = self.base.retrieve(query)
        best = max((hit.score for hit in evidence.hits), default=0.0)
        kept = []
        for hit in (hit for hit in evidence.hits if hit.score >= self.options.share * best):
            least = self.options.sentences * max((value for _, value in hit.sentences), default=0)
            sentences = tuple(item for item in hit.sentences if item[1] >= least)
            kept.append(replace(hit, sentences=sentences))
        removed = len(evidence.hits) - len(kept)
        trace = (*evidence.trace, f"Removed {removed} of {len(evidence.hits)} hits.")
        return replace(evidence, hits=tuple(kept), trace=trace if removed else evidence.trace)


class EvidenceBudget(WrappingRetriever):
    """Keeps the best passages with at most ``tokens`` together (`knotwork._text.token_counts`)."""

    name = "budget"

    @bounded
    class Options:
        tokens: Positive = 2_000

    options: Options

    def retrieve(self, query: Query) -> Evidence:
        """Return the evidence without the hits that do not fit."""
        evidence = self.base.retrieve(query)
        return replace(evidence, hits=tuple(keep_within(evidence.hits, tokens=self.options.tokens)))


CANDIDATES_FOR_EACH = 3
"""Hits requested for each hit to return."""


class Diversify(WrappingRetriever):
    """Reorders hits by maximal marginal relevance (Carbonell and Goldstein, SIGIR 1998).

    The next hit is the one with the best score times ``1 - strength * similarity`` to the most
    similar hit before it; as a factor, so that scores stay above 0. The similarity of two passages
    is that of their vectors or, if one has none, the share of their common terms.
    """

    name = "diversify"

    @bounded
    class Options:
        strength: Share = 0.3

    options: Options

    def retrieve(self, query: Query) -> Evidence:
        """Return the best hits, each with its score after those before it."""
        evidence = self.base.retrieve(Query(query.text, query.k * CANDIDATES_FOR_EACH))
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
            gain = value - hits[best].score
            chosen.append(replace(lift_hit(hits[best], gain, "repeats"), score=value))
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
    if without:  # the share of common terms (Jaccard)
        columns: dict[str, int] = {}
        rows_of_terms = [
            [columns.setdefault(term, len(columns)) for term in set(content_terms(hit.chunk.text))]
            for hit in hits
        ]
        sizes = np.array([len(row) for row in rows_of_terms])
        flat = [column for row in rows_of_terms for column in row]
        ends = np.concatenate([[0], np.cumsum(sizes)])
        held = csr_matrix((np.ones(len(flat)), flat, ends), (len(hits), max(len(columns), 1)))
        both = (held @ held.T).toarray()
        shared = both / np.maximum(sizes[:, None] + sizes[None, :] - both, 1)
        alike[without, :], alike[:, without] = shared[without, :], shared[:, without]
    return alike
