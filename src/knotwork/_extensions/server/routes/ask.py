"""Routes for questions: list retrievers, search, ask, stream answers, and run agents."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Annotated, Any, Literal

from fastapi.responses import StreamingResponse
from pydantic import Field

from knotwork._extensions.server.access import Caller, ReadWorkspace, Routes, Server
from knotwork._extensions.server.answer_events import (
    NamedEvent,
    ask,
    check_question,
    name_step,
    search,
    stream_events,
)
from knotwork._extensions.server.observability import trace
from knotwork._extensions.server.responses import EVENT_RESPONSES, EventStream
from knotwork._extensions.server.schemas import (
    AskRequest,
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
from knotwork._shapes.base import Json
from knotwork._shapes.results import ANSWER, EVIDENCE, describe_evidence
from knotwork._synthesis import ask_request
from knotwork._synthesis.ask_request import ASK_MODES
from knotwork.agents._agent import DEFAULT_STEPS, DEFAULT_TOKENS, DEFAULT_TOOLS
from knotwork.agents._agent import ask_agent as ask_by_agent
from knotwork.records import Answer

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
    key: Caller, server: Server, workspace: ReadWorkspace, asked: AskRequest
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
    key: Caller, server: Server, workspace: ReadWorkspace, asked: AskRequest
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


def _ask_request(asked: SearchRequest) -> ask_request.AskRequest:
    """Return the request of a body, whose fields have the same names."""
    options = dict(asked)
    turns = options.get("turns", ())
    options["turns"] = tuple((turn.question, turn.answer) for turn in turns)
    return ask_request.AskRequest(**options)


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
    wanted = ask_request.AskRequest(asked.question, use_llm=asked.use_llm)
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
