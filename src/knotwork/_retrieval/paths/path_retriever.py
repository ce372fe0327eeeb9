"""The paths retriever: relations that lead from the entities of a question to its answer.

Paths are evidence of their own, best first, each hop with the sentence that states it. Passages are
ranked by `GraphRetriever`; passages that state the hops of a path that very likely answers the
question precede them.

Paths are trusted only if the relations of the graph form a vocabulary. In a graph built as one, few
relations connect many entities. Relations that rules and models extract from text are worded as in
the text: most names occur once, and shared words mean little (benchmarks/results/paths.md). Such
paths are shown but do not change the order of passages. The bridges that led `GraphRetriever` to
its hits are shown as paths too.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from knotwork._inference.cross_encoders import Reranker
from knotwork._inference.embedder import Embedder
from knotwork._retrieval.chunk_entities import OWN_PAGE
from knotwork._retrieval.evidence_builder import READ_HITS, logistic
from knotwork._retrieval.graph_retriever import GraphRetriever
from knotwork._retrieval.optional_parts import attempt
from knotwork._retrieval.options import bounded
from knotwork._retrieval.passage_reader import lift_hit
from knotwork._retrieval.paths.path_citations import LIKELY_PROBABILITY, cite_paths
from knotwork._retrieval.paths.path_enumeration import UNSTATED_RELATIONS, PathBounds
from knotwork._retrieval.paths.path_question import relation_words
from knotwork._retrieval.paths.path_ranking import (
    DEFAULT_BOUNDS,
    PathCandidates,
    PreciseRanker,
    RankedPattern,
    find_candidates,
    rank_coarsely,
    read_trees,
    shipped_trees,
)
from knotwork._stores.base import Store
from knotwork._text.terms import STOP_WORDS
from knotwork.records import (
    CO_OCCURRENCE_RELATION,
    GRAPH_URI,
    Chunk,
    Evidence,
    GraphPath,
    Hit,
    Hop,
    Mention,
    Query,
    Span,
    Step,
)

Stages = Literal["none", "coarse", "both"]
MOST_PATHS = 10
SHOWN_PROBABILITY = 0.05
"""Minimum probability of a path that is shown."""
IRREGULAR_ODDS = -2.0
"""Added to the log-odds of a path whose relations are not a vocabulary."""
_MOST_ACTING = 3
_LATER_PATH = 0.8
"""Worth of each path relative to the one before."""


class PathsRetriever:
    """Finds chunks that state the best paths, then those of `GraphRetriever`.

    ``stages`` selects the ranking of paths: "both" (first by trees, then by ``reranker`` or
    embedder), "coarse" (by trees), or "none" (the order of enumeration). ``trees`` is a file
    written by `knotwork train paths` to use in place of the shipped model.
    """

    name = "paths"

    @bounded
    class Options:
        trees: str | Path | None = None
        stages: Stages = "both"

    def __init__(
        self,
        *,
        store: Store,
        embedder: Embedder | None = None,
        reranker: Reranker | None = None,
        bounds: PathBounds = DEFAULT_BOUNDS,
        options: Options | None = None,
    ) -> None:
        options = options or self.Options()
        self._store = store
        self._base = GraphRetriever(store=store, embedder=embedder)
        self._trees = shipped_trees() if options.trees is None else read_trees(Path(options.trees))
        self._precise = PreciseRanker(embedder=embedder, reranker=reranker)
        self._regularity = RelationRegularity(store)
        self._stages = options.stages
        self._bounds = bounds

    def retrieve(self, query: Query) -> Evidence:
        """Return the best chunks, and the best paths with the sentences that state them."""
        base, failed = self._base.retrieve(query), list[str]()
        found = attempt("The search for paths", lambda: self._find_paths(query, base), base, failed)
        return replace(found, notes=(*found.notes, *failed))

    def _find_paths(self, query: Query, base: Evidence) -> Evidence:
        with self._store.reading():
            candidates = find_candidates(query.text, self._store, self._bounds)
        ranked = self.rank(candidates)
        with self._store.reading():
            return self._add_paths(query, base, candidates, ranked)

    def _add_paths(
        self,
        query: Query,
        base: Evidence,
        candidates: PathCandidates,
        ranked: Sequence[RankedPattern],
    ) -> Evidence:
        """Return the evidence with the likely paths, and the chunks that state them first."""
        ranks = {hit.chunk.id: number for number, hit in enumerate(base.hits)}
        likely = [one for one in ranked if one.probability >= SHOWN_PROBABILITY][:MOST_PATHS]
        regular, other = self._split(cite_paths(likely, self._store, found=ranks))
        if not regular:
            stated = {frozenset((hop.source, hop.target)) for path in other for hop in path.hops}
            bridges = bridge_paths(base.hits, self._store, most=MOST_PATHS)
            other += [path for path in bridges if frozenset(path.entity_ids) not in stated]
        paths = sorted([*regular, *other], key=lambda path: -path.score)[:MOST_PATHS]
        acting = [p for p in regular if p.scores["probability"] >= LIKELY_PROBABILITY][
            :_MOST_ACTING
        ]
        names = ", ".join(seed.entity.name for seed in candidates.seeds) or "nothing"
        count = candidates.reader.count
        first = f"passages that state {len(acting)} of them come first"
        hits = _put_first(base.hits, _cited(acting), self._store, query.k)
        return replace(
            base,
            retriever=self.name,
            hits=hits,
            confidence=self._confidence(base.confidence, hits, paths),
            paths=tuple(paths),
            trace=(
                f"The question names {names}.",
                f"{len(candidates.patterns)} kinds of paths over {count} entities.",
                f"{len(paths)} may answer it; {first}.",
            ),
        )

    def _confidence(
        self, of_passages: float, hits: Sequence[Hit], paths: Sequence[GraphPath]
    ) -> float:
        """Return the probability that hits or paths contain an answer.

        The lines of a graph share words with any question about it, so among them only a path
        indicates an answer.
        """
        of_paths = max((path.scores.get("probability", 0.0) for path in paths), default=0.0)
        chunks = [hit.chunk for hit in hits[:READ_HITS]]
        stating = find_imported_chunks(chunks, self._store)
        are_graph_lines = chunks and all(chunk.id in stating for chunk in chunks)
        return of_paths if are_graph_lines else of_passages

    def _split(self, paths: Sequence[GraphPath]) -> tuple[list[GraphPath], list[GraphPath]]:
        """Split paths into those over a vocabulary of relations and others, which are worth
        less.
        """
        regular: list[GraphPath] = []
        other: list[GraphPath] = []
        for path in paths:
            if self._regularity.holds({hop.relation for hop in path.hops}):
                regular.append(path)
            else:
                score = path.score + IRREGULAR_ODDS
                parts = path.scores | {"irregular": IRREGULAR_ODDS, "probability": logistic(score)}
                other.append(replace(path, score=score, scores=parts))
        return regular, other

    def rank(self, candidates: PathCandidates) -> list[RankedPattern]:
        """Return the patterns of a question, best first."""
        if self._stages == "none":
            return [RankedPattern(pattern, 0.0, {}) for pattern in candidates.patterns]
        ranked = rank_coarsely(candidates, self._trees)
        if self._stages == "coarse":
            return ranked
        return self._precise.rank(ranked, candidates.wording, candidates.names)


@dataclass(frozen=True, slots=True)
class _Cited:
    """What a chunk states of likely paths: their worth, the spans, and the name they start from."""

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
    """Return the hits with those that paths cite before all others."""
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
    """Return a hit above all that no path cites, with the sentences that state hops first."""
    stating = [s for s in hit.chunk.sentences if any(span.overlaps(s) for span in cited.spans)]
    return replace(
        lift_hit(hit, cited.worth + top, "path"),
        seeds=hit.seeds or (cited.seed,),
        sentences=(
            *((sentence, min(cited.worth, 1.0)) for sentence in stating),
            *(item for item in hit.sentences if item[0] not in stating),
        ),
    )


MOST_ONCE = 0.5
"""Maximum share of relations that occur once in a graph whose relations form a vocabulary. It is 0
to 0.3 in graphs built as such, and 0.7 to 0.9 in graphs that rules extract from text."""
REGULAR_RELATION = 20
"""Minimum number of edges for a relation of any other graph to count as vocabulary, if its name is
more than function words such as `is` and `in`."""


class RelationRegularity:
    """Determines whether relations form a vocabulary, by counts read once per generation."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._generation: int | None = None
        self._counts: Mapping[str, int] = {}
        self._is_regular_graph = False

    def holds(self, relations: Collection[str]) -> bool:
        """Return True if all of these relations belong to a vocabulary."""
        generation = self._store.generation()
        if generation != self._generation:
            counts = self._store.graph.schema().relations
            self._counts = {name: n for name, n in counts.items() if name not in UNSTATED_RELATIONS}
            once = sum(count == 1 for count in self._counts.values())
            self._is_regular_graph = once <= MOST_ONCE * len(self._counts)
            self._generation = generation
        return self._is_regular_graph or all(
            self._counts.get(relation, 0) >= REGULAR_RELATION
            and any(word not in STOP_WORDS for word in relation_words(relation))
            for relation in relations
        )


