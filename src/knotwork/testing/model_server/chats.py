"""From a chat call to its answer: what the brain says, cut and spoilt as the call asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knotwork.inference.chat import Message
from knotwork.testing.chat_models import end_reply
from knotwork.testing.model_server.answers import (
    BadRequest,
    ChatAnswer,
    read_messages,
    structure_text,
    without_surrogates,
)
from knotwork.testing.model_server.faults import THINKING, Fault
from knotwork.testing.model_server.traffic import Call
from knotwork.text.tokens import count_tokens

if TYPE_CHECKING:
    from knotwork.testing.model_server.server import ModelTestServer

_NO_LIMIT = 1 << 30


def answer_chat(server: ModelTestServer, call: Call, content: bytes) -> ChatAnswer:
    """Return the answer to a chat call with its fault in it. Raises BadRequest, UnknownTask."""
    body, fault = call.body, call.fault
    messages = read_messages(body)
    clean = [Message(m.role, without_surrogates(m.content)) for m in messages]
    if fault is Fault.GARBAGE:
        text = server.faults.garbage(content)
    else:
        text = structure_text(body, server.brain(clean))
    if fault is Fault.THINKING:
        text = f"<think>\n{THINKING}\n</think>\n\n{text}"
    text, cut = end_reply(text, stop=_stops(body), max_output_tokens=_limit(body))
    if fault is Fault.TRUNCATED:
        text, cut = text[: len(text) // 2], True
    reasoning = THINKING if fault is Fault.REASONING else ""
    return ChatAnswer(
        model=str(body.get("model", server.model)),
        text=text,
        finish_reason="length" if cut else "stop",
        input_tokens=sum(count_tokens(message.content) for message in clean),
        output_tokens=count_tokens(text) + count_tokens(reasoning),
        reasoning=reasoning,
        has_usage=fault is not Fault.NO_USAGE,
    )


def _stops(body: dict[str, object]) -> list[str]:
    stop = body.get("stop") or []
    stops = [stop] if isinstance(stop, str) else stop
    if not isinstance(stops, list) or not all(isinstance(mark, str) for mark in stops):
        raise BadRequest("`stop` must be a text or a list of texts.", "stop")
    return stops


def _limit(body: dict[str, object]) -> int:
    """Return the most tokens of the answer; the newer name of the field counts first."""
    for name in ("max_completion_tokens", "max_tokens"):
        limit = body.get(name)
        if limit is not None:
            if not isinstance(limit, int) or limit < 1:
                raise BadRequest(f"`{name}` must be a positive number.", name)
            return limit
    return _NO_LIMIT
