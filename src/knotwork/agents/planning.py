"""Planners without a model: the question itself, then what follows from what was found."""

from __future__ import annotations

from collections.abc import Sequence

from knotwork.agents.following import FollowUp, follow_up
from knotwork.agents.judging import Verdict
from knotwork.agents.rewriting import keep_names, split_comparison
from knotwork.agents.state import AgentState, Move
from knotwork.stores.base import Store

FOLLOWED = 4
FOLLOW_WEIGHT = 0.7
"""How much a further question's finding counts: chosen on MuSiQue (docs/benchmarks.md)."""

PART_WEIGHT = 0.7
WIDENED = 3
"""How many times as many passages are looked at when evidence is poor."""

REWRITE_WEIGHT = 0.3


class IterativePlanner:
    """Asks the question, then the rest of it about each of the likeliest things found.

    A comparison of two things is asked of each of them first. ``tool`` is what searches; the first
    tool where it is empty. Evidence that is good after the first search is left as it is where
    ``stops_when_good``.
    """

    def __init__(
        self,
        store: Store,
        *,
        tool: str = "",
        followed: int = FOLLOWED,
        stops_when_good: bool = False,
    ) -> None:
        self._store = store
        self._tool = tool
        self._followed = followed
        self._stops_when_good = stops_when_good

    def next_move(self, state: AgentState) -> Move | None:
        """Return the question, then its parts, then what follows from what was found."""
        tool = self._tool or state.tools[0]
        if state.main is None:
            return Move(tool, state.question, "the question as it is")
        asked = {finding.text for finding in state.findings}
        if self._stops_when_good and _is_good(state):
            return None
        for part in split_comparison(state.question):
            if part not in asked:
                return Move(tool, part, "one side of the comparison", PART_WEIGHT)
        for follow in self._follow(state):
            if follow.text not in asked:
                source = _title_of(follow.chunk_id, state)
                reason = f"follows from {source}: worth {follow.worth:.2f}"
                return Move(tool, follow.text, reason, FOLLOW_WEIGHT, led_by=follow.entity)
        return None

    def _follow(self, state: AgentState) -> Sequence[FollowUp]:
        assert state.main is not None
        return follow_up(state.main, self._store, most=self._followed)


class CorrectivePlanner:
    """Judges the evidence; widens and rewrites where it is unsure or poor, and may abstain.

    After Yan et al., "Corrective Retrieval Augmented Generation" (2024), with the judge replaced
    by confidence and coverage, so that it costs no token. It abstains where the last judgement is
    still poor: the evidence stays, its confidence is that of the question itself, and a note says
    so. Rewriting can only add passages; it never makes a poor question look answered.
    """

    def __init__(self, store: Store, *, other_tool: str = "hybrid") -> None:
        self._store = store
        self._other_tool = other_tool

    def next_move(self, state: AgentState) -> Move | None:
        """Return the question, a wider search, then a rewritten one, as long as it is needed."""
        tool = state.tools[0]
        if state.main is None:
            return Move(tool, state.question, "the question as it is")
        judged = state.judgement
        if judged is None or judged.verdict is Verdict.GOOD:
            return None
        done = len(state.findings)
        other = self._other_tool if self._other_tool in state.tools else state.tools[-1]
        if done == 1 and other != tool:
            reason = f"{judged.verdict}: another way of searching, wider"
            return Move(other, state.question, reason, REWRITE_WEIGHT, k=WIDENED * state.k)
        rewritten = keep_names(state.question, judged.missing)
        asked = {finding.text for finding in state.findings}
        if rewritten and rewritten not in asked and done <= 2:
            return Move(
                tool, rewritten, f"{judged.verdict}: names and rare words alone", REWRITE_WEIGHT
            )
        if judged.verdict is Verdict.POOR:
            state.abstains = True
            state.notes.append("The evidence stays poor after searching in other ways.")
        return None


def _is_good(state: AgentState) -> bool:
    return state.judgement is not None and state.judgement.verdict is Verdict.GOOD


def _title_of(chunk_id: str, state: AgentState) -> str:
    """Return the title of the document of a chunk that was found, for people."""
    found = (hit.chunk for finding in state.findings for hit in finding.evidence.hits)
    return next((c.document_title for c in found if c.id == chunk_id), "") or chunk_id
