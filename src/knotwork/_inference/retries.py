"""Retry calls that fail temporarily, with exponential backoff."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from knotwork._inference.chat import ChatModel, ChatReply, ChatRequest
from knotwork.errors import ModelUnavailable

_log = logging.getLogger("knotwork.inference")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often to try, and how long to wait between attempts.

    The wait doubles from ``first_wait_s`` to ``longest_wait_s``. A longer wait that the server asks
    for is respected up to ``patience_s``; beyond that, the error is raised at once. ``jitter``
    lengthens each wait by a random share of up to that factor, so that callers do not return all at
    the same time.
    """

    attempts: int = 6
    first_wait_s: float = 0.5
    longest_wait_s: float = 30.0
    patience_s: float = 120.0
    jitter: float = 0.0
    sleep: Callable[[float], None] = time.sleep
    chance: Callable[[], float] = random.random

    def call(self, action: Callable[[], T]) -> T:
        """Return what ``action`` returns; raise its last ModelUnavailable, or any other error."""
        wait_s = self.first_wait_s
        for attempt in range(1, self.attempts + 1):
            try:
                return action()
            except ModelUnavailable as error:
                asked_s = error.retry_after_s or 0.0
                if attempt == self.attempts or asked_s > self.patience_s:
                    raise
                pause_s = max(wait_s, asked_s) * (1 + self.jitter * self.chance())
                _log.info("attempt %d failed, next in %.1f s: %s", attempt, pause_s, error.message)
                self.sleep(pause_s)
                wait_s = min(wait_s * 2, self.longest_wait_s)
        raise ValueError("`attempts` must be at least 1")


class RetryingChat:
    """A chat model whose failed calls are repeated by a retry policy.

    A stream is restarted only before its first piece, since pieces cannot be taken back.
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
        """Yield the reply of the first call that returns a piece."""

        def begin() -> tuple[str | ChatReply, Iterator[str | ChatReply]]:
            items = iter(self._model.stream(request))
            return next(items), items

        first, rest = self._retries.call(begin)
        yield first
        yield from rest
