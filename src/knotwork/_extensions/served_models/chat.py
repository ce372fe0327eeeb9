"""Chat models on servers with an OpenAI-compatible `/chat/completions` endpoint.

Servers differ in the parameters that they accept; `ServerDialect` learns them from refusals.
A small model may repeat the same words without end, which is noticed as the reply arrives.
"""

from __future__ import annotations

import json
import math
import re
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from typing import Any, TypeVar
from urllib.parse import urlsplit

from knotwork._cancellation import run_apart
from knotwork._extensions.served_models.context_windows import (
    ContextWindow,
    is_context_error,
    read_listed_window,
    warn_of_cut,
)
from knotwork._extensions.served_models.http import HeaderListener, ModelServer, Refusal
from knotwork._inference.chat import (
    ChatReply,
    ChatRequest,
    FinishReason,
    Message,
    TokenUsage,
    estimate_input_tokens,
    estimate_text_tokens,
)
from knotwork._inference.thinking import ThinkingHabit
from knotwork.errors import ModelError, ModelUnavailable

REPETITION_WARNING = (
    "The model repeated the same words over and over, so that its reply was stopped. A larger "
    "model does so less."
)

_LEAST_TIMES = 4
_LEAST_CHARACTERS = 600
_LONGEST_UNIT = 1_000
_PROBE = 40
"""Characters at the end of a reply that are searched for in what is before them."""
_CHECKED_EVERY = 256


class RepetitionCheck:
    """Reads a reply piece by piece. ``is_found`` once it repeats itself."""

    def __init__(self) -> None:
        self.is_found = False
        self._tail = self._unread = ""

    def feed(self, piece: str) -> None:
        """Add a piece of the reply."""
        self._unread += piece
        if len(self._unread) >= _CHECKED_EVERY and not self.is_found:
            self._tail = (self._tail + self._unread)[-_LEAST_TIMES * _LONGEST_UNIT :]
            self._unread = ""
            self.is_found = repeats_itself(self._tail)


def repeats_itself(text: str) -> bool:
    """Return True if a text ends with the same words 4 times or more, in 600 characters or more.

    Marks alone, such as the line below the head of a table, may be repeated.
    """
    probe = text[-_PROBE:]
    place = text.rfind(probe, 0, len(text) - 1)
    unit = text[place + len(probe) :] if place >= 0 else ""
    if not any(map(str.isalpha, unit)):
        return False
    times = max(_LEAST_TIMES, math.ceil(_LEAST_CHARACTERS / len(unit)))
    return text.endswith(unit * times)


T = TypeVar("T")

_FINISH: dict[str, FinishReason] = {
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "filter",
    "sensitive": "filter",
    "refusal": "filter",
    "model_context_window_exceeded": "length",
}
_ABORTED = frozenset({"abort", "aborted", "error", "insufficient_system_resource"})
_FILTER_CODES = frozenset({"content_filter", "data_inspection_failed", "datainspectionfailed"})


