"""Ask and search in a workspace, within the limits of the server, with metrics and traces."""

from __future__ import annotations

from dataclasses import replace

from knotwork._extensions.server.keys import AccessKey, KeyRole
from knotwork._extensions.server.observability import trace
from knotwork._extensions.server.server import Service
from knotwork._extensions.server.workspaces import Workspace
from knotwork._run import Steps, Verb
from knotwork._synthesis.ask_request import AskRequest
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
