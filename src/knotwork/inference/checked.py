"""Checked replies: a reply is used, and kept, only when its reader could make sense of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar, runtime_checkable

from knotwork.errors import Unparsable
from knotwork.inference.chat import ChatModel, ChatReply, ChatRequest

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