class OpenAIChat:
    """A chat model on a server; a call is one attempt, without waiting.

    Every reply is streamed, so that the time-out of the server limits its silence and never the
    length of a reply; a server that refuses to stream gets plain calls. If the server refuses the
    form of a request (the name of the limit, a temperature), the request is
    repeated at once in another form, which is remembered. ``max_output_tokens``, unless 0, replaces
    that of each request; models that think need a larger limit. ``extra_body`` is added to each
    request, and replaces fields of the same name.
    ``scheme`` is that of the model's name. Raises ModelUnavailable for temporary failures,
    ModelError for all others.
    """

    def __init__(
        self,
        model: str,
        server: ModelServer,
        *,
        temperature: float = 0.0,
        max_output_tokens: int = 0,
        context_window: int = 0,
        extra_body: Mapping[str, object] | None = None,
        scheme: str = "openai",
    ) -> None:
        self._extra_body = dict(extra_body or {})
        self._window = ContextWindow(context_window)
        self._model = model
        self.server = server
        self._temperature = temperature
        self._max_output_tokens = max_output_tokens
        host = urlsplit(server.base_url).hostname or ""
        first = frozenset(part for end, part in _HOST_FORMS.items() if host.endswith(end))
        self._dialect = ServerDialect(first=first)
        self._habit = ThinkingHabit()
        self._lock = threading.Lock()
        parts = [f"{scheme}:{model}"]
        if temperature:
            parts.append(f"temperature={temperature:g}")
        if max_output_tokens:
            parts.append(f"max_output_tokens={max_output_tokens}")
        if self._extra_body:
            body = json.dumps(self._extra_body, sort_keys=True, default=repr)
            parts.append(f"extra_body={blake2b(body.encode(), digest_size=4).hexdigest()}")
        self.name = " ".join(parts)

    @property
    def context_window(self) -> int:
        """The context window in tokens, as set or as its server stated it; 0 if unknown."""
        return self._window.tokens

    def listen(self, listener: HeaderListener) -> None:
        """Call ``listener`` with the status and headers of every response from now on."""
        self.server.listen(listener)

    def listed_models(self) -> dict[str, int]:
        """Return the names of the models of the server, each with its window (0: unknown)."""
        listed = self.server.list_models()
        return {str(item["id"]): read_listed_window(item) for item in listed if "id" in item}

    def batch_body(self, request: ChatRequest) -> dict[str, object]:
        """Return the body of a request in a batch, as learned from earlier calls."""
        plain = self._dialect.without("stream")
        return self._phrase(plain, self._window.fit(self._with_defaults(request)))

    def read_body(self, body: Mapping[str, Any], request: ChatRequest) -> ChatReply:
        """Return the reply in the body of a response. Raises ModelUnavailable without one."""
        streamed = self._read(request)
        streamed.add(body)
        return streamed.finish()[1]

    def complete(self, request: ChatRequest) -> ChatReply:
        """Return the reply without its thinking."""
        return run_apart(partial(self._gather, request))

    def _gather(self, request: ChatRequest) -> ChatReply:
        """Read a stream to its end. The caller needs only the complete reply."""
        try:
            *_, reply = self.stream(request)
        except _UnfinishedStream as error:
            # Perhaps the server ends its streams without saying that a reply is complete.
            try:
                body = self.server.complete_chat(self.batch_body(request))
                reply = self.read_body(body, self._window.fit(self._with_defaults(request)))
            except ModelError:
                raise error from None
            with self._lock:
                self._dialect = self._dialect.without("stream")
        assert isinstance(reply, ChatReply)
        return reply

    def stream(self, request: ChatRequest) -> Iterator[str | ChatReply]:
        """Yield the reply's text piece by piece, without its thinking, then the whole reply.

        A connection that breaks after the first piece is an error, since pieces cannot be taken
        back.
        """
        request = self._with_defaults(request)
        started = time.monotonic()
        try:
            event, events = self._send(request, self._open_stream)
        except Refusal as error:
            if error.server_code.casefold() not in _FILTER_CODES:
                raise
            usage = TokenUsage(estimate_input_tokens(request), 0, calls=1)
            yield ChatReply("", "filter", usage)
            return
        try:
            fitted = self._window.fit(request)
            streamed = self._read(fitted)
            wait_s = 0.0
            while event is not None and not streamed.is_endless:
                piece = streamed.add(event)
                if streamed.begun and not wait_s:
                    wait_s = time.monotonic() - started
                if piece:
                    yield piece
                event = next(events, None)
            rest, reply = streamed.finish()
        finally:
            events.close()
        if rest:
            yield rest
        yield replace(
            reply, wait_s=wait_s, warning=self._window.warn(request, fitted) or streamed.warning
        )

    def _phrase(self, dialect: ServerDialect, request: ChatRequest) -> dict[str, object]:
        payload = dialect.phrase(self._model, request)
        if "temperature" in payload:
            payload["temperature"] = self._temperature
        return payload | self._extra_body

    def _read(self, request: ChatRequest) -> _StreamedReply:
        # The URL is read late: a server in a child process gets its address when it starts.
        url = f"{self.server.base_url}{self.server.chat_path}"
        return _StreamedReply(request, self._habit, url)

    def _with_defaults(self, request: ChatRequest) -> ChatRequest:
        return replace(
            request, max_output_tokens=self._max_output_tokens or request.max_output_tokens
        )

    def _open_stream(
        self, payload: Mapping[str, object]
    ) -> tuple[dict[str, Any] | None, Generator[dict[str, Any]]]:
        """Return the first event and the rest, since a refusal arrives before the first event."""
        if "stream" in payload:
            events = self.server.stream_chat(payload)
        else:
            body = self.server.complete_chat(payload)
            events = (event for event in [body])
        return next(events, None), events

    def _send(self, request: ChatRequest, send: Callable[[dict[str, object]], T]) -> T:
        """Send the request in the server's dialect, and learn from its refusals."""
        was_fitted = False
        while True:
            dialect = self._dialect
            fitted = self._window.fit(request)
            try:
                return send(self._phrase(dialect, fitted))
            except ModelError as error:
                if is_context_error(error):
                    window = (
                        None if was_fitted else self._window.learn(error, fitted, self._listed())
                    )
                    if window is None or window.fit(fitted) == fitted:
                        error.fix = _WINDOW_FIX
                        raise
                    self._window, was_fitted = window, True
                    continue
                learned = dialect.learn(error, request)
                if learned is None:
                    raise
                with self._lock:
                    # If another thread learned something meanwhile, try its dialect first.
                    if self._dialect is dialect:
                        self._dialect = learned

    def _listed(self) -> Mapping[str, object] | None:
        """Return what the server lists of this model, if anything."""
        try:
            listed = self.server.list_models()
        except ModelError:
            return None
        return next((item for item in listed if item.get("id") == self._model), None)


