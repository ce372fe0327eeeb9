"""The agent loop: plan, search, judge, until the evidence suffices or the budget is spent.

The findings of all steps are merged into one ranking, and every step is recorded in the trace.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

import numpy as np

from knotwork._inference.chat import ChatModel
from knotwork._inference.cross_encoders import Reranker
from knotwork._inference.embedder import Embedder
from knotwork._retrieval.base import Retriever
from knotwork._retrieval.fusion import raise_scores
from knotwork._retrieval.question import read_question
from knotwork._retrieval.retriever_builder import build_retriever
from knotwork._retrieval.retriever_registry import RETRIEVERS
from knotwork._run import Progress, Stage, Steps, Verb
from knotwork._stores.base import Store
from knotwork._text.terms import terms
from knotwork.errors import RetrievalError
from knotwork.records import Evidence, GraphPath, Hit, Query, QueryResult

DEFAULT_STEPS = 6
DEFAULT_TOKENS = 8_000


@dataclass(frozen=True, slots=True)
class AgentStep:
    """One search of an agent: the tool, the text searched for, the reason, and the result.

    ``passages`` is how many were found, ``lines`` are the trace of the step, and ``tokens`` those
    of a language model that all steps so far have used.
    """

    number: int
    tool: str
    question: str
    reason: str
    passages: int
    lines: tuple[str, ...]
    tokens: int


class Agent:
    """A retriever that searches in steps which its planner chooses.

    The evidence records every step in ``trace``. ``steps`` is the maximum number of searches for a
    question, ``tokens`` the maximum number of language model tokens (None: no limit). Raises
    RetrievalError without tools.
    """

    def __init__(
        self,
        planner: Planner,
        tools: Mapping[str, AgentTool],
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

    @Verb
    def retrieve(self, query: Query) -> Steps[Evidence]:
        """Return the merged findings of all steps, with their trace.

        A run yields each `AgentStep`. Raises RetrievalError if the planner chooses an unknown tool.
        """
        state = AgentState(
            query.text, query.k, tuple(self._tools), AgentBudget(max(self._steps, 1), self._tokens)
        )
        while state.budget.spent_steps < state.budget.steps:
            traced, move = len(state.trace), self._planner.next_move(state)
            if move is None:
                break
            evidence = self._search(move, state)
            step = AgentStep(
                number=state.budget.spent_steps,
                tool=move.tool,
                question=move.text,
                reason=move.reason,
                passages=len(evidence.hits),
                lines=tuple(line.strip() for line in state.trace[traced:]),
                tokens=state.budget.spent_tokens,
            )
            yield Progress(Stage.STEP, step.number, self._steps, note=step.tool, value=step)
        return self._conclude(query, state)

    def _search(self, move: AgentMove, state: AgentState) -> Evidence:
        if move.tool not in self._tools:
            known = ", ".join(sorted(self._tools))
            raise RetrievalError(
                f"The planner chose the unknown tool `{move.tool}`; the tools are {known}."
            )
        state.budget.spent_steps += 1
        evidence = self._tools[move.tool].search(move.text, k=move.k or state.k)
        state.findings.append(StepFinding(move.tool, move.text, evidence, move.weight))
        first = evidence.hits[0].chunk if evidence.hits else None
        title = f", first {first.document_title or first.id}" if first else ""
        state.trace.append(f"{len(state.findings)}. {move.tool}: {move.text} ({move.reason})")
        state.trace.append(f"   {len(evidence.hits)} passages{title}")
        state.trace += [f"   {line}" for line in evidence.trace]
        if state.main is None:
            state.main = evidence
            state.judgement = judge_evidence(evidence, self._store)
            state.trace.append(f"   {state.judgement.text}")
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
            state.trace.append("Abstains: the evidence is poor.")
        state.trace.append(f"{spent}.")
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


@dataclass(frozen=True, slots=True)
class AgentMove:
    """The next search: a tool, a text, and the ``reason`` that the trace records.

    ``weight`` scales the scores of the findings relative to those of the question itself. ``k`` is
    the number of passages (0: that of the question).
    """

    tool: str
    text: str
    reason: str
    weight: float = 1.0
    k: int = 0


@dataclass(slots=True)
class AgentBudget:
    """The limits of an agent and what it has used of them.

    ``steps`` are searches, ``tokens`` those of a language model (None: no limit).
    """

    steps: int
    tokens: int | None = None
    spent_steps: int = 0
    spent_tokens: int = 0

    def can_ask(self, tokens: int) -> bool:
        """Return True if a model call of this many tokens is within the limit."""
        return self.tokens is None or self.spent_tokens + tokens <= self.tokens


@dataclass(slots=True)
class AgentState:
    """The state of an agent at work; ``main`` is the evidence for the question itself.

    ``unusable`` is how many replies of the planner's model in a row could not be used, and
    ``draft`` the steps that it expects to lead to the answer.
    """

    question: str
    k: int
    tools: tuple[str, ...]
    budget: AgentBudget
    findings: list[StepFinding] = field(default_factory=list)
    main: Evidence | None = None
    judgement: EvidenceJudgement | None = None
    trace: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    abstains: bool = False
    unusable: int = 0
    draft: tuple[str, ...] = ()

    def has_searched(self, tool: str, text: str) -> bool:
        """Return True if this tool was asked for the same words before."""
        wanted = terms(text)
        return any(f.tool == tool and terms(f.text) == wanted for f in self.findings)


class Planner(Protocol):
    """Chooses the next search from the state of an agent."""

    def next_move(self, state: AgentState) -> AgentMove | None:
        """Return the next search, or None if no further search is needed.

        May add to the trace and the notes of the state.
        """


DEFAULT_TOOLS = ("graph", "hybrid", "bm25")
"""The default tools of an agent; the first one is tried first."""


@dataclass(frozen=True, slots=True)
class AgentTool:
    """A retriever under a name; ``summary`` describes its purpose to a planner."""

    name: str
    summary: str
    retriever: Retriever

    def search(self, text: str, *, k: int) -> Evidence:
        """Return the ``k`` best passages of the retriever for a text."""
        return self.retriever.retrieve(Query(text, k))


def make_tools(
    names: Sequence[str],
    *,
    store: Store,
    embedder: Embedder | None = None,
    model: ChatModel | None = None,
    reranker: Reranker | None = None,
) -> dict[str, AgentTool]:
    """Return a tool for each retriever name, in the given order.

    Raises RetrievalError without a name, and the errors of `build_retriever`.
    """
    if not names:
        raise RetrievalError("An agent needs at least one tool.")
    return {
        name: AgentTool(
            name,
            RETRIEVERS.describe(name).summary if name in RETRIEVERS else name,
            build_retriever(name, store=store, embedder=embedder, model=model, reranker=reranker),
        )
        for name in names
    }


JUDGED_HITS = 5
GOOD_CONFIDENCE = 0.8
POOR_CONFIDENCE = 0.3
GOOD_COVERAGE = 0.9


class EvidenceVerdict(StrEnum):
    """What to do with evidence: use it, look further, or look elsewhere."""

    GOOD = "good"
    UNSURE = "unsure"
    POOR = "poor"


@dataclass(frozen=True, slots=True)
class EvidenceJudgement:
    """How well evidence answers its question.

    ``coverage`` is the share of the question's term weights that the best hits contain together,
    ``missing`` are the terms that none of them contains. ``verdict`` follows from the coverage and
    the confidence of the retriever.
    """

    verdict: EvidenceVerdict
    confidence: float
    coverage: float
    missing: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The judgement as a line of a trace."""
        text = f"{self.verdict}: confidence {self.confidence:.2f}, covers {self.coverage:.0%}"
        return f"{text}, nothing on {', '.join(self.missing[:5])}" if self.missing else text


