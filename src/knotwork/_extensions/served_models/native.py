"""Model servers with an interface of their own: Ollama and Anthropic.

They offer more by it than by their interface for clients of OpenAI: Ollama a context window for
each request, and how long a model stays loaded; Anthropic prices for prompts that it has cached.
Requests and replies are translated, so that one client serves all.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import closing
from typing import Any, Unpack

from knotwork._config import SecretRef
from knotwork._extensions.served_models.http import ModelServer, ServerOptions
from knotwork._inference.chat import split_data_url

OLLAMA_CONTEXT = 8_192
"""Tokens of a prompt and its reply together, unless `llm.context_window` is set."""

_ANTHROPIC_VERSION = "2023-06-01"
_MOST_TEMPERATURE = 1.0
"""Anthropic's scale of temperatures ends here, that of OpenAI at 2."""
_TRANSLATED = frozenset(
    {
        "max_completion_tokens", "max_tokens", "messages", "model", "stop", "stream",
        "stream_options", "temperature",
    }
)  # fmt: skip
"""The fields of a request that are translated; others, of `llm.extra_body`, are sent unchanged."""


class OllamaServer(ModelServer):
    """Ollama by its `/api/chat`. A ``base_url`` may end in `/v1` or not.

    Each request asks for a window of ``context`` tokens (`num_ctx`), since Ollama drops the
    beginning of a prompt that does not fit. `options` in `llm.extra_body` adds to the options.
    """

    chat_path = "/api/chat"
    takes_batches = False

    def __init__(self, base_url: str, *, context: int, **options: Unpack[ServerOptions]) -> None:
        super().__init__(base_url.rstrip("/").removesuffix("/v1"), **options)
        self._context = context

    def stream_chat(self, payload: Mapping[str, object]) -> Generator[dict[str, Any]]:
        with closing(self.stream(self.chat_path, self._translate(payload), lines=True)) as events:
            yield from map(_from_ollama, events)

    def complete_chat(self, payload: Mapping[str, object]) -> dict[str, Any]:
        return _from_ollama(self.post(self.chat_path, self._translate(payload)))

    def list_models(self) -> list[dict[str, Any]]:
        listed = self.get("/api/tags").get("models")
        items = listed if isinstance(listed, list) else []
        return [{**item, "id": item["name"]} for item in items if "name" in item]

    def _translate(self, payload: Mapping[str, Any]) -> dict[str, object]:
        rest = {name: value for name, value in payload.items() if name not in _TRANSLATED}
        options = {"num_ctx": self._context, "num_predict": _limit_of(payload)}
        options |= {name: payload[name] for name in ("temperature", "stop") if name in payload}
        body = {
            "model": payload["model"],
            "messages": [_to_ollama_message(turn) for turn in payload["messages"]],
            "stream": bool(payload.get("stream")),
        }
        return body | rest | {"options": options | rest.get("options", {})}