_WINDOW_FIX = (
    "Serve the model with a longer context window, or set llm.context_window, so that prompts are "
    "packed smaller."
)


class _UnfinishedStream(ModelUnavailable):
    """A stream ended without the reason why the reply ended."""


_MOST_CHARACTERS_A_TOKEN = 32
_LEAST_LIMIT_TOKENS = 8_192
"""Limit assumed for bounding a reply: some servers do not count thinking towards the limit."""


class _StreamedReply:
    """A reply under construction from the events of a stream.

    ``begun`` is True once a piece of the reply or of its thinking arrived, and ``is_endless`` once
    it repeats itself, or is far longer than the request allows, as from a server that ignores the
    limit.
    """

    def __init__(self, request: ChatRequest, habit: ThinkingHabit, url: str) -> None:
        self._request = request
        self._url = url
        self._habit = habit
        self._stripper = habit.stripper()
        self._raw: list[str] = []
        self._thinking: list[str] = []
        self._repetition = RepetitionCheck()
        self._finish: object = None
        self._left = _MOST_CHARACTERS_A_TOKEN * max(request.max_output_tokens, _LEAST_LIMIT_TOKENS)
        self.begun = self._refused = False
        self.warning = ""
        self._usage: Mapping[str, Any] | None = None

    def add(self, event: Mapping[str, Any]) -> str:
        """Add one event and return the text that it completes."""
        usage = event.get("usage")
        self._usage = usage if isinstance(usage, dict) else self._usage
        choices = event.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, dict):
            return ""
        # A server that does not stream sends the whole message at once.
        whole = choice.get("message")
        self._finish = (
            choice.get("finish_reason")
            or self._finish
            or ("stop" if isinstance(whole, dict) else None)
        )
        delta = choice.get("delta") or whole or {}
        if not isinstance(delta, dict):
            return ""
        thinking, piece = _thinking_of(delta), _text_of(delta)
        refusal = delta.get("refusal")
        if not piece and isinstance(refusal, str) and refusal:
            piece, self._refused = refusal, True
        self._thinking.append(thinking)
        self._raw.append(piece)
        self._left -= len(thinking) + len(piece)
        if whole is None:
            self._repetition.feed(piece or thinking)
        self.begun = self.begun or bool(thinking or piece)
        return self._stripper.feed(piece)

    @property
    def is_endless(self) -> bool:
        return self._left < 0 or self._repetition.is_found

    def finish(self) -> tuple[str, ChatReply]:
        """Return the last piece and the whole reply; raise ModelUnavailable if it is incomplete."""
        if self.is_endless:
            self._finish = "length"
        if self._finish is None and self._usage is not None:
            self._finish = "stop"  # usage is sent behind the last piece
        if self._finish is None:
            raise _UnfinishedStream(f"`{self._url}` ended the stream before the end of the reply.")
        if str(self._finish) in _ABORTED:
            said = f"`{self._url}` aborted the reply: {self._finish}."
            raise ModelUnavailable(said, status=200)
        reason = "filter" if self._refused else _FINISH.get(str(self._finish), "stop")
        rest = self._stripper.finish(cut_off=reason == "length")
        raw = "".join(self._raw)
        thinking = "".join(self._thinking)
        usage = _usage_of(self._usage, self._request, raw + thinking)
        told = self._usage is not None and self._usage.get("prompt_tokens") == usage.input_tokens
        cut = warn_of_cut(self._request, usage.input_tokens if told else None)
        self.warning = cut or (REPETITION_WARNING if self._repetition.is_found else "")
        text = self._habit.take_out(raw, cut_off=reason == "length")
        thought = _thought_tokens(self._usage, thinking, raw, text)
        return rest, ChatReply(text, reason, usage, thought_tokens=thought)


