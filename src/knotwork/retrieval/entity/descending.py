"""Communities by how near their reports are to a question, and the way down through levels."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from knotwork.retrieval.question import Question
from knotwork.retrieval.reports import REPORTS
from knotwork.stores.base import Scored, Store

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
class Level:
    """The communities that were chosen on a level, best first, of so many looked at."""

    level: int
    chosen: Sequence[Scored]
    looked_at: int


def descend(
    scores: ReportScores, tree: CommunityTree, *, beam: int, lowest: int | None = None
) -> list[Level]:
    """Go down from the best communities of the topmost level to the best of their children.

    A large community's report tells little of all that is in it, so that a community promises as
    much as its own report or the best below it, whichever is more. On each level the ``beam`` best
    go on, until none has children or ``lowest`` is reached; one that has none stays in the choice,
    and competes with the children of others.
    """
    promises = _lift(scores.best(most=_CANDIDATES), tree)

    def best_of(ids: Sequence[str]) -> list[Scored]:
        own = dict(scores.best(most=max(beam, _CANDIDATES), among=ids))
        promised = {i: promises[i] for i in ids if i in promises}
        return ranked_scores(
            {i: max(own.get(i, 0.0), promised.get(i, 0.0)) for i in own | promised}, beam
        )

    best = best_of(tree.top)
    levels = [Level(0, best, len(tree.top))]
    while best and (lowest is None or len(levels) <= lowest):
        below = [child for item in best for child in tree.children(item.id)]
        if not below:
            break
        leaves = [item.id for item in best if not tree.children(item.id)]
        best = best_of([*below, *leaves])
        levels.append(Level(len(levels), best, len(below)))
    return levels


def _lift(best: Sequence[Scored], tree: CommunityTree) -> dict[str, float]:
    """Return what the best reports of all levels promise for the communities around them."""
    promises: dict[str, float] = {}
    for identifier, score in best:
        for distance, around in enumerate(tree.around(identifier), start=1):
            promises[around] = max(promises.get(around, 0.0), score * _BELOW**distance)
    return promises