def judge_evidence(evidence: Evidence, store: Store) -> EvidenceJudgement:
    """Judge evidence by its first `JUDGED_HITS` hits and the confidence of its retriever."""
    question = read_question(evidence.query.text, store=store, link=False)
    found: set[str] = set()
    for hit in evidence.hits[:JUDGED_HITS]:
        found.update(terms(hit.chunk.context), terms(hit.chunk.text))
    mask = np.array([term in found for term in question.terms], dtype=np.bool_)
    coverage = float(question.weights[mask].sum()) if len(mask) else 0.0
    missing = tuple(term for term in question.terms if term not in found)
    confidence = evidence.confidence
    if not evidence.hits or confidence < POOR_CONFIDENCE:
        verdict = EvidenceVerdict.POOR
    elif confidence >= GOOD_CONFIDENCE and coverage >= GOOD_COVERAGE:
        verdict = EvidenceVerdict.GOOD
    else:
        verdict = EvidenceVerdict.UNSURE
    return EvidenceJudgement(verdict, confidence, coverage, missing)


@dataclass(frozen=True, slots=True)
class StepFinding:
    """The evidence of one step; ``weight`` in [0, 1] scales its scores relative to the first."""

    tool: str
    text: str
    evidence: Evidence
    weight: float = 1.0


def merge_findings(
    findings: Sequence[StepFinding], *, question_evidence: Evidence, k: int
) -> tuple[Hit, ...]:
    """Return the ``k`` best hits of all steps.

    The best score of each step is scaled to that of ``question_evidence``, times the weight of the
    step. A passage found by several steps keeps its highest score, and ``scores`` has a part for
    each step that raised it.
    """
    top = max((hit.score for hit in question_evidence.hits), default=0.0) or 1.0
    best: dict[str, Hit] = {hit.chunk.id: hit for hit in question_evidence.hits}
    for number, finding in enumerate(findings, start=1):
        if finding.evidence is question_evidence:
            continue
        own = max((hit.score for hit in finding.evidence.hits), default=0.0)
        scale = finding.weight * top / own if own > 0 else 0.0
        scored = ((hit, hit.score * scale) for hit in finding.evidence.hits)
        raise_scores(best, scored, part=f"step {number}")
    return tuple(sorted(best.values(), key=lambda hit: (-hit.score, hit.chunk.id))[:k])
