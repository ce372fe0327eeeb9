"""Retrievers over communities: passages that reports cite, and drilling down to members.

Communities are ranked by the similarity of their reports to the question. Drilling down goes from
the best communities of the topmost level to the best of their children.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from knotwork._retrieval.base import ConfiguredRetriever
from knotwork._retrieval.basic_retrievers import HybridRetriever
from knotwork._retrieval.chunk_entities import chunks_about
from knotwork._retrieval.chunk_features import ChunkFeatures
from knotwork._retrieval.community_search import (
    REPORT_INDEX,
    find_communities,
    find_topic,
    has_report_vectors,
)
from knotwork._retrieval.evidence_builder import make_evidence, rank
from knotwork._retrieval.question import Question, read_question
from knotwork._stores.base import Scored, Store
from knotwork._stores.capabilities import CommunityStore
from knotwork.errors import ConfigError
from knotwork.records import Community, CommunityReport, Evidence, Query

_SHOWN_REPORTS = 12


NO_COMMUNITIES_NOTE = (
    "This index has no communities with reports, so passages were found by their own text. "
    "`knotwork communities` builds them, without a language model."
)


class CommunityRetriever(ConfiguredRetriever, ABC):
    """A retriever over communities with reports; without them it is a hybrid search with a note."""

    def retrieve(self, query: Query) -> Evidence:
        """Return the chunks that the communities nearest to the question lead to."""
        held = self._store.capabilities.communities
        question = read_question(query.text, store=self._store, embedder=self._embedder, link=False)
        if held is not None:
            with self._store.reading():
                evidence = self._find(query, question, held)
            if evidence is not None:
                return evidence
        found = HybridRetriever(store=self._store, embedder=self._embedder).retrieve(query)
        notes = (*found.notes, NO_COMMUNITIES_NOTE) if found.hits else found.notes
        return replace(found, retriever=self.name, notes=notes)

    @abstractmethod
    def _find(self, query: Query, question: Question, held: CommunityStore) -> Evidence | None:
        """Return the evidence; None without communities that have a report."""


_REPORT = 0.8
"""Weight of a report's score relative to a passage's own text."""
_PLACE = 0.05
"""Reduction of that weight for each finding before the one that cites the passage."""


class CommunityReportRetriever(CommunityRetriever):
    """Ranks chunks that the reports nearest to the question cite, of one level or of all.

    A question about the whole documents gets the reports of the largest communities. The trace and
    the seeds of hits name the reports. Without communities it is a hybrid search with a note.
    """

    name = "communities"

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Options:
        """Options of this retriever in a specification."""

        level: int | None = None
        reports: int = 40

        def __post_init__(self) -> None:
            if self.level is not None and self.level < 0:
                raise ConfigError(
                    f"`level` is {self.level}, but must be 0 (the topmost level) or more."
                )

    options: Options

    def _find(self, query: Query, question: Question, held: CommunityStore) -> Evidence | None:
        ranked = self._choose(question, held)
        reports = held.reports([item.id for item in ranked])
        if not reports:
            return None
        evidence = self._cited(query, question, ranked, reports)
        return replace(evidence, trace=self._trace(ranked, reports, held))

    def _choose(self, question: Question, held: CommunityStore) -> list[Scored]:
        """Return the communities whose reports are read, best first, with scores from 0 to 1."""
        most = self.options.reports
        if not question.terms:
            return []
        if find_topic(question.text):
            among = None if self.options.level is None else self._of_level(held, self.options.level)
            return ReportScores(question, self._store).best(most=most, among=among)
        if self.options.level is None:
            largest = find_communities(question.text, store=self._store, most=most)
        else:
            found = held.communities(self._of_level(held, self.options.level)).values()
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
            for chunk_id, number in _citations(reports[item.id]) if item.id in reports else ():
                worth = _REPORT * item.score * (1 - _PLACE * number)
                if worth > worths.get(chunk_id, (0.0, ""))[0]:
                    worths[chunk_id] = worth, reports[item.id].title
        text = self._store.texts("chunk").search(question.text, k=len(worths), where=list(worths))
        features = ChunkFeatures(question, self._store, text)
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
        lines = [
            f"Level {known[item.id].level}: {reports[item.id].title}"
            f" ({item.score:.2f}, {len(reports[item.id].chunk_ids)} passages)."
            for item in shown[:_SHOWN_REPORTS]
            if item.id in known
        ]
        rest = len(shown) - len(lines)
        return (*lines, f"And {rest} more reports.") if rest else tuple(lines)


def _citations(report: CommunityReport) -> list[tuple[str, int]]:
    """Return the passages of a report with the index of the first finding that cites them."""
    found: dict[str, int] = {}
    for number, finding in enumerate(report.findings):
        for support in finding.supports:
            found.setdefault(support.chunk_id, number)
    return list(found.items())


_SHOWN = 3


_PASSAGES = 150
"""Passages of the chosen communities that are read."""
_COMMUNITY = 0.4
"""Weight of a community's score relative to a passage's own text."""
_MEMBERS = 5
"""Leading members whose passages are used if a community has none."""


class DrillDownRetriever(CommunityRetriever):
    """Ranks chunks of the communities whose reports are nearest to the question.

    The search starts at the topmost communities, descends with the best of each level, and ends at
    the passages of the lowest ones reached. Without communities it is a hybrid search with a note.
    """

    name = "drill_down"

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Options:
        """Options of this retriever in a specification."""

        beam: int = 20
        """Number of communities that continue at each level."""
        level: int | None = None

    options: Options
    _tree: tuple[int, CommunityTree] | None = None

    def _find(self, query: Query, question: Question, held: CommunityStore) -> Evidence | None:
        levels = descend_communities(
            ReportScores(question, self._store),
            self._read_tree(held),
            beam=self.options.beam,
            lowest=self.options.level,
        )
        if not levels or not levels[-1].chosen:
            return None
        return self._search(query, question, levels, held)

    def _read_tree(self, held: CommunityStore) -> CommunityTree:
        """Return the community hierarchy, read once per generation of the index."""
        generation = self._store.generation()
        if self._tree is None or self._tree[0] != generation:
            self._tree = generation, CommunityTree(held.parents())
        return self._tree[1]

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
        text = self._store.texts("chunk").search(question.text, k=_PASSAGES, where=inside)
        pool = [item.id for item in text]
        if question.vector is not None:
            vectors = self._store.vectors("chunk")
            near = vectors.search(question.vector, k=_PASSAGES, where=inside)
            pool = [item.id for item in near] + pool
        features = ChunkFeatures(question, self._store, text)
        features.fetch(pool)
        scores, parts = {}, {}
        for chunk_id in dict.fromkeys(pool):
            own = _COMMUNITY * inside[chunk_id].score
            parts[chunk_id] = {"text": features[chunk_id].base, "community": own}
            scores[chunk_id] = sum(parts[chunk_id].values())
        ranked = rank(scores, query.k)
        shown = {item.id for level in levels for item in level.chosen[:_SHOWN]}
        reports = held.reports(sorted(shown | known.keys()))
        titles = {identifier: report.title for identifier, report in reports.items()}
        seeds = {i: (titles[inside[i].id],) for i in pool if inside[i].id in titles}
        evidence = make_evidence(
            query, self.name, ranked, parts, features, self._store, seeds=seeds
        )
        return replace(evidence, trace=_trace(levels, titles, len(inside)))

    def _passages(
        self, chosen: Sequence[Scored], known: Mapping[str, Community]
    ) -> dict[str, Scored]:
        """Return the passages of communities, each with the best community that contains it."""
        inside: dict[str, Scored] = {}
        for item in chosen:
            if item.id not in known:
                continue
            chunk_ids: Sequence[str] = known[item.id].chunk_ids
            if not chunk_ids:
                leading = known[item.id].entity_ids[:_MEMBERS]
                about = chunks_about(self._store, leading, fan=_MEMBERS)
                chunk_ids = [found.id for row in about.values() for found in row]
            for chunk_id in chunk_ids:
                inside.setdefault(chunk_id, item)
        return inside


def _trace(
    levels: Sequence[CommunityLevel], titles: Mapping[str, str], passages: int
) -> tuple[str, ...]:
    lines = []
    for level in levels:
        names = [titles[item.id] for item in level.chosen if item.id in titles][:_SHOWN]
        best = f", the best: {'; '.join(names)}" if names else ""
        lines.append(
            f"Level {level.level}: {len(level.chosen)} of {level.looked_at} communities{best}."
        )
    return (*lines, f"The last of these have {passages} passages.")


_REPORT_CANDIDATES = 100
_TEXT_SHARE = 0.5
_BELOW = 0.95
"""Worth of a community's report for those above it, per level."""


