"""Routes of questions: passages, answers, and the ways to find them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import Any

from fastapi import APIRouter
from fastapi.responses import StreamingResponse

from knotwork.errors import KnotworkError
from knotwork.retrieval.registry import AUTO_IS, RETRIEVERS
from knotwork.retrieval.steps.registry import STEPS
from knotwork.service.access import Caller, ReadWorkspace, Server
from knotwork.service.asking import (
    Question,
    ask,
    ask_events,
    check_question,
    documents_of,
    search,
)
from knotwork.service.envelopes import Envelope, describe_error, wrap
from knotwork.service.serving import Service
from knotwork.service.shapes.answers import AnswerShape, AskRequest, EvidenceShape, SearchRequest
from knotwork.service.streams import EVENTS, EventStream, begin, keep_alive, write_event
from knotwork.service.workspaces import Workspace
from knotwork.synthesis.events import AskEvent, AskEventKind
from knotwork.synthesis.modes import ASK_MODES

router = APIRouter(tags=["questions"])


@router.get("/retrievers")
async def list_retrievers(_key: Caller) -> Envelope[dict[str, Any]]:
    """List the ways to find passages, the steps they may be composed with, and the modes."""
    return wrap(
        {
            "auto": AUTO_IS,
            "retrievers": [
                {
                    "name": name,
                    "summary": pattern.summary,
                    "needs_model": pattern.needs_model,
                    "needs_embedder": pattern.needs_embedder,
                }
                for name, pattern in sorted(RETRIEVERS.items())
            ],
            "steps": [
                {"name": name, "summary": step.summary} for name, step in sorted(STEPS.items())
            ],
            "modes": list(ASK_MODES),
        }
    )


@router.post("/workspaces/{workspace}/search")
async def search_passages(
    key: Caller, server: Server, workspace: ReadWorkspace, asked: SearchRequest
) -> Envelope[EvidenceShape]:
    """Find the passages that bear on a question, each with its reasons."""
    question = check_question(server, key, _search_question(asked))
    evidence, documents = await server.threads.run(search, workspace, question)
    return wrap(EvidenceShape.of(evidence, documents))


@router.post("/workspaces/{workspace}/ask")
async def ask_question(
    key: Caller, server: Server, workspace: ReadWorkspace, asked: AskRequest
) -> Envelope[AnswerShape]:
    """Answer a question, each statement with its citation, or say that there is no answer."""
    question = check_question(server, key, _question(asked))
    answer = await server.threads.run(ask, server, workspace, question)
    return wrap(AnswerShape.of(answer))


@router.post(
    "/workspaces/{workspace}/ask/stream", response_class=StreamingResponse, responses=EVENTS
)
async def stream_answer(
    key: Caller, server: Server, workspace: ReadWorkspace, asked: AskRequest
) -> EventStream:
    """Answer a question as server-sent events.

    They are `stage` (what is being done), `sources` (the passages found), `text` (a piece of the
    answer), `withdrawn` (the pieces so far do not count), and at last `done` (the whole answer) or
    `error`.
    """
    question = check_question(server, key, _question(asked))
    make = partial(_with_documents, server, workspace, question)
    steps = await begin(server.threads.iterate(make))
    return EventStream(keep_alive(_events(steps)))


Step = tuple[AskEvent, EvidenceShape | None]


def _with_documents(server: Service, workspace: Workspace, question: Question) -> Iterator[Step]:
    """Yield the steps to an answer, with what was found as JSON tells it."""
    for event in ask_events(server, workspace, question):
        found = event.evidence
        shape = EvidenceShape.of(found, documents_of(workspace, found)) if found else None
        yield event, shape


async def _events(steps: AsyncGenerator[Step]) -> AsyncGenerator[bytes]:
    try:
        async with aclosing(steps) as told:
            async for event, evidence in told:
                for name, data in _tell(event, evidence):
                    yield write_event(data, event=name)
    except KnotworkError as error:
        yield write_event(describe_error(error), event="error")


def _tell(event: AskEvent, evidence: EvidenceShape | None) -> Iterator[tuple[str, Any]]:
    if evidence is not None:
        names = list(dict.fromkeys(seed for hit in evidence.hits for seed in hit.seeds))
        yield "stage", {"stage": "found", "passages": len(evidence.hits), "names": names}
        yield "sources", evidence.model_dump(mode="json")
    elif event.kind is AskEventKind.ASKED:
        yield "stage", {"stage": "writing", "model": event.text}
    elif event.kind is AskEventKind.STEP:
        yield "stage", {"stage": event.text, "done": event.done, "total": event.total}
    elif event.kind is AskEventKind.TEXT:
        yield "text", {"text": event.text}
    elif event.kind is AskEventKind.WITHDRAWN:
        yield "withdrawn", {"reason": event.text}
    elif event.answer is not None:
        yield "done", AnswerShape.of(event.answer).model_dump(mode="json")


def _search_question(asked: SearchRequest) -> Question:
    return Question(
        asked.question,
        asked.retriever,
        asked.k,
        filters=asked.filters,
        min_score=asked.min_score,
        retrieval_query=asked.retrieval_query,
        query_params=asked.query_params,
    )


def _question(asked: AskRequest) -> Question:
    return replace(
        _search_question(asked),
        mode=asked.mode,
        expand=asked.expand,
        use_llm=asked.use_llm,
        budget=asked.budget,
        turns=tuple((turn.question, turn.answer) for turn in asked.turns),
    )
