"""Retrieval by paths: the relations that lead from what a question names to what it asks.

Paths are evidence of their own, best first, each hop with the sentence that states it. Passages are
ranked by `GraphRetriever`; those that state the hops of a path which very likely answers the
question come before them. Where no path does, the ranking is that of `GraphRetriever`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from knotwork.inference.base import Embedder
from knotwork.inference.reranking import Reranker
from knotwork.records import Chunk, Evidence, GraphPath, Hit, Query, Span
from knotwork.retrieval.confidence import READ_HITS
from knotwork.retrieval.graph import GraphRetriever
from knotwork.retrieval.paths.bridged import bridge_paths
from knotwork.retrieval.paths.citing import LIKELY, cite_paths
from knotwork.retrieval.paths.coarse import (
    Ranked,
    rank_coarsely,
    read_trees,
    shipped_trees,
    sigmoid,
)
from knotwork.retrieval.paths.enumeration import Bounds
from knotwork.retrieval.paths.precise import PreciseRanker
from knotwork.retrieval.paths.regularity import Regularity
from knotwork.retrieval.paths.search import DEFAULT_BOUNDS, Candidates, find_candidates
from knotwork.retrieval.paths.statements import find_statements
from knotwork.stores.base import Capability, Store

Stages = Literal["none", "coarse", "both"]
MOST_PATHS = 10
SHOWN_PROBABILITY = 0.05
"""Probability from which a path is evidence."""
IRREGULAR_ODDS = -2.0
"""Log-odds of a path over relations that are no vocabulary, beside those of its words."""
_MOST_ACTING = 3
_LATER_PATH = 0.8
"""Worth of each path as a share of the one before."""


class PathsRetriever:
    """Chunks that state the best paths, then those of `GraphRetriever`.

    ``stages`` says how paths are ranked: "both" (coarsely by trees, then precisely by ``reranker``
    or embedder), "coarse" alone, or "none", the order of enumeration. ``trees`` is a file that
    `knotwork train paths` wrote, in the place of the model that ships.
    """

    name = "paths"
    requires = frozenset({Capability.TEXT, Capability.GRAPH})

    def __init__(
        self,
        *,
        store: Store,
        embedder: Embedder | None = None,
        reranker: Reranker | None = None,
        trees: str | Path | None = None,
        stages: Stages = "both",
        bounds: Bounds = DEFAULT_BOUNDS,
    ) -> None:
        self._store = store
        self._base = GraphRetriever(store=store, embedder=embedder)
        self._trees = shipped_trees() if trees is None else read_trees(Path(trees))
        self._precise = PreciseRanker(embedder=embedder, reranker=reranker)
        self._regularity = Regularity(store)
        self._stages = stages
        self._bounds = bounds

    def retrieve(self, query: Query) -> Evidence:
        """Return the best chunks, and the best paths with the sentences that state them."""
        base = self._base.retrieve(query)
        candidates = find_candidates(query.text, self._store, self._bounds)
        ranked = self.rank(candidates)
        places = {hit.chunk.id: place for place, hit in enumerate(base.hits)}
        likely = [one for one in ranked if one.probability >= SHOWN_PROBABILITY][:MOST_PATHS]
        regular, other = self._part(cite_paths(likely, self._store, found=places))
        if not regular:
            stated = {frozenset((hop.source, hop.target)) for path in other for hop in path.hops}
            bridges = bridge_paths(base.hits, self._store, most=MOST_PATHS)
            other += [path for path in bridges if frozenset(path.entity_ids) not in stated]
        paths = sorted([*regular, *other], key=lambda path: -path.score)[:MOST_PATHS]
        acting = [p for p in regular if p.scores["probability"] >= LIKELY][:_MOST_ACTING]
        hits = _put_first(base.hits, _cited(acting), self._store, query.k)
        return replace(
            base,
            retriever=self.name,
            hits=hits,
            confidence=self._confidence(base.confidence, hits, paths),
            paths=tuple(paths),
            trace=_tell(candidates, paths, acting),
        )

    def _confidence(self, told: float, hits: Sequence[Hit], paths: Sequence[GraphPath]) -> float:
        """Return how sure it is that hits or paths hold an answer.

        Lines of a graph share their words with any question about it: among these only a path
        tells whether they answer.
        """
        led = max((path.scores.get("probability", 0.0) for path in paths), default=0.0)
        chunks = [hit.chunk for hit in hits[:READ_HITS]]
        stating = find_statements(chunks, self._store)
        return led if chunks and all(chunk.id in stating for chunk in chunks) else told

    def _part(self, paths: Sequence[GraphPath]) -> tuple[list[GraphPath], list[GraphPath]]:
        """Part paths over a vocabulary of relations from others, which are worth less."""
        regular: list[GraphPath] = []
        other: list[GraphPath] = []
        for path in paths:
            if self._regularity.holds({hop.relation for hop in path.hops}):
                regular.append(path)
            else:
                score = path.score + IRREGULAR_ODDS
                parts = path.scores | {"irregular": IRREGULAR_ODDS, "probability": sigmoid(score)}
                other.append(replace(path, score=score, scores=parts))
        return regular, other

    def rank(self, candidates: Candidates) -> list[Ranked]:
        """Return the patterns of a question, best first."""
        if self._stages == "none":
            return [Ranked(pattern, 0.0, {}) for pattern in candidates.patterns]
        ranked = rank_coarsely(candidates, self._trees)
        if self._stages == "coarse":
            return ranked
        return self._precise.rank(ranked, candidates.wording, candidates.names)


@dataclass(frozen=True, slots=True)
class _Cited:
    """What a chunk states of acting paths: its worth, where, and from what the paths start."""

    worth: float
    spans: tuple[Span, ...]
    seed: str


def _cited(paths: Sequence[GraphPath]) -> dict[str, _Cited]:
    cited: dict[str, _Cited] = {}
    for number, path in enumerate(paths):
        worth = path.scores["probability"] * _LATER_PATH**number
        for hop in path.hops:
            known = cited.get(hop.chunk_id, _Cited(worth, (), path.hops[0].source_name))
            spans = known.spans if hop.span is None else (*known.spans, hop.span)
            cited[hop.chunk_id] = replace(known, spans=spans)
    return cited


def _put_first(
    hits: Sequence[Hit], cited: Mapping[str, _Cited], store: Store, k: int
) -> tuple[Hit, ...]:
    """Return the hits with those of the paths before all others."""
    if not cited:
        return tuple(hits)
    chunks = store.documents.chunks([c for c in cited if c not in {h.chunk.id for h in hits}])
    known = {hit.chunk.id: hit for hit in hits}
    known |= {key: Hit(chunk=chunk, score=0.0) for key, chunk in chunks.items()}
    top = max((hit.score for hit in hits), default=0.0)
    raised = [_raise(hit, cited[key], top) if key in cited else hit for key, hit in known.items()]
    raised.sort(key=lambda hit: (-hit.score, hit.chunk.id))
    return tuple(raised[: max(k, 0)])


def _raise(hit: Hit, cited: _Cited, top: float) -> Hit:
    gain = cited.worth + top
    sentences = _sentences(hit.chunk, cited)
    return replace(
        hit,
        score=hit.score + gain,
        scores=hit.scores | {"path": gain},
        seeds=hit.seeds or (cited.seed,),
        sentences=(*sentences, *(s for s in hit.sentences if s[0] not in dict(sentences))),
    )


def _sentences(chunk: Chunk, cited: _Cited) -> tuple[tuple[Span, float], ...]:
    """Return the sentences of a chunk in which it states the hops, as relevant as the paths are."""
    return tuple(
        (sentence, min(cited.worth, 1.0))
        for sentence in chunk.sentences
        if any(span.start < sentence.end and sentence.start < span.end for span in cited.spans)
    )


def _tell(
    candidates: Candidates, paths: Sequence[GraphPath], acting: Sequence[GraphPath]
) -> tuple[str, ...]:
    names = ", ".join(seed.entity.name for seed in candidates.seeds) or "nothing"
    return (
        f"The question names {names}.",
        f"{len(candidates.patterns)} kinds of paths over {candidates.reader.count} entities.",
        f"{len(paths)} may answer it; passages that state {len(acting)} of them come first.",
    )
