"""Ask and search in a workspace, within the limits of the server, with metrics and traces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from knotwork.errors import NotPermitted, RequestTooLarge
from knotwork.records import Answer, Document, Evidence, PropertyValue
from knotwork.retrieval.filter_parser import FilterSpec
from knotwork.service.keys import AccessKey, KeyRole
from knotwork.service.observability import trace
from knotwork.service.server import Service
from knotwork.service.workspaces import Workspace
from knotwork.synthesis.ask_request import AskEvent
from knotwork.synthesis.engine import read_mode


@dataclass(frozen=True, slots=True)
class QuestionRequest:
    """A question with all that shapes its answer.

    ``budget`` is a ceiling, empty for none; ``turns`` are earlier questions with their answers.
    """

    text: str
    retriever: str | None = None
    k: int | None = None
    mode: str = "auto"
    expand: bool = False
    use_llm: bool = True
    budget: str = ""
    turns: tuple[tuple[str, str], ...] = ()
    filters: FilterSpec | None = None
    min_score: float | None = None
    retrieval_query: str | None = None
    query_params: Mapping[str, PropertyValue] | None = None


def check_question(server: Service, key: AccessKey, question: QuestionRequest) -> QuestionRequest:
    """Return a question with the budget it may spend.

    Raises RequestTooLarge for one that is too long, NotPermitted for a budget beside that of the
    server, UnknownName for an unknown mode.
    """
    limits = server.limits
    if len(question.text) > limits.question_chars:
        raise RequestTooLarge(
            f"The question has {len(question.text):,} characters; the limit is "
            f"{limits.question_chars:,}.",
            fix="Ask more shortly, or raise service.question_chars.",
        )
    read_mode(question.mode)
    if not limits.question_budget:
        return question
    if question.budget and not key.role.covers(KeyRole.ADMIN):
        raise NotPermitted("This server sets the budget of a question.", fix="Leave out `budget`.")
    return replace(question, budget=question.budget or limits.question_budget)


def ask_events(
    server: Service, workspace: Workspace, question: QuestionRequest
) -> Iterator[AskEvent]:
    """Yield the steps to an answer, and count it; raises as `KnowledgeBase.ask_events`."""
    with trace("ask", workspace.name, question.retriever) as span:
        for event in workspace.base.ask_events(
            question.text,
            retriever=question.retriever,
            k=question.k,
            mode=question.mode,
            expand=question.expand,
            use_llm=question.use_llm,
            budget=question.budget,
            turns=question.turns,
            filters=question.filters,
            min_score=question.min_score,
            retrieval_query=question.retrieval_query,
            query_params=question.query_params,
        ):
            if event.answer is not None:
                answer = event.answer
                server.meters.count_answer(answer.mode, answer.usage, answered=answer.answered)
                span.note_usage(answer.model, answer.usage)
            yield event


def ask(server: Service, workspace: Workspace, question: QuestionRequest) -> Answer:
    """Return the answer to a question; raises as `ask_events`."""
    *_, last = ask_events(server, workspace, question)
    assert last.answer is not None, "the last event has the answer"
    return last.answer


def search(workspace: Workspace, question: QuestionRequest) -> tuple[Evidence, dict[str, Document]]:
    """Return what is found for a question, and the documents of the hits by id."""
    with trace("retrieval", workspace.name, question.retriever) as span:
        evidence = workspace.base.search(
            question.text,
            retriever=question.retriever,
            k=question.k,
            filters=question.filters,
            min_score=question.min_score,
            retrieval_query=question.retrieval_query,
            query_params=question.query_params,
        )
        span.note_hits(len(evidence.hits))
    return evidence, documents_of(workspace, evidence)


def documents_of(workspace: Workspace, evidence: Evidence) -> dict[str, Document]:
    """Return the documents of the hits by id."""
    ids = {hit.chunk.document_id for hit in evidence.hits}
    return workspace.base.store.documents.documents(ids)
