"""Chat models: the protocol, requests and replies, checks of replies, and token estimates."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import astuple, dataclass, field, replace
from operator import add, sub
from typing import Literal, Protocol, TypeVar, runtime_checkable

from knotwork._inference.prompt_material import disarm
from knotwork.errors import BudgetExceeded, ModelError, ModelUnavailable, Unparsable

Role = Literal["system", "user", "assistant"]
FinishReason = Literal["stop", "length", "filter"]
"""Why a reply ended: complete, cut off at ``max_output_tokens``, or withheld by the server."""


@dataclass(frozen=True, slots=True)
class MessagePicture:
    """A picture in a message: the bytes of its file, and its size in pixels."""

    data: bytes = field(repr=False)
    media_type: str
    width: int
    height: int

    @property
    def url(self) -> str:
        """The picture as a data URL."""
        return f"data:{self.media_type};base64,{b64encode(self.data).decode('ascii')}"


def split_data_url(url: str) -> tuple[str, str]:
    """Return the media type and the bytes, in base64, of a data URL of `MessagePicture`."""
    media_type, _, data = url.removeprefix("data:").partition(";base64,")
    return media_type, data


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation; control tokens of models in its text are made harmless.

    Only a model that sees takes ``pictures``.
    """

    role: Role
    content: str
    pictures: tuple[MessagePicture, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "content", disarm(self.content))


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A conversation to continue.

    ``stage`` (such as "extract") and ``source`` (such as a document's URI) attribute the cost of
    the call. They are never sent, and they are not part of the cache key.
    """

    messages: tuple[Message, ...]
    max_output_tokens: int = 1_024
    stage: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Token counts of one call or of many.

    ``calls`` is the number of calls that went to a server, ``reused`` the number of replies that
    came from our cache and used no tokens. ``cached_tokens`` are those input tokens that the server
    had in its own cache, at a lower price.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    calls: int = 0
    reused: int = 0
    cached_tokens: int = 0

    @property
    def tokens(self) -> int:
        """All tokens, in and out."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: TokenUsage) -> TokenUsage:
        return TokenUsage(*map(add, astuple(self), astuple(other)))

    def since(self, before: TokenUsage) -> TokenUsage:
        """Return the usage after ``before``, without reused replies, which cost nothing."""
        return replace(TokenUsage(*map(sub, astuple(self), astuple(before))), reused=0)

    def with_a_call(self) -> TokenUsage:
        """Return this usage, counted as one call if the model did not count its calls."""
        return self if self.calls or self.reused else self + TokenUsage(calls=1)


@dataclass(frozen=True, slots=True)
class ChatReply:
    """A model's reply without its thinking; ``usage`` is an estimate if the server reports none.

    ``thought_tokens`` is how many of the output tokens were thinking, and ``wait_s`` the seconds
    until the first piece arrived, 0 if unknown. ``warning`` is a sentence for the user, for example
    that the server cut the prompt. A cached reply has none of these.
    """

    text: str
    finish_reason: FinishReason = "stop"
    usage: TokenUsage = TokenUsage()
    thought_tokens: int = field(default=0, compare=False)
    wait_s: float = field(default=0.0, compare=False)
    warning: str = field(default="", compare=False)

    @property
    def why_empty(self) -> str:
        """A sentence that says that the reply was withheld or is empty; "" for any other."""
        if self.finish_reason == "filter":
            return "The server withheld the reply."
        return "" if self.text.strip() else "The reply is empty."


class ChatModel(Protocol):
    """Continues conversations; wrappers (cache, budget, limits) implement this protocol too.

    ``name`` identifies the model and its settings: equal requests to models of equal name are the
    same call. Construction is cheap: the server is contacted on first use. Thread-safe.
    """

    @property
    def name(self) -> str: ...

    def complete(self, request: ChatRequest) -> ChatReply:
        """Return the reply.

        Raises ModelUnavailable if the server is still unavailable after all attempts, ModelError if
        it refuses the request or its response is invalid, and BudgetExceeded if the call would
        exceed a ceiling.
        """

    def stream(self, request: ChatRequest) -> Iterator[str | ChatReply]:
        """Yield the reply's text piece by piece, then the whole reply; raises as `complete`."""


T = TypeVar("T")


@runtime_checkable
class ServedChat(Protocol):
    """A chat model on a server, which lists its models and may state limits."""

    @property
    def context_window(self) -> int:
        """The context window in tokens, as set or as its server stated it; 0 if unknown."""

    def listen(self, listener: Callable[[int, Mapping[str, str]], None]) -> None:
        """Call ``listener`` with the status and headers of every response from now on."""

    def listed_models(self) -> dict[str, int]:
        """Return the names of the models of the server, each with its window (0: unknown)."""


@runtime_checkable
class ChecksReplies(Protocol):
    """A chat model that caches replies, and therefore needs to know which ones are usable."""

    def complete_checked(self, request: ChatRequest, parse: Callable[[ChatReply], T]) -> T:
        """Return what ``parse`` makes of the reply; raises as `complete_checked` does."""


def complete_checked(model: ChatModel, request: ChatRequest, parse: Callable[[ChatReply], T]) -> T:
    """Send a request to any chat model and return what ``parse`` makes of the reply.

    ``parse`` must be free of side effects, since a cached reply is parsed again on each use. It
    raises Unparsable for a reply that must not be used, and a caching model then does not serve
    that reply again. Raises that Unparsable with the reply's text, and otherwise what
    `ChatModel.complete` raises.
    """
    if isinstance(model, ChecksReplies):
        return model.complete_checked(request, parse)
    return parse_reply(model.complete(request), parse)


def parse_reply(reply: ChatReply, parse: Callable[[ChatReply], T]) -> T:
    """Return what ``parse`` makes of a reply; add the reply's text to the Unparsable it raises."""
    try:
        return parse(reply)
    except Unparsable as error:
        error.text = error.text or reply.text
        if reply.finish_reason == "length" and is_mostly_thinking(reply):
            raise Unparsable(
                f"Thinking used up the limit of {reply.usage.output_tokens:,} tokens before the "
                "reply was complete. Raise llm.max_output_tokens, or turn thinking off.",
                text=error.text,
            ) from error
        raise


def is_mostly_thinking(reply: ChatReply) -> bool:
    """Return True if a reply is empty, or if at least half of its tokens were thinking."""
    return not reply.text.strip() or reply.thought_tokens * 2 >= max(reply.usage.output_tokens, 1)


def is_whole(reply: ChatReply) -> bool:
    """Return True if a reply is complete and not empty."""
    return reply.finish_reason == "stop" and bool(reply.text.strip())


def require_whole(reply: ChatReply) -> ChatReply:
    """Return the reply if it is complete and not empty, the simplest check. Raises Unparsable."""
    if is_whole(reply):
        return reply
    if reply.finish_reason == "stop":
        raise Unparsable("The reply is empty.")
    where = "at its token limit" if reply.finish_reason == "length" else "by the server"
    raise Unparsable(f"The reply was cut off {where}.")


def usable_lines(reply: ChatReply) -> list[str]:
    """Return the complete lines of a reply. Raises Unparsable if it is empty or was withheld."""
    lines = [line.strip() for line in reply.text.splitlines() if line.strip(" \t`|*-")]
    if reply.finish_reason == "length" and len(lines) > 1:
        lines.pop()
    if reason := reply.why_empty or ("" if lines else "The reply is empty."):
        raise Unparsable(reason)
    return lines


_MESSAGE_TOKENS = 4
"""Tokens of a message besides its text: its role and delimiters."""

_PIXELS_A_TOKEN = 750
"""Pixels of a picture that count as one token at Anthropic; OpenAI's gpt-4o counts about as many.

Source: Anthropic's guide to vision (2025). Small models of OpenAI count several times as many."""


def estimate_text_tokens(text: str) -> int:
    """Estimate the tokens of a text: 1 for 4 ASCII characters, 0.7 for any other character.

    This is close for the vocabularies in use: English has 4 to 5 characters per token, Chinese 1.2
    to 1.7.
    """
    others = len(text) - len(text.encode("ascii", "ignore"))
    return -(-(len(text) - others) // 4) + -(-others * 7 // 10)


def estimate_input_tokens(request: ChatRequest) -> int:
    """Estimate the tokens of a request."""
    texts = [estimate_text_tokens(message.content) for message in request.messages]
    text = sum(texts) + _MESSAGE_TOKENS * len(texts)
    return text + estimate_picture_tokens(request)


def estimate_picture_tokens(request: ChatRequest) -> int:
    """Estimate the tokens of the pictures of a request."""
    pictures = [picture for message in request.messages for picture in message.pictures]
    return sum(-(-picture.width * picture.height // _PIXELS_A_TOKEN) for picture in pictures)


_FOR_THIS_REQUEST = frozenset({400, 413, 422})
"""HTTP statuses with which a server refuses the content of a single request."""


def concerns_one_request(error: ModelError) -> bool:
    """Return True if an error may concern a single request, so that others should be made.

    A budget that is used up, a refused key and a cancelled run concern all requests.
    """
    if isinstance(error, BudgetExceeded):
        return False
    return isinstance(error, ModelUnavailable) or error.status in _FOR_THIS_REQUEST
