"""The steps from a question to its answer, as they are told while it is made."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from knotwork.records import Answer, Evidence


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
