"""Build response bodies of an OpenAI-compatible API: chats, streams, vectors, rankings, errors."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from knotwork._inference.chat import Message, MessagePicture, split_data_url
from knotwork._inference.embedder import HashingEmbedder
from knotwork._text.token_counts import count_tokens

_PIECE_CHARACTERS = 12
_CREATED = 1_700_000_000
"""A fixed time, so that equal requests get equal responses."""


class BadRequest(Exception):
    """The body of a request is invalid. ``field`` is the path of the invalid field."""

    def __init__(self, message: str, field: str) -> None:
        super().__init__(message)
        self.field = field


@dataclass(frozen=True, slots=True)
class ChatAnswer:
    """The reply to a chat call. ``reasoning`` is returned in a separate field."""

    model: str
    text: str
    finish_reason: str
    input_tokens: int
    output_tokens: int
    reasoning: str = ""
    has_usage: bool = True

    @property
    def usage(self) -> dict[str, int]:
        """The usage object of the API."""
        return usage(self.input_tokens, self.output_tokens)


def usage(input_tokens: int, output_tokens: int = 0) -> dict[str, int]:
    """Return a usage object."""
    return {
        "prompt_tokens": input_tokens,
        "completion_tokens": output_tokens,
        "total_tokens": input_tokens + output_tokens,
    }


def read_messages(body: Mapping[str, Any], *, sees: bool = False) -> list[Message]:
    """Return the messages of a chat request, with parts of a content joined. Raises BadRequest.

    Only a server that ``sees`` takes pictures.
    """
    listed = body.get("messages")
    if not isinstance(listed, list) or not listed:
        raise BadRequest("`messages` must be a list of at least one message.", "messages")
    messages = []
    for place, item in enumerate(listed):
        role = item.get("role") if isinstance(item, dict) else None
        given = item.get("content") if isinstance(item, dict) else None
        pictures, given = _take_pictures(given) if sees else ((), given)
        content = _joined(given)
        if role == "developer":
            role = "system"
        if role not in {"system", "user", "assistant"} or content is None:
            raise BadRequest("A message needs a role and a text.", f"messages[{place}]")
        messages.append(Message(role, content, pictures))
    return messages


def _take_pictures(content: object) -> tuple[tuple[MessagePicture, ...], object]:
    """Return the pictures of a content, and its other parts."""
    if not isinstance(content, list):
        return (), content
    from PIL import Image

    pictures = []
    for part in content:
        if part.get("type") == "image_url":
            kind, data = split_data_url(part["image_url"]["url"])
            file = base64.b64decode(data, validate=True)
            pictures.append(MessagePicture(file, kind, *Image.open(io.BytesIO(file)).size))
    return tuple(pictures), [part for part in content if part.get("type") != "image_url"]


def _joined(content: object) -> str | None:
    if isinstance(content, list):
        parts = [part.get("text") if isinstance(part, dict) else None for part in content]
        texts = [part for part in parts if isinstance(part, str)]
        return "".join(texts) if len(texts) == len(parts) else None
    return content if isinstance(content, str) else None


def chat_body(answer: ChatAnswer, *, number: int) -> dict[str, Any]:
    """Return the whole answer to a chat call."""
    message = {"role": "assistant", "content": answer.text}
    if answer.reasoning:
        message["reasoning_content"] = answer.reasoning
    choice = {"index": 0, "message": message, "finish_reason": answer.finish_reason}
    body = _frame(answer, number, "chat.completion") | {"choices": [choice]}
    return body | {"usage": answer.usage} if answer.has_usage else body


def chat_events(
    answer: ChatAnswer, *, number: int, include_usage: bool
) -> Iterator[dict[str, Any] | str]:
    """Yield the events of a streamed chat call, "[DONE]" last."""
    frame = _frame(answer, number, "chat.completion.chunk")
    if include_usage:
        frame["usage"] = None

    def event(delta: dict[str, str], finish_reason: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
        return frame | {"choices": [choice]}

    yield event({"role": "assistant", "content": ""})
    for key, text in (("reasoning_content", answer.reasoning), ("content", answer.text)):
        for start in range(0, len(text), _PIECE_CHARACTERS):
            yield event({key: text[start : start + _PIECE_CHARACTERS]})
    yield event({}, answer.finish_reason)
    if include_usage and answer.has_usage:
        yield frame | {"choices": [], "usage": answer.usage}
    yield "[DONE]"


def _frame(answer: ChatAnswer, number: int, kind: str) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{number}",
        "object": kind,
        "created": _CREATED,
        "model": answer.model,
    }


def fill_schema(schema: object, text: str, *, depth: int = 8) -> object:
    """Return a minimal value that fits a JSON schema, with ``text`` as every string."""
    if not isinstance(schema, dict) or depth == 0:
        return text
    fixed = [schema["const"]] if "const" in schema else schema.get("enum")
    if fixed:
        return fixed[0]
    options = schema.get("anyOf") or schema.get("oneOf")
    if options:
        return fill_schema(options[0], text, depth=depth - 1)
    kind = schema.get("type")
    if kind == "object" or "properties" in schema:
        properties = schema.get("properties", {})
        return {name: fill_schema(part, text, depth=depth - 1) for name, part in properties.items()}
    if kind == "array":
        return [fill_schema(schema.get("items"), text, depth=depth - 1)]
    plain: dict[object, object] = {"integer": 0, "number": 0.0, "boolean": False, "null": None}
    return plain.get(kind, text)


def structure_text(body: Mapping[str, Any], text: str) -> str:
    """Return the reply in the requested ``response_format``. Raises BadRequest."""
    asked = body.get("response_format")
    kind = asked.get("type") if isinstance(asked, dict) else None
    if kind in {None, "text"}:
        return text
    if kind == "json_object":
        return json.dumps({"text": text}, ensure_ascii=False)
    form = asked.get("json_schema") if isinstance(asked, dict) else None
    if kind != "json_schema" or not isinstance(form, dict):
        raise BadRequest(f"Unknown response_format {asked!r}.", "response_format")
    return json.dumps(fill_schema(form.get("schema"), text), ensure_ascii=False)


def embedding_body(body: Mapping[str, Any], *, model: str, dimension: int) -> dict[str, Any]:
    """Return the vectors of `/embeddings`, by the hashing embedder. Raises BadRequest."""
    given = body.get("input")
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not texts or not all(isinstance(t, str) for t in texts):
        raise BadRequest("`input` must be a text or a list of texts.", "input")
    length = body.get("dimensions", dimension)
    if not isinstance(length, int) or length < 1:
        raise BadRequest("`dimensions` must be a positive number.", "dimensions")
    rows = HashingEmbedder(length).embed([without_surrogates(text) for text in texts])
    packed = body.get("encoding_format") == "base64"
    data = [
        {
            "object": "embedding",
            "index": index,
            "embedding": base64.b64encode(row.astype("<f4").tobytes()).decode()
            if packed
            else row.tolist(),
        }
        for index, row in enumerate(rows)
    ]
    told = sum(count_tokens(text) for text in texts)
    return {"object": "list", "model": model, "data": data, "usage": usage(told)}


def rerank_body(body: Mapping[str, Any], *, model: str) -> dict[str, Any]:
    """Return the documents of `/rerank` by likeness of their vectors, best first."""
    query, documents = body.get("query"), body.get("documents")
    if not isinstance(query, str) or not isinstance(documents, list):
        raise BadRequest("`query` must be a text, `documents` a list.", "query")
    texts = [item.get("text") if isinstance(item, dict) else item for item in documents]
    if not all(isinstance(text, str) for text in texts):
        raise BadRequest("Each document must be a text.", "documents")
    rows = HashingEmbedder().embed([without_surrogates(str(text)) for text in [query, *texts]])
    scores = np.clip(rows[1:] @ rows[0], 0.0, 1.0)
    order = sorted(range(len(texts)), key=lambda place: (-float(scores[place]), place))
    results: list[dict[str, Any]] = [
        {"index": place, "relevance_score": round(float(scores[place]), 6)}
        for place in order[: body.get("top_n") or len(texts)]
    ]
    if body.get("return_documents"):
        for result in results:
            result["document"] = {"text": texts[result["index"]]}
    told = sum(count_tokens(str(text)) for text in [query, *texts])
    return {"model": model, "results": results, "usage": usage(told)}


def models_body(models: Sequence[str], *, window: int = 0) -> dict[str, Any]:
    """Return the list of `/models`, with the context ``window`` of each unless it is 0."""
    data: list[dict[str, Any]] = [
        {"id": name, "object": "model", "created": _CREATED, "owned_by": "knotwork"}
        for name in models
    ]
    for model in data if window else ():
        model["max_model_len"] = window
    return {"object": "list", "data": data}


def error_body(message: str, *, kind: str, field: str | None = None) -> dict[str, Any]:
    """Return an error in the form of the API."""
    return {"error": {"message": message, "type": kind, "param": field, "code": None}}


def without_surrogates(text: str) -> str:
    """Return a text that can be encoded: lone surrogates, which JSON may hold, become "?"."""
    return text.encode("utf-8", "replace").decode()


GARBAGE = (
    "Sure! Here is ]]}{ the the | | | requested\tlist:: \ufffd 0x3F ~~~ <|im_end|> 好的好的",
    "I'm sorry, but as a language model I cannot help with that.",
    '{"entities": [{"name": "A", "type": , }',
    "||||\n|\n\n||",
)


THINKING = "The user wants an answer. entity | Wrong | PERSON | thought, not said. Let me think."
