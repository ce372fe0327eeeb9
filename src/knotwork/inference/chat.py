"""What may be asked of a language model, and what it gives back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, Protocol

Role = Literal["system", "user", "assistant"]
FinishReason = Literal["stop", "length", "filter"]
"""Why a reply ends: by itself, at ``max_output_tokens``, or because the server withheld it."""


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A conversation to continue.

    ``schema`` is a JSON schema, as text, that the reply should follow; a server without structured
    output gets it as words. ``stage`` (such as "extract") and ``source`` (such as a document's uri)
    say what the call is for: they are counted, never sent, and no part of what identifies a call.
    """

    messages: tuple[Message, ...]
    max_output_tokens: int = 1_024
    temperature: float = 0.0
    schema: str = ""
    stop: tuple[str, ...] = ()
    stage: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens of one call or of many.

    ``calls`` went to a server; ``reused`` came from a cache, at no tokens.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    calls: int = 0
    reused: int = 0

    def __add__(self, other: TokenUsage) -> TokenUsage:
        return TokenUsage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.calls + other.calls,
            self.reused + other.reused,
        )

    def since(self, before: TokenUsage) -> TokenUsage:
        """Return what was spent after ``before``; what was reused cost nothing and is left out."""
        return TokenUsage(
            self.input_tokens - before.input_tokens,
            self.output_tokens - before.output_tokens,
            self.calls - before.calls,
        )


@dataclass(frozen=True, slots=True)
class ChatReply:
    """What the model said, without its thinking; ``usage`` is estimated where it is not told."""

    text: str
    finish_reason: FinishReason = "stop"
    usage: TokenUsage = TokenUsage()


class ChatModel(Protocol):
    """Continues conversations; wrappers (cache, budget, limits) have this protocol too.

    ``name`` identifies model and settings: a request of equal content to an equal name is the same
    call. Making one is cheap: servers are asked on first use. Safe to use from many threads.
    """

    @property
    def name(self) -> str: ...

    def complete(self, request: ChatRequest) -> ChatReply:
        """Return the reply.

        Raises ModelUnavailable when the server cannot be had after all attempts, ModelError when it
        refuses or answers wrongly, BudgetExceeded when the call would go beyond a ceiling.
        """

    def stream(self, request: ChatRequest) -> Iterator[str | ChatReply]:
        """Yield the reply's text piece by piece, then the whole reply; raise as `complete`."""