_LEAST = 1e-3
_SURE = 8.0
"""Score of a bridge worth as much as a path of even odds: a fitting stated relation precedes a mere
co-occurrence in a sentence."""


def bridge_paths(hits: Sequence[Hit], store: Store, *, most: int) -> list[GraphPath]:
    """Return a one-hop path for each of the first hits that a bridge led to, best first.

    Its source is the subject of the sentence's passage, its target the subject of the hit.
    """
    reached = [(hit, hit.path[0]) for hit in hits if hit.path and hit.scores.get("bridge", 0) > 0]
    reached = reached[:most]
    mentions = store.graph.mentions(list(dict.fromkeys(step.chunk_id for _, step in reached)))
    paths: dict[tuple[str, str], GraphPath] = {}
    for _, step in reached:
        subject = _subject(mentions.get(step.chunk_id, ()), step)
        if subject is not None:
            key = subject.entity_id, step.entity_id
            paths.setdefault(key, _path(subject, step))
    return sorted(paths.values(), key=lambda path: (-path.score, path.entity_ids))


def _subject(mentions: Sequence[Mention], step: Step) -> Mention | None:
    """Return the entity that a chunk is about most, other than the one it leads to."""
    about = [m for m in mentions if m.about >= OWN_PAGE and m.entity_id != step.entity_id]
    return max(about, key=lambda m: (m.about, len(m.name), m.entity_id), default=None)


def _path(subject: Mention, step: Step) -> GraphPath:
    hop = Hop(
        source=subject.entity_id,
        source_name=subject.name,
        relation=CO_OCCURRENCE_RELATION,
        target=step.entity_id,
        target_name=step.entity_name,
        forward=True,
        chunk_id=step.chunk_id,
        span=step.sentence,
    )
    score = math.log(max(step.score, _LEAST) / _SURE)
    return GraphPath((hop,), score, {"bridge": step.score}, (step.entity_name,))


def find_imported_chunks(chunks: Collection[Chunk], store: Store) -> set[str]:
    """Return the ids of the chunks that are lines of an imported graph."""
    graphs = store.capabilities.property_graphs
    if graphs is None or not graphs.names():
        return set()
    documents = store.documents.documents({chunk.document_id for chunk in chunks})
    stating = {key for key, document in documents.items() if document.uri.startswith(GRAPH_URI)}
    return {chunk.id for chunk in chunks if chunk.document_id in stating}
