"""A fake chat model for tests of wrappers: it counts its calls and can be blocked."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

from knotwork._inference.chat import ChatReply, ChatRequest, Message, TokenUsage


def ask(text: str, **options) -> ChatRequest:
    return ChatRequest((Message("user", text),), **options)


def echo(request: ChatRequest) -> ChatReply:
    text = request.messages[-1].content
    return ChatReply(f"re: {text}", usage=TokenUsage(len(text), len(text) + 4, 1))


class EchoModel:
    """Answers with ``answer``; ``requests`` are those it got. Each call waits for ``gate``."""

    def __init__(
        self, answer: Callable[[ChatRequest], ChatReply] = echo, *, name: str = "fake:echo"
    ) -> None:
        self.name = name
        self.answer = answer
        self.requests: list[ChatRequest] = []
        self.gate = threading.Event()
        self.gate.set()
        self.arrived = threading.Semaphore(0)
        self._lock = threading.Lock()

    def complete(self, request: ChatRequest) -> ChatReply:
        with self._lock:
            self.requests.append(request)
        self.arrived.release()
        assert self.gate.wait(30)
        return self.answer(request)

    def stream(self, request: ChatRequest) -> Iterator[str | ChatReply]:
        reply = self.complete(request)
        for start in range(0, len(reply.text), 3):
            yield reply.text[start : start + 3]
        yield reply
