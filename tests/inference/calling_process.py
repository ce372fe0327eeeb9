"""Run as a separate process: make calls through a cache, and report progress after each.

``calling_process.py FILE LOG FIRST LAST PAUSE_S``: asks for the numbers in turn; the model writes
each call that reaches it to LOG, which several processes share, before it answers.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from tests.inference.chat_fakes import EchoModel, ask, echo

from knotwork._inference.call_cache import CachedChatModel, CallCache
from knotwork._inference.chat import ChatReply, ChatRequest
from knotwork.errors import Unparsable


def parse(reply: ChatReply) -> int:
    number = int(reply.text.removeprefix("re: "))
    if number % 5 == 0:
        raise Unparsable("a fifth is bad")
    return number


def request_for(number: int) -> ChatRequest:
    return ask(str(number), stage=f"stage {number % 3}", source=f"{number % 7}.md")


def main(file: str, log: Path, first: int, last: int, pause_s: float) -> None:
    descriptor = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def answer(request: ChatRequest) -> ChatReply:
        os.write(descriptor, f"{request.messages[0].content}\n".encode())
        time.sleep(pause_s)
        return echo(request)

    model = CachedChatModel(EchoModel(answer), CallCache(file))
    for number in range(first, last):
        try:
            done = model.complete_checked(request_for(number), parse)
        except Unparsable:
            done = number
        sys.stdout.write(f"{done}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5]))
