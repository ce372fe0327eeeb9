"""Ask and search in a workspace, within the limits of the server, with metrics and traces."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from knotwork._extensions.server.keys import AccessKey, KeyRole
from knotwork._extensions.server.observability import trace
from knotwork._extensions.server.server import Service
from knotwork._extensions.server.workspaces import Workspace
from knotwork._synthesis.ask_request import AskEvent, AskRequest
from knotwork.errors import NotPermitted, RequestTooLarge
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


def ask_events(server: Service, workspace: Workspace, request: AskRequest) -> Iterator[AskEvent]:
    """Answer a question, and yield its events; raises like `KnowledgeBase.ask_events`."""
    with trace("ask", workspace.name, request.retriever) as span:
        for event in workspace.base.ask_events(request):
            if event.answer is not None:
                server.metrics.note_answer(event.answer, span)
            yield event


def ask(server: Service, workspace: Workspace, request: AskRequest) -> Answer:
    """Return the answer to a question; raises like `ask_events`."""
    return last_answer(ask_events(server, workspace, request))


def last_answer(events: Iterator[AskEvent]) -> Answer:
    """Return the answer that the last event has."""
    *_, last = events
    assert last.answer is not None, "the last event has the answer"
    return last.answer


def search(workspace: Workspace, request: AskRequest) -> Evidence:
    """Return the evidence for a question."""
    with trace("retrieval", workspace.name, request.retriever) as span:
        evidence = workspace.base.search(request)
        span.set_attribute("knotwork.hits", len(evidence.hits))
    return evidence
