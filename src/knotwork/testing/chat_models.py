"""A chat model that follows a script and records its requests; it needs no server."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from knotwork.inference.chat import ChatReply, ChatRequest, TokenUsage
from knotwork.text.token_counts import count_tokens, token_starts

_SHOWN_CHARACTERS = 400


@dataclass(frozen=True, slots=True)
class BrokenStream:
    """A reply that breaks off: streaming yields ``text``, then raises; completing only raises."""

    text: str
    error: Exception


ScriptStep = str | ChatReply | Exception | BrokenStream
"""A text to say as a model would, a whole reply to give as it is, or an error to raise."""

Script = str | Sequence[ScriptStep] | Mapping[str, ScriptStep] | Callable[[ChatRequest], ScriptStep]


class ScriptMismatch(AssertionError):
    """The script has no reply to a request. No KnotworkError, so that nothing takes it for one."""


class ScriptedChatModel:
    """Replies by a script; implements `ChatModel`.

    ``script`` is a sequence of replies, one a call; one text for every call; a mapping from regular
    expressions to replies, of which the first that is found in the messages counts; or a function
    of the request. A reply given as text ends where a model's would, at a stop string or at
    ``max_output_tokens``; its usage is counted with `count_tokens`. ``errors`` are raised at the
    calls of these numbers, the first being 1, and take no reply from the script. ``requests`` are
    those it got, in order. Streams come in pieces of ``piece_characters``. Raises ScriptMismatch
    where the script has no reply.
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
        """The requests so far, in the order in which they came."""
        with self._lock:
            return list(self._requests)

    def complete(self, request: ChatRequest) -> ChatReply:
        """Return the script's reply, or raise its error."""
        step = self._next_step(request)
        if isinstance(step, BrokenStream):
            raise step.error
        return _as_reply(request, step)

    def stream(self, request: ChatRequest) -> Iterator[str | ChatReply]:
        """Yield the script's reply in pieces, then whole; errors come with the first piece."""
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
        # A function may take long or ask another model, so it runs outside the lock.
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
                f"The script of {len(steps)} replies has run out at call {number}: "
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
            f"No pattern of the script is found in call {number}: {show_request(request)}\n"
            f"The patterns: {patterns}"
        )


def show_request(request: ChatRequest) -> str:
    """Return a request as a reader of a failed test wants it: its stage, and who said what."""
    stage = f" stage={request.stage!r}" if request.stage else ""
    source = f" source={request.source!r}" if request.source else ""
    lines = [f"{m.role}: {_shorten(m.content)}" for m in request.messages]
    return "\n  ".join([f"{len(lines)} messages{stage}{source}", *lines])


def end_reply(text: str, *, stop: Sequence[str], max_output_tokens: int) -> tuple[str, bool]:
    """Return what a model would say of ``text``, and whether the limit of tokens cut it."""
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
        text, cut = end_reply(step, stop=request.stop, max_output_tokens=request.max_output_tokens)
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
