"""The agent loop: plan, search, judge, until the evidence suffices or the budget is spent.

The findings of all steps are merged into one ranking, and every step is recorded in the trace.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from knotwork.errors import RetrievalError
from knotwork.inference.chat import ChatModel
from knotwork.inference.cross_encoders import Reranker
from knotwork.inference.embedder import Embedder
from knotwork.records import Evidence, GraphPath, Hit, Query, QueryResult
from knotwork.retrieval.base import Retriever
from knotwork.retrieval.question import Question, read_question
from knotwork.retrieval.retriever_builder import build_retriever
from knotwork.retrieval.retriever_registry import RETRIEVERS
from knotwork.retrieval.weights import DEFAULT_WEIGHTS
from knotwork.stores.base import Capability, Store
from knotwork.text.terms import terms

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

    def retrieve(self, query: Query) -> Evidence:
        """Return what all steps found for a question, with the trace of the steps."""
        *_, last = self.events(query)
        assert last.evidence is not None, "the last event has the evidence"
        return last.evidence

    def events(self, query: Query) -> Iterator[AgentEvent]:
        """Do what `retrieve` does, and yield every step; the last event carries the evidence."""
        state = AgentState(
            query.text, query.k, tuple(self._tools), AgentBudget(max(self._steps, 1), self._tokens)
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

    def _make(self, move: AgentMove, state: AgentState) -> Evidence:
        if move.tool not in self._tools:
            known = ", ".join(sorted(self._tools))
            raise RetrievalError(f"The planner chose `{move.tool}`; the tools are {known}.")
        state.budget.spent_steps += 1
        evidence = self._tools[move.tool].search(move.text, k=move.k or state.k)
        finding = StepFinding(move.tool, move.text, evidence, move.weight, move.led_by)
        state.findings.append(finding)
        number = state.budget.spent_steps
        state.tell(f"{number}. {move.tool}: {move.text} ({move.reason})")
        state.tell(f"   {len(evidence.hits)} passages{_first_title(evidence)}")
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


def _first_title(evidence: Evidence) -> str:
    if not evidence.hits:
        return ""
    chunk = evidence.hits[0].chunk
    return f", first {chunk.document_title or chunk.id}"


@dataclass(frozen=True, slots=True)
class AgentMove:
    """The next thing to do: search with a tool. ``reason`` is told in the trace.

    ``weight`` is how much what is found counts beside the answer to the question itself. With
    ``replaces`` the finding takes the place of the first one.
    """

    tool: str
    text: str
    reason: str
    weight: float = 1.0
    k: int = 0
    led_by: str = ""
    replaces: bool = False


@dataclass(slots=True)
class AgentBudget:
    """What is left: ``steps`` are searches, ``tokens`` those of a language model (None: no end)."""

    steps: int
    tokens: int | None = None
    spent_steps: int = 0
    spent_tokens: int = 0

    @property
    def is_spent(self) -> bool:
        """Whether no further search may be made."""
        return self.spent_steps >= self.steps

    def can_ask(self, tokens: int) -> bool:
        """Tell whether a call of this many tokens may be made."""
        return self.tokens is None or self.spent_tokens + tokens <= self.tokens


@dataclass(slots=True)
class AgentState:
    """A question on its way; ``main`` is the evidence for the question itself."""

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

    def tell(self, line: str) -> None:
        """Add a line to the trace."""
        self.trace.append(line)


class Planner(Protocol):
    """Chooses the next move from what is known; None when enough was done."""

    def next_move(self, state: AgentState) -> AgentMove | None:
        """Return the next search, or None. May add to the trace and the notes of the state."""


DEFAULT_TOOLS = ("graph", "hybrid", "bm25")
"""What an agent has where nothing else is said; the first is tried first."""


@dataclass(frozen=True, slots=True)
class AgentTool:
    """A retriever under a name; ``summary`` tells a planner what it is for."""

    name: str
    summary: str
    retriever: Retriever

    def search(self, text: str, *, k: int) -> Evidence:
        """Return what the retriever finds for a text."""
        return self.retriever.retrieve(Query(text, k))


def make_tools(
    names: Sequence[str],
    *,
    store: Store,
    embedder: Embedder | None = None,
    model: ChatModel | None = None,
    reranker: Reranker | None = None,
    options: Mapping[str, Mapping[str, object]] | None = None,
) -> dict[str, AgentTool]:
    """Return tools by name, in the order of the names.

    ``options`` are those of retrievers, by name. Raises as `build_retriever`, and RetrievalError
    without a name.
    """
    if not names:
        raise RetrievalError("An agent needs at least one tool.")
    return {
        name: AgentTool(
            name,
            RETRIEVERS[name].summary if name in RETRIEVERS else name,
            build_retriever(
                name,
                store=store,
                embedder=embedder,
                model=model,
                reranker=reranker,
                options=(options or {}).get(name),
            ),
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
    """``coverage`` is the share of the question's information that the best hits hold together.

    ``missing`` are the terms that none of them has, ``verdict`` follows from both and from the
    confidence of the retriever.
    """

    verdict: EvidenceVerdict
    confidence: float
    coverage: float
    missing: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The judgement as a line of a trace."""
        told = f"{self.verdict}: confidence {self.confidence:.2f}, covers {self.coverage:.0%}"
        return f"{told}, nothing on {', '.join(self.missing[:5])}" if self.missing else told