class ReportScores:
    """Scores communities by the words and the vectors of their reports, from 0 to 1."""

    def __init__(self, question: Question, store: Store) -> None:
        self._question = question
        self._texts, self._vectors = store.texts(REPORT_INDEX), store.vectors(REPORT_INDEX)
        self._by_vector = question.vector is not None and has_report_vectors(store)
        best = self._texts.search(question.text, k=1)
        self._top = best[0].score if best else 1.0

    def best(self, *, most: int, among: Collection[str] | None = None) -> list[Scored]:
        """Return the communities nearest to the question, optionally only of ``among``, best
        first.
        """
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
    """Return the ``most`` best scores above 0, descending, ties by ascending id."""
    ranked = sorted(scores, key=lambda i: (-scores[i], i))[: max(most, 0)]
    return [Scored(i, scores[i]) for i in ranked if scores[i] > 0]


class CommunityTree:
    """The hierarchy of communities; those whose parent is missing are topmost."""

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
        """Return the direct children of a community, by ascending id."""
        return self._children.get(community_id, ())

    def around(self, community_id: str) -> Iterator[str]:
        """Yield the ancestors of a community, nearest first."""
        parent = self._parents.get(community_id)
        while parent is not None and parent in self._parents:
            yield parent
            parent = self._parents[parent]


@dataclass(frozen=True, slots=True)
class CommunityLevel:
    """The chosen communities of a level, best first, and the number examined."""

    level: int
    chosen: Sequence[Scored]
    looked_at: int


def descend_communities(
    scores: ReportScores, tree: CommunityTree, *, beam: int, lowest: int | None = None
) -> list[CommunityLevel]:
    """Descend from the best communities of the topmost level to the best of their children.

    The report of a large community mentions little of its content, so a community has the score of
    its own report or of the best one below it, whichever is higher. On each level the ``beam`` best
    continue, until none has children or ``lowest`` is reached. One without children stays and
    competes with the children of others.
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
    """Return the scores that communities inherit from the best reports below them."""
    promises: dict[str, float] = {}
    for identifier, score in best:
        for distance, around in enumerate(tree.around(identifier), start=1):
            promises[around] = max(promises.get(around, 0.0), score * _BELOW**distance)
    return promises
