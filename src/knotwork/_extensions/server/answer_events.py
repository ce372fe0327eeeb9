"""Ask and search in a workspace, within the limits of the server, and send the steps as events."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from dataclasses import replace

from knotwork._extensions.server.keys import AccessKey, KeyRole
from knotwork._extensions.server.limits import Threads
from knotwork._extensions.server.observability import trace
from knotwork._extensions.server.responses import (
    EventStream,
    describe_error,
    format_event,
    keep_alive,
    start_stream,
)
from knotwork._extensions.server.server import Service
from knotwork._extensions.server.workspaces import Workspace
from knotwork._run import Progress, Stage, Steps, Verb
from knotwork._shapes.results import ANSWER, describe_evidence, split_pieces
from knotwork._synthesis.ask_request import AskRequest
from knotwork.errors import KnotworkError, NotPermitted, RequestTooLarge
from knotwork.records import Answer, Evidence


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