def judge_evidence(
    evidence: Evidence, store: Store, *, read_hits: int = JUDGED_HITS
) -> EvidenceJudgement:
    """Return how good evidence is for its own question."""
    question = read_question(
        evidence.query.text, store=store, embedder=None, weights=DEFAULT_WEIGHTS, link=False
    )
    mask = covered_terms(question, evidence, read_hits=read_hits)
    coverage = float(question.weights[mask].sum()) if len(mask) else 0.0
    missing = tuple(t for t, has in zip(question.terms, mask, strict=True) if not has)
    confidence = evidence.confidence
    if not evidence.hits or confidence < POOR_CONFIDENCE:
        verdict = EvidenceVerdict.POOR
    elif confidence >= GOOD_CONFIDENCE and coverage >= GOOD_COVERAGE:
        verdict = EvidenceVerdict.GOOD
    else:
        verdict = EvidenceVerdict.UNSURE
    return EvidenceJudgement(verdict, confidence, coverage, missing)


def covered_terms(
    question: Question, evidence: Evidence, *, read_hits: int = JUDGED_HITS
) -> NDArray[np.bool_]:
    """Return which terms of a question the best hits hold together, titles included."""
    found: set[str] = set()
    for hit in evidence.hits[:read_hits]:
        found.update(terms(hit.chunk.context))
        found.update(terms(hit.chunk.text))
    return np.array([term in found for term in question.terms], dtype=np.bool_)


@dataclass(frozen=True, slots=True)
class StepFinding:
    """What one step found; ``weight`` in [0, 1] is how much it counts beside the first."""

    tool: str
    text: str
    evidence: Evidence
    weight: float = 1.0
    led_by: str = ""


def merge_findings(
    findings: Sequence[StepFinding], *, question_evidence: Evidence, k: int
) -> tuple[Hit, ...]:
    """Return the best hits of all steps; scores of later ones are scaled to the first's best.

    A passage found by several steps keeps its best score, with a part in ``scores`` for each step
    that raised it.
    """
    top = max((hit.score for hit in question_evidence.hits), default=0.0) or 1.0
    best: dict[str, Hit] = {hit.chunk.id: hit for hit in question_evidence.hits}
    for number, finding in enumerate(findings, start=1):
        if finding.evidence is question_evidence:
            continue
        own = max((hit.score for hit in finding.evidence.hits), default=0.0)
        scale = finding.weight * top / own if own > 0 else 0.0
        for hit in finding.evidence.hits:
            score = hit.score * scale
            known = best.get(hit.chunk.id)
            if known is None:
                best[hit.chunk.id] = replace(hit, score=score, scores={f"step {number}": score})
            elif score > known.score:
                gained = score - known.score
                scores = {**known.scores, f"step {number}": gained}
                best[hit.chunk.id] = replace(known, score=score, scores=scores)
    return tuple(sorted(best.values(), key=lambda hit: (-hit.score, hit.chunk.id))[:k])
