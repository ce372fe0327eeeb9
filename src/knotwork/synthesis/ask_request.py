"""Modes and token ceilings of asking, and the events of an answer in progress."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from knotwork.records import Answer, Evidence


class AskMode(StrEnum):
    """How a question is answered. All but `auto` degrade to what the index holds."""

    AUTO = "auto"
    """One of basic, local and global, chosen by rules from the words of the question."""
    BASIC = "basic"
    """From passages alone."""
    LOCAL = "local"
    """From passages, and the entities, relations and reports around what the question names."""
    GLOBAL = "global"
    """From the reports of the communities nearest to the question."""
    MAP_REDUCE = "map-reduce"
    """From every report that a model finds relevant, level by level, each read on its own."""
    HYBRID = "hybrid"
    """From what local and global bring, in one context."""
    DRIFT = "drift"
    """From reports to further questions, each answered locally, and from those to the answer."""


ASK_MODES: tuple[str, ...] = tuple(mode.value for mode in AskMode)

LOCAL_TOKENS = 4_600
GLOBAL_TOKENS = 3_700
FIRST_GLOBAL_TOKENS = 6_000
"""Of the first global question, the reports that it has written included."""
DRIFT_TOKENS = 14_000
MAP_REDUCE_TOKENS = 30_000
"""Tokens in and out of one question, prompts included, at most, with the usual
``answer.context_tokens``. A question that is longer than all of that is not covered."""

FIRST_REPORTS_TOKENS = FIRST_GLOBAL_TOKENS - GLOBAL_TOKENS
FURTHER_REPORTS_TOKENS = 1_100
"""Tokens that a later global question may spend on reports; they are taken from its material."""


class AskEventKind(StrEnum):
    """What an event tells."""

    FOUND = "found"
    """Passages were retrieved: ``evidence``."""
    ASKED = "asked"
    """The model, ``text``, is at work."""
    STEP = "step"
    """Before the answer: ``done`` of ``total`` parts of what ``text`` names are finished."""
    TEXT = "text"
    """A piece of the answer, ``text``; the pieces together are the answer's text."""
    WITHDRAWN = "withdrawn"
    """The pieces so far are not the answer; ``text`` says why."""
    FINISHED = "finished"
    """The end: ``answer``."""


@dataclass(frozen=True, slots=True)
class AskEvent:
    """A step on the way from a question to its answer."""

    kind: AskEventKind
    text: str = ""
    evidence: Evidence | None = None
    answer: Answer | None = None
    done: int = 0
    total: int = 0