def _text_of(message: Mapping[str, Any]) -> str:
    """Return the text of a message, which some servers split into parts beside thinking."""
    content = message.get("content")
    if isinstance(content, list):
        parts = [part for part in content if isinstance(part, dict) and part.get("type") == "text"]
        return "".join(str(part.get("text") or "") for part in parts)
    return content if isinstance(content, str) else ""


def _thinking_of(message: Mapping[str, Any]) -> str:
    """Return the separate thinking of a message, needed only to estimate usage."""
    for name in ("reasoning_content", "reasoning", "thinking"):
        value = message.get(name)
        if isinstance(value, str) and value:
            return value
    return ""


def _thought_tokens(reported: Mapping[str, Any] | None, thinking: str, raw: str, text: str) -> int:
    """Return the tokens of a reply that are thinking: reported, or else estimated."""
    details = reported.get("completion_tokens_details") if reported else None
    count = details.get("reasoning_tokens") if isinstance(details, dict) else None
    if isinstance(count, int) and count > 0:
        return count
    return estimate_text_tokens(thinking) + estimate_text_tokens(raw[: len(raw) - len(text)])


def _usage_of(reported: Mapping[str, Any] | None, request: ChatRequest, output: str) -> TokenUsage:
    """Return the reported usage of a call, with estimates for counts that are missing."""

    def count(name: str) -> int | None:
        value = reported.get(name) if reported else None
        return value if isinstance(value, int) and value >= 0 else None

    sent, received = count("prompt_tokens"), count("completion_tokens")
    details = reported.get("prompt_tokens_details") if reported else None
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    if not isinstance(cached, int):
        cached = count("prompt_cache_hit_tokens")  # DeepSeek
    return TokenUsage(
        input_tokens=estimate_input_tokens(request) if sent is None else sent,
        output_tokens=estimate_text_tokens(output) if received is None else received,
        calls=1,
        cached_tokens=min(max(cached or 0, 0), sent or 0),
    )


