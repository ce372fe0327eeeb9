"""The route of agents: a question that is answered step by step."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from functools import partial

from fastapi import APIRouter
from fastapi.responses import StreamingResponse

from knotwork.agents.asking import AgentReply, ask_agent_events
from knotwork.errors import KnotworkError
from knotwork.service.access import Caller, ReadWorkspace, Server
from knotwork.service.asking import Question, check_question, documents_of
from knotwork.service.envelopes import describe_error
from knotwork.service.serving import Service
from knotwork.service.shapes.agents import AgentRequest, StepOfAgent
from knotwork.service.shapes.answers import AnswerShape, EvidenceShape
from knotwork.service.streams import EVENTS, EventStream, begin, keep_alive, write_event
from knotwork.service.telemetry import trace
from knotwork.service.workspaces import Workspace

router = APIRouter(tags=["questions"])


@router.post("/workspaces/{workspace}/agent", response_class=StreamingResponse, responses=EVENTS)
async def ask_agent(
    key: Caller, server: Server, workspace: ReadWorkspace, asked: AgentRequest
) -> EventStream:
    """Answer a question step by step, as server-sent events.

    They are `step` (a search, what it was for and what it found), and at the end `sources` (all
    passages, with the trace) and `done` (the answer, of sentences of the documents), or `error`.
    """
    question = check_question(server, key, Question(asked.question, use_llm=asked.use_llm))
    make = partial(_tell, server, workspace, asked, question.budget)
    steps = await begin(server.threads.iterate(make))
    return EventStream(keep_alive(_events(steps)))


def _tell(
    server: Service, workspace: Workspace, asked: AgentRequest, budget: str
) -> Iterator[tuple[str, object]]:
    """Yield the names and the data of events."""
    with trace("agent", workspace.name, f"agent:{asked.kind}") as span:
        for reply in ask_agent_events(
            workspace.base,
            asked.question,
            kind=asked.kind,
            tools=list(dict.fromkeys(asked.tools)),
            steps=asked.steps,
            tokens=asked.tokens,
            k=asked.k,
            use_llm=asked.use_llm,
            budget=budget,
            filters=asked.filters,
        ):
            if reply.step is not None:
                yield "step", StepOfAgent.of(reply.step).model_dump(mode="json")
            else:
                if reply.answer is not None:
                    answer = reply.answer
                    server.meters.count_answer(answer.mode, answer.usage, answered=answer.answered)
                    span.note_usage(answer.model, answer.usage)
                yield from _conclude(workspace, reply)


def _conclude(workspace: Workspace, reply: AgentReply) -> Iterator[tuple[str, object]]:
    if reply.evidence is not None:
        found = EvidenceShape.of(reply.evidence, documents_of(workspace, reply.evidence))
        yield "sources", found.model_dump(mode="json")
    if reply.answer is not None:
        yield "done", AnswerShape.of(reply.answer).model_dump(mode="json")


async def _events(steps: AsyncGenerator[tuple[str, object]]) -> AsyncGenerator[bytes]:
    try:
        async with aclosing(steps) as told:
            async for name, data in told:
                yield write_event(data, event=name)
    except KnotworkError as error:
        yield write_event(describe_error(error), event="error")
