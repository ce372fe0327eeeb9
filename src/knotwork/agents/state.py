"""What an agent knows while it works: what it did, what it found, what it may still spend."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from knotwork.agents.judging import Judgement
from knotwork.agents.merging import Finding
from knotwork.records import Evidence


@dataclass(frozen=True, slots=True)
class Move:
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
class Budget:
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
    budget: Budget
    findings: list[Finding] = field(default_factory=list)
    main: Evidence | None = None
    judgement: Judgement | None = None
    trace: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    abstains: bool = False

    def tell(self, line: str) -> None:
        """Add a line to the trace."""
        self.trace.append(line)


class Planner(Protocol):
    """Chooses the next move from what is known; None when enough was done."""

    def next_move(self, state: AgentState) -> Move | None:
        """Return the next search, or None. May add to the trace and the notes of the state."""
