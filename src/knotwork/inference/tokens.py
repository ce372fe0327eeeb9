"""Estimates of tokens, for servers that tell none and for limits that must hold beforehand."""

from __future__ import annotations

from knotwork.inference.chat import ChatRequest

_MESSAGE_TOKENS = 4
"""What a message costs beside its text: its role and borders."""


def estimate_text_tokens(text: str) -> int:
    """Return about how many tokens a text has: 1 for 4 ASCII characters, 0.7 for any other.

    That is near the truth for the vocabularies in use: English has 4 to 5 characters a token,
    Chinese 1.2 to 1.7.
    """
    others = len(text) - len(text.encode("ascii", "ignore"))
    return -(-(len(text) - others) // 4) + -(-others * 7 // 10)


def estimate_input_tokens(request: ChatRequest) -> int:
    """Return about how many tokens a request has, its schema included."""
    texts = [message.content for message in request.messages] + [request.schema]
    return sum(map(estimate_text_tokens, texts)) + _MESSAGE_TOKENS * len(request.messages)
