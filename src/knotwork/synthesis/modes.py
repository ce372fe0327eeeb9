"""The ways to answer a question, and the tokens that each may cost."""

from __future__ import annotations

from enum import StrEnum


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
