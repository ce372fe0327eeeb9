"""The chat model behind any server with an OpenAI-compatible `/chat/completions` endpoint."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeVar
from urllib.parse import urlsplit

from knotwork.errors import ModelError, ModelUnavailable
from knotwork.inference.chat import ChatReply, ChatRequest, FinishReason, TokenUsage
from knotwork.inference.chat_server import ChatServer, Refusal
from knotwork.inference.dialect import Dialect
from knotwork.inference.thinking import ThinkingHabit
from knotwork.inference.tokens import estimate_input_tokens, estimate_text_tokens

T = TypeVar("T")

_PATH = "/chat/completions"
_NEW_LIMIT_HOSTS = ("api.openai.com", ".openai.azure.com")
_FINISH: dict[str, FinishReason] = {
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "filter",
    "sensitive": "filter",
    "refusal": "filter",
}
_BROKEN_OFF = frozenset({"abort", "aborted", "error", "insufficient_system_resource"})
_FILTER_CODES = frozenset({"content_filter", "data_inspection_failed", "datainspectionfailed"})


class OpenAIChat:
    """Asks a server to continue conversations; one call is one attempt, without waits.

    What the server refuses of a request's form (the name of the limit, a temperature, structured
    output) is said in another form at once, and remembered. ``temperature`` and
    ``max_output_tokens`` replace those of each request unless they are 0: models that think need
    room for it. Raises ModelUnavailable for what may pass, ModelError for what does not.
    """

    def __init__(
        self,
        model: str,
        server: ChatServer,
        *,
        temperature: float = 0.0,
        max_output_tokens: int = 0,
    ) -> None:
        self._model = model
        self._server = server
        self._url = f"{server.base_url}{_PATH}"
        self._temperature = temperature
        self._max_output_tokens = max_output_tokens
        host = urlsplit(server.base_url).hostname or ""
        self._dialect = Dialect(completion_limit=host.endswith(_NEW_LIMIT_HOSTS))
        self._habit = ThinkingHabit()
        self._lock = threading.Lock()
        parts = [f"openai:{model}"]
        if temperature:
            parts.append(f"temperature={temperature:g}")
        if max_output_tokens:
            parts.append(f"max_output_tokens={max_output_tokens}")
        self.name = " ".join(parts)

    def complete(self, request: ChatRequest) -> ChatReply:
        """Return the reply, without its thinking, from one call."""
        request = self._complete_request(request)
        try:
            answer = self._speak(
                request, lambda payload: self._server.post(_PATH, payload), stream=False
            )
        except Refusal as error:
            return _withheld(error, request)
        return parse_reply(answer, request, habit=self._habit, url=self._url)

    def stream(self, request: ChatRequest) -> Iterator[str | ChatReply]:
        """Yield the reply's text piece by piece, without its thinking, then the whole reply.

        A connection that breaks after the first piece is an error: pieces cannot be taken back.
        """
        request = self._complete_request(request)
        try:
            first, events = self._speak(request, self._open_stream, stream=True)
        except Refusal as error:
            yield _withheld(error, request)
            return
        # Without the server's help, where to stop is known only when all is there.
        holds = bool(request.stop) and not self._dialect.takes_stop
        try:
            gathering = _Gathering(request, self._habit, self._url)
            while first is not None:
                piece = gathering.add(first)
                if piece and not holds:
                    yield piece
                first = next(events, None)
            rest, reply = gathering.finish()
        finally:
            events.close()
        if holds:
            reply = replace(reply, text=_cut(reply.text, request.stop))
            rest = reply.text
        if rest:
            yield rest
        yield reply

    def _complete_request(self, request: ChatRequest) -> ChatRequest:
        return replace(
            request,
            temperature=self._temperature or request.temperature,
            max_output_tokens=self._max_output_tokens or request.max_output_tokens,
        )

    def _open_stream(
        self, payload: Mapping[str, object]
    ) -> tuple[dict[str, Any] | None, Generator[dict[str, Any]]]:
        """Return the first event and the rest, as refusals come before the first."""
        events = self._server.stream(_PATH, payload)
        return next(events, None), events

    def _speak(
        self, request: ChatRequest, send: Callable[[dict[str, object]], T], *, stream: bool
    ) -> T:
        """Send the request in the server's dialect, learning it as far as needed."""
        while True:
            dialect = self._dialect
            try:
                return send(dialect.phrase(self._model, request, stream=stream))
            except ModelError as error:
                learned = dialect.learn(error, request, stream=stream)
                if learned is None:
                    raise
                with self._lock:
                    # What another thread learned meanwhile is tried before a lesson of our own.
                    if self._dialect is dialect:
                        self._dialect = learned


