"""The dialect of a chat server: which parameters it takes, learned from what it refuses."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from knotwork.errors import ConfigError, ModelError
from knotwork.inference.chat import ChatRequest, Message

SchemaForm = Literal["json_schema", "json_object", "words"]
_REFUSING_STATUSES = frozenset({400, 404, 405, 415, 422, 500, 501})
_UNSUPPORTED = re.compile(
    r"unsupported|not support|n't support|unrecogni|unknown|unexpected|not permitted|not allowed"
    r"|forbidden|unavailable|only|must be|invalid (?:param|temperature)|deprecated|instead",
    re.IGNORECASE,
)
_SCHEMA = re.compile(
    r"response_?format|json_?schema|json_?object|structured.?output|guided|grammar|\bschema\b",
    re.IGNORECASE,
)
_OWN_SCHEMA = re.compile(r"invalid (?:json )?schema|schema (?:is )?invalid", re.IGNORECASE)
_NAMES: dict[str, Callable[[str], object]] = {
    "usage": re.compile(r"stream_options").search,
    "thinking": re.compile(r"enable_thinking").search,
    "limit": re.compile(r"max_(?:completion_)?tokens").search,
    "temperature": re.compile(r"temperature").search,
    "stop": re.compile(r"\bstop\b").search,
    "system": re.compile(r"system.{0,3} role|role.+system", re.IGNORECASE).search,
}
"""By which words a server names what it refuses."""
_SCHEMA_WORDS = (
    "Answer with one JSON object that follows this JSON schema, and with nothing else:\n{schema}"
)


@dataclass(frozen=True, slots=True)
class Dialect:
    """What a server takes. Every lesson gives up one thing for good, so that lessons end.

    ``completion_limit`` names the limit of tokens as newer models of OpenAI have it, which others
    do not know. DashScope has models that think only in streams, and wants that to be said
    (``forbids_thinking``). ``loose_schemas`` are schemas that the server refused each for itself.
    """

    completion_limit: bool = False
    limit_is_known: bool = False
    takes_temperature: bool = True
    takes_stop: bool = True
    takes_system: bool = True
    tells_usage: bool = True
    forbids_thinking: bool = False
    schema_form: SchemaForm = "json_schema"
    loose_schemas: frozenset[str] = frozenset()

    def schema_form_of(self, schema: str) -> SchemaForm:
        """Return how a schema is said."""
        if self.schema_form == "json_schema" and schema in self.loose_schemas:
            return "json_object"
        return self.schema_form

    def phrase(self, model: str, request: ChatRequest, *, stream: bool) -> dict[str, object]:
        """Return the payload of a request. Raises ConfigError for a schema that is no JSON."""
        payload: dict[str, object] = {"model": model, "messages": self._messages(request)}
        limit = "max_completion_tokens" if self.completion_limit else "max_tokens"
        payload[limit] = request.max_output_tokens
        if self.takes_temperature:
            payload["temperature"] = request.temperature
        if request.stop and self.takes_stop:
            payload["stop"] = list(request.stop)
        if request.schema and self.schema_form != "words":
            payload["response_format"] = self._response_format(request.schema)
        if self.forbids_thinking:
            payload["enable_thinking"] = False
        if stream:
            payload["stream"] = True
            if self.tells_usage:
                payload["stream_options"] = {"include_usage": True}
        return payload

    def learn(self, error: ModelError, request: ChatRequest, *, stream: bool) -> Dialect | None:
        """Return the dialect without what the server just refused, or None if it is not that."""
        if error.status not in _REFUSING_STATUSES:
            return None
        said = error.message
        if request.schema and _SCHEMA.search(said):
            return self._without_schema(said, request.schema)
        if error.status >= 500 or not _UNSUPPORTED.search(said):
            return None
        found = (lesson for name, lesson in self._lessons(request, stream) if _NAMES[name](said))
        return next(found, None)

    def _lessons(self, request: ChatRequest, stream: bool) -> Iterator[tuple[str, Dialect]]:
        """Yield what may be given up of this request, by name."""
        if stream and self.tells_usage:
            yield "usage", replace(self, tells_usage=False)
        if not self.forbids_thinking:
            yield "thinking", replace(self, forbids_thinking=True)
        if not self.limit_is_known:
            other = not self.completion_limit
            yield "limit", replace(self, completion_limit=other, limit_is_known=True)
        if self.takes_temperature:
            yield "temperature", replace(self, takes_temperature=False)
        if request.stop and self.takes_stop:
            yield "stop", replace(self, takes_stop=False)
        if self.takes_system and any(message.role == "system" for message in request.messages):
            yield "system", replace(self, takes_system=False)

    def _without_schema(self, said: str, schema: str) -> Dialect | None:
        form = self.schema_form_of(schema)
        if form == "words":
            return None
        if form == "json_schema" and _OWN_SCHEMA.search(said):
            return replace(self, loose_schemas=self.loose_schemas | {schema})
        return replace(self, schema_form="json_object" if form == "json_schema" else "words")

    def _response_format(self, schema: str) -> dict[str, object]:
        if self.schema_form_of(schema) == "json_object":
            return {"type": "json_object"}
        try:
            parsed = json.loads(schema)
        except ValueError as error:
            raise ConfigError(f"The schema of a request is no JSON: {error}.") from error
        form = {"name": "reply", "schema": parsed, "strict": True}
        return {"type": "json_schema", "json_schema": form}

    def _messages(self, request: ChatRequest) -> list[dict[str, str]]:
        messages = list(request.messages)
        if request.schema and self.schema_form_of(request.schema) != "json_schema":
            words = _SCHEMA_WORDS.format(schema=request.schema)
            if messages and messages[0].role == "system":
                messages[0] = Message("system", f"{messages[0].content}\n\n{words}")
            else:
                messages.insert(0, Message("system", words))
        if not self.takes_system:
            messages = _join_system(messages)
        return [{"role": turn.role, "content": _make_sendable(turn.content)} for turn in messages]


def _make_sendable(text: str) -> str:
    """Return the text with a mark for what UTF-8 cannot hold, such as half of a character."""
    return text.encode("utf-8", "replace").decode()


def _join_system(messages: list[Message]) -> list[Message]:
    """Put the words of the system before those of the user, for models without such a role."""
    words = "\n\n".join(message.content for message in messages if message.role == "system")
    rest = [message for message in messages if message.role != "system"]
    if rest and rest[0].role == "user":
        return [Message("user", f"{words}\n\n{rest[0].content}"), *rest[1:]]
    return [Message("user", words), *rest]
