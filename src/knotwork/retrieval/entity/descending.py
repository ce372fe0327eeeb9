"""Communities by how near their reports are to a question, and the way down through levels."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from knotwork.records import Community
from knotwork.retrieval.question import Question
from knotwork.retrieval.reports import REPORTS
from knotwork.stores.base import Scored, Store
from knotwork.stores.communities import CommunityStore

NO_COMMUNITIES_NOTE = (
    "The index holds no communities with reports, so that passages were found by their own text: "
    "`knotwork communities` makes them, without a model."
)

_CANDIDATES = 100
_TEXT_SHARE = 0.5
_MOSTLY = 0.5
"""Share of the reports that must have a vector: few that have one would pass for the nearest."""
_BELOW = 0.95
"""What the report of a community below is worth for those around it, by level."""


class ReportScores:
    """How near the reports of communities are to a question: words and vector, from 0 to 1."""

    def __init__(self, question: Question, store: Store) -> None:
        self._question = question
        self._texts, self._vectors = store.texts(REPORTS), store.vectors(REPORTS)
        enough = self._vectors.count() >= _MOSTLY * self._texts.count() > 0
        self._by_vector = question.vector is not None and enough
        best = self._texts.search(question.text, k=1)
        self._top = best[0].score if best else 1.0

    def best(self, *, most: int, among: Collection[str] | None = None) -> list[Scored]:
        """Return the communities nearest to the question, of all or among some, best first."""
        if among is not None and not among:
            return []
        k = max(most, _CANDIDATES)
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


@dataclass(frozen=True, slots=True)
class Level:
    """The communities that were chosen on a level, best first, of so many looked at."""

    level: int
    chosen: Sequence[Scored]
    looked_at: int


class Descent:
    """The way down from the best communities of the topmost level to the best of their children.

    A large community's report tells little of all that is in it, so that a community promises as
    much as its own report or the best below it, whichever is more.
    """

    def __init__(self, scores: ReportScores, held: CommunityStore) -> None:
        self._scores = scores
        self._held = held
        self._promises = self._lift(scores.best(most=_CANDIDATES))

    def go_down(
        self, *, beam: int, lowest: int | None = None
    ) -> tuple[list[Level], dict[str, Community]]:
        """Return the levels, each with its choice, and all communities chosen.

        On each level the ``beam`` best go on, until they have no children or ``lowest`` is reached.
        One that has none stays in the choice, and competes with the children of others.
        """
        by_level = self._held.levels()
        if not by_level:
            return [], {}
        best = self._best(by_level[0], beam)
        levels = [Level(0, best, len(by_level[0]))]
        known = self._held.communities([item.id for item in best])
        deepest = len(by_level) - 1 if lowest is None else min(lowest, len(by_level) - 1)
        for level in range(1, deepest + 1):
            children = {
                item.id: children_of(known[item.id], self._held)
                for item in best
                if item.id in known
            }
            below = [child for ids in children.values() for child in ids]
            if not below:
                break
            leaves = [identifier for identifier, ids in children.items() if not ids]
            best = self._best([*below, *leaves], beam)
            levels.append(Level(level, best, len(below)))
            known |= self._held.communities([item.id for item in best if item.id not in known])
        return levels, known

    def _best(self, ids: Collection[str], beam: int) -> list[Scored]:
        own = dict(self._scores.best(most=max(beam, _CANDIDATES), among=ids))
        promised = {i: self._promises[i] for i in ids if i in self._promises}
        scores = {i: max(own.get(i, 0.0), promised.get(i, 0.0)) for i in own | promised}
        return ranked_scores(scores, beam)

    def _lift(self, best: Sequence[Scored]) -> dict[str, float]:
        """Return what the best reports of all levels promise for the communities around them."""
        known = self._held.communities([item.id for item in best])
        leading = {i: c.entity_ids[0] for i, c in known.items() if c.members}
        chains = self._held.of_entities(set(leading.values()))
        promises: dict[str, float] = {}
        for identifier, score in best:
            chain = chains.get(leading.get(identifier, ""), [])
            above = chain[: chain.index(identifier)] if identifier in chain else []
            for distance, around in enumerate(reversed(above), start=1):
                promises[around] = max(promises.get(around, 0.0), score * _BELOW**distance)
        return promises


def children_of(community: Community, held: CommunityStore) -> list[str]:
    """Return the communities right below one, ascending: each member tells those it is in."""
    found: set[str] = set()
    for ids in held.of_entities(community.entity_ids).values():
        place = ids.index(community.id) + 1 if community.id in ids else len(ids)
        found.update(ids[place : place + 1])
    return sorted(found)