class _Gathering:
    """The reply as its events come in."""

    def __init__(self, request: ChatRequest, habit: ThinkingHabit, url: str) -> None:
        self._request = request
        self._url = url
        self._habit = habit
        self._stripper = habit.stripper()
        self._raw: list[str] = []
        self._thought: list[str] = []
        self._finish: object = None
        self._usage: Mapping[str, Any] | None = None

    def add(self, event: Mapping[str, Any]) -> str:
        """Take in one event, and return the text that it brings."""
        usage = event.get("usage")
        self._usage = usage if isinstance(usage, dict) else self._usage
        choice = _first_choice(event)
        if choice is None:
            return ""
        self._finish = choice.get("finish_reason") or self._finish
        # A server that does not stream answers with the whole message.
        delta = choice.get("delta") or choice.get("message") or {}
        self._thought.append(_thinking_of(delta))
        piece = _text_of(delta)
        self._raw.append(piece)
        return self._stripper.feed(piece)

    def finish(self) -> tuple[str, ChatReply]:
        """Return the last piece, and the whole reply; raise ModelUnavailable if it broke off."""
        if self._finish is None:
            raise ModelUnavailable(f"`{self._url}` broke the stream off before the reply's end.")
        reason = _finish_reason(self._finish, self._url)
        rest = self._stripper.finish(cut_off=reason == "length")
        raw = "".join(self._raw)
        usage = _usage_of(self._usage, self._request, raw + "".join(self._thought))
        text = self._habit.take_out(raw, cut_off=reason == "length")
        return rest, ChatReply(text, reason, usage)


def parse_reply(
    answer: Mapping[str, Any], request: ChatRequest, *, habit: ThinkingHabit, url: str
) -> ChatReply:
    """Return the reply in the answer of ``url``, without its thinking.

    Raises ModelUnavailable for an answer of the wrong form, as a server under load may give one.
    """
    choice = _first_choice(answer)
    message = choice.get("message") if choice else None
    if choice is None or not isinstance(message, dict):
        raise ModelUnavailable(f"`{url}` gave an answer without a message.", status=200)
    reason = _finish_reason(choice.get("finish_reason"), url)
    raw = _text_of(message)
    if not raw and isinstance(message.get("refusal"), str):
        raw, reason = message["refusal"], "filter"
    text = _cut(habit.take_out(raw, cut_off=reason == "length"), request.stop)
    usage = answer.get("usage")
    usage = usage if isinstance(usage, dict) else None
    return ChatReply(text, reason, _usage_of(usage, request, raw + _thinking_of(message)))


def _cut(text: str, stops: tuple[str, ...]) -> str:
    """Return what stands before any stop string: a server may not know them, or repeat them."""
    for stop in stops:
        text = text.partition(stop)[0] if stop else text
    return text


def _first_choice(answer: Mapping[str, Any]) -> dict[str, Any] | None:
    choices = answer.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return first if isinstance(first, dict) else None


def _text_of(message: Mapping[str, Any]) -> str:
    """Return the text of a message, which some servers give in parts (and thinking among them)."""
    content = message.get("content")
    if isinstance(content, list):
        parts = [part for part in content if isinstance(part, dict) and part.get("type") == "text"]
        return "".join(str(part.get("text") or "") for part in parts)
    return content if isinstance(content, str) else ""


def _thinking_of(message: Mapping[str, Any]) -> str:
    """Return the thinking that a server sets apart: counted where it tells no usage, not kept."""
    for name in ("reasoning_content", "reasoning", "thinking"):
        value = message.get(name)
        if isinstance(value, str) and value:
            return value
    return ""


def _finish_reason(value: object, url: str) -> FinishReason:
    if str(value) in _BROKEN_OFF:
        raise ModelUnavailable(f"`{url}` broke the reply off: {value}.", status=200)
    return _FINISH.get(str(value), "stop")


def _usage_of(told: Mapping[str, Any] | None, request: ChatRequest, output: str) -> TokenUsage:
    counts = [told.get(name) if told else None for name in ("prompt_tokens", "completion_tokens")]
    given, made = (n if isinstance(n, int) and n >= 0 else None for n in counts)
    return TokenUsage(
        input_tokens=given if given is not None else estimate_input_tokens(request),
        output_tokens=made if made is not None else estimate_text_tokens(output),
        calls=1,
    )


def _withheld(error: Refusal, request: ChatRequest) -> ChatReply:
    """Return the reply that a server's filter withheld because of the prompt, or raise."""
    if error.server_code.casefold() not in _FILTER_CODES:
        raise error
    return ChatReply("", "filter", TokenUsage(estimate_input_tokens(request), 0, calls=1))
