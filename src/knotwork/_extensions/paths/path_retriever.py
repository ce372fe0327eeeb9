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
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import chain, pairwise
from pathlib import Path
from typing import Literal

from knotwork._extensions.paths.path_enumeration import (
    UNSTATED_RELATIONS,
    LinkReader,
    PathBounds,
    complete_pattern,
)
from knotwork._extensions.paths.path_ranking import (
    DEFAULT_BOUNDS,
    PathCandidates,
    PreciseRanker,
    RankedPattern,
    find_candidates,
    rank_coarsely,
    read_trees,
    shipped_trees,
)
from knotwork._inference.cross_encoders import Reranker
from knotwork._inference.embedder import Embedder
from knotwork._retrieval.base import GraphRetriever, attempt, bounded
from knotwork._retrieval.chunk_entities import OWN_PAGE, mention_places
from knotwork._retrieval.evidence_builder import READ_HITS, logistic
from knotwork._retrieval.fusion import raise_hits
from knotwork._retrieval.graph_paths import LIKELY_PROBABILITY, find_imported_chunks
from knotwork._stores.base import Store
from knotwork._text.relation_words import relation_words
from knotwork._text.terms import STOP_WORDS
from knotwork.records import (
    CO_OCCURRENCE_RELATION,
    Evidence,
    GraphPath,
    Hit,
    Hop,
    Query,
    Span,
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

        def find() -> Evidence:
            with self._store.reading():
                candidates = find_candidates(query.text, self._store, self._bounds)
            ranked = self.rank(candidates)
            with self._store.reading():
                return self._add_paths(base, candidates, ranked)

        found = attempt("The search for paths", find, base, failed)
        return replace(found, notes=(*found.notes, *failed))

    def _add_paths(
        self,
        base: Evidence,
        candidates: PathCandidates,
        ranked: Sequence[RankedPattern],
    ) -> Evidence:
        """Return the evidence with the likely paths, and the chunks that state them first."""
        ranks = {hit.chunk.id: number for number, hit in enumerate(base.hits)}
        likely = [one for one in ranked if one.probability >= SHOWN_PROBABILITY][:MOST_PATHS]
        regular: list[GraphPath] = []
        other: list[GraphPath] = []
        for path in cite_paths(likely, self._store, found=ranks):
            if self._regularity.holds({hop.relation for hop in path.hops}):
                regular.append(path)
            else:
                score = path.score + IRREGULAR_ODDS
                parts = path.scores | {"irregular": IRREGULAR_ODDS, "probability": logistic(score)}
                other.append(replace(path, score=score, scores=parts))
        if not regular:
            stated = {frozenset((hop.source, hop.target)) for path in other for hop in path.hops}
            bridges = bridge_paths(base.hits, self._store, most=MOST_PATHS)
            other += [path for path in bridges if frozenset(path.entity_ids) not in stated]
        paths = sorted([*regular, *other], key=lambda path: -path.score)[:MOST_PATHS]
        acting = [path for path in regular if path.scores["probability"] >= LIKELY_PROBABILITY]
        acting = acting[:_MOST_ACTING]
        names = ", ".join(seed.entity.name for seed in candidates.seeds) or "nothing"
        count = candidates.reader.count
        first = f"passages that state {len(acting)} of them come first"
        hits = _put_first(base, acting, self._store) if acting else base.hits
        # The lines of a graph share words with any question about it: there only a path answers.
        chunks = [hit.chunk for hit in hits[:READ_HITS]]
        stating = find_imported_chunks(chunks, self._store)
        are_graph_lines = chunks and all(chunk.id in stating for chunk in chunks)
        of_paths = max((path.scores.get("probability", 0.0) for path in paths), default=0.0)
        return replace(
            base,
            retriever=self.name,
            hits=hits,
            confidence=of_paths if are_graph_lines else base.confidence,
            paths=tuple(paths),
            trace=(
                f"The question names {names}.",
                f"{len(candidates.patterns)} kinds of paths over {count} entities.",
                f"{len(paths)} may answer it; {first}.",
            ),
        )

    def rank(self, candidates: PathCandidates) -> list[RankedPattern]:
        """Return the patterns of a question, best first."""
        if self._stages == "none":
            return [RankedPattern(pattern, 0.0, {}) for pattern in candidates.patterns]
        ranked = rank_coarsely(candidates, self._trees)
        if self._stages == "coarse":
            return ranked
        return self._precise.rank(ranked, candidates.wording, candidates.names)


def _put_first(base: Evidence, paths: Sequence[GraphPath], store: Store) -> tuple[Hit, ...]:
    """Return the hits with those that paths cite before all others, the stating sentences first."""
    worths: dict[str, float] = {}
    seeds: dict[str, str] = {}
    spans: defaultdict[str, list[Span]] = defaultdict(list)
    for number, path in enumerate(paths):
        for hop in path.hops:
            worths.setdefault(hop.chunk_id, path.scores["probability"] * _LATER_PATH**number)
            seeds.setdefault(hop.chunk_id, path.hops[0].source_name)
            spans[hop.chunk_id] += [hop.span] if hop.span is not None else []
    top = max((hit.score for hit in base.hits), default=0.0)
    gains = {key: worth + top for key, worth in worths.items()}
    hits = []
    for hit in raise_hits(base, gains, part="path", store=store):
        key = hit.chunk.id
        if key in worths:
            stating = [s for s in hit.chunk.sentences if any(p.overlaps(s) for p in spans[key])]
            first = [(sentence, min(worths[key], 1.0)) for sentence in stating]
            rest = [item for item in hit.sentences if item[0] not in stating]
            hit = replace(hit, seeds=hit.seeds or (seeds[key],), sentences=(*first, *rest))  # noqa: PLW2901
        hits.append(hit)
    return tuple(hits)


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
    led = [h.path[0] for h in hits if h.path and h.scores.get("bridge", 0) > 0][:most]
    mentions = store.graph.mentions(list(dict.fromkeys(step.chunk_id for step in led)))
    paths: dict[tuple[str, str], GraphPath] = {}
    for step in led:
        found = (m for m in mentions.get(step.chunk_id, ()) if m.entity_id != step.entity_id)
        about = [m for m in found if m.about >= OWN_PAGE]
        subject = max(about, key=lambda m: (m.about, len(m.name), m.entity_id), default=None)
        if subject is None or (subject.entity_id, step.entity_id) in paths:
            continue
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
        paths[subject.entity_id, step.entity_id] = GraphPath(
            (hop,), score, {"bridge": step.score}, (step.entity_name,)
        )
    return sorted(paths.values(), key=lambda path: (-path.score, path.entity_ids))


MOST_ANSWERS = 1_000
"""Maximum number of answers listed for a path."""
CITED_ANSWERS = 8
"""Maximum number of answers of a likely path whose walks are cited."""
_CHUNKS = 4
"""Number of chunks of a hop from which one is chosen."""
_ALL_LINKS = 5_000

_Triple = tuple[str, str, str]


def cite_paths(
    ranked: Sequence[RankedPattern], store: Store, *, found: Mapping[str, int]
) -> list[GraphPath]:
    """Return a path for each pattern, with all answers of the pattern.

    ``found`` has the ranks of chunks that the question leads to anyway; of several chunks that
    state a hop, the best of these is cited. A path is left out if no chunk states one of its hops
    any more. Of likely patterns, the walks to further answers are cited too.
    """
    reader = LinkReader(store, limit=_ALL_LINKS)
    answers = {
        one.pattern.key: complete_pattern(one.pattern, reader, most=MOST_ANSWERS) for one in ranked
    }
    # The hops to the first answer and to those cited in addition: a hop is its relation in the
    # graph, and its ends in the direction of the walk.
    walks = [
        [
            [
                ((near, relation, far) if forward else (far, relation, near), near, far)
                for (relation, forward), (near, far) in zip(
                    one.pattern.all_steps, pairwise(one.pattern.walk(answer)), strict=False
                )
            ]
            for answer in one.pattern.answers[
                : CITED_ANSWERS if one.probability >= LIKELY_PROBABILITY else 1
            ]
        ]
        for one in ranked
    ]
    triples = list(dict.fromkeys(t for hops in chain(*walks) for t, _, _ in hops))
    stated = _find_statements(triples, store, found)
    wanted = {node for of_one in answers.values() for node in of_one}
    wanted |= {end for source, _, target in triples for end in (source, target)}
    names = {key: entity.name for key, entity in store.graph.entities(wanted).items()}
    paths = []
    for one, (own, *further) in zip(ranked, walks, strict=True):
        if any(triple not in stated for triple, _, _ in own):
            continue
        others = (
            tuple(_hop(*hop, stated, names) for hop in hops if hop[0] in stated) for hops in further
        )
        paths.append(
            GraphPath(
                hops=tuple(_hop(*hop, stated, names) for hop in own),
                score=one.score,
                scores=one.scores | {"probability": one.probability},
                answers=tuple(names.get(a, a) for a in answers[one.pattern.key]),
                walks=tuple(hops if len(hops) == len(own) else () for hops in others),
            )
        )
    return paths


def _hop(
    triple: _Triple,
    near: str,
    far: str,
    stated: Mapping[_Triple, tuple[str, Span | None]],
    names: Mapping[str, str],
) -> Hop:
    return Hop(
        source=near,
        source_name=names.get(near, ""),
        relation=triple[1],
        target=far,
        target_name=names.get(far, ""),
        forward=triple[0] == near,
        chunk_id=stated[triple][0],
        span=stated[triple][1],
    )


def _find_statements(
    triples: Sequence[_Triple], store: Store, found: Mapping[str, int]
) -> dict[_Triple, tuple[str, Span | None]]:
    """Return the chunk that states each relation, and the span there.

    The span is as extracted, or else a sentence that mentions both ends, or one of them.
    """
    held = store.graph.relation_chunks(triples, limit=_CHUNKS)
    last = len(found)
    chosen = {
        triple: min(ids, key=lambda chunk: (found.get(chunk, last), chunk))
        for triple, ids in zip(triples, held, strict=True)
        if ids
    }
    extracted = {
        (chunk, one.source, one.relation, one.target): one.span
        for chunk, relations in store.graph.relations(set(chosen.values())).items()
        for one in relations
        if one.span is not None
    }
    left = {t: chunk for t, chunk in chosen.items() if (chunk, *t) not in extracted}
    chunks = store.documents.chunks(set(left.values()))
    places = mention_places(chunks, store)
    spans: dict[_Triple, Span | None] = {t: extracted.get((c, *t)) for t, c in chosen.items()}
    for triple, chunk in left.items():
        source, target = (places.get((chunk, end), frozenset()) for end in triple[::2])
        if numbered := (source & target) or (source | target):
            sentences = chunks[chunk].sentences or (chunks[chunk].span,)
            spans[triple] = sentences[min(numbered)]
    return {triple: (chunk, spans[triple]) for triple, chunk in chosen.items()}
