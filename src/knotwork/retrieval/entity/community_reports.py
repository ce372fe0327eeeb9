"""The global community retriever: reports of a level, and the passages that they cite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from knotwork.errors import ConfigError
from knotwork.inference.base import Embedder
from knotwork.records import CommunityReport, Evidence, Query
from knotwork.retrieval.basic import HybridRetriever, rank
from knotwork.retrieval.entity.descending import NO_COMMUNITIES_NOTE, ReportScores
from knotwork.retrieval.features import ChunkFeatures
from knotwork.retrieval.focus import find_focus
from knotwork.retrieval.hits import make_evidence
from knotwork.retrieval.question import Question, read_question
from knotwork.retrieval.reports import communities_of, find_communities
from knotwork.retrieval.weights import DEFAULT_WEIGHTS, Weights
from knotwork.stores.base import Capability, Scored, Store
from knotwork.stores.communities import CommunityStore

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

    def __init__(
        self,
        *,
        store: Store,
        embedder: Embedder | None = None,
        level: int | None = None,
        reports: int = 40,
        weights: Weights = DEFAULT_WEIGHTS,
        settings: ReportSettings | None = None,
    ) -> None:
        if level is not None and level < 0:
            raise ConfigError(f"The level of communities is {level}, not 0 (the topmost) or more.")
        self._store = store
        self._embedder = embedder
        self._weights = weights
        self._level = level
        self._settings = replace(settings or ReportSettings(), reports=reports)

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
        if find_focus(question.text):
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
