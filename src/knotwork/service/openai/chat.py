"""Chat completions: the last question of a conversation, answered from a workspace.

Earlier turns say what it leans on; they are no sources.
"""

from __future__ import annotations

import json
import re
import secrets
import time
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import AbstractContextManager, aclosing
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request, Response

from knotwork.errors import InvalidRequest, KnotworkError
from knotwork.records import Answer
from knotwork.service.access import Caller, Server
from knotwork.service.asking import Question, ask, ask_events, check_question
from knotwork.service.envelopes import describe_openai_error
from knotwork.service.openai.citations import annotate, list_sources
from knotwork.service.openai.models import lease_model, split_model
from knotwork.service.openai.shapes import (
    Annotation,
    AssistantMessage,
    ChatCompletion,
    ChatMessage,
    ChatRequest,
    Choice,
    TokenCounts,
)
from knotwork.service.serving import Service
from knotwork.service.shapes.answers import AnswerShape
from knotwork.service.streams import EVENT_STREAM, EventStream, begin, keep_alive
from knotwork.service.workspaces import Workspace
from knotwork.synthesis.conversation import MOST_TURNS
from knotwork.synthesis.events import AskEvent, AskEventKind

router = APIRouter(tags=["openai"])

TURN_CHARACTERS = 2_000
"""Of each question and answer before, as many count."""