def _to_ollama_message(turn: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message with its pictures beside its text."""
    if isinstance(turn["content"], str):
        return dict(turn)
    text, pictures = _parts(turn["content"])
    return {**turn, "content": text, "images": [data for _, data in pictures]}


def _parts(content: Iterable[Mapping[str, Any]]) -> tuple[str, list[tuple[str, str]]]:
    """Return the text of a message in parts, and the type and bytes (base64) of its pictures."""
    texts, pictures = [], []
    for part in content:
        if part["type"] == "text":
            texts.append(part["text"])
        else:
            pictures.append(split_data_url(part["image_url"]["url"]))
    return "\n".join(texts), pictures


def _from_ollama(event: Mapping[str, Any]) -> dict[str, Any]:
    """Return a part of a reply, or a whole one, as an event of OpenAI."""
    message = event.get("message")
    found = message if isinstance(message, dict) else {}
    delta = {"content": found.get("content", ""), "reasoning_content": found.get("thinking", "")}
    is_done = event.get("done") is True
    reason = (event.get("done_reason") or "stop") if is_done else None
    translated: dict[str, Any] = {"choices": [{"delta": delta, "finish_reason": reason}]}
    if is_done:
        counts = {
            "prompt_tokens": event.get("prompt_eval_count"),
            "completion_tokens": event.get("eval_count"),
        }
        translated["usage"] = {name: count for name, count in counts.items() if count is not None}
    return translated


class AnthropicServer(ModelServer):
    """Anthropic by its `/messages`, with system prompts marked to be cached."""

    chat_path = "/messages"
    takes_batches = False

    def __init__(self, base_url: str, **options: Unpack[ServerOptions]) -> None:
        headers: dict[str, str | SecretRef] = {"anthropic-version": _ANTHROPIC_VERSION}
        key = options.get("api_key")
        if key is not None:
            headers["x-api-key"] = key
        headers |= options.get("extra_headers") or {}
        super().__init__(base_url, **options | {"api_key": None, "extra_headers": headers})

    def stream_chat(self, payload: Mapping[str, object]) -> Generator[dict[str, Any]]:
        with closing(self.stream(self.chat_path, _to_anthropic(payload))) as events:
            yield from _from_anthropic(events)

    def complete_chat(self, payload: Mapping[str, object]) -> dict[str, Any]:
        body = self.post(self.chat_path, _to_anthropic(payload))
        blocks = body.get("content")
        delta = _joined(blocks if isinstance(blocks, list) else [])
        choice = {"message": delta, "finish_reason": body.get("stop_reason")}
        return {"choices": [choice], "usage": _usage(body.get("usage"))}


def _to_anthropic(payload: Mapping[str, Any]) -> dict[str, object]:
    rest = {name: value for name, value in payload.items() if name not in _TRANSLATED}
    body: dict[str, object] = {"model": payload["model"], "max_tokens": _limit_of(payload)}
    messages = payload["messages"]
    system = "\n\n".join(turn["content"] for turn in messages if turn["role"] == "system")
    if system.strip():  # an empty text is refused
        mark = {"type": "ephemeral"}
        body["system"] = [{"type": "text", "text": system, "cache_control": mark}]
    body["messages"] = [_to_anthropic_message(t) for t in messages if t["role"] != "system"]
    if "temperature" in payload:
        body["temperature"] = min(payload["temperature"], _MOST_TEMPERATURE)
    if "stop" in payload:
        body["stop_sequences"] = payload["stop"]
    if payload.get("stream"):
        body["stream"] = True
    return body | rest


def _to_anthropic_message(turn: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message with its pictures before its text, as Anthropic advises."""
    if isinstance(turn["content"], str):
        return dict(turn)
    text, pictures = _parts(turn["content"])
    sources = ({"type": "base64", "media_type": kind, "data": data} for kind, data in pictures)
    blocks = [{"type": "image", "source": source} for source in sources]
    return {**turn, "content": [*blocks, {"type": "text", "text": text}]}


def _from_anthropic(events: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the events of a stream that hold text, thinking or its end as those of OpenAI.

    The count of input tokens comes with the first event, that of output tokens with the last.
    """
    counts: dict[str, Any] = {}
    for event in events:
        message = event.get("message")
        begun = message.get("usage") if isinstance(message, dict) else None
        told = begun or event.get("usage")
        if isinstance(told, dict):
            counts |= {name: count for name, count in told.items() if count is not None}
        delta = event.get("delta")
        if not isinstance(delta, dict):
            continue
        if event.get("type") == "message_delta":
            reason = delta.get("stop_reason")
            yield {"choices": [{"finish_reason": reason}], "usage": _usage(counts)}
        else:
            yield {"choices": [{"delta": _joined([delta])}]}


def _joined(blocks: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return the text and the thinking of blocks, or of a part of one."""
    texts, thoughts = [], []
    for block in blocks:
        texts.append(str(block.get("text") or ""))
        thoughts.append(str(block.get("thinking") or ""))
    return {"content": "".join(texts), "reasoning_content": "".join(thoughts)}


def _usage(counts: object) -> dict[str, Any] | None:
    """Return counts of tokens in the names of OpenAI, whose input includes what was cached."""
    if not isinstance(counts, dict) or not isinstance(counts.get("input_tokens"), int):
        return None
    read, written = (counts.get(f"cache_{what}_input_tokens") or 0 for what in ("read", "creation"))
    return {
        "prompt_tokens": counts["input_tokens"] + read + written,
        "completion_tokens": counts.get("output_tokens"),
        "prompt_tokens_details": {"cached_tokens": read},
    }


def _limit_of(payload: Mapping[str, Any]) -> object:
    """Return the most tokens of a reply, by its newer or its older name."""
    return payload.get("max_completion_tokens", payload.get("max_tokens"))
