"""Community-first search: down from the best communities to the passages that make them up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from knotwork.inference.base import Embedder
from knotwork.records import Community, Evidence, Query
from knotwork.retrieval.basic import HybridRetriever, rank
from knotwork.retrieval.entity.descending import (
    NO_COMMUNITIES_NOTE,
    CommunityTree,
    Level,
    ReportScores,
    descend,
)
from knotwork.retrieval.features import ChunkFeatures
from knotwork.retrieval.hits import make_evidence
from knotwork.retrieval.question import Question, read_question
from knotwork.retrieval.reports import communities_of
from knotwork.retrieval.things import chunks_about
from knotwork.retrieval.weights import DEFAULT_WEIGHTS, Weights
from knotwork.stores.base import Capability, Scored, Store
from knotwork.stores.communities import CommunityStore, read_parents

_SHOWN = 3


@dataclass(frozen=True, slots=True)
class DrillSettings:
    """``beam`` communities go on at each level; at most ``passages`` of theirs are looked at."""

    beam: int = 20
    passages: int = 150
    community: float = 0.4
    """Weight of a community's score beside a passage's own text."""
    members: int = 5
    """The leading members whose passages stand in where a community has none of its own."""


class DrillDownRetriever:
    """Chunks of the communities whose reports are nearest to the question.

    The search starts at the topmost communities, goes down the levels with the best, and ends at
    the passages of the lowest ones reached. Without communities it is a hybrid search, with a note.
    """

    name = "drill_down"
    requires = frozenset({Capability.TEXT, Capability.GRAPH})

    def __init__(
        self,
        *,
        store: Store,
        embedder: Embedder | None = None,
        beam: int = 20,
        level: int | None = None,
        weights: Weights = DEFAULT_WEIGHTS,
        settings: DrillSettings | None = None,
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._weights = weights
        self._lowest = level
        self._tree: tuple[int, CommunityTree] | None = None
        self._settings = replace(settings or DrillSettings(), beam=beam)

    def retrieve(self, query: Query) -> Evidence:
        """Return the best chunks of the communities reached; the trace tells the way down."""
        held = communities_of(self._store)
        question = read_question(
            query.text,
            store=self._store,
            embedder=self._embedder,
            weights=self._weights,
            link=False,
        )
        levels: list[Level] = []
        if held is not None:
            scores, tree = ReportScores(question, self._store), self._read_tree(held)
            levels = descend(scores, tree, beam=self._settings.beam, lowest=self._lowest)
        if held is None or not levels or not levels[-1].chosen:
            return self._without_communities(query)
        return self._search(query, question, levels, held)

    def _read_tree(self, held: CommunityStore) -> CommunityTree:
        """Return the community hierarchy; it is read again after a change to the index."""
        generation = self._store.generation()
        if self._tree is None or self._tree[0] != generation:
            self._tree = generation, CommunityTree(read_parents(held))
        return self._tree[1]

    def _without_communities(self, query: Query) -> Evidence:
        plain = HybridRetriever(store=self._store, embedder=self._embedder, weights=self._weights)
        found = plain.retrieve(query)
        notes = (*found.notes, NO_COMMUNITIES_NOTE) if found.hits else found.notes
        return replace(found, retriever=self.name, notes=notes)

    def _search(
        self,
        query: Query,
        question: Question,
        levels: Sequence[Level],
        held: CommunityStore,
    ) -> Evidence:
        chosen = levels[-1].chosen
        known = held.communities([item.id for item in chosen])
        inside = self._passages(chosen, known)
        text = self._store.texts("chunk").search(
            question.text, k=self._settings.passages, where=inside
        )
        pool = [item.id for item in text]
        if question.vector is not None:
            vectors = self._store.vectors("chunk")
            near = vectors.search(question.vector, k=self._settings.passages, where=inside)
            pool = [item.id for item in near] + pool
        features = ChunkFeatures(question, self._store, self._weights, text)
        features.fetch(pool)
        scores, parts = {}, {}
        for chunk_id in dict.fromkeys(pool):
            own = self._settings.community * inside[chunk_id].score
            parts[chunk_id] = {"text": features[chunk_id].base, "community": own}
            scores[chunk_id] = sum(parts[chunk_id].values())
        ranked = rank(scores, query.k)
        told = {item.id for level in levels for item in level.chosen[:_SHOWN]}
        reports = held.reports(sorted(told | known.keys()))
        titles = {identifier: report.title for identifier, report in reports.items()}
        seeds = {i: (titles[inside[i].id],) for i in pool if inside[i].id in titles}
        evidence = make_evidence(
            query, self.name, ranked, parts, features, self._store, seeds=seeds
        )
        return replace(evidence, trace=_trace(levels, titles, len(inside)))

    def _passages(
        self, chosen: Sequence[Scored], known: Mapping[str, Community]
    ) -> dict[str, Scored]:
        """Return the passages of communities, each with the best community that holds it."""
        inside: dict[str, Scored] = {}
        for item in chosen:
            if item.id not in known:
                continue
            chunk_ids: Sequence[str] = known[item.id].chunk_ids
            if not chunk_ids:
                leading = known[item.id].entity_ids[: self._settings.members]
                about = chunks_about(self._store, leading, fan=self._settings.members)
                chunk_ids = [found.id for row in about.values() for found in row]
            for chunk_id in chunk_ids:
                inside.setdefault(chunk_id, item)
        return inside


def _trace(levels: Sequence[Level], titles: Mapping[str, str], passages: int) -> tuple[str, ...]:
    told = []
    for level in levels:
        names = [titles[item.id] for item in level.chosen if item.id in titles][:_SHOWN]
        best = f", the best: {'; '.join(names)}" if names else ""
        told.append(
            f"Level {level.level}: {len(level.chosen)} of {level.looked_at} communities{best}."
        )
    return (*told, f"{passages} passages belong to the last of these.")