_DONE = b"data: [DONE]\n\n"
_WITHDRAWN = "\n\n(The text so far does not count.)\n\n"
_SENTENCE = re.compile(r".*?\]\s*|.+", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Conversation:
    """A request and what its response begins with."""

    asked: ChatRequest
    workspace: str
    base_url: str
    id: str
    created: int

    def sources(self, answer: Answer) -> str:
        """Return the list of sources that ends the text, if one is wanted."""
        if self.asked.knotwork.sources != "markdown":
            return ""
        return list_sources(answer, workspace=self.workspace, base_url=self.base_url)

    def annotate(self, answer: Answer, *, shift: int = 0) -> list[Annotation]:
        """Return the annotations of an answer that begins ``shift`` characters into the text."""
        return annotate(answer, workspace=self.workspace, base_url=self.base_url, shift=shift)

    def chunk(self, choices: list[dict[str, Any]], **more: object) -> bytes:
        """Return a piece of the response as an event."""
        body = {
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": self.created,
            "model": self.asked.model,
            "choices": choices,
            **more,
        }
        return f"data: {json.dumps(body, ensure_ascii=False)}\n\n".encode()

    def delta(self, delta: dict[str, Any], *, finish: str | None = None) -> bytes:
        """Return what comes next of the one answer."""
        return self.chunk([{"index": 0, "delta": delta, "finish_reason": finish}])


@router.post(
    "/chat/completions",
    response_model=ChatCompletion,
    responses={200: {"content": EVENT_STREAM}},
)
async def complete_chat(
    request: Request, key: Caller, server: Server, asked: ChatRequest
) -> ChatCompletion | Response:
    """Answer the last question of a conversation, with [1] in the text and annotations for it.

    Where it leans on the turns before it, as in "and when was it built?", it is understood with
    them; the notes under `knotwork` say how.
    """
    name, retriever = split_model(asked.model)
    text = next((m.text for m in reversed(asked.messages) if m.role == "user"), "")
    if not text:
        raise InvalidRequest(
            "No message of the user has text.", fix='Send {"role": "user", "content": "…"}.'
        )
    options = asked.knotwork
    question = Question(
        text,
        retriever,
        options.k,
        options.mode,
        turns=tuple(earlier_turns(asked.messages)),
        filters=options.filters,
        min_score=options.min_score,
        retrieval_query=options.retrieval_query,
        query_params=options.query_params,
    )
    question = check_question(server, key, question)
    identifier = f"chatcmpl-{secrets.token_hex(12)}"
    base_url = str(request.base_url)
    talk = _Conversation(asked, name, base_url, identifier, int(time.time()))
    lease = lease_model(server, key, asked.model)
    if asked.stream:
        return await _stream(server, lease, question, talk)
    with lease as workspace:
        answer = await server.threads.run(ask, server, workspace, question)
    message = AssistantMessage(
        content=answer.lead + answer.text + talk.sources(answer),
        annotations=talk.annotate(answer, shift=len(answer.lead)),
    )
    return ChatCompletion(
        id=talk.id,
        created=talk.created,
        model=asked.model,
        choices=[Choice(message=message)],
        usage=_count(answer),
        knotwork=AnswerShape.of(answer).model_dump(mode="json"),
    )


def earlier_turns(messages: Sequence[ChatMessage]) -> list[tuple[str, str]]:
    """Return the questions before the last one, each with what was answered, if anything was."""
    turns: list[tuple[str, str]] = []
    for message in messages:
        if message.role == "user" and message.text:
            turns.append((message.text[:TURN_CHARACTERS], ""))
        elif message.role == "assistant" and turns:
            question, answer = turns[-1]
            turns[-1] = question, f"{answer}\n{message.text}"[:TURN_CHARACTERS].strip()
    return turns[-1 - MOST_TURNS : -1]


async def _stream(
    server: Service,
    lease: AbstractContextManager[Workspace],
    question: Question,
    talk: _Conversation,
) -> Response:
    """Return the stream of an answer, which keeps the workspace until it ends."""

    def steps() -> Iterator[AskEvent]:
        with lease as workspace:
            yield from ask_events(server, workspace, question)

    begun = await begin(server.threads.iterate(steps))
    return EventStream(keep_alive(_chunks(begun, talk)))


async def _chunks(steps: AsyncGenerator[AskEvent], talk: _Conversation) -> AsyncGenerator[bytes]:
    """Yield a stream: the role, the text, all annotations at once, the end, and what it cost."""
    written = _Written()
    answer: Answer | None = None
    try:
        yield talk.delta({"role": "assistant", "content": ""})
        async with aclosing(steps) as events:
            async for event in events:
                answer = event.answer or answer
                if piece := written.add(event):
                    yield talk.delta({"content": piece})
        assert answer is not None, "the last event has the answer"
        for piece in written.finish(answer, talk.sources(answer)):
            yield talk.delta({"content": piece})
        annotations = talk.annotate(answer, shift=len(written.withdrawn) + len(answer.lead))
        if annotations:
            listed = [{"index": n, **a.model_dump(mode="json")} for n, a in enumerate(annotations)]
            yield talk.delta({"annotations": listed})
        yield talk.delta({}, finish="stop")
        if talk.asked.stream_options and talk.asked.stream_options.include_usage:
            yield talk.chunk([], usage=_count(answer).model_dump())
        yield _DONE
    except KnotworkError as error:
        # Without [DONE]: a client must not take what came for an answer.
        yield f"data: {json.dumps({'error': describe_openai_error(error)})}\n\n".encode()


class _Written:
    """What was sent of an answer. Text cannot be taken back: it is said that it does not count."""

    def __init__(self) -> None:
        self.withdrawn = ""
        self._text = ""

    def add(self, event: AskEvent) -> str:
        """Return what to send for a step."""
        if event.kind is AskEventKind.TEXT:
            self._text += event.text
            return event.text
        return self._withdraw() if event.kind is AskEventKind.WITHDRAWN else ""

    def finish(self, answer: Answer, sources: str) -> Iterator[str]:
        """Yield what is still to be sent of the whole answer, sentence by sentence."""
        if not answer.text.startswith(self._text):
            yield self._withdraw()
        if answer.lead:  # only of what is quoted, of which nothing was sent before
            yield answer.lead
        yield from _SENTENCE.findall(answer.text[len(self._text) :])
        if sources:
            yield sources

    def _withdraw(self) -> str:
        if not self._text:
            return ""
        self.withdrawn += self._text + _WITHDRAWN
        self._text = ""
        return _WITHDRAWN


def _count(answer: Answer) -> TokenCounts:
    tokens_in, tokens_out = answer.usage.input_tokens, answer.usage.output_tokens
    return TokenCounts(
        prompt_tokens=tokens_in, completion_tokens=tokens_out, total_tokens=tokens_in + tokens_out
    )
