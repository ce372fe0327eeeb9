"""The loop of an agent: plan, search, judge, until enough is known or the budget is spent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from knotwork.agents.judging import judge_evidence
from knotwork.agents.merging import Finding, merge_findings
from knotwork.agents.state import AgentState, Budget, Move, Planner
from knotwork.agents.tools import Tool
from knotwork.errors import RetrievalError
from knotwork.records import Evidence, GraphPath, Query, QueryResult
from knotwork.stores.base import Capability, Store

DEFAULT_STEPS = 6
DEFAULT_TOKENS = 8_000


@dataclass(frozen=True, slots=True)
class AgentStep:
    """One search of an agent: what it asked which tool and why, how many passages that found, what
    it tells of it (``lines``), and the tokens of a language model that all steps so far took.
    """

    number: int
    tool: str
    question: str
    reason: str
    passages: int
    lines: tuple[str, ...]
    tokens: int


@dataclass(frozen=True, slots=True)
class AgentEvent:
    """A step, or the evidence at the end."""

    step: AgentStep | None = None
    evidence: Evidence | None = None


class Agent:
    """Searches step by step as its planner says; its evidence shows every step in ``trace``.

    It is a retriever itself, so that whatever takes one takes an agent. ``steps`` is the most
    searches for a question, ``tokens`` the most of a language model.
    """

    requires = frozenset({Capability.TEXT, Capability.GRAPH})

    def __init__(
        self,
        planner: Planner,
        tools: Mapping[str, Tool],
        store: Store,
        *,
        steps: int = DEFAULT_STEPS,
        tokens: int | None = DEFAULT_TOKENS,
        name: str = "agent",
    ) -> None:
        if not tools:
            raise RetrievalError("An agent needs at least one tool.")
        self.name = name
        self._planner = planner
        self._tools = dict(tools)
        self._store = store
        self._steps = steps
        self._tokens = tokens

    def retrieve(self, query: Query) -> Evidence:
        """Return what all steps found for a question, with the trace of the steps."""
        *_, last = self.events(query)
        assert last.evidence is not None, "the last event has the evidence"
        return last.evidence

    def events(self, query: Query) -> Iterator[AgentEvent]:
        """Do what `retrieve` does, and yield every step; the last event carries the evidence."""
        state = AgentState(
            query.text, query.k, tuple(self._tools), Budget(max(self._steps, 1), self._tokens)
        )
        told = 0
        while not state.budget.is_spent:
            move = self._planner.next_move(state)
            if move is None:
                break
            evidence = self._make(move, state)
            step = AgentStep(
                number=state.budget.spent_steps,
                tool=move.tool,
                question=move.text,
                reason=move.reason,
                passages=len(evidence.hits),
                lines=tuple(line.strip() for line in state.trace[told:]),
                tokens=state.budget.spent_tokens,
            )
            told = len(state.trace)
            yield AgentEvent(step=step)
        yield AgentEvent(evidence=self._conclude(query, state))

    def _make(self, move: Move, state: AgentState) -> Evidence:
        if move.tool not in self._tools:
            known = ", ".join(sorted(self._tools))
            raise RetrievalError(f"The planner chose `{move.tool}`; the tools are {known}.")
        state.budget.spent_steps += 1
        evidence = self._tools[move.tool].search(move.text, k=move.k or state.k)
        finding = Finding(move.tool, move.text, evidence, move.weight, move.led_by)
        state.findings.append(finding)
        number = state.budget.spent_steps
        state.tell(f"{number}. {move.tool}: {move.text} ({move.reason})")
        state.tell(f"   {len(evidence.hits)} passages{_first(evidence)}")
        for line in evidence.trace:
            state.tell(f"   {line}")
        if state.main is None or move.replaces:
            state.main = evidence
            state.judgement = judge_evidence(evidence, self._store)
            state.tell(f"   {state.judgement.text}")
        return evidence

    def _conclude(self, query: Query, state: AgentState) -> Evidence:
        main = state.main
        if main is None:
            return Evidence(query, self.name, notes=tuple(state.notes), trace=tuple(state.trace))
        hits = merge_findings(state.findings, question_evidence=main, k=query.k)
        paths: list[GraphPath] = []
        results: list[QueryResult] = []
        for finding in state.findings:
            paths += [path for path in finding.evidence.paths if path not in paths]
            results += finding.evidence.results
        spent = f"Took {state.budget.spent_steps} searches"
        if state.budget.spent_tokens:
            spent += f" and {state.budget.spent_tokens} tokens"
        if state.abstains:
            state.tell("Abstains: the evidence is poor.")
        state.tell(f"{spent}.")
        return Evidence(
            query,
            self.name,
            hits,
            main.confidence,
            notes=tuple(dict.fromkeys((*main.notes, *state.notes))),
            paths=tuple(paths),
            results=tuple(results),
            trace=tuple(state.trace),
            embedder=main.embedder,
        )


def _first(evidence: Evidence) -> str:
    if not evidence.hits:
        return ""
    chunk = evidence.hits[0].chunk
    return f", first {chunk.document_title or chunk.id}"
