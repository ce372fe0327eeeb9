"""Retrievers over communities: passages that reports cite, and drilling down to members.

Communities are ranked by the similarity of their reports to the question. Drilling down goes from
the best communities of the topmost level to the best of their children.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, NamedTuple

from knotwork._retrieval.base import Bounds, ConfiguredRetriever, HybridRetriever, bounded
from knotwork._retrieval.chunk_entities import chunks_about
from knotwork._retrieval.community_search import (
    REPORT_INDEX,
    CommunityTree,
    find_communities,
    find_topic,
    has_report_vectors,
    ranked_scores,
)
from knotwork._retrieval.evidence_builder import ChunkFeatures, make_evidence, rank
from knotwork._retrieval.question import Question, read_question
from knotwork._stores.base import Scored, Store
from knotwork._stores.capabilities import CommunityStore
from knotwork.records import Community, Evidence, Query

NO_COMMUNITIES_NOTE = (
    "This index has no communities with reports, so passages were found by their own text. "
    "`knotwork communities` builds them, without a language model."
)


class CommunityRetriever(ConfiguredRetriever, ABC):
    """A retriever over communities with reports; without them it is a hybrid search with a note.

    ``part`` is the name in ``Hit.scores`` of what a passage gains from its community.
    """

    part: str

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

    def _rank(
        self,
        query: Query,
        question: Question,
        gains: Mapping[str, float],
        titles: Mapping[str, str],
        trace: Sequence[str],
        *,
        read: int | None = None,
    ) -> Evidence:
        """Return the passages by their own text and what they gain; ``titles`` are their seeds.

        At most ``read`` of them are read by words, and as many by vectors.
        """
        text = self._store.texts("chunk").search(question.text, k=read or len(gains), where=gains)
        pool = [item.id for item in text] if read else list(gains)
        if read and question.vector is not None:
            near = self._store.vectors("chunk").search(question.vector, k=read, where=gains)
            pool = [item.id for item in near] + pool
        features = ChunkFeatures(question, self._store, text)
        features.fetch(pool)
        parts = {i: {"text": features[i].base, self.part: gains[i]} for i in dict.fromkeys(pool)}
        best = rank({i: sum(found.values()) for i, found in parts.items()}, query.k)
        seeds = {i: (titles[i],) for i in parts if i in titles}
        evidence = make_evidence(query, self.name, best, parts, features, seeds=seeds)
        return replace(evidence, trace=tuple(trace))


_SHOWN_REPORTS = 12
_REPORT = 0.8
"""Weight of a report's score relative to a passage's own text."""
_PLACE = 0.05
"""Reduction of that weight for each finding before the one that cites the passage."""


class CommunityReportRetriever(CommunityRetriever):
    """Ranks chunks that the reports nearest to the question cite, of one level or of all.

    A question about the whole documents gets the reports of the largest communities. The trace and
    the seeds of hits name the reports.
    """

    name = "communities"
    part = "report"

    @bounded
    class Options:
        level: Annotated[int | None, Bounds(0)] = None
        """A level of the communities; 0 is the topmost."""
        reports: int = 40

    options: Options

    def _find(self, query: Query, question: Question, held: CommunityStore) -> Evidence | None:
        ranked = self._choose(question, held)
        reports = held.reports([item.id for item in ranked])
        if not reports:
            return None
        gains: dict[str, float] = {}
        titles: dict[str, str] = {}
        shown = [item for item in ranked if item.id in reports]
        for item in shown:
            for number, finding in enumerate(reports[item.id].findings):
                gain = _REPORT * item.score * (1 - _PLACE * number)
                for support in finding.supports:
                    if gain > gains.get(support.chunk_id, 0.0):
                        gains[support.chunk_id] = gain
                        titles[support.chunk_id] = reports[item.id].title
        known = held.communities([item.id for item in shown[:_SHOWN_REPORTS]])
        lines = [
            f"Level {known[item.id].level}: {reports[item.id].title}"
            f" ({item.score:.2f}, {len(reports[item.id].chunk_ids)} passages)."
            for item in shown[:_SHOWN_REPORTS]
            if item.id in known
        ]
        rest = len(shown) - len(lines)
        more = [f"And {rest} more reports."] if rest else []
        return self._rank(query, question, gains, titles, [*lines, *more])

    def _choose(self, question: Question, held: CommunityStore) -> list[Scored]:
        """Return the communities whose reports are read, best first, with scores from 0 to 1."""
        most, level = self.options.reports, self.options.level
        if not question.terms:
            return []
        levels = held.levels() if level is not None else []
        among = levels[min(level or 0, len(levels) - 1)] if levels else []
        if find_topic(question.text):
            scores = ReportScores(question, self._store)
            return scores.best(most=most, among=None if level is None else among)
        if level is None:
            largest = find_communities(question.text, store=self._store, most=most)
        else:
            found = held.communities(among).values()
            largest = [Scored(c.id, float(c.size + len(c.chunk_ids))) for c in found]
            largest.sort(key=lambda item: (-item.score, item.id))
        top = largest[0].score if largest else 1.0
        return [Scored(item.id, item.score / top) for item in largest[:most]]


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
    the passages of the lowest ones reached.
    """

    name = "drill_down"
    part = "community"

    @bounded
    class Options:
        beam: int = 20
        """Number of communities that continue at each level."""
        level: int | None = None

    options: Options
    _tree: tuple[int, CommunityTree] | None = None

    def _find(self, query: Query, question: Question, held: CommunityStore) -> Evidence | None:
        generation = self._store.generation()
        if self._tree is None or self._tree[0] != generation:
            self._tree = generation, CommunityTree(held.parents())
        scores, options = ReportScores(question, self._store), self.options
        levels = descend_communities(scores, self._tree[1], beam=options.beam, lowest=options.level)
        if not levels or not levels[-1].chosen:
            return None
        known = held.communities([item.id for item in levels[-1].chosen])
        inside = self._passages(levels[-1].chosen, known)
        shown = {item.id for level in levels for item in level.chosen[:_SHOWN]}
        reports = held.reports(sorted(shown | known.keys()))
        titles = {identifier: report.title for identifier, report in reports.items()}
        lines = []
        for level in levels:
            names = [titles[item.id] for item in level.chosen if item.id in titles][:_SHOWN]
            best = f", the best: {'; '.join(names)}" if names else ""
            counts = f"{len(level.chosen)} of {level.looked_at} communities"
            lines.append(f"Level {level.level}: {counts}{best}.")
        lines.append(f"The last of these have {len(inside)} passages.")
        gains = {i: _COMMUNITY * item.score for i, item in inside.items()}
        own_titles = {i: titles[item.id] for i, item in inside.items() if item.id in titles}
        return self._rank(query, question, gains, own_titles, lines, read=_PASSAGES)

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
        """Return the communities nearest to the question, all or of ``among``, best first."""
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


class CommunityLevel(NamedTuple):
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
    promises: dict[str, float] = {}
    for identifier, score in scores.best(most=_REPORT_CANDIDATES):
        for distance, around in enumerate(tree.around(identifier), start=1):
            promises[around] = max(promises.get(around, 0.0), score * _BELOW**distance)

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
