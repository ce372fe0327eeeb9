"""A chat model whose calls are made again when they fail in a way that may pass."""

from __future__ import annotations

from collections.abc import Iterator

from knotwork.inference.chat import ChatModel, ChatReply, ChatRequest
from knotwork.inference.retries import RetryPolicy


class RetryingChat:
    """Calls its model as often as ``retries`` says.

    A stream is begun anew only before its first piece, as pieces cannot be taken back.
    """

    def __init__(self, model: ChatModel, retries: RetryPolicy) -> None:
        self._model = model
        self._retries = retries

    @property
    def name(self) -> str:
        """The name of the model."""
        return self._model.name

    def complete(self, request: ChatRequest) -> ChatReply:
        """Return the reply of the first call that succeeds."""
        return self._retries.call(lambda: self._model.complete(request))

    def stream(self, request: ChatRequest) -> Iterator[str | ChatReply]:
        """Yield the reply of the first call that begins."""

        def begin() -> tuple[str | ChatReply, Iterator[str | ChatReply]]:
            items = iter(self._model.stream(request))
            return next(items), items

        first, rest = self._retries.call(begin)
        yield first
        yield from rest
