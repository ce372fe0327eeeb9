"""Retrievers over communities: passages that reports cite, and drilling down to members.

Communities are scored by how near their reports are to the question; drilling down goes from the
best communities of the topmost level to the best of their children.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from knotwork.errors import ConfigError
from knotwork.inference.embedder import Embedder
from knotwork.records import Community, CommunityReport, Evidence, Query
from knotwork.retrieval.basic_retrievers import HybridRetriever
from knotwork.retrieval.chunk_entities import chunks_about
from knotwork.retrieval.chunk_features import ChunkFeatures
from knotwork.retrieval.community_search import (
    REPORT_INDEX,
    communities_of,
    find_communities,
    find_topic,
)
from knotwork.retrieval.evidence_builder import make_evidence, rank
from knotwork.retrieval.question import Question, read_question
from knotwork.retrieval.weights import DEFAULT_WEIGHTS, Weights
from knotwork.stores.base import Capability, Scored, Store
from knotwork.stores.extensions import CommunityStore, read_parents

_SHOWN_REPORTS = 12


@dataclass(frozen=True, slots=True)
class ReportSettings:
    """``reports`` are read; a passage counts by its report and by its own text."""

    reports: int = 40
    report: float = 0.8
    """Weight of a report's score beside a passage's own text."""
    place: float = 0.05
    """What each finding before the one that cites a passage takes from this."""


class CommunityReportRetriever:
    """Chunks that the reports nearest to the question cite, of one level or of all.

    A question about the documents as a whole gets the reports of the largest communities instead.
    Which reports were read is told in the trace, and as the seeds of each hit. Without communities
    it is a hybrid search, with a note.
    """

    name = "communities"
    requires = frozenset({Capability.TEXT, Capability.GRAPH})

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Options:
        """Options of this retriever in a specification."""

        level: int | None = None
        reports: int = 40

    def __init__(
        self,
        *,
        store: Store,
        embedder: Embedder | None = None,
        weights: Weights = DEFAULT_WEIGHTS,
        settings: ReportSettings | None = None,
        options: Options | None = None,
    ) -> None:
        options = options or self.Options()
        if options.level is not None and options.level < 0:
            raise ConfigError(
                f"The level of communities is {options.level}, not 0 (the topmost) or more."
            )
        self._store = store
        self._embedder = embedder
        self._weights = weights
        self._level = options.level
        self._settings = replace(settings or ReportSettings(), reports=options.reports)

    def retrieve(self, query: Query) -> Evidence:
        """Return the chunks that the chosen reports cite."""
        held = communities_of(self._store)
        question = read_question(
            query.text,
            store=self._store,
            embedder=self._embedder,
            weights=self._weights,
            link=False,
        )
        ranked = self._choose(question, held) if held is not None else []
        reports = held.reports([item.id for item in ranked]) if held is not None else {}
        if held is None or not reports:
            plain = HybridRetriever(
                store=self._store, embedder=self._embedder, weights=self._weights
            )
            found = plain.retrieve(query)
            notes = (*found.notes, NO_COMMUNITIES_NOTE) if found.hits else found.notes
            return replace(found, retriever=self.name, notes=notes)
        evidence = self._cited(query, question, ranked, reports)
        return replace(evidence, trace=self._trace(ranked, reports, held))

    def _choose(self, question: Question, held: CommunityStore) -> list[Scored]:
        """Return the communities whose reports are read, best first, scores from 0 to 1."""
        most = self._settings.reports
        if not question.terms:
            return []
        if find_topic(question.text):
            among = None if self._level is None else self._of_level(held, self._level)
            return ReportScores(question, self._store).best(most=most, among=among)
        if self._level is None:
            largest = find_communities(question.text, store=self._store, most=most)
        else:
            found = held.communities(self._of_level(held, self._level)).values()
            largest = [Scored(c.id, float(c.size + len(c.chunk_ids))) for c in found]
            largest.sort(key=lambda item: (-item.score, item.id))
        top = largest[0].score if largest else 1.0
        return [Scored(item.id, item.score / top) for item in largest[:most]]

    def _of_level(self, held: CommunityStore, level: int) -> list[str]:
        levels = held.levels()
        return levels[min(level, len(levels) - 1)] if levels else []

    def _cited(
        self,
        query: Query,
        question: Question,
        ranked: Sequence[Scored],
        reports: Mapping[str, CommunityReport],
    ) -> Evidence:
        worths: dict[str, tuple[float, str]] = {}
        for item in ranked:
            for chunk_id, place in _citations(reports[item.id]) if item.id in reports else ():
                worth = self._settings.report * item.score * (1 - self._settings.place * place)
                if worth > worths.get(chunk_id, (0.0, ""))[0]:
                    worths[chunk_id] = worth, reports[item.id].title
        text = self._store.texts("chunk").search(question.text, k=len(worths), where=list(worths))
        features = ChunkFeatures(question, self._store, self._weights, text)
        features.fetch(list(worths))
        parts = {
            chunk_id: {"text": features[chunk_id].base, "report": worth}
            for chunk_id, (worth, _) in worths.items()
        }
        best = rank({i: sum(found.values()) for i, found in parts.items()}, query.k)
        seeds = {i: (title,) for i, (_, title) in worths.items()}
        return make_evidence(query, self.name, best, parts, features, self._store, seeds=seeds)

    def _trace(
        self,
        ranked: Sequence[Scored],
        reports: Mapping[str, CommunityReport],
        held: CommunityStore,
    ) -> tuple[str, ...]:
        shown = [item for item in ranked if item.id in reports]
        known = held.communities([item.id for item in shown[:_SHOWN_REPORTS]])
        told = [
            f"Level {known[item.id].level}: {reports[item.id].title}"
            f" ({item.score:.2f}, {len(reports[item.id].chunk_ids)} passages)."
            for item in shown[:_SHOWN_REPORTS]
            if item.id in known
        ]
        rest = len(shown) - len(told)
        return (*told, f"And {rest} more reports.") if rest else tuple(told)


def _citations(report: CommunityReport) -> list[tuple[str, int]]:
    """Return the passages of a report, each with the place of the first finding that cites it."""
    found: dict[str, int] = {}
    for place, finding in enumerate(report.findings):
        for support in finding.supports:
            found.setdefault(support.chunk_id, place)
    return list(found.items())


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

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Options:
        """Options of this retriever in a specification."""

        beam: int = 20
        level: int | None = None

    def __init__(
        self,
        *,
        store: Store,
        embedder: Embedder | None = None,
        weights: Weights = DEFAULT_WEIGHTS,
        settings: DrillSettings | None = None,
        options: Options | None = None,
    ) -> None:
        options = options or self.Options()
        self._store = store
        self._embedder = embedder
        self._weights = weights
        self._lowest = options.level
        self._tree: tuple[int, CommunityTree] | None = None
        self._settings = replace(settings or DrillSettings(), beam=options.beam)

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
        levels: list[CommunityLevel] = []
        if held is not None:
            scores, tree = ReportScores(question, self._store), self._read_tree(held)
            levels = descend_communities(
                scores, tree, beam=self._settings.beam, lowest=self._lowest
            )
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
        levels: Sequence[CommunityLevel],
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


def _trace(
    levels: Sequence[CommunityLevel], titles: Mapping[str, str], passages: int
) -> tuple[str, ...]:
    told = []
    for level in levels:
        names = [titles[item.id] for item in level.chosen if item.id in titles][:_SHOWN]
        best = f", the best: {'; '.join(names)}" if names else ""
        told.append(
            f"Level {level.level}: {len(level.chosen)} of {level.looked_at} communities{best}."
        )
    return (*told, f"{passages} passages belong to the last of these.")


NO_COMMUNITIES_NOTE = (
    "The index holds no communities with reports, so that passages were found by their own text: "
    "`knotwork communities` makes them, without a model."
)

_REPORT_CANDIDATES = 100
_TEXT_SHARE = 0.5
_MOSTLY = 0.5
"""Share of the reports that must have a vector: few that have one would pass for the nearest."""
_BELOW = 0.95
"""What the report of a community below is worth for those around it, by level."""


class ReportScores:
    """How near the reports of communities are to a question: words and vector, from 0 to 1."""

    def __init__(self, question: Question, store: Store) -> None:
        self._question = question
        self._texts, self._vectors = store.texts(REPORT_INDEX), store.vectors(REPORT_INDEX)
        enough = self._vectors.count() >= _MOSTLY * self._texts.count() > 0
        self._by_vector = question.vector is not None and enough
        best = self._texts.search(question.text, k=1)
        self._top = best[0].score if best else 1.0

    def best(self, *, most: int, among: Collection[str] | None = None) -> list[Scored]:
        """Return the communities nearest to the question, of all or among some, best first."""
        if among is not None and not among:
            return []
        k = max(most, _REPORT_CANDIDATES)
        scores: defaultdict[str, float] = defaultdict(float)
        share = _TEXT_SHARE if self._by_vector else 1.0
        for item in self._texts.search(self._question.text, k=k, where=among):
            scores[item.id] += share * item.score / self._top
        if self._by_vector and self._question.vector is not None:
            for item in self._vectors.search(self._question.vector, k=k, where=among):
                scores[item.id] += (1.0 - share) * max(item.score, 0.0)
        return ranked_scores(scores, most)


def ranked_scores(scores: Mapping[str, float], most: int) -> list[Scored]:
    """Return the best of those above 0, score descending, then id ascending."""
    ranked = sorted(scores, key=lambda i: (-scores[i], i))[: max(most, 0)]
    return [Scored(i, scores[i]) for i in ranked if scores[i] > 0]


class CommunityTree:
    """Which communities lie in which; those whose parent is gone are topmost."""

    def __init__(self, parents: Mapping[str, str | None]) -> None:
        self._parents = parents
        self._children: defaultdict[str, list[str]] = defaultdict(list)
        self.top: list[str] = []
        for identifier, parent in parents.items():
            if parent in parents and parent is not None:
                self._children[parent].append(identifier)
            else:
                self.top.append(identifier)

    def children(self, community_id: str) -> Sequence[str]:
        """Return the communities right below one, ascending."""
        return self._children.get(community_id, ())

    def around(self, community_id: str) -> Iterator[str]:
        """Yield the communities around one, from the nearest to the topmost."""
        parent = self._parents.get(community_id)
        while parent is not None and parent in self._parents:
            yield parent
            parent = self._parents[parent]


@dataclass(frozen=True, slots=True)
class CommunityLevel:
    """The communities that were chosen on a level, best first, of so many looked at."""

    level: int
    chosen: Sequence[Scored]
    looked_at: int


def descend_communities(
    scores: ReportScores, tree: CommunityTree, *, beam: int, lowest: int | None = None
) -> list[CommunityLevel]:
    """Go down from the best communities of the topmost level to the best of their children.

    A large community's report tells little of all that is in it, so that a community promises as
    much as its own report or the best below it, whichever is more. On each level the ``beam`` best
    go on, until none has children or ``lowest`` is reached; one that has none stays in the choice,
    and competes with the children of others.
    """
    promises = _lift(scores.best(most=_REPORT_CANDIDATES), tree)

    def best_of(ids: Sequence[str]) -> list[Scored]:
        own = dict(scores.best(most=max(beam, _REPORT_CANDIDATES), among=ids))
        promised = {i: promises[i] for i in ids if i in promises}
        return ranked_scores(
            {i: max(own.get(i, 0.0), promised.get(i, 0.0)) for i in own | promised}, beam
        )

    best = best_of(tree.top)
    levels = [CommunityLevel(0, best, len(tree.top))]
    while best and (lowest is None or len(levels) <= lowest):
        below = [child for item in best for child in tree.children(item.id)]
        if not below:
            break
        leaves = [item.id for item in best if not tree.children(item.id)]
        best = best_of([*below, *leaves])
        levels.append(CommunityLevel(len(levels), best, len(below)))
    return levels


def _lift(best: Sequence[Scored], tree: CommunityTree) -> dict[str, float]:
    """Return what the best reports of all levels promise for the communities around them."""
    promises: dict[str, float] = {}
    for identifier, score in best:
        for distance, around in enumerate(tree.around(identifier), start=1):
            promises[around] = max(promises.get(around, 0.0), score * _BELOW**distance)
    return promises
