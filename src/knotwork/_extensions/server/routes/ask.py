"""Routes for questions: list retrievers, search, ask, stream answers, and run agents."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Literal

from fastapi.responses import StreamingResponse
from pydantic import Field

from knotwork._extensions.server import schemas
from knotwork._extensions.server.access import Caller, ReadWorkspace, Routes, Server
from knotwork._extensions.server.keys import AccessKey, KeyRole
from knotwork._extensions.server.limits import Threads
from knotwork._extensions.server.observability import trace
from knotwork._extensions.server.responses import (
    EVENT_RESPONSES,
    EventStream,
    describe_error,
    format_event,
    keep_alive,
    start_stream,
)
from knotwork._extensions.server.schemas import (
    FilterText,
    Passages,
    RequestModel,
    SearchRequest,
    Text,
    UsesModel,
)
from knotwork._extensions.server.server import Service
from knotwork._extensions.server.workspaces import Workspace
from knotwork._retrieval.retriever_registry import AUTO_IS, RETRIEVERS, STEPS
from knotwork._run import Progress, Stage, Steps, Verb
from knotwork._shapes.base import Json
from knotwork._shapes.results import ANSWER, EVIDENCE, describe_evidence, split_pieces
from knotwork._synthesis.ask_request import ASK_MODES, AskRequest
from knotwork.agents._agent import DEFAULT_STEPS, DEFAULT_TOKENS, DEFAULT_TOOLS
from knotwork.agents._agent import ask_agent as ask_by_agent
from knotwork.errors import KnotworkError, NotPermitted, RequestTooLarge
from knotwork.records import Answer, Evidence

MOST_STEPS = 20
MOST_AGENT_TOKENS = 200_000


class AgentRequest(RequestModel):
    """Answer a question step by step: plan, search, judge, and search again."""

    question: Text
    kind: Literal["iterative", "corrective", "reasoning", "revising"] = "iterative"
    tools: list[Annotated[Text, Field(max_length=500)]] = Field(
        list(DEFAULT_TOOLS),
        min_length=1,
        max_length=6,
        description="Retrievers to search with, the main one first.",
    )
    steps: int = Field(DEFAULT_STEPS, ge=1, le=MOST_STEPS, description="Maximum of searches.")
    tokens: int = Field(
        DEFAULT_TOKENS,
        ge=0,
        le=MOST_AGENT_TOKENS,
        description="Maximum of tokens for a language model that plans.",
    )
    k: Passages = None
    use_llm: UsesModel = True
    filters: FilterText | dict[str, Any] | None = Field(
        None, description="Filter for documents and pages, as in …/ask."
    )


def check_question(server: Service, key: AccessKey, request: AskRequest) -> AskRequest:
    """Check a request against the limits of the server, and return it with its budget.

    Raises RequestTooLarge if the question is too long, NotPermitted if the request overrides the
    budget of the server without an admin key.
    """
    limits = server.limits
    if len(request.question) > limits.question_chars:
        raise RequestTooLarge(
            f"The question has {len(request.question):,} characters; the limit is "
            f"{limits.question_chars:,}.",
            fix="Shorten the question, or raise service.question_chars.",
        )
    if not limits.question_budget:
        return request
    if request.budget and not key.role.covers(KeyRole.ADMIN):
        raise NotPermitted("This server sets the budget of questions.", fix="Omit `budget`.")
    return replace(request, budget=request.budget or limits.question_budget)


@Verb
def ask(server: Service, workspace: Workspace, request: AskRequest) -> Steps[Answer]:
    """Return the answer to a question; raises like `KnowledgeBase.ask`."""
    with trace("ask", workspace.name, request.retriever) as span:
        answer = yield from workspace.base.ask.run(request)
        server.metrics.note_answer(answer, span)
        return answer


def search(workspace: Workspace, request: AskRequest) -> Evidence:
    """Return the evidence for a question."""
    with trace("retrieval", workspace.name, request.retriever) as span:
        evidence = workspace.base.search(request)
        span.set_attribute("knotwork.hits", len(evidence.hits))
    return evidence


NamedEvent = tuple[str, object]
"""The name and the JSON data of a server-sent event."""


def name_step(step: Progress, workspace: Workspace) -> Iterator[NamedEvent]:
    """Yield the events of one step; those of the last one are the pieces and the answer."""
    if step.stage == Stage.FOUND:
        hits = step.value.hits
        names = list(dict.fromkeys(seed for hit in hits for seed in hit.seeds))
        yield "stage", {"stage": "found", "passages": len(hits), "names": names}
        yield "sources", describe_evidence(step.value, workspace.base.store)
    elif step.stage == Stage.ASKED:
        yield "stage", {"stage": "writing", "model": step.note}
    elif step.stage == Stage.STEP:
        yield "stage", {"stage": step.note, "done": step.done, "total": step.total}
    elif step.stage == Stage.TEXT:
        yield "text", {"text": step.note}
    elif step.stage == Stage.WITHDRAWN:
        yield "withdrawn", {"reason": step.note}
    elif step.stage == Stage.FINISHED:
        if step.value.pieces:  # nothing else sent the text before
            yield from (("text", {"text": part}) for part in split_pieces(step.value))
        yield "done", ANSWER(step.value)


async def stream_events(threads: Threads, make: Callable[[], Iterator[NamedEvent]]) -> EventStream:
    """Return the stream of the events that a function makes in a thread.

    Errors before the first event are raised here, while an error response is still possible.
    """
    events = await start_stream(threads.iterate(make))
    return EventStream(keep_alive(format_events(events)))


async def format_events(events: AsyncGenerator[NamedEvent]) -> AsyncGenerator[bytes]:
    """Yield events as bytes; an error of Knotwork ends the stream with an `error` event."""
    try:
        async with aclosing(events) as open_events:
            async for name, data in open_events:
                yield format_event(data, event=name)
    except KnotworkError as error:
        yield format_event(describe_error(error), event="error")


router = Routes("questions")


@router.get("/retrievers")
async def list_retrievers(_key: Caller) -> dict[str, Any]:
    """List the retrievers, the steps to compose them with, and the answer modes."""
    return {
        "auto": AUTO_IS,
        "retrievers": [
            {
                "name": entry.name,
                "summary": entry.summary,
                "needs_model": "model" in entry.needs,
                "needs_embedder": "embedder" in entry.needs,
            }
            for entry in RETRIEVERS.entries()
        ],
        "steps": [{"name": entry.name, "summary": entry.summary} for entry in STEPS.entries()],
        "modes": list(ASK_MODES),
    }


@router.post("/workspaces/{workspace}/search")
async def search_passages(
    key: Caller, server: Server, workspace: ReadWorkspace, asked: SearchRequest
) -> Annotated[Json, EVIDENCE]:
    """Find the passages relevant to a question, each with the reasons why it was found."""
    question = check_question(server, key, _ask_request(asked))

    return await server.threads_for(question).run(
        lambda: describe_evidence(search(workspace, question), workspace.base.store)
    )


@router.post("/workspaces/{workspace}/ask")
async def ask_question(
    key: Caller, server: Server, workspace: ReadWorkspace, asked: schemas.AskRequest
) -> Answer:
    """Answer a question with a citation for each statement, or report that there is no answer."""
    question = check_question(server, key, _ask_request(asked))
    return await server.threads_for(question).run(ask, server, workspace, question)


@router.post(
    "/workspaces/{workspace}/ask/stream",
    response_class=StreamingResponse,
    responses=EVENT_RESPONSES,
)
async def stream_answer(
    key: Caller, server: Server, workspace: ReadWorkspace, asked: schemas.AskRequest
) -> EventStream:
    """Answer a question as server-sent events.

    Events are `stage` (the current stage), `sources` (the passages found), `text` (words of a
    model, or a piece of a document), `withdrawn` (discard the text so far), and finally `done` (the
    complete answer) or `error`.
    """
    question = check_question(server, key, _ask_request(asked))

    def steps() -> Iterator[NamedEvent]:
        for step in ask.run(server, workspace, question):
            yield from name_step(step, workspace)

    return await stream_events(server.threads_for(question), steps)


def _ask_request(asked: SearchRequest) -> AskRequest:
    """Return the request of a body, whose fields have the same names."""
    options = dict(asked)
    turns = options.get("turns", ())
    options["turns"] = tuple((turn.question, turn.answer) for turn in turns)
    return AskRequest(**options)


@router.post(
    "/workspaces/{workspace}/agent", response_class=StreamingResponse, responses=EVENT_RESPONSES
)
async def ask_agent(
    key: Caller, server: Server, workspace: ReadWorkspace, asked: AgentRequest
) -> EventStream:
    """Answer a question step by step, as server-sent events.

    Events are `step` (a search, its reason and its result), and finally `sources` (all passages,
    with the trace) and `done` (the answer, quoted from the documents), or `error`.
    """
    wanted = AskRequest(asked.question, use_llm=asked.use_llm)
    question = check_question(server, key, wanted)
    make = partial(_agent_events, server, workspace, asked, question.budget)
    return await stream_events(server.threads, make)


def _agent_events(
    server: Service, workspace: Workspace, asked: AgentRequest, budget: str
) -> Iterator[NamedEvent]:
    with trace("agent", workspace.name, f"agent:{asked.kind}") as span:
        options = asked.model_dump() | {"tools": list(dict.fromkeys(asked.tools))}
        run = ask_by_agent.run(workspace.base, **options, budget=budget)
        for step in run:
            yield "step", step.value
        answer, evidence = run.result()
        server.metrics.note_answer(answer, span)
        yield "sources", describe_evidence(evidence, workspace.base.store)
        yield "done", ANSWER(answer)
