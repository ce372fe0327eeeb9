"""A chat model for tests that replies from a script and records its requests."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from knotwork._inference.chat import ChatReply, ChatRequest, TokenUsage
from knotwork._text.token_counts import count_tokens, token_starts

_SHOWN_CHARACTERS = 400


@dataclass(frozen=True, slots=True)
class BrokenStream:
    """A reply that fails: streaming yields ``text`` and then raises; completing raises at once."""

    text: str
    error: Exception


ScriptStep = str | ChatReply | Exception | BrokenStream
"""The text of a reply, a complete reply to return unchanged, or an error to raise."""

Script = str | Sequence[ScriptStep] | Mapping[str, ScriptStep] | Callable[[ChatRequest], ScriptStep]


class ScriptMismatch(AssertionError):
    """The script has no reply to a request. It is not a KnotworkError, which code may catch."""


class ScriptedChatModel:
    """A `ChatModel` that replies from a script.

    ``script`` is a text for every call, a sequence with one reply per call, a mapping from regular
    expressions to replies (the first match in the messages is used), or a function of the request.
    A text is cut at ``max_output_tokens``, and its usage is counted with `count_tokens`. ``errors``
    maps numbers of calls, from 1, to errors; these calls use no reply of the script. Streams have
    pieces of ``piece_characters``. Raises ScriptMismatch if the script has no reply.
    """

    def __init__(
        self,
        script: Script,
        *,
        errors: Mapping[int, Exception] | None = None,
        name: str = "scripted:test",
        piece_characters: int = 7,
    ) -> None:
        self.name = name
        self._script = script
        self._errors = dict(errors or {})
        self._piece_characters = piece_characters
        self._lock = threading.Lock()
        self._requests: list[ChatRequest] = []
        self._steps_taken = 0

    @property
    def requests(self) -> list[ChatRequest]:
        """The requests so far, in order of arrival."""
        with self._lock:
            return list(self._requests)

    def complete(self, request: ChatRequest) -> ChatReply:
        """Return the script's reply, or raise its error."""
        step = self._next_step(request)
        if isinstance(step, BrokenStream):
            raise step.error
        return _as_reply(request, step)

    def stream(self, request: ChatRequest) -> Iterator[str | ChatReply]:
        """Yield the pieces of the script's reply, then the reply. Errors are raised first."""
        step = self._next_step(request)
        if isinstance(step, BrokenStream):
            yield from self._pieces(step.text)
            raise step.error
        reply = _as_reply(request, step)
        yield from self._pieces(reply.text)
        yield reply

    def _pieces(self, text: str) -> Iterator[str]:
        size = self._piece_characters
        for start in range(0, len(text), size):
            yield text[start : start + size]

    def _next_step(self, request: ChatRequest) -> str | ChatReply | BrokenStream:
        with self._lock:
            self._requests.append(request)
            number = len(self._requests)
            step: ScriptStep | None = self._errors.get(number)
            if step is None and isinstance(self._script, str):
                step = self._script
            elif step is None and isinstance(self._script, Sequence):
                step = self._step_in_order(self._script, request, number)
        # A function may be slow or call another model, so it runs outside the lock.
        if step is None:
            step = self._step_for(request, number)
        if isinstance(step, Exception):
            raise step
        return step

    def _step_in_order(
        self, steps: Sequence[ScriptStep], request: ChatRequest, number: int
    ) -> ScriptStep:
        if self._steps_taken == len(steps):
            raise ScriptMismatch(
                f"The script has {len(steps)} replies, but this is call {number}: "
                f"{show_request(request)}"
            )
        step = steps[self._steps_taken]
        self._steps_taken += 1
        return step

    def _step_for(self, request: ChatRequest, number: int) -> ScriptStep:
        if callable(self._script):
            return self._script(request)
        assert isinstance(self._script, Mapping)
        conversation = "\n".join(message.content for message in request.messages)
        for pattern, step in self._script.items():
            if re.search(pattern, conversation):
                return step
        patterns = ", ".join(f"`{pattern}`" for pattern in self._script) or "none"
        raise ScriptMismatch(
            f"No pattern of the script matches call {number}: {show_request(request)}\n"
            f"Patterns: {patterns}"
        )


def show_request(request: ChatRequest) -> str:
    """Format a request for the message of a failed test: its stage, source and messages."""
    stage = f" stage={request.stage!r}" if request.stage else ""
    source = f" source={request.source!r}" if request.source else ""
    lines = [f"{m.role}: {_shorten(m.content)}" for m in request.messages]
    return "\n  ".join([f"{len(lines)} messages{stage}{source}", *lines])


def end_reply(text: str, *, stop: Sequence[str], max_output_tokens: int) -> tuple[str, bool]:
    """Cut ``text`` at the first stop string and at the limit of tokens.

    Returns the text, and True if the limit of tokens cut it.
    """
    ends = [place for place in (text.find(mark) for mark in stop if mark) if place >= 0]
    text = text[: min(ends, default=len(text))]
    starts = token_starts(text)
    if len(starts) > max_output_tokens:
        return text[: starts[max_output_tokens]], True
    return text, False


def _as_reply(request: ChatRequest, step: str | ChatReply) -> ChatReply:
    if isinstance(step, ChatReply):
        reply = step
    else:
        text, cut = end_reply(step, stop=(), max_output_tokens=request.max_output_tokens)
        reply = ChatReply(text, "length" if cut else "stop")
    if reply.usage != TokenUsage():
        return reply
    asked = sum(count_tokens(message.content) for message in request.messages)
    return replace(reply, usage=TokenUsage(asked, count_tokens(reply.text), calls=1))


def _shorten(text: str) -> str:
    if len(text) <= _SHOWN_CHARACTERS:
        return text
    half = _SHOWN_CHARACTERS // 2
    return f"{text[:half]} … {text[-half:]}"