_REFUSING_STATUSES = frozenset({400, 404, 405, 415, 422})
_UNSUPPORTED = re.compile(
    r"unsupported|not support|n't support|unrecogni|unknown|unexpected|not permitted|not allowed"
    r"|forbidden|unavailable|only|must be|invalid (?:param|temperature)|deprecated|instead"
    r"|restricted",
    re.IGNORECASE,
)
_REFUSED_NAMES = {
    "usage": re.compile(r"stream_options"),
    "thinking": re.compile(r"enable_thinking"),
    "stream": re.compile(r"\bstream(?:ing|ed|s)?\b", re.IGNORECASE),
    "limit": re.compile(r"max_(?:completion_)?tokens"),
    "temperature": re.compile(r"temperature"),
    "system": re.compile(r"system.{0,3} role|role.+system", re.IGNORECASE),
}
"""The parts of a request that a server may refuse, and how its errors name them."""
_HOST_FORMS = {
    "api.openai.com": "limit",
    ".openai.azure.com": "limit",
    ".aliyuncs.com": "thinking",
}
"""What is sent in its second form from the start: OpenAI's newer models know only
`max_completion_tokens`, and models of DashScope think in streams only, unless that is turned off.
"""


@dataclass(frozen=True, slots=True)
class ServerDialect:
    """The form of requests that a server takes, as its refusals taught.

    ``refused`` are names of `_REFUSED_NAMES`. Each refusal adds one for good, so learning ends.
    ``first`` are the parts that this server gets in their second form unless it refuses that one:
    the limit of tokens by its newer name, and thinking turned off.
    """

    refused: frozenset[str] = frozenset()
    first: frozenset[str] = frozenset()

    def takes(self, part: str) -> bool:
        """Return True unless the server refused a part of requests."""
        return part not in self.refused

    def without(self, part: str) -> ServerDialect:
        """Return the dialect of a server that refuses this part too."""
        return replace(self, refused=self.refused | {part})

    def phrase(self, model: str, request: ChatRequest) -> dict[str, object]:
        """Return the payload of a request."""
        second = self.first ^ (self.refused & {"limit", "thinking"})
        messages = list(request.messages)
        if not self.takes("system"):
            messages = _merge_system(messages)
        turns = [{"role": turn.role, "content": _content(turn)} for turn in messages]
        payload: dict[str, object] = {"model": model, "messages": turns}
        limit = "max_completion_tokens" if "limit" in second else "max_tokens"
        payload[limit] = request.max_output_tokens
        if self.takes("temperature"):
            payload["temperature"] = 0.0
        if "thinking" in second:
            payload["enable_thinking"] = False
        if self.takes("stream"):
            payload["stream"] = True
            if self.takes("usage"):
                payload["stream_options"] = {"include_usage": True}
        return payload

    def learn(self, error: ModelError, request: ChatRequest) -> ServerDialect | None:
        """Return the dialect without the refused part; None if the error refuses none."""
        if error.status not in _REFUSING_STATUSES or not _UNSUPPORTED.search(error.message):
            return None
        sent = self.phrase("", request)
        for part, pattern in _REFUSED_NAMES.items():
            other = self.without(part)
            is_named = self.takes(part) and pattern.search(error.message)
            if is_named and other.phrase("", request) != sent:
                return other
        return None


def _content(message: Message) -> str | list[dict[str, object]]:
    """Return the content of a message: its text, or its pictures and its text as parts."""
    # Lone surrogates cannot be sent as UTF-8, so replace them.
    text = message.content.encode("utf-8", "replace").decode()
    if not message.pictures:
        return text
    parts: list[dict[str, object]] = [
        {"type": "image_url", "image_url": {"url": picture.url}} for picture in message.pictures
    ]
    return [*parts, {"type": "text", "text": text}]


def _merge_system(messages: list[Message]) -> list[Message]:
    """Merge system messages into the first user message, for models without a system role."""
    words = "\n\n".join(message.content for message in messages if message.role == "system")
    rest = [message for message in messages if message.role != "system"]
    if rest and rest[0].role == "user":
        return [replace(rest[0], content=f"{words}\n\n{rest[0].content}"), *rest[1:]]
    return [Message("user", words), *rest]
