"""Questions to agents, and their steps, as JSON."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, Field

from knotwork.agents.loop import DEFAULT_STEPS, DEFAULT_TOKENS, AgentStep
from knotwork.agents.tools import DEFAULT_TOOLS
from knotwork.service.shapes.answers import MOST_PASSAGES, Asked, FilterText, Text

MOST_STEPS = 20
MOST_AGENT_TOKENS = 200_000


class AgentRequest(Asked):
    """Have a question answered step by step: plan, search, judge, and search again."""

    question: Text
    kind: Literal["iterative", "corrective", "reasoning"] = "iterative"
    tools: list[Annotated[Text, Field(max_length=500)]] = Field(
        list(DEFAULT_TOOLS), min_length=1, max_length=6, description="The main one first."
    )
    steps: int = Field(DEFAULT_STEPS, ge=1, le=MOST_STEPS, description="Searches, at most.")
    tokens: int = Field(
        DEFAULT_TOKENS,
        ge=0,
        le=MOST_AGENT_TOKENS,
        description="Tokens of a language model that plans, at most.",
    )
    k: int | None = Field(None, ge=1, le=MOST_PASSAGES, description="Passages, at most.")
    use_llm: bool = Field(default=True, description="Whether a language model takes part.")
    filters: FilterText | dict[str, Any] | None = Field(
        None, description="What documents and pages must fulfil, as in …/ask."
    )


class StepOfAgent(BaseModel):
    """A search of an agent; ``tokens`` are those of all steps so far."""

    number: int
    tool: str
    question: str
    reason: str
    passages: int
    lines: list[str]
    tokens: int

    @classmethod
    def of(cls, step: AgentStep) -> Self:
        """Return a step as JSON."""
        return cls(
            number=step.number,
            tool=step.tool,
            question=step.question,
            reason=step.reason,
            passages=step.passages,
            lines=list(step.lines),
            tokens=step.tokens,
        )
