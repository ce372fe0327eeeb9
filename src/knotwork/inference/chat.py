"""Chat models: the protocol, requests and replies, checks of replies, and token estimates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, Protocol, TypeVar, runtime_checkable

from knotwork.errors import Unparsable

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


T = TypeVar("T")


@runtime_checkable
class ChecksReplies(Protocol):
    """A chat model that keeps replies, and so must know which are good; an extra power."""

    def complete_checked(self, request: ChatRequest, parse: Callable[[ChatReply], T]) -> T:
        """Return what ``parse`` makes of the reply; raises as `complete_checked` does."""


def complete_checked(model: ChatModel, request: ChatRequest, parse: Callable[[ChatReply], T]) -> T:
    """Ask any chat model and return what ``parse`` makes of the reply.

    ``parse`` has no effect but its result, as a kept reply is parsed again each time, and raises
    Unparsable for a reply that must not be used; so does this function, with the reply's text, and
    else as `ChatModel.complete`. A model that keeps replies keeps this one under the check of
    ``parse``.
    """
    if isinstance(model, ChecksReplies):
        return model.complete_checked(request, parse)
    return parse_reply(model.complete(request), parse)


def parse_reply(reply: ChatReply, parse: Callable[[ChatReply], T]) -> T:
    """Return what ``parse`` makes of a reply; its Unparsable goes on with the reply's text."""
    try:
        return parse(reply)
    except Unparsable as error:
        error.text = error.text or reply.text
        raise


def is_whole(reply: ChatReply) -> bool:
    """Tell whether a model ended by itself, and said something."""
    return reply.finish_reason == "stop" and bool(reply.text.strip())


def require_whole(reply: ChatReply) -> ChatReply:
    """Return the reply if it is whole: the plainest check. Raises Unparsable."""
    if reply.finish_reason != "stop":
        why = "at its limit of tokens" if reply.finish_reason == "length" else "by the server"
        raise Unparsable(f"The reply was cut off {why}.")
    if not reply.text.strip():
        raise Unparsable("The reply is empty.")
    return reply


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
